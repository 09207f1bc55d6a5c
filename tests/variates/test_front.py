"""The vectorised front: shapes, seeds, and messages for arguments that make no sense."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from pasb import variates
from pasb.variates import scalar
from pasb.variates.drawing import distribution_key

CALLS = {
    "uniform": {},
    "normal": {},
    "exponential": {},
    "gamma": {"shape": 0.7, "scale": 2.0},
    "log_gamma": {"shape": 0.01},
    "polya_gamma": {"h": 1.5, "c": -1.0},
    "crt": {"m": 300, "r": 2.0},
    "poisson": {"rate": 4.0},
    "zero_truncated_poisson": {"rate": 0.5},
    "binomial": {"n": 50, "p": 0.4},
    "inverse_gaussian": {"mean": 2.0, "shape": 3.0},
    "truncated_normal": {"lower": 1.0, "upper": 3.0, "loc": 0.5, "scale": 2.0},
    "truncated_t": {"df": 5.0, "lower": -1.0, "upper": 0.5},
}
GOLDEN = {
    "uniform": 0.2662332492239897,
    "normal": -1.6975668100239296,
    "exponential": 0.2053049179247989,
    "gamma": 0.21028775720354945,
    "log_gamma": -281.68121924288255,
    "polya_gamma": 0.04149739883064814,
    "crt": 8.0,
    "poisson": 5.0,
    "zero_truncated_poisson": 1.0,
    "binomial": 14.0,
    "inverse_gaussian": 0.3675333465820547,
    "truncated_normal": 1.0441950221278018,
    "truncated_t": -0.7567582013077211,
}
COUNTS = ("crt", "poisson", "zero_truncated_poisson", "binomial")


@pytest.fixture(params=CALLS)
def distribution(request):
    return getattr(variates, request.param), CALLS[request.param]


def test_scalars_in_scalar_out(distribution):
    draw, arguments = distribution
    value = draw(**arguments, seed=3)
    assert type(value) is (int if draw.__name__ in COUNTS else float)
    assert value == draw(**arguments, size=1, seed=3)[0]


def test_draws_depend_on_the_seed_alone(distribution):
    draw, arguments = distribution
    line = draw(**arguments, size=24, seed=5)
    assert np.array_equal(line, draw(**arguments, size=24, seed=5))
    assert np.array_equal(line.reshape(4, 6), draw(**arguments, size=(4, 6), seed=5))
    assert np.array_equal(line[:7], draw(**arguments, size=7, seed=5))
    assert not np.array_equal(line, draw(**arguments, size=24, seed=6))
    filled = {name: np.full((2, 12), value) for name, value in arguments.items()}
    assert np.array_equal(line, np.ravel(draw(**filled, size=(2, 12), seed=5)))


def test_generators_and_fresh_entropy(distribution):
    draw, arguments = distribution
    first = draw(**arguments, size=50, seed=np.random.default_rng(1))
    assert np.array_equal(first, draw(**arguments, size=50, seed=np.random.default_rng(1)))
    generator = np.random.default_rng(1)
    draw(**arguments, size=50, seed=generator)
    assert not np.array_equal(first, draw(**arguments, size=50, seed=generator))
    assert not np.array_equal(draw(**arguments, size=50), draw(**arguments, size=50))


def test_empty_results(distribution):
    draw, arguments = distribution
    assert draw(**arguments, size=0, seed=1).shape == (0,)
    assert draw(**arguments, size=(3, 0), seed=1).shape == (3, 0)


def test_two_distributions_under_one_seed_are_apart():
    keys = {distribution_key(name, 7) for name in CALLS}
    assert len(keys) == len(CALLS)


def test_broadcasting():
    h = np.array([[0.5], [1.0], [2.0]])
    c = np.array([0.0, 1.0, 2.0, 3.0])
    draws = variates.polya_gamma(h, c, seed=1)
    assert draws.shape == (3, 4)
    full = variates.polya_gamma(np.broadcast_to(h, (3, 4)), np.broadcast_to(c, (3, 4)), seed=1)
    assert np.array_equal(draws, full)
    assert variates.polya_gamma(h, c, size=(2, 3, 4), seed=1).shape == (2, 3, 4)
    assert variates.polya_gamma(h[::2], c[::-1], seed=1).shape == (2, 4)
    assert variates.gamma([1.0, 2.0], [[1.0], [2.0]], seed=1).shape == (2, 2)
    assert variates.gamma(2.0, [1.0, 2.0], seed=1).shape == (2,)
    assert variates.truncated_normal(0.0, 1.0, loc=[0.0, 5.0], seed=1).shape == (2,)
    assert variates.polya_gamma(np.ones((1, 1)), 0.0, seed=1).shape == (1, 1)
    assert variates.crt(np.array([3, 4], dtype=np.uint8), 1.0, seed=1).shape == (2,)
    assert variates.crt(np.array([3.0, 4.0]), 1, seed=1).dtype == np.int64


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: variates.polya_gamma(-1.0, 0.0), ValueError, "h must be greater than zero"),
        (lambda: variates.polya_gamma(0.0, 0.0), ValueError, "h must be"),
        (lambda: variates.polya_gamma([1.0, np.nan], 0.0), ValueError, "h contains NaN"),
        (lambda: variates.polya_gamma(1.0, np.inf), ValueError, "c must be finite"),
        (lambda: variates.polya_gamma("a", 0.0), TypeError, "h must be a real number"),
        (lambda: variates.polya_gamma(1.0, None), TypeError, "c must be a real number"),
        (lambda: variates.polya_gamma(1.0, 1j), TypeError, "c must be a real number"),
        (lambda: variates.polya_gamma(1.0, 0.0, method="fast"), ValueError, "method must be"),
        (lambda: variates.polya_gamma(1e7, 0.0, method="exact"), ValueError, "at most 1e6"),
        (lambda: variates.polya_gamma([1, 2], [1, 2, 3]), ValueError, "h .2,., c .3,."),
        (lambda: variates.polya_gamma([1, 2], 1, size=3), ValueError, "size 3 does not fit"),
        (lambda: variates.normal(size=-1), ValueError, "size must not be negative"),
        (lambda: variates.normal(size=2.5), TypeError, "size must be an int"),
        (lambda: variates.normal(seed="x"), TypeError, "seed must be"),
        (lambda: variates.normal(seed=-1), ValueError, "seed must lie"),
        (lambda: variates.normal(seed=True), TypeError, "seed must be"),
        (lambda: variates.gamma(0.0), ValueError, "shape must be"),
        (lambda: variates.gamma(1.0, -1.0), ValueError, "scale must be"),
        (lambda: variates.log_gamma(-3), ValueError, "shape must be"),
        (lambda: variates.crt(-1, 1.0), ValueError, "m must be between 0"),
        (lambda: variates.crt(1.5, 1.0), ValueError, "m must be an integer"),
        (lambda: variates.crt("3", 1.0), TypeError, "m must be a count"),
        (lambda: variates.crt(3, 0.0), ValueError, "r must be"),
        (lambda: variates.poisson(-0.1), ValueError, "rate must be"),
        (lambda: variates.poisson(1e30), ValueError, "rate must be"),
        (lambda: variates.binomial(3, 1.1), ValueError, "p must be between 0 and 1"),
        (lambda: variates.binomial(np.inf, 0.5), ValueError, "n must be"),
        (lambda: variates.inverse_gaussian(1.0, np.inf), ValueError, "shape must be"),
        (lambda: variates.truncated_normal(2.0, 1.0), ValueError, "lower must not exceed"),
        (lambda: variates.truncated_normal(np.inf, np.inf), ValueError, "lower must be less"),
        (lambda: variates.truncated_normal(0, 1, scale=0), ValueError, "scale must be"),
        (lambda: variates.truncated_t(0.0, 0.0, 1.0), ValueError, "df must be"),
        (lambda: variates.truncated_t(1.0, [0.0] * 2, [1.0] * 3), ValueError, "broadcast"),
    ],
)
def test_errors_name_the_argument(call, error, words):
    with pytest.raises(error, match=words):
        call()


@njit
def senseless(key, a, b):
    """Every scalar sampler with the same two numbers for arguments."""
    stream = scalar.open_stream(key, 0)
    one, stream = scalar.gamma(stream, a)
    two, stream = scalar.log_gamma(stream, a)
    three, stream = scalar.polya_gamma(stream, a, b)
    four, stream = scalar.polya_gamma_exact(stream, a, b)
    five, stream = scalar.inverse_gaussian(stream, a, b)
    six, stream = scalar.truncated_normal(stream, a, b)
    seven, stream = scalar.truncated_t(stream, 3.0, a, b)
    eight, stream = scalar.truncated_t(stream, a, b, 0.5)
    first, stream = scalar.crt(stream, 1000, a)
    second, stream = scalar.poisson(stream, a)
    third, stream = scalar.zero_truncated_poisson(stream, a)
    fourth, stream = scalar.binomial(stream, 1000, a)
    return (one, two, three, four, five, six, seven, eight), (first, second, third, fourth)


def test_scalar_samplers_neither_hang_nor_raise():
    key = np.uint64(scalar.stream_key(1, 2, 3, 4, 5, 6))
    numbers = (np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e-300, 0.5, 700.0, 1e18, 1.7e308)
    for a in numbers:
        for b in numbers:
            values, counts = senseless(key, a, b)
            if not a > 0.0:
                assert np.isnan(values[:5]).all(), (a, b)
                assert counts[0] == -1, (a, b)
            if np.isnan(a):
                assert np.isnan(values).all(), b
                assert counts == (-1, -1, -1, -1), b
            if np.isnan(b):
                assert np.isnan(values[2:]).all(), a
            if a > 0.0 and np.isfinite(a) and np.isfinite(b):
                assert values[2] >= 0.0, (a, b)
            for value in values[5:7]:
                assert np.isnan(value) or a <= value <= b


def test_import_compiles_nothing():
    code = (
        "import pasb.variates.scalar as s\n"
        "samplers = [getattr(s, name) for name in s.__all__]\n"
        "assert all(len(f.signatures) == 0 for f in samplers)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_golden_draws():
    """Guard against accidental change of any sampler."""
    drawn = {name: float(getattr(variates, name)(**CALLS[name], seed=11)) for name in CALLS}
    assert drawn == pytest.approx(GOLDEN, rel=1e-12)
