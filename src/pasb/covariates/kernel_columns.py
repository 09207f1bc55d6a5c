"""Columns of a Gaussian radial basis function kernel.

Column j of a row x is exp(-width ||x - c_j||^2), with landmarks c_j among the training rows
and covariates on the model's inner scale. The constant is the first column. `width` is what LIBSVM
and scikit-learn call gamma: the larger, the narrower the kernel. The paper's grid of kernel
widths, 2^-10 to 2^10, is the grid of this number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.free_memory import VARIABLE, in_words, memory_limit
from pasb.numerics.compiled import elementwise
from pasb.numerics.vector import vector_exp

NEGLIGIBLE = 1e-40  # smaller values are zero: their squares would be denormal, which is slow


def kernel_columns(
    X: NDArray[np.float64], landmarks: NDArray[np.float64], width: float
) -> NDArray[np.float64]:
    """The constant and one column for each landmark, (rows, 1 + landmarks).

    A row's values do not depend on the rows around it, to the last bit. Besides the result
    the work space is one row.
    """
    out = np.empty((len(X), len(landmarks) + 1))
    _fill(np.ascontiguousarray(X), np.ascontiguousarray(landmarks.T), float(width), out)
    return out


@elementwise
def _fill(X, landmarks, width, out):
    n_features, n = landmarks.shape
    squares = np.empty(n)
    for i in range(X.shape[0]):
        squares[:] = 0.0
        for f in range(n_features):
            x = X[i, f]
            c = landmarks[f]
            for j in range(n):
                difference = x - c[j]
                squares[j] += difference * difference
        row = out[i]
        row[0] = 1.0
        for j in range(n):
            value = vector_exp(max(-width * squares[j], -700.0))
            row[j + 1] = value if value > NEGLIGIBLE else 0.0


def check_kernel_room(n_rows: int, n_landmarks: int) -> None:
    """Refuse a kernel that is larger than a table may be; there are two copies for a moment."""
    needed = 8 * n_rows * (n_landmarks + 1)
    if needed > 2**24 and needed > (limit := memory_limit()):
        most = limit // (8 * n_rows) - 1
        raise ValueError(
            f"a kernel with {n_landmarks:,} bases on {n_rows:,} rows takes {in_words(needed)}, "
            f"more than the limit of {in_words(limit)} (half of the memory that is free; "
            f"{VARIABLE} sets another, in GiB). Pass n_bases of at most {most:,}, a random choice "
            "of rows to put bases on."
        )


def choose_landmarks(
    X: NDArray[np.float64], categories: NDArray[np.int64], n_bases: int | None, seed: int
) -> NDArray[np.int64]:
    """Training rows to put landmarks on, in increasing order.

    All of them, or `n_bases`: each category gets its share of them, at least one, and within
    a category they are drawn at random (the subset of Nystrom's method). Rows that repeat an
    earlier one in every covariate have the same column and are left out first.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    categories : array of shape (n_rows,)
    n_bases : int or None
    seed : int
    """
    _, first = np.unique(X, axis=0, return_index=True)
    distinct = np.sort(first)
    if n_bases is None or n_bases >= len(distinct):
        return distinct
    rng = np.random.default_rng(seed)
    # rows of a category in random order, the categories dealt in proportion to their size
    turn = np.empty(len(distinct))
    labels = categories[distinct]
    for s in np.unique(labels):
        members = np.flatnonzero(labels == s)
        turn[rng.permutation(members)] = np.arange(len(members)) / len(members)
    return np.sort(distinct[np.argsort(turn, kind="stable")[:n_bases]])
