"""The support vector model: updates against exact draws, probabilities, corners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from pasb.binary import support_vector, support_vector_stretch
from pasb.binary.binary_model import Keys
from pasb.binary.support_vector import SupportVector
from pasb.numerics.rows import Rows, blocked, unblocked
from pasb.sticks import ABSENT, FAILURE, IMPUTED, SUCCESS
from pasb.testing import (
    check_edge_cases,
    check_interface,
    check_log_probabilities,
    check_prior,
    check_reproducibility,
)

MODELS = {
    "ard": SupportVector(shape=3.0, rate=2.0),
    "shared": SupportVector(precision="shared", shape=3.0, rate=2.0),
    "spikes": SupportVector(precision=0.8, inclusion=0.5),
    "shared spikes": SupportVector(precision="shared", shape=3.0, rate=2.0, inclusion=0.4),
    "ard spikes": SupportVector(precision="ard", shape=3.0, rate=2.0, inclusion=0.6),
}
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@models
@pytest.mark.parametrize(
    "check", [check_interface, check_log_probabilities, check_reproducibility, check_edge_cases]
)
def test_conformity(model, check, seed):
    check(model, seed=seed)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("name", ["shared spikes", "ard"])
def test_prior(name, seed, level):
    check_prior(MODELS[name], seed=seed, level=level)


def small_rows():
    """Rows of three categories, of which the last is to be left out."""
    X = np.array(
        [
            [1.0, 0.9, 0.3],
            [1.0, -0.2, 1.4],
            [1.0, 0.5, -1.6],
            [1.0, -0.7, -0.9],
            [1.0, -0.4, 0.8],
            [1.0, 5.0, 5.0],
        ]
    )
    y, weights = np.array([0, 0, 1, 1, 1, 2]), np.array([0.5, 0.8, 0.3, 0.6, 0.2, 3.0])
    return Rows.of(X, y, 3, weights), np.array([SUCCESS, FAILURE, ABSENT], dtype=np.int8)


def hinge_sums(coef, rows):
    X = unblocked(rows.blocks, rows.n_rows, rows.n_columns)[:5]
    label = np.where(rows.categories[:5] == 0, 1.0, -1.0)
    return np.maximum(1 - label * (coef @ X.T), 0) @ rows.weights[:5]


def exact_draws(model, rows, n, rng):
    """Draws from the prior, each kept with its pseudo-likelihood, which is at most one."""
    shape = (n, 3)
    if model.precision == "ard":
        alpha = rng.gamma(model.shape, 1 / model.rate, shape)
    elif model.precision == "shared":
        alpha = np.repeat(rng.gamma(model.shape, 1 / model.rate, (n, 1)), 3, axis=1)
    else:
        alpha = np.full(shape, model.precision)
    coef = rng.normal(size=shape) / np.sqrt(alpha)
    if model.inclusion is not None:
        coef[:, 1:] *= rng.random((n, 2)) < model.inclusion
    kept = np.log(rng.random(n)) < -2 * hinge_sums(coef, rows)
    return coef[kept], alpha[kept]


def statistics(coef, alpha, rows):
    a, b, c = coef.T
    spread = np.tanh(np.column_stack([coef, a * b, b * c, a * c]))
    return np.column_stack(
        [spread, spread**2, coef[:, 1:] == 0, hinge_sums(coef, rows), np.log(alpha)]
    )


def deviations(model, seed):
    """Changes of means over some updates of exact draws, in standard errors; and the sampler."""
    rng = np.random.default_rng(seed)
    rows, roles = small_rows()
    before = exact_draws(model, rows, 400_000, rng)
    n = min(4000, len(before[0]))
    assert n > 1000
    before = before[0][:n], before[1][:n]
    sampler, after = model.sampler(rows), []
    for k in range(n):
        state = {"coef": np.zeros((3, 3)), "precision": np.ones((3, 3))}
        state["coef"][0], state["precision"][0] = before[0][k], before[1][k]
        for sweep in range(3):
            sampler.update(state, 0, 1, roles, Keys(seed, k, sweep))
        after.append((state["coef"][0], state["precision"][0]))
    drawn = (np.array(part) for part in zip(*after, strict=True))
    difference = statistics(*drawn, rows) - statistics(*before, rows)
    difference = difference[:, difference.std(axis=0) > 1e-12]
    assert difference.shape[1] >= 12
    return difference.mean(axis=0) / difference.std(axis=0) * np.sqrt(n), sampler


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("at_once", [256, 2])
@models
def test_update_leaves_the_pseudo_posterior_invariant(model, at_once, seed, level, monkeypatch):
    """Exact draws have the same distribution after some updates as before."""
    monkeypatch.setattr(support_vector, "AT_ONCE", at_once)
    z, sampler = deviations(model, seed)
    assert np.abs(z).max() < norm.isf(level / 2 / len(z))
    assert sampler.guards["skipped_joint_draws"] == 0
    assert 0 < sampler.counted[1] < sampler.counted[0]


@pytest.mark.parametrize("name", ["shared spikes", "ard"])
def test_a_stretch_without_the_prior_is_found(name, seed, monkeypatch):
    module, rng = support_vector_stretch, np.random.default_rng(seed)
    stretch = module.stretch_with_precisions.py_func

    def wrong(prior, coef, precision, log_factor):
        return 0.0 if abs(log_factor) < 4 else -np.inf

    monkeypatch.setattr(module, "log_prior_of_factor", wrong)
    monkeypatch.setattr(module, "open_stream", lambda *_: rng)
    monkeypatch.setattr(module, "normal", lambda _: (rng.standard_normal(), rng))
    monkeypatch.setattr(module, "uniform", lambda _: (rng.random(), rng))
    monkeypatch.setattr(support_vector, "stretch_with_precisions", stretch)
    # 13 to 24 standard errors with 4 other seeds each: adds nothing to the level
    assert np.abs(deviations(MODELS[name], seed)[0]).max() > 7


def test_pieces_meet_at_the_hinge():
    """Both pieces of the paper's probability agree at one, and are mirror images."""
    eta = np.array([1.0, -1.0, 0.3, -0.3, 2.5, -2.5, 0.0, 1e6, -1e6, 700.0])
    logs = SupportVector().log_probabilities({"coef": np.ones((1, 1, 1))}, blocked(eta[:, None]))
    success, failure = (log[0, 0, : len(eta)] for log in logs)
    inner, outer = 2 * eta, eta + np.sign(eta)
    expected = -np.logaddexp(0, -np.where(np.abs(eta) <= 1, inner, outer))
    assert success == pytest.approx(expected, rel=1e-13, abs=1e-300)
    assert failure[[0, 2, 4, 7]] == pytest.approx(success[[1, 3, 5, 8]], rel=1e-13)
    assert np.logaddexp(success, failure) == pytest.approx(np.zeros(len(eta)), abs=1e-15)
    near = np.nextafter(1.0, 2)
    both = SupportVector().log_probabilities(
        {"coef": np.ones((1, 1, 1))}, blocked(np.array([[1.0], [near]]))
    )
    assert both[0][0, 0, 0] == pytest.approx(both[0][0, 0, 1], rel=1e-15)


def test_columns_that_are_out_cost_nothing_and_change_nothing():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 9))
    coef = rng.normal(size=(2, 3, 9)) * (rng.random((2, 3, 9)) < 0.5)
    success, _ = SupportVector().log_probabilities({"coef": coef}, blocked(X))
    eta = coef @ X.T
    odds = eta + np.clip(eta, -1, 1)
    assert success[..., :300] == pytest.approx(-np.logaddexp(0, -odds), rel=1e-12)
    alone, _ = SupportVector().log_probabilities({"coef": coef}, blocked(X[37:38]))
    assert np.array_equal(alone[..., 0], success[..., 37])


@pytest.mark.parametrize("inclusion", [None, 0.5])
def test_huge_values_stay_finite(inclusion):
    X = np.array([[1.0, 1e6], [1.0, -1e6], [1.0, 1e6], [1.0, 0.0]])
    rows = Rows.of(X, np.array([0, 1, 1, 0]), 2)
    sampler = SupportVector(inclusion=inclusion).sampler(rows)
    state = sampler.start(Keys(1, 0, 0))
    state["coef"][:, 1] = 1.0
    sums = np.zeros((2, 2, 2))
    for sweep in range(200):
        for roles in ([SUCCESS, FAILURE], [IMPUTED, SUCCESS]):
            sampler.update(state, 0, 0, np.array(roles, dtype=np.int8), Keys(1, 0, sweep))
        sampler.log_sums(state, *sums)
        assert all(np.isfinite(values).all() for values in state.values())
        assert np.isfinite(sums).all()


def test_rows_on_the_hinge_are_counted_and_harmless():
    """1/w has no mean there; what is cut off is counted."""
    X = np.ones((50, 1))
    sampler = SupportVector(precision=1.0).sampler(Rows.of(X, np.zeros(50, dtype=np.int64), 2))
    state = {"coef": np.ones((2, 1)), "precision": np.ones((2, 1))}
    for sweep in range(50):
        state["coef"][0] = 1.0
        sampler.update(state, 0, 0, np.array([SUCCESS, ABSENT], dtype=np.int8), Keys(2, 0, sweep))
        assert np.isfinite(state["coef"]).all()
    guards = {"bounded_precisions", "cut_latents", "qr_fallbacks", "skipped_joint_draws"}
    assert set(sampler.guards) == guards


# no level: over 40 other tables those that matter are always in, with means of 3 to 6 (spread 0.6);
# of the others 0.10 are, with a spread of 0.08 for one table
def test_spikes_find_the_columns_that_matter(seed):
    others = []
    for table in range(4):
        rng = np.random.default_rng([seed, table])
        X = np.column_stack([np.ones(400), rng.normal(size=(400, 12))])
        y = (X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=400) < 0).astype(np.int64)
        model = SupportVector(precision="shared", shape=0.5, rate=0.5, inclusion=0.2)
        sampler = model.sampler(Rows.of(X, y, 2))
        state = sampler.start(Keys(seed, table, 0))
        roles, draws = np.array([SUCCESS, FAILURE], dtype=np.int8), []
        for sweep in range(300):
            sampler.update(state, 0, 0, roles, Keys(seed, table, sweep))
            draws.append(state["coef"][0].copy())
        share_in = (np.array(draws[100:]) != 0).mean(axis=0)
        assert share_in[:3].min() > 0.99
        others.append(share_in[3:].mean())
        mean = np.mean(draws[100:], axis=0)
        assert mean[1] > 0.5
        assert mean[2] < -0.5
    assert np.mean(others) < 0.5


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ({"precision": "other"}, "precision"),
        ({"precision": 0.0}, "precision"),
        ({"shape": -1.0}, "shape"),
        ({"rate": np.inf}, "rate"),
        ({"inclusion": 1.0}, "inclusion"),
        ({"inclusion": 0}, "inclusion"),
    ],
)
def test_impossible_settings_are_named(setting, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        SupportVector(**setting).check()
