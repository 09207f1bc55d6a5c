"""Damaged segments of a checkpoint cost the draws that were in them, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.storage.checkpoint_folders import (
    FINGERPRINT,
    check,
    cut,
    draws_of,
    fill,
    flip,
    load,
    names,
    quiet_load,
    segment,
    state_of,
)

from pasb.storage import store
from pasb.storage.checkpoint import Checkpoint


@pytest.mark.parametrize("damage", [cut, flip, lambda path: path.write_bytes(b"")])
def test_damaged_last_segment(tmp_path, damage):
    fill(tmp_path)
    damage(segment(tmp_path, 4))
    with pytest.warns(RuntimeWarning, match="Lost: an unknown number of draws") as caught:
        check(load(tmp_path), 50, 15)
    assert "00000004.pasb" in str(caught[0].message)
    assert "The chain continues after sweep 50, with 15 draws" in str(caught[0].message)
    assert "00000004.pasb.damaged" in names(tmp_path)
    check(quiet_load(tmp_path), 50, 15)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_damage_or_a_gap_in_the_middle(tmp_path, damage):
    fill(tmp_path)
    kept = segment(tmp_path, 4).read_bytes()
    damage(segment(tmp_path, 2))
    with pytest.warns(RuntimeWarning, match="Lost: 15 draws"):
        check(load(tmp_path), 30, 5)
    aside = [name for name in names(tmp_path) if name.endswith(".damaged")]
    assert aside == [
        f"0000000{index}.pasb.damaged" for index in (2, 3, 4) if damage != Path.unlink or index > 2
    ]
    assert segment(tmp_path, 4).with_name("00000004.pasb.damaged").read_bytes() == kept
    check(quiet_load(tmp_path), 30, 5)


def test_the_run_continues_after_damage(tmp_path):
    for _ in range(3):  # what is set aside never overwrites what was set aside before
        fill(tmp_path, segments=0, warmup=0)
        with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
            saved = checkpoint.load(0)
            if saved is None:
                checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
            checkpoint.append(0, 20, state_of(20), draws_of(5, 10))
        flip(segment(tmp_path, 1))
        with pytest.warns(RuntimeWarning, match="is damaged"):
            check(load(tmp_path), 10, 5)
    assert names(tmp_path) == [
        "00000000.pasb",
        "00000001.pasb.2.damaged",
        "00000001.pasb.3.damaged",
        "00000001.pasb.damaged",
    ]


def test_two_damaged_segments_count_at_least(tmp_path):
    fill(tmp_path)
    cut(segment(tmp_path, 2))
    cut(segment(tmp_path, 4))
    with pytest.warns(RuntimeWarning, match="Lost: at least 10 draws"):
        check(load(tmp_path), 30, 5)


def test_all_damaged(tmp_path):
    fill(tmp_path)
    for index in range(5):
        flip(segment(tmp_path, index))
    with pytest.warns(RuntimeWarning, match=r"and 2 more\..* continues from its beginning, with 0"):
        assert load(tmp_path) is None
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        assert checkpoint.load(0) is None
        checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
    check(quiet_load(tmp_path), 10, 5)


def test_lost_warmup_costs_no_draws(tmp_path):
    """A later segment holds the later state, and no draw is missing before it."""
    fill(tmp_path)
    flip(segment(tmp_path, 0))
    with pytest.warns(RuntimeWarning, match="Lost: no draws"):
        check(load(tmp_path), 60, 20)
    check(quiet_load(tmp_path), 60, 20)


def test_other_chains_are_untouched(tmp_path):
    fill(tmp_path, chain=0)
    fill(tmp_path, chain=1)
    cut(segment(tmp_path, 1, chain=0))
    check(quiet_load(tmp_path, 1), 60, 20)


def test_segments_of_another_run_or_chain(tmp_path):
    fill(tmp_path / "a", segments=2)
    fill(tmp_path / "a", segments=1, chain=1)
    with Checkpoint.open(tmp_path / "b", FINGERPRINT | {"seed": 8}) as checkpoint:
        checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
    for foreign in (segment(tmp_path / "b", 0), segment(tmp_path / "a", 1, chain=1)):
        segment(tmp_path / "a", 3).write_bytes(foreign.read_bytes())
        with pytest.warns(RuntimeWarning, match="belongs to another run or chain"):
            check(load(tmp_path / "a"), 40, 10)


def test_a_sound_file_with_senseless_content(tmp_path):
    fill(tmp_path, segments=1)
    meta, arrays = store.read(segment(tmp_path, 1), "checkpoint")
    after = meta | {"draws_before": 5}
    cases = [
        (after | {"sweep": "many"}, arrays, "no valid sweep"),
        (after | {"n_draws": 4}, arrays, "does not hold the draws that it claims"),
        (after, arrays | {"other.x": np.zeros(2)}, r"unknown array 'other\.x'"),
        (after | {"sweep": 1}, arrays, "sweep 1 comes before sweep 30"),
        (after, {"draws.order": np.arange(5)}, "differ in names, dtypes or shapes"),
        (after, {"draws.order": np.array(5)}, "must have the draw as the first axis"),
    ]
    for changed_meta, changed_arrays, message in cases:
        store.write(segment(tmp_path, 2), "checkpoint", changed_meta, changed_arrays)
        with pytest.warns(RuntimeWarning, match=message):
            check(load(tmp_path), 30, 5)
