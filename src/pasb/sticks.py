"""Stick breaking: from the logs of stopping and going on to category probabilities.

Category s sits on stick z_s; the category on the last stick is the reference. A row
walks along the sticks and takes the category of the first one where it stops. With
`accept` the log-probability of stopping at a category's stick and `reject` that of
going on, the log-probability of category s under the order z is (Theorem 1)

    1[z_s != S] accept_s + sum over j with z_j < z_s of reject_j.

Stick breaking (paSB) accepts on success; reverse stick breaking (parSB, the
Corollary) accepts on failure. So the two are one construction with the logs
swapped. An *order* is an array that lists the category on each stick, first to last;
the paper's z is its inverse permutation.

Arguments of the compiled functions: `order` (S), `stick` a number from 0; `stop`, `go_on` and
`before` are the roles of rows (`Roles`), ``groups = (category, available)`` those of
`pasb.numerics.row_groups`. Of several draws, `orders` (draws, S) and `reverse` (draws) are the
order of each, and whether it stops on failure; `log_success`, `log_failure` (draws, sticks, rows)
come stick by stick in that order.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.row_groups import NO_GROUPS, Groups
from pasb.numerics.vector import vector_exp

Direction = Literal["forward", "reverse"]

# The *role* that the rows of a category play on a stick: their binary label, or that they have
# none there, or that it is imputed.
FAILURE, SUCCESS, ABSENT, IMPUTED = 0, 1, 2, 3


class Roles(NamedTuple):
    """The roles of rows that stop at a stick, that go on, and that stopped before.

    Rows to which the category of a stick is not available are not there, nor are those of that
    category to which nothing behind it is available: they stop for certain. `groups` says which
    these are (`pasb.numerics.row_groups`), as a plain tuple.

    Examples
    --------
    >>> import numpy as np
    >>> roles = Roles.of("forward").on_stick(np.array([2, 0, 1]), 1)
    >>> (roles == [SUCCESS, FAILURE, ABSENT]).all()  # rows of class 2 stopped before
    np.True_
    """

    stop: int
    go_on: int
    before: int
    groups: tuple[NDArray[np.int64], NDArray[np.bool_]] = tuple(NO_GROUPS)  # type: ignore[assignment]

    @classmethod
    def of(cls, direction: Direction, augmented: bool = False, groups: Groups = NO_GROUPS) -> Roles:
        """Forward sticks stop on success; augmented ones impute what stopped before."""
        stop, go_on = accept_reject(SUCCESS, FAILURE, direction)
        return cls(
            stop, go_on, IMPUTED if augmented else ABSENT, (groups.category, groups.available)
        )

    def on_stick(self, order: NDArray[np.int64], stick: int) -> NDArray[np.int8]:
        """The role of each group of rows on a stick, counted from 0."""
        out = np.empty(len(self.groups[0]) or len(order), dtype=np.int8)
        assign_roles(order, stick, *self, out)
        return out

    def against(self, category: int, behind: NDArray[np.int64], n: int) -> NDArray[np.int8]:
        """The roles where some of `n` categories are behind a category, the rest absent."""
        everyone = np.arange(n)
        absent = everyone[~np.isin(everyone, behind) & (everyone != category)]
        return self.on_stick(np.concatenate([absent, [category], behind]), len(absent))


@kernel
def assign_roles(order, stick, stop, go_on, before, groups, out):
    """``out[g]`` becomes the role of group g, a category if there are none, on a stick.

    Examples
    --------
    >>> import numpy as np
    >>> out = np.empty(3, dtype=np.int8)
    >>> assign_roles(np.array([2, 0, 1]), 1, *Roles.of("forward"), out)
    >>> out
    array([1, 0, 2], dtype=int8)
    """
    category, available = groups
    n = order.shape[0]
    if category.shape[0] == 0:
        for j in range(n):
            out[order[j]] = before if j < stick else (stop if j == stick else go_on)
        return
    own = order[stick]
    # told from all others, those before it count as behind it
    first = 0 if before == go_on else stick + 1
    place = np.empty(n, dtype=np.int64)
    for j in range(n):
        place[order[j]] = j
    for g in range(category.shape[0]):
        out[g] = ABSENT
        if not available[g, own]:
            continue
        if category[g] != own:
            out[g] = go_on if place[category[g]] > stick else before
            continue
        for j in range(first, n):
            if j != stick and available[g, order[j]]:
                out[g] = stop
                break


@kernel
def roles_of_sticks(order, stop, go_on, before, groups, out):
    """The roles on the first sticks of an order, one stick a row of `out`.

    With a row for the reference too, that is told from all others, as the printed algorithm does.

    Examples
    --------
    >>> import numpy as np
    >>> out = np.empty((2, 3), dtype=np.int8)
    >>> roles_of_sticks(np.array([2, 0, 1]), *Roles.of("forward"), out)
    >>> out
    array([[0, 0, 1],
           [1, 0, 2]], dtype=int8)
    """
    n = order.shape[0]
    for stick in range(out.shape[0]):
        early = before if stick < n - 1 else go_on
        assign_roles(order, stick, stop, go_on, early, groups, out[stick])


@kernel
def order_with_set(category, later, out):
    """An order with the set `later`, a bit mask, behind a category; returns its stick.

    Examples
    --------
    >>> import numpy as np
    >>> out = np.empty(3, dtype=np.int64)
    >>> order_with_set(2, 0b001, out)  # category 0 behind category 2
    1
    >>> out
    array([1, 2, 0])
    """
    n = out.shape[0]
    front, back = 0, n - 1
    for s in range(n):
        if s == category:
            continue
        if later >> s & 1:
            out[back] = s
            back -= 1
        else:
            out[front] = s
            front += 1
    out[front] = category
    return front


def accept_reject(success: Any, failure: Any, direction: Direction) -> tuple[Any, Any]:
    """What belongs to stopping and to going on, from what belongs to success and failure.

    Parameters
    ----------
    success, failure : array
        Such as the logs of the binary model's success and failure probabilities.
    direction : {"forward", "reverse"}
        Stick breaking stops on success, reverse stick breaking on failure.

    Returns
    -------
    accept, reject : array

    Examples
    --------
    >>> accept_reject("success", "failure", "reverse")
    ('failure', 'success')
    """
    if direction == "forward":
        return success, failure
    if direction == "reverse":
        return failure, success
    raise ValueError(f"direction must be 'forward' or 'reverse', not {direction!r}")


def log_probabilities(accept: ArrayLike, reject: ArrayLike, order: ArrayLike) -> NDArray:
    """Log-probabilities of the categories under an order.

    Parameters
    ----------
    accept, reject : array of shape (n_categories, ...)
        Logs of stopping and of going on at each category's stick. What stands at the
        reference category is not used.
    order : array of shape (n_categories,)
        The category on each stick, first to last.

    Returns
    -------
    array of shape (n_categories, ...)

    Examples
    --------
    >>> import numpy as np
    >>> half = np.log(np.full((3, 1), 0.5))
    >>> np.exp(log_probabilities(half, half, [2, 0, 1]))[:, 0]
    array([0.25, 0.25, 0.5 ])
    """
    accept = np.asarray(accept, dtype=np.float64)
    reject = np.asarray(reject, dtype=np.float64)
    order = np.asarray(order)
    out = np.empty_like(accept)
    gone_on = np.zeros(accept.shape[1:])
    for category in order[:-1]:
        out[category] = gone_on + accept[category]
        gone_on = gone_on + reject[category]
    out[order[-1]] = gone_on
    return out


@elementwise
def probabilities_of_draws(log_success, log_failure, reverse, orders, out):
    """Category probabilities of many draws at once.

    The logs are (draws, sticks, rows) from the first stick to the last but one, `out` is (draws,
    categories, rows), `reverse` tells of each draw whether it stops on failure, `orders` is
    (draws, categories). Rows do not see each other: a row's result is the same in any batch.

    Examples
    --------
    >>> import numpy as np
    >>> half, out = np.log(np.full((1, 2, 1), 0.5)), np.empty((1, 3, 1))
    >>> probabilities_of_draws(half, half, np.array([False]), np.array([[2, 0, 1]]), out)
    >>> out[0, :, 0].round(6)
    array([0.25, 0.25, 0.5 ])
    """
    n_draws, n_categories, n_rows = out.shape
    gone_on = np.empty(n_rows)
    for d in range(n_draws):
        gone_on[:] = 0.0
        for j in range(n_categories - 1):
            a = log_failure[d, j] if reverse[d] else log_success[d, j]
            r = log_success[d, j] if reverse[d] else log_failure[d, j]
            p = out[d, orders[d, j]]
            for i in range(n_rows):
                p[i] = vector_exp(gone_on[i] + a[i])
                gone_on[i] += r[i]
        p = out[d, orders[d, n_categories - 1]]
        for i in range(n_rows):
            p[i] = vector_exp(gone_on[i])


@kernel
def skip_unavailable(success, failure, reverse, orders, available, never, surely):
    """Skip sticks of categories that a row does not have; the last one that it has is certain.

    `success` and `failure` are (draws, sticks, rows) and changed in place: to `never` and `surely`,
    which are 0 and 1 of probabilities. `available` is (rows, categories); rows beyond it stay as
    they are. What categories that are not available get in the end has to be set to zero.

    Examples
    --------
    Category 1, on the last stick, is not available, so the row stops before it for certain:

    >>> import numpy as np
    >>> success, failure = np.full((1, 2, 1), 0.5), np.full((1, 2, 1), 0.5)
    >>> orders, available = np.array([[2, 0, 1]]), np.array([[True, False, True]])
    >>> skip_unavailable(success, failure, np.array([False]), orders, available, 0.0, 1.0)
    >>> success[0, :, 0]
    array([0.5, 1. ])
    """
    n_draws, n_sticks, _ = success.shape
    for d in range(n_draws):
        stop, go_on = (failure[d], success[d]) if reverse[d] else (success[d], failure[d])
        for i in range(available.shape[0]):
            some_behind = available[i, orders[d, n_sticks]]
            for j in range(n_sticks - 1, -1, -1):
                if not available[i, orders[d, j]]:
                    stop[j, i], go_on[j, i] = never, surely
                elif not some_behind:
                    stop[j, i], go_on[j, i] = surely, never
                    some_behind = True


LOG_NEVER = -800.0  # a logarithm below those of all floats

LEAST_PROBABILITY = 1e-307  # of a category, so that its logarithm is finite


@elementwise
def break_sticks(success, failure, n_forward, bounds, orders, first, out):
    """Category probabilities of rows under many draws side by side.

    `success` and `failure` are (sticks, rows, draws), perhaps with more draws than count; they are
    overwritten. The first `n_forward` draws stop on success, the others on failure. Draws
    ``bounds[k]`` to ``bounds[k + 1]`` have the order ``orders[k]``. `out` is (rows, categories,
    draws), and these draws begin at place `first`. Rows do not see each other.

    Examples
    --------
    >>> import numpy as np
    >>> success, failure = np.full((2, 1, 1), 0.5), np.full((2, 1, 1), 0.5)
    >>> bounds, orders, out = np.array([0, 1]), np.array([[2, 0, 1]]), np.empty((1, 3, 1))
    >>> break_sticks(success, failure, 1, bounds, orders, 0, out)
    >>> out[0, :, 0]
    array([0.25, 0.25, 0.5 ])
    """
    n_rows, n_categories, _ = out.shape
    n_draws = bounds[-1]
    left = np.empty(n_draws)
    for i in range(n_rows):
        for d in range(n_draws):
            left[d] = 1.0
        for j in range(n_categories - 1):
            p, q = success[j, i], failure[j, i]
            for d in range(n_forward):
                p[d], left[d] = max(left[d] * p[d], LEAST_PROBABILITY), left[d] * q[d]
            for d in range(n_forward, n_draws):
                p[d], left[d] = max(left[d] * q[d], LEAST_PROBABILITY), left[d] * p[d]
            for k in range(orders.shape[0]):
                category = orders[k, j]
                for d in range(bounds[k], bounds[k + 1]):
                    out[i, category, first + d] = p[d]
        for k in range(orders.shape[0]):
            category = orders[k, n_categories - 1]
            for d in range(bounds[k], bounds[k + 1]):
                out[i, category, first + d] = max(left[d], LEAST_PROBABILITY)


def simulate_categories(
    log_success: ArrayLike,
    log_failure: ArrayLike,
    order: ArrayLike,
    direction: Direction = "forward",
    *,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw categories by the augmented construction itself.

    Every stick gets its own Bernoulli variable, independent of the others, and the
    category is that of the first stick that stops (Theorem 1 and its Corollary).

    Parameters
    ----------
    log_success, log_failure : array of shape (n_categories, n_rows)
        Logs of the binary model's success and failure probabilities.
    order : array of shape (n_categories,)
    direction : {"forward", "reverse"}
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> half, rng = np.log(np.full((3, 100_000), 0.5)), np.random.default_rng(0)
    >>> drawn = simulate_categories(half, half, [2, 0, 1], rng=rng)
    >>> (np.bincount(drawn) / 100_000).round(2)
    array([0.25, 0.25, 0.5 ])
    """
    log_success = np.asarray(log_success, dtype=np.float64)
    accept_reject(log_success, np.asarray(log_failure), direction)  # checks `direction`
    order = np.asarray(order)
    bernoulli = rng.random(log_success.shape) < np.exp(log_success)
    stops = bernoulli if direction == "forward" else ~bernoulli
    stops = stops[order]
    stops[-1] = True
    return order[np.argmax(stops, axis=0)]
