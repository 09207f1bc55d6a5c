"""Probabilities of success under many draws side by side: what predictions of a few rows take.

Samplers have the rows of a block side by side in memory, and one coefficient vector after the
other. Here it is the other way round: `BLOCK` draws are side by side, and one row comes after the
other. So the time of a prediction is proportional to its rows, from one on, and what is computed
for a row does not depend on the others.

Draws beyond the last one are made up with zeros, to a multiple of `LANES`. Results are
probabilities, not logs, each in full relative precision down to about 1e-300.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_link import LOG_GREATEST, LOG_OFF, add_layer, log_weights
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, TILE, blocked
from pasb.numerics.vector import vector_exp, vector_log

LANES = 32  # so many at least, so that vector code treats all alike
PLAIN = 600.0  # sum of |psi| over layers up to which nothing under- or overflows without logs


class Experts(NamedTuple):
    """Softplus parameters of many draws.

    Attributes
    ----------
    coef : array of shape (n_blocks, n_sticks, n_experts, n_layers, n_padded_columns, BLOCK)
    weight, log_weight : array of shape (n_blocks, n_sticks, n_experts, BLOCK)
        0 and `LOG_OFF` for experts that take no part.
    """

    coef: NDArray[np.float64]
    weight: NDArray[np.float64]
    log_weight: NDArray[np.float64]

    @classmethod
    def of(cls, coef: NDArray[np.float64], weight: NDArray[np.float64]) -> Experts:
        """From (draw, stick, expert, layer, column) coefficients and (draw, stick, expert) weights.

        Experts of a draw and stick change places: those of the largest weights come first, so that
        places where no draw of a block has an expert can be passed over.
        """
        place = np.argsort(-weight, axis=2, kind="stable")
        weight = np.take_along_axis(weight, place, axis=2)
        n_draws, n_sticks, n_experts, n_layers, _ = coef.shape
        by_layer = [
            vector_blocks(np.take_along_axis(coef[..., t, :], place[..., None], axis=2))
            for t in range(n_layers)
        ]  # each (blocks, sticks x experts, columns, BLOCK)
        together = np.stack(by_layer, axis=2)
        n_blocks = len(together)
        shape = (n_blocks, n_sticks, n_experts, *together.shape[2:])
        flat = np.zeros((n_blocks * BLOCK, n_sticks, n_experts))
        flat[:n_draws] = weight
        by_block = flat.reshape(n_blocks, BLOCK, n_sticks, n_experts)
        all_weights = np.ascontiguousarray(by_block.transpose(0, 2, 3, 1))
        return cls(
            together.reshape(shape),
            all_weights,
            log_weights(all_weights),
        )


def vector_blocks(coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors (draw, ..., column) as blocks of draws, (n_blocks, ..., padded columns, BLOCK).

    The axes between the first and the last become one.
    """
    flat = coef.reshape(len(coef), -1, coef.shape[-1])
    first = blocked(flat[:, 0])
    out = np.empty((len(first), flat.shape[1], *first.shape[1:]))
    out[:, 0] = first
    for k in range(1, flat.shape[1]):
        out[:, k] = blocked(flat[:, k])
    return out


def n_lanes(n_draws: int) -> int:
    """Draws with those that were made up."""
    return -(-n_draws // LANES) * LANES


@kernel
def stick_predictors(blocks, X, out):
    """x'b of every stick, row and draw.

    `blocks` is (n_blocks, sticks, padded columns, BLOCK), `X` (rows, padded columns) and `out`
    (sticks, rows, lanes).
    """
    for b in range(blocks.shape[0]):
        n = min(BLOCK, out.shape[2] - b * BLOCK)
        for j in range(blocks.shape[1]):
            row_predictors(blocks[b, j], X, b * BLOCK, n, out[j])


@elementwise
def row_predictors(block, X, start, n, out):
    """x'b of every row of `X` under `n` draws of one `block`, into `out` from `start` on."""
    last = X.shape[0] - 1
    for i in range(0, last, 2):
        _two_rows(block, X[i], X[i + 1], n, out[i, start:], out[i + 1, start:])
    if last % 2 == 0:
        _one_row(block, X[last], n, out[last, start:])


@elementwise
def _one_row(block, x, n, out):
    for d in range(n):
        out[d] = 0.0
    for v in range(0, x.size, TILE):
        x0, x1, x2, x3 = x[v], x[v + 1], x[v + 2], x[v + 3]
        b0, b1, b2, b3 = block[v], block[v + 1], block[v + 2], block[v + 3]
        for d in range(n):
            eta = out[d]
            eta += x0 * b0[d]
            eta += x1 * b1[d]
            eta += x2 * b2[d]
            eta += x3 * b3[d]
            out[d] = eta


@elementwise
def _two_rows(block, x, z, n, out, other):
    """As `_one_row`, for x into `out` and z into `other`; the block is loaded once.

    `x` and `z` (padded columns) are rows, `block` (padded columns, BLOCK) has `n` draws.
    """
    for d in range(n):
        out[d] = 0.0
        other[d] = 0.0
    for v in range(0, x.size, TILE):
        x0, x1, x2, x3 = x[v], x[v + 1], x[v + 2], x[v + 3]
        z0, z1, z2, z3 = z[v], z[v + 1], z[v + 2], z[v + 3]
        b0, b1, b2, b3 = block[v], block[v + 1], block[v + 2], block[v + 3]
        for d in range(n):
            eta, zeta = out[d], other[d]
            eta += x0 * b0[d]
            zeta += z0 * b0[d]
            eta += x1 * b1[d]
            zeta += z1 * b1[d]
            eta += x2 * b2[d]
            zeta += z2 * b2[d]
            eta += x3 * b3[d]
            zeta += z3 * b3[d]
            out[d], other[d] = eta, zeta


@elementwise
def logistic_probabilities(eta, failure):
    """Turn log-odds into probabilities; `eta` becomes that of success."""
    for i in range(eta.size):
        x = eta[i]
        e = vector_exp(-abs(x))
        large = 1.0 / (1.0 + e)
        small = e * large
        eta[i] = large if x > 0.0 else small
        failure[i] = small if x > 0.0 else large


@elementwise
def exponentials_of(logs):
    """The exponentials of logs of probabilities, in place."""
    for i in range(logs.size):
        logs[i] = vector_exp(logs[i])


@kernel
def softplus_probabilities(coef, weight, log_weight, X, success, failure):
    """Success and failure of softplus sticks, (sticks, rows, lanes); see `Experts`.

    `coef` is (blocks of draws, sticks, K, T, padded columns, BLOCK), `weight` and `log_weight`
    (blocks of draws, sticks, K, BLOCK), `X` (rows, padded columns); `success` and `failure` get
    the results.
    """
    n_blocks, n_sticks, n_experts, n_layers, _, _ = coef.shape
    n_rows = X.shape[0]
    psi = np.empty((n_layers, n_rows, BLOCK))
    q, rates = np.empty(BLOCK), np.empty((n_rows, BLOCK))
    for b in range(n_blocks):
        start = b * BLOCK
        n = min(BLOCK, success.shape[2] - start)
        for j in range(n_sticks):
            rates[:, :] = 0.0
            for k in range(n_experts):
                if weight[b, j, k].max() == 0.0:
                    continue
                for t in range(n_layers):
                    row_predictors(coef[b, j, k, t], X, 0, n, psi[t])
                for i in range(n_rows):
                    if _is_moderate(psi, i, n):
                        add_rates(psi, i, n, weight[b, j, k], q, rates[i])
                    else:
                        add_rates_by_logs(psi, i, log_weight[b, j, k], q[:n], rates[i])
            for i in range(n_rows):
                of_rates(rates[i], n, success[j, i, start:], failure[j, i, start:])


@elementwise
def _is_moderate(psi, i, n):
    """Whether all predictors of a row are so small that logs are not needed."""
    most = PLAIN / psi.shape[0]
    n_large = 0
    for t in range(psi.shape[0]):
        own = psi[t, i]
        for d in range(n):
            n_large += abs(own[d]) > most
    return n_large == 0


@elementwise
def add_rates(psi, i, n, weight, q, rates):
    """Add r q_T of row i to `rates`, where q_t = log(1 + q_(t-1) exp(psi_t)) and q_0 = 1.

    `psi` (T, rows, BLOCK) are predictors of one expert, `weight` (BLOCK) its r, `i` is a row, `n`
    the number of draws, and `q` (BLOCK) scratch.
    """
    for d in range(n):
        q[d] = 1.0
    for t in range(psi.shape[0]):
        own = psi[t, i]
        for d in range(n):
            y = q[d] * vector_exp(own[d])
            u = 1.0 + y
            # the second term gives back what the sum rounded away
            q[d] = vector_log(u) + (y - (u - 1.0)) / u
    for d in range(n):
        rates[d] += weight[d] * q[d]


@elementwise
def add_rates_by_logs(psi, i, log_weight, log_q, rates):
    """The same for predictors of any size; `log_weight` and `log_q` for r and q.

    `psi`, `i` and `rates` are as for `add_rates`.
    """
    for d in range(log_q.size):
        log_q[d] = 0.0
    for t in range(psi.shape[0]):
        add_layer(psi[t, i, : log_q.size], log_q)
    for d in range(log_q.size):
        shift = log_weight[d]
        y = vector_exp(min(shift + log_q[d], LOG_GREATEST))
        rates[d] += y if shift > LOG_OFF else 0.0


@elementwise
def of_rates(rates, n, success, failure):
    """1 - exp(-rate), in full relative precision, and exp(-rate)."""
    for d in range(n):
        x = rates[d]
        y = vector_exp(-x)
        z = min(x, 0.35)
        p = 1.0 / 6227020800.0
        p = 1.0 / 479001600.0 - p * z
        p = 1.0 / 39916800.0 - p * z
        p = 1.0 / 3628800.0 - p * z
        p = 1.0 / 362880.0 - p * z
        p = 1.0 / 40320.0 - p * z
        p = 1.0 / 5040.0 - p * z
        p = 1.0 / 720.0 - p * z
        p = 1.0 / 120.0 - p * z
        p = 1.0 / 24.0 - p * z
        p = 1.0 / 6.0 - p * z
        p = 0.5 - p * z
        p = 1.0 - p * z
        success[d] = x * p if x < 0.35 else 1.0 - y
        failure[d] = y
