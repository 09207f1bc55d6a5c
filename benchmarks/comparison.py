"""Does `pasb.compare` rank models as held-out folds do?

    python benchmarks/comparison.py
    python benchmarks/comparison.py --chains 2 --sweeps 400   # shorter runs

Leave-one-out predictions of models fitted once, beside the log-probabilities of held-out rows, on
vehicle. The kernel machine has no likelihood and so no leave-one-out figure; folds judge it all the
same.
"""

from __future__ import annotations

import argparse
import warnings
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import pasb
from pasb import datasets

MODELS = {
    "logistic": pasb.StickLogisticClassifier(random_state=1),
    "logistic, tight prior": pasb.StickLogisticClassifier(precision=10.0, random_state=1),
    "logistic, wide prior": pasb.StickLogisticClassifier(precision=1e-3, random_state=1),
    "softplus": pasb.SoftplusClassifier(random_state=1),
    "kernel machine": pasb.StickSVMClassifier(random_state=1),
}


def held_out(model, X, y, n_folds: int) -> tuple[np.ndarray, float]:
    """Log-probability of each row's class from folds without it, and the share of errors."""
    out, wrong = np.empty(len(y)), 0
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        own = clone(model).fit(X[train], y[train])
        p = own.predict_proba(X[test])
        out[test] = np.log(p[np.arange(len(test)), np.searchsorted(own.classes_, y[test])])
        wrong += int((own.classes_[p.argmax(axis=1)] != y[test]).sum())
    return out, wrong / len(y)


def main() -> None:
    """Print a line for each model, and what `pasb.compare` says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--chains", type=int, help="of each fit; by default as many as usual")
    parser.add_argument("--sweeps", type=int, help="of the warm-up, and again of draws")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    part = datasets.load("vehicle").partition(0)
    X, y = np.asarray(part.X_train)[: options.rows], np.asarray(part.y_train)[: options.rows]
    print(f"{len(y)} rows of vehicle, {options.folds} folds")
    settings: dict[str, object] = {"progress": False}
    if options.chains:
        settings["n_chains"] = options.chains
    if options.sweeps:
        settings |= {"n_warmup": options.sweeps, "n_draws": options.sweeps}
    folds, fitted = {}, {}
    for name in options.models:
        began = process_time()
        model = clone(MODELS[name]).set_params(**settings)
        folds[name], error = held_out(model, X, y, options.folds)
        seconds = process_time() - began
        print(
            f"{name:22} folds {folds[name].sum():8.1f}, least {folds[name].min():.1f}, errors "
            f"{error:.1%}, {seconds:.0f} s",
            flush=True,
        )
        if name != "kernel machine":
            loo = fitted[name] = model.fit(X, y).loo(X, y, warn=False)
            print(
                f"{name:22} loo   {loo.elpd:8.1f}, {len(loo.bad)} rows with a bad Pareto k, "
                f"{process_time() - began:.0f} s",
                flush=True,
            )
    best = max(folds, key=lambda name: folds[name].sum())
    for name in sorted(folds, key=lambda name: -folds[name].sum()):
        less = folds[name] - folds[best]
        print(f"{name:22} {less.sum():8.1f} ± {np.sqrt(len(y)) * less.std():.1f} by folds")
    if fitted:
        print(pasb.compare(fitted).round(2).to_string())


if __name__ == "__main__":
    main()
