"""What every engine promises: draws that follow from the seed, and chains that stop where told.

The GPU's engine is tested where there is a GPU, and in Numba's simulator by `make test`.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import pasb.engines
from pasb.binary import Logistic, Softplus
from pasb.engines import EngineName, engine_of
from pasb.engines.device import available
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.run import sample

NEEDS_GPU = pytest.mark.skipif(not available(), reason="no GPU here, and no simulator")
SOFTPLUS = Softplus(n_experts=1, n_layers=1)
# the simulator takes seconds for a sweep of a few rows
CASES = [
    pytest.param("cpu", Logistic(), 60, Schedule(5, 20, 1, 7), id="cpu-logistic"),
    pytest.param("cpu", SOFTPLUS, 60, Schedule(5, 10, 2, 7), id="cpu-softplus"),
    pytest.param("cuda", SOFTPLUS, 6, Schedule(0, 2, 1, 7), id="cuda", marks=NEEDS_GPU),
]
cases = pytest.mark.parametrize(("name", "model", "n_rows", "schedule"), CASES)


def problems(model, n_rows, n_chains=2):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=n_rows)])
    rows = Rows.of(X, np.arange(n_rows) % 3, 3)
    return [Problem(rows, model, swaps_only=isinstance(model, Softplus), n_swaps=5)] * n_chains


def assert_same(one, other):
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.log_likelihood, other.log_likelihood)
    assert one.guards == other.guards
    assert one.statistics.keys() == other.statistics.keys()
    for arrays, others in ((one.statistics, other.statistics), (one.parameters, other.parameters)):
        for name, values in arrays.items():
            np.testing.assert_array_equal(values, others[name], err_msg=name)


def test_every_engine_is_here():
    """One name for each subclass in `pasb.engines`, one case or more for each name.

    Rows in parts have an engine without a name, tested in tests/engines/test_row_blocks.py.
    """
    subclasses = [
        node.name
        for path in Path(pasb.engines.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and "Engine" in [ast.unparse(base) for base in node.bases]
    ]
    assert sorted(subclasses) == ["CudaEngine", "PartedEngine", "ThreadEngine"]
    assert len(get_args(EngineName)) == len(subclasses) - 1
    assert {case.values[0] for case in CASES} == set(get_args(EngineName))


@cases
def test_draws_depend_neither_on_threads_nor_on_slices(name, model, n_rows, schedule, monkeypatch):
    runs = []
    settings = [(1, 100.0), (3, 0.0), (3, 100.0), (2, 0.001)]
    for n_jobs, seconds in settings[: 2 if name == "cuda" else 4]:
        engine = engine_of(name, n_jobs)
        monkeypatch.setattr(type(engine), "slice_seconds", seconds)
        runs.append(sample(problems(model, n_rows), schedule, engine))
    for run in runs[1:]:
        assert_same(run, runs[0])


@cases
def test_a_team_stops_where_it_is_told(name, model, n_rows, schedule):
    """After so many sweeps, or when `after_sweep` says so; each chain is in one team."""
    own, seen, n_sweeps = problems(model, n_rows), [], schedule.n_sweeps

    def stop(chain):
        seen.append(chain.index)
        return True

    with engine_of(name, 1) as engine:
        chains = engine.chains(own, Schedule(n_sweeps, 1, 1, 7))  # nothing is kept
        assert [chain.index for chain in chains] == [0, 1]
        teams = engine.teams(chains)
        assert sorted(chain.index for team in teams for chain in team) == [0, 1]
        assert engine.begin(len(teams)) >= 1
        for team in teams:
            engine.advance(team, 1)
            assert [chain.n_done for chain in team] == [1] * len(team)
            engine.advance(team, 1)
            assert [chain.n_done for chain in team] == [1] * len(team)
            engine.advance(team, n_sweeps, after_sweep=stop)
            assert {chain.n_done for chain in team} == {2}
            assert seen[-len(team) :] == [chain.index for chain in team]
            engine.fetch(team)
            for chain in team:
                assert np.isfinite(chain.state.log_likelihood)
                assert all(np.isfinite(values).all() for values in chain.state.parameters.values())
