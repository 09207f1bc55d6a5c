"""Trajectories of softplus sticks: gradients, invariance, adaptation, mistakes that are found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from calibration.geweke import deviation

from pasb import SoftplusClassifier, datasets
from pasb.binary import Softplus, softplus_metric, softplus_posterior
from pasb.binary.binary_model import Keys
from pasb.binary.softplus_metric import metric_of
from pasb.binary.softplus_posterior import (
    digamma,
    force,
    log_posterior,
    position_of,
    posterior_space,
    take_position,
)
from pasb.binary.stick_rows import stick_rows
from pasb.moves import softplus_trajectory
from pasb.moves.gibbs import Gibbs
from pasb.moves.softplus_trajectory import SoftplusTrajectory
from pasb.numerics import adaptation
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import ABSENT, FAILURE, SUCCESS

MODELS = {
    "rates": Softplus(n_experts=2, n_layers=2, rate=(1.0, 0.5), moves="mixed"),
    "ard": Softplus(n_experts=2, n_layers=2, moves="mixed"),
    "shared": Softplus(n_experts=2, n_layers=2, rate="shared", moves="mixed"),
    "normal": Softplus(n_experts=2, n_layers=1, precision=0.7, moves="mixed"),
}


class Alone(Sweeper):
    """Sweeps without Gibbs updates, which would hide half of a mistake."""

    def moves_of(self):
        moves, _ = super().moves_of()
        alone = [move for move in moves if not isinstance(move, Gibbs)]
        return alone, alone


def rows_and_labels(seed, n=90, n_columns=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, n_columns - 1))])
    return Rows.of(X, rng.integers(3, size=n), 3)


def rows_and_work(rows, sampler):
    """Category 0 against category 2, and work space."""
    on_stick = stick_rows(rows, np.array([SUCCESS, ABSENT, FAILURE], dtype=np.int8))
    return on_stick, posterior_space(sampler.size, rows.blocks.shape[1], on_stick.blocks.shape[2])


@pytest.mark.parametrize("in_single", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_the_force_is_the_gradient_of_the_density(name, in_single, seed, monkeypatch):
    monkeypatch.setattr(softplus_posterior, "IN_SINGLE", in_single)
    model, rows = MODELS[name], rows_and_labels(seed)
    sampler = model.sampler(rows)
    own = model.simulate(3, np.random.default_rng(seed))
    move = SoftplusTrajectory(sampler, Problem(rows, model).roles, 0, None)
    position = position_of(own)
    on_stick, work = rows_and_work(rows, sampler)
    rate_prior = sampler.rate_prior(own)
    at = on_stick, (sampler.ard, move.shape, rate_prior, sampler.hypers)
    gradient, nothing = np.zeros((2, len(position)))
    assert force(*at, position, gradient, work)
    # fixed rates do not move
    factors, rest = metric_of(*at, np.empty((0, len(position))), work)
    free = np.concatenate([np.ones(factors.shape[0] * factors.shape[1]), rest]) > 0
    assert free.sum() == len(position) - (own["rate"].size if rate_prior[0] == 0 else 0)
    for i in np.flatnonzero(free):
        step = 1e-5 * max(1.0, abs(position[i]))
        up, down = position.copy(), position.copy()
        up[i] += step
        down[i] -= step
        values = [log_posterior(*at, p, nothing, work) for p in (up, down)]
        expected = (values[0] - values[1]) / (2 * step)
        assert gradient[i] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_positions_and_back(seed):
    own = MODELS["rates"].simulate(3, np.random.default_rng(seed))
    position = position_of(own)
    again = {name: values.copy() for name, values in own.items()}
    take_position(position, again, True)
    for name in ("coef", "weight", "rate", "mass", "inverse_scale"):
        np.testing.assert_allclose(again[name], own[name], rtol=1e-12)


def test_digamma():
    from scipy.special import psi

    for x in (1e-8, 1e-3, 0.2, 1.0, 7.9, 8.1, 300.0, 1e12):
        assert digamma(x) == pytest.approx(psi(x), rel=1e-12)


@pytest.fixture
def learned_metric(monkeypatch):
    """Chains whose metric is that of two positions of their own, as after a warm-up."""
    right = Softplus.first_adaptation

    def with_positions(self, own):
        record = right(self, own)["adaptation"]
        rng, n = np.random.default_rng(7), len(position_of(own))
        positions = np.zeros((2, adaptation.MOST_POSITIONS, n))
        positions[0, :2] = rng.normal(size=(2, n))
        record[adaptation.HEAD :] = positions.ravel()
        record[adaptation.IN_USE] = 2
        record[[adaptation.LOG_STEP, adaptation.MEAN_LOG_STEP]] = np.log(0.5)
        return {"adaptation": record}

    monkeypatch.setattr(Softplus, "first_adaptation", with_positions)


@pytest.mark.parametrize("most_dense", [1000, 1], ids=["dense", "by vectors"])
@pytest.mark.statistical(level=1e-7)
@pytest.mark.usefixtures("learned_metric")
def test_the_posterior_is_invariant_in_a_learned_metric(most_dense, seed, level, monkeypatch):
    monkeypatch.setattr(softplus_metric, "MOST_DENSE", most_dense)
    worst = deviation(MODELS["shared"], 200, seed, fixed=True, sweeper=Alone)
    assert worst.p > level, f"{worst.what}: {worst.z:.1f} standard errors"


@pytest.mark.parametrize("name", MODELS)
def test_the_metric_is_the_curvature(name, seed):
    """The expected information, by finite differences of what is expected of the gradient."""
    model, rows = MODELS[name], rows_and_labels(seed)
    sampler, own = model.sampler(rows), model.simulate(3, np.random.default_rng(seed))
    position = position_of(own)
    on_stick, work = rows_and_work(rows, sampler)
    n_coef, n_experts = own["coef"].size, own["weight"].size
    n = n_coef + n_experts
    found, nothing = np.zeros((1, n, n)), np.zeros(n_experts)
    softplus_metric._add_information(on_stick, position, work, found, nothing)

    def log_rate_of_rows(at):
        coef = at[:n_coef].reshape(own["coef"].shape)
        given = {"coef": coef[None, None], "weight": np.exp(at[n_coef:n])[None, None]}
        log_failure = model.log_probabilities(given, rows.blocks)[1][0, 0]
        return np.log(-log_failure)

    each = np.eye(n) * 1e-6
    up, down = (np.array([log_rate_of_rows(position[:n] + s * e) for e in each]) for s in (1, -1))
    takes_part = np.zeros(up.shape[1], dtype=bool)
    takes_part[: rows.n_rows] = rows.categories != 1
    slopes = ((up - down) / 2e-6)[:, takes_part]
    rate = np.exp(log_rate_of_rows(position[:n]))[takes_part]
    expected = (slopes * (rate**2 / np.expm1(rate))) @ slopes.T
    np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-4 * expected.max())


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("fixed", [True, False], ids=["order fixed", "order sampled"])
@pytest.mark.parametrize("name", MODELS)
def test_the_posterior_is_invariant(name, fixed, seed, level):
    worst = deviation(MODELS[name], 100 if fixed else 60, seed, fixed=fixed)
    assert worst.p > level, f"{worst.what}: {worst.z:.1f} standard errors"


@pytest.mark.slow
@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("fixed", [True, False], ids=["order fixed", "order sampled"])
@pytest.mark.parametrize("name", MODELS)
def test_the_posterior_is_invariant_by_many_draws(name, fixed, seed, level):
    worst = deviation(MODELS[name], 1500 if fixed else 800, seed, fixed=fixed)
    assert worst.p > level, f"{worst.what}: {worst.z:.1f} standard errors"


@pytest.mark.statistical(level=1e-7)
def test_reverse_augmented_sticks(seed, level):
    model = MODELS["rates"]
    worst = deviation(model, 60, seed, fixed=True, direction="reverse", augmented=True)
    assert worst.p > level, f"{worst.what}: {worst.z:.1f} standard errors"


class TestMistakes:
    """The joint-distribution test finds them, far beyond its limit, so no level is needed."""

    @pytest.fixture(autouse=True)
    def long_steps(self, monkeypatch):
        monkeypatch.setattr(adaptation, "FIRST_STEP", 0.4)

    def followed(self, monkeypatch, change):
        """Put `change(follow)` in the place of `follow`."""
        monkeypatch.setattr(softplus_trajectory, "follow", change(softplus_trajectory.follow))

    def test_a_missing_jacobian(self, monkeypatch):
        """gamma_0 and c_0 as though their logs were the parameters: shapes less by one."""

        def change(right):
            def wrong(rows, prior, *rest):
                ard, shape, rate_prior, hypers = prior
                less = hypers - np.array([0.9, 0.0, 0.9, 0.0])
                return right(rows, (ard, shape, rate_prior, less), *rest)

            return wrong

        self.followed(monkeypatch, change)
        found = deviation(MODELS["ard"], 300, 1, fixed=True, sweeper=Alone)
        assert found.z > 5

    def test_a_wrong_acceptance_ratio(self, monkeypatch):
        """Every trajectory is accepted; steps are long, so that this matters."""

        def change(right):
            def wrong(rows, prior, work, metric, step, key, scratch, position):
                found = right(rows, prior, work, metric, 12 * step, key, scratch, position)
                if found[0] > 0 and not found[3]:
                    position[:] = scratch[0]
                return found

            return wrong

        self.followed(monkeypatch, change)
        found = deviation(MODELS["ard"], 300, 1, fixed=True, sweeper=Alone)
        assert found.z > 5

    def test_adaptation_that_goes_on(self, monkeypatch):
        """A metric that is taken where the chain is now."""
        right = SoftplusTrajectory._follow

        def wrong(self, own, *rest):
            adaptation.begin(own["adaptation"], position_of(own))
            return right(self, own, *rest)

        monkeypatch.setattr(SoftplusTrajectory, "_follow", wrong)
        found = deviation(MODELS["shared"], 1500, 1, fixed=True, sweeper=Alone)
        assert found.z > 5

    def test_a_mean_rate_from_the_wrong_prior(self, monkeypatch):
        from pasb.moves import mean_rate

        monkeypatch.setattr(mean_rate, "MEAN_RATE_PRIOR", (2.5, 2.0))
        assert deviation(MODELS["shared"], 150, 1, fixed=True).z > 5


def test_adaptation_ends_with_the_warm_up(seed):
    rows = rows_and_labels(seed)
    sweeper = Sweeper(Problem(rows, MODELS["rates"], fixed_order=np.array([1, 0, 2])), n_warmup=12)
    state = sweeper.start(Keys(seed, 0, 0))
    records = []
    for sweep in range(1, 18):
        sweeper.sweep(state, Keys(seed, 0, sweep))
        records.append(state.parameters["adaptation"][1].copy())
    assert all((a != b).any() for a, b in pairwise(records[:12]))
    assert all((record == records[11]).all() for record in records[12:])


def test_windows_grow_and_end_before_the_last_steps():
    ends = sorted(adaptation.window_ends(200))
    assert ends[-1] == 150
    assert np.all(np.diff(ends) > 0)
    assert adaptation.window_ends(1) == [1]
    assert adaptation.window_ends(0) == []
    gathering = adaptation.gathering_sweeps(ends)
    assert set(ends) < gathering
    # more positions in longer windows
    n_positions = [sum(a < s <= b for s in gathering) for a, b in pairwise([0, *ends])]
    assert n_positions == [2, 5, 10, adaptation.MOST_POSITIONS]


@pytest.mark.filterwarnings("ignore")
def test_a_resumed_run_has_the_same_draws(tmp_path):
    part = datasets.load("iris").partition(0)
    settings = {"n_experts": 2, "n_layers": 1, "n_chains": 1, "direction": "forward"}
    settings |= {"moves": "mixed", "n_warmup": 12, "n_draws": 6, "random_state": 2, "n_jobs": 1}
    X, y = part.X_train, part.y_train

    def fit(**more):
        return SoftplusClassifier(**settings, **more).fit(X, y)

    whole = fit()
    fit(checkpoint=tmp_path / "run", callbacks=[lambda info: info.sweep == 7])
    resumed = fit(checkpoint=tmp_path / "run")
    for name, values in whole.draws_.parameters.items():
        np.testing.assert_array_equal(values, resumed.draws_.parameters[name])
    for name, counts in whole.draws_.statistics.items():
        np.testing.assert_array_equal(counts, resumed.draws_.statistics[name])
    assert (whole.posterior_["sample_stats"]["softplus_trajectory_gradients"] > 2).all()


def test_trajectories_need_a_cpu_and_all_experts():
    X, y = np.zeros((6, 1)), np.arange(6) % 3
    with pytest.raises(ValueError, match="moves='mixed' needs"):
        SoftplusClassifier(moves="mixed", prune=True).fit(X, y)
    with pytest.raises(ValueError, match="moves must be"):
        Softplus(moves="nuts").check()
