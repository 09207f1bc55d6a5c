"""Parts in files: what is read from them, and when the files go."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

from pasb.covariates.parts import Part, digest_of
from pasb.covariates.stored_part import StoredPart
from pasb.numerics.rows import blocked


@pytest.fixture(params=["float64", "float32"])
def part(request):
    rng = np.random.default_rng(0)
    blocks = blocked(rng.normal(size=(700, 3))).astype(request.param)
    bounds = np.array([0, 400, 700])
    return Part(blocks, rng.uniform(size=700), bounds, 3, np.arange(700, dtype=np.int32))


def stored_in(folder, part):
    stored = StoredPart(part)
    stored.keep_in(folder)
    return stored


def test_what_is_read_is_what_was_written(part, tmp_path):
    stored = stored_in(tmp_path, part)
    assert digest_of(stored.loaded()) == digest_of(part)
    assert stored.loaded().blocks.dtype == part.blocks.dtype
    assert stored.bounds is part.bounds
    stored.keep_in(tmp_path / "elsewhere")  # it has a file
    assert len(list(tmp_path.iterdir())) == 1


def test_a_copy_for_another_process_has_a_file_of_its_own(part, tmp_path):
    copy = pickle.loads(pickle.dumps(stored_in(tmp_path, part)))
    assert list(tmp_path.iterdir()) == []
    assert digest_of(copy.loaded()) == digest_of(part)
    copy.keep_in(tmp_path)
    assert list(tmp_path.iterdir()) == [copy.path]
    assert digest_of(copy.loaded()) == digest_of(part)


def test_the_file_goes_with_the_part(part, tmp_path):
    stored, other = stored_in(tmp_path, part), stored_in(tmp_path, part)
    assert len(list(tmp_path.iterdir())) == 2
    del stored
    assert list(tmp_path.iterdir()) == [other.path]
    other.path.unlink()
    del other  # says nothing


def test_sizes_are_those_of_the_arrays(part, tmp_path):
    small = part.bounds.nbytes + part.source.nbytes + part.weights.nbytes
    head = sys.getsizeof(part) - small - part.blocks.nbytes  # of the object itself
    assert 0 <= head < 100
    assert sys.getsizeof(StoredPart(part)) - sys.getsizeof(part) < 100
    assert sys.getsizeof(stored_in(tmp_path, part)) < small + 200
