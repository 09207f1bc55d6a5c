"""The training table as the kernels see it: sorted by category, cut into blocks.

Rows are sorted by category, and within it by what was available to them
(`pasb.numerics.row_groups`), so that the rows that inform a stick are a few runs of
neighbours, and sums over the rows of a category are sums over a slice. They are
stored transposed in blocks, so that one block stays in the cache while every sum
over it is taken and every inner loop runs over neighbours in memory. The blocks do
not depend on the number of threads, and so no sum does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import elementwise, summing
from pasb.numerics.lazy_rows import Table
from pasb.numerics.row_groups import NO_GROUPS, Groups, grouped
from pasb.numerics.work_space import WorkSpaces

BLOCK = 256  # rows; with 37 covariates a block is 76 kB
LEAST_ROWS = 20  # of a category that `at_most` keeps, if there are as many
TILE = 4  # columns; the Gram kernel keeps TILE x TILE sums in registers


@dataclass(frozen=True)
class Rows:
    """Covariates, weights and categories of the training rows.

    Attributes
    ----------
    blocks : array of shape (n_blocks, n_padded_columns, BLOCK)
        Covariates, the constant column first; zeros beyond the last row and column.
    given_weights : array of shape (n_rows,) or None
        `weights`, unless they are all 1.
    bounds : array of shape (n_groups + 1,)
        Rows ``bounds[g]`` to ``bounds[g + 1]`` belong to group g, which is category g unless
        `groups` say otherwise.
    n_columns : int
        Number of covariates, the constant column included.
    groups : Groups
        Where not every category is available to every row.
    spaces : WorkSpaces
        Work space for the threads of all chains that share these rows.
    """

    blocks: NDArray[np.float64]
    given_weights: NDArray[np.float64] | None
    bounds: NDArray[np.int64]
    n_columns: int
    groups: Groups = NO_GROUPS
    spaces: WorkSpaces = field(default_factory=WorkSpaces, compare=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.bounds[-1])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The power to which each row's likelihood is raised; only some models ask for it."""
        return np.ones(self.n_rows) if self.given_weights is None else self.given_weights

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return self.groups.available.shape[1] if self.groups.given else self.n_groups

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.bounds) - 1

    @property
    def group_of_rows(self) -> NDArray[np.int64]:
        """The group of each row."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.bounds))

    @property
    def categories(self) -> NDArray[np.int64]:
        """The category of each row."""
        of_rows = self.group_of_rows
        return self.groups.category[of_rows] if self.groups.given else of_rows

    @property
    def counts(self) -> NDArray[np.float64]:
        """Rows of each category, weighted."""
        of_groups = np.array([self.weights[a:b].sum() for a, b in pairwise(self.bounds)])
        if not self.groups.given:
            return of_groups
        total = np.bincount(self.groups.category, of_groups, self.n_categories)
        return total.astype(np.float64)

    def at_most(self, n: int) -> Rows:
        """About `n` of the rows, evenly spaced within every group; all if there are fewer."""
        if self.n_rows <= n:
            return self
        chosen = []
        for start, stop in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            size = min(stop - start, max(LEAST_ROWS, round(n / self.n_rows * (stop - start))))
            chosen.append(np.linspace(start, stop - 1, size).astype(np.int64))
        rows = np.concatenate(chosen)
        table = self.blocks[rows // BLOCK, : self.n_columns, rows % BLOCK]
        weights = None if self.given_weights is None else self.given_weights[rows]
        if weights is not None and np.all(weights == 1):
            weights = None
        sizes = [len(own) for own in chosen]
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Rows(blocked(table), weights, bounds, self.n_columns, self.groups)

    def of_columns(self, seen: NDArray[np.bool_]) -> Rows:
        """The same rows with some of the columns."""
        n = int(np.count_nonzero(seen))
        blocks = np.zeros((len(self.blocks), -(-n // TILE) * TILE, BLOCK))
        blocks[:, :n] = self.blocks[:, np.flatnonzero(seen)]
        return replace(self, blocks=blocks, n_columns=n, spaces=WorkSpaces())

    @classmethod
    def of(
        cls,
        X: Table,
        y: NDArray[np.int64],
        n_categories: int,
        weights: NDArray[np.float64] | None = None,
        available: NDArray[np.bool_] | None = None,
    ) -> Rows:
        """Sort and block a table `X` that has its constant column already.

        `available`, (rows, categories), says what each row could have been; by default anything.
        """
        groups, group, n_groups = NO_GROUPS, y, n_categories
        if available is not None:
            group, groups = grouped(y, available)
            n_groups = len(groups.category)
        source = sorting(group)
        if weights is not None:
            same = np.all(weights == 1)
            weights = None if same else np.ascontiguousarray(weights[source], dtype=np.float64)
        counts = np.bincount(group, minlength=n_groups)
        return cls(
            blocks=blocked(X, source),
            given_weights=weights,
            bounds=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            n_columns=X.shape[1],
            groups=groups,
        )


def sorting(y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number, in the table it comes from, of each row of `Rows`."""
    return np.argsort(y, kind="stable")


def blocked(X: Table, source: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Cut a table of rows into transposed blocks, padded with zeros.

    `source` says where the rows come from, by default one after the other.
    """
    n_rows, n_columns = X.shape
    n_blocks = max(1, -(-n_rows // BLOCK))
    blocks = np.zeros((n_blocks, -(-n_columns // TILE) * TILE, BLOCK))
    for k in range(n_blocks):
        rows = slice(k * BLOCK, (k + 1) * BLOCK)
        part = X[rows if source is None else source[rows]]
        blocks[k, :n_columns, : len(part)] = part.T
    return blocks


def unblocked(blocks: NDArray[np.float64], n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Undo `blocked`: the plain table of shape (n_rows, n_columns)."""
    return blocks.transpose(0, 2, 1).reshape(-1, blocks.shape[1])[:n_rows, :n_columns]


def padded(coefficients: NDArray[np.float64], n_padded: int) -> NDArray[np.float64]:
    """Coefficient vectors with zeros for the columns that pad the blocks."""
    out = np.zeros((*coefficients.shape[:-1], n_padded))
    out[..., : coefficients.shape[-1]] = coefficients
    return out


@elementwise
def linear_predictors(blocks, coefficients, out):
    """``out[s, i] = x_i' coefficients[s]`` for every row of `blocks`.

    `coefficients` is (vectors, padded columns), `out` is (vectors, blocks x BLOCK).
    For a row the terms are added column by column, so the result for a row does not
    depend on the rows around it.
    """
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        last = coefficients.shape[0] - 1
        for s in range(0, last, 2):
            first, second = out[s, start : start + BLOCK], out[s + 1, start : start + BLOCK]
            two_predictors(blocks[k], coefficients[s], coefficients[s + 1], first, second)
        if last % 2 == 0:
            one_predictor(blocks[k], coefficients[last], out[last, start : start + BLOCK])


@elementwise
def one_predictor(block, b, out):
    """x'b of the rows of one block.

    `block` is (padded columns, BLOCK), `b` is (padded columns,), `out` is (BLOCK,).
    """
    for i in range(BLOCK):
        out[i] = 0.0
    for p in range(0, b.size, TILE):
        b0, b1, b2, b3 = b[p], b[p + 1], b[p + 2], b[p + 3]
        x0, x1, x2, x3 = block[p], block[p + 1], block[p + 2], block[p + 3]
        for i in range(BLOCK):
            y = out[i]
            y += b0 * x0[i]
            y += b1 * x1[i]
            y += b2 * x2[i]
            y += b3 * x3[i]
            out[i] = y


@elementwise
def two_predictors(block, b, c, out, other):
    """As `one_predictor`, for `b` into `out` and `c` into `other`; the `block` is loaded once."""
    for i in range(BLOCK):
        out[i] = 0.0
        other[i] = 0.0
    for p in range(0, b.size, TILE):
        b0, b1, b2, b3 = b[p], b[p + 1], b[p + 2], b[p + 3]
        c0, c1, c2, c3 = c[p], c[p + 1], c[p + 2], c[p + 3]
        x0, x1, x2, x3 = block[p], block[p + 1], block[p + 2], block[p + 3]
        for i in range(BLOCK):
            y, z = out[i], other[i]
            y += b0 * x0[i]
            z += c0 * x0[i]
            y += b1 * x1[i]
            z += c1 * x1[i]
            y += b2 * x2[i]
            z += c2 * x2[i]
            y += b3 * x3[i]
            z += c3 * x3[i]
            out[i], other[i] = y, z


@summing
def add_tile(left, right, a, b, gram):
    """Add the products of columns `a`..a+3 of `left` with `b`..b+3 of `right` to `gram`.

    `left` and `right` are (padded columns, BLOCK).
    """
    l0 = left[a]
    l1 = left[a + 1]
    l2 = left[a + 2]
    l3 = left[a + 3]
    r0 = right[b]
    r1 = right[b + 1]
    r2 = right[b + 2]
    r3 = right[b + 3]
    s00 = s01 = s02 = s03 = 0.0
    s10 = s11 = s12 = s13 = 0.0
    s20 = s21 = s22 = s23 = 0.0
    s30 = s31 = s32 = s33 = 0.0
    for i in range(BLOCK):
        x0 = l0[i]
        x1 = l1[i]
        x2 = l2[i]
        x3 = l3[i]
        y0 = r0[i]
        y1 = r1[i]
        y2 = r2[i]
        y3 = r3[i]
        s00 += x0 * y0
        s01 += x0 * y1
        s02 += x0 * y2
        s03 += x0 * y3
        s10 += x1 * y0
        s11 += x1 * y1
        s12 += x1 * y2
        s13 += x1 * y3
        s20 += x2 * y0
        s21 += x2 * y1
        s22 += x2 * y2
        s23 += x2 * y3
        s30 += x3 * y0
        s31 += x3 * y1
        s32 += x3 * y2
        s33 += x3 * y3
    gram[a, b] += s00
    gram[a, b + 1] += s01
    gram[a, b + 2] += s02
    gram[a, b + 3] += s03
    gram[a + 1, b] += s10
    gram[a + 1, b + 1] += s11
    gram[a + 1, b + 2] += s12
    gram[a + 1, b + 3] += s13
    gram[a + 2, b] += s20
    gram[a + 2, b + 1] += s21
    gram[a + 2, b + 2] += s22
    gram[a + 2, b + 3] += s23
    gram[a + 3, b] += s30
    gram[a + 3, b + 1] += s31
    gram[a + 3, b + 2] += s32
    gram[a + 3, b + 3] += s33


@summing
def weighted_gram(blocks, weights, linear_weights, used, scratch, gram, linear):
    """``gram = X' diag(weights) X`` (lower triangle) and ``linear = X' linear_weights``.

    `blocks` is (n_blocks, padded columns, BLOCK). `weights` and `linear_weights` are
    (n_blocks * BLOCK,), and ``used[k]`` says whether any of them in block k is not zero.
    `scratch` is (padded columns, BLOCK), `gram` (padded columns, padded columns), `linear`
    (padded columns,).
    """
    gram[:, :] = 0.0
    linear[:] = 0.0
    for k in range(blocks.shape[0]):
        if used[k]:
            w = weights[k * BLOCK : (k + 1) * BLOCK]
            v = linear_weights[k * BLOCK : (k + 1) * BLOCK]
            add_block(blocks[k], w, v, scratch, gram, linear)


@summing
def add_block(block, w, v, scratch, gram, linear):
    """Add the share of one block to `gram` and `linear`.

    `block` and `scratch` are (padded columns, BLOCK), the weights `w` and linear weights `v`
    are (BLOCK,), `gram` is (padded columns, padded columns), `linear` is (padded columns,).
    """
    for a in range(block.shape[0]):
        x = block[a]
        wx = scratch[a]
        total = 0.0
        for i in range(BLOCK):
            wx[i] = w[i] * x[i]
            total += v[i] * x[i]
        linear[a] += total
    for a in range(0, block.shape[0], TILE):
        for b in range(0, a + 1, TILE):
            add_tile(scratch, block, a, b, gram)
