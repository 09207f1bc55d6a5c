"""The same seed gives the same draws, whether kernels were just compiled or come from the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pasb

SCRIPT = """
import hashlib, warnings
import pasb
from pasb import datasets
from pasb.sampling.compilation import compilation
warnings.simplefilter("ignore")
part = datasets.load("vehicle").partition(0)
few = dict(n_chains=1, n_warmup=100, n_draws=20, random_state=1, progress=False)
models = [
    pasb.StickLogisticClassifier(**few),
    pasb.StickRobitClassifier(**few),
    pasb.SoftplusClassifier(n_experts=2, n_layers=2, **few),
    pasb.StickSVMClassifier(width=0.1, **few),
]
for model in models:
    draws = model.fit(part.X_train, part.y_train).draws_
    print(hashlib.sha256(draws.parameters["coef"].tobytes()).hexdigest())
print(compilation.n_functions)
"""


@pytest.mark.slow
def test_compiled_and_cached_kernels_give_the_same_draws(tmp_path):
    """In a copy of the package, as code that is kept beside it is read whatever the cache holds."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(pasb.__file__).parent, tmp_path / "pasb", ignore=leave)
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = str(tmp_path)
    cold, warm = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    )
    assert len(cold) == 5
    assert int(cold[-1]) > 100
    assert int(warm[-1]) == 0
    assert cold[:-1] == warm[:-1]
