"""Sums over rows on a GPU: requests of linear sticks, part by part.

As many parts as there is room for stay on the GPU; the others are copied to it in every pass. The
answers of parts are added in the tree of all engines, so that they are the same bits however many
parts stay, on any GPU of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.row_requests import NEWTON, VALUE, Answer, Stacked
from pasb.binary.softplus_requests import SoftplusAnswer, SoftplusRequest
from pasb.binary.t_link import LOGISTIC_LINK
from pasb.covariates.parts import Part
from pasb.engines.cuda_softplus_sums import softplus_answers_there
from pasb.engines.device import THREADS, array_module, free_bytes, simulated, to_host, view
from pasb.errors import EngineError
from pasb.numerics.part_tree import reduced
from pasb.numerics.row_groups import NO_GROUPS, Groups
from pasb.numerics.rows import BLOCK
from pasb.sampling.row_sums import LocalSums, all_added
from pasb.sticks import FAILURE

SPAN = 64 * BLOCK  # rows whose products one group of threads adds
SHARE = 0.6  # of the free memory for rows that stay; the rest is for terms and sums
MOST_TERMS = 2**26  # numbers of terms and partial sums at a time
MOST_VECTORS = 2**15  # a launch has at most 65 535 groups of threads along its second axis
MOST_GROUPS = 65_535  # of rows, for the same reason


class DevicePart(NamedTuple):
    """The rows of a part on the GPU; see `pasb.engines.cuda_requests`.

    Attributes
    ----------
    blocks : array of shape (n_blocks, n_padded_columns, BLOCK)
    weights : array of shape (n_blocks * BLOCK,), or empty where all are 1
    pieces : integer array of shape (n_pieces, 4)
        Block, first and last row within it, and group; by group, see `Part.bounds`.
    ranges : integer array of shape (n_groups + 1,)
        Where the pieces of each group begin.
    n_rows, n_columns : int
    """

    blocks: Any
    weights: Any
    pieces: Any
    ranges: Any
    n_rows: int
    n_columns: int


def pieces_of(bounds: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Rows of one group within one block, and where those of each group begin.

    Examples
    --------
    >>> pieces, ranges = pieces_of(np.array([0, 300, 300, 310]))
    >>> pieces
    array([[  0,   0, 256,   0],
           [  1,   0,  44,   0],
           [  1,  44,  54,   2]], dtype=int32)
    >>> ranges
    array([0, 2, 2, 3])
    """
    pieces, ranges = [], [0]
    for group, (start, stop) in enumerate(pairwise(bounds.tolist())):
        for k in range(start // BLOCK, -(-stop // BLOCK) if stop > start else start // BLOCK):
            first, last = max(start - k * BLOCK, 0), min(stop - k * BLOCK, BLOCK)
            pieces.append((k, first, last, group))
        ranges.append(len(pieces))
    return np.array(pieces, dtype=np.int32).reshape(-1, 4), np.array(ranges)


def on_device(xp: Any, part: Part) -> DevicePart:
    """A part, copied to the GPU."""
    pieces, ranges = pieces_of(part.bounds)
    n_rows = int(part.bounds[-1])
    weights = np.zeros(0)
    if part.weights is not None:
        weights = np.zeros(len(part.blocks) * BLOCK)
        weights[:n_rows] = part.weights
    there = [xp.asarray(one) for one in (part.blocks, weights, pieces, ranges)]
    return DevicePart(there[0], there[1], there[2], there[3], n_rows, part.n_columns)


def bytes_of(part: Part) -> int:
    """What a part takes on the GPU, about."""
    return int(part.blocks.nbytes + 8 * part.bounds[-1])


def answered_there(
    xp: Any, part: DevicePart, link: tuple[Any, ...], asked: Sequence[Stacked]
) -> list[Answer]:
    """The share of a part in the answers, on the GPU; cf. `row_requests.answered`."""
    out = []
    for one in asked:
        each = len(part.pieces) + (0 if one.kind == VALUE else 2 * len(part.blocks) * BLOCK)
        if one.kind == NEWTON:
            each += part.blocks.shape[1] ** 2 * -(-part.n_rows // SPAN)
        most = max(1, min(MOST_VECTORS, MOST_TERMS // max(each, 1)))
        some = [
            _answer(xp, part, link, one.kind, one.roles[k : k + most], one.coef[k : k + most])
            for k in range(0, len(one.coef), most)
        ]
        out.append(Answer(*(xp.concatenate(arrays) for arrays in zip(*some, strict=True))))
    return out


def _answer(
    xp: Any, part: DevicePart, link: tuple[Any, ...], kind: int, roles: Any, coef: Any
) -> Answer:
    from pasb.engines import cuda_requests as kernels

    n, n_columns = coef.shape
    n_pieces, n_padded = len(part.pieces), part.blocks.shape[1]
    sums, nothing = xp.zeros((n, len(part.ranges) - 1)), xp.zeros((n, 0))
    slope = nothing if kind == VALUE else xp.zeros((n, n_padded))
    n_tiles = n_padded // kernels.TILE
    gram = xp.zeros((n, n_columns * (n_columns + 1) // 2)) if kind == NEWTON else nothing
    if n_pieces:
        df, constant, t = link
        partial = xp.empty((n, n_pieces))
        shape = (2 if kind == NEWTON else 1, n, len(part.blocks) * BLOCK)
        terms = xp.empty((1, 1, 1) if kind == VALUE else shape)
        own = (xp.asarray(roles), xp.asarray(coef), kind, float(df), float(constant))
        arrays = [view(one) for one in (part.blocks, part.weights, part.pieces)]
        _launch(kernels.row_terms, (n_pieces, -(-n // kernels.VECTORS)))(
            *arrays, view(own[0]), view(own[1]), *own[2:], view(t),
            view(partial), view(terms),
        )  # fmt: skip
        _launch(kernels.add_ranges, (n, len(part.ranges) - 1))(
            view(partial), view(part.ranges), view(sums)
        )
        n_spans = -(-part.n_rows // SPAN)

        def added_up(products: Any) -> Any:
            total = xp.empty(products.shape[:2])
            flat = products.reshape(-1, n_spans)
            groups = (-(-len(flat) // THREADS),)
            _launch(kernels.add_spans, groups)(view(flat), view(total.reshape(-1)))
            return total

        rows = view(part.blocks), part.n_rows, view(terms)
        if kind != VALUE:
            products = xp.empty((n, n_padded, n_spans))
            _launch(kernels.column_products, (n_spans, n, n_padded))(*rows, SPAN, view(products))
            slope = added_up(products)
        if kind == NEWTON:
            tiles = np.array([(a, b) for a in range(n_tiles) for b in range(a + 1)], dtype=np.int32)
            products = xp.empty((n, len(tiles) * kernels.TILE**2, n_spans))
            _launch(kernels.weighted_products, (n_spans, n, len(tiles)))(
                *rows, view(xp.asarray(tiles * kernels.TILE)), SPAN, view(products)
            )
            gram = added_up(products)[:, xp.asarray(_places(n_columns, kernels.TILE))]
    return Answer(sums, slope[:, :n_columns] if kind != VALUE else nothing, gram)


def _launch(kernel: Any, grid: tuple[int, ...]) -> Any:
    """A kernel on the default stream, which is CuPy's too: they wait for each other."""
    return kernel[grid, THREADS]


def _places(n_columns: int, tile: int) -> NDArray[np.int64]:
    """Where products of two columns are among those of all tiles, row by row of the triangle."""
    i, j = np.tril_indices(n_columns)
    a, b = i // tile, j // tile
    return ((a * (a + 1) // 2 + b) * tile + i % tile) * tile + j % tile


class CudaSums(LocalSums):
    """Parts of this process whose sums a GPU takes."""

    def __init__(
        self,
        parts: Sequence[Part],
        first_rows: NDArray[np.int64],
        n_jobs: int = 1,
        groups: Groups = NO_GROUPS,
    ):
        super().__init__(parts, first_rows, n_jobs, groups)
        n_groups = self.bounds.shape[1] - 1
        if n_groups > MOST_GROUPS:
            raise EngineError(
                f"availability: rows fall into {n_groups:,} groups of one class and one set of "
                f"available classes, and engine='cuda' takes up to {MOST_GROUPS:,}: use "
                "engine='blocks'"
            )
        self.xp = array_module()
        room = SHARE * free_bytes(self.xp)
        self.kept: list[DevicePart] = []
        for part in self.parts:
            room -= bytes_of(part)
            if room < 0:
                break
            self.kept.append(on_device(self.xp, part))
        if not simulated():
            self._compile()

    def _compile(self) -> None:
        """Compile the kernels, so that the first pass takes as long as the others."""
        part = self.parts[0]
        roles = np.full((1, len(part.bounds) - 1), FAILURE, dtype=np.int8)
        coef = np.zeros((1, part.n_columns))
        self.one_pass([Stacked(kind, roles, coef) for kind in (VALUE, NEWTON)], LOGISTIC_LINK)

    def one_pass(self, asked: list[Stacked], link: tuple[Any, ...]) -> list[Answer]:  # noqa: D102
        xp = self.xp
        moved = [
            one._replace(roles=xp.asarray(one.roles), coef=xp.asarray(one.coef)) for one in asked
        ]
        there = (*link[:2], xp.array(link[2]))
        answers = [answered_there(xp, part, there, moved) for part in self.kept]
        for part in self.parts[len(self.kept) :]:
            answers.append(answered_there(xp, on_device(xp, part), there, moved))
        total = reduced(answers, all_added)
        return [Answer(*map(to_host, one)) for one in total]

    def one_softplus_pass(self, asked: list[SoftplusRequest]) -> list[SoftplusAnswer]:  # noqa: D102
        answers = []
        for k, part in enumerate(self.parts):
            there = self.kept[k] if k < len(self.kept) else on_device(self.xp, part)
            numbers = self.first_rows[k] + part.source.astype(np.int64)
            answers.append(softplus_answers_there(self.xp, there, numbers, asked, SPAN))
        return [type(one)(*map(to_host, one)) for one in reduced(answers, all_added)]

    def close(self) -> None:  # noqa: D102
        self.kept.clear()
        super().close()
