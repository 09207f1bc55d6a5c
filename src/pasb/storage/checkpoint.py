"""A folder that a run writes while it samples, and from which it can continue.

The folder holds

- ``run.pasb``: what the run is, its *fingerprint*, and ``run-copy.pasb``, the same again;
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from pasb.errors import CheckpointError, NewerFormatError
from pasb.storage.folder_lock import lock_folder
from pasb.storage.plain_json import as_json
from pasb.storage.run_file import (
    fingerprint_in,
    other_run,
    refuse_other_files,
    write_fingerprint,
)
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

Arrays = Mapping[str, np.ndarray]
_CHAIN_NAME = re.compile(r"chain-[0-9]{4,}")


@dataclass(frozen=True)
class Saved:
    """What a chain has on disk: its last state, and all draws up to it.

    Where segments in between are missing, it ends before them; `later` is what comes after, from
    `draws_before` draws on. With an index of -1, the beginning is missing.
    """

    sweep: int
    state: dict[str, np.ndarray]
    draws: dict[str, np.ndarray]
    draws_before: int = 0
    index: int = -1  # of its last segment
    later: tuple[Saved, ...] = ()


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
        refuse_other_files(folder)
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
            elif stored != given:
                raise CheckpointError(other_run(folder, stored, given))
            write_fingerprint(folder, stored)
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
        return fingerprint_in(Path(folder))

    def load(self, chain: int, mends: bool = False) -> Saved | None:
        """Return what a chain has on disk, or None if it has nothing.

        Segments that are damaged are renamed to end in ``.damaged``, with a warning that counts
        the lost draws. So are those behind them, unless the caller `mends` the gap: draws the
        missing draws again, and hands them to `mend`.
        """
        self._check_open()
        progress = SavedProgress()
        pieces: list[list[Segment]] = [[]]
        ends = [progress]  # of each piece
        refused: list[tuple[Path, str, int | None]] = []
        for path in self._segments(chain):
            end = None
            try:
                segment = read_segment(path, chain, self._run)
                end = segment.draws_before + segment.n_draws
                if mends and segment.draws_before > progress.n_draws:
                    following = progress.beyond_a_gap(segment).after(int(path.stem), segment)
                    pieces.append([])
                    ends.append(following)
                else:
                    following = progress.after(int(path.stem), segment)
                progress = ends[-1] = following
                pieces[-1].append(segment)
            except NewerFormatError as error:
                raise CheckpointError(f"chain {chain} cannot continue: {error}") from error
            except ValueError as error:  # FileFormatError is one
                refused.append((path, str(error), end))
            except OSError as error:
                raise CheckpointError(f"'{path}' cannot be read: {error}") from error
        missing = sum(
            piece[0].draws_before - before.n_draws
            for before, piece in zip(ends, pieces[1:], strict=False)
        )
        if refused or missing:
            self._set_aside(chain, refused, progress, missing)
        self._progress[chain] = progress
        first, *later = (_saved(*piece) for piece in zip(ends, pieces, strict=True))
        return replace(first, later=tuple(later)) if first.index >= 0 or later else None

    def mend(self, chain: int, gap: Saved, sweep: int, state: Arrays, draws: Arrays) -> None:
        """Write the draws that were missing behind `gap`, up to what is saved after it."""
        segment = Segment(sweep, _n_after(gap), number_of_draws(draws), dict(state), dict(draws))
        path = self._chain_folder(chain) / segment_name(gap.index + 1)
        try:
            write_segment(path, chain, self._run, segment)
        except OSError as error:
            raise CheckpointError(f"'{path}' cannot be written: {error}") from error

    def append(self, chain: int, sweep: int, state: Arrays, draws: Arrays) -> None:
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
        self,
        chain: int,
        refused: list[tuple[Path, str, int | None]],
        progress: SavedProgress,
        missing: int,
    ) -> None:
        """Rename refused segments, and warn with what is lost, or `missing` in between."""
        for path, _, _ in refused:
            try:
                os.rename(path, free_name(path))
            except OSError as error:
                raise CheckpointError(f"'{path}' cannot be set aside: {error}") from error
        names = ", ".join(path.name for path, _, _ in refused[:3])
        more = f" and {len(refused) - 3} more" if len(refused) > 3 else ""
        where = f"after sweep {progress.sweep}" if progress.index >= 0 else "from its beginning"
        told = [f"chain {chain} of the checkpoint in '{self.folder}' is damaged"]
        if refused:
            told[0] += f": {refused[0][1]}"
            told.append(f"Set aside as *.damaged: {names}{more}")
        if missing:
            told.append(f"Missing, and drawn again: {missing} draws")
        else:
            told.append(f"Lost: {lost_draws(refused, progress)}")
        told.append(f"The chain continues {where}, with {progress.n_draws} draws.")
        warnings.warn(". ".join(told), RuntimeWarning, stacklevel=3)


def _saved(end: SavedProgress, segments: list[Segment]) -> Saved:
    """A piece of a chain, from its segments."""
    if not segments:
        return Saved(0, {}, {})
    before = segments[0].draws_before
    return Saved(end.sweep, segments[-1].state, joined_draws(segments), before, end.index)


def _n_after(saved: Saved) -> int:
    """Draws of the chain at the end of a piece."""
    return saved.draws_before + number_of_draws(saved.draws)


def _remove_leftovers(folder: Path) -> None:
    """Remove half-written files of a run that was killed; the lock is held, so none is in use."""
    for place in [folder, *folder.iterdir()]:
        if place == folder or (_CHAIN_NAME.fullmatch(place.name) and place.is_dir()):
            for path in place.iterdir():
                if is_temporary(path.name):
                    path.unlink(missing_ok=True)


def _unwritable(folder: Path, error: OSError) -> str:
    return f"the checkpoint folder '{folder}' cannot be written: {error}; use another folder"
