"""The rows of a stick, packed together."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import stick_rows as module
from pasb.binary.stick_rows import mark_block, stick_rows
from pasb.numerics.rows import BLOCK, Rows
from pasb.sticks import ABSENT, FAILURE, SUCCESS


def table(seed, counts, n_columns=3):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    return Rows.of(rng.normal(size=(len(y), n_columns)), y, len(counts))


def as_lists(own):
    """Covariates, label and power of every row that takes part."""
    width = own.blocks.shape[2]
    signs, powers = np.zeros((2, width))
    found = []
    for b, block in enumerate(own.blocks):
        some = mark_block(own, b, signs, powers)
        assert some == (powers > 0).any()
        rows = np.flatnonzero(powers)
        found += [(*block[:3, i], signs[i], powers[i]) for i in rows]
    return np.array(found)


@pytest.mark.parametrize("counts", [(3, 2, 4), (300, 40, 500), (1, 0, 1), (256, 256, 256)])
@pytest.mark.parametrize("most", [0, 1 << 13], ids=["as they are", "packed"])
def test_every_row_with_a_role_is_there_once(counts, most, seed, monkeypatch):
    monkeypatch.setattr(module, "MOST_PACKED", most)
    rows = table(seed, counts)
    own = stick_rows(rows, np.array([FAILURE, ABSENT, SUCCESS], dtype=np.int8))
    X = rows.blocks.transpose(0, 2, 1).reshape(-1, rows.blocks.shape[1])[: rows.n_rows, :3]
    expected = np.column_stack([X, rows.categories == 2, np.ones(rows.n_rows)])
    np.testing.assert_array_equal(as_lists(own), expected[rows.categories != 1])
    assert (own.blocks is rows.blocks) == (most == 0)


def test_blocks_are_hardly_wider_than_their_rows(seed):
    rows = table(seed, (100, 200, 10))
    own = stick_rows(rows, np.array([SUCCESS, ABSENT, FAILURE], dtype=np.int8))
    assert own.blocks.shape == (1, 4, 112)
    whole = stick_rows(rows, np.array([SUCCESS, FAILURE, FAILURE], dtype=np.int8))
    assert whole.blocks.shape == (2, 4, 160)
    assert whole.blocks.shape[2] <= BLOCK


def test_no_row_at_all(seed):
    own = stick_rows(table(seed, (5, 5, 5)), np.full(3, ABSENT, dtype=np.int8))
    assert len(as_lists(own)) == 0
