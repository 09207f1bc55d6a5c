"""The printed update: joint-distribution tests, agreement with our own, keys, refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pasb import SoftplusClassifier, StackedSoftplusClassifier, StickBreakingClassifier
from pasb.binary import softplus_printed
from pasb.binary.binary_model import Keys
from pasb.binary.softplus import Softplus
from pasb.binary.softplus_counts import LARGEST_COUNT, large_crt, large_poisson, split_count
from pasb.binary.softplus_printed import PrintedSampler, PrintedUpdate
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.moves.move import State
from pasb.numerics.helpers import Helpers
from pasb.numerics.rows import Rows, blocked
from pasb.sampling import sweep as sweep_module
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import ABSENT, FAILURE, IMPUTED, SUCCESS
from pasb.testing import check_edge_cases, check_recovery, check_reproducibility
from pasb.testing import joint_distribution as joint
from pasb.variates.scalar import open_stream

# a prior under which ten rows matter: proper, and not too wide
PRIOR = {"mass_shape": 3.0, "mass_rate": 1.5, "inverse_scale_shape": 3.0, "inverse_scale_rate": 3.0}
BY_PRODUCTS = ("active", "idle", "adaptation")
ORDER = np.array([1, 2, 0])


class Printed(Softplus):
    """The printed update under the exact scheme, where every part of the sweep can be tested."""

    def sampler(self, rows):
        return self.printed_sampler(rows)


def largest_deviation(model, n, seed, *, fixed, direction, augmented):
    """The largest change of a mean by five sweeps, in standard errors, and how many there are.

    The first sweep makes counts, the others start from them.
    """
    rng = np.random.default_rng(seed)
    before = joint.from_the_prior(model, ORDER if fixed else None, direction, n, rng)
    after = joint.swept(model, before, fixed, direction, augmented, 5, seed)
    both = (
        draws._replace(
            parameters={k: v for k, v in draws.parameters.items() if k not in BY_PRODUCTS}
        )
        for draws in (before, after)
    )
    _, first, second = joint.statistics(*both)
    z = joint.deviations(second - first)
    return z.max(), len(z)


@pytest.mark.statistical(level=2e-7)
@pytest.mark.parametrize(
    ("size", "design"),
    [
        ((1, 1), {"fixed": True, "direction": "forward", "augmented": False}),
        ((2, 2), {"fixed": True, "direction": "forward", "augmented": True}),
        ((2, 3), {"fixed": True, "direction": "reverse", "augmented": False}),
        ((2, 2), {"fixed": False, "direction": "reverse", "augmented": True}),
    ],
    ids=["one", "augmented", "reverse", "order"],
)
def test_joint_distribution(size, design, seed, level):
    model = Printed(n_experts=size[0], n_layers=size[1], **PRIOR)
    z, n_statistics = largest_deviation(model, 1000, seed, **design)
    assert z < stats.norm.isf(level / 2 / n_statistics)


def short_exposures(patch):
    """Exposures that are 20 % too small."""
    right = PrintedSampler._draw_weights

    def wrong(sampler, own, exposure, keys, stick):
        right(sampler, own, 0.8 * exposure, keys, stick)

    patch.setattr(PrintedSampler, "_draw_weights", wrong)


def rows_for_tables(patch):
    """The weights see the number of active rows instead of the counts above all layers."""

    def wrong(sampler, own, off, sums, keys, stick):
        SoftplusSampler.finish(sampler, own, off, sums[:2], keys, stick)

    patch.setattr(PrintedSampler, "finish", wrong)


def after_counts(patch, change):
    right = softplus_printed.draw_counts

    def wrong(*arguments):
        right(*arguments)
        change(*arguments[-2:])

    patch.setattr(softplus_printed, "draw_counts", wrong)


def counts_twice(patch):
    """Every count of the lowest layer is doubled."""

    def double(counts, thetas):
        counts[:, 0] *= 2

    after_counts(patch, double)


def large_theta(patch):
    """Theta above the lowest layer is twice as large."""

    def enlarge(counts, thetas):
        thetas *= 2

    after_counts(patch, enlarge)


# no level: at least 10.0, 17.1, 16.3 and 17.7 standard errors with 8 other seeds; 5.7 would be
# chance at the level of the test above
@pytest.mark.parametrize("mistake", [short_exposures, rows_for_tables, counts_twice, large_theta])
def test_the_joint_distribution_test_sees_mistakes(mistake, seed, monkeypatch):
    mistake(monkeypatch)
    design = {"fixed": True, "direction": "forward", "augmented": False}
    model = Printed(n_experts=2, n_layers=2, **PRIOR)
    assert largest_deviation(model, 800, seed, **design)[0] > 6


def test_the_checks_of_binary_models(seed):
    model = Printed(n_experts=2, n_layers=2)
    for check in (check_reproducibility, check_edge_cases, check_recovery):
        check(model, seed=seed)


def small_problem(**construction):
    rng = np.random.default_rng(3)
    table = np.column_stack([np.ones(90), rng.normal(size=(90, 2))])
    y = (np.abs(table[:, 1]) > 0.8).astype(np.int64) + (table[:, 2] > 0.7)
    model = Softplus(n_experts=2, n_layers=2, **PRIOR)
    return table, Problem(Rows.of(table, y, 3), model, **construction)


@pytest.mark.statistical(level=2e-7)
def test_posterior_moments_are_those_of_our_update(seed, level):
    """Success probabilities, weights and hyperparameters of a fixed order."""
    moments = []
    for scheme in ("exact", "paper"):
        table, problem = small_problem(scheme=scheme, fixed_order=ORDER)
        sweeper, n_batches, length = Sweeper(problem), 30, 250
        state = sweeper.start(Keys(seed, 0, 0))
        out = []
        for sweep in range(1, 500 + n_batches * length):
            sweeper.sweep(state, Keys(seed, 0, sweep))
            if sweep >= 500:
                own = {name: values[None, ORDER[:2]] for name, values in state.parameters.items()}
                p = np.exp(problem.model.log_probabilities(own, blocked(table[:6]))[0][0, :, :6])
                hypers = (own["weight"].sum(axis=-1), own["mass"], own["inverse_scale"])
                others = [np.tanh(np.log(np.ravel(values))) for values in hypers]
                out.append(np.concatenate([p.ravel(), p.ravel() ** 2, *others]))
        batches = np.array(out).reshape(n_batches, length, -1).mean(axis=1)
        moments.append((batches.mean(axis=0), batches.var(axis=0, ddof=1) / n_batches))
    (ours, a), (printed, b) = moments
    z = np.abs(ours - printed) / np.sqrt(a + b)
    # 30 batches: t rather than normal tails
    assert z.max() < 1.5 * stats.norm.isf(level / 2 / len(z))


def swept(problem, seed, n_sweeps, helpers=None, stop_at=0):
    sweeper = Sweeper(problem, helpers=helpers)
    state = sweeper.start(Keys(seed, 0, 0))
    for sweep in range(1, n_sweeps + 1):
        if sweep == stop_at:
            saved = {name: values.copy() for name, values in state.parameters.items()}
            state, sweeper = State(state.order.copy(), saved), Sweeper(problem)
            sweeper.resume(state)
        sweeper.sweep(state, Keys(seed, 0, sweep))
    return state


def same(a, b):
    return np.array_equal(a.order, b.order) and all(
        np.array_equal(values, b.parameters[name]) for name, values in a.parameters.items()
    )


PRINTED = {"scheme": "paper", "augmented": True, "n_swaps": 1}


def test_resuming_gives_the_same_chain(seed):
    _, problem = small_problem(**PRINTED)
    whole = swept(problem, seed, 20)
    assert whole.parameters["counts"].any()
    assert same(whole, swept(problem, seed, 20, stop_at=11))
    assert not same(whole, swept(problem, seed + 1, 20))


def test_threads_do_not_matter(seed, monkeypatch):
    monkeypatch.setattr(sweep_module, "SHARED_FROM", 0)
    _, problem = small_problem(**PRINTED)
    with Helpers() as helpers:
        helpers.add(2)
        together = swept(problem, seed, 20, helpers)
    assert same(together, swept(problem, seed, 20))


def test_only_successes_keep_their_counts(seed):
    rows = Rows.of(np.column_stack([np.ones(40), np.linspace(-1, 1, 40)]), np.arange(40) % 4, 4)
    sampler = Softplus(n_experts=3, n_layers=2).printed_sampler(rows)
    parameters = sampler.start(Keys(seed, 0, 0))
    for sweep in range(30):
        roles = np.array([SUCCESS, FAILURE, IMPUTED, ABSENT], dtype=np.int8)
        sampler.update(parameters, 0, 0, roles, Keys(seed, 0, sweep))
        counts = parameters["counts"][0]
        assert (counts.sum(axis=0)[0, :10] > 0).all()
        assert not counts[:, :, 10:].any()
        assert (counts[:, 1] <= counts[:, 0]).all()
        assert (counts == np.rint(counts)).all()
    sampler.draw_prior(parameters, 0, 0, Keys(seed, 0, 30))
    assert not parameters["counts"].any()


@njit
def splits(n, key, logs, off):
    drawn = np.empty((n, logs.size))
    counts, rate = np.zeros((logs.size, 1)), np.zeros(logs.size)
    for i in range(n):
        split_count(logs, off, open_stream(key, i), rate, counts)
        drawn[i] = counts[:, 0]
    return drawn


@njit
def large_draws(key, m, r):
    count, stream = large_poisson(open_stream(key, 0), m)
    tables, _ = large_crt(stream, m, r)
    return count, tables


@pytest.mark.statistical(level=2e-7)
@pytest.mark.parametrize("theta", [(1e-6, 3e-6), (0.2, 1.5, 0.0), (12.0, 30.0)])
def test_counts_are_split_in_proportion(theta, seed, level):
    """Independent Poisson counts given that their sum is not zero."""
    theta, n = np.array(theta), 40_000
    off = theta == 0
    logs = np.log(np.where(off, 1.0, theta))
    drawn = splits(n, np.uint64(seed | 1), logs, off)
    assert (drawn.sum(axis=1) >= 1).all()
    some = -np.expm1(-theta.sum())
    mean = theta / some
    variance = (theta + theta**2) / some - mean**2
    z = (drawn.mean(axis=0) - mean)[~off] / np.sqrt(variance[~off] / n)
    assert np.abs(z).max() < stats.norm.isf(level / 4 / len(z))
    spread = ((drawn - mean) ** 2)[:, ~off]
    z = (spread.mean(axis=0) - variance[~off]) / (spread.std(axis=0) / np.sqrt(n))
    assert np.abs(z).max() < stats.norm.isf(level / 4 / len(z))


@pytest.mark.parametrize("m", [1e19, 1e30, LARGEST_COUNT])
@pytest.mark.parametrize("r", [1e-300, 0.5, 1e6, 1e17, 1e35])
def test_large_counts(m, r, seed):
    """Within eight standard deviations of the mean, r log(1 + m / r) for large m."""
    count, tables = large_draws(np.uint64(seed | 1), m, r)
    assert abs(count - m) <= 8 * np.sqrt(m)
    digamma_part = r * (np.log1p(m / r) if r > 1e3 else np.log(m)) + 1
    assert 1 <= tables <= m
    assert abs(tables - digamma_part) <= 8 * np.sqrt(digamma_part) + 5 + 1e-12 * m


def test_steep_predictors_stay_finite(seed):
    """Predictors of 200 and more ask for counts that no integer holds."""
    rng = np.random.default_rng(seed)
    table = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    rows = Rows.of(table, (table[:, 1] > 0).astype(np.int64), 2)
    sampler = Softplus(n_experts=2, n_layers=3, precision=1e-6).printed_sampler(rows)
    parameters = sampler.start(Keys(seed, 0, 0))
    parameters["coef"][:, :, :, 1] = 300.0
    for sweep in range(200):
        roles = np.array([FAILURE, SUCCESS], dtype=np.int8)
        sampler.update(parameters, 1, 0, roles, Keys(seed, 0, sweep))
        assert all(np.isfinite(values).all() for values in parameters.values())


class TestWhichUpdateRuns:
    @pytest.mark.parametrize("order", [None, ORDER])
    def test_the_scheme_decides(self, order):
        for scheme, kind in (("paper", PrintedUpdate), ("exact", None)):
            _, problem = small_problem(scheme=scheme, fixed_order=order)
            sampler = Sweeper(problem).sampler
            assert isinstance(sampler, PrintedSampler) == (kind is not None)

    @pytest.mark.parametrize("order", [None, ORDER])
    def test_trajectories_are_of_the_exact_scheme(self, order):
        """A softplus model with trajectories, passed directly."""
        _, problem = small_problem()
        model = Softplus(n_experts=1, n_layers=1, moves="mixed")
        for scheme in ("exact", "paper"):
            own = Problem(problem.rows, model, scheme=scheme, fixed_order=order)
            names = [type(move).__name__ for move in Sweeper(own).moves]
            assert ("SoftplusTrajectory" in names) == (scheme == "exact")

    def test_mixed_moves_leave_the_printed_algorithm_alone(self):
        table, problem = small_problem()
        y = problem.rows.categories
        settings = {"n_chains": 1, "n_warmup": 0, "n_draws": 5, "random_state": 1, "n_jobs": 1}
        draws = []
        for moves in ("gibbs", "mixed"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of short chains
                model = StickBreakingClassifier(
                    binary=Softplus(n_experts=1, n_layers=1, moves=moves),
                    scheme="paper",
                    order=[0, 1, 2],
                    progress=False,
                    **settings,
                )
                draws.append(model.fit(table[:, 1:], y).draws_.parameters["coef"])
        assert np.array_equal(*draws)

    @pytest.mark.parametrize("kind", [SoftplusClassifier, StackedSoftplusClassifier])
    def test_a_gpu_refuses(self, kind):
        table, problem = small_problem()
        model = kind(scheme="paper", engine="cuda")
        with pytest.raises(ValueError, match=r"scheme='paper' needs engine='cpu'"):
            model.fit(table[:, 1:], problem.rows.categories)
