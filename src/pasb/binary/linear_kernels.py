"""Compiled steps that the logistic and the robit model share.

`df`, `constant` and `pieces` stand for the link; see `pasb.binary.t_law`.
"""

from __future__ import annotations

from numba import njit

from pasb.binary.logistic_kernels import present_predictors
from pasb.binary.logistic_kernels import sum_logs_of as logistic_sums
from pasb.binary.robit_kernels import scale_moves as stretch_robit
from pasb.binary.robit_kernels import sum_logs_of as robit_sums
from pasb.binary.scale_move import scale_moves as stretch_logistic
from pasb.binary.t_law import LOGISTIC
from pasb.rows import BLOCK, one_predictor, two_predictors

kernel = njit(cache=True, error_model="numpy", nogil=True)


@kernel
def sum_logs(
    blocks, weights, bounds, df, constant, pieces, padded_coef, eta, other, success, failure
):
    """Sums of the log-probabilities over the rows of each category, for one vector or two.

    `eta` and `other` are work space; one vector of coefficients needs the first alone.
    """
    n = padded_coef.shape[0]
    for k in range(blocks.shape[0]):
        rows = slice(k * BLOCK, (k + 1) * BLOCK)
        if n == 1:
            one_predictor(blocks[k], padded_coef[0], eta[rows])
        else:
            two_predictors(blocks[k], padded_coef[0], padded_coef[1], eta[rows], other[rows])
    for j in range(n):
        predictors = eta if j == 0 else other
        if df == LOGISTIC:
            logistic_sums(predictors, weights, bounds, success[j], failure[j])
        else:
            law = (df, constant, pieces)
            robit_sums(predictors, weights, bounds, *law, success[j], failure[j])


@kernel
def stretch(
    blocks,
    weights,
    bounds,
    ard,
    shape,
    rate,
    df,
    constant,
    pieces,
    padded_coef,
    eta,
    parts,
    n_moves,
    key,
    coef,
):
    """Scale moves of `coef`; `padded_coef` and `eta` are work space."""
    padded_coef[: coef.shape[0]] = coef
    present_predictors(blocks, bounds, parts, padded_coef, eta)
    if df == LOGISTIC:
        stretch_logistic(eta, weights, bounds, parts, ard, shape, rate, n_moves, key, coef)
    else:
        law = (df, constant, pieces)
        stretch_robit(eta, weights, bounds, parts, *law, ard, shape, rate, n_moves, key, coef)
