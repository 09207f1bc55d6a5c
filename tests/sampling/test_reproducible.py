"""The same seed gives the same draws, whether kernels were just compiled or come from the cache."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, warnings
import pasb
from pasb import datasets
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
"""


@pytest.mark.slow
def test_compiled_and_cached_kernels_give_the_same_draws(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    cold, warm = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert len(cold.split()) == 4
    assert cold == warm
