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
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.numerics.rows import elementwise
from pasb.numerics.vector import vector_exp

Direction = Literal["forward", "reverse"]

# What the rows of a category are on a stick: their binary label, or that they have none there,
# or that it is imputed.
FAILURE, SUCCESS, ABSENT, IMPUTED = 0, 1, 2, 3


def parts_on_stick(
    order: NDArray[np.int64], stick: int, labels: tuple[int, int], augmented: bool
) -> NDArray[np.int8]:
    """What the rows of each category are on a stick; `labels` are of stopping and going on."""
    stop, go_on = labels
    parts = np.empty(len(order), dtype=np.int8)
    parts[order[:stick]] = IMPUTED if augmented else ABSENT
    parts[order[stick]] = stop
    parts[order[stick + 1 :]] = go_on
    return parts


def accept_reject(
    log_success: NDArray[np.float64], log_failure: NDArray[np.float64], direction: Direction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logs of stopping and of going on, from the logs of a binary model.

    Parameters
    ----------
    log_success, log_failure : array
        Logs of the binary model's success and failure probabilities.
    direction : {"forward", "reverse"}
        Stick breaking stops on success, reverse stick breaking on failure.

    Returns
    -------
    accept, reject : array
    """
    if direction == "forward":
        return log_success, log_failure
    if direction == "reverse":
        return log_failure, log_success
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
    """
    log_success = np.asarray(log_success, dtype=np.float64)
    accept_reject(log_success, np.asarray(log_failure), direction)  # checks `direction`
    order = np.asarray(order)
    bernoulli = rng.random(log_success.shape) < np.exp(log_success)
    stops = bernoulli if direction == "forward" else ~bernoulli
    stops = stops[order]
    stops[-1] = True
    return order[np.argmax(stops, axis=0)]
