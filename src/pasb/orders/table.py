"""The S x S table from which the likelihood of every order follows.

With `stop[s]` the sum of the log-probabilities of stopping at category s's stick and
`go_on[s, j]` the sum of those of going on at category j's stick, both over the rows
of category s, the log-likelihood of an order is

    sum over s not last of stop[s] + sum over pairs (j before s) of go_on[s, j].

One pass over the rows fills the table; after that an order costs nothing that grows
with the number of rows.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class OrderTable(NamedTuple):
    """Sufficient sums for the order, given the coefficients.

    Attributes
    ----------
    stop : array of shape (n_categories,)
        Sum over the rows of s of the log-probability of stopping at s.
    go_on : array of shape (n_categories, n_categories)
        ``go_on[s, j]``: sum over the rows of s of the log-probability of going on at j.
    reference : array of shape (n_categories,)
        What is added to the log of the target when s is the reference: zero, or the
        log-ratio of the pseudo-prior to the prior at its coefficients.
    """

    stop: NDArray[np.float64]
    go_on: NDArray[np.float64]
    reference: NDArray[np.float64]

    @classmethod
    def empty(cls, n_categories: int) -> OrderTable:
        """Return a table of zeros."""
        return cls(
            np.zeros(n_categories), np.zeros((n_categories, n_categories)), np.zeros(n_categories)
        )


@njit(cache=True, error_model="numpy", nogil=True)
def order_log_likelihood(stop, go_on, order):
    """Log-likelihood of an order, from the table."""
    total = 0.0
    last = order.shape[0] - 1
    for b in range(last + 1):
        s = order[b]
        if b < last:
            total += stop[s]
        for a in range(b):
            total += go_on[s, order[a]]
    return total


def enumerate_orders(n_categories: int) -> NDArray[np.int64]:
    """All orders, one a row; for a handful of categories.

    Examples
    --------
    >>> enumerate_orders(2)
    array([[0, 1],
           [1, 0]])
    """
    return np.array(list(itertools.permutations(range(n_categories))), dtype=np.int64)
