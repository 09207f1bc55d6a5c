"""Parts in files: what is read from them, what travels, and when the files go."""

from __future__ import annotations

import pickle
import sys
from functools import partial

import numpy as np
import pytest

from pasb.covariates.parts import Part, digest_of
from pasb.covariates.stored_part import StoredPart
from pasb.numerics.rows import blocked

N = 700


def made(dtype="float64"):
    rng = np.random.default_rng(0)
    blocks = blocked(rng.normal(size=(N, 3))).astype(dtype)
    bounds = np.array([0, 400, N])
    return Part(blocks, rng.uniform(size=N), bounds, 3, np.arange(N, dtype=np.int32))


def never():
    raise AssertionError("there is a file")


def files(folder):
    return list(folder.glob("*.part"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_is_made_once_and_read_as_it_was_made(dtype, tmp_path):
    stored = StoredPart(partial(made, dtype), 1000)
    assert files(tmp_path) == []
    stored.loaded(tmp_path)
    stored.make = never
    again = stored.loaded(tmp_path)
    assert digest_of(again) == digest_of(made(dtype))
    assert again.blocks.dtype == dtype
    assert again.blocks.flags.writeable  # kernels are compiled for such arrays
    assert len(files(tmp_path)) == 1


def test_a_copy_on_the_same_machine_links_the_file(tmp_path):
    stored = StoredPart(made, 1000)
    stored.loaded(tmp_path)
    text = pickle.dumps(stored)
    assert len(text) < 1000
    copy = pickle.loads(text)
    copy.make = never
    assert digest_of(copy.loaded(tmp_path)) == digest_of(made())
    assert copy.path != stored.path
    assert copy.path.samefile(stored.path)
    del stored
    assert files(tmp_path) == [copy.path]
    assert digest_of(copy.loaded(tmp_path)) == digest_of(made())


def test_a_copy_elsewhere_is_made_again(tmp_path):
    stored = StoredPart(made, 1000)
    stored.loaded(tmp_path)
    copy = pickle.loads(pickle.dumps(stored))
    stored.path.unlink()
    assert digest_of(copy.loaded(tmp_path)) == digest_of(made())
    del stored  # says nothing of its file
    del copy
    assert files(tmp_path) == []


def test_sizes_that_a_cluster_is_told():
    part = made()
    arrays = part.blocks, part.bounds, part.source, part.weights
    assert 0 <= sys.getsizeof(part) - sum(one.nbytes for one in arrays) < 100
    assert 0 <= sys.getsizeof(StoredPart(made, 12345)) - 12345 < 100
