"""Softplus chains whose rows are elsewhere: the posterior is that of all other chains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from calibration.geweke import deviation
from calibration.parted_rows import parted
from calibration.replicates import LOG_NEVER
from scipy.stats import norm

from pasb.binary import Softplus, softplus_posterior
from pasb.binary.binary_model import Keys
from pasb.binary.softplus_metric import metric_of
from pasb.binary.softplus_posterior import force, log_posterior, position_of, posterior_space
from pasb.binary.stick_rows import stick_rows
from pasb.engines.parted_softplus import PartedSoftplus
from pasb.engines.threads import ThreadEngine
from pasb.moves import asked_softplus_trajectory
from pasb.moves.asked_softplus_trajectory import Density, SampledMetric, followed
from pasb.moves.move import State, Tally
from pasb.moves.softplus_trajectory import SoftplusTrajectory
from pasb.moves.swap import Swap
from pasb.numerics import adaptation
from pasb.numerics.asking import answered_by
from pasb.numerics.rows import Rows
from pasb.orders.table import OrderTable
from pasb.sampling import asked_softplus
from pasb.sampling.asked_softplus import SoftplusSweeps
from pasb.sampling.chain import empty_trace
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.run import sample
from pasb.sampling.softplus_sums import softplus_ask
from pasb.sticks import skip_unavailable
from pasb.testing import joint_distribution as joint

MODELS = {
    "rates": Softplus(n_experts=2, n_layers=2, rate=(1.0, 0.5), moves="mixed"),
    "ard": Softplus(n_experts=2, n_layers=2, moves="mixed"),
    "shared": Softplus(n_experts=2, n_layers=2, rate="shared", moves="mixed"),
    "normal": Softplus(n_experts=2, n_layers=1, precision=0.7, moves="mixed"),
}


def table_of(n, n_columns, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, n_columns))])
    y = np.argmax(X @ rng.normal(size=(n_columns + 1, 3)) + rng.gumbel(size=(n, 3)), axis=1)
    return Rows.of(X, y, 3)


class AskedSweeper:
    """One chain, swept one sweep at a time, in the shape of a `Sweeper`."""

    def __init__(self, problem: Problem):
        rows = parted(problem.rows, 2)
        own = replace(problem, rows=rows, augmented=False)
        metrics = SampledMetric(problem.rows, rows.row_sums.counts)
        ask = softplus_ask(rows.row_sums)
        self.sweeps = SoftplusSweeps(own, own.model.sampler(problem.rows), metrics, 0, ask)
        self.tally = Tally([self.sweeps, self.sweeps.swap])

    def resume(self, state):
        answered_by(self.sweeps.ask, self.sweeps.resumed(state))

    def sweep(self, state, keys: Keys):
        self.sweeps(state, keys)


@pytest.fixture
def long_steps(monkeypatch):
    monkeypatch.setattr(adaptation, "FIRST_STEP", 0.4)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        pytest.param(
            name,
            fixed,
            id=f"{name}-order {'fixed' if fixed else 'sampled'}",
            # priors of rates are the default; the others are quick enough with a sampled order
            marks=[pytest.mark.slow] if fixed and name != "shared" else [],
        )
        for name in MODELS
        for fixed in (True, False)
    ],
)
@pytest.mark.usefixtures("long_steps")
def test_the_posterior_is_invariant(name, fixed, seed, level):
    direction = "forward" if name in ("rates", "shared") else "reverse"
    n = 120 if fixed else 80
    settings = {"fixed": fixed, "direction": direction, "sweeper": AskedSweeper}
    worst = deviation(MODELS[name], n, seed, **settings)
    assert worst.p > level, f"{worst.what}: {worst.z:.1f} standard errors"


@pytest.fixture
def not_everything_available(monkeypatch):
    """Rows of the joint-distribution test have one, two or three categories."""
    available = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]])
    available = np.resize(available, (len(joint.X), 3)) == 1
    simulate, of = joint.simulate_categories, Rows.of

    def simulated(success, failure, order, direction, rng):
        logs = success[order[:-1]][None].copy(), failure[order[:-1]][None].copy()
        reverse = np.array([direction == "reverse"])
        skip_unavailable(*logs, reverse, order[None], available, LOG_NEVER, 0.0)
        full = np.zeros((2, *success.shape))
        full[:, order[:-1]] = logs[0][0], logs[1][0]
        return simulate(*full, order, direction, rng=rng)

    class OwnRows:
        @staticmethod
        def of(X, y, n):
            assert available[np.arange(len(y)), y].all()
            return of(X, y, n, available=available)

    monkeypatch.setattr(joint, "simulate_categories", simulated)
    monkeypatch.setattr(joint, "Rows", OwnRows)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize(
    ("direction", "fixed"),
    [
        pytest.param("forward", True, id="forward-order fixed"),
        pytest.param("reverse", False, id="reverse-order sampled"),
        pytest.param("forward", False, id="forward-order sampled", marks=pytest.mark.slow),
        pytest.param("reverse", True, id="reverse-order fixed", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("long_steps", "not_everything_available")
def test_rows_that_could_not_be_everything(direction, fixed, seed, level):
    settings = {"fixed": fixed, "direction": direction, "sweeper": AskedSweeper}
    worst = deviation(MODELS["ard"], 120 if fixed else 80, seed, **settings)
    assert worst.p > level, f"{worst.what}: {worst.z:.1f} standard errors"


@pytest.mark.usefixtures("long_steps")
class TestMistakes:
    """They are found; seeds are fixed, so these tests have no level."""

    def test_a_wrong_acceptance_ratio(self, monkeypatch):
        """Every trajectory is accepted; steps are long, so that this matters."""

        def wrong(density, roles, prior, metric, step, *rest):
            return (yield from followed(density, roles, prior, metric, 12 * step, *rest))

        monkeypatch.setattr(asked_softplus, "followed", wrong)
        monkeypatch.setattr(asked_softplus, "length_of_sweep", lambda *_: 10.0)
        monkeypatch.setattr(asked_softplus_trajectory, "uniform_at", lambda *_: 1e-300)
        found = deviation(MODELS["ard"], 150, 1, fixed=True, sweeper=AskedSweeper)
        assert found.z > 5

    def test_swaps_that_know_no_rows(self, monkeypatch):
        monkeypatch.setattr(asked_softplus, "Swap", lambda _, n: Swap(OrderTable.empty(3), n))
        found = deviation(MODELS["normal"], 150, 1, fixed=False, sweeper=AskedSweeper)
        assert found.z > 5


def sticks_and_position(name, seed):
    rows, model = table_of(700, 3, seed), MODELS[name]
    sampler = model.sampler(rows)
    own = model.simulate(4, np.random.default_rng(seed))
    move = SoftplusTrajectory(sampler, Problem(rows, model).roles, 0, None)
    prior = sampler.ard, move.shape, sampler.rate_prior(own), sampler.hypers
    roles = move.roles.on_stick(np.array([1, 2, 0]), 1)
    return rows, sampler.size, roles, prior, position_of(own)


@pytest.mark.parametrize("name", MODELS)
def test_densities_and_metrics_are_those_of_rows_in_memory(name, seed, monkeypatch):
    monkeypatch.setattr(softplus_posterior, "IN_SINGLE", False)
    rows, size, roles, prior, position = sticks_and_position(name, seed)
    on_stick, expected = stick_rows(rows, roles), np.zeros(len(position))
    work = posterior_space(size, *on_stick.blocks.shape[1:])
    value = log_posterior(on_stick, prior, position, np.zeros(len(position)), work)
    assert force(on_stick, prior, position, expected, work)
    density, elsewhere = Density(size), parted(rows, 3)
    ask = softplus_ask(elsewhere.row_sums)
    found, gradient = answered_by(ask, density.at(roles, prior, position))
    assert found == pytest.approx(value, rel=1e-12)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-12 * scale)
    assert elsewhere.row_sums.n_passes == 1
    metrics = SampledMetric(rows, elsewhere.row_sums.counts)
    wanted = metric_of(on_stick, prior, position[None], work)
    for one, other in zip(
        metrics.of(roles, prior, position[None], density.work), wanted, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_far_out_nothing_is_asked(seed):
    rows, size, roles, prior, position = sticks_and_position("ard", seed)
    ask = softplus_ask(parted(rows).row_sums)
    density = Density(size)
    metric = SampledMetric(rows, rows.counts).of(roles, prior, position[None], density.work)
    position[-1] = 1e3
    arrival = answered_by(
        ask, followed(density, roles, prior, metric, 0.1, 5.0, np.uint64(3), position)
    )
    assert arrival.n_gradients == 0
    assert not arrival.moved
    assert arrival.position is position


def test_a_sample_stands_for_all_rows(seed, monkeypatch):
    monkeypatch.setattr(asked_softplus_trajectory, "METRIC_ROWS", 2000)
    _, size, roles, prior, position = sticks_and_position("normal", seed)
    large = table_of(8000, 3, seed)
    density = Density(size)
    few = SampledMetric(large, large.counts)
    assert few.rows.n_rows < 2100
    monkeypatch.setattr(asked_softplus_trajectory, "METRIC_ROWS", 10_000)
    all_rows = SampledMetric(large, large.counts)
    metrics = [one.of(roles, prior, position[None], density.work) for one in (few, all_rows)]
    # no level: the covariance of 2000 rows is within a few percent of that of 8000
    one, other = (metric.factors[0] @ metric.factors[0].T for metric in metrics)
    ratio = np.linalg.eigvals(np.linalg.solve(one, other)).real
    assert ratio.min() > 0.5
    assert ratio.max() < 2


@pytest.mark.statistical(level=1e-7)
def test_active_rows_have_their_distribution(seed, level):
    model, rows = MODELS["normal"], table_of(900, 2, seed)
    sweeper = AskedSweeper(Problem(rows, model, fixed_order=np.array([0, 1, 2])))
    own = model.simulate_categories(3, 3, np.random.default_rng(seed))
    state = State(np.array([0, 1, 2]), {name: v.copy() for name, v in own.items()})
    draws = []
    for sweep in range(40):
        keys = Keys(seed, 0, sweep)
        answered_by(sweeper.sweeps.ask, sweeper.sweeps._tabulated(state, keys))
        draws.append(state.parameters["active"][0].copy())
    of_first = rows.categories == 0
    table = rows.blocks.transpose(0, 2, 1).reshape(-1, rows.blocks.shape[1])[: rows.n_rows, :3]
    rates = own["weight"][0] * np.logaddexp(0, table @ own["coef"][0, :, 0].T)[of_first]
    share = -np.expm1(-rates) / -np.expm1(-rates.sum(axis=1, keepdims=True))
    error = np.sqrt((share * (1 - share)).sum(axis=0) / len(draws))
    z = (np.mean(draws, axis=0) - share.sum(axis=0)) / np.maximum(error, 1e-6)
    assert np.abs(z).max() < norm.isf(level / 4)
    assert (np.max(draws, axis=0) <= of_first.sum()).all()


@pytest.mark.statistical(level=1e-7)
def test_agreement_with_chains_in_memory(seed, level):
    model = Softplus(n_experts=1, n_layers=1, rate="shared", moves="mixed")
    rows, order = table_of(300, 2, seed), np.array([2, 0, 1])
    schedule = Schedule(60, 400, 1, seed)
    runs = [
        sample([Problem(own, model, fixed_order=order)] * 2, schedule, engine)
        for own, engine in ((rows, ThreadEngine()), (parted(rows, 3), PartedSoftplus()))
    ]
    values = []
    for draws in runs:
        parameters = draws.parameters
        coef = parameters["coef"][:, :, order[:2]].reshape(2, 400, -1)
        weight = np.log(parameters["weight"][:, :, order[:2], 0])
        mean_rate = np.log(parameters["mean_rate"][:, :, :1])
        active = parameters["active"][:, :, order[:2], 0]
        each = [coef, weight, mean_rate, active, draws.log_likelihood[:, :, None]]
        values.append(np.concatenate(each, axis=2))
    batches = [v.reshape(2 * 20, 20, -1).mean(axis=1) for v in values]
    error = np.sqrt(sum(b.var(axis=0, ddof=1) / len(b) for b in batches))
    z = (batches[0].mean(axis=0) - batches[1].mean(axis=0)) / np.maximum(error, 1e-9)
    assert np.abs(z).max() < 1.3 * norm.isf(level / 4 / len(z))


@pytest.mark.parametrize("order", [None, np.array([2, 0, 1])], ids=["order sampled", "order fixed"])
def test_slices_and_chains_beside_it_change_nothing(order, seed):
    rows, model = table_of(200, 2, seed), MODELS["shared"]
    schedule = Schedule(n_warmup=8, n_draws=6, thin=1, seed=seed)
    settings = {"fixed_order": order}
    whole = sample([Problem(parted(rows, 2), model, **settings)] * 2, schedule, PartedSoftplus(2))
    engine, problem = PartedSoftplus(), Problem(parted(rows, 2), model, **settings)
    chains = engine.chains([problem] * 2, schedule)
    for chain in chains:
        chain.fill(empty_trace(problem, schedule, len(chain.tally.names)))
    engine.advance(chains[1:], 3)
    for until in (5, 6, 14):
        engine.advance(chains, until)
        for chain in chains:
            engine.sweepers[id(chain)].known.clear()  # of metrics, as after a restart
            engine.resume(chain)
    for k, chain in enumerate(chains):
        for name in model.kept:
            assert np.array_equal(chain.trace[name], whole.parameters[name][k])
        assert np.array_equal(chain.trace["order"], whole.order[k])
        assert np.array_equal(chain.trace["log_likelihood"], whole.log_likelihood[k])
