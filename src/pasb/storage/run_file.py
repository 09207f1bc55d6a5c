"""The file that says which run a checkpoint folder belongs to, its *fingerprint*, and a copy of it.

Whichever of the two is sound counts, and replaces the other.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from pasb.errors import CheckpointError, FileFormatError
from pasb.storage import store
from pasb.storage.file_format import brief
from pasb.storage.folder_lock import LOCK_FILE
from pasb.storage.whole_file import is_temporary

CHECKPOINT_FORMAT = 2  # 2: the state holds the statistics of all moves
MOST_DIFFERENCES = 8  # that a message lists

_RUN, _COPY = "run.pasb", "run-copy.pasb"
_KIND = "checkpoint-run"


def fingerprint_in(folder: Path) -> dict[str, Any] | None:
    """The fingerprint of the run in a folder, or None if no run is there."""
    if os.path.exists(folder) and not os.path.isdir(folder):  # pathlib's raise if forbidden
        raise CheckpointError(f"the checkpoint folder '{folder}' is a file; give a folder")
    try:
        meta, written_by = _read_run(folder)
    except FileNotFoundError:
        return None
    except FileFormatError as error:
        raise CheckpointError(
            f"the checkpoint in '{folder}' cannot be used: {error}, or use another folder"
        ) from error
    except OSError as error:
        raise CheckpointError(f"the checkpoint in '{folder}' cannot be read: {error}") from error
    if meta.get("checkpoint_format") != CHECKPOINT_FORMAT:
        raise CheckpointError(
            f"the checkpoint in '{folder}' is of checkpoint format "
            f"{brief(meta.get('checkpoint_format'))}, and this pasb reads format "
            f"{CHECKPOINT_FORMAT}: use pasb {written_by}, which wrote it, or another folder"
        )
    if not isinstance(meta.get("fingerprint"), dict):
        raise CheckpointError(
            f"the checkpoint in '{folder}' does not say which run it belongs to; use another folder"
        )
    return meta["fingerprint"]


def write_fingerprint(folder: Path, fingerprint: dict[str, Any]) -> None:
    """Write both files, where they are not there or damaged."""
    for name in (_RUN, _COPY):
        _write_run(folder / name, fingerprint)


def _read_run(folder: Path) -> tuple[dict[str, Any], str]:
    """What the run is and which pasb wrote it, from whichever of the two files is sound."""
    failed: Exception | None = None
    for path in (folder / _RUN, folder / _COPY):
        try:
            meta, _ = store.read(path, _KIND)
            return meta, store.describe(path)["version"][:40]
        except (FileNotFoundError, FileFormatError) as error:
            failed = failed if isinstance(failed, FileFormatError) else error
    assert failed is not None
    raise failed


def _write_run(path: Path, fingerprint: dict[str, Any]) -> None:
    """Write what the run is, unless it is there."""
    meta = {"checkpoint_format": CHECKPOINT_FORMAT, "fingerprint": fingerprint}
    try:
        if store.read(path, _KIND)[0] == meta:
            return
    except FileFormatError as error:
        warnings.warn(f"{error}. It was written again from its copy.", RuntimeWarning, stacklevel=4)
    except FileNotFoundError:
        pass
    store.write(path, _KIND, meta, {})


def refuse_other_files(folder: Path) -> None:
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
    if not names & {_RUN, _COPY} and others:
        raise CheckpointError(
            f"the folder '{folder}' holds other files (such as {min(others)!r}) and no pasb run; "
            "give an empty or a new folder"
        )


def other_run(folder: Path, stored: dict[str, Any], given: dict[str, Any]) -> str:
    """What differs between the run of a folder and the one that is given, as an error says it."""
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
