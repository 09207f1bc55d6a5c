"""Finished cells in one small file an experiment: the form in which they are committed.

A file holds compressed JSON lines. The first line describes all cells together: the name of the
experiment and, under ``untimed_hours``, the hours that the cells without times of their own took
in all, by engine. Each further line is a cell.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parents[1] / "cells"


def packed_file(folder: Path, experiment: str) -> Path:
    """The file of an experiment's cells."""
    return folder / f"{experiment}.jsonl.gz"


def read_packed(folder: Path, experiment: str) -> list[dict[str, Any]]:
    """The cells of an experiment; none where there is no file."""
    return [json.loads(line) for line in _lines(folder, experiment)[1:]]


def untimed_hours(folder: Path, experiment: str) -> dict[str, float]:
    """Hours of the cells that have no times of their own, by engine."""
    lines = _lines(folder, experiment)
    return json.loads(lines[0]).get("untimed_hours", {}) if lines else {}


def write_packed(
    folder: Path,
    experiment: str,
    cells: Iterable[dict[str, Any]],
    hours: dict[str, float] | None = None,
) -> Path:
    """Write the cells of an experiment; the same cells give the same bytes.

    Parameters
    ----------
    folder : path
    experiment : str
    cells : iterable of dict
        What `reproduction.paper.cells.keep` writes, in any order.
    hours : dict, optional
        Hours of cells without times, by engine.
    """
    about = {"experiment": experiment, **({"untimed_hours": hours} if hours else {})}
    ordered = sorted(cells, key=lambda cell: [str(cell[name]) for name in _KEYS])
    lines = [json.dumps(line, separators=(",", ":")) for line in (about, *ordered)]
    path = packed_file(folder, experiment)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
    return path


_KEYS = ("what", "budget", "scheme", "seed")


def _lines(folder: Path, experiment: str) -> list[str]:
    path = packed_file(folder, experiment)
    return gzip.decompress(path.read_bytes()).decode().splitlines() if path.exists() else []
