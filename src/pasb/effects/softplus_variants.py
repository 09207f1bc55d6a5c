"""Probabilities of several versions of the same rows under softplus sticks.

As for logistic sticks, versions differ in few columns, so linear predictors are worked out once,
and so are their exponentials: a version multiplies them by a factor, which is the same for all rows
where a column changes by the same amount everywhere. Predictors that are too large for this are
treated by logs, as `pasb.binary.softplus_link` does. Where all rows get one value of a column, and
then another one, the two versions differ by such a factor too, and share exponentials.

Arguments of the compiled functions, of one stick and draw with K experts of T layers:

- `psi`, `growth`, `grown` (K x T, rows): linear predictors, and their exponentials, before and
  after what a version changes;
- `weight`, `log_weight` (K): r_k and its log; `log_q` (K, rows): scratch;
- `moved` (K x T, columns changed), `change` (columns changed, rows): coefficients of the columns
  that versions change, and by how much; `same` (columns changed): whether by the same everywhere;
  `starts` (versions + 1): where the columns of each version begin;
- `shift` (rows) in `_grow`, scratch; in `_rates` (columns changed), what all rows share;
- `work` (vectors, rows): scratch, and the results; `n_layers`: T.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pasb.binary.side_by_side import PLAIN, of_rates
from pasb.binary.softplus import Softplus
from pasb.binary.softplus_link import (
    LOG_OFF,
    add_layer,
    exponentials,
    log_rates,
    log_weights,
)
from pasb.effects.altered_rows import AlteredRows, Changes
from pasb.effects.streaming import Evaluation
from pasb.effects.versions import Versions, add_product
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, blocked, linear_predictors, padded
from pasb.numerics.vector import vector_exp, vector_log
from pasb.posterior.predict import Predictor
from pasb.sticks import LEAST_PROBABILITY

NUMBERS_AT_ONCE = 2**18

# mypy: disable-error-code="call-arg"


def are_softplus(rows: AlteredRows) -> bool:
    """Whether a model's columns are its covariates, and its sticks softplus regressions."""
    return rows.columns_are_inner and isinstance(rows.fitted.binary, Softplus)


def of_softplus_variants(
    rows: AlteredRows, predictor: Predictor, variants: Sequence[Changes]
) -> Evaluation:
    """What `pasb.effects.streaming.of_variants` does, to rounding."""
    n_draws, n_categories = predictor.orders.shape
    coef, weight = predictor.parameters["coef"], predictor.parameters["weight"]
    n_experts, n_layers, n_columns = coef.shape[2:]
    n_vectors, n_variants = n_experts * n_layers, len(variants)

    def evaluate(part: slice) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        base = rows.inner(part, {})
        blocks = blocked(base)
        n_rows = len(blocks) * BLOCK
        found = Versions.of(base, [rows.inner(part, changes) for changes in variants], n_rows)
        step = max(1, NUMBERS_AT_ONCE // (n_categories * n_rows * n_variants))
        out = np.empty((step, n_variants, n_categories, n_rows))
        scratch = tuple(np.empty((n, n_rows)) for n in (*(n_vectors,) * 3, n_experts, 6))
        left = np.empty((n_variants, n_rows))
        for start in range(0, n_draws, step):
            draws = slice(start, min(start + step, n_draws))
            n = draws.stop - start
            orders = predictor.orders[draws]
            which = np.arange(start, draws.stop)[:, None], orders[:, :-1]
            own = coef[which].reshape(n, n_categories - 1, n_vectors, n_columns)
            flat = padded(own, blocks.shape[1])
            moved = np.ascontiguousarray(own[..., found.columns])
            weights = weight[which], log_weights(weight[which])
            sticks = flat, *weights, orders, predictor.reverse[draws]
            versions = moved, *found[1:]
            _probabilities(blocks, sticks, versions, scratch, left, out)
            yield draws, out[:n]

    return evaluate


@kernel
def _probabilities(blocks, sticks, versions, scratch, left, out):
    """``out[d, v]`` becomes (classes, rows) probabilities of version v under draw d.

    Parameters
    ----------
    blocks : array of shape (n_blocks, padded columns, BLOCK)
    sticks : tuple
        ``(coef, weight, log_weight, orders, reverse)``, of shapes (draws, sticks, predictors,
        padded columns), twice (draws, sticks, experts), (draws, classes) and (draws).
    versions : tuple
        ``(moved, change, same, starts, leaders, shift)``: coefficients of the columns that versions
        change, (draws, sticks, predictors, columns changed), and what `Versions` says of them.
    scratch : tuple
        ``(psi, growth, grown, log_q, work)``, of shapes (predictors, rows) thrice, (experts, rows)
        and (6, rows).
    left : array of shape (versions, rows)
        Scratch, too.
    out : array of shape (draws or more, versions, classes, rows)
    """
    coef, weight, log_weight, orders, reverse = sticks
    moved, change, same, starts, leaders, shift = versions
    psi, growth, grown, log_q, work = scratch
    n_draws, n_sticks, n_vectors, _ = coef.shape
    n_variants = left.shape[0]
    success, failure = work[4], work[5]
    for d in range(n_draws):
        left[:, :] = 1.0
        for j in range(n_sticks):
            linear_predictors(blocks, coef[d, j], psi)
            plain = _is_moderate(psi, moved[d, j], change, starts, n_vectors // log_q.shape[0])
            led = -1  # by whom what has grown now
            if plain:
                for t in range(n_vectors):
                    exponentials(psi[t], growth[t])
            for v in range(n_variants):
                changed = slice(starts[v], starts[v + 1])
                if plain:
                    if leaders[v] >= 0 and leaders[v] != led:
                        led = leaders[v]
                        its = slice(starts[led], starts[led + 1])
                        _grow(growth, moved[d, j, :, its], change[its], same[its], work[0], grown)
                    source = growth if leaders[v] < 0 else grown
                    _rates(source, weight[d, j], moved[d, j, :, changed], shift[changed], work)
                    of_rates(work[0], left.shape[1], success, failure)
                else:
                    _by_logs(psi, log_weight[d, j], moved[d, j, :, changed], change[changed],
                             log_q, work)  # fmt: skip
                p = out[d, v, orders[d, j]]
                if reverse[d]:
                    _break(failure, success, left[v], p)
                else:
                    _break(success, failure, left[v], p)
        for v in range(n_variants):
            _rest(left[v], out[d, v, orders[d, n_sticks]])


@kernel
def _is_moderate(psi, moved, change, starts, n_layers):
    """Whether all predictors of all versions are so small that logs are not needed."""
    largest = 0.0
    for v in range(starts.size - 1):
        reach = 0.0
        for c in range(starts[v], starts[v + 1]):
            farthest, steepest = 0.0, 0.0
            for i in range(change.shape[1]):
                farthest = max(farthest, abs(change[c, i]))
            for t in range(moved.shape[0]):
                steepest = max(steepest, abs(moved[t, c]))
            reach += farthest * steepest
        largest = max(largest, reach)
    most = PLAIN / n_layers - largest
    if most < largest:  # nor may the factor between two versions overflow
        return False
    n_large = 0
    for t in range(psi.shape[0]):
        for i in range(psi.shape[1]):
            n_large += abs(psi[t, i]) > most
    return n_large == 0


@kernel
def _grow(growth, moved, change, same, shift, grown):
    """Exponentials of the predictors of a version, but for what changes alike in all rows."""
    for t in range(growth.shape[0]):
        shift[:] = 0.0
        for c in range(same.size):
            if not same[c]:
                add_product(moved[t, c], change[c], shift)
        _grow_by(growth[t], shift, grown[t])


@kernel
def _rates(growth, weight, moved, shift, work):
    """Rates of one version, into ``work[0]``; `growth` holds exponentials of the predictors."""
    n_layers = growth.shape[0] // weight.size
    rates, q = work[0], work[1]
    rates[:] = 0.0
    for k in range(weight.size):
        if weight[k] == 0.0:
            continue
        q[:] = 1.0
        for t in range(k * n_layers, (k + 1) * n_layers):
            total = 0.0
            for c in range(shift.size):
                total += moved[t, c] * shift[c]
            _add_layer(growth[t], math.exp(total), q)
        add_product(weight[k], q, rates)


@elementwise
def _add_layer(growth, factor, q):
    """Turn q_(t-1) into q_t = log(1 + q_(t-1) exp(psi_t)), in place."""
    for i in range(q.size):
        y = q[i] * (growth[i] * factor)
        u = 1.0 + y
        # the second term gives back what the sum rounded away
        q[i] = vector_log(u) + (y - (u - 1.0)) / u


@elementwise
def _grow_by(growth, shift, out):
    for i in range(out.size):
        out[i] = growth[i] * vector_exp(shift[i])


@kernel
def _by_logs(psi, log_weight, moved, change, log_q, work):
    """Success and failure of one version, into ``work[4]`` and ``work[5]``."""
    n_layers = psi.shape[0] // log_weight.size
    own, total, log_rate, rate = work[0], work[1], work[2], work[3]
    for k in range(log_weight.size):
        log_q[k] = 0.0
        if log_weight[k] > LOG_OFF:
            for t in range(k * n_layers, (k + 1) * n_layers):
                own[:] = psi[t]
                for c in range(change.shape[0]):
                    add_product(moved[t, c], change[c], own)
                add_layer(own, log_q[k])
    log_rates(log_q, log_weight, total, log_rate)
    exponentials(log_rate, rate)
    of_rates(rate, rate.size, work[4], work[5])


@elementwise
def _break(stop, go, left, p):
    """Split what is `left` of each row into what stops here and what continues."""
    for i in range(left.size):
        p[i] = max(left[i] * stop[i], LEAST_PROBABILITY)
        left[i] *= go[i]


@elementwise
def _rest(left, p):
    for i in range(left.size):
        p[i] = max(left[i], LEAST_PROBABILITY)
