"""Chains in threads: the same draws for any number, errors that arrive, an end in every case."""

from __future__ import annotations

import threading
import time
from functools import partial

import numpy as np
import pytest

from pasb.binary import Logistic, Robit, Softplus, SupportVector
from pasb.engines.threads import ThreadEngine
from pasb.numerics.helpers import TaskRunner
from pasb.numerics.rows import Rows
from pasb.sampling import sweep
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.run import sample

MODELS = {
    "logistic": Logistic(),
    "gibbs": Logistic(moves="gibbs"),
    "robit": Robit(),
    "softplus": Softplus(n_experts=3, n_layers=2),
    "support vectors": SupportVector(inclusion=0.5),
}


def some_rows(n_rows: int = 700, n_columns: int = 6, n_categories: int = 4) -> Rows:
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, n_columns - 1))])
    y = np.argmax(X @ rng.normal(size=(n_columns, n_categories)), axis=1)
    return Rows.of(X, y, n_categories)


@pytest.mark.parametrize("name", MODELS)
def test_draws_do_not_depend_on_the_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(sweep, "SHARED_FROM", 0)
    helped: list[str] = []
    original = TaskRunner.__call__

    def watched_task(task):
        helped.append(threading.current_thread().name)
        time.sleep(0.0003)  # time for another thread to take the next one
        return task()

    def watched(sweeper, tasks, breadth=1):
        original(sweeper, [partial(watched_task, task) for task in tasks], breadth)

    monkeypatch.setattr(TaskRunner, "__call__", watched)
    # where sweeps are compiled, a chain without help runs a whole one in one call
    swaps_only = name in ("softplus", "support vectors")
    runs = {}
    for n_jobs, n_chains in ((1, 1), (2, 1), (4, 1), (1, 2), (3, 2)):
        problem = Problem(some_rows(), MODELS[name], swaps_only=swaps_only)
        runs[n_jobs, n_chains] = sample(
            [problem] * n_chains, Schedule(5, 10, 1, 7), ThreadEngine(n_jobs)
        )
    assert any("help" in thread for thread in helped)
    for n_chains in (1, 2):
        one, *others = (run for (_, chains), run in runs.items() if chains == n_chains)
        for other in others:
            assert np.array_equal(one.order, other.order)
            assert np.array_equal(one.log_likelihood, other.log_likelihood)
            assert one.guards == other.guards
            for key, values in one.parameters.items():
                assert np.array_equal(values, other.parameters[key])


def test_threads_of_finished_chains_help(monkeypatch):
    """One chain waits before its last sweep, until it has the help of the other's thread."""
    problem = Problem(some_rows(), MODELS["softplus"], swaps_only=True)
    late = Problem(some_rows(300), MODELS["softplus"], swaps_only=True)
    free = []
    original = sweep.Sweeper.sweep

    def watched(sweeper, state, keys):
        if sweeper.problem is late and keys.sweep == 1:
            free.append(sweeper.helpers.n_free)
        if sweeper.problem is late and keys.sweep == 10:
            deadline = time.monotonic() + 60
            while sweeper.helpers.n_free == 0 and time.monotonic() < deadline:
                time.sleep(0.001)
            free.append(sweeper.helpers.n_free)
        original(sweeper, state, keys)

    monkeypatch.setattr(sweep.Sweeper, "sweep", watched)
    sample([problem, late], Schedule(0, 10, 1, 7), ThreadEngine(2))
    assert free == [0, 1]


def test_an_error_in_a_helped_chain_ends_the_run(monkeypatch):
    monkeypatch.setattr(sweep, "SHARED_FROM", 0)
    problem = Problem(some_rows(), MODELS["robit"], swaps_only=True)

    def fail(*_):
        raise FloatingPointError("on purpose")

    monkeypatch.setattr("pasb.binary.linear.draw_precisions", fail)
    with pytest.raises(FloatingPointError, match="on purpose"):
        sample([problem], Schedule(0, 10, 1, 7), ThreadEngine(3))


@pytest.mark.parametrize("name", ["logistic", "robit"])
def test_chains_that_take_turns_share_their_space(name, monkeypatch):
    """In turns of one sweep, with what another chain left there."""
    runs = []
    for seconds in (1e9, 0.0):
        monkeypatch.setattr(ThreadEngine, "slice_seconds", seconds)
        problem = Problem(some_rows(), MODELS[name])
        runs.append(sample([problem] * 3, Schedule(2, 40, 1, 7), ThreadEngine(1)))
        assert [len(idle) for idle in problem.rows.spaces._idle.values()] == [1]
    one, other = runs
    assert np.array_equal(one.order, other.order)
    assert np.array_equal(one.log_likelihood, other.log_likelihood)
    assert np.array_equal(one.parameters["coef"], other.parameters["coef"])


def test_all_chains_count_the_same_moves(monkeypatch):
    """Also where paths between orders can be made in one direction only: that was an error."""
    annealed = Problem.annealed

    def forward_only(problem, n_jobs=1):
        return annealed(problem, n_jobs) if problem.direction == "forward" else None

    rows, model = some_rows(40, 2, 3), Softplus(n_experts=1, n_layers=1, moves="mixed")
    problems = [Problem(rows, model, direction=own) for own in ("forward", "reverse")]
    assert all(problem.annealed() is not None for problem in problems)
    monkeypatch.setattr(Problem, "annealed", forward_only)
    draws = sample(problems, Schedule(2, 2, 1, 7), ThreadEngine(1))
    assert "softplus_neighbours_proposed" not in draws.statistics
    alone = sample(problems[:1], Schedule(2, 2, 1, 7), ThreadEngine(1))
    assert "softplus_neighbours_proposed" in alone.statistics
