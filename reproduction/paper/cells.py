"""One cell of an experiment, and the folder that keeps finished ones.

Cells are independent: they run in any order and in processes of their own. Finished ones stay
in a folder, one JSON file each, so that a run that was stopped continues where it was. `pack`
adds them to the small files that are committed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.paper.packed_cells import read_packed, untimed_hours, write_packed
from reproduction.paper.table_models import BUDGETS

ANY = "any"  # the scheme of models that have none
#: those of the others, and what they are called
SCHEMES = {"paper": "as printed", "exact": "our defaults"}


class Cell(NamedTuple):
    """What is run.

    Attributes
    ----------
    experiment : str
        The one whose `run` runs it; others may use its result too.
    what : tuple
        The cell among those of the experiment.
    budget : str
        One of `reproduction.paper.table_models.BUDGETS`.
    scheme : {"exact", "paper", "any"}
    seed : int
    """

    experiment: str
    what: tuple[Any, ...]
    budget: str
    scheme: str
    seed: int

    @property
    def name(self) -> str:
        """A name for files."""
        return "-".join(map(str, (*self.what, self.budget, self.scheme, self.seed)))


class Context(NamedTuple):
    """How cells are run.

    Attributes
    ----------
    folder : path
        Where results and checkpoints are.
    deadline : float
        Unix time at which all sampling stops.
    engine : {"cpu", "cuda"}
    n_jobs : int
        Threads of one cell.
    stopped : function or None
        Whether the user has asked to stop.
    """

    folder: Path
    deadline: float = float("inf")
    engine: str = "cpu"
    n_jobs: int = 1
    stopped: Callable[[], bool] | None = None

    def over(self, info: object = None) -> bool:
        """Whether to stop now; a callback of the classifiers."""
        return time.time() > self.deadline or (self.stopped is not None and self.stopped())

    def checkpoint(self, cell: Cell) -> Path:
        """The folder of a cell that is not finished."""
        return self.folder / "checkpoints" / cell.experiment / cell.name


def path_of(folder: Path, cell: Cell) -> Path:
    """The file of a finished cell."""
    return folder / "cells" / cell.experiment / f"{cell.name}.json"


def keep(folder: Path, cell: Cell, result: dict[str, Any]) -> None:
    """Write the result of a cell, whole or not at all."""
    path = path_of(folder, cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps({**cell._asdict(), **result}, default=_plain) + "\n")
    os.replace(temporary, path)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def finished(folder: Path, experiment: str, seed: int = 0) -> list[dict[str, Any]]:
    """The results of an experiment, by name; of cells with several budgets the largest.

    The folder holds one file a cell, as a run leaves them, or the cells of an experiment in one
    file, as they are committed. Where both have a cell, that of the run counts.
    """
    results = _by_name([*read_packed(folder, experiment), *_unpacked(folder, experiment)])
    return largest([result for result in results if result["seed"] == seed])


def pack(folder: Path, experiment: str, into: Path) -> Path | None:
    """Add the finished cells of a run to the committed ones, whose place the same cells take.

    Parameters
    ----------
    folder : path
        Where the run left its cells.
    experiment : str
    into : path
        The folder of the committed cells.

    Returns
    -------
    path or None
        The file that was written; None where the run has no cells of the experiment.
    """
    new = _unpacked(folder, experiment)
    if not new:
        return None
    together = _by_name([*read_packed(into, experiment), *new])
    timed = all("seconds" in result for result in together)
    hours = None if timed else untimed_hours(into, experiment)
    return write_packed(into, experiment, together, hours)


def _unpacked(folder: Path, experiment: str) -> list[dict[str, Any]]:
    paths = (folder / "cells" / experiment).glob("*.json")
    return [json.loads(path.read_text()) for path in paths]


def _by_name(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted by the names of their cells; of several with the same name the last."""
    named = {}
    for result in results:
        result["what"] = tuple(result["what"])
        named[Cell(*(result[field] for field in Cell._fields)).name] = result
    return [named[name] for name in sorted(named)]


def largest(
    results: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], Any] | None = None
) -> list[dict[str, Any]]:
    """Of results with the same key, by default cell and scheme, that of the largest budget."""
    key = key or (lambda result: (result["what"], result["scheme"]))
    rank = {budget: number for number, budget in enumerate(BUDGETS)}  # the largest last
    best: dict[Any, dict[str, Any]] = {}
    for result in results:
        known = best.get(key(result))
        if known is None or rank[result["budget"]] >= rank[known["budget"]]:
            best[key(result)] = result
    return list(best.values())
