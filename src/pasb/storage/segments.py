"""Segments, the files in which a chain leaves its draws behind.

Each holds the state of the chain after some sweep and the draws kept since the segment
before it, and the number of draws before those. A chain is complete if each segment begins
where the one before it ended.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pasb.errors import FileFormatError
from pasb.storage import store
from pasb.storage.file_format import brief

_KIND = "checkpoint"
_NAME = re.compile(r"[0-9]{8,}\.pasb")
_Layout = dict[str, tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class Segment:
    """One segment file."""

    sweep: int
    draws_before: int
    n_draws: int
    state: dict[str, np.ndarray]
    draws: dict[str, np.ndarray]


@dataclass(frozen=True)
class SavedProgress:
    """How far a chain has got on disk."""

    index: int = -1
    sweep: int = 0
    n_draws: int = 0
    ends_empty: bool = False
    layout: _Layout | None = None

    def beyond_a_gap(self, segment: Segment) -> SavedProgress:
        """Return the progress once the draws before `segment` are there, or raise if they are."""
        if segment.draws_before <= self.n_draws:
            raise ValueError(f"its first draw is there already, among {self.n_draws}")
        return replace(self, n_draws=segment.draws_before)

    def after(self, index: int, segment: Segment) -> SavedProgress:
        """Return the progress once `segment` is written, or raise if it does not follow."""
        if segment.draws_before != self.n_draws:
            raise ValueError(
                f"it begins after {segment.draws_before} draws, where {self.n_draws} are there"
            )
        if segment.sweep < self.sweep:
            raise ValueError(f"its sweep {segment.sweep} comes before sweep {self.sweep}")
        layout = self.layout
        if segment.n_draws > 0:
            layout = {name: (a.dtype.name, a.shape[1:]) for name, a in segment.draws.items()}
            if self.layout not in (None, layout):
                raise ValueError("its draws differ in names, dtypes or shapes from those before")
        n_draws = self.n_draws + segment.n_draws
        return SavedProgress(index, segment.sweep, n_draws, segment.n_draws == 0, layout)


def segment_name(index: int) -> str:
    """Return the name of the file of a segment, numbered from 0."""
    return f"{index:08d}.pasb"


def segments_in(folder: Path) -> list[Path]:
    """Return the segments in the folder of a chain from first to last; none if it is missing."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    paths = [folder / name for name in names if _NAME.fullmatch(name)]
    return sorted(paths, key=lambda path: int(path.stem))


def write_segment(path: Path, chain: int, run: str, segment: Segment) -> None:
    """Write one segment of a chain of a run."""
    meta = {
        "run": run,
        "chain": chain,
        "sweep": segment.sweep,
        "draws_before": segment.draws_before,
        "n_draws": segment.n_draws,
    }
    arrays = {f"state.{name}": array for name, array in segment.state.items()}
    arrays |= {f"draws.{name}": array for name, array in segment.draws.items()}
    store.write(path, _KIND, meta, arrays)


def read_segment(path: Path, chain: int, run: str) -> Segment:
    """Read one segment, and refuse one that belongs elsewhere or contradicts itself."""
    meta, arrays = store.read(path, _KIND)
    if meta.get("run") != run or meta.get("chain") != chain:
        raise FileFormatError(f"'{path}' belongs to another run or chain")
    sweep, draws_before, n_draws = (meta.get(n) for n in ("sweep", "draws_before", "n_draws"))
    if not all(type(count) is int and count >= 0 for count in (sweep, draws_before, n_draws)):
        raise FileFormatError(f"'{path}' has no valid sweep and numbers of draws")
    groups: dict[str, dict[str, np.ndarray]] = {"state": {}, "draws": {}}
    for full_name, array in arrays.items():
        group, _, name = full_name.partition(".")
        if group not in groups:
            raise FileFormatError(f"'{path}' has the unknown array {brief(full_name)}")
        groups[group][name] = array
    if number_of_draws(groups["draws"]) != n_draws:
        raise FileFormatError(f"'{path}' does not hold the draws that it claims")
    return Segment(meta["sweep"], meta["draws_before"], meta["n_draws"], **groups)


def number_of_draws(draws: Mapping[str, np.ndarray]) -> int:
    """Return the number of draws, on which all arrays must agree."""
    for name, array in draws.items():
        if np.ndim(array) == 0:
            raise ValueError(f"draws {name!r} must have the draw as the first axis")
    lengths = {len(array) for array in draws.values()}
    if len(lengths) > 1:
        raise ValueError(f"draws must all have equal length, not {sorted(lengths)}")
    return lengths.pop() if lengths else 0


def joined_draws(segments: list[Segment]) -> dict[str, np.ndarray]:
    """Return the draws of all segments, one after another."""
    with_draws = [segment.draws for segment in segments if segment.n_draws > 0]
    if not with_draws:
        return segments[-1].draws
    return {name: np.concatenate([d[name] for d in with_draws]) for name in with_draws[0]}


def check_names(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse names that are not identifiers: a dot separates a name from its group."""
    for name in arrays:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"names in a checkpoint must be identifiers, not {name!r}")


def free_name(path: Path) -> Path:
    """Return a name for a damaged segment that no earlier one has taken."""
    free, number = path.with_name(f"{path.name}.damaged"), 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}.damaged")
    return free


def lost_draws(refused: list[tuple[Path, str, int | None]], progress: SavedProgress) -> str:
    """Count the draws after the last usable segment."""
    beyond = [end for path, _, end in refused if int(path.stem) > progress.index]
    if not beyond:
        return "no draws"
    known = max((end for end in beyond if end is not None), default=0) - progress.n_draws
    if beyond[-1] is not None:
        return f"{max(known, 0)} draws"
    return f"at least {known} draws" if known > 0 else "an unknown number of draws"
