from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from pasb import datasets

FOLDER = files("pasb.datasets")

MD5 = {  # of the compressed and of the uncompressed file
    "iris": ("408a926542660280cd1225047c0d4072", "bf9ee8b428c27fff503301c96024da96"),
    "wine": ("3fc02547efeee6ab6cac9f88b3fb9739", "0413c098e024dfa3c2fc92b41716689e"),
    "glass": ("975294cf874f926722b94050b9d36ae2", "2d399f9e7d133e9fb2fda4356142243c"),
    "vehicle": ("37b7f7d51e1d0e582fd09a4f512dba51", "9f565a7c6dfabcfd962c2a0664a22bfc"),
    "segment": ("80dfb98ba78d58fdc7fef1e8be0345f5", "c37907c9c3dd412f3df5ef00642c8e3d"),
    "satimage": ("dbdc986f048740e7c347952a274019a8", "a0fae98abbfbab9e2146216b08a55045"),
}
PUBLISHED = {  # covariates, and rows of each class
    "iris": (4, {"setosa": 50, "versicolor": 50, "virginica": 50}),
    "wine": (13, {"class_0": 59, "class_1": 71, "class_2": 48}),
    "glass": (9, {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29}),
    "vehicle": (18, {"bus": 218, "opel": 212, "saab": 217, "van": 199}),
    "segment": (
        19,
        dict.fromkeys(["brickface", "cement", "foliage", "grass", "path", "sky", "window"], 330),
    ),
    "satimage": (36, {"1": 1533, "2": 703, "3": 1358, "4": 626, "5": 707, "7": 1508}),
}


def read_bytes(name: str) -> bytes:
    return FOLDER.joinpath("data", f"{name}.csv.gz").read_bytes()


@pytest.mark.parametrize("name", MD5)
def test_the_files_are_the_documented_ones(name):
    packed = read_bytes(name)
    found = tuple(
        hashlib.md5(b, usedforsecurity=False).hexdigest() for b in (packed, gzip.decompress(packed))
    )
    assert found == MD5[name]
    assert MD5[name][1] in FOLDER.joinpath("README.md").read_text()


def test_the_files_are_small():
    assert sum(len(read_bytes(name)) for name in MD5) < 1_000_000


@pytest.mark.parametrize("name", PUBLISHED)
def test_shapes_and_classes_are_as_published(name):
    data = datasets.load(name)
    covariates, counts = PUBLISHED[name]
    assert data.name == name
    assert data.X.dtype == np.float64
    assert data.X.shape == (sum(counts.values()), covariates)
    assert np.isfinite(data.X).all()
    assert Counter(data.y.tolist()) == counts
    assert data.y.dtype.kind == "U"
    assert data.classes == sorted(counts) == np.unique(data.y).tolist()
    assert len(set(data.feature_names)) == covariates


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_the_values_are_those_of_scikit_learn(name):
    import sklearn.datasets

    theirs = getattr(sklearn.datasets, f"load_{name}")()
    ours = datasets.load(name)
    np.testing.assert_array_equal(ours.X, theirs.data)
    np.testing.assert_array_equal(ours.y, theirs.target_names[theirs.target])


def test_some_values_of_the_original_files():
    glass = datasets.load_glass()
    assert glass.feature_names == ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]
    assert glass.X[0].tolist() == [1.52101, 13.64, 4.49, 1.10, 71.78, 0.06, 8.75, 0.0, 0.0]
    vehicle = datasets.load_vehicle()
    assert vehicle.X[0, :4].tolist() == [95, 48, 83, 178]
    assert vehicle.y[0] == "van"
    segment = datasets.load_segment()
    assert (segment.X[:, segment.feature_names.index("region_pixel_count")] == 9).all()
    satimage = datasets.load_satimage()
    assert satimage.X[0, :4].tolist() == [92, 115, 120, 94]


def test_the_predefined_split_has_the_published_counts():
    data = datasets.load("satimage")
    train, test = [1072, 479, 961, 415, 470, 1038], [461, 224, 397, 211, 237, 470]
    for part, counts in (("train", train), ("test", test)):
        here = data.y[data.split == part]
        assert [int((here == c).sum()) for c in data.classes] == counts


def test_duplicates_are_those_of_the_original():
    def repeats(table):
        return len(table) - len(np.unique(table, axis=0))

    assert repeats(datasets.load_glass().X) == 1
    assert repeats(datasets.load_segment().X) == 224


def test_every_load_gives_fresh_writable_arrays():
    first = datasets.load("satimage")
    kept = first.X.copy()
    first.X[:] = -1.0
    first.y[:] = "x"
    first.split[:] = "test"
    first.feature_names.clear()
    again = datasets.load("satimage")
    np.testing.assert_array_equal(again.X, kept)
    assert again.classes == list("123457")
    assert (again.split == "train").sum() == 4435
    assert len(again.feature_names) == 36
