"""Posterior-mean probabilities against the bare product of the rows with all coefficients.

A prediction needs x'b for every row, draw, stick, expert and layer: one matrix product, whose
time is the floor. On top come the links: for softplus an exponential and two logarithms for
every x'b. The reference of a draw takes no part in either. Processor time of one thread, the
least of several runs. Memory is the peak that NumPy allocates beside its input and result.
"""

from __future__ import annotations

import tracemalloc
from time import thread_time

import numpy as np

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


def least(run, repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        start = thread_time()
        run()
        best = min(best, thread_time() - start)
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


if __name__ == "__main__":
    from report import show

    show("prediction", measure())
