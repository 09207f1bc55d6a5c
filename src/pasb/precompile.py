"""Compile every kernel and leave it in Numba's cache, so that the first fit is quick.

Run it once after an installation: ``python -m pasb.precompile``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from pasb.errors import ConvergenceWarning


def is_compiled() -> bool:
    """Whether Numba's cache holds the largest kernel, hence in all likelihood the others."""
    from pasb.moves.whitened import whitened_sweep

    if whitened_sweep.signatures:
        return True
    folder = Path(whitened_sweep.stats.cache_path or "")
    return any(folder.glob("whitened.whitened_sweep-*.nbi"))


def announce() -> None:
    """Tell a waiting person that the first fit takes longer."""
    if not is_compiled():
        print("Compiling the kernels, once after installation: about 40 s.", file=sys.stderr)


def precompile() -> None:
    """Fit a tiny table, which compiles what fits and predictions need."""
    from pasb import StickLogisticClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = StickLogisticClassifier(n_chains=1, n_warmup=2, n_draws=2, progress=False)
        model.fit(X, y).predict_proba(X)


if __name__ == "__main__":
    precompile()
