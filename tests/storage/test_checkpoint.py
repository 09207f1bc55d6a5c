"""A checkpoint folder: what it gives back, which runs it refuses, and how it is used wrongly."""

from __future__ import annotations

import os
import re
import shutil
import threading
import warnings
from dataclasses import replace
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

from pasb.errors import CheckpointError
from pasb.storage import file_format, store
from pasb.storage.checkpoint import Checkpoint, Saved
from pasb.storage.whole_file import is_temporary, temporary_name

# ---------------------------------------------------------------- round trips


def test_round_trip(tmp_path):
    folder = tmp_path / "new" / "run"
    fill(folder)
    assert names(folder) == [f"{index:08d}.pasb" for index in range(5)]  # one is warm-up
    check(quiet_load(folder), 60, 20)
    assert quiet_load(folder, 1) is None


def test_continues_where_it_ended(tmp_path):
    fill(tmp_path, segments=2)
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        check(checkpoint.load(0), 40, 10)
        checkpoint.append(0, 50, state_of(50), draws_of(10, 15))
        check(checkpoint.load(0), 50, 15)
    check(quiet_load(tmp_path), 50, 15)


def test_warmup_keeps_one_file(tmp_path):
    fill(tmp_path, segments=0, warmup=50)
    assert names(tmp_path) == ["00000000.pasb"]
    check(quiet_load(tmp_path), 500, 0)
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        checkpoint.load(0)
        checkpoint.append(0, 510, state_of(510), draws_of(0, 0))
    assert names(tmp_path) == ["00000000.pasb"]
    check(quiet_load(tmp_path), 510, 0)


def test_segments_without_draws_between_those_with(tmp_path):
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        checkpoint.append(0, 10, state_of(10), draws_of(0, 3))
        for sweep in (11, 12, 13):
            checkpoint.append(0, sweep, state_of(sweep), {})
        checkpoint.append(0, 14, state_of(14), draws_of(3, 4))
    assert len(names(tmp_path)) == 3
    check(quiet_load(tmp_path), 14, 4)


def test_threads(tmp_path):
    """Chains written at once, each by its own thread, come back whole."""
    failures = []

    def write(checkpoint, chain):
        try:
            for step in range(15):
                draws = draws_of(5 * step, 5 * step + 5)
                checkpoint.append(chain, step + 1, state_of(step + 1), draws)
        except BaseException as error:
            failures.append(error)

    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        threads = [threading.Thread(target=write, args=(checkpoint, c)) for c in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    for chain in range(6):
        check(quiet_load(tmp_path, chain), 15, 75)


# ---------------------------------------------------------------- fingerprints and folders


def test_peek(tmp_path):
    assert Checkpoint.peek(tmp_path / "none") is None
    assert Checkpoint.peek(tmp_path) is None
    with Checkpoint.open(tmp_path, FINGERPRINT | {"shape": (2, 3)}):
        assert Checkpoint.peek(tmp_path) == FINGERPRINT | {"shape": [2, 3]}


def test_another_fingerprint(tmp_path):
    Checkpoint.open(tmp_path, FINGERPRINT).close()
    other = {
        "seed": 8,
        "n_warmup": 100,
        "data_sha256": "cd" * 32,
        "model": {"kind": "logistic", "scale": 2.5},
    }
    with pytest.raises(CheckpointError) as caught:
        Checkpoint.open(tmp_path, other)
    message = str(caught.value)
    assert "seed is 7 there and 8 now" in message
    assert re.search(r"data_sha256 is 'ab\w+\.\.\. there and 'cd\w+\.\.\. now", message)
    assert "model.scale is absent there and 2.5 now" in message
    assert "n_warmup" not in message
    assert "model.kind" not in message
    assert "Use another folder, or the original data and settings" in message
    Checkpoint.open(tmp_path, FINGERPRINT).close()  # the refusal gave the lock back


def test_bad_fingerprints_touch_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"fingerprint\['x'\] is nan"):
        Checkpoint.open(tmp_path / "f", {"x": float("nan")})
    with pytest.raises(TypeError, match="fingerprint must be a dict"):
        Checkpoint.open(tmp_path / "f", [1])
    assert os.listdir(tmp_path) == []


def test_a_users_folder_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(CheckpointError, match=r"holds other files \(such as 'thesis.tex'\)"):
        Checkpoint.open(tmp_path, FINGERPRINT)
    assert os.listdir(tmp_path) == ["thesis.tex"]
    assert Checkpoint.peek(tmp_path) is None


def test_a_foreign_run_file_is_refused(tmp_path):
    store.write(tmp_path / "run.pasb", "model", {}, {})
    with pytest.raises(CheckpointError, match="of kind 'model', not 'checkpoint-run'"):
        Checkpoint.open(tmp_path, FINGERPRINT)
    assert os.listdir(tmp_path) == ["run.pasb"]


def test_a_file_in_the_place_of_the_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(CheckpointError, match="is a file; give a folder"):
        Checkpoint.open(path, FINGERPRINT)
    with pytest.raises(CheckpointError, match="is a file; give a folder"):
        Checkpoint.peek(path)
    with pytest.raises(CheckpointError, match="cannot be"):
        Checkpoint.open(path / "below", FINGERPRINT)


@pytest.mark.parametrize("victim", ["run.pasb", "run-copy.pasb"])
@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_a_damaged_run_file_is_written_again_from_the_other(tmp_path, victim, damage):
    fill(tmp_path)
    sound = (tmp_path / victim).read_bytes()
    damage(tmp_path / victim)
    assert Checkpoint.peek(tmp_path) == FINGERPRINT
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(load(tmp_path), 60, 20)
    assert [victim in str(w.message) for w in caught] == [True] * (damage is cut)
    assert (tmp_path / victim).read_bytes() == sound
    check(quiet_load(tmp_path), 60, 20)


def test_both_run_files_damaged(tmp_path):
    fill(tmp_path)
    for name in ("run.pasb", "run-copy.pasb"):
        cut(tmp_path / name)
    for call in (lambda: Checkpoint.open(tmp_path, FINGERPRINT), lambda: Checkpoint.peek(tmp_path)):
        with pytest.raises(CheckpointError, match=r"run\.pasb' is damaged.* use another folder"):
            call()


def n_draws_of(saved: Saved) -> int:
    return sum(len(piece.draws.get("order", ())) for piece in (saved, *saved.later))


def test_a_damaged_byte_costs_at_most_one_segment(tmp_path):
    """Whichever byte of whichever file it is; every thirteenth is tried."""
    fill(tmp_path / "sound", segments=3)
    files = [path for path in (tmp_path / "sound").rglob("*") if path.is_file()]
    tried = 0
    for path in files:
        content = path.read_bytes()
        for place in range(tried % 13, len(content), 13):
            folder = tmp_path / "broken"
            shutil.copytree(tmp_path / "sound", folder)
            broken = bytearray(content)
            broken[place] ^= 1 << (place % 8)
            (folder / path.relative_to(tmp_path / "sound")).write_bytes(broken)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with Checkpoint.open(folder, FINGERPRINT) as checkpoint:
                    saved = checkpoint.load(0, mends=True)
            assert saved is not None
            assert n_draws_of(saved) >= 10, (path.name, place)
            shutil.rmtree(folder)
            tried += 1
    assert tried > 400


def test_a_version_that_is_damage_is_not_a_newer_one(tmp_path):
    fill(tmp_path)
    path = segment(tmp_path, 4)
    path.write_bytes(path.read_bytes().replace(b'"format_version": 1', b'"format_version": 9'))
    with pytest.warns(RuntimeWarning, match="is damaged"):
        check(load(tmp_path), 50, 15)


class TestMending:
    def test_what_comes_after_the_gap_is_kept(self, tmp_path):
        fill(tmp_path)
        flip(segment(tmp_path, 2))
        with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
            with pytest.warns(RuntimeWarning, match="Missing, and drawn again: 5 draws"):
                saved = checkpoint.load(0, mends=True)
            check(replace(saved, later=()), 30, 5)
            (later,) = saved.later
            assert (later.sweep, later.draws_before) == (60, 10)
            np.testing.assert_array_equal(later.draws["order"], np.arange(10, 20))
            checkpoint.mend(0, saved, 40, state_of(40), draws_of(5, 10))
            checkpoint.append(0, 70, state_of(70), draws_of(20, 25))
        check(quiet_load(tmp_path), 70, 25)

    def test_the_beginning_may_be_missing(self, tmp_path):
        fill(tmp_path, warmup=0)
        segment(tmp_path, 0).unlink()
        with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
            with pytest.warns(RuntimeWarning, match="Missing, and drawn again: 5 draws"):
                saved = checkpoint.load(0, mends=True)
            assert saved.index == -1
            checkpoint.mend(0, saved, 10, state_of(10), draws_of(0, 5))
        check(quiet_load(tmp_path), 40, 20)


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_lock_that_is_a_link_is_refused(tmp_path, link):
    (tmp_path / "run").mkdir()
    (tmp_path / "diary.txt").write_text("dear diary")
    link(tmp_path / "diary.txt", tmp_path / "run" / "run.lock")
    with pytest.raises(CheckpointError, match=r"run\.lock' is a link"):
        Checkpoint.open(tmp_path / "run", FINGERPRINT)
    assert (tmp_path / "diary.txt").read_text() == "dear diary"


def test_other_versions(tmp_path, monkeypatch):
    meta = {"checkpoint_format": 99, "fingerprint": FINGERPRINT}
    store.write(tmp_path / "run.pasb", "checkpoint-run", meta, {})
    with pytest.raises(CheckpointError, match="is of checkpoint format 99, and this pasb reads"):
        Checkpoint.open(tmp_path, FINGERPRINT)
    monkeypatch.setattr(file_format, "FORMAT_VERSION", 99)
    store.write(tmp_path / "run.pasb", "checkpoint-run", meta, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="written by a newer pasb"):
        Checkpoint.open(tmp_path, FINGERPRINT)


def test_a_segment_of_a_newer_pasb_is_not_damage(tmp_path, monkeypatch):
    fill(tmp_path)
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        checkpoint.load(0)
        monkeypatch.setattr(file_format, "FORMAT_VERSION", 99)
        checkpoint.append(0, 70, state_of(70), draws_of(20, 25))
    monkeypatch.undo()
    before = names(tmp_path)
    with pytest.raises(CheckpointError, match="written by a newer pasb"):
        load(tmp_path)
    assert names(tmp_path) == before


def test_the_remains_of_a_killed_start_are_no_obstacle(tmp_path):
    (tmp_path / "run.lock").write_text("process 1 on nowhere")
    (tmp_path / temporary_name()).write_text("half")
    fill(tmp_path)
    segment(tmp_path, 0).with_name(temporary_name()).write_text("half")
    check(quiet_load(tmp_path), 60, 20)
    assert not [path for path in tmp_path.rglob("*") if is_temporary(path.name)]


# ---------------------------------------------------------------- misuse


def test_append_checks_its_arguments(tmp_path):
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        for bad in ("a.b", "a/b", "../a", "", 3):
            with pytest.raises(ValueError, match="must be identifiers"):
                checkpoint.append(0, 1, {bad: np.zeros(1)}, {})
            with pytest.raises(ValueError, match="must be identifiers"):
                checkpoint.append(0, 1, {}, {bad: np.zeros(1)})
        with pytest.raises(ValueError, match=r"equal length, not \[2, 3\]"):
            checkpoint.append(0, 1, {}, {"a": np.zeros(2), "b": np.zeros(3)})
        with pytest.raises(ValueError, match="first axis"):
            checkpoint.append(0, 1, {}, {"a": np.float64(2)})
        with pytest.raises(ValueError, match="numbered from 0"):
            checkpoint.append(-1, 1, {}, {})
        with pytest.raises(TypeError, match=r"array 'state\.x' is object"):
            checkpoint.append(0, 1, {"x": np.array([None])}, {})
        checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
        with pytest.raises(ValueError, match="sweep 9 comes before sweep 10"):
            checkpoint.append(0, 9, state_of(9), draws_of(5, 6))
        with pytest.raises(ValueError, match="differ in names, dtypes or shapes"):
            checkpoint.append(0, 11, state_of(11), {"order": np.arange(3)})
    check(quiet_load(tmp_path), 10, 5)


def test_append_before_load(tmp_path):
    fill(tmp_path)
    with (
        Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint,
        pytest.raises(CheckpointError, match="load the chain before appending"),
    ):
        checkpoint.append(0, 70, state_of(70), draws_of(20, 25))
    check(quiet_load(tmp_path), 60, 20)


def test_closed(tmp_path):
    checkpoint = Checkpoint.open(tmp_path, FINGERPRINT)
    checkpoint.close()
    checkpoint.close()
    for call in (lambda: checkpoint.load(0), lambda: checkpoint.append(0, 1, {}, {})):
        with pytest.raises(CheckpointError, match="is closed"):
            call()
