"""Other classifiers, each tuned on the training rows by a small cross-validation.

Every peer is a function of a `Task`; it returns a function from rows to class probabilities.
Folds are stratified, as many as the smallest class has rows, at most three (five to calibrate).

- *Logistic*: L2, the strength by log loss.
- *SVC*: RBF kernel, C and gamma by error, then Platt's sigmoid by `CalibratedClassifierCV`.
- *RandomForest*, *ExtraTrees*: 500 trees, leaf size and number of columns by log loss. A class
  without a vote would have an infinite log loss, so one more tree that knows nothing votes too.
- *HistGradientBoosting*, *LightGBM*, *XGBoost*: the size of a tree and the number of rounds, up
  to 300, by the log loss of rows held out; then all rows with that number.
- *MLP*: standardised columns, layers and weight decay by log loss, the mean of five networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scores import log_loss
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

Predict = Callable[[np.ndarray], np.ndarray]
N_TREES = 500
N_ROUNDS = 300
RATE = 0.1  # of learning, for all three makes of boosting
N_NETWORKS = 5


class Task(NamedTuple):
    """Rows to learn from, and what a fit may use."""

    X: np.ndarray
    y: np.ndarray
    seed: int
    threads: int

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def folds(self, most: int = 3) -> StratifiedKFold:
        n = max(2, min(most, int(np.bincount(self.y).min())))
        return StratifiedKFold(n, shuffle=True, random_state=self.seed)


def searched(task: Task, model, grid, scoring: str = "neg_log_loss") -> dict:
    """The best settings of a grid."""
    search = GridSearchCV(model, grid, scoring=scoring, cv=task.folds(), refit=False)
    return search.fit(task.X, task.y).best_params_


def logistic(task: Task) -> Predict:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    best = searched(task, model, {"logisticregression__C": np.logspace(-3, 4, 15)})
    return model.set_params(**best).fit(task.X, task.y).predict_proba


def svc(task: Task) -> Predict:
    model = make_pipeline(StandardScaler(), SVC(cache_size=500))
    grid = {
        "svc__C": 2.0 ** np.arange(-2, 11, 2),
        "svc__gamma": 2.0 ** np.arange(-6, 5, 2) / task.X.shape[1],
    }
    best = searched(task, model, grid, "accuracy")
    calibrated = CalibratedClassifierCV(model.set_params(**best), cv=task.folds(5))
    return calibrated.fit(task.X, task.y).predict_proba


def forest(task: Task, model) -> Predict:
    model.set_params(n_estimators=N_TREES, random_state=task.seed, n_jobs=task.threads)
    grid = [
        {"min_samples_leaf": leaf, "max_features": share}
        for leaf in (1, 3)
        for share in ("sqrt", 0.5)
    ]

    def fit(X, y, settings) -> Predict:
        fitted = model.set_params(**settings).fit(X, y)
        return lambda rows: (
            (N_TREES * fitted.predict_proba(rows) + 1 / task.n_classes) / (N_TREES + 1)
        )

    losses = np.zeros(len(grid))
    for train, test in task.folds().split(task.X, task.y):
        for k, settings in enumerate(grid):
            p = fit(task.X[train], task.y[train], settings)(task.X[test])
            losses[k] += log_loss(p, task.y[test]) * len(test)
    return fit(task.X, task.y, grid[int(losses.argmin())])


def random_forest(task: Task) -> Predict:
    return forest(task, RandomForestClassifier())


def extra_trees(task: Task) -> Predict:
    return forest(task, ExtraTreesClassifier())


def boosted(task: Task, grid: list[dict], fit) -> Predict:
    """Choose settings and the number of rounds, then fit all rows.

    `fit` takes settings, a number of rounds, rows and classes, and rows and classes held out. It
    returns a model and the held-out log loss after every round, of which there may be fewer if
    nothing was left to learn.
    """
    curves = np.zeros((len(grid), N_ROUNDS))
    for train, test in task.folds().split(task.X, task.y):
        held_out = task.X[test], task.y[test]
        for k, settings in enumerate(grid):
            _, losses = fit(settings, N_ROUNDS, task.X[train], task.y[train], *held_out)
            curves[k] += np.pad(losses, (0, N_ROUNDS - len(losses)), mode="edge") * len(test)
    k, n = np.unravel_index(curves.argmin(), curves.shape)
    model, _ = fit(grid[k], int(n) + 1, task.X, task.y, task.X[:1], task.y[:1])
    return model.predict_proba


def hist_gradient_boosting(task: Task) -> Predict:
    def fit(settings, n, X, y, X_out, y_out):
        model = HistGradientBoostingClassifier(
            max_iter=n, learning_rate=RATE, early_stopping=False, random_state=task.seed, **settings
        ).fit(X, y)
        return model, [log_loss(p, y_out) for p in model.staged_predict_proba(X_out)]

    grid = [{"max_leaf_nodes": leaves, "min_samples_leaf": 5} for leaves in (4, 16)]
    return boosted(task, grid, fit)


def lightgbm(task: Task) -> Predict:
    from lightgbm import LGBMClassifier

    how = {"learning_rate": RATE, "random_state": task.seed, "n_jobs": task.threads, "verbose": -1}

    def fit(settings, n, X, y, X_out, y_out):
        model = LGBMClassifier(n_estimators=n, **how, **settings)
        model.fit(X, y, eval_set=[(X_out, y_out)])
        (losses,) = model.evals_result_["valid_0"].values()
        return model, losses

    grid = [{"num_leaves": leaves, "min_child_samples": 5} for leaves in (4, 16)]
    return boosted(task, grid, fit)


def xgboost(task: Task) -> Predict:
    from xgboost import XGBClassifier

    how = {"learning_rate": RATE, "random_state": task.seed, "n_jobs": task.threads}

    def fit(settings, n, X, y, X_out, y_out):
        model = XGBClassifier(n_estimators=n, tree_method="hist", **how, **settings)
        model.fit(X, y, eval_set=[(X_out, y_out)], verbose=False)
        (losses,) = model.evals_result()["validation_0"].values()
        return model, losses

    return boosted(task, [{"max_depth": depth} for depth in (2, 4)], fit)


def mlp(task: Task) -> Predict:
    model = make_pipeline(StandardScaler(), MLPClassifier(max_iter=500, random_state=task.seed))
    grid = {
        "mlpclassifier__hidden_layer_sizes": [(64,), (64, 64)],
        "mlpclassifier__alpha": [1e-4, 1e-2, 1.0],
    }
    best = searched(task, model, grid)
    networks = []
    for k in range(N_NETWORKS):
        net = MLPClassifier(max_iter=500, random_state=task.seed * N_NETWORKS + k)
        own = make_pipeline(StandardScaler(), net).set_params(**best)
        networks.append(own.fit(task.X, task.y))
    return lambda rows: np.mean([own.predict_proba(rows) for own in networks], axis=0)


PEERS: dict[str, tuple[Callable[[Task], Predict], str]] = {  # and what must be installed
    "Logistic": (logistic, "sklearn"),
    "SVC": (svc, "sklearn"),
    "RandomForest": (random_forest, "sklearn"),
    "ExtraTrees": (extra_trees, "sklearn"),
    "HistGradientBoosting": (hist_gradient_boosting, "sklearn"),
    "LightGBM": (lightgbm, "lightgbm"),
    "XGBoost": (xgboost, "xgboost"),
    "MLP": (mlp, "sklearn"),
}
