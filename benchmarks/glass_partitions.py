"""How much five random partitions of glass say about an error rate.

``python benchmarks/glass_partitions.py``: a support vector machine with fixed settings on 1000
random partitions into 80 and 20 per cent, on the ten of `pasb.datasets`, and the spread of the mean
of five and of ten partitions.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from pasb import datasets
from pasb.datasets.partitions import scale_to_range
from report import write

N_RANDOM = 1000


def error(X_train, y_train, X_test, y_test) -> float:
    X_train, X_test = scale_to_range(X_train, X_test)
    model = SVC(C=100.0, gamma=0.5).fit(X_train, y_train)
    return 100 * float(np.mean(model.predict(X_test) != y_test))


def random_partitions() -> dict[str, float]:
    data = datasets.load("glass")
    errors = []
    for seed in range(N_RANDOM):
        parts = train_test_split(data.X, data.y, test_size=43, random_state=seed)
        errors.append(error(parts[0], parts[2], parts[1], parts[3]))
    rng = np.random.default_rng(0)
    means = {n: rng.choice(errors, (20_000, n)).mean(axis=1) for n in (5, 10)}
    return {
        "mean": float(np.mean(errors)),
        "standard deviation": float(np.std(errors)),
        "of means of five": float(means[5].std()),
        "of means of ten": float(means[10].std()),
        "largest difference of two means of five, 95 %": float(
            np.quantile(np.abs(means[5][::2] - means[5][1::2]), 0.95)
        ),
    }


def ours() -> dict[str, float]:
    data = datasets.load("glass")
    parts = [data.partition(k) for k in range(10)]
    errors = [error(p.X_train, p.y_train, p.X_test, p.y_test) for p in parts]
    return {"first five": float(np.mean(errors[:5])), "all ten": float(np.mean(errors))}


PARTS = {"random partitions": random_partitions, "of pasb.datasets": ours}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "glass-partitions-")
