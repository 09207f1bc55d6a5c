"""Faults of a checkpointed run: kills, full disks, dead workers and damaged files.

After each of them the same call of `fit` continues and ends with the draws of a run that was
never disturbed, bit for bit, or it stops with an error that names the folder.
"""

from __future__ import annotations

import builtins
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

import pasb
import pasb.engines.threads
import pasb.sampling.run
from pasb.errors import CheckpointError, ConvergenceWarning, FileFormatError
from pasb.sampling.chain import Chain
from pasb.storage import file_format, store, whole_file
from pasb.storage.checkpoint import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_warmup": 10, "n_draws": 20, "n_jobs": 2, "random_state": 7, "progress": False}
MODELS = {
    "logistic": ("StickLogisticClassifier", {"n_chains": 2, "n_swaps": 10}),
    "softplus": (
        "SoftplusClassifier",
        {"n_experts": 2, "n_layers": 2, "direction": "both", "n_chains": 1, "n_swaps": 10},
    ),
}


def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return rng.normal(size=(60, 2)) + 1.5 * np.eye(3)[y][:, :2], y


X, Y = data()


def classifier(name="logistic", **changes):
    class_name, settings = MODELS[name]
    return getattr(pasb, class_name)(**(SHORT | settings | changes))


def fit(name="logistic", **changes):
    return classifier(name, **changes).fit(X, Y)


@pytest.fixture(scope="module")
def whole():
    """Runs that nothing disturbed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {name: fit(name) for name in MODELS}


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint after every sweep."""
    monkeypatch.setattr(pasb.engines.threads.ThreadEngine, "slice_seconds", 0.0)
    monkeypatch.setattr(pasb.sampling.run, "CHECKPOINT_SECONDS", 0.0)


def assert_same(model, other, n=None):
    """Bit for bit, all draws or the first n."""
    a, b = model.draws_, other.draws_
    assert a.directions == b.directions
    np.testing.assert_array_equal(a.order[:, :n], b.order[:, :n])
    np.testing.assert_array_equal(a.log_likelihood[:, :n], b.log_likelihood[:, :n])
    for name, counts in a.statistics.items():
        np.testing.assert_array_equal(counts[:, :n], b.statistics[name][:, :n])
    assert a.parameters.keys() == b.parameters.keys()
    for key in a.parameters:
        np.testing.assert_array_equal(a.parameters[key][:, :n], b.parameters[key][:, :n])


def segments(folder):
    return sorted(Path(folder).glob("**/chain-*/*.pasb"))


def saved(folder, chain=0):
    """What a folder holds of a chain, read from a copy: looking must not need the folder.

    A run that was killed early may have made its folder and not yet said in it what it is.
    """
    copy = Path(folder).with_name(f"copy-of-{Path(folder).name}")
    shutil.copytree(folder, copy)
    try:
        fingerprint = Checkpoint.peek(copy)
        if fingerprint is None:
            return None
        with Checkpoint.open(copy, fingerprint) as checkpoint:
            return checkpoint.load(chain)
    finally:
        shutil.rmtree(copy)


def assert_readable(folder, whole):
    """Every draw on disk is one of the undisturbed run."""
    for chain in range(whole.draws_.n_chains):
        here = saved(folder, chain)
        if here is None or not here.draws:
            continue
        n = len(here.draws["order"])
        expected = whole.draws_.log_likelihood[chain, :n]
        np.testing.assert_array_equal(here.draws["log_likelihood"], expected)
        # a symmetric model's draws are sorted once all of them are there
        same = (here.draws["order"] == whole.draws_.order[chain, :n]).all(axis=1)
        for key, values in whole.draws_.parameters.items():
            np.testing.assert_array_equal(here.draws[key][same], values[chain, :n][same])


def named(error, *words):
    """Whether a message says what it is about."""
    for word in words:
        assert str(word) in str(error)


# ---------------------------------------------------------------- kills

RUN = """
import json, sys, warnings
import numpy as np
import pasb, pasb.engines.threads, pasb.sampling.run
warnings.simplefilter("ignore")
pasb.engines.threads.ThreadEngine.slice_seconds = 0.0
pasb.sampling.run.CHECKPOINT_SECONDS = 0.0
class_name, settings, data, folder = json.loads(sys.argv[1])
table = np.load(data)
print("go", flush=True)
getattr(pasb, class_name)(**settings, checkpoint=folder).fit(table["X"], table["Y"])
print("done", flush=True)
"""


def start(name, folder, data, **changes):
    """A process that has imported pasb and is about to fit."""
    class_name, settings = MODELS[name]
    argument = json.dumps([class_name, SHORT | settings | changes, str(data), str(folder)])
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, argument], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "go\n"
    return process


LONGER = {"n_draws": 150}  # so that most of the time goes into sweeps


def kill_many(name, tmp_path, seed, n_kills, longest=None):
    """Kill a run after random delays, again and again, and resume it after each.

    The delays last up to `longest` seconds, or up to the length of an undisturbed run. A run
    that ends before its kill is started again in another folder. Returns how many kills came
    before the first draw was on disk, and how many after.
    """
    rng = random.Random(seed)
    data = tmp_path / "data.npz"
    np.savez(data, X=X, Y=Y)
    whole = fit(name, **LONGER)
    if longest is None:
        process, begun = start(name, tmp_path / "undisturbed", data, **LONGER), time.monotonic()
        process.communicate()
        longest = time.monotonic() - begun
    folder, n_folders = tmp_path / "run-0", 0
    early = late = 0
    while early + late < n_kills:
        process = start(name, folder, data, **LONGER)
        time.sleep(rng.uniform(0, longest))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
        if "done" in out:
            assert_same(fit(name, checkpoint=folder, **LONGER), whole)
            n_folders += 1
            folder = tmp_path / f"run-{n_folders}"
            continue
        assert process.returncode == -signal.SIGKILL
        copy = tmp_path / "copy"
        if folder.exists():  # a kill may come before the folder is there
            assert_readable(folder, whole)
            shutil.copytree(folder, copy)
        draws = any(store.describe(path)["meta"]["n_draws"] for path in segments(folder))
        early, late = early + (not draws), late + draws
        assert_same(fit(name, checkpoint=copy, **LONGER), whole)
        shutil.rmtree(copy)
    assert_same(fit(name, checkpoint=folder, **LONGER), whole)
    return early, late


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


@needs_signals
@pytest.mark.parametrize(("name", "n_kills"), [("logistic", 2), ("softplus", 1)])
def test_killed_at_random_moments(name, n_kills, tmp_path, seed):
    assert sum(kill_many(name, tmp_path, seed, n_kills, longest=1.5)) == n_kills


@needs_signals
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_killed_at_fifty_random_moments(name, tmp_path, seed):
    early, late = kill_many(name, tmp_path, seed, 50)
    print(f"{name}: {early} kills before the first draw, {late} after it")
    assert late > 5  # the delays reached into the sampling


def test_killed_before_the_run_was_named(whole, tmp_path):
    """Its folder and lock are there, and nothing else."""
    folder = tmp_path / "run"
    fit(checkpoint=folder)
    for path in folder.glob("chain-*"):
        shutil.rmtree(path)
    (folder / "run.pasb").unlink()
    assert_readable(folder, whole["logistic"])
    assert_same(fit(checkpoint=folder), whole["logistic"])


DYING = """
import os, signal
import pasb, pasb.engines.threads, pasb.sampling.run
pasb.engines.threads.ThreadEngine.slice_seconds = pasb.sampling.run.CHECKPOINT_SECONDS = 0.0

def die(info):
    if info.chain == 0 and info.sweep == 25:
        os.kill(os.getpid(), signal.SIGKILL)

model.set_params(callbacks=[die]).fit(X, Y)
"""


@needs_signals
def test_a_killed_joblib_worker(whole, tmp_path):
    """The worker that fits dies; joblib says so, and the run continues from its checkpoint."""

    folder = tmp_path / "run"
    names = {"model": classifier(checkpoint=folder), "X": X, "Y": Y}
    with pytest.raises(TerminatedWorkerError):
        joblib.Parallel(n_jobs=2)([joblib.delayed(exec)(DYING, names)])
    assert_readable(folder, whole["logistic"])
    assert len(saved(folder).draws["order"]) > 5  # of chain 0
    assert_same(fit(checkpoint=folder), whole["logistic"])


@pytest.mark.parametrize("death", [MemoryError, SystemExit, RuntimeError])
def test_a_dead_worker_thread(whole, tmp_path, death):
    """The thread of one chain dies; the error comes out, and the run can be continued."""

    def die(info):
        if info.chain == 1 and info.sweep == 20:
            raise death("worker")

    with pytest.raises(death, match="worker"):
        fit(checkpoint=tmp_path / "run", callbacks=[die])
    assert_readable(tmp_path / "run", whole["logistic"])
    assert_same(fit(checkpoint=tmp_path / "run"), whole["logistic"])


# ---------------------------------------------------------------- disks


def failing_sometimes(monkeypatch, seed, number, share=0.5):
    """Let writes, syncs and renames below pasb fail at random, as on a full disk."""
    rng = random.Random(seed)

    def maybe(function):
        def call(*args, **kwargs):
            if rng.random() < share:
                raise OSError(number, os.strerror(number))
            return function(*args, **kwargs)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(whole_file.os, name, maybe(getattr(os, name)))
    opened = builtins.open

    def open_file(path, mode="r", *args, **kwargs):
        file = opened(path, mode, *args, **kwargs)
        if mode == "xb":  # a file of the store
            file = Flaky(file, maybe(file.write))
        return file

    monkeypatch.setattr(whole_file, "open", open_file, raising=False)


class Flaky:
    """A file whose writes may fail."""

    def __init__(self, file, write):
        self._file, self.write = file, write

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._file.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("name", MODELS)
def test_a_disk_that_is_full_now_and_then(name, whole, tmp_path, monkeypatch, seed, number):
    """The run continues with its draws in memory, and loses none of them on disk either."""
    folder = tmp_path / "run"
    for attempt in range(4):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            failing_sometimes(patch, seed + attempt, number, 0.1)
            try:
                model = fit(name, checkpoint=folder)
            except CheckpointError as error:  # no room for the first file
                named(error, folder)
                continue
        assert_same(model, whole[name])
        assert_readable(folder, whole[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_same(fit(name, checkpoint=folder), whole[name])


def test_a_disk_that_stays_full(whole, tmp_path, monkeypatch):
    """What was saved before stays readable; one warning tells that no more is."""
    folder = tmp_path / "run"
    fit(checkpoint=folder, callbacks=[lambda info: info.sweep >= 15])
    before = {path: path.read_bytes() for path in segments(folder)}
    with monkeypatch.context() as patch:
        failing_sometimes(patch, 0, errno.ENOSPC, 1.0)
        with pytest.warns(UserWarning, match="No space left on device") as caught:
            model = fit(checkpoint=folder)
    assert sum("could not be saved" in str(w.message) for w in caught) == 1
    assert_same(model, whole["logistic"])
    assert {path: path.read_bytes() for path in segments(folder)} == before
    assert_same(fit(checkpoint=folder), whole["logistic"])


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_no_room_for_a_new_run(tmp_path, monkeypatch, seed, share):
    folder = tmp_path / "run"
    for attempt in range(10):
        with monkeypatch.context() as patch:
            failing_sometimes(patch, seed + attempt, errno.ENOSPC, share)
            try:
                Checkpoint.open(folder, {"seed": 1}).close()
            except CheckpointError as error:
                named(error, folder, "No space left on device")
        shutil.rmtree(folder, ignore_errors=True)
    Checkpoint.open(folder, {"seed": 1}).close()


FORBIDDEN = """
import json, os, sys, warnings
import numpy as np
import pasb
from pasb.errors import CheckpointError
warnings.simplefilter("ignore")
class_name, settings, data, folder = json.loads(sys.argv[1])
table = np.load(data)
model = getattr(pasb, class_name)(**settings, checkpoint=folder)
model.set_params(checkpoint=None).fit(table["X"], table["Y"])  # all is imported and compiled
model.set_params(checkpoint=folder)
if os.getuid() == 0:
    os.setuid(65534)  # permissions do not bind the superuser
try:
    model.fit(table["X"], table["Y"])
except CheckpointError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions")
@pytest.mark.parametrize(("there", "forbidden"), [(True, "folder"), (False, "parent")])
def test_a_read_only_folder(whole, there, forbidden):
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        Path(place, "parent").mkdir()
        read_only(Path(place), whole, there, forbidden)


def read_only(place, whole, there, forbidden):
    folder, data = place / "parent" / "run", place / "data.npz"
    np.savez(data, X=X, Y=Y)
    if there:
        fit(checkpoint=folder, callbacks=[lambda info: info.sweep >= 15])
    else:
        folder.mkdir()
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    folder.parent.chmod(0o555 if forbidden == "folder" else 0o000)
    class_name, settings = MODELS["logistic"]
    argument = json.dumps([class_name, SHORT | settings, str(data), str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, argument], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Permission denied" in done.stdout
    assert str(folder) in done.stdout
    folder.parent.chmod(0o755)
    for place in places:
        place.chmod(0o755 if place.is_dir() else 0o644)
    if there:
        assert_readable(folder, whole["logistic"])
    assert_same(fit(checkpoint=folder), whole["logistic"])


# ---------------------------------------------------------------- damaged files


def cut(content, rng):
    return content[: rng.randrange(len(content))]


def flip(content, rng):
    broken = bytearray(content)
    for _ in range(rng.choice([1, 1, 3])):
        place = rng.randrange(len(broken))
        broken[place] ^= 1 << rng.randrange(8)
    return bytes(broken)


def zero(content, rng):
    """A page that the disk never wrote."""
    start = rng.randrange(len(content))
    return content[:start] + bytes(len(content[start : start + 4096])) + content[start + 4096 :]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Checkpoints of runs that were stopped on the way, in several segments."""
    folders = {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(pasb.engines.threads.ThreadEngine, "slice_seconds", 0.0)
        patch.setattr(pasb.sampling.run, "CHECKPOINT_SECONDS", 0.0)
        for name in MODELS:
            folders[name] = tmp_path_factory.mktemp(name) / "run"
            fit(name, checkpoint=folders[name], callbacks=[lambda info: info.sweep >= 22])
    return folders


def damaged_runs(name, whole, stopped, tmp_path, seed, damage, repeats):
    """Damage one random segment, and resume: no draw is wrong, and the others are kept."""
    rng = random.Random(seed)
    for repeat in range(repeats):
        folder = tmp_path / f"run-{repeat}"
        shutil.copytree(stopped[name], folder)
        victim = rng.choice(segments(folder))
        others = {path: path.read_bytes() for path in segments(folder) if path != victim}
        victim.write_bytes(damage(victim.read_bytes(), rng))
        with (
            pytest.MonkeyPatch.context() as patch,
            warnings.catch_warnings(record=True) as caught,
        ):
            # one that is written in the warm-up takes the place of another without draws
            patch.setattr(pasb.sampling.run, "CHECKPOINT_SECONDS", float("inf"))
            warnings.simplefilter("always")
            model = fit(name, checkpoint=folder)
        told = [str(w.message) for w in caught if w.category is RuntimeWarning]
        assert all("damaged" in text and str(folder) in text for text in told)
        assert_same(model, whole)
        held = {path.read_bytes() for path in folder.rglob("*.pasb*")}
        early = [path for path in others if path.parent == victim.parent and path < victim]
        assert all(others[path] in held for path in early)


@pytest.mark.parametrize("damage", [cut, flip, zero])
@pytest.mark.parametrize("name", MODELS)
def test_damage_at_random_places(name, whole, stopped, tmp_path, seed, damage):
    damaged_runs(name, whole[name], stopped, tmp_path, seed, damage, 3)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [cut, flip, zero])
@pytest.mark.parametrize("name", MODELS)
def test_damage_at_many_random_places(name, whole, stopped, tmp_path, seed, damage):
    damaged_runs(name, whole[name], stopped, tmp_path, seed, damage, 100)


@pytest.mark.parametrize("damage", [cut, zero])
def test_a_damaged_run_file(whole, stopped, tmp_path, seed, damage):
    """One of its two copies is enough; without both nothing says whose draws these are."""
    rng = random.Random(seed)
    folder = tmp_path / "run"
    shutil.copytree(stopped["logistic"], folder)
    sound = (folder / "run.pasb").read_bytes()
    before = {path: path.read_bytes() for path in segments(folder)}
    for _ in range(5):
        for copy in ("run.pasb", "run-copy.pasb"):
            (folder / copy).write_bytes(damage(sound, rng))
        with pytest.raises(CheckpointError, match="cannot be used"):
            fit(checkpoint=folder)
        assert {path: path.read_bytes() for path in segments(folder)} == before
    (folder / rng.choice(["run.pasb", "run-copy.pasb"])).write_bytes(sound)
    with pytest.warns(RuntimeWarning, match="written again from its copy"):
        assert_same(fit(checkpoint=folder), whole["logistic"])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("which", [0, 5, -2])
def test_only_what_was_damaged_is_drawn_again(name, which, whole, stopped, tmp_path, monkeypatch):
    """Segments of one draw: a damaged one costs one sweep, or the warm-up before the first."""
    folder = tmp_path / "run"
    shutil.copytree(stopped[name], folder)
    mine = [path for path in segments(folder) if path.parent.name == "chain-0000"]
    mine[which].write_bytes(b"PK" + bytes(100))
    made = []
    sweep = Chain.after_sweep
    monkeypatch.setattr(Chain, "after_sweep", lambda self: (made.append(self.index), sweep(self)))
    with pytest.warns(RuntimeWarning, match="damaged"):
        model = fit(name, checkpoint=folder)
    assert_same(model, whole[name])
    again = 11 if which == 0 else 1  # the first holds the warm-up of 10 sweeps
    n_left = SHORT["n_warmup"] + SHORT["n_draws"] - 22
    assert made.count(0) <= n_left + again + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert_same(fit(name, checkpoint=folder), whole[name])


def rewrite(path, change):
    """Change the content of a sound segment, with new checksums."""
    meta, arrays = store.read(path, "checkpoint")
    change(meta, arrays)
    store.write(path, "checkpoint", meta, arrays)


def state_missing(meta, arrays):
    del arrays["state.order"]


def order_out_of_range(meta, arrays):
    arrays["state.order"] += 1_000_000


def order_of_floats(meta, arrays):
    arrays["state.order"] = arrays["state.order"].astype(float)


def order_twice(meta, arrays):
    arrays["state.order"][:] = 0


def order_long(meta, arrays):
    arrays["state.order"] = np.arange(4)


def coefficients_short(meta, arrays):
    arrays["state.parameter_coef"] = arrays["state.parameter_coef"][..., :-1]


def coefficients_single(meta, arrays):
    arrays["state.parameter_coef"] = arrays["state.parameter_coef"].astype(np.float32)


def coefficients_missing(meta, arrays):
    del arrays["state.parameter_coef"]


def coefficients_nan(meta, arrays):
    arrays["state.parameter_coef"].flat[0] = np.nan


def coefficients_infinite(meta, arrays):
    arrays["state.parameter_coef"].flat[0] = -np.inf


def more_parameters(meta, arrays):
    arrays["state.parameter_more"] = np.zeros(3)


def tally_short(meta, arrays):
    arrays["state.tally"] = arrays["state.tally"][:1]


def guards_long(meta, arrays):
    arrays["state.guards"] = np.zeros(9, dtype=np.int64)


def draws_missing(meta, arrays):
    del arrays["draws.order"]


def draws_narrow(meta, arrays):
    arrays["draws.order"] = arrays["draws.order"][:, :2]


def draws_no_permutation(meta, arrays):
    arrays["draws.order"][:] = 7


def draws_single(meta, arrays):
    arrays["draws.log_likelihood"] = arrays["draws.log_likelihood"].astype(np.float32)


def sweep_too_large(meta, arrays):
    meta["sweep"] += 10**9


@pytest.mark.parametrize(
    "change",
    [
        *(state_missing, order_out_of_range, order_of_floats, order_twice, order_long),
        *(coefficients_short, coefficients_single, coefficients_missing, coefficients_nan),
        coefficients_infinite,
        *(more_parameters, tally_short, guards_long, draws_missing, draws_narrow),
        *(draws_no_permutation, draws_single, sweep_too_large),
    ],
    ids=lambda change: change.__name__,
)
@pytest.mark.parametrize("name", MODELS)
def test_a_sound_segment_that_is_no_state(name, stopped, tmp_path, change):
    """Right checksums around content that no run wrote: refused before any kernel sees it."""
    folder = tmp_path / "run"
    shutil.copytree(stopped[name], folder)
    for path in segments(folder):
        if path.parent.name == "chain-0000":
            rewrite(path, change)
    with pytest.raises(CheckpointError, match=str(folder)):
        fit(name, checkpoint=folder)
    assert Checkpoint.peek(folder) is not None


def test_a_checkpoint_of_another_version(stopped, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    shutil.copytree(stopped["logistic"], folder)
    monkeypatch.setattr("pasb.storage.run_file.CHECKPOINT_FORMAT", 99)
    with pytest.raises(CheckpointError, match=r"is of checkpoint format 2.*reads format 99"):
        fit(checkpoint=folder)
    monkeypatch.undo()
    monkeypatch.setattr(file_format, "FORMAT_VERSION", 0)
    with pytest.raises(CheckpointError, match="newer pasb"):
        fit(checkpoint=folder)


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_of_another_data_set(name, whole, stopped, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(stopped[name], folder)
    before = {path: path.read_bytes() for path in folder.rglob("*.pasb")}
    other = X.copy()
    other[0, 0] += 1e-9
    with pytest.raises(CheckpointError, match="belongs to another run: data"):
        classifier(name, checkpoint=folder).fit(other, Y)
    assert {path: path.read_bytes() for path in folder.rglob("*.pasb")} == before
    assert_same(fit(name, checkpoint=folder), whole[name])


def test_a_model_file_is_no_checkpoint(whole, tmp_path):
    (tmp_path / "run").mkdir()
    whole["logistic"].save(tmp_path / "run" / "run.pasb")
    with pytest.raises(CheckpointError, match="of kind 'model'"):
        fit(checkpoint=tmp_path / "run")
    Checkpoint.open(tmp_path / "other", {}).close()
    with pytest.raises(FileFormatError, match="of kind 'checkpoint-run'"):
        pasb.load(tmp_path / "other" / "run.pasb")


# ---------------------------------------------------------------- two runs, one folder


@needs_signals
def test_two_runs_in_one_folder(whole, tmp_path):
    """The second is refused, and the first comes to its end all the same."""
    np.savez(tmp_path / "data.npz", X=X, Y=Y)
    process = start("logistic", tmp_path / "run", tmp_path / "data.npz", n_draws=100_000)
    try:
        deadline = time.monotonic() + 60
        while not segments(tmp_path / "run") and time.monotonic() < deadline:
            time.sleep(0.02)
        with pytest.raises(CheckpointError, match=f"another run is using.*process {process.pid}"):
            fit(checkpoint=tmp_path / "run", n_draws=100_000)
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    assert_same(fit(checkpoint=tmp_path / "run"), whole["logistic"])
