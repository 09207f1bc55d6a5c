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
from pasb.engines import cuda_centre, cuda_reflections, softplus_batch
from pasb.engines.softplus_arrays import Place
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

rng = np.random.default_rng(0)
X = np.column_stack([np.ones(7), rng.normal(size=7)])
rows = Rows.of(X, np.arange(7) % 3, 3)
order = np.array([2, 0, 1])
cases = [
    (dict(fixed_order=order, direction="reverse", augmented=True), False),
    (dict(fixed_order=order), True),  # every draw by reflections of all rows
    (dict(fixed_order=order), True),  # of the factor of light rows, and heavy rows
    (dict(), False),  # swaps in threads
    (dict(scheme="paper"), False),
]
for case, (settings, fails) in enumerate(cases):
    limits = (2.0, 1e6) if case == 1 else (1e-7, 0.1)
    cuda_reflections.LEAST_LIGHT, cuda_reflections.HEAVY = limits
    softplus_batch.MANY_SWAPS = 0 if case == 3 else 10_000
    wide = case == 0  # a prior with precisions below their bound
    model = Softplus(n_experts=2, n_layers=2, rate=1e12 if wide else 8.0)
    problem = Problem(rows, model, swaps_only=True, **settings)
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(5, 1, 0))
    paper = problem.scheme == "paper"
    batch = SoftplusBatch([Place(problem, 5, 1)], fits_reference=paper)
    batch.start(state.order[None].copy(), [{k: v.copy() for k, v in state.parameters.items()}])
    cuda_centre.LEAST_PIVOT = 2.0 if fails else softplus_kernels.LEAST_PIVOT
    for number in (1, 2)[: 1 + (settings == {})]:
        sweeper.sweep(state, Keys(5, 1, number))
        (log_likelihood,) = batch.sweep(number)
        assert np.array_equal(batch.orders[0], state.order)
        assert abs(log_likelihood - state.log_likelihood) < 1e-9
        for name, values in batch.parameters().items():
            assert np.allclose(values[0], state.parameters[name], rtol=1e-9, atol=1e-12), name
    guards, bounded = batch.take_guards(), sweeper.sampler.guards["bounded_precisions"]
    assert (guards["qr_fallbacks"] > 0) == fails
    assert guards["bounded_precisions"] == bounded
    assert (bounded > 0) == wide
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


FITS = """
import sys
import tempfile
import warnings
from pathlib import Path
import numpy as np
from pasb import SoftplusClassifier, StackedSoftplusClassifier, fit_together, load

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(9, 1)), np.arange(9) % 3
settings = dict(n_experts=1, n_layers=1, n_chains=1, n_warmup=2, n_draws=2, random_state=3)


def same(here, there):
    assert np.array_equal(here.draws_.order, there.draws_.order)
    for name, values in here.draws_.parameters.items():
        assert np.allclose(values, there.draws_.parameters[name], rtol=1e-9, atol=1e-12), name


# half of the warm-up with the freer swaps of the printed algorithm
swaps = dict(settings, order="swap", direction="forward")
here = SoftplusClassifier(**swaps).fit(X, y)
there = SoftplusClassifier(engine="cuda", **swaps).fit(X, y)
same(here, there)
assert np.allclose(here.predict_proba(X), there.predict_proba(X), rtol=1e-9)
assert np.allclose(here.sample_proba(X), there.sample_proba(X), rtol=1e-9)

# stopped by a callback, resumed from the checkpoint; a file that needs no GPU
seen = []
with tempfile.TemporaryDirectory() as folder:
    fixed = dict(settings, order=[1, 0, 2], checkpoint=Path(folder) / "run", engine="cuda")
    stop = lambda info: seen.append(info.sweep) or info.sweep == 3  # noqa: E731
    stopped = SoftplusClassifier(callbacks=[stop], **fixed).fit(X, y)
    assert stopped.draws_.interrupted and stopped.draws_.n_draws == 1 and max(seen) == 3
    resumed = SoftplusClassifier(**fixed).fit(X, y)
    here = SoftplusClassifier(**dict(fixed, checkpoint=None, engine="cpu")).fit(X, y)
    same(here, resumed)
    resumed.save(Path(folder) / "model.pasb")
    assert np.allclose(load(Path(folder) / "model.pasb").predict_proba(X), here.predict_proba(X))

# tables of different lengths in one batch
parts = [slice(0, 9), slice(0, 6)]
short = dict(settings, n_warmup=0, n_draws=1, order=[2, 0, 1])
models = [SoftplusClassifier(engine="cuda", **{**short, "random_state": k}) for k in range(2)]
fit_together(models, [X[part] for part in parts], [y[part] for part in parts])
for k, part in enumerate(parts):
    same(SoftplusClassifier(**{**short, "random_state": k}).fit(X[part], y[part]), models[k])

stacked = StackedSoftplusClassifier(engine="cuda", stack_sweeps=2, **short)
assert np.isfinite(stacked.fit(X, y).predict_proba(X)).all()

# numbers that are not finite end the run, as on the CPU
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.errors import DivergenceError

parameters = SoftplusBatch.parameters
SoftplusBatch.parameters = lambda *names: {k: v * np.inf for k, v in parameters(*names).items()}
try:
    SoftplusClassifier(engine="cuda", **short).fit(X, y)
except DivergenceError as error:
    assert "chain 0" in str(error) and "is not finite" in str(error), error
    print("agreed")
"""


def test_fits_are_those_of_the_cpu():
    done = run(FITS, "1")
    assert done.stdout.strip() == "agreed", done.stderr


PILOT = """
import numpy as np
from pasb.binary.base import Keys
from pasb.binary.softplus import Softplus
from pasb.engines import pilot
from pasb.engines.stick_batch import Stick, StickBatch
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.moves.base import State
from pasb.sampling.sweep import Sweeper

rng = np.random.default_rng(0)
rows = Rows.of(np.column_stack([np.ones(6), rng.normal(size=6)]), np.arange(6) % 3, 3)
model = Softplus(n_experts=1, n_layers=1)
problem = Problem(rows, model, "reverse", fixed_order=np.array([2, 0, 1]))
alone = StickBatch([Stick(problem, 2, 0b011)], 5, 1)
values = alone.sweep(1)
sweeper = Sweeper(problem)
state = sweeper.start(Keys(5, 1, 0))
sweeper.sweep(state, Keys(5, 1, 1))
assert np.allclose(alone.parameters()["coef"][0, 0], state.parameters["coef"][2], rtol=1e-9)

pilot.SWEEPS, pilot.COUNTED, pilot.CHAINS, pilot.BEST_ORDERS = 1, 1, 2, 1
free = [Problem(rows, model, direction) for direction in ("forward", "reverse")]
own = pilot.with_pilots(dict(enumerate(free)), {0: object(), 1: object()}, 3)
order = own[0].lattice().best_orders(1)[0]
assert len(own[0].values) == len(own[1].values) == 9
assert sorted(map(len, own[0].values.values())) == [1] * 7 + [2] * 2
state = State(order, sweeper.sampler.start(Keys(3, 0, 0)))
own[0].fill(state)
value, parameters = own[0].best[order[0], 7 - (1 << order[0])]
assert np.array_equal(state.parameters["coef"][order[0]], parameters["coef"])
print("agreed")
"""


def test_short_chains_of_sticks_choose_where_chains_start():
    done = run(PILOT, "1")
    assert done.stdout.strip() == "agreed", done.stderr


def test_out_of_memory_says_what_fits():
    script = """
import numpy as np
from pasb import SoftplusClassifier
from pasb.engines import softplus_arrays
from pasb.errors import EngineError
softplus_arrays.free_bytes = lambda xp: 300_000
X, y = np.random.default_rng(0).normal(size=(9, 1)), np.arange(9) % 3
try:
    SoftplusClassifier(engine="cuda", n_chains=500, order=[0, 1, 2]).fit(X, y)
except EngineError as error:
    print(error)
"""
    done = run(script, "1")
    assert "1000 chains need" in done.stdout, done.stderr
    assert "chains fit" in done.stdout
