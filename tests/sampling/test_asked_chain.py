"""Chains whose rows are elsewhere: the posterior is that of all other chains."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.exact_availability import CASES, exact_posterior, problem_of, visited
from calibration.exact_orders import deviations, exact_order_posterior, visited_orders
from calibration.parted_rows import parted
from scipy.stats import norm

from pasb.binary import Logistic, Robit
from pasb.binary.binary_model import Keys
from pasb.engines.parted import PartedEngine
from pasb.engines.threads import ThreadEngine
from pasb.moves.move import State
from pasb.numerics.rows import Rows
from pasb.sampling.asked_chain import AskedSweeps
from pasb.sampling.chain import empty_trace
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.row_sums import PartedRows
from pasb.sampling.run import sample
from pasb.testing import joint_distribution as joint


class AskedSweeper:
    """One chain, swept one sweep at a time, in the shape of a `Sweeper`."""

    def __init__(self, problem: Problem):
        rows = parted(problem.rows) if not isinstance(problem.rows, PartedRows) else problem.rows
        own = Problem(
            rows,
            problem.model,
            problem.direction,
            fixed_order=problem.fixed_order,
            n_swaps=problem.n_swaps,
        )
        schedule = Schedule(n_warmup=0, n_draws=1, thin=1, seed=0)
        self.engine = PartedEngine()
        (self.chain,) = self.engine.chains([own], schedule)
        self.sweeps: AskedSweeps = self.engine.sweepers[id(self.chain)]

    def start(self, keys: Keys) -> State:
        self.chain.schedule = Schedule(n_warmup=0, n_draws=1, thin=1, seed=keys.seed)
        self.chain.index = keys.chain
        return self.engine._start(self.chain)

    def sweep(self, state: State, keys: Keys) -> None:
        self.sweeps(state, keys)


class SwapsOnly(AskedSweeper):
    """As where the sticks of no order are known: plain swaps alone change it."""

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.sweeps.sticks.known = None
        self.sweeps.sticks.complete = False


class Unweighted(AskedSweeper):
    """Takes every proposal, as if the approximations were the posterior."""

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.sweeps._log_weight = lambda *_: 0.0


@pytest.fixture
def order_moves_in_every_other_sweep(monkeypatch):
    monkeypatch.setattr("pasb.sampling.asked_chain.BATCH", 2)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("sweeper", [AskedSweeper, SwapsOnly])
@pytest.mark.usefixtures("order_moves_in_every_other_sweep")
def test_orders_have_their_posterior(sweeper, direction, seed, level):
    counts = (20, 2, 8)
    orders, expected = exact_order_posterior(np.array(counts))
    _, found = visited_orders(counts, seed, 3000, n_chains=2, sweeper=sweeper, direction=direction)
    # batches of neighbouring sweeps are not quite independent
    assert np.abs(deviations(found, expected)).max() < 1.3 * norm.isf(level / 4 / len(orders))


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("case", ["three", "three, apart", "four"])
@pytest.mark.parametrize("sweeper", [AskedSweeper, SwapsOnly])
@pytest.mark.usefixtures("order_moves_in_every_other_sweep")
def test_rows_that_could_not_be_everything(case, sweeper, seed, level):
    """Orders, and probabilities by their coefficients, against quadrature."""
    direction = "forward" if case == "three" else "reverse"
    orders, expected, mean = exact_posterior(CASES[case])
    problem = problem_of(CASES[case], direction=direction)
    frequencies, means = visited(problem, seed, 3200, n_chains=2, sweeper=sweeper)
    limit = 1.3 * norm.isf(level / 2 / (len(orders) + len(mean)))
    assert np.abs(deviations(frequencies, expected)).max() < limit
    assert np.abs(deviations(means, mean)).max() < limit


@pytest.mark.usefixtures("order_moves_in_every_other_sweep")
def test_orders_without_weights_are_found_out(seed):
    # no level: 30 standard errors or more with other seeds
    counts = (20, 2, 8)
    _, expected = exact_order_posterior(np.array(counts))
    _, found = visited_orders(counts, seed, 600, n_chains=2, sweeper=Unweighted)
    assert np.abs(deviations(found, expected)).max() > 10


def largest_deviation(model, n, seed, every, monkeypatch):
    """The largest change of a mean in standard errors, and the limit at a level of 1e-6."""
    monkeypatch.setattr("pasb.sampling.asked_chain.TRAVEL_EVERY", every)
    order = np.array([1, 2, 0])
    before = joint.from_the_prior(model, order, "forward", n, np.random.default_rng(seed))
    after = before._replace(parameters={k: v.copy() for k, v in before.parameters.items()})
    for d, y in enumerate(before.y):
        rows = Rows.of(joint.X, y, joint.N_CATEGORIES)
        own = AskedSweeper(Problem(rows, model, fixed_order=order))
        state = State(order.copy(), {k: v[d] for k, v in after.parameters.items()})  # views
        own.sweeps.forget()
        for sweep in range(1, 4):
            own.sweep(state, Keys(seed, d, sweep))
    _, first, second = joint.statistics(before, after)
    z = joint.deviations(second - first)
    return z.max(), norm.isf(1e-6 / 2 / len(z))


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("every", [1, 1000], ids=["trajectories", "proposals"])
def test_joint_distribution(every, seed, monkeypatch):
    largest, limit = largest_deviation(Logistic(), 1000, seed, every, monkeypatch)
    assert largest < limit


def table_of(n, n_columns, n_categories, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, n_columns))])
    slopes = rng.normal(size=(n_columns + 1, n_categories))
    y = np.argmax(X @ slopes + rng.gumbel(size=(n, n_categories)), axis=1)
    return Rows.of(X, y, n_categories)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("model", [Logistic(), Robit()], ids=["logistic", "robit"])
def test_agreement_with_chains_in_memory(model, seed, level):
    rows = table_of(300, 2, 3, seed)
    order = np.array([2, 0, 1])
    runs = [
        sample([Problem(own, model, fixed_order=order)] * 2, Schedule(50, 400, 1, seed), engine)
        for own, engine in ((rows, ThreadEngine()), (parted(rows, 3), PartedEngine()))
    ]
    values = [
        np.concatenate(
            [
                d.parameters["coef"][:, :, order[:2]].reshape(2, 400, -1),
                d.log_likelihood[:, :, None],
            ],
            axis=2,
        )
        for d in runs
    ]
    batches = [v.reshape(2 * 20, 20, -1).mean(axis=1) for v in values]
    error = np.sqrt(sum(b.var(axis=0, ddof=1) / len(b) for b in batches))
    z = (batches[0].mean(axis=0) - batches[1].mean(axis=0)) / error
    assert np.abs(z).max() < 1.3 * norm.isf(level / 4 / len(z))


def test_slices_and_chains_beside_it_change_nothing(seed):
    rows = table_of(200, 2, 3, seed)
    schedule = Schedule(n_warmup=3, n_draws=45, thin=1, seed=seed)
    whole = sample([Problem(parted(rows, 2), Logistic())] * 3, schedule, PartedEngine())
    engine, problem = PartedEngine(), Problem(parted(rows, 2), Logistic())
    chains = engine.chains([problem] * 3, schedule)
    for chain in chains:
        chain.fill(empty_trace(problem, schedule, len(chain.tally.names)))
    engine.advance(chains[1:2], 21)
    for until in (7, 16, 17, 40, 48):
        engine.advance(chains, until)
        for chain in chains:
            engine.resume(chain)
    for k, chain in enumerate(chains):
        assert np.array_equal(chain.trace["coef"], whole.parameters["coef"][k])
        assert np.array_equal(chain.trace["order"], whole.order[k])
        assert np.array_equal(chain.trace["log_likelihood"], whole.log_likelihood[k])
