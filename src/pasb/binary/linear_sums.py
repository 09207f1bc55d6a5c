"""Sums of log-probabilities under either link; see `pasb.binary.linear_kernels` for the tuples.

Here `padded_coef` is (1 or 2, n_padded), one vector of coefficients or two, and `success` and
`failure` have a row for each of them; other arguments as in `pasb.binary.linear_kernels`.
"""

from __future__ import annotations

from pasb.binary.logistic_kernels import sum_logs_of as logistic_sums
from pasb.binary.robit_kernels import sum_logs_of as robit_sums
from pasb.binary.t_link import LOGISTIC
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, one_predictor, two_predictors

# mypy: disable-error-code="call-arg"


@kernel
def sum_logs(regression, padded_coef, eta, other, success, failure):
    """Sums of the log-probabilities over the rows of each category, for one vector or two.

    `eta` and `other` are work space; one vector of coefficients needs the first alone.
    """
    (blocks, weights, bounds), _, link = regression
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
