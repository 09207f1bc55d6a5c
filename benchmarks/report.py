"""Measure some parts, print their figures as a table and write them to a JSON file."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pasb

RESULTS = Path(__file__).parent / "results"


def show(name: str, figures: dict) -> None:
    print(f"\n{name}")
    for case, value in figures.items():
        if isinstance(value, dict):
            text = "   ".join(f"{key} {number:.6g}" for key, number in value.items())
        else:
            text = f"{value:.4g}"
        print(f"  {case:40} {text}", flush=True)


def write(parts: dict[str, Callable[[], dict]], names: Sequence[str], prefix: str = "") -> None:
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
