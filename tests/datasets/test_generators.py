from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from pasb import datasets
from pasb.datasets.generators import spiral
from pasb.datasets.steady_stream import SteadyStream

MAKERS = {
    "waveform": datasets.make_waveform,
    "square": datasets.make_square,
    "square101": datasets.make_square101,
    "swiss_roll": datasets.make_swiss_roll,
}
CHECKSUMS = {  # of the sample with seed 0, covariates to six decimals
    "waveform": "5fff10ad7c3c4266",
    "square": "da616ca16a927d54",
    "square101": "65205a563a4fa6e9",
    "swiss_roll": "79b43669ba7fbcab",
}


def checksum(data: datasets.Dataset) -> str:
    digits = np.rint(data.X * 1e6).astype(np.int64)
    return hashlib.sha256(f"{digits.tolist()}{data.y.tolist()}".encode()).hexdigest()[:16]


def distance_bound(n: int, level: float) -> float:
    """A bound on sup |F_n - F| that fails with probability `level` (Massart), for every n."""
    return np.sqrt(np.log(2 / level) / (2 * n))


def distance(sample: np.ndarray, cdf) -> float:
    return stats.ks_1samp(np.ravel(sample), cdf, method="asymp").statistic


@pytest.mark.parametrize("name", MAKERS)
def test_samples_never_change(name):
    assert checksum(MAKERS[name]()) == CHECKSUMS[name]


@pytest.mark.parametrize("name", MAKERS)
def test_samples_follow_from_the_seed(name):
    first, same, other = (MAKERS[name](seed=s) for s in (5, 5, 6))
    np.testing.assert_array_equal(first.X, same.X)
    np.testing.assert_array_equal(first.y, same.y)
    assert not np.array_equal(first.X, other.X)
    assert first.y.dtype.kind == "U"
    assert first.feature_names == [f"x{j + 1}" for j in range(first.X.shape[1])]


@pytest.mark.parametrize("name", MAKERS)
def test_sizes_and_bad_arguments(name):
    for n in (1, 2, 17):
        data = MAKERS[name](n)
        assert len(data.X) == len(data.y) == n
        assert data.classes == np.unique(data.y).tolist()
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        MAKERS[name](0)
    with pytest.raises(ValueError, match="seed must be a non-negative integer, got -1"):
        MAKERS[name](seed=-1)
    with pytest.raises(TypeError):
        MAKERS[name](2.5)


def test_square_has_a_frame_and_two_rectangles():
    square = datasets.make_square(n=4200, seed=1)
    x1, x2 = square.X.T
    reach = np.abs(square.X).max(axis=1)
    frame, left, right = (square.y == c for c in "123")
    assert (frame.sum(), left.sum(), right.sum()) == (2200, 1000, 1000)
    assert ((reach[frame] >= 1.5) & (reach[frame] <= 2.0)).all()
    assert (np.abs(x2[~frame]) <= 1.3).all()
    assert ((x1[left] >= -1.3) & (x1[left] <= -0.1)).all()
    assert ((x1[right] >= 0.1) & (x1[right] <= 1.3)).all()


@pytest.mark.statistical(level=2e-7)
def test_square_fills_its_shapes_evenly(seed, level):
    square = datasets.make_square(n=21000, seed=seed)
    frame = square.X[square.y == "1"]
    corners = (np.abs(frame).min(axis=1) >= 1.5).sum()  # area 1 of 7
    upper = (frame[:, 1] > 0).sum()
    right = (frame[:, 0] > 0).sum()
    for successes, p in ((corners, 1 / 7), (upper, 0.5), (right, 0.5)):
        assert stats.binomtest(int(successes), len(frame), p).pvalue > level / 5
    inner = square.X[square.y != "1"]
    bound = distance_bound(len(inner), level / 5)
    assert distance(np.abs(inner[:, 0]), stats.uniform(0.1, 1.2).cdf) < bound
    assert distance(inner[:, 1], stats.uniform(-1.3, 2.6).cdf) < bound


def test_spiral_numbers_are_those_of_the_figure():
    numbers = spiral()
    assert sorted(numbers.ravel()) == list(range(2, 102))
    corners = {2: (0, 0), 11: (0, 9), 20: (9, 9), 29: (9, 0), 37: (1, 0), 38: (1, 1), 45: (1, 8)}
    for category, place in corners.items():
        assert numbers[place] == category
    # Each square touches the next one, and the rings are numbered from outside inward.
    places = np.array([np.argwhere(numbers == c)[0] for c in range(2, 102)])
    assert (np.abs(np.diff(places, axis=0)).sum(axis=1) == 1).all()
    ring = np.minimum(places, 9 - places).min(axis=1)
    assert (np.diff(ring) >= 0).all()
    assert np.bincount(ring).tolist() == [36, 28, 20, 12, 4]


def test_square101_labels_follow_from_the_place():
    data = datasets.make_square101()
    category = data.y.astype(int)
    assert len(data.classes) == 101
    outside = np.abs(data.X).max(axis=1) > 5
    np.testing.assert_array_equal(category == 1, outside)
    numbers = spiral()
    column, row = np.floor(data.X[~outside] + 5).astype(int).T
    np.testing.assert_array_equal(category[~outside], numbers[column, row])
    centre = data.X[category == 38].mean(axis=0)
    np.testing.assert_allclose(centre, [-3.5, -3.5], atol=0.5)


@pytest.mark.statistical(level=2e-7)
def test_square101_is_uniform(seed, level):
    data = datasets.make_square101(seed=seed)
    assert stats.binomtest(int((data.y == "1").sum()), 8000, 44 / 144).pvalue > level / 3
    bound = distance_bound(8000, level / 3)
    for x in data.X.T:
        assert distance(x, stats.uniform(-6, 12).cdf) < bound


def test_swiss_roll_lies_on_its_curves():
    roll = datasets.make_swiss_roll(noise=0.0, seed=2)
    radius = np.hypot(*roll.X.T)
    for category, factor in (("1", 1.0), ("2", 0.71)):
        t = radius[roll.y == category] / factor
        assert len(t) == 400
        assert t.min() >= 4.9
        assert t.max() <= 13.0
        curve = factor * np.column_stack([t * np.cos(t), t * np.sin(t)])
        np.testing.assert_allclose(roll.X[roll.y == category], curve, atol=1e-9)
    with pytest.raises(ValueError, match="noise must be a number >= 0"):
        datasets.make_swiss_roll(noise=-1.0)


@pytest.mark.statistical(level=2e-7)
def test_swiss_roll_noise(seed, level):
    clean, noisy = (datasets.make_swiss_roll(20000, noise=s, seed=seed) for s in (0.0, 0.3))
    np.testing.assert_array_equal(clean.y, noisy.y)
    noise = noisy.X - clean.X
    assert distance(noise, stats.norm(scale=0.3).cdf) < distance_bound(noise.size, level)


@pytest.mark.statistical(level=2e-7)
def test_waveform_moments_are_those_of_theory(seed, level):
    data = datasets.make_waveform(20000, seed=seed)
    i = np.arange(1, 22)
    # Per class: 21 means, 21 variances, and the size. The factor 4 covers the skewness of
    # the sample variances, which makes their tails up to three times the normal ones.
    alpha = level / (3 * 43 * 4)
    bound = stats.norm.isf(alpha / 2)
    for category, (a, b) in {"0": (7, 15), "1": (7, 11), "2": (11, 15)}.items():
        X = data.X[data.y == category]
        n = len(X)
        assert stats.binomtest(n, 20000, 1 / 3).pvalue > alpha
        wave_a, wave_b = (np.maximum(6.0 - np.abs(i - c), 0.0) for c in (a, b))
        mean = (wave_a + wave_b) / 2
        spread = (wave_a - wave_b) ** 2 / 12
        variance = spread + 1
        assert (np.abs(X.mean(axis=0) - mean) < bound * np.sqrt(variance / n)).all()
        # Fourth moment of uniform plus normal noise: 9/5 s^2 + 6 s + 3.
        fourth = 1.8 * spread**2 + 6 * spread + 3
        squares = ((X - mean) ** 2).mean(axis=0)
        assert (np.abs(squares - variance) < bound * np.sqrt((fourth - variance**2) / n)).all()


@pytest.mark.statistical(level=2e-7)
def test_the_stream_has_its_distributions(seed, level):
    stream = SteadyStream("a test", seed)
    bound = distance_bound(50000, level / 4)
    assert distance(stream.uniform(2.0, 5.0, 50000), stats.uniform(2, 3).cdf) < bound
    assert distance(stream.normal(50000), stats.norm.cdf) < bound
    digits = stream.integers(7, 50000)
    assert set(digits) == set(range(7))
    exact = np.arange(1, 8) / 7
    assert np.abs(np.cumsum(np.bincount(digits)) / 50000 - exact).max() < bound
    # The place of the first of 20 items after a permutation is uniform.
    places = np.array([stream.permutation(20)[0] for _ in range(20000)])
    found = np.cumsum(np.bincount(places, minlength=20)) / 20000
    assert np.abs(found - np.arange(1, 21) / 20).max() < distance_bound(20000, level / 4)


def test_the_stream_uses_only_what_numpy_guarantees():
    raw = np.random.PCG64(np.random.SeedSequence([1, 2])).random_raw(2).tolist()
    assert raw == [8271799387826207682, 7948369750201702571]
    assert (
        SteadyStream("a", 0).permutation(9).tolist() != SteadyStream("b", 0).permutation(9).tolist()
    )
