"""Latents of softplus rows against the hierarchy of the paper; frozen and heavy rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pasb.binary.binary_model import Keys
from pasb.binary.softplus_heavy import draw_with_heavy_rows
from pasb.binary.softplus_kernels import draw_latents, get_flags, put_flags
from pasb.binary.softplus_rows import FROZEN, draw_active, draw_row_weight, log_expm1
from pasb.numerics.gaussian import draw_by_qr
from pasb.numerics.rows import BLOCK, blocked
from pasb.sticks import FAILURE, IMPUTED, SUCCESS
from pasb.variates.scalar import open_stream


@pytest.mark.parametrize("n_experts", [1, 8, 9, 17])
def test_flags_of_experts(n_experts, seed):
    """Eight experts share a byte; what was there before is overwritten."""
    rng = np.random.default_rng(seed)
    active = rng.integers(2, size=(n_experts, BLOCK)).astype(np.int8)
    flags = rng.integers(256, size=(-(-n_experts // 8), BLOCK)).astype(np.uint8)
    for i in range(BLOCK):
        put_flags(active[:, i].copy(), flags[:, i])
    for k in range(n_experts):
        found = np.full(BLOCK, -1, dtype=np.int8)
        get_flags(flags[k // 8], k, found)
        assert (found == active[k]).all()


@njit
def latents_of_block(psi, log_q, weight, labels, row, key, active, latents):
    """All experts of a block: `psi` and `log_q` are (experts, layers, BLOCK)."""
    n_experts, n_layers, _ = psi.shape
    log_weight = np.log(weight)
    rate, left = np.empty(n_experts), np.empty(n_experts)
    for i in range(BLOCK):
        active[:, i] = 0
        if labels[i] != FAILURE:
            log_rate = log_weight + log_q[:, n_layers - 1, i]
            stream = open_stream(key, row + i)
            draw_active(log_rate, rate, left, labels[i] == IMPUTED, stream, active[:, i])
    for k in range(n_experts):
        own = psi[k], log_q[k], np.exp(log_q[k]), log_weight[k], weight[k]
        draw_latents(*own, labels, active[k], k, row, key, latents[k, 0], latents[k, 1:])


def latents_of(psi, weight, label, n_blocks, seed):
    """Many independent draws of the latents of one row; psi is (experts, layers)."""
    n_experts, n_layers = psi.shape
    log_q = np.zeros((n_experts, n_layers))
    for t in range(n_layers):
        log_q[:, t] = np.log(np.log1p(np.exp(psi[:, t] + (log_q[:, t - 1] if t else 0.0))))
    full = np.repeat(psi[:, :, None], BLOCK, axis=2)
    full_q = np.repeat(log_q[:, :, None], BLOCK, axis=2)
    labels = np.full(BLOCK, label, dtype=np.int8)
    out = []
    for b in range(n_blocks):
        active = np.zeros((n_experts, BLOCK), dtype=np.int8)
        latents = np.zeros((n_experts, n_layers, BLOCK))
        key = Keys(seed, 0, 0).at(0)
        latents_of_block(full, full_q, weight, labels, b * BLOCK, key, active, latents)
        out.append((active, latents[:, 0], latents))
    return tuple(np.concatenate(part, axis=-1) for part in zip(*out, strict=True))


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("label", [FAILURE, SUCCESS, IMPUTED])
def test_latents_have_the_distribution_of_the_hierarchy(label, seed, level):
    """Against the paper's gammas and Poisson processes, simulated and sorted by label."""
    rng = np.random.default_rng(seed)
    psi, weight = np.array([[0.5, 0.3, -0.4], [-0.7, 0.8, 0.6]]), np.array([0.8, 0.4])
    n = 400_000
    theta = np.empty((2, 3, n))
    shape = np.broadcast_to(weight[:, None], (2, n))
    for t in (2, 1, 0):
        theta[:, t] = shape = rng.gamma(shape) * np.exp(psi[:, t, None])
    count = rng.poisson(theta[:, 0])
    # the first of m uniform arrivals
    arrival = np.where(count > 0, rng.beta(1.0, np.maximum(count, 1)), 1.0)
    success = count.sum(axis=0) > 0
    rate = weight @ np.log1p(
        np.exp(psi[:, 2]) * np.log1p(np.exp(psi[:, 1]) * np.log1p(np.exp(psi[:, 0])))
    )
    z = (success.mean() + np.expm1(-rate)) / np.sqrt(0.25 / n)
    assert abs(z) < stats.norm.isf(level / 40)
    wanted = {FAILURE: ~success, SUCCESS: success, IMPUTED: np.full(n, True)}[label]
    active, exposure, drawn = latents_of(psi, weight, label, 800, seed)
    pairs = []
    for k in range(2):
        on = count[k, wanted] > 0
        pairs.append((on, active[k]))
        for t in (1, 2):
            # bounded and away from point masses; joint with being active
            theirs, ours = theta[k, t, wanted], drawn[k, t]
            pairs.append((theirs / (1 + theirs), ours / (1 + ours)))
            pairs.append((on * theirs / (1 + theirs), active[k] * ours / (1 + ours)))
        pairs.append((arrival[k, wanted], np.exp(exposure[k])))
        pairs.append(
            (
                arrival[k, wanted] / (1 + theta[k, 1, wanted]),
                np.exp(exposure[k]) / (1 + drawn[k, 1]),
            )
        )
    both = (count[:, wanted] > 0).all(axis=0)
    pairs.append((both, active.all(axis=0)))
    for theirs, ours in pairs:
        variance = np.var(theirs) / len(theirs) + np.var(ours) / len(ours)
        difference = abs(np.mean(theirs) - np.mean(ours))
        assert difference <= stats.norm.isf(level / 40) * np.sqrt(variance)


def test_latents_of_hopeless_rows_are_finite():
    """Successes where every rate underflows, or where theta is cut off."""
    labels = np.full(BLOCK, SUCCESS, dtype=np.int8)
    for value in (-1e4, -400.0, 40.0, 1e4):
        psi = np.full((2, 3, BLOCK), value)
        log_q = np.zeros((2, 3, BLOCK))
        for t in range(3):
            x = psi[:, t] + (log_q[:, t - 1] if t else 0.0)
            log_q[:, t] = x if value < 0 else np.log(np.logaddexp(0.0, x))
        active = np.zeros((2, BLOCK), dtype=np.int8)
        latents = np.ones((2, 3, BLOCK))
        weight = np.array([1e-300, 0.1])
        latents_of_block(psi, log_q, weight, labels, 0, np.uint64(7), active, latents)
        exposure, theta = latents[:, 0], latents[:, 1:]
        assert (active.sum(axis=0) >= 1).all()
        assert np.isfinite(exposure).all()
        assert np.isfinite(theta).all()
        assert (theta > 0).all()


def test_log_expm1_in_full_precision():
    v = np.concatenate([np.geomspace(1e-300, 700, 400), [0.999, 1.0, 1.001]])
    ours = np.array([log_expm1(math.log(x), x) for x in v])
    exact = [float(np.log(np.expm1(np.longdouble(x)))) for x in v]
    assert ours == pytest.approx(exact, rel=1e-14, abs=2e-15)


@pytest.mark.parametrize("shape", [1e20, 1e60])
def test_frozen_rows_go_where_they_would(shape):
    """A huge theta turns a positive predictor round, and leaves a negative one where it is."""

    @njit
    def drawn(c):
        return draw_row_weight(shape, 0.0, c, open_stream(np.uint64(5), 0))

    for c, step in ((40.0, -80.0), (-40.0, 0.0)):
        weight, share, frozen = drawn(c)
        assert frozen
        assert weight == FROZEN
        assert share / weight == pytest.approx(step, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("heaviest", [1e7, 1e12])
def test_heavy_rows_give_the_draw_of_a_full_qr(heaviest, seed):
    rng = np.random.default_rng(seed)
    blocks, n = blocked(np.column_stack([np.ones(300), rng.normal(size=(300, 4))])), 5
    weights, linear_weights = np.zeros(2 * BLOCK), np.zeros(2 * BLOCK)
    weights[:300], linear_weights[:300] = rng.random(300), rng.normal(size=300)
    weights[[3, 280]] = heaviest, 1e7
    linear_weights[5] = 1e9  # steep, and heavy by that
    used, alpha, centre = np.ones(2, dtype=np.bool_), rng.random(n), rng.normal(size=n)
    full, ours, key = np.empty(n), np.empty(n), np.uint64(seed | 1)
    draw_by_qr(blocks, weights, linear_weights, alpha, centre, key, np.empty(n), full)
    work = np.empty((8, BLOCK)), np.empty((8, 8)), np.empty(n), np.empty((n, n))
    found = weights, linear_weights, used, alpha, centre
    draw_with_heavy_rows(blocks, *found, key, *work, ours)
    assert ours == pytest.approx(full, rel=1e-6, abs=1e-8)
