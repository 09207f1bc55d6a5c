"""What was fitted and on what, how far the draws can be trusted, and the order of the classes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.plots.precedence import before_probabilities
from pasb.plots.subject import Subject
from pasb.plots.traces import least_settled
from pasb.posterior.fitted import Fitted
from pasb.report.evaluated import Evaluated, rows_of, spaced
from pasb.report.prior_facts import prior_facts

MOST_POINTS = 240  # of a trace
MOST_ORDERS = 8
LONGEST_LINE = 120  # letters of an order
MOST_JUDGED = 2000  # rows by which splits are judged
MOST_NAMES = 60

STICKS = {
    "Logistic": "a logistic regression",
    "Robit": "a robit regression, robust to outliers",
    "Softplus": "a softplus regression: unions of regions enclosed by hyperplanes",
    "SupportVector": "a support vector machine",
}


def model_facts(subject: Subject) -> dict[str, Any]:
    """The model, its settings and its training rows."""
    model, fitted = subject.classifier, subject.classifier.fitted_
    names = subject.feature_names()
    binary = type(fitted.binary).__name__
    counts = getattr(model, "class_counts_", None)
    before = [] if subject.before is None else [type(s).__name__ for _, s in subject.before.steps]
    encoder: Any = None if subject.before is None else subject.before.steps[0][1]
    told = encoder.report_rows() if hasattr(encoder, "report_rows") else []
    return {
        "name": type(model).__name__,
        "sticks": STICKS.get(binary, f"a binary model of its own, {binary}"),
        "before": before,
        "columns": [[str(kind), str(text)] for kind, text in told],
        "classes": [str(label) for label in fitted.classes],
        "training_rows": None if counts is None else [int(n) for n in counts],
        "n_covariates": len(names),
        "covariates": names[:MOST_NAMES],
        "directions": list(fitted.directions),
        "settings": _settings(model),
        "priors": prior_facts(model),
    }


def _settings(model: Any) -> dict[str, str]:
    """Settings that differ from their defaults."""
    known = inspect.signature(type(model).__init__).parameters
    chosen = {}
    for name, value in model.get_params(deep=False).items():
        default = known[name].default if name in known else inspect.Parameter.empty
        if name not in ("n_jobs", "progress", "callbacks") and repr(value) != repr(default):
            text = repr(value)
            chosen[name] = text if len(text) <= 120 else text[:119] + "…"
    return chosen


def draw_facts(model: Any) -> dict[str, Any]:
    """How good the draws are: in words, numbers and traces."""
    fitted, seen = model.fitted_, model.diagnostics_
    draws, limits = fitted.draws, fitted.limits
    shown = spaced(draws.n_draws, MOST_POINTS)
    probabilities = fitted.watched_probabilities()
    traces = [_trace("log-likelihood of the training rows", draws.log_likelihood, shown, None)]
    traces[0]["rhat"] = _finite(seen.rhat_log_likelihood)
    for row, category in least_settled(seen.rhat_probability, probabilities, 3):
        name = f"P({fitted.classes[category]}), training row {fitted.watched.row[row] + 1}"
        one = _trace(name, probabilities[:, :, row, category], shown, (0.0, 1.0))
        one["rhat"] = _finite(seen.rhat_probability[row, category])
        traces.append(one)
    return {
        "chains": draws.n_chains,
        "draws": draws.n_draws,
        "warmup": draws.n_warmup,
        "thin": draws.thin,
        "ended": draws.ended,
        "good": bool(model.converged_),
        "in_words": model.convergence_in_words(),
        "rhat": _finite(seen.worst_rhat),
        "rhat_limit": float(limits.rhat),
        "ess": _finite(seen.worst_ess),
        "ess_limit": float(limits.ess),
        "usual_error": _finite(seen.usual_error),
        "compact": str(model.compactness_) if hasattr(model, "compactness_") else None,
        "draw": [int(k) + 1 for k in shown],
        "traces": traces,
    }


def _trace(
    name: str,
    values: NDArray[np.float64],
    shown: NDArray[np.int64],
    limits: tuple[float, float] | None,
) -> dict[str, Any]:
    return {
        "name": name,
        "limits": limits or (float(values.min()), float(values.max())),
        "chains": [[float(f"{v:.5g}") for v in chain[shown]] for chain in values],
    }


def order_facts(model: Any, evaluated: Evaluated | None) -> dict[str, Any]:
    """The posterior of the order, and what it says."""
    fitted: Fitted = model.fitted_
    rows: tuple[Any, ...] = ()
    if evaluated is not None and evaluated.category is not None:
        some = evaluated.some(MOST_JUDGED)
        rows = rows_of(evaluated.columns, some), evaluated.labels[some]
        rows += (evaluated.available_to(some),)
    each = []
    for direction in fitted.directions:
        orders, counts = fitted.orders_by_frequency(direction)
        shares = counts / counts.sum()
        before = before_probabilities(model, direction)
        n = len(fitted.classes)
        chains = fitted.draws.of_direction(direction)
        drawn = fitted.draws.order[chains].reshape(-1, n)
        place = np.stack([(drawn == c).mean(axis=0) for c in range(n)])  # (class, stick)
        if fitted.last_two_tie:
            place[:, -2:] = place[:, -2:].mean(axis=1, keepdims=True)
        top = orders[:MOST_ORDERS]
        each.append(
            {
                "direction": direction,
                "orders": [fitted.order_label(order) for order in top],
                "lines": fitted.order_lines(top, LONGEST_LINE),
                "probability": [float(share) for share in shares[:MOST_ORDERS]],
                "chains": [fitted.n_visits(order, direction) for order in top],
                "n_chains": len(chains),
                "n_orders": len(orders),
                "rest": float(shares[MOST_ORDERS:].sum()),
                "by_place": [int(c) for c in np.argsort(place @ np.arange(n), kind="stable")],
                "place": place.tolist(),
                "before": [[_finite(p) for p in line] for line in before],
            }
        )
    return {
        "fixed": fitted.order_is_fixed,
        "last_two_tie": fitted.last_two_tie,
        "in_words": model.order_in_words(*rows),
        "directions": each,
    }


def _finite(value: float) -> float | None:
    """A number, or None where it is not finite: JSON has no NaN."""
    return float(value) if np.isfinite(value) else None
