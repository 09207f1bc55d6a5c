"""Predictions: against the bare product of rows and coefficients, and against rows in blocks.

A prediction needs x'b for every row, draw, stick, expert and layer: one matrix product, whose
time is the floor. On top come the links: for softplus an exponential and a logarithm for
every x'b. The reference of a draw takes no part in either. Processor time of one thread, the
least of several runs. Memory is the peak that NumPy allocates beside its input and result.

`python benchmarks/prediction.py` also compares draws side by side with rows in blocks of 256, which
is how predictions were made before: one row, many rows, intervals, and what users call. Files of
compact models are measured too.
"""

from __future__ import annotations

import os
import tempfile
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np

import pasb
from pasb import SoftplusClassifier, StickLogisticClassifier, datasets
from pasb.binary import Logistic, Softplus
from pasb.numerics.helpers import one_blas_thread
from pasb.posterior.predict import Predictor

ROWS, CATEGORIES, COLUMNS = 2048, 6, 37
CASES = {
    "logistic": (Logistic(), 1000),
    "softplus, K = 5, T = 3": (Softplus(n_experts=5, n_layers=3), 100),
}


def predictor_of(model, n_draws: int, rng: np.random.Generator) -> Predictor:
    """Draws from the prior, which are as expensive as any others."""
    each = [model.simulate(COLUMNS, rng) for _ in range(n_draws * CATEGORIES)]
    parameters = {
        name: np.stack([one[name] for one in each]).reshape(
            n_draws, CATEGORIES, *each[0][name].shape
        )
        for name in model.kept
    }
    orders = np.array([rng.permutation(CATEGORIES) for _ in range(n_draws)])
    return Predictor(model, np.zeros(n_draws, dtype=np.bool_), parameters, orders)


def least(run, repeats: int, clock: Callable[[], float] = thread_time) -> float:
    best = np.inf
    for _ in range(repeats):
        start = clock()
        run()
        best = min(best, clock() - start)
    return best


def peak_bytes(run) -> int:
    tracemalloc.start()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def measure(repeats: int = 5) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(ROWS), rng.normal(size=(ROWS, COLUMNS - 1))])
    figures = {}
    with one_blas_thread():
        for name, (model, n_draws) in CASES.items():
            predictor = predictor_of(model, n_draws, rng)
            sticks = np.arange(n_draws)[:, None], predictor.orders[:, :-1]
            vectors = predictor.parameters["coef"][sticks].reshape(-1, COLUMNS)
            part = vectors[:4096]  # all at once would not fit into the cache
            n_parts = len(vectors) / len(part)

            def product(part=part):
                for start in range(0, ROWS, 256):
                    X[start : start + 256] @ part.T

            predictor.mean(X)
            bare = n_parts * least(product, repeats)
            ours = least(lambda predictor=predictor: predictor.mean(X), repeats)
            n = len(vectors) * ROWS
            figures[name] = {
                "vectors": len(vectors),
                "ns per x'b": 1e9 * ours / n,
                "ns per x'b, product": 1e9 * bare / n,
                "ratio": ours / bare,
            }
            twice = np.concatenate([X, X])
            for label, rows in (("", X), (" of twice the rows", twice)):
                peak = peak_bytes(lambda rows=rows, predictor=predictor: predictor.mean(rows))
                figures[name][f"peak MB{label}"] = peak / 2**20
    return figures


def vehicle_models() -> dict[str, Any]:
    """Models of vehicle with the draws that they have by default; short warm-ups."""
    part = datasets.load("vehicle").partition(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = {
            "logistic, vehicle, 4000 draws": StickLogisticClassifier(random_state=1, n_jobs=1),
            "softplus, vehicle, 400 draws": SoftplusClassifier(
                moves="gibbs", n_warmup=100, n_draws=50, random_state=1, n_jobs=1
            ),
        }
        for model in models.values():
            model.fit(np.asarray(part.X_train), part.y_train)
    return models


def wide_model(n_classes: int = 26, n_features: int = 100, n_draws: int = 1000) -> Any:
    """A logistic model of many classes and columns, with made-up draws: as expensive as others."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4 * n_classes, n_features)), np.arange(4 * n_classes) % n_classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(
            n_chains=4,
            n_warmup=0,
            n_draws=1,
            n_swaps=1,
            order=list(range(n_classes)),
            n_jobs=1,
            random_state=1,
        ).fit(X, y)
    shape = (4, n_draws)
    orders = rng.permuted(np.broadcast_to(np.arange(n_classes), (*shape, n_classes)), axis=2)
    model.draws_ = replace(
        model.draws_,
        parameters={"coef": 0.3 * rng.normal(size=(*shape, n_classes, n_features + 1))},
        order=np.ascontiguousarray(orders),
        log_likelihood=rng.normal(size=shape),
        statistics={name: np.zeros(shape, np.int32) for name in model.draws_.statistics},
    )
    return model


def rows_of(model: Any, n: int) -> np.ndarray:
    """Rows around the centre of the training rows."""
    fitted, rng = model.fitted_, np.random.default_rng(1)
    centre, spread = fitted.scaling
    return centre + spread * rng.normal(size=(n, len(centre)))


def old_intervals(predictor: Predictor, inner: np.ndarray) -> None:
    """Means, then all draws of 64 rows at a time and NumPy's quantiles: as it was before."""
    predictor.mean(inner)
    for k in range(0, len(inner), 64):
        np.quantile(predictor.samples(inner[k : k + 64]), (0.05, 0.95), axis=0)


def against_blocks(model: Any, n_rows: int = 512, repeats: int = 3) -> dict[str, float]:
    """Milliseconds of processor time now and with rows in blocks, and their ratios."""
    fitted, X = model.fitted_, rows_of(model, n_rows)
    now, inner = fitted.predictor(), fitted.columns(X)
    before = replace(now, least_draws=len(now.orders) + 1)
    tails = (0.05, 0.95)
    now.intervals(inner[:8], tails), before.mean(inner[:8])
    one, many, ends = (
        (lambda p: p.mean(inner[:1])),
        (lambda p: p.mean(inner)),
        (lambda p: old_intervals(p, inner) if p is before else p.intervals(inner, tails)),
    )
    out = {}
    for name, run in {"one row": one, f"{n_rows} rows": many, "their intervals": ends}.items():
        ms = [1e3 * least(lambda p=p, run=run: run(p), repeats) for p in (before, now)]
        out[f"{name}, ms before"], out[f"{name}, ms"], out[f"{name}, ratio"] = *ms, ms[0] / ms[1]
    out["intervals / means"] = out["their intervals, ms"] / out[f"{n_rows} rows, ms"]
    one_mean, one_frame = (
        1e3 * least(lambda ask=ask: ask(X[:1]), 200)
        for ask in (model.predict_proba, model.predict_frame)
    )
    out["predict_proba of one row, ms"], out["predict_frame of one row, ms"] = one_mean, one_frame
    out["predict_frame / predict_proba, one row"] = one_frame / one_mean
    frame = least(lambda: model.predict_frame(X), repeats)
    out["predict_frame / predict_proba"] = frame / least(lambda: model.predict_proba(X), repeats)
    return out


def of_files(model: Any, n: int) -> dict[str, float]:
    """Sizes of the file of a model and of its compact form, and how long they load."""
    out: dict[str, float] = {}
    small = model.compact(n)
    out["draws"], out["largest distance"] = small.compactness_.n_draws, small.compactness_.largest
    with tempfile.TemporaryDirectory() as folder:
        for name, one in {"": model, ", compact": small}.items():
            path = Path(folder, "model.pasb")
            one.save(path)
            out[f"MB{name}"] = os.path.getsize(path) / 1e6
            out[f"load, s{name}"] = least(lambda path=path: pasb.load(path), 5, perf_counter)
    return out


if __name__ == "__main__":
    from report import show

    show("prediction", measure())
    models = vehicle_models() | {"logistic, 26 classes, 100 columns": wide_model()}
    show("rows and intervals", {name: against_blocks(model) for name, model in models.items()})
    show("compact models", {name: of_files(model, 400) for name, model in models.items()})
