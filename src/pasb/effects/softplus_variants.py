"""Probabilities of several versions of the same rows under softplus sticks.

As for logistic sticks, versions differ in few columns, so linear predictors are worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus import Softplus
from pasb.binary.softplus_link import (
    LOG_OFF,
    add_layer,
    exponentials,
    log_one_minus_exp,
    log_rates,
    log_weights,
)
from pasb.effects.altered_rows import AlteredRows, Changes
from pasb.effects.logistic_variants import add_product, changed_columns
from pasb.effects.streaming import Evaluation
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, blocked, linear_predictors, padded
from pasb.posterior.predict import Predictor
from pasb.sticks import probabilities_of_draws

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
        each = [changed_columns(base, rows.inner(part, changes), n_rows) for changes in variants]
        starts = np.cumsum([0, *(len(columns) for columns, _ in each)])
        columns = np.concatenate([columns for columns, _ in each]).astype(np.int64)
        change = np.concatenate([change for _, change in each])
        step = max(1, NUMBERS_AT_ONCE // (n_categories * n_rows * n_variants))
        logs = np.empty((2, step, n_variants, n_categories - 1, n_rows))
        out = np.empty((step * n_variants, n_categories, n_rows))
        scratch = tuple(np.empty((n, n_rows)) for n in (n_vectors, n_experts, 3))
        for start in range(0, n_draws, step):
            draws = slice(start, min(start + step, n_draws))
            n = draws.stop - start
            orders = predictor.orders[draws]
            which = np.arange(start, draws.stop)[:, None], orders[:, :-1]
            own = coef[which].reshape(n, n_categories - 1, n_vectors, n_columns)
            flat = padded(own, blocks.shape[1])
            moved = np.ascontiguousarray(own[..., columns])
            success, failure = logs[:, :n]
            _logs(blocks, flat, log_weights(weight[which]), moved, change, starts, *scratch,
                  success, failure)  # fmt: skip
            shape = (n * n_variants, n_categories - 1, n_rows)
            p = out[: n * n_variants]
            probabilities_of_draws(
                success.reshape(shape),
                failure.reshape(shape),
                np.repeat(predictor.reverse[draws], n_variants),
                np.repeat(orders, n_variants, axis=0),
                p,
            )
            yield draws, p.reshape(n, n_variants, n_categories, n_rows)

    return evaluate


@kernel
def _logs(blocks, coef, log_weight, moved, change, starts, psi, log_q, work, success, failure):
    """Logs of success and failure, (draws, variants, sticks, rows).

    `coef` is (draws, sticks, predictors, padded columns), `moved` the columns of it that
    variants change, `change` by how much, (columns changed, rows); those of variant v are from
    ``starts[v]`` on. `psi` (predictors, rows), `log_q` (experts, rows) and `work` (3, rows) are
    scratch.
    """
    n_draws, n_variants, n_sticks, _ = success.shape
    n_experts = log_q.shape[0]
    n_layers = psi.shape[0] // n_experts
    for d in range(n_draws):
        for j in range(n_sticks):
            linear_predictors(blocks, coef[d, j], psi)
            for v in range(n_variants):
                for k in range(n_experts):
                    log_q[k] = 0.0
                    if log_weight[d, j, k] > LOG_OFF:
                        for t in range(k * n_layers, (k + 1) * n_layers):
                            work[2] = psi[t]
                            for c in range(starts[v], starts[v + 1]):
                                add_product(moved[d, j, t, c], change[c], work[2])
                            add_layer(work[2], log_q[k])
                log_rates(log_q, log_weight[d, j], work[0], work[1])
                exponentials(work[1], failure[d, v, j])
                log_one_minus_exp(work[1], failure[d, v, j], success[d, v, j])
                for i in range(failure.shape[3]):
                    failure[d, v, j, i] = -failure[d, v, j, i]
