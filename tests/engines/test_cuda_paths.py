"""Trajectories on the GPU are those of the CPU from the same keys, and learn the same from them."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import softplus_metric
from pasb.binary.binary_model import Keys
from pasb.binary.softplus import Softplus
from pasb.moves import softplus_trajectory
from pasb.numerics import adaptation
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

ORDER = np.array([2, 0, 1])


def rows_of(n_rows: int = 6, n_columns: int = 2, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, n_columns - 1))])
    return Rows.of(X, np.arange(n_rows) % 3, 3)


def model_of(**settings) -> Softplus:
    return Softplus(n_experts=2, n_layers=1, moves="mixed", **settings)


class Pair:
    """Chains on the CPU, and the same chains as one batch."""

    def __init__(self, problems, n_warmup, settling=0, step=1.2):
        from pasb.engines.softplus_arrays import BatchChain
        from pasb.engines.softplus_batch import SoftplusBatch

        self.sweepers = [Sweeper(p, settling=settling, n_warmup=n_warmup) for p in problems]
        keys = [Keys(5, c, 0) for c in range(len(problems))]
        self.states = [s.start(k) for s, k in zip(self.sweepers, keys, strict=True)]
        self.log_step = np.log(step)
        members = [BatchChain(problem, 5, c) for c, problem in enumerate(problems)]
        fits = settling > 0
        self.batch = SoftplusBatch(members, fits_reference=fits, n_warmup=n_warmup)
        self.start()

    def start(self):
        copies = [{k: v.copy() for k, v in s.parameters.items()} for s in self.states]
        self.batch.start([state.order.copy() for state in self.states], copies)

    def sweep(self, number):
        """With few steps, because the simulator takes long for each."""
        for state, record in zip(self.states, self.batch.learned, strict=True):
            for own in (state.parameters["adaptation"], record):
                own[:, [adaptation.LOG_STEP, adaptation.MEAN_LOG_STEP]] = self.log_step
        for c, (sweeper, state) in enumerate(zip(self.sweepers, self.states, strict=True)):
            sweeper.sweep(state, Keys(5, c, number))
        return self.batch.sweep(number)

    def compare(self, rtol=1e-9):
        found = {**self.batch.parameters(), "adaptation": self.batch.learned}
        for c, state in enumerate(self.states):
            np.testing.assert_array_equal(self.batch.orders[c], state.order)
            for name, values in found.items():
                expected = state.parameters[name]
                own = values[c][..., : expected.shape[-1]]
                np.testing.assert_allclose(own, expected, rtol=rtol, atol=1e-12, err_msg=name)
        return found


def agree(problems, n_warmup=1, n_sweeps=2, **settings):
    """Sweep on both and compare all of it, sweep by sweep; what the CPU counted."""
    both = Pair(problems, n_warmup, **settings)
    names = softplus_trajectory.SoftplusTrajectory.statistics
    counted = np.zeros((len(problems), len(names)), dtype=np.int64)
    for number in range(1, n_sweeps + 1):
        both.sweep(number)
        both.compare()
        counted += both.batch.path_counts
    for sweeper, own in zip(both.sweepers, counted, strict=True):
        np.testing.assert_array_equal(own, [sweeper.tally.of(name) for name in names])
    return {
        name.removeprefix("softplus_trajectory_"): counted[:, i] for i, name in enumerate(names)
    }


@pytest.mark.parametrize(
    "settings",
    [{}, {"rate": "shared"}, {"precision": 0.7}],
    ids=["ard", "shared", "normal"],
)
def test_sweeps_are_those_of_the_cpu(settings):
    """A sweep of warm-up, behind which the metric is taken again, and one with that metric."""
    counted = agree([Problem(rows_of(), model_of(**settings), fixed_order=ORDER)], step=0.6)
    assert counted["accepted"][0] > 0


def test_tables_of_different_widths_in_several_rounds(monkeypatch):
    """Reverse and augmented sticks; those of two tables, and one of each at a time."""
    from pasb.engines import path_sizes

    monkeypatch.setattr(path_sizes, "AT_ONCE", 1)
    problems = [
        Problem(rows, model_of(), "reverse", augmented=True, fixed_order=ORDER)
        for rows in (rows_of(7, 2), rows_of(5, 1))
    ]
    counted = agree(problems, n_sweeps=1)
    assert (counted["gradients"] > 0).all()


def test_metrics_of_single_vectors(monkeypatch):
    from pasb.engines import path_sizes

    monkeypatch.setattr(path_sizes, "MOST_DENSE", 0)
    monkeypatch.setattr(softplus_metric, "MOST_DENSE", 0)
    agree([Problem(rows_of(), model_of(), fixed_order=ORDER)], n_sweeps=1)


def test_orders_that_move_while_the_chain_settles():
    """The reference is fitted too, and has no trajectory; metrics follow the sticks."""
    agree([Problem(rows_of(), model_of(), swaps_only=True)], settling=2, n_warmup=2)


def test_steps_that_are_too_long_diverge_as_on_the_cpu():
    counted = agree([Problem(rows_of(), model_of(), fixed_order=ORDER)], n_sweeps=1, step=50.0)
    assert counted["divergences"][0] > 0


def test_chains_beyond_the_bounds_stay_where_they_are():
    both = Pair([Problem(rows_of(), model_of(), fixed_order=ORDER)], 1)
    both.states[0].parameters["weight"][2] = 1e-290
    both.start()
    both.sweep(1)
    found = both.compare()["adaptation"][0]
    assert found[2, adaptation.SINCE] == 0
    assert found[0, adaptation.GATHERED] + found[0, adaptation.IN_USE] > 0
