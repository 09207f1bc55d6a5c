"""Does a horseshoe predict better than the usual prior where many columns do not matter?

Columns of normal noise are added to tables on which no constant of the package was chosen:

    python benchmarks/horseshoe.py --noise 100 --partitions 3

A line for each table: test log loss and error of the usual prior (whose scale is found by
empirical Bayes) and of ``pasb.Horseshoe()`` as it is, means over partitions, with the standard
error of the difference.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import tables
from sklearn.metrics import log_loss

import pasb

USUAL = ["newthyroid", "cleveland", "ecoli", "led7digit", "balance"]
PRIORS = {"usual": None, "horseshoe": pasb.Horseshoe()}


def scores(model, part, noise: tuple[np.ndarray, np.ndarray]) -> tuple[float, float, float]:
    """Log loss, error in per cent and seconds."""
    start = time.perf_counter()
    model.fit(np.column_stack([part.X_train, noise[0]]), part.y_train)
    seconds = time.perf_counter() - start
    p = model.predict_proba(np.column_stack([part.X_test, noise[1]]))
    known = np.isin(part.y_test, model.classes_)
    y = part.y_test[known]
    error = 100 * float(np.mean(model.classes_[p[known].argmax(axis=1)] != y))
    return log_loss(y, p[known], labels=model.classes_), error, seconds


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=USUAL)
    parser.add_argument("--noise", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--data")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{options.noise} columns of noise added")
    print(f"{'table':12} {'log loss':>20} {'gain':>16} {'error, %':>14} {'seconds':>12}")
    for name in options.sets:
        found = []
        for partition in range(options.partitions):
            part = tables.load(name, partition, options.data)
            rng = np.random.default_rng([len(name), partition])
            sizes = len(part.X_train), len(part.X_test)
            noise = tuple(rng.normal(size=(n, options.noise)) for n in sizes)
            found.append(
                [
                    scores(
                        pasb.StickLogisticClassifier(
                            prior=prior, n_chains=2, n_warmup=500, n_draws=500, random_state=1
                        ),
                        part,
                        noise,
                    )
                    for prior in PRIORS.values()
                ]
            )
        each = np.array(found)  # (partition, prior, score)
        loss, error, seconds = each.mean(axis=0).T
        gain = each[:, 0, 0] - each[:, 1, 0]
        spread = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else float("nan")
        print(
            f"{name:12} {loss[0]:9.3f} {loss[1]:9.3f} {gain.mean():9.3f} ± {spread:.3f}"
            f" {error[0]:7.1f} {error[1]:6.1f} {seconds[0]:6.1f} {seconds[1]:5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
