"""Log-likelihoods of rows under every draw, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.binary.support_vector import SupportVector
from pasb.covariates.availability import checked_availability
from pasb.numerics.compiled import kernel
from pasb.numerics.lazy_rows import Table
from pasb.numerics.rows import BLOCK, blocked
from pasb.posterior.fitted import Fitted
from pasb.posterior.predict import Predictor
from pasb.sticks import LOG_NEVER, skip_unavailable

NUMBERS_AT_ONCE = 2**22  # draws times rows of a block that is handed out, 32 MiB


def check_has_likelihood(fitted: Fitted, what: str) -> None:
    """Refuse what needs the likelihood that a model was fitted by."""
    if isinstance(fitted.binary, SupportVector):
        raise ValueError(
            f"{what} needs a likelihood, and a support vector machine has none: its probabilities "
            "come from a formula, not from what it was fitted by. Compare it with others by "
            "cross-validation, such as sklearn.model_selection.cross_val_score"
        )


def categories_of(fitted: Fitted, y: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Numbers of class labels; a ValueError names one that the model does not know."""
    labels, known = np.asarray(y), fitted.classes
    if labels.shape != (n_rows,):
        raise ValueError(f"y must hold a label for each of the {n_rows} rows of X")
    try:
        places = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    except TypeError:
        places = np.zeros(n_rows, dtype=np.int64)
    wrong = np.flatnonzero(known[places] != labels)
    if len(wrong):
        raise ValueError(
            f"y: {labels[wrong].tolist()[0]!r} in row {wrong[0] + 1} is not a class of the model: "
            f"{', '.join(map(repr, known.tolist()[:12]))}"
        )
    return places


def availability_of_chosen(
    fitted: Fitted, X: Any, y: ArrayLike, availability: Any
) -> NDArray[np.bool_] | None:
    """Which classes rows could choose, their own among them; None where it is all."""
    if availability is None:
        return None
    n_rows = len(fitted.inner_rows(X))
    chosen = categories_of(fitted, y, n_rows)
    return checked_availability(availability, fitted.classes, n_rows, chosen)


def log_likelihoods(
    predictor: Predictor,
    inner: Table,
    categories: NDArray[np.int64],
    available: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Rows, and the log-probability of their classes under every draw, (draws, rows).

    Logs are added, never probabilities multiplied, so that they are right far in the tails.
    """
    n_draws, n_categories = predictor.orders.shape
    step = int(np.clip(NUMBERS_AT_ONCE // n_draws // BLOCK * BLOCK, BLOCK, 4 * BLOCK))
    for start in range(0, len(inner), step):
        rows = slice(start, min(start + step, len(inner)))
        blocks = blocked(inner[rows])
        own, some = categories[rows], max(1, 2**17 // (n_categories * len(blocks) * BLOCK))
        out = np.empty((n_draws, len(own)))
        for first in range(0, n_draws, some):
            draws = slice(first, min(first + some, n_draws))
            which = np.arange(first, draws.stop)[:, None], predictor.orders[draws, :-1]
            logs = predictor.model.log_probabilities(
                {name: values[which] for name, values in predictor.parameters.items()}, blocks
            )
            orders, reverse = predictor.orders[draws], predictor.reverse[draws]
            if available is not None:
                skip_unavailable(*logs, reverse, orders, available[rows], LOG_NEVER, 0.0)
            _own_logs(*logs, reverse, orders, own, out[draws])
        yield rows, out


@kernel
def _own_logs(log_success, log_failure, reverse, orders, own, out):
    """``out[d, i]`` becomes the log-probability of the category of row i under draw d.

    `own` (rows) has these categories; other arguments as in `pasb.sticks`.
    """
    n_draws, n_rows = out.shape
    n_sticks = log_success.shape[1]
    for d in range(n_draws):
        stop = log_failure[d] if reverse[d] else log_success[d]
        go_on = log_success[d] if reverse[d] else log_failure[d]
        for i in range(n_rows):
            total = 0.0
            for j in range(n_sticks):
                if orders[d, j] == own[i]:
                    total += stop[j, i]
                    break
                total += go_on[j, i]
            out[d, i] = total
