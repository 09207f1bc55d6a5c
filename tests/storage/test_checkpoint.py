"""A checkpoint folder survives what a long run meets: kills, damage, full disks, other runs."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pasb.errors import CheckpointError
from pasb.storage import file_format, store, whole_file
from pasb.storage.checkpoint import Checkpoint, Saved
from pasb.storage.whole_file import is_temporary, temporary_name

FINGERPRINT = {"seed": 7, "n_warmup": 100, "data_sha256": "ab" * 32, "model": {"kind": "logistic"}}


def draws_of(first: int, last: int) -> dict[str, np.ndarray]:
    numbers = np.arange(first, last)
    return {"beta": np.stack([numbers, -numbers], axis=1).astype(float), "order": numbers}


def state_of(sweep: int) -> dict[str, np.ndarray]:
    return {"beta": np.full(2, float(sweep)), "rng": np.array([sweep, 2**63], dtype=np.uint64)}


def fill(folder, segments: int = 4, warmup: int = 2, chain: int = 0) -> None:
    """Write warm-up and then segments of five draws each, ten sweeps apart."""
    with Checkpoint.open(folder, FINGERPRINT) as checkpoint:
        checkpoint.load(chain)
        for step in range(1, warmup + 1):
            checkpoint.append(chain, 10 * step, state_of(10 * step), draws_of(0, 0))
        for step in range(segments):
            sweep = 10 * (warmup + step + 1)
            checkpoint.append(chain, sweep, state_of(sweep), draws_of(5 * step, 5 * step + 5))


def load(folder, chain: int = 0) -> Saved | None:
    with Checkpoint.open(folder, FINGERPRINT) as checkpoint:
        return checkpoint.load(chain)


def quiet_load(folder, chain: int = 0) -> Saved | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(folder, chain)


def check(saved: Saved | None, sweep: int, n_draws: int) -> None:
    assert saved is not None
    assert saved.sweep == sweep
    for got, expected in [(saved.state, state_of(sweep)), (saved.draws, draws_of(0, n_draws))]:
        assert got.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(got[name], array, strict=True)


def names(folder, chain: int = 0) -> list[str]:
    return sorted(os.listdir(Path(folder, f"chain-{chain:04d}")))


def segment(folder, index: int, chain: int = 0) -> Path:
    return Path(folder, f"chain-{chain:04d}", f"{index:08d}.pasb")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[40] ^= 4  # inside the first array
    path.write_bytes(data)


# ---------------------------------------------------------------- round trips


def test_round_trip(tmp_path):
    folder = tmp_path / "new" / "run"
    fill(folder)
    assert names(folder) == [f"{index:08d}.pasb" for index in range(5)]  # one is warm-up
    check(quiet_load(folder), 60, 20)
    assert quiet_load(folder, 1) is None


def test_goes_on_where_it_ended(tmp_path):
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


# ---------------------------------------------------------------- damaged segments


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


# ---------------------------------------------------------------- no room


@pytest.mark.parametrize("call", ["replace", "fsync", "mkdir"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_failed_append_can_be_repeated(tmp_path, monkeypatch, call, number):
    def failing(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
        chain = 1 if call == "mkdir" else 0  # chain 1 has no folder yet
        monkeypatch.setattr(os, call, failing)
        with pytest.raises(CheckpointError, match="could not be saved at sweep 20") as caught:
            checkpoint.append(chain, 20, state_of(20), draws_of(5 - 5 * chain, 10))
        monkeypatch.undo()
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.__cause__.errno == number
        assert names(tmp_path) == ["00000000.pasb"]
        check(checkpoint.load(0), 10, 5)
        checkpoint.append(chain, 30, state_of(30), draws_of(5 - 5 * chain, 15))
    check(quiet_load(tmp_path, chain), 30, 15)


def test_an_interrupt_just_after_the_file_is_there(tmp_path, monkeypatch):
    """The caller cannot know that the draws are safe, and passes them again: none is doubled."""

    def interrupt(folder):
        raise KeyboardInterrupt

    fill(tmp_path, segments=1)
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        checkpoint.load(0)
        monkeypatch.setattr(whole_file, "sync_folder", interrupt)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.append(0, 40, state_of(40), draws_of(5, 10))
        monkeypatch.undo()
        checkpoint.append(0, 50, state_of(50), draws_of(5, 15))
    check(quiet_load(tmp_path), 50, 15)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on file sizes")
def test_no_room_for_real(tmp_path):
    """A limit on the size of files takes the place of a full disk."""
    script = (
        "import resource, sys, numpy as np\n"
        "from pasb.storage.checkpoint import Checkpoint\n"
        "from pasb.errors import CheckpointError\n"
        "with Checkpoint.open(sys.argv[1], {'seed': 1}) as checkpoint:\n"
        "    checkpoint.append(0, 1, {}, {'a': np.ones((10, 10))})\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))\n"
        "    try:\n"
        "        checkpoint.append(0, 2, {}, {'a': np.ones((1000, 10))})\n"
        "    except CheckpointError as error:\n"
        "        print(error.__cause__.errno)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\n"
        "    checkpoint.append(0, 3, {}, {'a': np.ones((1500, 10))})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(errno.EFBIG)]
    with Checkpoint.open(tmp_path, {"seed": 1}) as checkpoint:
        saved = checkpoint.load(0)
    assert (saved.sweep, saved.draws["a"].shape) == (3, (1510, 10))


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    def failing(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(CheckpointError, match=r"cannot be written: .*Read-only file system"):
        Checkpoint.open(tmp_path / "f", FINGERPRINT)
    monkeypatch.undo()
    fill(tmp_path / "f")  # the failure left neither a lock nor a half-made folder


# ---------------------------------------------------------------- the lock

HOLDER = (
    "import sys, time\n"
    "from pasb.storage.checkpoint import Checkpoint\n"
    "checkpoint = Checkpoint.open(sys.argv[1], {'seed': 7})\n"
    "print('open', flush=True)\n"
    "sys.stdin.read()\n"
    "checkpoint.close()\n"
)


@pytest.fixture
def holder(tmp_path):
    """Start another process that has the folder open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "open\n"
    yield process
    process.kill()
    process.communicate()


def test_two_runs_in_one_process(tmp_path):
    with Checkpoint.open(tmp_path, FINGERPRINT):
        with pytest.raises(CheckpointError, match=f"another run is using .*process {os.getpid()}"):
            Checkpoint.open(tmp_path, FINGERPRINT)
        # The refusal must not have released the lock of the first.
        with pytest.raises(CheckpointError, match="another run is using"):
            Checkpoint.open(tmp_path, FINGERPRINT)
    Checkpoint.open(tmp_path, FINGERPRINT).close()


def test_two_processes(tmp_path, holder):
    with pytest.raises(CheckpointError, match=f"another run is using .*process {holder.pid} on"):
        Checkpoint.open(tmp_path, {"seed": 7})
    assert Checkpoint.peek(tmp_path) == {"seed": 7}  # looking is allowed
    holder.communicate("")
    assert holder.returncode == 0
    Checkpoint.open(tmp_path, {"seed": 7}).close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_the_lock_ends_with_its_process(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    Checkpoint.open(tmp_path, {"seed": 7}).close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(tmp_path, monkeypatch, number):
    def unsupported(*args):
        raise OSError(number, os.strerror(number))

    import fcntl

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.warns(RuntimeWarning, match="cannot be locked on this file system") as caught:
        checkpoint = Checkpoint.open(tmp_path, FINGERPRINT)
    assert caught[0].filename == __file__
    checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
    checkpoint.close()


def test_the_lock_may_be_released_in_another_thread(tmp_path):
    checkpoint = Checkpoint.open(tmp_path, FINGERPRINT)
    thread = threading.Thread(target=checkpoint.close)
    thread.start()
    thread.join()
    Checkpoint.open(tmp_path, FINGERPRINT).close()


FORKING = """
import os, signal, sys, time
from pasb.storage.checkpoint import Checkpoint
checkpoint = Checkpoint.open(sys.argv[1], {"seed": 7})
child = os.fork()
if child == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
if sys.argv[2] == "closed":
    checkpoint.close()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_forked_process_does_not_keep_the_lock(tmp_path, end):
    command = [sys.executable, "-c", FORKING, str(tmp_path), end]
    child = int(subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout)
    try:
        os.kill(child, 0)  # it is alive
        Checkpoint.open(tmp_path, {"seed": 7}).close()
    finally:
        os.kill(child, signal.SIGKILL)


def test_an_exception_releases_the_lock(tmp_path):
    with pytest.raises(KeyboardInterrupt), Checkpoint.open(tmp_path, FINGERPRINT):
        raise KeyboardInterrupt
    Checkpoint.open(tmp_path, FINGERPRINT).close()
