"""Logistic and robit sticks where normal approximations are poor: do default fits converge?

``python benchmarks/linear_hard_places.py [--suite FOLDER] [DATA ...]``.

One fit each with default settings. Bundled tables by their names (partition 0), ``letters`` is
simulated (26 classes, 16 columns), and any other name is a gzip-compressed CSV file in FOLDER
whose last column is ``target``: text is one-hot encoded, gaps get the mean. "fixed" keeps the
most frequent order of the first fit. Seconds are those of the processor, over all threads.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from pasb import StickLogisticClassifier, StickRobitClassifier, datasets

NAMES = ("iris", "wine", "glass", "vehicle", "segment", "letters")
MODELS = {"logistic": StickLogisticClassifier, "robit": StickRobitClassifier}


def letters(n_rows: int = 4000, n_classes: int = 26) -> tuple[np.ndarray, np.ndarray]:
    """Normal clusters that overlap a little."""
    rng = np.random.default_rng(5)
    y = np.arange(n_rows) % n_classes
    centres = 1.3 * rng.normal(size=(n_classes, 16))
    return centres[y] + rng.normal(size=(n_rows, 16)), y


def table(name: str, suite: Path | None) -> tuple[np.ndarray, np.ndarray]:
    if name == "letters":
        return letters()
    if suite is None or not (suite / f"{name}.csv.gz").exists():
        part = datasets.load(name).partition(0)
        return part.X_train, part.y_train
    frame = pd.read_csv(suite / f"{name}.csv.gz", dtype={"target": str})
    y = frame.pop("target").to_numpy()
    numbers = frame.select_dtypes("number").columns
    frame[numbers] = frame[numbers].fillna(frame[numbers].mean())
    return pd.get_dummies(frame).to_numpy(np.float64), y


def fit(kind: type, X: np.ndarray, y: np.ndarray, **settings) -> tuple:
    began = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(random_state=1, progress=False, **settings).fit(X, y)
    seconds = process_time() - began
    seen = model.diagnostics_
    return model, {
        "seconds": seconds,
        "worst R-hat": seen.worst_rhat,
        "worst ESS": seen.worst_ess,
        "median ESS": float(np.median(seen.ess_probability)),
        "worst ESS a second": seen.worst_ess / seconds,
    }


def measure(
    names: tuple[str, ...] = NAMES, suite: Path | None = None
) -> dict[str, dict[str, float]]:
    out = {}
    for name in names:
        X, y = table(name, suite)
        for title, kind in MODELS.items():
            model, out[f"{name}: {title}"] = fit(kind, X, y)
            if title == "logistic":
                fixed = fit(kind, X, y, order=model.order_)[1]
                out[f"{name}: {title}, fixed"] = fixed
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--suite", type=Path)
    given = parser.parse_args()
    for name in given.names:
        for case, figures in measure((name,), given.suite).items():
            print(f"{case:32}", "  ".join(f"{k} {v:.4g}" for k, v in figures.items()), flush=True)
