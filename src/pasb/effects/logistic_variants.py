"""Probabilities of several versions of the same rows under logistic sticks.

Versions differ in few columns, so their linear predictors are those of the rows as they are plus a
few products; and a probability is a product of stops and passes, one exponential a stick. Versions
that all rows differ from alike share that exponential (see `pasb.effects.versions`), but for a
factor of their own.

Of compiled functions, `orders` (draws, classes) and `reverse` (draws) are the order of a draw, and
whether it stops on failure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pasb.binary.logistic import Logistic
from pasb.effects.altered_rows import AlteredRows, Changes
from pasb.effects.streaming import Evaluation
from pasb.effects.versions import Versions, add_product
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, blocked, linear_predictors, padded
from pasb.numerics.vector import vector_exp
from pasb.posterior.predict import Predictor

NUMBERS_AT_ONCE = 2**18
MODERATE = 600.0  # size of predictors up to which exponentials neither under- nor overflow

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
        found = Versions.of(base, [rows.inner(part, changes) for changes in variants], n_rows)
        step = max(1, NUMBERS_AT_ONCE // (n_categories * n_rows * len(variants)))
        space = np.empty((step, len(variants), n_categories, n_rows))
        scratch = np.empty((2, n_rows)), np.empty(len(variants)), np.empty((len(variants), n_rows))
        for start in range(0, n_draws, step):
            draws = slice(start, min(start + step, n_draws))
            orders = predictor.orders[draws]
            own = coef[np.arange(start, draws.stop)[:, None], orders[:, :-1]]
            eta = np.empty((own.shape[0] * own.shape[1], n_rows))
            flat = padded(own.reshape(len(eta), -1), blocks.shape[1])
            linear_predictors(blocks, flat, eta)
            out = space[: len(own)]
            moved = np.ascontiguousarray(own[..., found.columns])
            sticks = eta.reshape(*own.shape[:2], -1), orders, predictor.reverse[draws]
            _probabilities(sticks, (moved, *found[1:]), scratch, out)
            yield draws, out

    return evaluate


@kernel
def _probabilities(sticks, versions, scratch, out):
    """``out[d, v]`` becomes (classes, rows) probabilities of version v under draw d.

    Parameters
    ----------
    sticks : tuple
        ``(eta, orders, reverse)``, of shapes (draws, sticks, rows), (draws, classes) and (draws).
    versions : tuple
        ``(moved, change, same, starts, leaders, shift)``: coefficients of the columns that versions
        change, (draws, sticks, columns changed), and what `Versions` says of them.
    scratch : tuple
        ``(work, beyond, left)``, of shapes (2, rows), (versions) and (versions, rows).
    out : array of shape (draws, versions, classes, rows)
    """
    eta, orders, reverse = sticks
    moved, change, same, starts, leaders, shift = versions
    work, beyond, left = scratch
    predictor, growth = work[0], work[1]
    n_draws, n_sticks, _ = eta.shape
    n_versions = leaders.size
    for d in range(n_draws):
        left[:, :] = 1.0
        sign = -1.0 if reverse[d] else 1.0
        for j in range(n_sticks):
            for leader in range(-1, n_versions):
                n_led = 0
                for v in range(n_versions):
                    n_led += leaders[v] == leader
                if n_led == 0:
                    continue
                predictor[:] = eta[d, j]
                if leader >= 0:
                    for c in range(starts[leader], starts[leader + 1]):
                        if not same[c]:
                            add_product(moved[d, j, c], change[c], predictor)
                farthest = 0.0
                for v in range(n_versions):
                    if leaders[v] == leader:
                        beyond[v] = 0.0
                        for c in range(starts[v], starts[v + 1]):
                            beyond[v] += moved[d, j, c] * shift[c]
                        farthest = max(farthest, abs(beyond[v]))
                shared = n_led > 1 and _are_within(predictor, MODERATE - farthest)
                if shared:
                    _grow(predictor, sign, growth)
                for v in range(n_versions):
                    if leaders[v] != leader:
                        continue
                    p = out[d, v, orders[d, j]]
                    if shared:
                        _stop_grown(growth, math.exp(-sign * beyond[v]), left[v], p)
                    else:
                        _stop(predictor, beyond[v], sign, left[v], p)
        for v in range(n_versions):
            out[d, v, orders[d, n_sticks]] = left[v]


@kernel
def _are_within(values, most):
    """Whether all values are between `most` and its negative."""
    n_beyond = 0
    for i in range(values.size):
        n_beyond += abs(values[i]) > most
    return n_beyond == 0


@elementwise
def _grow(eta, sign, growth):
    """What the odds of going on are, where all rows are as they are or as those of a leader."""
    for i in range(eta.size):
        growth[i] = vector_exp(-sign * eta[i])


@elementwise
def _stop_grown(growth, factor, left, p):
    """Split what is `left` of each row by odds of going on of ``growth * factor``."""
    for i in range(growth.size):
        e = growth[i] * factor
        stop = 1.0 / (1.0 + e)
        p[i] = left[i] * stop
        left[i] *= e * stop


@elementwise
def _stop(eta, beyond, sign, left, p):
    """Split what is `left` of each row into what stops here and what goes on.

    `eta` are the predictors of the rows, `beyond` what all of them differ by in this version,
    `sign` is -1 where sticks stop on failure, and `p` takes what stops.
    """
    for i in range(eta.size):
        e = vector_exp(-sign * (eta[i] + beyond))
        stop = 1.0 / (1.0 + e)
        p[i] = left[i] * stop
        left[i] *= e * stop
