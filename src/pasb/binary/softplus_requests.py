"""What softplus sticks ask of rows that are elsewhere, and the row half that answers.

A *request* names the roles of groups of rows on a stick, and one set of coefficients and weights.
The answer is a sum over all rows. With all latents integrated out a trajectory needs the
log-likelihood and its gradient (`Slope`); swaps of the order need sums of the logs of success and
failure by group (`Table`), and with them comes how many rows each expert is active in, drawn
from the full conditional.

The answer to a request does not depend on the requests beside it, bit by bit, and the random
numbers of a row are named by its number in the table. So requests may be put together in any way,
and rows may be anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_gradient import gradient_space, value_and_gradient
from pasb.binary.softplus_link import link_space, log_link_of_block, log_sums_of
from pasb.binary.softplus_rows import draw_active
from pasb.binary.stick_rows import StickRows, mark_block, stick_rows
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, Rows, padded
from pasb.sticks import SUCCESS
from pasb.variates.scalar import open_stream

# mypy: disable-error-code="call-arg"


class SlopeRequest(NamedTuple):
    """Asks for the log-likelihood of a stick and its gradient.

    Attributes
    ----------
    roles : array of shape (n_groups,)
        Groups of rows are categories, unless not everything is available to every row.
    coef : array of shape (n_experts, n_layers, n_columns)
    log_weight : array of shape (n_experts,)
    """

    roles: NDArray[np.int8]
    coef: NDArray[np.float64]
    log_weight: NDArray[np.float64]


class TableRequest(NamedTuple):
    """Asks for a line of the order table, and in how many rows experts are active.

    Attributes
    ----------
    roles, coef, log_weight : array
        As of a `SlopeRequest`; without successes no expert is active.
    key : uint64
        Of the streams of the rows.
    """

    roles: NDArray[np.int8]
    coef: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    key: np.uint64


class Slope(NamedTuple):
    """A log-likelihood, and its gradient by coefficients and log-weights."""

    value: NDArray[np.float64]  # one number
    by_coef: NDArray[np.float64]
    by_weight: NDArray[np.float64]


class Table(NamedTuple):
    """Sums of the logs of success and failure by group, and active rows by expert."""

    success: NDArray[np.float64]
    failure: NDArray[np.float64]
    active: NDArray[np.float64]


SoftplusRequest = SlopeRequest | TableRequest
SoftplusAnswer = Slope | Table


def answer_size(request: SoftplusRequest) -> int:
    """Numbers in the answer to a request."""
    if isinstance(request, SlopeRequest):
        return 1 + request.coef.size + len(request.log_weight)
    return 2 * len(request.roles) + len(request.log_weight)


def answered(
    rows: Rows, numbers: NDArray[np.int64], asked: Sequence[SoftplusRequest]
) -> list[SoftplusAnswer]:
    """The share of some rows in the answers; a function of its arguments and nothing else.

    `numbers` are those of the rows in the table.
    """
    return [
        _slope(rows, one) if isinstance(one, SlopeRequest) else _table(rows, numbers, one)
        for one in asked
    ]


def _slope(rows: Rows, asked: SlopeRequest) -> Slope:
    n_experts, n_layers, n_columns = asked.coef.shape
    own = stick_rows(rows, asked.roles)
    _, n_padded, width = own.blocks.shape
    coef = _flat(asked.coef, n_padded)
    work = gradient_space(n_experts, n_layers, width)
    by_coef, by_weight = np.zeros_like(coef), np.zeros(n_experts)
    log_weight = np.array(asked.log_weight)  # its own: what was sent may not be written to
    value = value_and_gradient(own, coef, log_weight, work, by_coef, by_weight)
    return Slope(
        np.array([value]), by_coef[:, :n_columns].reshape(asked.coef.shape).copy(), by_weight
    )


def _table(rows: Rows, numbers: NDArray[np.int64], asked: TableRequest) -> Table:
    n_experts, n_layers, _ = asked.coef.shape
    success, failure = np.zeros((2, rows.n_groups))
    coef, log_weight = _flat(asked.coef, rows.blocks.shape[1]), np.array(asked.log_weight)
    work = link_space(n_experts, n_layers)
    log_sums_of(rows.blocks, rows.bounds, coef, log_weight, *work, success, failure)
    active, succeeds = np.zeros(n_experts), asked.roles == SUCCESS
    if succeeds.any():
        own = StickRows(rows.blocks, rows.bounds, succeeds, succeeds.astype(np.float64))
        scratch = np.zeros((3, n_experts)), np.zeros(n_experts, dtype=np.int64)
        key = np.uint64(asked.key)
        count_active(own, numbers, coef, log_weight, key, work, scratch, active)
    return Table(success, failure, active)


def _flat(coef: NDArray[np.float64], n_padded: int) -> NDArray[np.float64]:
    """One vector a line, padded."""
    return padded(coef.reshape(-1, coef.shape[-1]), n_padded)


@kernel
def count_active(rows, numbers, coef, log_weight, key, work, scratch, active):
    """In how many successes each expert is active, drawn and added to `active`.

    Parameters
    ----------
    rows : StickRows
        Whose rows of positive power are successes.
    numbers : array of shape (n_rows,)
        Which stream under `key` each row reads.
    coef, log_weight, work
        See `pasb.binary.softplus_link.log_link_of_block`; `work` is its `link_space`.
    key : uint64
    scratch : tuple
        (3, n_experts), and (n_experts,) of integers.
    active : array of shape (n_experts,)
    """
    psi, log_q, space, logs = work
    rates, is_active = scratch
    log_rate, rate, left = rates[0], rates[1], rates[2]
    signs, powers = np.empty(BLOCK), np.empty(BLOCK)
    for b in range(rows.blocks.shape[0]):
        if not mark_block(rows, b, signs, powers):
            continue
        block = rows.blocks[b]
        log_link_of_block(block, coef, log_weight, psi, log_q, space, logs[0], logs[1])
        for i in range(BLOCK):
            if powers[i] > 0.0:
                for k in range(log_rate.size):
                    log_rate[k] = log_weight[k] + log_q[k, i]
                stream = open_stream(key, numbers[b * BLOCK + i])
                draw_active(log_rate, rate, left, False, stream, is_active)
                for k in range(log_rate.size):
                    active[k] += is_active[k]
