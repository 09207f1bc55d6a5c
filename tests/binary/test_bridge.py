"""Bridges: their weights have the evidence as their mean, from either end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_expit
from scipy.stats import norm

from pasb.binary import Logistic
from pasb.binary import bridge as module
from pasb.binary.bent_normal import bend_of
from pasb.binary.bridge import bridge
from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.binary.travel import travel_space
from pasb.numerics.rows import Rows
from pasb.sticks import FAILURE, SUCCESS

ROLES = np.array([SUCCESS, FAILURE], dtype=np.int8)
N_BRIDGES = 4000


def sampler():
    """Six successes and no failure, one column: the posterior has a heavy tail."""
    y = np.array([0] * 6 + [1])
    X = np.array([[0.5], [1.0], [1.0], [1.5], [2.0], [0.7], [-0.4]])
    return Logistic(rate=2.0).sampler(Rows.of(X, y, 2)), X[:, 0] * np.where(y == 0, 1, -1)


def log_posterior(own, signed):
    def value(b):
        prior = coefficient_log_prior(np.array([b]), 1.0, own.regression[1])
        return log_expit(signed * b).sum() + prior

    return value


def evidence(value):
    return quad(lambda b: np.exp(value(b)), -20, 2000, points=[0, 5, 30], limit=1000)[0]


def weights(own, packed, effort, forward, ends, seed, go=bridge):
    """Log-weights of bridges; `effort` is steps and leaps."""
    work, coef, out = travel_space(own.rows), np.zeros(own.rows.blocks.shape[1]), []
    for i in range(N_BRIDGES):
        if not forward:
            coef[0] = ends[i]
        names = (np.int64(seed), np.int64(0), np.int64(i), np.int64(effort[1]), np.int64(0))
        how = (own.regression, packed, ROLES, effort, forward, (*names, np.int64(1)))
        out.append(go(*how, coef, work))
    return np.array(out)


def z_score(ratios):
    """How far the mean is from one, in standard errors."""
    return abs(ratios.mean() - 1) / (ratios.std(ddof=1) / np.sqrt(len(ratios)))


def approximation(own, bend):
    """One that is wide enough for weights of a finite variance."""
    packed = own.approximate(ROLES, None).packed.copy()
    bend_of(packed)[:] = bend
    packed[0] = np.arcsinh(bend * 4.0) / bend if bend else 4.0
    packed[1] = 1.0 if bend else 6.0
    packed[-2] = -2 * np.log(packed[1])
    return packed


@pytest.mark.statistical(level=2e-7)
@pytest.mark.parametrize("bend", [0.0, 0.5])
@pytest.mark.parametrize("effort", [(40, 0), (2, 5)], ids=["no leaps", "long steps"])
def test_weights_have_the_evidence_as_their_mean(bend, effort, seed, level):
    """There, w has the evidence as its mean; back from posterior draws, 1 / w has its inverse."""
    own, signed = sampler()
    value = log_posterior(own, signed)
    total, packed = evidence(value), approximation(own, bend)
    grid = np.concatenate([np.linspace(-10, 60, 200_001), np.geomspace(60, 3000, 20_001)[1:]])
    density = np.exp([value(b) for b in grid])
    mass = np.concatenate([[0], np.cumsum(np.diff(grid) * (density[1:] + density[:-1]) / 2)])
    uniforms = np.random.default_rng(seed).uniform(0, mass[-1], N_BRIDGES)
    ends = np.interp(uniforms, mass, grid)
    limit = norm.isf(level / 20)
    there = weights(own, packed, effort, True, ends, seed % 2**31)
    assert z_score(np.exp(there) / total) < limit
    if bend:  # a straight one has lighter tails than the posterior: 1 / w varies little
        back = weights(own, packed, effort, False, ends, seed % 2**31)
        assert z_score(np.exp(-back) * total) < limit


def test_leaps_that_are_always_accepted_are_found(seed, monkeypatch):
    own, signed = sampler()
    total, packed = evidence(log_posterior(own, signed)), approximation(own, 0.5)
    key = module.stream_key
    monkeypatch.setattr(module, "stream_key", lambda *names: np.uint64(key(*names)))
    monkeypatch.setattr(module, "uniform", lambda stream: (1e-300, stream))
    there = weights(own, packed, (2, 5), True, None, seed % 2**31, go=bridge.py_func)
    # 7 to 9 standard errors with 5 other seeds: adds nothing to the level
    assert z_score(np.exp(there) / total) > 4.5


def test_a_path_back_leaves_its_end_and_its_sums_as_they_are(seed):
    own, signed = sampler()
    packed = own.approximate(ROLES, None).packed
    work, coef = travel_space(own.rows), np.zeros(own.rows.blocks.shape[1])
    coef[0] = 1.3
    names = tuple(np.int64(k) for k in (seed % 2**31, 0, 0, 0, 0, 1))
    bridge(own.regression, packed, ROLES, (4, 6), False, names, coef, work)
    assert coef[0] == 1.3
    assert work[2].sum() == pytest.approx(log_expit(signed * 1.3).sum())
