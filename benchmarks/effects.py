"""What average effects cost, in passes of `predict_proba` with the same draws, and in memory.

``python benchmarks/effects.py [--rows N] [--model logistic|softplus]``
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

from pasb import SoftplusClassifier, StickLogisticClassifier, effects

COVARIATES, CLASSES = 10, 3


def seconds(function, *arguments) -> float:
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--model", choices=["logistic", "softplus"], default="logistic")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, COVARIATES))
    y = np.argmax(X[:, :CLASSES] + rng.gumbel(size=(options.rows, CLASSES)), axis=1)
    kind = {"logistic": StickLogisticClassifier, "softplus": SoftplusClassifier}[options.model]
    model = kind(random_state=1, n_jobs=1).fit(X[:2000], y[:2000])
    pairs = {f"x{v}": [1.0, 2.0] for v in range(COVARIATES)}
    functions = {
        "slopes": lambda X: effects.avg_slopes(model, X),
        "comparisons": lambda X: effects.avg_comparisons(model, X),
        "comparisons of two fixed values": lambda X: effects.avg_comparisons(model, X, pairs),
    }
    for function in (model.predict_proba, *functions.values()):
        function(X[:300])  # compiles
    before = peak()
    one = seconds(model.predict_proba, X)
    n_draws = model.draws_.order[..., 0].size
    print(
        f"{options.model}, {options.rows:,} rows, {n_draws} draws: a pass takes {one:.1f} s",
        flush=True,
    )
    for name, function in functions.items():
        passes = seconds(function, X) / one
        print(f"average {name}, {COVARIATES} covariates: {passes:.1f} passes", flush=True)
    print(f"peak memory {peak():.0f} MiB, {before:.0f} of them before")


if __name__ == "__main__":
    main()
