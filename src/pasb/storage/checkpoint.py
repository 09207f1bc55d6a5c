"""A folder that a run writes while it samples, and from which it can continue.

The folder holds

- ``run.pasb``: what the run is, its *fingerprint*;
- ``run.lock``: held while a run uses the folder;
- ``chain-0002/00000042.pasb``: one *segment* (`pasb.storage.segments`), the state of a chain
  after some sweep and the draws kept since the segment before it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from pasb.errors import CheckpointError, FileFormatError, NewerFormatError
from pasb.storage import store
from pasb.storage.file_format import brief
from pasb.storage.folder_lock import LOCK_FILE, lock_folder
from pasb.storage.plain_json import as_json
from pasb.storage.segments import (
    SavedProgress,
    Segment,
    check_names,
    free_name,
    joined_draws,
    lost_draws,
    number_of_draws,
    read_segment,
    segment_name,
    segments_in,
    write_segment,
)
from pasb.storage.whole_file import is_temporary, sync_folder

CHECKPOINT_FORMAT = 2  # 2: the state holds the statistics of all moves
MOST_DIFFERENCES = 8  # that a message lists

_RUN = "run.pasb"
_RUN_KIND = "checkpoint-run"
_CHAIN_NAME = re.compile(r"chain-[0-9]{4,}")


@dataclass(frozen=True)
class Saved:
    """What a chain has on disk: its last state, and all draws up to it."""

    sweep: int
    state: dict[str, np.ndarray]
    draws: dict[str, np.ndarray]


class Checkpoint:
    """The checkpoint folder of one run; see `Checkpoint.open`.

    Different chains may call `load` and `append` from different threads at once.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Checkpoint.open(folder.name, {"seed": 7}) as checkpoint:
    ...     assert checkpoint.load(0) is None
    ...     checkpoint.append(0, 10, {"beta": np.zeros(2)}, {"beta": np.ones((5, 2))})
    >>> Checkpoint.peek(folder.name)
    {'seed': 7}
    >>> with Checkpoint.open(folder.name, {"seed": 7}) as checkpoint:
    ...     saved = checkpoint.load(0)
    >>> saved.sweep, saved.draws["beta"].shape
    (10, (5, 2))
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path, run: str, lock: FileLock) -> None:
        self.folder = folder
        self._run = run
        self._lock: FileLock | None = lock
        self._progress: dict[int, SavedProgress] = {}

    @classmethod
    def open(cls, folder: str | os.PathLike[str], fingerprint: Mapping[str, Any]) -> Checkpoint:
        """Create a checkpoint folder, or open the one that is there.

        Parameters
        ----------
        folder : path-like
            The folder; it and its parents are created where they are missing.
        fingerprint : dict
            What identifies the run, in values that JSON can hold: its data, settings and seed.

        Raises
        ------
        CheckpointError
            If the folder belongs to another run, is in use, holds other files, cannot be
            written, or is of another checkpoint format.
        """
        given = as_json(fingerprint, "fingerprint")
        if not isinstance(given, dict):
            raise TypeError(f"fingerprint must be a dict, not {fingerprint!r}")
        folder = Path(folder)
        cls.peek(folder)  # refuses a folder that is not ours before anything is written to it
        _refuse_other_files(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
            lock = lock_folder(folder)
        except OSError as error:
            raise CheckpointError(_unwritable(folder, error)) from error
        try:
            _remove_leftovers(folder)
            stored = cls.peek(folder)
            if stored is None:
                stored = given
                meta = {"checkpoint_format": CHECKPOINT_FORMAT, "fingerprint": given}
                store.write(folder / _RUN, _RUN_KIND, meta, {})
            elif stored != given:
                raise CheckpointError(_other_run(folder, stored, given))
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise CheckpointError(_unwritable(folder, error)) from error
            raise
        canonical = json.dumps(stored, sort_keys=True).encode("ascii")
        return cls(folder, hashlib.sha256(canonical).hexdigest(), lock)

    @staticmethod
    def peek(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
        """Return the fingerprint of the run in a folder, or None if no run is there."""
        folder = Path(folder)
        if os.path.exists(folder) and not os.path.isdir(folder):  # pathlib's raise if forbidden
            raise CheckpointError(f"the checkpoint folder '{folder}' is a file; give a folder")
        try:
            meta, _ = store.read(folder / _RUN, _RUN_KIND)
            written_by = store.describe(folder / _RUN)["version"][:40]
        except FileNotFoundError:
            return None
        except FileFormatError as error:
            raise CheckpointError(
                f"the checkpoint in '{folder}' cannot be used: {error}, or use another folder"
            ) from error
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint in '{folder}' cannot be read: {error}"
            ) from error
        if meta.get("checkpoint_format") != CHECKPOINT_FORMAT:
            raise CheckpointError(
                f"the checkpoint in '{folder}' is of checkpoint format "
                f"{brief(meta.get('checkpoint_format'))}, and this pasb reads format "
                f"{CHECKPOINT_FORMAT}: use pasb {written_by}, which wrote it, or another folder"
            )
        if not isinstance(meta.get("fingerprint"), dict):
            raise CheckpointError(
                f"the checkpoint in '{folder}' does not say which run it belongs to; "
                "use another folder"
            )
        return meta["fingerprint"]

    def load(self, chain: int) -> Saved | None:
        """Return what a chain has on disk, or None if it has nothing.

        Segments that are damaged, and those that would leave a hole in the draws, are
        renamed to end in ``.damaged``, with a warning that counts the lost draws.
        """
        self._check_open()
        progress = SavedProgress()
        kept: list[Segment] = []
        refused: list[tuple[Path, str, int | None]] = []
        for path in self._segments(chain):
            end = None
            try:
                segment = read_segment(path, chain, self._run)
                end = segment.draws_before + segment.n_draws
                progress = progress.after(int(path.stem), segment)
                kept.append(segment)
            except NewerFormatError as error:
                raise CheckpointError(f"chain {chain} cannot continue: {error}") from error
            except ValueError as error:  # FileFormatError is one
                refused.append((path, str(error), end))
            except OSError as error:
                raise CheckpointError(f"'{path}' cannot be read: {error}") from error
        if refused:
            self._set_aside(chain, refused, progress)
        self._progress[chain] = progress
        if not kept:
            return None
        return Saved(progress.sweep, kept[-1].state, joined_draws(kept))

    def append(
        self,
        chain: int,
        sweep: int,
        state: Mapping[str, np.ndarray],
        draws: Mapping[str, np.ndarray],
    ) -> None:
        """Write the state of a chain, and the draws since its last successful `append`.

        Parameters
        ----------
        chain : int
            The number of the chain, from 0.
        sweep : int
            The number of sweeps done.
        state : dict of str to ndarray
            All that the chain needs to continue. The names are identifiers.
        draws : dict of str to ndarray
            The draw is the first axis; it may have length 0. A segment without draws takes
            the place of one without draws before it.

        Raises
        ------
        CheckpointError
            If the segment cannot be written, for instance because the disk is full. What is on disk
            stays as it was, and the next call may pass the same draws again.
        """
        self._check_open()
        progress = self._known_progress(chain)
        check_names(state)
        check_names(draws)
        n_draws = number_of_draws(draws)
        arrays = {name: np.asarray(array) for name, array in draws.items()}
        segment = Segment(int(sweep), progress.n_draws, n_draws, dict(state), arrays)
        replaces = progress.ends_empty and n_draws == 0
        index = progress.index if replaces else progress.index + 1
        try:
            following = progress.after(index, segment)
        except ValueError as error:
            raise ValueError(f"chain {chain} cannot append a segment: {error}") from None
        path = self._chain_folder(chain) / segment_name(index)
        try:
            if not path.parent.is_dir():
                path.parent.mkdir()
                sync_folder(self.folder)
            write_segment(path, chain, self._run, segment)
        except OSError as error:
            raise CheckpointError(
                f"chain {chain} could not be saved at sweep {sweep} to '{path}': {error}; what "
                "was saved before is untouched: make room or make the folder writable"
            ) from error
        self._progress[chain] = following

    def close(self) -> None:
        """Let other runs use the folder; closing twice does no harm."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._lock is None:
            raise CheckpointError(f"the checkpoint in '{self.folder}' is closed; open it again")

    def _chain_folder(self, chain: int) -> Path:
        if chain < 0:
            raise ValueError(f"chains are numbered from 0, not {chain}")
        return self.folder / f"chain-{chain:04d}"

    def _segments(self, chain: int) -> list[Path]:
        try:
            return segments_in(self._chain_folder(chain))
        except OSError as error:
            raise CheckpointError(f"chain {chain} cannot be read: {error}") from error

    def _known_progress(self, chain: int) -> SavedProgress:
        if chain not in self._progress:
            if self._segments(chain):
                raise CheckpointError(
                    f"chain {chain} has segments in '{self.folder}' that were not loaded; "
                    "load the chain before appending to it"
                )
            self._progress[chain] = SavedProgress()
        return self._progress[chain]

    def _set_aside(
        self, chain: int, refused: list[tuple[Path, str, int | None]], progress: SavedProgress
    ) -> None:
        """Rename refused segments, and warn with what is lost."""
        for path, _, _ in refused:
            try:
                os.rename(path, free_name(path))
            except OSError as error:
                raise CheckpointError(f"'{path}' cannot be set aside: {error}") from error
        names = ", ".join(path.name for path, _, _ in refused[:3])
        more = f" and {len(refused) - 3} more" if len(refused) > 3 else ""
        where = f"after sweep {progress.sweep}" if progress.index >= 0 else "from its beginning"
        warnings.warn(
            f"chain {chain} of the checkpoint in '{self.folder}' is damaged: {refused[0][1]}. "
            f"Set aside as *.damaged: {names}{more}. Lost: {lost_draws(refused, progress)}. "
            f"The chain continues {where}, with {progress.n_draws} draws.",
            RuntimeWarning,
            stacklevel=3,
        )


def _refuse_other_files(folder: Path) -> None:
    """Do not mix a run with a user's files."""
    try:
        names = set(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint folder '{folder}' cannot be read: {error}"
        ) from error
    others = [name for name in names if name != LOCK_FILE and not is_temporary(name)]
    if _RUN not in names and others:
        raise CheckpointError(
            f"the folder '{folder}' holds other files (such as {min(others)!r}) and no pasb run; "
            "give an empty or a new folder"
        )


def _remove_leftovers(folder: Path) -> None:
    """Remove half-written files of a run that was killed; the lock is held, so none is in use."""
    for place in [folder, *folder.iterdir()]:
        if place == folder or (_CHAIN_NAME.fullmatch(place.name) and place.is_dir()):
            for path in place.iterdir():
                if is_temporary(path.name):
                    path.unlink(missing_ok=True)


def _unwritable(folder: Path, error: OSError) -> str:
    return f"the checkpoint folder '{folder}' cannot be written: {error}; use another folder"


def _other_run(folder: Path, stored: dict[str, Any], given: dict[str, Any]) -> str:
    there, now = _leaves(stored), _leaves(given)
    differences = [
        f"{'.'.join(key)[:60]} is {_short(there, key)} there and {_short(now, key)} now"
        for key in sorted(there.keys() | now.keys())
        if key not in there or key not in now or there[key] != now[key]
    ]
    if len(differences) > MOST_DIFFERENCES:
        more = len(differences) - MOST_DIFFERENCES
        differences = [*differences[:MOST_DIFFERENCES], f"and {more} more"]
    return (
        f"the checkpoint in '{folder}' belongs to another run: {'; '.join(differences)}. "
        "Use another folder, or the original data and settings"
    )


def _leaves(tree: Any, key: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Flatten nested dicts, so that a difference is named by its innermost key."""
    if not isinstance(tree, dict) or (key and not tree):
        return {key: tree}
    return {k: v for name, item in tree.items() for k, v in _leaves(item, (*key, name)).items()}


def _short(leaves: dict[tuple[str, ...], Any], key: tuple[str, ...]) -> str:
    text = repr(leaves[key]) if key in leaves else "absent"
    return text if len(text) <= 40 else f"{text[:37]}..."
