"""Whitened trajectories: their gradients, their steps, and what a chain carries from one on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_expit

from pasb.binary import Logistic, Robit
from pasb.binary.binary_model import Keys
from pasb.binary.slopes import log_likelihoods, slopes
from pasb.binary.travel import STEPS, enough_steps, travel, travel_space
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import FULL_EVERY, Sweeper
from pasb.sticks import ABSENT, FAILURE, SUCCESS

ROLES = np.array([ABSENT, SUCCESS, FAILURE, FAILURE], dtype=np.int8)
MODELS = [
    Logistic(),
    Logistic(precision=0.7),
    Robit(df=3.0),
    Robit(df=np.inf, precision=0.7),
]
NAMES = ["logistic-ard", "logistic", "robit-ard", "probit"]


def data(seed, n=600, n_columns=3):
    rng = np.random.default_rng(seed)
    table = np.column_stack([np.ones(n), rng.normal(size=(n, n_columns - 1))])
    y = np.argmax(table @ rng.normal(size=(n_columns, 4)) + rng.gumbel(size=(n, 4)), axis=1)
    return table, y, rng


def work(sampler):
    return travel_space(sampler.rows)


def at(sampler, coef):
    """Slope and sums at some coefficients."""
    new_coef, slope, sums, eta, residual, _ = work(sampler)
    new_coef[: len(coef)] = coef
    regression = (sampler.regression, ROLES)
    slopes(*regression, new_coef, eta, residual, slope, sums)
    return slope, sums


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_sums_and_slopes(model, seed):
    table, y, rng = data(seed)
    sampler = model.sampler(Rows.of(table, y, 4))
    coef = rng.normal(size=3)

    def log_posterior(b):
        eta = table @ b
        if isinstance(model, Logistic):
            success, failure = log_expit(eta), log_expit(-eta)
        else:
            t = stats.norm if model.df == np.inf else stats.t(model.df)
            success, failure = t.logcdf(eta), t.logcdf(-eta)
        value = success[y == 1].sum() + failure[y > 1].sum()
        return value + sampler.prior.log_density(b)

    slope, sums = at(sampler, coef)
    assert sums.sum() + sampler.prior.log_density(coef) == pytest.approx(log_posterior(coef))
    assert sums[0] == 0.0
    for v in range(3):
        up, down = coef.copy(), coef.copy()
        up[v] += 1e-5
        down[v] -= 1e-5
        expected = (log_posterior(up) - log_posterior(down)) / 2e-5
        assert slope[v] == pytest.approx(expected, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_sums_alone_have_the_same_bits(model, seed):
    """A stick that stays where it is keeps its sums when a whole order is drawn."""
    table, y, rng = data(seed)
    sampler = model.sampler(Rows.of(table, y, 4))
    coef, _, alone, eta, *_ = work(sampler)
    coef[:3] = rng.normal(size=3)
    log_likelihoods(sampler.regression, ROLES, coef, eta, alone)
    assert (alone == at(sampler, coef[:3])[1]).all()


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_mirror_images_have_the_same_bits(model, seed):
    """Else a chain that was resumed after a mirror image would go another way."""
    table, y, rng = data(seed)
    sampler = model.sampler(Rows.of(table, y, 4))
    coef = rng.normal(size=3)
    slope, sums = at(sampler, coef)
    new_coef, mirrored, other, eta, residual, _ = work(sampler)
    new_coef[:3] = -coef
    swapped = np.where(ROLES == SUCCESS, FAILURE, np.where(ROLES == FAILURE, SUCCESS, ROLES))
    regression = (sampler.regression, swapped.astype(np.int8))
    slopes(*regression, new_coef, eta, residual, mirrored, other)
    assert (mirrored == -slope).all()
    assert (other == sums).all()


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_short_steps_keep_the_energy(model, seed):
    """The ratio that decides tends to one with the square of the step."""
    table, y, rng = data(seed)
    sampler = model.sampler(Rows.of(table, y, 4))
    gaussian = sampler.approximate(ROLES, None)
    coef = gaussian.mode + rng.normal(scale=0.2, size=3)
    slope, sums = at(sampler, coef)
    regression = (sampler.regression, gaussian.packed, ROLES)
    new_coef, new_slope, new_sums, eta, residual, vectors = work(sampler)
    gains = []
    for n_steps in (4, 40, 400):
        arguments = (new_coef, new_slope, new_sums, eta, residual, vectors)
        key = Keys(seed, 0, 0).at(0)
        gains.append(travel(*regression, n_steps, key, coef, slope, sums, arguments))
    assert abs(gains[0]) < 1.0
    assert abs(gains[1]) < abs(gains[0]) / 30 + 1e-9
    assert abs(gains[2]) < abs(gains[1]) / 30 + 1e-9
    assert not np.allclose(new_coef[:3], coef)


def test_a_good_approximation_needs_few_steps_and_a_bad_one_more(seed):
    table, y, _ = data(seed)
    sampler = Logistic(precision=1.0).sampler(Rows.of(table, y, 4))
    gaussian = sampler.approximate(ROLES, None).packed
    wrong = gaussian.copy()
    wrong[3:6] *= 3.0  # three times too wide
    good = enough_steps(sampler.regression, gaussian, ROLES, work(sampler))
    bad = enough_steps(sampler.regression, wrong, ROLES, work(sampler))
    assert good == STEPS[0]
    assert bad > good


@pytest.mark.parametrize("fixed", [False, True], ids=["inferred", "fixed"])
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_what_is_carried_from_sweep_to_sweep_follows_from_the_state(model, fixed, seed):
    """Bit for bit the same chain, when all that follows from the state is forgotten each time."""
    table, y, _ = data(seed, n=90)
    order = np.array([2, 0, 3, 1]) if fixed else None
    problem = Problem(Rows.of(table, y, 4), model, fixed_order=order)
    approximations = problem.approximations()
    sweeper = Sweeper(problem, approximations)
    state, other = (Sweeper(problem, approximations).start(Keys(seed, 0, 0)) for _ in range(2))
    sweeper.resume(state)
    moved = 0
    for sweep in range(1, FULL_EVERY + 8):
        before = state.parameters["coef"].copy()
        sweeper.sweep(state, Keys(seed, 0, sweep))
        fresh = Sweeper(problem, approximations)
        fresh.resume(other)
        fresh.sweep(other, Keys(seed, 0, sweep))
        assert (state.order == other.order).all()
        for name, values in state.parameters.items():
            used = state.order[:-1]
            assert (values[used] == other.parameters[name][used]).all()
        moved += (state.parameters["coef"] != before).any()
    assert moved > FULL_EVERY
