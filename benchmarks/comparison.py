"""Does `pasb.compare` rank models as held-out folds do?

    python benchmarks/comparison.py --rows 300 --folds 3

Leave-one-out predictions of models fitted once, beside the log-probabilities of held-out rows, on
vehicle. The kernel machine has no likelihood and so no leave-one-out figure; folds judge it all the
same.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import pasb
from pasb import datasets

MODELS = {
    "logistic": pasb.StickLogisticClassifier(random_state=1),
    "logistic, wide prior": pasb.StickLogisticClassifier(precision=1e-3, random_state=1),
    "softplus": pasb.SoftplusClassifier(random_state=1),
    "kernel machine": pasb.StickSVMClassifier(random_state=1),
}


def held_out(model, X, y, n_folds: int) -> np.ndarray:
    """Log-probability of each row's class from folds without it."""
    out = np.empty(len(y))
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        own = clone(model).fit(X[train], y[train])
        p = own.predict_proba(X[test])
        out[test] = np.log(p[np.arange(len(test)), np.searchsorted(own.classes_, y[test])])
    return out


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    part = datasets.load("vehicle").partition(0)
    X, y = np.asarray(part.X_train)[: options.rows], np.asarray(part.y_train)[: options.rows]
    print(f"{len(y)} rows of vehicle, {options.folds} folds")
    for name in options.models:
        folds = held_out(MODELS[name], X, y, options.folds)
        line = f"{name:22} folds {folds.sum():8.1f} ± {np.sqrt(len(y)) * folds.std():.1f}"
        if name != "kernel machine":
            loo = clone(MODELS[name]).fit(X, y).loo(X, y, warn=False)
            line += f"   loo {loo.elpd:8.1f} ± {loo.se:.1f}, {len(loo.bad)} bad rows"
        print(line, flush=True)


if __name__ == "__main__":
    main()
