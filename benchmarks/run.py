"""All benchmarks in one run: one table, and a JSON file to compare commits by.

``make bench``, or ``python benchmarks/run.py [NAME ...] [--to FILE]``. Figures that decide anything
are ratios within one run; the machine's own speed cancels. A part that fails does not stop the
others. ``python benchmarks/report.py OLD.json NEW.json`` compares two files. What concerns the
order takes longer and has its own command, ``python benchmarks/orders.py``. Convergence and
accuracy are measured on two small tables here, on many by ``benchmarks/convergence.py`` and
``benchmarks/accuracy.py``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module

from report import write

PARTS = {  # their modules, and about how many seconds they take on two cores
    "variates": ("variates", 15),
    "sweep": ("sweep", 5),
    "softplus sweep": ("softplus_sweep", 40),
    "prediction": ("prediction", 5),
    "scaling": ("scaling", 80),
    "start": ("start", 20),
    "diagnostics": ("diagnostics", 20),
    "mixing": ("mixing", 150),
    "convergence": ("convergence", 50),
    "accuracy": ("accuracy", 50),
    "peers": ("peers", 1000),
}


def part(module: str) -> Callable[[], dict]:
    return lambda: import_module(module).measure()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--to", metavar="FILE", help="benchmarks/results without it")
    given = parser.parse_args()
    write(
        {name: part(module) for name, (module, _) in PARTS.items()},
        given.names or list(PARTS),
        to=given.to,
        expected={name: seconds for name, (_, seconds) in PARTS.items()},
    )


if __name__ == "__main__":
    main()
