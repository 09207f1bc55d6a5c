"""A few rows of each class, for runs that only see whether everything works."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def some_rows(
    X: NDArray[np.float64], y: NDArray, most: int | None
) -> tuple[NDArray[np.float64], NDArray]:
    """About `most` rows, as many of each class as there are, in turn; all for None.

    At least two rows a covariate are taken: with fewer the paper's priors, which are nearly
    improper, let coefficients diverge.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.paper.subset import some_rows
    >>> X, y = some_rows(np.arange(6.0)[:, None], np.array(list("aaaabb")), 4)
    >>> y.tolist()
    ['a', 'a', 'b', 'b']
    """
    if most is None or len(y) <= max(most, 2 * X.shape[1]):
        return X, y
    most = max(most, 2 * X.shape[1])
    _, category = np.unique(y, return_inverse=True)
    rank = np.empty(len(y), dtype=np.int64)  # of a row among those of its class
    for c in range(category.max() + 1):
        mine = category == c
        rank[mine] = np.arange(mine.sum())
    chosen = np.sort(np.lexsort((category, rank))[:most])
    return X[chosen], y[chosen]
