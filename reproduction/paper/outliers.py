"""The contaminated vehicle data of the paper's section on robustness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.datasets.steady_stream import SteadyStream

WILD = (3, 4, 5)  # the 4th, 5th and 6th covariates


def with_outliers(
    X: NDArray[np.float64], y: NDArray, ratio: float, number: int
) -> tuple[NDArray[np.float64], NDArray]:
    """Add outliers to training rows whose covariates fill [-1, 1].

    The 4th, 5th and 6th covariates of an outlier are uniform on (-3, -2) and (2, 3), the
    others on (-1, 1), and its class is any, with equal probability. (The appendix speaks of
    12 other covariates; there are 15.)

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    ratio : float
        Outliers for each row.
    number : int
        Which set of outliers: the same number gives the same ones.

    Returns
    -------
    X, y : arrays
        The rows, and the outliers behind them.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.paper.outliers import with_outliers
    >>> X, y = with_outliers(np.zeros((20, 18)), np.arange(20) % 4, 0.5, 0)
    >>> X.shape, bool((abs(X[20:, 3:6]) > 2).all())
    ((30, 18), True)
    """
    n = round(ratio * len(X))
    classes = np.unique(y)
    stream = SteadyStream(f"outliers, {ratio:g} a row", number)
    new = stream.uniform(-1.0, 1.0, (n, X.shape[1]))
    away = stream.uniform(2.0, 3.0, (n, len(WILD)))
    side = 2 * stream.integers(2, n * len(WILD)).reshape(n, len(WILD)) - 1
    new[:, WILD] = side * away
    labels = classes[stream.integers(len(classes), n)]
    return np.vstack([X, new]), np.concatenate([y, labels])
