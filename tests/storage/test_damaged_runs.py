"""Checkpoints that were damaged, or are of something else: what is sound is used, or none of it."""

from __future__ import annotations

import random
import shutil
import warnings

import numpy as np
import pytest
from tests.storage.disturbed_runs import (
    MODELS,
    SHORT,
    X,
    Y,
    assert_same,
    classifier,
    fit,
    segments,
)

import pasb
import pasb.engines.threads
import pasb.sampling.run
from pasb.errors import CheckpointError, FileFormatError
from pasb.sampling.chain import Chain
from pasb.storage import file_format, store
from pasb.storage.checkpoint import Checkpoint

pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning"),
    pytest.mark.usefixtures("often"),
]


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


def first_chain_at_22(info):
    return info.chain == 0 and info.sweep >= 22


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
            fit(name, checkpoint=folders[name], callbacks=[first_chain_at_22])
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
