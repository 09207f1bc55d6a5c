"""The GPU batch draws what the CPU draws from the same keys, sweep by sweep."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import softplus_kernels
from pasb.binary.binary_model import Keys
from pasb.binary.softplus import Softplus
from pasb.engines.device import simulated
from pasb.moves.move import State
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

ORDER = np.array([2, 0, 1])


@pytest.fixture
def engines():
    """The modules of the engine, which need a GPU or the simulator to be imported."""
    from pasb.engines import cuda_centre, cuda_reflections, pilot, softplus_batch, stick_batch

    return {
        "centre": cuda_centre,
        "reflections": cuda_reflections,
        "batch": softplus_batch,
        "sticks": stick_batch,
        "pilot": pilot,
    }


def small_rows(n_rows: int = 7, some: bool = False) -> Rows:
    """With `some`, not every category is available to every row."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=n_rows)])
    y = np.arange(n_rows) % 3
    available = None
    if some:
        available = rng.random((n_rows, 3)) < 0.5
        available[np.arange(n_rows), y] = True
    return Rows.of(X, y, 3, available=available)


def agree(engines, *, rate=8.0, n_sweeps=1, settles=False, some=False, **construction):
    """Sweep one chain on both, compare all of it, and return the guards of both."""
    from pasb.engines.softplus_arrays import BatchChain

    model = Softplus(n_experts=2, n_layers=2, rate=rate)
    problem = Problem(small_rows(some=some), model, swaps_only=True, **construction)
    sweeper = Sweeper(problem, settling=n_sweeps if settles else 0)
    state = sweeper.start(Keys(5, 1, 0))
    batch = engines["batch"].SoftplusBatch([BatchChain(problem, 5, 1)], fits_reference=settles)
    batch.start(state.order[None].copy(), [{k: v.copy() for k, v in state.parameters.items()}])
    for number in range(1, n_sweeps + 1):
        sweeper.sweep(state, Keys(5, 1, number))
        (log_likelihood,) = batch.sweep(number)
        np.testing.assert_array_equal(batch.orders[0], state.order)
        assert log_likelihood == pytest.approx(state.log_likelihood, abs=1e-9)
        for name, values in batch.parameters().items():
            expected = state.parameters[name]
            np.testing.assert_allclose(values[0], expected, rtol=1e-9, atol=1e-12, err_msg=name)
    (guards,) = batch.take_guards()
    assert guards["bounded_precisions"] == sweeper.sampler.guards["bounded_precisions"]
    return guards


@pytest.mark.parametrize("settles", [False, True])
def test_rows_that_could_not_be_everything(engines, settles):
    agree(engines, n_sweeps=2, some=True, settles=settles)


def test_sticks_of_rows_that_could_not_be_everything(engines):
    """Log-likelihoods of single sticks are those of the rows that are there."""
    problem = Problem(small_rows(some=True), Softplus(n_experts=1, n_layers=1))
    sticks = engines["sticks"].all_sticks(problem)
    batch = engines["sticks"].StickBatch(sticks, seed=3, first=0)
    values = batch.sweep(1)
    parameters = batch.parameters()
    sampler = problem.model.sampler(problem.rows)
    for k, stick in enumerate(sticks):
        own = {name: values[k].repeat(3, axis=0) for name, values in parameters.items()}
        success, failure = np.empty((2, 3, problem.rows.n_groups))
        sampler.log_sums(own, success, failure)
        behind = np.flatnonzero(stick.later >> np.arange(3) & 1)
        roles = problem.roles.against(stick.category, behind, 3)
        expected = success[0][roles == 1].sum() + failure[0][roles == 0].sum()
        assert values[k] == pytest.approx(expected, abs=1e-9)


def test_reverse_augmented_sticks_with_precisions_at_their_bound(engines):
    guards = agree(engines, rate=1e12, fixed_order=ORDER, direction="reverse", augmented=True)
    assert guards["bounded_precisions"] > 0
    assert guards["qr_fallbacks"] == 0


@pytest.mark.skipif(not simulated(), reason="a GPU has these bounds compiled into its kernels")
@pytest.mark.parametrize(
    ("least_light", "heavy"), [(2.0, 1e6), (1e-7, 0.1)], ids=["all rows", "heavy rows"]
)
def test_draws_by_reflections(engines, monkeypatch, least_light, heavy):
    """Of all rows; or of the factor of light rows, and heavy rows."""
    monkeypatch.setattr(engines["reflections"], "LEAST_LIGHT", least_light)
    monkeypatch.setattr(engines["reflections"], "HEAVY", heavy)
    monkeypatch.setattr(engines["centre"], "LEAST_PIVOT", 2.0)
    assert softplus_kernels.LEAST_PIVOT < 2.0
    assert agree(engines, fixed_order=ORDER)["qr_fallbacks"] > 0


@pytest.mark.parametrize("in_threads", [False, True], ids=["swaps", "swaps in threads"])
def test_inferred_orders(engines, monkeypatch, in_threads):
    monkeypatch.setattr(engines["batch"], "MANY_SWAPS", 0 if in_threads else 10_000)
    agree(engines, n_sweeps=2)


def test_chains_that_settle_fit_the_reference(engines):
    agree(engines, settles=True)


def test_a_stick_by_itself(engines):
    sticks = engines["sticks"]
    model = Softplus(n_experts=1, n_layers=1)
    problem = Problem(small_rows(6), model, "reverse", fixed_order=ORDER)
    alone = sticks.StickBatch([sticks.StickOfProblem(problem, 2, 0b011)], 5, 1)
    alone.sweep(1)
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(5, 1, 0))
    sweeper.sweep(state, Keys(5, 1, 1))
    ours = alone.parameters()["coef"][0, 0]
    np.testing.assert_allclose(ours, state.parameters["coef"][2], rtol=1e-9)


def test_short_chains_of_sticks_choose_where_chains_start(engines, monkeypatch):
    pilot = engines["pilot"]
    for name, value in (("SWEEPS", 1), ("COUNTED", 1), ("CHAINS", 2), ("BEST_ORDERS", 1)):
        monkeypatch.setattr(pilot, name, value)
    model = Softplus(n_experts=1, n_layers=1)
    rows = small_rows(6)
    free = [Problem(rows, model, direction) for direction in ("forward", "reverse")]
    own = pilot.with_pilots(dict(enumerate(free)), {0: object(), 1: object()}, 3)
    order = own[0].lattice().best_orders(1)[0]
    assert len(own[0].values) == len(own[1].values) == 9
    assert sorted(map(len, own[0].values.values())) == [1] * 7 + [2] * 2
    state = State(order, model.sampler(rows).start(Keys(3, 0, 0)))
    own[0].fill(state)
    _, parameters = own[0].best[order[0], 7 - (1 << order[0])]
    np.testing.assert_array_equal(state.parameters["coef"][order[0]], parameters["coef"])


def test_a_mean_of_the_rates_that_is_sampled(engines):
    agree(engines, rate="shared", n_sweeps=2)
