"""The two tables from which the likelihood of every order follows.

With ``accept[j, s]`` the sum, over the rows of category s, of the log-probabilities of
stopping at category j's stick and ``reject[j, s]`` that of going on there, the
log-likelihood of an order is

    sum over s not last of accept[s, s] + sum over pairs (j before s) of reject[j, s].

One pass over the rows fills the tables; after that an order costs nothing that grows
with the number of rows. Where not every category is available to every row, the columns belong to
groups of rows (`pasb.numerics.row_groups`), a sum runs over the categories available to a group,
and the one of them that comes last is certain.

Arguments of the compiled functions: `accept`, `reject` (S, groups), as above; ``groups = (category,
available)`` (`pasb.numerics.row_groups`); `order` (S), whose sticks are numbered `a`, `b`; of the
stick of category `c`, `sums` (groups) of log-likelihoods.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel
from pasb.numerics.row_groups import NO_GROUPS, Groups
from pasb.sticks import Direction, accept_reject


class OrderTable(NamedTuple):
    """Sufficient sums for the order, given the parameters.

    Attributes
    ----------
    accept, reject : array of shape (n_categories, n_groups)
        Sums of the log-probabilities of stopping and of going on: row j belongs to the
        parameters of category j, column s to the rows of group s, by default category s.
    reference : array of shape (n_categories,)
        What is added to the log of the target when s is the reference: zero, or the
        log-ratio of the pseudo-prior to the prior at its parameters.
    groups : tuple
        Of `pasb.numerics.row_groups.Groups`.

    Examples
    --------
    >>> sums = -np.arange(4.0).reshape(2, 2)
    >>> OrderTable.of(sums, sums - 1, "reverse").accept
    array([[-1., -2.],
           [-3., -4.]])
    """

    accept: NDArray[np.float64]
    reject: NDArray[np.float64]
    reference: NDArray[np.float64]
    groups: tuple[NDArray[np.int64], NDArray[np.bool_]] = (NO_GROUPS.category, NO_GROUPS.available)

    @classmethod
    def of(
        cls,
        log_success: NDArray[np.float64],
        log_failure: NDArray[np.float64],
        direction: Direction = "forward",
        groups: Groups = NO_GROUPS,
    ) -> OrderTable:
        """Look at a binary model's sums as sums of stopping and going on."""
        accept, reject = accept_reject(log_success, log_failure, direction)
        plain = groups.category, groups.available
        return cls(accept, reject, np.zeros(len(accept)), plain)

    @classmethod
    def empty(cls, n_categories: int) -> OrderTable:
        """Return a table of zeros."""
        square = (n_categories, n_categories)
        return cls.of(np.zeros(square), np.zeros(square))

    def log_likelihood(self, order: NDArray[np.int64]) -> float:
        """Log-likelihood of an order."""
        return order_log_likelihood(self.accept, self.reject, self.groups, order)


@kernel
def order_log_likelihood(accept, reject, groups, order):
    """Log-likelihood of an order, from the table."""
    total = 0.0
    last = order.shape[0] - 1
    if groups[0].shape[0] > 0:
        return log_likelihood_between(accept, reject, groups, order, 0, last)
    for b in range(last + 1):
        s = order[b]
        if b < last:
            total += accept[s, s]
        for a in range(b):
            total += reject[order[a], s]
    return total


@kernel
def log_likelihood_between(accept, reject, groups, order, a, b):
    """What the sticks a to b of an order contribute for groups whose categories are there."""
    category, available = groups
    total = 0.0
    for g in range(category.shape[0]):
        s = category[g]
        gone_on = 0.0
        for j in range(a, b + 1):
            m = order[j]
            if m != s:
                if available[g, m]:
                    gone_on += reject[m, g]
                continue
            total += gone_on
            for k in range(j + 1, order.shape[0]):
                if available[g, order[k]]:
                    total += accept[s, g]
                    break
            break
    return total


@kernel
def keep_group_sums(accept, reject, category, c, sums):
    """Put sums of the stick of category c, each with the label it has there, into the table.

    `category` (groups) is that of each group.
    """
    for g in range(category.shape[0]):
        if category[g] == c:
            accept[c, g] = sums[g]
        else:
            reject[c, g] = sums[g]


def enumerate_orders(n_categories: int) -> NDArray[np.int64]:
    """All orders, one a row; for a handful of categories.

    Examples
    --------
    >>> enumerate_orders(2)
    array([[0, 1],
           [1, 0]])
    """
    return np.array(list(itertools.permutations(range(n_categories))), dtype=np.int64)
