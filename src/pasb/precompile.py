"""Compile every kernel and leave it in Numba's cache, so that the first fit is quick.

Run it once after an installation: ``python -m pasb.precompile``.
"""

from __future__ import annotations

import warnings

import numpy as np

from pasb import StickLogisticClassifier
from pasb.errors import ConvergenceWarning


def precompile() -> None:
    """Fit a tiny table in each way that compiles different code."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = StickLogisticClassifier(n_chains=1, n_warmup=2, n_draws=2, progress=False)
        model.fit(X, y).predict_proba(X)


if __name__ == "__main__":
    precompile()
