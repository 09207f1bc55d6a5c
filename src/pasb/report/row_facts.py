"""How good predictions are: scores, confusion, calibration by class, rows worth a look."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.plots.calibration import wilson
from pasb.report.evaluated import Evaluated, rows_of
from pasb.report.scores import Scores

MOST_ROWS = 8  # of each kind that are shown
MOST_CLASSES = 26  # in the table of confusion
MOST_PAIRS = 10
N_BINS = 10
DOUBT = 0.5  # a second class at this share of the first makes a row doubtful


def score_facts(evaluated: Evaluated) -> dict[str, Any]:
    """Scores, confusion and calibration of rows whose classes are known."""
    assert evaluated.category is not None
    proba, truth = evaluated.proba, evaluated.category
    scores = Scores.of(proba, evaluated.labels, evaluated.fitted.classes)
    n = len(evaluated.classes)
    guess = np.argmax(proba, axis=1)
    counts = np.zeros((n, n), dtype=np.int64)
    np.add.at(counts, (truth, guess), 1)
    often = np.bincount(truth, minlength=n) / len(truth)
    pairs = [
        {
            "truth": evaluated.classes[a],
            "prediction": evaluated.classes[b],
            "rows": int(counts[a, b]),
        }
        for a, b in np.argwhere(counts)
        if a != b
    ]
    pairs.sort(key=lambda pair: -pair["rows"])
    return {
        "error": scores.error,
        "log_loss": scores.log_loss,
        "calibration": scores.calibration,
        "majority_error": float(1 - often.max()),
        "confusion": counts.tolist() if n <= MOST_CLASSES else None,
        "confused": pairs[:MOST_PAIRS],
        "by_class": [_of_class(proba[:, k], truth == k, guess == k) for k in range(n)],
    }


def _of_class(p: NDArray[np.float64], mine: NDArray[np.bool_], taken: NDArray[np.bool_]) -> dict:
    """Calibration of one class against all others, in bins of equal width."""
    where = np.clip((p * N_BINS).astype(np.int64), 0, N_BINS - 1)
    count = np.bincount(where, minlength=N_BINS)
    held = count > 0
    expected = np.bincount(where, p, N_BINS)[held] / count[held]
    observed = np.bincount(where, mine, N_BINS)[held] / count[held]
    lower, upper = wilson(observed, count[held])
    right = int((mine & taken).sum())
    return {
        "rows": int(mine.sum()),
        "recall": right / int(mine.sum()) if mine.any() else None,
        "precision": right / int(taken.sum()) if taken.any() else None,
        "calibration": float((np.abs(expected - observed) * count[held]).sum() / len(p)),
        "count": count[held].tolist(),
        "expected": expected.tolist(),
        "observed": observed.tolist(),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
    }


def row_facts(evaluated: Evaluated, interval: float) -> dict[str, Any]:
    """Rows between two classes, and rows whose class was given little probability."""
    proba = evaluated.proba
    ranked = np.sort(proba, axis=1)
    ratio = ranked[:, -2] / np.maximum(ranked[:, -1], np.finfo(float).tiny)
    doubtful = np.argsort(-ratio, kind="stable")[:MOST_ROWS]
    facts: dict[str, Any] = {
        "interval": interval,
        "numbered": evaluated.names.known,
        "ids": list(evaluated.names.ids),
        "n_doubtful": int((ratio >= DOUBT).sum()),
        "doubtful": _shown(evaluated, doubtful, interval),
    }
    if evaluated.category is not None:
        given = proba[np.arange(len(proba)), evaluated.category]
        least = np.argsort(given, kind="stable")[:MOST_ROWS]
        surprising = least[given[least] < 1 / proba.shape[1]]
        facts["n_surprising"] = int((given < 0.05).sum())
        facts["surprising"] = _shown(evaluated, surprising, interval)
    return facts


def _shown(evaluated: Evaluated, rows: NDArray[np.int64], interval: float) -> list[dict[str, Any]]:
    """Some rows with the probabilities of the classes that matter, and intervals."""
    if not len(rows):
        return []
    tails = 0.5 - interval / 2, 0.5 + interval / 2
    fitted = evaluated.fitted
    inner = fitted.inner_rows(rows_of(evaluated.columns, rows))
    how = tails, fitted.n_threads, evaluated.available_to(rows)
    mean, lower, upper = fitted.predictor().intervals(inner, *how)
    found = []
    for k, row in enumerate(rows):
        first, second = np.argsort(-mean[k], kind="stable")[:2]
        truth = None if evaluated.category is None else int(evaluated.category[row])
        named = {"prediction": int(first), "runner_up": int(second)}
        if truth is not None:
            named["truth"] = truth
        found.append(
            {
                "row": int(evaluated.names.number[row]),
                "ids": [values[row] for values in evaluated.names.ids.values()],
                **{
                    name: {
                        "class": c,
                        "p": float(mean[k, c]),
                        "lower": float(lower[k, c]),
                        "upper": float(upper[k, c]),
                    }
                    for name, c in named.items()
                },
            }
        )
    return found
