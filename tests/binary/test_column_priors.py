"""Priors of single columns: densities, and chains that have the posterior under them."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.exact_orders import deviations, exact_order_posterior, visited_orders
from scipy.integrate import quad
from scipy.special import exp1
from scipy.stats import halfcauchy, ks_1samp, norm, t

from pasb.binary import Logistic, Robit
from pasb.binary.binary_model import Keys
from pasb.binary.coefficient_prior import coefficient_log_prior, subtract_pull
from pasb.binary.column_priors import ColumnPriors
from pasb.binary.laplace import laplace_logistic
from pasb.evidences.importance import ImportanceSampler
from pasb.evidences.prior_tails import missing_tails
from pasb.moves.mirror import Mirror
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import FAILURE, SUCCESS
from pasb.testing import check_fixed_order, check_sampled_order

SHIFTED = (("normal", 0.7, 0.8), ("t", 3.0, -1.0, 0.6))
HORSESHOE = (("t", 4.0, 0.0, 2.0), ("horseshoe", 0.7))
ROLES = np.array([SUCCESS, FAILURE], dtype=np.int8)


def test_densities_and_gradients():
    prior = ColumnPriors.of(SHIFTED)
    at = np.array([1.9, -2.2])
    expected = norm.logpdf(1.9, 0.7, 0.8) + t.logpdf(-2.2, 3, -1.0, 0.6)
    assert prior.log_density(at) == pytest.approx(expected)
    plain = tuple(prior)
    gap = coefficient_log_prior(at, 1.0, plain) - coefficient_log_prior(at / 2, 1.0, plain)
    assert gap == pytest.approx(prior.log_density(at) - prior.log_density(at / 2))
    assert coefficient_log_prior(at, 0.5, plain) == coefficient_log_prior(at / 2, 1.0, plain)
    slope, steps = np.zeros(4), 1e-6 * np.eye(2)
    subtract_pull(np.append(at, [0.0, 0.0]), plain, slope)  # padded
    numeric = [(prior.log_density(at + h) - prior.log_density(at - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(slope, [*numeric, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(-prior.pull(at, prior.precision_at(at)), numeric, rtol=1e-6)


@pytest.mark.statistical(level=1e-7)
def test_simulated_coefficients_have_their_priors(seed, level):
    model, rng = Logistic(priors=(*SHIFTED, ("horseshoe", 0.7))), np.random.default_rng(seed)
    drawn = [model.simulate(3, rng) for _ in range(20_000)]
    coef = np.array([one["coef"] for one in drawn])
    tau = np.array([one["shrinkage"][0] for one in drawn]) ** -0.5
    spread = np.array([one["precision"][2] for one in drawn]) ** -0.5
    samples = [
        (coef[:, 0], norm(0.7, 0.8)),
        (coef[:, 1], t(3, -1.0, 0.6)),
        (tau, halfcauchy(scale=0.7)),
        (spread / tau, halfcauchy()),
    ]
    for values, expected in samples:
        assert ks_1samp(values, expected.cdf).pvalue > level / len(samples)


def test_the_horseshoe_given_tau_is_that_of_the_literature():
    """Integrated over its rate: a t distribution given the rate, the rate a gamma variate."""
    w, b = 4.0, 0.3

    def integrand(root):  # r = root^2, so that nothing is singular
        given = np.exp(-0.5 * np.log(2)) / np.pi * root / (root**2 + b**2 / 2)
        return given * 2 * np.sqrt(w / np.pi) * np.exp(-w * root**2)

    square = 0.5 * w * b**2
    known = np.sqrt(w / (2 * np.pi**3)) * np.exp(square) * exp1(square)
    assert quad(integrand, 0, np.inf)[0] == pytest.approx(known, rel=1e-6)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("kind", [Logistic, pytest.param(Robit, marks=pytest.mark.slow)])
def test_shifted_priors_fixed_order(kind, seed, level):
    check_fixed_order(kind(priors=SHIFTED), seed=seed, level=level)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("moves", [pytest.param("mixed", marks=pytest.mark.slow), "gibbs"])
def test_shifted_priors_sampled_order(moves, seed, level):
    check_sampled_order(Logistic(priors=SHIFTED, moves=moves), seed=seed, level=level)


@pytest.mark.statistical(level=1e-7)
def test_horseshoe_fixed_order(seed, level):
    check_fixed_order(Logistic(priors=HORSESHOE), seed=seed, level=level)


@pytest.mark.statistical(level=1e-7)
def test_horseshoe_sampled_order(seed, level):
    check_sampled_order(Logistic(priors=HORSESHOE), seed=seed, level=level)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_orders_under_a_shifted_prior(direction, seed, level):
    counts, (location, scale) = (6, 1, 3), (1.0, 0.8)
    orders, expected = exact_order_posterior(np.array(counts), location, scale, direction)
    model = Logistic(priors=(("normal", location, scale),))
    _, frequencies = visited_orders(counts, seed, 2200, model=model, direction=direction)
    z = deviations(frequencies, expected)
    assert np.abs(z).max() < 1.3 * norm.isf(level / 2 / len(orders))
    symmetric = exact_order_posterior(np.array(counts), 0.0, scale, direction)[1]
    assert np.abs(symmetric - expected).max() > 0.1  # the location matters


def test_only_a_prior_that_knows_no_sign_has_mirror_images():
    rows = Rows.of(np.column_stack([np.ones(9), np.arange(9.0)]), np.arange(9) % 3, 3)
    for priors, mirrors in ((SHIFTED, False), ((("normal", 0.0, 1.0),) * 2, True)):
        sweeper = Sweeper(Problem(rows, Logistic(priors=priors)))
        assert any(isinstance(move, Mirror) for move in sweeper.moves) == mirrors
        state = sweeper.start(Keys(0, 0, 0))
        for sweep in range(2, 30):  # compiled sweeps
            sweeper.sweep(state, Keys(0, 0, sweep))
        assert (sweeper.tally.of("mirror_accepted") > 0) == mirrors


def test_same_prior_same_approximation():
    """A prior for each column and one for all: the same mode and evidence."""
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(30), rng.normal(size=(30, 2))]), np.arange(30) % 2
    rows = Rows.of(X, y, 2)
    one, each = Logistic(), Logistic(priors=(("t", 4.0, 0.0, 2.0),) * 3)
    found = [laplace_logistic(rows, ROLES, model.prior) for model in (one, each)]
    np.testing.assert_allclose(found[0].packed, found[1].packed, rtol=1e-9)
    tails = [missing_tails(own, m.prior) for own, m in zip(found, (one, each), strict=True)]
    assert tails[0] == pytest.approx(tails[1])


def test_the_evidence_of_a_shifted_stick():
    """Against quadrature: one column, a t prior with a location."""
    x, y = np.array([0.5, 1.0, -0.3, 2.0, 1.1]), np.array([0, 0, 1, 0, 1])
    rows = Rows.of(x[:, None], y, 2)
    model = Logistic(priors=(("t", 3.0, 1.5, 0.5),))
    signed = x * np.where(y == 0, 1, -1)

    def density(b):
        return np.exp(-np.logaddexp(0, -signed * b).sum()) * t.pdf(b, 3, 1.5, 0.5)

    exact = np.log(quad(density, -np.inf, np.inf, limit=500)[0])
    found = model.sampler(rows).approximate(ROLES, None)
    scouted = model.sampler(rows).explore(ROLES, found.packed)
    sampled, error = ImportanceSampler(model, rows, 4096).log_evidence(found, ROLES)
    assert abs(sampled - exact) < 6 * error + 1e-3
    assert found.log_evidence + missing_tails(found, model.prior) == pytest.approx(exact, abs=0.03)
    assert scouted.packed[-1] == pytest.approx(exact, abs=0.1)


@pytest.mark.parametrize(
    ("priors", "match"),
    [
        ((("cauchy", 0.0, 1.0),), r"must be \('normal', location, scale\)"),
        ((("normal", 0.0),), r"must be \('normal', location, scale\)"),
        ((("normal", 0.0, -1.0),), "scale"),
        ((("t", 0.0, 0.0, 1.0),), "degrees of freedom"),
        ((("normal", np.inf, 1.0),), "scale"),
        ((("horseshoe", 1.0), ("horseshoe", 2.0)), "share one scale"),
    ],
)
def test_impossible_priors(priors, match):
    with pytest.raises(ValueError, match=match):
        Logistic(priors=priors).check()


def test_priors_that_do_not_fit_the_columns():
    rows = Rows.of(np.ones((4, 1)), np.arange(4) % 2, 2)
    with pytest.raises(ValueError, match="each of the 1 columns"):
        Logistic(priors=SHIFTED).sampler(rows)
