from __future__ import annotations

import hashlib

import numpy as np
import pytest

from pasb import datasets
from pasb.datasets.partitions import scale_to_range

SIZES = {  # partitions, training rows, test rows
    "square": (10, 294, 126),
    "iris": (5, 120, 30),
    "wine": (5, 142, 36),
    "glass": (10, 171, 43),
    "vehicle": (10, 592, 254),
    "waveform": (10, 500, 4500),
    "segment": (10, 231, 2079),
    "satimage": (1, 4435, 2000),
    "square101": (1, 8000, 0),
    "swiss_roll": (1, 800, 0),
}
CHECKSUMS: dict[str, str] = {
    "square": "fe479f7a fa3dd912 503ad86f fd4b2172 6b672ffb "
    "cc144ef1 d180c028 cdf15ab1 7758d111 38765bd7",
    "iris": "d80c088c 1399a7fa f7d6016a 98b73b25 39d10f7b",
    "wine": "cebd8ff4 119a96ad cde7b4a6 b35e62ae 0a4d056d",
    "glass": "b608b4bb 6a2de0ac 2e88514e fbb329a8 3427df19 "
    "fbdb4dfe e8fa34ee 1d21f97f 906268fd 21b11719",
    "vehicle": "10279998 c4eacb54 f0ce5c62 06866b23 e7d8ec05 "
    "d5cf1d9b 9490e56e e25b9c50 95b82c27 1d4e6dd5",
    "waveform": "decf7ec5 0ed11451 e9e758d7 e0141243 eabc7440 "
    "4a6b6907 6741b686 fed12978 54327a2b f379184e",
    "segment": "12971d1a 5c3e51c1 3a786516 753fc688 5fb1bac7 "
    "5ff80232 3a387789 d8e89200 636bbe18 777c8264",
    "satimage": "344643da",
    "square101": "96063542",
    "swiss_roll": "c52bb582",
}


def checksum(part: datasets.Partition) -> str:
    rows = f"{part.train.tolist()}{part.test.tolist()}"
    return hashlib.sha256(rows.encode()).hexdigest()[:8]


def test_all_sets_are_covered():
    assert set(SIZES) == set(CHECKSUMS) == set(datasets.names())


@pytest.mark.parametrize("name", SIZES)
def test_partitions_have_the_sizes_of_the_paper(name):
    data = datasets.load(name)
    number_of, train, test = SIZES[name]
    assert data.n_partitions == number_of
    for number in range(number_of):
        part = data.partition(number)
        assert (part.train.size, part.test.size) == (train, test)
        together = np.concatenate([part.train, part.test])
        np.testing.assert_array_equal(np.sort(together), np.arange(len(data.y)))
        assert (np.diff(part.train) > 0).all()
        assert (np.diff(part.test) > 0).all()
        assert set(part.y_train) == set(data.classes)
        np.testing.assert_array_equal(part.X_train, data.X[part.train])
        np.testing.assert_array_equal(part.X_test, data.X[part.test])
        np.testing.assert_array_equal(part.y_train, data.y[part.train])
        np.testing.assert_array_equal(part.y_test, data.y[part.test])


@pytest.mark.parametrize("name", SIZES)
def test_partitions_never_change(name):
    data = datasets.load(name)
    found = [checksum(data.partition(number)) for number in range(data.n_partitions)]
    assert " ".join(found) == CHECKSUMS[name]
    assert len(set(found)) == len(found)


def test_partitions_do_not_depend_on_the_seed_of_the_sample():
    one, two = (datasets.load("square", seed=s).partition(4) for s in (0, 1))
    np.testing.assert_array_equal(one.train, two.train)
    assert not np.array_equal(one.X_train, two.X_train)


def test_another_sample_size_keeps_the_proportion():
    part = datasets.make_square(n=1000).partition(3)
    assert (part.train.size, part.test.size) == (700, 300)


@pytest.mark.parametrize("name", SIZES)
def test_an_impossible_number_says_which_exist(name):
    data = datasets.load(name)
    last = data.n_partitions - 1
    expected = "there is only number 0" if last == 0 else f"there are numbers 0 to {last}"
    for number in (-1, last + 1):
        with pytest.raises(
            ValueError, match=f"{name} has no partition number {number}: {expected}"
        ):
            data.partition(number)
    with pytest.raises(TypeError):
        data.partition(0.5)


@pytest.mark.parametrize("name", SIZES)
def test_range_scaling_uses_the_training_rows(name):
    data = datasets.load(name)
    raw, scaled = data.partition(), data.partition(scale="range")
    np.testing.assert_array_equal(raw.train, scaled.train)
    low, high = raw.X_train.min(axis=0), raw.X_train.max(axis=0)
    varies = high > low
    assert (scaled.X_train.min(axis=0)[varies] == -1).all()
    assert (scaled.X_train.max(axis=0)[varies] == 1).all()
    assert (scaled.X_train[:, ~varies] == 0).all()
    assert (scaled.X_test[:, ~varies] == 0).all()
    back = (scaled.X_test + 1) / 2 * (high - low) + low
    np.testing.assert_allclose(back[:, varies], raw.X_test[:, varies], atol=1e-9)
    assert varies.sum() == data.X.shape[1] - (name == "segment")


def test_range_scaling_leaves_test_rows_outside_and_drops_constants():
    train, test = scale_to_range(np.array([[0.0, 5.0], [4.0, 5.0]]), np.array([[6.0, 7.0]]))
    assert train.tolist() == [[-1, 0], [1, 0]]
    assert test.tolist() == [[2, 0]]


def test_unknown_scaling():
    with pytest.raises(ValueError, match="scale must be None or 'range', got 'standard'"):
        datasets.load_iris().partition(scale="standard")


def test_the_arrays_of_a_partition_are_copies():
    for name in ("iris", "satimage", "swiss_roll"):
        data = datasets.load(name)
        part = data.partition()
        assert not np.shares_memory(part.X_train, data.X)
        assert not np.shares_memory(part.y_train, data.y)
