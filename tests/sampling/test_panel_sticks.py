"""Intercepts of persons: quadrature, joint-distribution tests, new persons."""

from __future__ import annotations

import numpy as np
import pytest
from calibration import geweke
from calibration.exact_orders import deviations
from calibration.scenarios import SCENARIOS
from scipy.special import expit
from scipy.stats import kstest, norm, t

from pasb.binary.binary_model import Keys
from pasb.binary.panel_logistic import PanelLogistic, PanelSampler, intercepts, normals_of
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

SCALE = 1.0
PERSON = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
Y = np.array([0, 0, 0, 1, 1, 1, 1, 0, 1, 1])


def problem(order=(0, 1)):
    model = PanelLogistic(n_alternatives=2, precision=1.0, n_persons=3, person_scale=SCALE)
    rows = Rows.of(np.column_stack([np.ones(len(Y)), PERSON]), Y, 2)
    return Problem(rows, model, fixed_order=None if order is None else np.array(order))


def functions(b, sigma, first):
    """Bounded functions of the intercept, the deviation and the first person's intercept."""
    return np.tanh(b), sigma / (1 + sigma), np.tanh(first), np.tanh(first) * sigma / (1 + sigma)


def exact():
    """Their posterior means, by quadrature."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(40)
    u = np.linspace(0, 1, 402)[1:-1]
    sigma = u / (1 - u)
    prior = 2 * t.pdf(sigma / SCALE, 4) / (1 - u) ** 2
    b, s, z = nodes[:, None, None], sigma[None, :, None], nodes[None, None, :]
    p = expit(b + s * z)
    total, first = 1.0, None
    for person in range(3):
        taken = int(((Y == 0) & (person == PERSON)).sum())
        n = int((person == PERSON).sum())
        likelihood = p**taken * (1 - p) ** (n - taken) * mass
        if person == 0:
            first = likelihood
        else:
            total = total * likelihood.sum(axis=2, keepdims=True)
    weight = first * total * mass[:, None, None] * prior[None, :, None]
    found = functions(*np.broadcast_arrays(b, s, s * z))
    return np.array([(weight * f).sum() for f in found]) / weight.sum()


@pytest.mark.statistical(level=1e-9)
def test_posterior_is_that_of_quadrature(seed, level):
    n_batches, size, n_warmup = 40, 60, 100
    means = np.zeros((1, n_batches, 4))
    sweeper = Sweeper(problem(), n_warmup=n_warmup)
    state = sweeper.start(Keys(seed, 0, 0))
    for sweep in range(1, n_warmup + size * n_batches + 1):
        sweeper.sweep(state, Keys(seed, 0, sweep))
        if sweep > n_warmup:
            own = state.parameters
            here = functions(own["coef"][0, 0], own["deviation"][0], own["effect"][0, 0])
            means[0, (sweep - n_warmup - 1) // size] += np.array(here) / size
    assert np.abs(deviations(means, exact())).max() < 1.3 * norm.isf(level / 2 / 4)


class TwiceTheSquares(PanelSampler):
    """The sum of squares of intercepts is not halved."""

    def deviation_given(self, effect, deviation, rng):
        return super().deviation_given(effect * np.sqrt(2), deviation, rng)


class Mistaken(PanelLogistic):
    """A model with that update."""

    def sampler(self, rows):
        return TwiceTheSquares(self, rows)


@pytest.mark.statistical(level=1e-9)
def test_sweeps_leave_the_joint_distribution_as_it_is(seed, level):
    scenario = SCENARIOS["panel, fixed order"]
    settings = {"fixed": True, "table": scenario.small_table}
    assert geweke.deviation(scenario.model(), 600, seed, **settings).p > level


@pytest.mark.statistical(level=1e-9)
def test_joint_distribution_under_priors_of_columns(seed, level):
    table = SCENARIOS["panel, fixed order"].small_table
    price, time = [("normal", -0.8, 0.5)] * 3, [("t", 4.0, 0.5, 0.7), ("normal", 0.0, 1.0)]
    priors = [
        ("t", 4.0, 1.0, 1.0),
        ("normal", 0.5, 1.0),
        *price,
        *time,
        ("normal", -1.0, 0.3),
        ("normal", 0.0, 1.0),
    ]
    settings = {"n_alternatives": 3, "generic": (True, False), "n_persons": 6}
    model = PanelLogistic(priors=priors, person_scale=SCALE, **settings)
    assert geweke.deviation(model, 600, seed, fixed=True, table=table).p > level


# 12 standard errors by what 1000 draws show, with a spread of 1, where 5.6 are enough
@pytest.mark.statistical(level=1e-9)
@pytest.mark.slow
def test_a_mistake_is_found(seed):
    scenario = SCENARIOS["panel, fixed order"]
    model = Mistaken(**scenario.model().get_params())
    worst = geweke.deviation(model, 5000, seed, fixed=True, table=scenario.small_table)
    assert worst.p < geweke.LIMIT
    assert "deviation" in worst.what or "effect" in worst.what


def test_the_log_likelihood_has_the_intercepts(seed):
    sweeper = Sweeper(problem())
    state = sweeper.start(Keys(seed, 0, 0))
    sweeper.sweep(state, Keys(seed, 0, 1))
    own = state.parameters
    eta = own["coef"][0, 0] + own["effect"][0, PERSON]
    expected = -np.logaddexp(0, np.where(Y == 0, -eta, eta)).sum()
    assert state.log_likelihood == pytest.approx(expected)
    assert (own["coef"][:, -1] == 0).all()  # the number of the person is no covariate


def test_an_order_that_is_inferred_is_refused():
    with pytest.raises(ValueError, match="fixed order"):
        Sweeper(problem(order=None))


@pytest.mark.statistical(level=1e-9)
def test_unknown_persons_are_standard_normal_and_independent(seed, level):
    fresh = np.random.default_rng(seed).random(4000)
    drawn = normals_of(fresh, np.array([-1.0, -2.0, -(2.0**52)]))
    assert all(kstest(one, "norm").pvalue > level / 6 for one in drawn.T)
    r = np.corrcoef(drawn, rowvar=False)[np.triu_indices(3, 1)] * np.sqrt(len(fresh))
    assert np.abs(r).max() < norm.isf(level / 12)


def test_intercepts_of_known_and_unknown_persons(seed):
    rng = np.random.default_rng(seed)
    own = {"effect": rng.normal(size=(5, 2, 3)), "deviation": rng.random((5, 2))}
    own["fresh"] = rng.random((5, 2))
    found = intercepts(own, np.array([2.0, -7.0, 0.0, -7.0, -8.0]))
    assert (found[..., [0, 2]] == own["effect"][..., [2, 0]]).all()
    assert (found[..., 1] == found[..., 3]).all()
    assert (found[..., 1] != found[..., 4]).all()
    # a row does not depend on its neighbours
    assert (found[..., 4:] == intercepts(own, np.array([-8.0]))).all()
