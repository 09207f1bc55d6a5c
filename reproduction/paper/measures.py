"""What is measured of a fitted model on test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus import active_experts
from reproduction.peers import n_support_vectors


def error(prediction: NDArray, truth: NDArray) -> float:
    """Rows that were predicted wrong, in per cent."""
    return 100 * float(np.mean(prediction != truth))


def probability_scores(model: Any, X: NDArray[np.float64], y: NDArray) -> dict[str, float]:
    """Log loss, Brier score and calibration error, where there are probabilities."""
    if not hasattr(model, "predict_proba"):
        return {}
    from pasb.plots.calibration import Calibration

    proba = model.predict_proba(X)
    truth = y[:, None] == model.classes_
    given = np.maximum((proba * truth).sum(axis=1), np.finfo(float).tiny)
    return {
        "log_loss": float(-np.log(given).mean()),
        "brier": float(((proba - truth) ** 2).sum(axis=1).mean()),
        "calibration_error": Calibration.of(proba, y, model.classes_).error,
    }


def size_and_best_draw(model: Any, X: NDArray[np.float64], y: NDArray) -> dict[str, Any]:
    """What the paper's table of best draws shows, and the diagnostics of the chains."""
    if hasattr(model, "best_draw"):
        best = model.best_draw()
        seen = model.diagnostics_
        return {
            "best_draw_error": error(best.predict(X), y),
            "hyperplanes": best.n_hyperplanes(),
            "worst_rhat": seen.worst_rhat,
            "worst_ess": seen.worst_ess,
            "log_likelihood": float(model.draws_.log_likelihood.mean()),
        }
    if hasattr(model, "n_hyperplanes_"):
        return {"hyperplanes": model.n_hyperplanes_}
    if hasattr(getattr(model, "best_estimator_", None), "n_support_"):
        return {"hyperplanes": n_support_vectors(model)}
    return {"hyperplanes": len(model.classes_) - 1}


def active_expert_counts(model: Any) -> dict[str, dict[str, list[int]]]:
    """In how many draws each class has 0, 1, ..., K active experts, by direction.

    Draws in which a class is the reference, which has no experts, do not count.
    """
    counts = active_experts(model.draws_.parameters)
    most = model.draws_.parameters["weight"].shape[-1]
    out: dict[str, dict[str, list[int]]] = {}
    for direction in model.fitted_.directions:
        chains = model.draws_.of_direction(direction)
        last = model.draws_.order[chains, :, -1]
        out[direction] = {}
        for category, label in enumerate(model.classes_):
            used = counts[chains, :, category][last != category].astype(int)
            out[direction][str(label)] = np.bincount(used, minlength=most + 1).tolist()
    return out
