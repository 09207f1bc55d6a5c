"""Probabilities of success under many draws side by side: what predictions of a few rows take.

Samplers have the rows of a block side by side in memory, and one coefficient vector after the
other. Here it is the other way round: `BLOCK` draws are side by side, and one row comes after the
other. So the time of a prediction is proportional to its rows, from one on, and what is computed
for a row does not depend on the others.

Results are probabilities, not logs, each in full relative precision down to about 1e-300.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_link import LOG_GREATEST, LOG_OFF, add_layer, log_weights
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, blocked, one_predictor, two_predictors
from pasb.numerics.vector import vector_exp, vector_log

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
        ]  # each (sticks x experts, blocks, columns, BLOCK)
        together = np.stack(by_layer, axis=1)
        shape = (n_sticks, n_experts, *together.shape[1:])
        n_blocks = together.shape[2]
        all_weights = np.zeros((n_blocks * BLOCK, n_sticks, n_experts))
        all_weights[:n_draws] = weight
        all_weights = all_weights.reshape(n_blocks, BLOCK, n_sticks, n_experts)
        all_weights = np.ascontiguousarray(all_weights.transpose(0, 2, 3, 1))
        return cls(
            np.ascontiguousarray(together.reshape(shape).transpose(3, 0, 1, 2, 4, 5)),
            all_weights,
            log_weights(all_weights),
        )


def vector_blocks(coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors (draw, ..., column) as blocks of draws, (..., n_blocks, padded columns, BLOCK).

    The axes between the first and the last become one.
    """
    flat = coef.reshape(len(coef), -1, coef.shape[-1])
    first = blocked(flat[:, 0])
    out = np.empty((flat.shape[1], *first.shape))
    out[0] = first
    for k in range(1, len(out)):
        out[k] = blocked(flat[:, k])
    return out


@kernel
def stick_predictors(blocks, X, out):
    """x'b of every stick, row and draw.

    `blocks` is (sticks, n_blocks, padded columns, BLOCK), `X` (rows, padded columns) and `out`
    (sticks, rows, n_blocks x BLOCK).
    """
    for j in range(blocks.shape[0]):
        for b in range(blocks.shape[1]):
            row_predictors(blocks[j, b], X, b * BLOCK, out[j])


@elementwise
def row_predictors(block, X, start, out):
    """x'b of every row under the draws of one block, into columns of `out` from `start` on."""
    last = X.shape[0] - 1
    for i in range(0, last, 2):
        first, second = out[i, start : start + BLOCK], out[i + 1, start : start + BLOCK]
        two_predictors(block, X[i], X[i + 1], first, second)
    if last % 2 == 0:
        one_predictor(block, X[last], out[last, start : start + BLOCK])


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
    """Success and failure of softplus sticks, (sticks, rows, n_blocks x BLOCK); see `Experts`."""
    n_blocks, n_sticks, n_experts, n_layers, _, _ = coef.shape
    n_rows = X.shape[0]
    psi = np.empty((n_layers, n_rows, BLOCK))
    q, rates = np.empty(BLOCK), np.empty((n_rows, BLOCK))
    for b in range(n_blocks):
        start = b * BLOCK
        for j in range(n_sticks):
            rates[:, :] = 0.0
            for k in range(n_experts):
                if weight[b, j, k].max() == 0.0:
                    continue
                for t in range(n_layers):
                    row_predictors(coef[b, j, k, t], X, 0, psi[t])
                for i in range(n_rows):
                    if _is_moderate(psi, i):
                        add_rates(psi, i, weight[b, j, k], q, rates[i])
                    else:
                        add_rates_by_logs(psi, i, log_weight[b, j, k], q, rates[i])
            for i in range(n_rows):
                own = success[j, i, start : start + BLOCK], failure[j, i, start : start + BLOCK]
                of_rates(rates[i], own[0], own[1])


@elementwise
def _is_moderate(psi, i):
    """Whether all predictors of a row are so small that logs are not needed."""
    most = PLAIN / psi.shape[0]
    n = 0
    for t in range(psi.shape[0]):
        own = psi[t, i]
        for d in range(BLOCK):
            n += abs(own[d]) > most
    return n == 0


@elementwise
def add_rates(psi, i, weight, q, rates):
    """Add r q_T of row i to `rates`, where q_t = log(1 + q_(t-1) exp(psi_t)) and q_0 = 1."""
    for d in range(BLOCK):
        q[d] = 1.0
    for t in range(psi.shape[0]):
        own = psi[t, i]
        for d in range(BLOCK):
            y = q[d] * vector_exp(own[d])
            u = 1.0 + y
            # the second term gives back what the sum rounded away
            q[d] = vector_log(u) + (y - (u - 1.0)) / u
    for d in range(BLOCK):
        rates[d] += weight[d] * q[d]


@elementwise
def add_rates_by_logs(psi, i, log_weight, log_q, rates):
    """The same for predictors of any size."""
    for d in range(BLOCK):
        log_q[d] = 0.0
    for t in range(psi.shape[0]):
        add_layer(psi[t, i], log_q)
    for d in range(BLOCK):
        shift = log_weight[d]
        y = vector_exp(min(shift + log_q[d], LOG_GREATEST))
        rates[d] += y if shift > LOG_OFF else 0.0


@elementwise
def of_rates(rates, success, failure):
    """1 - exp(-rate), in full relative precision, and exp(-rate)."""
    for d in range(BLOCK):
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
