"""Measure some parts, print their figures as a table and write them to a JSON file.

``python benchmarks/report.py OLD.json NEW.json`` compares two such files: the ratio of every
figure that both have.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.5g}"


def show(name: str, figures: dict) -> None:
    print(f"\n{name}")
    for case, value in figures.items():
        if isinstance(value, dict):
            text = "   ".join(f"{key} {shown(number)}" for key, number in value.items())
        else:
            text = shown(value)
        print(f"  {case:40} {text}", flush=True)


def write(parts: dict[str, Callable[[], dict]], names: Sequence[str], prefix: str = "") -> None:
    import pasb

    unknown = set(names) - set(parts)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(parts)}")
    results: dict = {
        "version": pasb.__version__,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }
    for name in names:
        results[name] = parts[name]()
        show(name, results[name])
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{prefix}{results['when'].replace(':', '')}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nwritten to {path}")


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
        path: (before[path], value, value / before[path] if before[path] else float("nan"))
        for path, value in numbers(new)
        if path in before
    }


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: python benchmarks/report.py OLD.json NEW.json")
    old, new = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
    print(f"{'new / old':>10} {'old':>12} {'new':>12}")
    for path, (before, after, ratio) in compare(old, new).items():
        print(f"{ratio:10.3f} {before:12.5g} {after:12.5g}  {' / '.join(path)}")


if __name__ == "__main__":
    main()
