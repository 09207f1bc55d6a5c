"""Normal approximations of a robit stick.

As for logistic regression (`pasb.binary.laplace`), with one difference: far on the wrong
side the log-likelihood of a t law is not concave, so a row's curvature is kept from falling
below a part of its expectation. The approximation is a proposal; whatever it misses, the
Metropolis-Hastings ratio puts right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.binary.laplace import Laplace, laplace_by_newton
from pasb.binary.prior import CoefficientPrior
from pasb.binary.robit_kernels import newton_terms
from pasb.binary.t_law import t_law
from pasb.rows import Rows


def laplace_robit(
    rows: Rows,
    parts: NDArray[np.int8],
    prior: CoefficientPrior,
    df: float,
    start: NDArray[np.float64] | None = None,
) -> Laplace:
    """Mode and curvature of the posterior of a robit regression.

    Parameters
    ----------
    rows : Rows
    parts : array of shape (n_categories,)
        What the rows of each category are.
    prior : CoefficientPrior
    df : float
        Degrees of freedom.
    start : array of shape (n_columns,), optional
        Where Newton's method starts.
    """
    law = t_law(df)

    def terms(eta, labels, weights, curvature, residual):
        return newton_terms(eta, labels, weights, *law, curvature, residual)

    return laplace_by_newton(rows, parts, prior, terms, start)
