"""Measure some parts, print their figures as one table and write them to a JSON file.

``python benchmarks/report.py OLD.json NEW.json`` compares two such files: the ratio of every
figure that both have, and the names of what only one has.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from time import perf_counter

RESULTS = Path(__file__).parent / "results"
SECONDS = "seconds of the parts"


def shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.5g}"


def show(name: str, figures: dict) -> None:
    """Print one part: cases with the same figures in columns, others a line each."""
    print(f"\n{name}")
    keys = {
        case: tuple(map(str, value)) if isinstance(value, dict) else ()
        for case, value in figures.items()
    }
    wide = max(map(len, figures), default=0)
    for columns, group in groupby(figures, key=keys.__getitem__):
        cases = list(group)
        if not columns:
            for case in cases:
                print(f"  {case:{wide}}  {shown(figures[case])}")
        elif len(cases) == 1:
            pairs = (f"{key} {shown(value)}" for key, value in figures[cases[0]].items())
            print(f"  {cases[0]:{wide}}  {'   '.join(pairs)}")
        else:
            lines = [columns, *([*map(shown, figures[case].values())] for case in cases)]
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            for case, line in zip(["", *cases], lines, strict=True):
                cells = "  ".join(f"{x:>{w}}" for x, w in zip(line, widths, strict=True))
                print(f"  {case:{wide}}  {cells}")
    sys.stdout.flush()


def commit() -> str:
    """The commit that is measured, with a + where files differ from it."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+"]
    try:
        done = subprocess.run([*git, "--exclude=*"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def write(
    parts: Mapping[str, Callable[[], dict]],
    names: Sequence[str],
    prefix: str = "",
    to: str | os.PathLike | None = None,
    expected: Mapping[str, float] | None = None,
) -> None:
    """Measure the parts named, one after the other; `expected` holds the seconds they take.

    The file is written anew after each part, and a part that fails is said to have failed, so
    neither that nor an interruption loses the others.
    """
    import pasb

    unknown = set(names) - set(parts)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    results: dict = {
        "version": pasb.__version__,
        "commit": commit(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        SECONDS: {},
    }
    path = Path(to) if to else RESULTS / f"{prefix}{results['when'].replace(':', '')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    expected = expected or {}
    if expected:
        total = sum(expected.get(name, 0.0) for name in names)
        say(f"{len(names)} parts, about {duration(total)} in all; the figures go to {path}")
    for number, name in enumerate(names, 1):
        about = f", about {duration(expected[name])}" if name in expected else ""
        say(f"[{number}/{len(names)}] {name}{about}")
        began = perf_counter()
        try:
            results[name] = parts[name]()
        except Exception as error:
            traceback.print_exc()
            results[name] = {"status": f"failed: {type(error).__name__}: {error}"}
        results[SECONDS][name] = perf_counter() - began
        path.write_text(json.dumps(results, indent=1) + "\n")
    for name in (*names, SECONDS):
        show(name, results[name])
    print(f"\nwritten to {path}")
    failed = [name for name in names if str(results[name].get("status", "")).startswith("failed")]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def numbers(figures: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every figure of a result, with the names that lead to it."""
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from numbers(value, (*path, name))
        elif isinstance(value, int | float):
            yield (*path, name), float(value)


def compare(old: dict, new: dict) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """Old, new and new over old, for every figure that both results have."""
    before = dict(numbers(old))
    return {
        path: (before[path], value, value / before[path] if before[path] else math.nan)
        for path, value in numbers(new)
        if path in before
    }


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: python benchmarks/report.py OLD.json NEW.json")
    old, new = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
    for which, result in (("old", old), ("new", new)):
        print(f"{which}: {result.get('commit', 'unknown')}, {result['when']}, {result['machine']}")
    compared = compare(old, new)
    print(f"{'new / old':>10} {'old':>12} {'new':>12}")
    for path, (before, after, ratio) in compared.items():
        print(f"{ratio:10.3f} {before:12.5g} {after:12.5g}  {' / '.join(path)}")
    for which, result in (("old", old), ("new", new)):
        alone = [" / ".join(path) for path, _ in numbers(result) if path not in compared]
        if alone:
            print(f"\nonly in the {which} one: {'; '.join(alone)}")


if __name__ == "__main__":
    main()
