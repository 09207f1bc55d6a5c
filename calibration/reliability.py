"""Calibration of predictions on real data, beside scikit-learn's calibrated classifiers.

Every model is fitted to the training rows of the paper's partitions and judged on the test rows,
pooled over the partitions of a set. There is no promise to check here, only figures: a posterior
is calibrated when the model is right, and no model of real data is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pasb import (
    SoftplusClassifier,
    StackedSoftplusClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
    StickSVMClassifier,
)
from reproduction.data_sets import load

PARTITIONS = {
    "iris": 5,
    "wine": 5,
    "glass": 5,
    "vehicle": 2,
    "segment": 2,
    "satimage": 1,
    "dna": 1,
}
N_BINS = 15
LARGE = ("dna", "satimage")
SWEEPS, SWEEPS_LARGE = 500, 300  # of warm-up, and as many draws


def models(name: str, number: int) -> dict[str, Callable[[], object]]:
    """Makers of every model of the comparison, by name, for one data set."""
    chain = {"n_chains": 2, "n_jobs": 1, "progress": False, "random_state": number}
    n = SWEEPS_LARGE if name in LARGE else SWEEPS
    short = {"n_warmup": n, "n_draws": n}
    size = {"n_experts": 3, "n_layers": 1} if name == "dna" else {}

    def scaled(model):
        return make_pipeline(StandardScaler(), model)

    def svc():
        return scaled(SVC(C=10.0, random_state=number))

    def forest():
        return RandomForestClassifier(200, random_state=number)

    def softmax():
        return scaled(LogisticRegression(max_iter=5000))

    def calibrated(make, method):
        folds = 3 if name == "glass" else 5
        return lambda: CalibratedClassifierCV(make(), method=method, cv=folds)

    return {
        "logistic": lambda: StickLogisticClassifier(**chain, **short),
        "robit": lambda: StickRobitClassifier(**chain, **short),
        "linear SVM": lambda: StickSVMClassifier(kernel="linear", **chain, **short),
        "kernel SVM": lambda: StickSVMClassifier(**{**chain, "n_chains": 1}, **short),
        "softplus": lambda: SoftplusClassifier(**{**chain, "n_chains": 1}, **size, **short),
        "stacked softplus": lambda: StackedSoftplusClassifier(
            stack_sweeps=n, **{**chain, "n_chains": 1}, **size, **short
        ),
        "softmax regression": softmax,
        "softmax regression, sigmoid": calibrated(softmax, "sigmoid"),
        "softmax regression, isotonic": calibrated(softmax, "isotonic"),
        "random forest": forest,
        "random forest, sigmoid": calibrated(forest, "sigmoid"),
        "random forest, isotonic": calibrated(forest, "isotonic"),
        "RBF SVC, sigmoid": calibrated(svc, "sigmoid"),
        "RBF SVC, isotonic": calibrated(svc, "isotonic"),
    }


def predictions(name: str, number: int, which: str) -> tuple[NDArray, NDArray, float]:
    """Probabilities of the test rows, which class is true, and the seconds of the fit."""
    part = load(name).partition(number)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models(name, number)[which]().fit(part.X_train, part.y_train)  # type: ignore[attr-defined]
        proba = model.predict_proba(part.X_test)
    truth = part.y_test[:, None] == model.classes_
    return proba, truth, time.process_time() - start


def run(scale: float, jobs: int, say: Callable[[str], None]) -> dict:
    """All sets and models; `scale` is not used."""
    return summed_up(run_sets(list(PARTITIONS), jobs, say))


def run_sets(names: list[str], jobs: int, say: Callable[[str], None]) -> list[dict]:
    """All models on some sets, `jobs` fits at a time."""
    asked = [(name, which) for name in names for which in models(name, 0)]
    # the longest first, so that no core is left with one in the end
    longest = sorted(asked, key=lambda one: one[0] not in LARGE)
    tasks = [(*one, number) for one in longest for number in range(PARTITIONS[one[0]])]
    fits = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(predictions)(name, number, which) for name, which, number in tasks
    )
    parts: dict[tuple[str, str], list] = {one: [] for one in asked}
    done = {}
    for (name, which, _), fit in zip(tasks, fits, strict=True):
        own = parts[name, which]
        own.append(fit)
        if len(own) < PARTITIONS[name]:
            continue
        one = {"data": name, "model": which, **figures([p[:2] for p in own])}
        one["seconds"] = sum(p[2] for p in own)
        done[name, which] = one
        say(
            f"{name}, {which}: error {one['error']:.3f}, ECE {one['ece']:.3f}, "
            f"{one['seconds']:.0f} s"
        )
    return [done[one] for one in asked]


def summed_up(results: list[dict]) -> dict:
    """The results and how they were made."""
    names = dict.fromkeys(one["data"] for one in results)
    return {
        "results": results,
        "n_bins": N_BINS,
        "partitions": {name: PARTITIONS[name] for name in names},
        "passed": True,
    }


def figures(parts: list[tuple[NDArray, NDArray]]) -> dict:
    """Pooled over partitions: error, log loss, Brier score, ECE and its chance level, bins."""
    best = np.concatenate([proba.max(axis=1) for proba, _ in parts])
    right = np.concatenate([truth[np.arange(len(p)), p.argmax(axis=1)] for p, truth in parts])
    own = np.concatenate([(p * truth).sum(axis=1) for p, truth in parts])
    brier = np.concatenate([((p - truth) ** 2).sum(axis=1) for p, truth in parts])
    rng = np.random.default_rng(0)
    where = np.minimum((best * N_BINS).astype(int), N_BINS - 1)
    chance = [_gap(where, best, rng.random(len(best)) < best) for _ in range(500)]
    count = np.bincount(where, minlength=N_BINS)
    return {
        "n_rows": len(best),
        "error": float(1 - right.mean()),
        "log_loss": float(-np.log(np.maximum(own, 1e-15)).mean()),
        "brier": float(brier.mean()),
        "ece": _gap(where, best, right),
        "ece_by_chance": [float(v) for v in np.quantile(chance, [0.5, 0.95])],
        "overconfidence": float(best.mean() - right.mean()),
        "count": count.tolist(),
        "confidence": np.bincount(where, best, N_BINS).tolist(),
        "right": np.bincount(where, right, N_BINS).tolist(),
    }


def _gap(where, best, right) -> float:
    """Expected calibration error."""
    gaps = np.bincount(where, best, N_BINS) - np.bincount(where, right, N_BINS)
    return float(np.abs(gaps).sum() / len(best))
