"""The GPU batch in Numba's simulator: the CPU's draws from the same keys."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import numpy as np
from pasb.binary import softplus_kernels
from pasb.binary.base import Keys
from pasb.binary.softplus import Softplus
from pasb.engines import softplus_centre as gpu
from pasb.engines.softplus_batch import Place, SoftplusBatch
from pasb.rows import Rows
from pasb.sweep import Problem, Sweeper

rng = np.random.default_rng(0)
X = np.column_stack([np.ones(7), rng.normal(size=7)])
rows = Rows.of(X, np.arange(7) % 3, 3)
order = np.array([2, 0, 1])
cases = [
    (dict(fixed_order=order, direction="reverse", augmented=True), False),
    (dict(fixed_order=order), True),  # every draw by reflections
    (dict(), False),
    (dict(scheme="paper"), False),
]
for settings, fails in cases:
    problem = Problem(rows, Softplus(n_experts=2, n_layers=2), swaps_only=True, **settings)
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(5, 1, 0))
    paper = problem.scheme == "paper"
    batch = SoftplusBatch([Place(problem, 5, 1)], fits_reference=paper)
    batch.start(state.order[None].copy(), [{k: v.copy() for k, v in state.parameters.items()}])
    gpu.LEAST_PIVOT = 2.0 if fails else softplus_kernels.LEAST_PIVOT
    for number in (1, 2)[: 1 + (settings == {})]:
        sweeper.sweep(state, Keys(5, 1, number))
        (log_likelihood,) = batch.sweep(number)
        assert np.array_equal(batch.orders[0], state.order)
        assert abs(log_likelihood - state.log_likelihood) < 1e-9
        for name, values in batch.parameters().items():
            assert np.allclose(values[0], state.parameters[name], rtol=1e-9, atol=1e-12), name
    assert (batch.take_guards()["qr_fallbacks"] > 0) == fails
print("agreed")
"""


def run(script: str, simulator: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": simulator}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )


def test_batch_draws_what_the_cpu_draws():
    done = run(SCRIPT, "1")
    assert done.stdout.strip() == "agreed", done.stderr


def test_without_a_gpu_the_error_says_so():
    script = """
from pasb.engines.device import array_module
from pasb.errors import EngineError
try:
    array_module()
except EngineError as error:
    print(error)
else:
    print("engine='cpu'")  # there is a GPU here
"""
    done = run(script, "0")
    assert "engine='cpu'" in done.stdout, done.stderr
