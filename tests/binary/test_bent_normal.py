"""Bent normal approximations: the transformation, its gradient, draws against their density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, norm

from pasb.binary.bent_normal import (
    bend_of,
    coefficients,
    draw_narrow,
    gaussian_log_density,
    log_rise,
    multiply,
    narrow_log_density,
    pack,
    packed_size,
    position,
    slope_of_position,
    solve,
    unpacked,
)
from pasb.binary.binary_model import Keys

BENDS = np.array([0.0, 0.3, 2.0])


def test_what_is_packed_comes_out_again():
    mode, scale, factor = np.arange(3.0), np.arange(1.0, 4), np.tril(np.ones((3, 3)))
    packed = pack(mode, scale, factor, 5.0, 6.0, BENDS)
    assert len(packed) == packed_size(3)
    assert (bend_of(packed) == BENDS).all()
    for part, expected in zip(unpacked(packed), (mode, scale, factor, 5.0, 6.0), strict=True):
        assert np.all(part == expected)
    assert not bend_of(pack(mode, scale, factor, 5.0, 6.0)).any()


def test_there_and_back(seed):
    coef = 5 * np.random.default_rng(seed).standard_normal(3)
    place, again = np.empty(3), np.empty(3)
    position(BENDS, coef, place)
    coefficients(BENDS, place, again)
    assert place[0] == coef[0]
    assert again == pytest.approx(coef, rel=1e-12)


def test_the_slope_of_a_position(seed):
    rng = np.random.default_rng(seed)
    coef, slope, place = 2 * rng.standard_normal(3), rng.standard_normal(3), np.empty(3)
    position(BENDS, coef, place)

    def log_density(u):  # of u, where that of b has the slope `slope`
        b = np.empty(3)
        coefficients(BENDS, u, b)
        return slope @ b + log_rise(BENDS, b)

    out = np.empty(3)
    slope_of_position(BENDS, coef, slope, out)
    for v, h in enumerate(1e-6 * np.eye(3)):
        difference = (log_density(place + h) - log_density(place - h)) / 2e-6
        assert out[v] == pytest.approx(difference, rel=1e-6, abs=1e-6)


@pytest.mark.statistical(level=1e-6)
def test_draws_have_the_density_they_claim(seed, level):
    packed = pack(np.array([1.2]), np.array([0.7]), np.ones((1, 1)), -2 * np.log(0.7), 0.0)
    bend_of(packed)[:] = 1.5
    for log_density in (narrow_log_density, gaussian_log_density):

        def density(u, log_density=log_density):
            b = np.sinh(1.5 * u) / 1.5
            return np.exp(log_density(packed, np.array([b]))) * np.cosh(1.5 * u)

        assert quad(density, -8, 10, limit=500)[0] == pytest.approx(1, abs=1e-5)
    draws = np.empty((4000, 1))
    for i in range(len(draws)):
        draw_narrow(packed, Keys(seed, 0, i).at(0), draws[i])
    positions = np.arcsinh(1.5 * draws[:, 0]) / 1.5
    assert kstest(positions, norm(1.2, 0.7).cdf).pvalue > level


def test_the_precision_matrix_and_its_inverse(seed):
    rng = np.random.default_rng(seed)
    scale, factor = rng.uniform(1, 2, 3), np.tril(rng.normal(size=(3, 3))) + 3 * np.eye(3)
    precision = (factor @ factor.T) / scale / scale[:, None]
    vector, out, again = rng.normal(size=3), np.empty(3), np.empty(3)
    multiply(scale, factor, vector, out)
    assert out == pytest.approx(precision @ vector)
    solve(scale, factor, out, again)
    assert again == pytest.approx(vector)
