"""The two S x S tables from which the likelihood of every order follows.

With ``accept[j, s]`` the sum, over the rows of category s, of the log-probabilities of
stopping at category j's stick and ``reject[j, s]`` that of going on there, the
log-likelihood of an order is

    sum over s not last of accept[s, s] + sum over pairs (j before s) of reject[j, s].

One pass over the rows fills the tables; after that an order costs nothing that grows
with the number of rows.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel
from pasb.sticks import Direction, accept_reject


class OrderTable(NamedTuple):
    """Sufficient sums for the order, given the parameters.

    Attributes
    ----------
    accept, reject : array of shape (n_categories, n_categories)
        Sums of the log-probabilities of stopping and of going on: row j belongs to the
        parameters of category j, column s to the rows of category s.
    reference : array of shape (n_categories,)
        What is added to the log of the target when s is the reference: zero, or the
        log-ratio of the pseudo-prior to the prior at its parameters.
    """

    accept: NDArray[np.float64]
    reject: NDArray[np.float64]
    reference: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        log_success: NDArray[np.float64],
        log_failure: NDArray[np.float64],
        direction: Direction = "forward",
    ) -> OrderTable:
        """Look at a binary model's sums as sums of stopping and going on."""
        accept, reject = accept_reject(log_success, log_failure, direction)
        return cls(accept, reject, np.zeros(len(accept)))

    @classmethod
    def empty(cls, n_categories: int) -> OrderTable:
        """Return a table of zeros."""
        square = (n_categories, n_categories)
        return cls.of(np.zeros(square), np.zeros(square))

    def log_likelihood(self, order: NDArray[np.int64]) -> float:
        """Log-likelihood of an order."""
        return order_log_likelihood(self.accept, self.reject, order)


@kernel
def order_log_likelihood(accept, reject, order):
    """Log-likelihood of an order, from the table."""
    total = 0.0
    last = order.shape[0] - 1
    for b in range(last + 1):
        s = order[b]
        if b < last:
            total += accept[s, s]
        for a in range(b):
            total += reject[order[a], s]
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
