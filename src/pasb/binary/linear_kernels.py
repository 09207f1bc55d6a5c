"""Compiled steps that the logistic and the robit model share.

A *setting* is the table (blocks, weights, bounds), the prior (ard, shape, rate) and the link
(df, constant, pieces; see `pasb.binary.t_law`) of a chain, in plain tuples.
"""

from __future__ import annotations

from numba import njit

from pasb.binary.logistic_kernels import present_predictors
from pasb.binary.logistic_kernels import sum_logs_of as logistic_sums
from pasb.binary.robit_kernels import scale_moves as stretch_robit
from pasb.binary.robit_kernels import sum_logs_of as robit_sums
from pasb.binary.stretch import scale_moves as stretch_logistic
from pasb.binary.t_law import LOGISTIC
from pasb.numerics.rows import BLOCK, one_predictor, two_predictors

kernel = njit(cache=True, error_model="numpy", nogil=True)

# mypy: disable-error-code="call-arg"


@kernel
def sum_logs(setting, padded_coef, eta, other, success, failure):
    """Sums of the log-probabilities over the rows of each category, for one vector or two.

    `eta` and `other` are work space; one vector of coefficients needs the first alone.
    """
    (blocks, weights, bounds), _, link = setting
    n = padded_coef.shape[0]
    for k in range(blocks.shape[0]):
        rows = slice(k * BLOCK, (k + 1) * BLOCK)
        if n == 1:
            one_predictor(blocks[k], padded_coef[0], eta[rows])
        else:
            two_predictors(blocks[k], padded_coef[0], padded_coef[1], eta[rows], other[rows])
    for j in range(n):
        predictors = eta if j == 0 else other
        if link[0] == LOGISTIC:
            logistic_sums(predictors, weights, bounds, success[j], failure[j])
        else:
            robit_sums(predictors, weights, bounds, *link, success[j], failure[j])


@kernel
def stretch(setting, padded_coef, eta, parts, n_moves, key, coef):
    """Scale moves of `coef`; `padded_coef` and `eta` are work space."""
    (blocks, weights, bounds), prior, link = setting
    padded_coef[: coef.shape[0]] = coef
    present_predictors(blocks, bounds, parts, padded_coef, eta)
    if link[0] == LOGISTIC:
        stretch_logistic(eta, weights, bounds, parts, *prior, n_moves, key, coef)
    else:
        stretch_robit(eta, weights, bounds, parts, *link, *prior, n_moves, key, coef)
