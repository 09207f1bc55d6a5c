"""The data sets of the paper, and the one that only the reproduction has."""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pasb import datasets
from reproduction import data_sets
from reproduction.paper import published

MD5 = ("202678b85415c28c52e719e65c16a642", "da2fca65b0a87565392c7c7150ccc6e5")


def checksum(some: bytes) -> str:
    return hashlib.md5(some, usedforsecurity=False).hexdigest()


def test_the_file_is_the_documented_one():
    packed = (data_sets.DATA / "dna.csv.gz").read_bytes()
    assert (checksum(packed), checksum(gzip.decompress(packed))) == MD5
    assert MD5[1] in (data_sets.DATA / "README.md").read_text()


def test_dna_is_as_published():
    dna = data_sets.load("dna")
    counts = {"ei": 767, "ie": 765, "n": 1654}
    assert dna.X.shape == (3186, 180)
    assert set(np.unique(dna.X)) == {0.0, 1.0}
    assert Counter(dna.y.tolist()) == counts
    assert dna.classes == sorted(counts)
    assert len(set(dna.feature_names)) == 180
    for part, wanted in (("train", [464, 485, 1051]), ("test", [303, 280, 603])):
        here = dna.y[dna.split == part]
        assert [int((here == c).sum()) for c in dna.classes] == wanted


def test_its_only_partition_is_the_predefined_one():
    dna = data_sets.load("dna")
    assert dna.n_partitions == 1
    part = dna.partition(scale="range")
    rows = f"{part.train.tolist()}{part.test.tolist()}"
    assert hashlib.sha256(rows.encode()).hexdigest()[:8] == "88eaed65"
    raw = dna.partition()
    seen = {row.tobytes() for row in raw.X_train}
    assert sum(row.tobytes() in seen for row in raw.X_test) == 82


def test_every_load_gives_fresh_arrays():
    first = data_sets.load("dna")
    first.X[:] = -1.0
    first.feature_names.clear()
    again = data_sets.load("dna")
    assert set(np.unique(again.X)) == {0.0, 1.0}
    assert len(again.feature_names) == 180


def test_all_sets_of_the_papers_tables_load():
    for name in published.error_rates().index:
        assert data_sets.load(name).name == name
    np.testing.assert_array_equal(
        data_sets.load("square", seed=3).X, datasets.load("square", seed=3).X
    )


def test_the_package_does_not_have_dna():
    with pytest.raises(ValueError, match="no data set 'dna'"):
        datasets.load("dna")


def test_the_package_does_not_refer_to_the_reproduction():
    source = Path(datasets.__file__).parents[1]
    for path in source.rglob("*.py"):
        text = path.read_text()
        for word in ("reproduction", "peers", "paper.md", "pasb paper", "pasb.paper"):
            assert word not in text, path
