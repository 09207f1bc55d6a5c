"""How good predicted probabilities are: error, log loss, calibration."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

LEAST = 1e-15  # of a probability, so that its log is finite
N_BINS = 15


def error_rate(p: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(p.argmax(axis=1) != y))


def log_loss(p: np.ndarray, y: np.ndarray) -> float:
    return float(-np.mean(np.log(np.maximum(p[np.arange(len(y)), y], LEAST))))


def calibration_error(p: np.ndarray, y: np.ndarray, n_bins: int = N_BINS) -> float:
    """How far hit rates are from the largest probabilities: mean over bins of equal size."""
    confidence, hit = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.array_split(np.argsort(confidence, kind="stable"), n_bins)
    gaps = [abs(float((confidence[own] - hit[own]).sum())) for own in bins]
    return sum(gaps) / len(y)


def best_temperature(p: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The T for which p^(1/T), normalised, has the lowest log loss here, and that log loss.

    Above 1 the probabilities were too sure, below 1 not sure enough. T is between 1/20 and 20.
    """
    logs = np.log(np.maximum(p, LEAST))

    def loss(log_temperature: float) -> float:
        scaled = log_softmax(logs * np.exp(-log_temperature), axis=1)
        return float(-np.mean(scaled[np.arange(len(y)), y]))

    ends = -np.log(20.0), np.log(20.0)
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)), float(found.fun)
