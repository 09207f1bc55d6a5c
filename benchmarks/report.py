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
from textwrap import wrap
from time import perf_counter

RESULTS = Path(__file__).parent / "results"
SECONDS = "seconds of the parts"


def shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.5g}"


def show(name: str, figures: dict) -> None:
    """Print one part: neighbours whose first figures have the same name share their columns.

    Figures that are named by numbers have a line of their own.
    """
    print(f"\n{name}")
    wide = max(map(len, figures), default=0)

    def first(case):
        if not isinstance(figures[case], dict):
            return None
        key = str(next(iter(figures[case]), ""))
        return case if key.isdigit() else key

    for kind, group in groupby(figures, key=first):
        cases = list(group)
        if kind is None:
            for case in cases:
                print(f"  {case:{wide}}  {shown(figures[case])}")
        elif len(cases) == 1 and len(figures[cases[0]]) < 8:
            pairs = (f"{key} {shown(value)}" for key, value in figures[cases[0]].items())
            print(f"  {cases[0]:{wide}}  {'   '.join(pairs)}")
        else:
            for case, cells in columns({case: figures[case] for case in cases}):
                print(f"  {case:{wide}}  {cells}".rstrip())
    sys.stdout.flush()


def columns(cases: dict[str, dict]) -> Iterator[tuple[str, str]]:
    """Lines of a table under the names of its columns, which are wrapped."""
    names = list(dict.fromkeys(key for value in cases.values() for key in value))
    cells = {case: [shown(value.get(key, "")) for key in names] for case, value in cases.items()}
    heads = [wrap(str(key), 12, break_long_words=False) for key in names]
    deep = max(map(len, heads))
    heads = [[""] * (deep - len(head)) + head for head in heads]
    lines = [*(("", line) for line in zip(*heads, strict=True)), *cells.items()]
    widths = [max(map(len, column)) for column in zip(*(line for _, line in lines), strict=True)]
    for case, line in lines:
        yield case, "  ".join(f"{x:>{w}}" for x, w in zip(line, widths, strict=True))


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

    The file is written again after each part, and a part that fails is said to have failed, so
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
        shared = {path[0] for path in compared}
        alone = [path for path, _ in numbers(result) if path not in compared]
        named = [" / ".join(path if path[0] in shared else path[:1]) for path in alone]
        if named:  # a part that the other does not have at all goes by its own name
            print(f"\nonly in the {which} one: {'; '.join(dict.fromkeys(named))}")


if __name__ == "__main__":
    main()
