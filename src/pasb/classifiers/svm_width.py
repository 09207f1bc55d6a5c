"""The width of a Gaussian kernel, by cross validation with short chains of the classifier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.support_vector import SupportVector
from pasb.classifiers.stick_classifier import StickClassifier
from pasb.covariates.kernel_width import (
    GRID,
    MOST_BASES,
    MOST_ROWS,
    SWEEPS,
    Score,
    cross_validate,
    n_tried,
)
from pasb.engines.cost import FitCost
from pasb.engines.sweep_cost import Size
from pasb.numerics.helpers import cores, one_blas_thread
from pasb.sampling.progress import phase


def chosen_width(
    model: StickClassifier,
    table: NDArray[np.float64],
    categories: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> tuple[float, list[Score]]:
    """The width of a classifier in the middle of its fit, and the scores of those it tried."""
    asked: dict[str, Any] = model.get_params(deep=False)
    if asked["width"] != "cv":
        return float(asked["width"]), []
    cv_widths = asked["cv_widths"]
    widths = GRID if cv_widths is None else [float(width) for width in cv_widths]
    if not widths or not all(0 < width < np.inf for width in widths):
        raise ValueError(f"cv_widths must hold positive numbers, not {cv_widths!r}")
    bases = MOST_BASES if asked["n_bases"] is None else min(asked["n_bases"], MOST_BASES)
    seed, n_classes = model._run_seed(), len(model.classes_)
    settings = {
        **asked,
        **{"n_bases": bases, "n_chains": 1, "n_warmup": SWEEPS, "n_draws": SWEEPS, "thin": 1},
        **{"order": "infer", "n_jobs": 1, "random_state": seed, "progress": False},
        **{"checkpoint": None, "callbacks": None, "until": None, "max_seconds": None},
        "class_weight": None,  # among the weights already
        "engine": "cpu",
    }

    def fit(width, train, test):
        short: Any = type(model)(**{**settings, "width": width})
        short.fit(table[train], categories[train], weights[train])
        out = np.zeros((len(test), n_classes))
        out[:, short.classes_] = short.predict_proba(table[test])
        return out

    n_threads = cores(asked["n_jobs"])
    n_train = min(int((weights > 0).sum()), MOST_ROWS) * (asked["cv_folds"] - 1)
    n_train //= asked["cv_folds"]
    size = Size(n_train, min(bases, n_train) + 1, n_classes)
    binary = model._binary_model()
    assert isinstance(binary, SupportVector)
    n_widths, n_folds = n_tried(len(set(widths))), asked["cv_folds"]
    FitCost.of_widths(binary, size, n_widths, n_folds, 2 * SWEEPS, n_threads).tell()
    phase("choosing the width")
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains that are short on purpose
        scores = cross_validate(
            fit, categories, weights, widths, asked["cv_folds"], seed, n_threads
        )
    return (min(scores).width if scores else 1 / max(1, table.shape[1])), scores
