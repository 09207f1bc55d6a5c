"""What linear sticks ask of rows that are elsewhere, and the row half that answers.

A *request* names the roles of groups of rows on a stick and some vectors of coefficients. Groups
are categories, unless not everything is available to every row (`pasb.numerics.row_groups`). The
answer is a sum over all rows: log-likelihoods by group (`VALUE`), also their gradient (`SLOPE`),
or what a Newton step needs (`NEWTON`). Many requests are answered in one pass: a block of rows
stays in the cache while all vectors go over it.

The answer to a vector does not depend on the vectors beside it, bit by bit. So requests may be put
together in any way, and what was asked before a run was interrupted can be asked again.

The kernels take many vectors at once. Arguments as in `pasb.binary.linear_kernels`, with a first
axis for the vectors in `roles`, `coef`, `slope`, `sums` and in `gram` (vectors, n_padded,
n_padded), the negative second derivatives. `eta` and `residual` are of one block, and so are
`work`, three vectors for predictors, curvatures and residuals, and `scratch` (n_padded, BLOCK).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.laplace import logistic_terms
from pasb.binary.robit_kernels import newton_terms as robit_terms
from pasb.binary.robit_kernels import residuals_and_sum, sum_alone
from pasb.binary.slopes import add_products, logistic_residuals, logistic_sum, predict
from pasb.binary.t_link import LOGISTIC
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, Rows, add_block, padded
from pasb.sticks import ABSENT, FAILURE, SUCCESS

VALUE, SLOPE, NEWTON = 0, 1, 2
AnyAnswer = TypeVar("AnyAnswer", bound=tuple)
LOGS, TRIANGLE = 8.0, 0.45  # what a logarithm costs, and a Gram matrix, in products

# mypy: disable-error-code="call-arg"


class Request(NamedTuple):
    """Coefficients of one stick.

    Attributes
    ----------
    kind : {VALUE, SLOPE, NEWTON}
    roles : array of shape (n_groups,)
    coef : array of shape (n_vectors, n_columns)
    """

    kind: int
    roles: NDArray[np.int8]
    coef: NDArray[np.float64]


class Answer(NamedTuple):
    """Sums over all rows, one line for each vector of a request.

    Attributes
    ----------
    sums : array of shape (n_vectors, n_groups)
        Log-likelihoods of the rows of each group; zero where they are absent.
    slope : array of shape (n_vectors, n_columns)
        Gradients of the log-likelihood; empty for `VALUE`.
    gram : array of shape (n_vectors, n_columns * (n_columns + 1) / 2)
        Lower triangles of the negative second derivatives, row by row; empty but for `NEWTON`.
    """

    sums: NDArray[np.float64]
    slope: NDArray[np.float64]
    gram: NDArray[np.float64]


class Stacked(NamedTuple):
    """All vectors of one kind: their roles (vectors, groups) and coefficients."""

    kind: int
    roles: NDArray[np.int8]
    coef: NDArray[np.float64]


def stacked(requests: Sequence[Request]) -> list[Stacked]:
    """Requests by kind, as one pass takes them."""
    out = []
    for kind in (VALUE, SLOPE, NEWTON):
        own = [request for request in requests if request.kind == kind]
        if own:
            counts = [len(request.coef) for request in own]
            roles = np.repeat(np.stack([request.roles for request in own]), counts, axis=0)
            out.append(Stacked(kind, roles, np.concatenate([request.coef for request in own])))
    return out


def unstacked(requests: Sequence[Request], answers: Sequence[Answer]) -> list[Answer]:
    """The answer to each request, from those to `stacked` ones."""
    kinds = sorted({request.kind for request in requests})
    by_kind = dict(zip(kinds, answers, strict=True))
    taken = dict.fromkeys(kinds, 0)
    out = []
    for request in requests:
        start = taken[request.kind]
        taken[request.kind] = stop = start + len(request.coef)
        out.append(Answer(*(array[start:stop] for array in by_kind[request.kind])))
    return out


def answered(rows: Rows, link: tuple[Any, ...], asked: Sequence[Stacked]) -> list[Answer]:
    """The share of some rows in the answers; a function of its arguments and nothing else."""
    link = tuple(_own(one) if isinstance(one, np.ndarray) else one for one in link)
    return [_answer(rows, link, one._replace(roles=_own(one.roles))) for one in asked]


def _own(array: NDArray) -> NDArray:
    """An array that may be written to: for others kernels would be compiled once more."""
    return array if array.flags.writeable else array.copy()


def added(left: Sequence[AnyAnswer], right: Sequence[AnyAnswer]) -> list[AnyAnswer]:
    """The sums of two sets of answers, which are tuples of arrays."""
    return [
        type(one)(*(a + b for a, b in zip(one, other, strict=True)))
        for one, other in zip(left, right, strict=True)
    ]


def answer_size(request: Request) -> int:
    """Numbers in the answer to a request."""
    n, n_columns = request.coef.shape
    each = len(request.roles)
    if request.kind != VALUE:
        each += n_columns
    if request.kind == NEWTON:
        each += n_columns * (n_columns + 1) // 2
    return n * each


def work_of(request: Request) -> float:
    """What a request costs for each row, in products; logs and triangles are measured ones."""
    n, n_columns = request.coef.shape
    each = n_columns + LOGS
    if request.kind != VALUE:
        each += n_columns
    if request.kind == NEWTON:
        each += TRIANGLE * n_columns**2
    return n * each


def _answer(rows: Rows, link: tuple[Any, ...], asked: Stacked) -> Answer:
    n, n_columns = asked.coef.shape
    n_padded = rows.blocks.shape[1]
    weighted_rows = (rows.blocks, rows.weights, rows.bounds)
    task = (weighted_rows, link, asked.roles, padded(asked.coef, n_padded))
    sums = np.zeros((n, rows.n_groups))
    nothing = np.zeros((n, 0))
    if asked.kind == VALUE:
        many_values(*task, np.zeros(BLOCK), sums)
        return Answer(sums, nothing, nothing)
    slope = np.zeros((n, n_padded))
    if asked.kind == SLOPE:
        many_slopes(*task, np.zeros(BLOCK), np.zeros(BLOCK), slope, sums)
        return Answer(sums, slope[:, :n_columns], nothing)
    gram = np.zeros((n, n_padded, n_padded))
    # vectors by themselves: what rows of a matrix are is not known when the kernel is compiled
    vectors = (np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK))
    many_newtons(*task, vectors, np.zeros((n_padded, BLOCK)), gram, slope, sums)
    lower = np.tril_indices(n_columns)
    return Answer(sums, slope[:, :n_columns], gram[:, lower[0], lower[1]])


@kernel
def first_in(bounds, start):
    """The first group with a row at or behind `start`."""
    s = 0
    while s + 2 < bounds.shape[0] and bounds[s + 1] <= start:
        s += 1
    return s


@kernel
def many_values(weighted_rows, link, roles, coef, eta, sums):
    """Log-likelihoods of many vectors, added to `sums` by vector and group."""
    blocks, weights, bounds = weighted_rows
    last = bounds.shape[0] - 1
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        first = first_in(bounds, start)
        for v in range(coef.shape[0]):
            predicted = False
            for s in range(first, last):
                if bounds[s] >= start + BLOCK:
                    break
                a, b = max(bounds[s] - start, 0), min(bounds[s + 1] - start, BLOCK)
                role = roles[v, s]
                if a >= b or (role != SUCCESS and role != FAILURE):
                    continue
                if not predicted:
                    predict(blocks[k], coef[v], eta)
                    predicted = True
                sign = 1.0 if role == SUCCESS else -1.0
                h = weights[start + a : start + b]
                if link[0] == LOGISTIC:
                    sums[v, s] += logistic_sum(eta[a:b], h, sign)
                else:
                    sums[v, s] += sum_alone(eta[a:b], h, sign, *link)


@kernel
def many_slopes(weighted_rows, link, roles, coef, eta, residual, slope, sums):
    """As `many_values`, bit by bit, and the gradients, added to `slope`."""
    blocks, weights, bounds = weighted_rows
    last = bounds.shape[0] - 1
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        first = first_in(bounds, start)
        for v in range(coef.shape[0]):
            predicted = False
            for s in range(first, last):
                if bounds[s] >= start + BLOCK:
                    break
                a, b = max(bounds[s] - start, 0), min(bounds[s + 1] - start, BLOCK)
                role = roles[v, s]
                if a >= b or (role != SUCCESS and role != FAILURE):
                    continue
                if not predicted:
                    predict(blocks[k], coef[v], eta)
                    residual[:] = 0.0
                    predicted = True
                sign = 1.0 if role == SUCCESS else -1.0
                h = weights[start + a : start + b]
                if link[0] == LOGISTIC:
                    logistic_residuals(eta[a:b], h, sign, residual[a:b])
                    sums[v, s] += logistic_sum(eta[a:b], h, sign)
                else:
                    sums[v, s] += residuals_and_sum(eta[a:b], h, sign, *link, residual[a:b])
            if predicted:
                add_products(blocks[k], residual, slope[v])


@kernel
def many_newtons(weighted_rows, link, roles, coef, work, scratch, gram, slope, sums):
    """Log-likelihoods, gradients and negative second derivatives of many vectors."""
    blocks, weights, bounds = weighted_rows
    eta, curvature, residual = work
    last = bounds.shape[0] - 1
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        first = first_in(bounds, start)
        for v in range(coef.shape[0]):
            predicted = False
            for s in range(first, last):
                if bounds[s] >= start + BLOCK:
                    break
                a, b = max(bounds[s] - start, 0), min(bounds[s + 1] - start, BLOCK)
                if a >= b or roles[v, s] == ABSENT:
                    continue
                if not predicted:
                    predict(blocks[k], coef[v], eta)
                    curvature[:] = 0.0
                    residual[:] = 0.0
                    predicted = True
                label = 1.0 if roles[v, s] == SUCCESS else 0.0
                e, h = eta[a:b], weights[start + a : start + b]
                c, r = curvature[a:b], residual[a:b]
                if link[0] == LOGISTIC:
                    sums[v, s] += logistic_terms(e, label, h, c, r, 0.0)
                else:
                    sums[v, s] += robit_terms(e, label, h, *link, c, r, 0.0)
            if predicted:
                add_block(blocks[k], curvature, residual, scratch, gram[v], slope[v])
