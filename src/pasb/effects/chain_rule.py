"""Slopes of class probabilities without differences: the chain rule.

A stick's probability depends on a row through a few linear predictors x'b, one in linear models,
experts times layers in softplus models. So the slope of the probability of class c along covariate
v is a sum over sticks j and predictors k,

    sum over j, k of (dp_c / du_j) (du_j / deta_jk) b_jkv,

with u_j the stick's own scale: the linear predictor, or the log-rate of a softplus stick. The
covariate enters by b_jkv alone. Averages over rows of the other two factors therefore serve all
covariates at once, and average slopes cost little more than one prediction.

Arguments of the compiled functions: `of_success`, `of_failure` (draws, sticks, rows): derivatives
of the logs of success and failure along the scale of a stick; `p` (draws, classes, rows):
probabilities; `orders` (draws, classes) and `reverse` (draws): the order of a draw, and whether it
stops on failure; `blocks` (`pasb.numerics.rows.Rows`); `log_weight` (sticks, experts).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.binary.linear import LinearModel
from pasb.binary.logistic import Logistic
from pasb.binary.softplus import Softplus
from pasb.binary.softplus_link import (
    LINEAR_BELOW,
    LOG_OFF,
    exponentials,
    log_one_minus_exp,
    log_rates,
    log_weights,
)
from pasb.effects.altered_rows import AlteredRows
from pasb.effects.streaming import Evaluation, Grouping, summed
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, blocked, linear_predictors, padded
from pasb.numerics.vector import vector_exp, vector_log, vector_softplus
from pasb.posterior.predict import Predictor
from pasb.sticks import LOG_NEVER, probabilities_of_draws, skip_unavailable

STEP = 1e-4  # of a linear predictor, where a link is differentiated numerically
NUMBERS_AT_ONCE = 2**17

# mypy: disable-error-code="call-arg"


class Derivatives(NamedTuple):
    """Logs of success and failure of each stick, and how they change.

    Attributes
    ----------
    log_success, log_failure : array of shape (draws, sticks, rows)
    of_success, of_failure : array of shape (draws, sticks, rows)
        Derivatives of these logs along the stick's own scale.
    of_scale : array of shape (draws, sticks, predictors, rows) or None
        Derivatives of that scale along the linear predictors; None where it is the only one.
    """

    log_success: NDArray[np.float64]
    log_failure: NDArray[np.float64]
    of_success: NDArray[np.float64]
    of_failure: NDArray[np.float64]
    of_scale: NDArray[np.float64] | None = None


@singledispatch
def derivatives(
    model: BinaryModel, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
) -> Derivatives:
    """The derivatives of a binary model's link."""
    raise NotImplementedError(type(model).__name__)


def has_chain_rule(model: BinaryModel) -> bool:
    """Whether the derivatives of a binary model's link are known."""
    return derivatives.dispatch(type(model)) is not derivatives.dispatch(object)


@derivatives.register
def _of_linear(
    model: LinearModel, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
) -> Derivatives:
    coef = parameters["coef"]
    eta = np.empty((coef.shape[0] * coef.shape[1], len(blocks) * BLOCK))
    linear_predictors(blocks, padded(coef.reshape(len(eta), -1), blocks.shape[1]), eta)

    def logs(at: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        failure = np.empty_like(at)
        model.link(at, failure)
        return at, failure

    if isinstance(model, Logistic):
        success, failure = logs(eta)
        slopes = [np.exp(failure), -np.exp(success)]
    else:
        above, below = logs(eta + STEP), logs(eta - STEP)
        slopes = [(a - b) / (2 * STEP) for a, b in zip(above, below, strict=True)]
        success, failure = logs(eta)
    shape = (*coef.shape[:2], -1)
    return Derivatives(*(values.reshape(shape) for values in (success, failure, *slopes)))


@derivatives.register
def _of_softplus(
    model: Softplus, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
) -> Derivatives:
    coef, weight = parameters["coef"], parameters["weight"]
    n_draws, n_sticks, n_experts, n_layers, n_columns = coef.shape
    n_rows, n_vectors = len(blocks) * BLOCK, n_experts * n_layers
    flat = padded(coef.reshape(-1, n_vectors, n_columns), blocks.shape[1])
    logs = log_weights(weight.reshape(-1, n_experts))
    out = np.empty((4, len(flat), n_rows))
    of_scale = np.empty((len(flat), n_vectors, n_rows))
    log_q, work = np.empty((n_experts, n_rows)), np.empty((2, n_rows))
    _softplus_derivatives(blocks, flat, logs, log_q, work, out, of_scale)
    shape = (n_draws, n_sticks, -1)
    return Derivatives(
        *(values.reshape(shape) for values in out),
        of_scale.reshape(n_draws, n_sticks, n_vectors, n_rows),
    )


@kernel
def _softplus_derivatives(blocks, coef, log_weight, log_q, work, out, of_scale):
    """Logs of success and failure, their derivatives along the log-rate, and those of the latter.

    `coef` is (sticks, experts x layers, columns), `out` (4, sticks, rows), `of_scale` (sticks,
    experts x layers, rows); `log_q` (experts, rows) and `work` (2, rows) are scratch.
    """
    n_experts, n_rows = log_q.shape
    n_layers = coef.shape[1] // n_experts
    for s in range(coef.shape[0]):
        linear_predictors(blocks, coef[s], of_scale[s])
        for k in range(n_experts):
            log_q[k] = 0.0
            if log_weight[s, k] > LOG_OFF:
                for t in range(n_layers):
                    _layer_slope(of_scale[s, k * n_layers + t], log_q[k])
        log_rates(log_q, log_weight[s], work[0], work[1])
        for k in range(n_experts):
            last = of_scale[s, (k + 1) * n_layers - 1]
            for i in range(n_rows):
                last[i] *= vector_exp(log_weight[s, k] + log_q[k, i] - work[1, i])
            for t in range(n_layers - 2, -1, -1):
                own, after = of_scale[s, k * n_layers + t], of_scale[s, k * n_layers + t + 1]
                for i in range(n_rows):
                    own[i] *= after[i]
            if log_weight[s, k] <= LOG_OFF:
                of_scale[s, k * n_layers : (k + 1) * n_layers] = 0.0
        exponentials(work[1], work[0])
        log_one_minus_exp(work[1], work[0], out[0, s])
        _rate_slopes(work[0], out[1, s], out[2, s], out[3, s])


@elementwise
def _layer_slope(psi, log_q):
    """Add a layer to `log_q`; `psi` becomes the derivative of the new one along psi."""
    for i in range(psi.size):
        x = psi[i] + log_q[i]
        q = max(vector_softplus(x), 1e-300)
        log_q[i] = x if x < LINEAR_BELOW else vector_log(q)
        psi[i] = 1.0 if x < LINEAR_BELOW else 1.0 / ((1.0 + vector_exp(-x)) * q)


@elementwise
def _rate_slopes(rate, log_failure, of_success, of_failure):
    for i in range(rate.size):
        x = rate[i]
        log_failure[i] = -x
        of_failure[i] = -x
        e = vector_exp(-x)
        of_success[i] = 1.0 - 0.5 * x if x < 1e-8 else x * e / max(1.0 - e, 1e-16)


@elementwise
def _sensitivities(of_success, of_failure, reverse, orders, p, out):
    """``out[d, j, c]`` becomes the derivative of p_c along the scale of stick j, row by row."""
    n_draws, n_sticks, n_categories, n_rows = out.shape
    for d in range(n_draws):
        for j in range(n_sticks):
            stop = of_failure[d, j] if reverse[d] else of_success[d, j]
            go_on = of_success[d, j] if reverse[d] else of_failure[d, j]
            for k in range(n_categories):
                own, target = p[d, orders[d, k]], out[d, j, orders[d, k]]
                for i in range(n_rows):
                    target[i] = 0.0 if k < j else own[i] * (stop[i] if k == j else go_on[i])


Factors = tuple[slice, NDArray, NDArray, NDArray | None, NDArray]


def _factors(
    rows: AlteredRows, part: slice, predictor: Predictor, columns: Sequence[int], spread: NDArray
) -> Iterator[Factors]:
    """Draws, probabilities, dp/du, du/deta, and coefficients of some columns on the user's scale.

    Some draws at a time: (draws, classes, rows), (draws, sticks, classes, rows), (draws, sticks,
    predictors, rows) and (draws, sticks, predictors, columns). A stick that a row skips, or where
    it stops for certain, moves nothing.
    """
    X, available = rows.inner(part, {}), rows.available_to(part)
    n_draws, n_categories = predictor.orders.shape
    blocks = blocked(X)
    n_rows, n_sticks = len(blocks) * BLOCK, n_categories - 1
    step = max(1, NUMBERS_AT_ONCE // (n_categories * n_rows))
    for start in range(0, n_draws, step):
        draws = slice(start, min(start + step, n_draws))
        n = draws.stop - start
        orders, reverse = predictor.orders[draws], predictor.reverse[draws]
        which = np.arange(start, draws.stop)[:, None], orders[:, :-1]
        own = {name: values[which] for name, values in predictor.parameters.items()}
        link = derivatives(predictor.model, own, blocks)
        logs, slopes = link[:2], link[2:4]
        if available is not None:
            skip_unavailable(*logs, reverse, orders, available, LOG_NEVER, 0.0)
            skip_unavailable(*slopes, reverse, orders, available, 0.0, 0.0)
        p = np.empty((n, n_categories, n_rows))
        probabilities_of_draws(*logs, reverse, orders, p)
        if available is not None:
            p[:, :, : len(available)] *= available.T
        along = np.empty((n, n_sticks, n_categories, n_rows))
        _sensitivities(*slopes, reverse, orders, p, along)
        coef = own["coef"].reshape(n, n_sticks, -1, X.shape[1])
        yield draws, p, along, link.of_scale, coef[..., columns] / spread


def slopes_by_chain_rule(
    rows: AlteredRows, predictor: Predictor, variables: Sequence[str]
) -> Evaluation:
    """Class probabilities and their slopes: the first measure, and one for each covariate."""
    columns, spread = _columns(rows, variables)

    def evaluate(part: slice) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        for draws, p, along, of_scale, coef in _factors(rows, part, predictor, columns, spread):
            out = np.empty((len(p), 1 + len(columns), *p.shape[1:]))
            out[:, 0] = p
            if of_scale is None:
                weights = coef[:, :, 0]  # (draws, sticks, columns)
                out[:, 1:] = np.einsum("djci,djv->dvci", along, weights, optimize=True)
            else:
                each = np.einsum("djki,djkv->djvi", of_scale, coef, optimize=True)
                out[:, 1:] = np.einsum("djci,djvi->dvci", along, each, optimize=True)
            yield draws, out

    return evaluate


def average_slopes(
    rows: AlteredRows,
    predictor: Predictor,
    variables: Sequence[str],
    groups: Grouping,
    n_threads: int,
) -> NDArray[np.float64]:
    """Averages of slopes over the rows of each group, (groups, draws, covariates, classes)."""
    columns, spread = _columns(rows, variables)
    n_draws, n_categories = predictor.orders.shape

    def of_block(part: slice) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        present, weights = groups.of_block(part)
        out = np.empty((len(present), n_draws, len(columns), n_categories))
        for draws, _, along, of_scale, coef in _factors(rows, part, predictor, columns, spread):
            for g, own in enumerate(weights.T):
                if of_scale is None:
                    mean = (along @ own)[:, :, None]  # (draws, sticks, 1, classes)
                else:
                    mean = of_scale @ (along * own).swapaxes(2, 3)
                out[g, draws] = np.einsum("djkc,djkv->dvc", mean, coef, optimize=True)
        return present, out

    return summed(of_block, groups, n_threads)


def _columns(rows: AlteredRows, variables: Sequence[str]) -> tuple[list[int], NDArray[np.float64]]:
    """Places of covariates among the model's columns, and the units these are measured in."""
    places = [rows.names.index(name) for name in variables]
    return [place + 1 for place in places], rows.fitted.scaling.spread[places]
