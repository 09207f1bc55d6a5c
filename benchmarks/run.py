"""All benchmarks in one run: one table, and a JSON file to compare commits by.

``make bench``, or ``python benchmarks/run.py [NAME ...]``. Figures that decide anything
are ratios within one run; the machine's own speed cancels.
"""

from __future__ import annotations

import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import mixing
import start
import sweep

import pasb
import variates

PARTS = {
    "variates": variates.measure,
    "sweep": sweep.measure,
    "start": start.measure,
    "mixing": mixing.measure,
}


def show(name: str, figures: dict) -> None:
    print(f"\n{name}")
    for case, value in figures.items():
        if isinstance(value, dict):
            text = "   ".join(f"{key} {number:.4g}" for key, number in value.items())
        else:
            text = f"{value:.4g}"
        print(f"  {case:40} {text}")


def main(names: list[str]) -> None:
    unknown = set(names) - set(PARTS)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    results: dict = {
        "version": pasb.__version__,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }
    for name in names or PARTS:
        results[name] = PARTS[name]()
        show(name, results[name])
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{results['when'].replace(':', '')}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
