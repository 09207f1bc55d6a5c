"""Probabilities of several versions of the same rows under logistic sticks.

Versions differ in few columns, so their linear predictors are those of the rows as they are plus a
few products; and a probability is a product of stops and passes, one exponential a stick.

Of compiled functions, `orders` (draws, classes) and `reverse` (draws) are the order of a draw, and
whether it stops on failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pasb.binary.logistic import Logistic
from pasb.effects.altered_rows import AlteredRows, Changes
from pasb.effects.streaming import Evaluation
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, blocked, linear_predictors, padded
from pasb.numerics.vector import vector_exp
from pasb.posterior.predict import Predictor

NUMBERS_AT_ONCE = 2**18

# mypy: disable-error-code="call-arg"


def are_logistic(rows: AlteredRows) -> bool:
    """Whether a model's columns are its covariates, and its sticks logistic."""
    return rows.columns_are_inner and isinstance(rows.fitted.binary, Logistic)


def of_logistic_variants(
    rows: AlteredRows, predictor: Predictor, variants: Sequence[Changes]
) -> Evaluation:
    """What `pasb.effects.streaming.of_variants` does, to rounding."""
    n_draws, n_categories = predictor.orders.shape
    coef = predictor.parameters["coef"]

    def evaluate(part: slice) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        base = rows.inner(part, {})
        blocks = blocked(base)
        n_rows = len(blocks) * BLOCK
        changed = [changed_columns(base, rows.inner(part, changes), n_rows) for changes in variants]
        step = max(1, NUMBERS_AT_ONCE // (n_categories * n_rows * len(variants)))
        space = np.empty((step, len(variants), n_categories, n_rows))
        for start in range(0, n_draws, step):
            draws = slice(start, min(start + step, n_draws))
            orders = predictor.orders[draws]
            own = coef[np.arange(start, draws.stop)[:, None], orders[:, :-1]]
            eta = np.empty((own.shape[0] * own.shape[1], n_rows))
            flat = padded(own.reshape(len(eta), -1), blocks.shape[1])
            linear_predictors(blocks, flat, eta)
            out = space[: len(own)]
            for v, (columns, change) in enumerate(changed):
                moved = np.ascontiguousarray(own[..., columns])
                reverse = predictor.reverse[draws]
                _probabilities(
                    eta.reshape(*own.shape[:2], -1), moved, change, reverse, orders, v, out
                )
            yield draws, out

    return evaluate


def changed_columns(
    base: NDArray[np.float64], other: NDArray[np.float64], n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Columns in which two versions of rows differ, and by how much, (columns, rows padded)."""
    change = other - base
    columns = np.flatnonzero(change.any(axis=0))
    out = np.zeros((len(columns), n_rows))
    out[:, : len(base)] = change[:, columns].T
    return columns, out


@kernel
def _probabilities(eta, moved, change, reverse, orders, variant, out):
    """``out[d, variant]`` becomes (classes, rows) probabilities of rows that were changed.

    `eta` is (draws, sticks, rows), `moved` (draws, sticks, columns changed) coefficients, `change`
    (columns changed, rows).
    """
    n_draws, n_sticks, n_rows = eta.shape
    left, predictor = np.empty(n_rows), np.empty(n_rows)
    for d in range(n_draws):
        left[:] = 1.0
        for j in range(n_sticks):
            predictor[:] = eta[d, j]
            for k in range(change.shape[0]):
                add_product(moved[d, j, k], change[k], predictor)
            _stop(predictor, -1.0 if reverse[d] else 1.0, left, out[d, variant, orders[d, j]])
        out[d, variant, orders[d, n_sticks]] = left


@elementwise
def add_product(factor, values, out):
    """``out += factor * values``."""
    for i in range(out.size):
        out[i] += factor * values[i]


@elementwise
def _stop(eta, sign, left, p):
    """Split what is `left` of each row into what stops here and what continues."""
    for i in range(eta.size):
        e = vector_exp(-sign * eta[i])
        stop = 1.0 / (1.0 + e)
        p[i] = left[i] * stop
        left[i] *= e * stop
