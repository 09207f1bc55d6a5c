"""Seconds from a new process to `import pasb`, and to the end of a first fit on iris.

Each figure is the fastest of a few processes; compiled code is in the cache, and so is
Python's bytecode, as after an ordinary installation.
"""

from __future__ import annotations

import os
import subprocess
import sys

IMPORT = "import pasb"
FIT = """
from pasb import StickLogisticClassifier
from sklearn.datasets import load_iris
StickLogisticClassifier(random_state=1, progress=False).fit(*load_iris(return_X_y=True))
"""
TIMED = "from time import perf_counter as clock\nbegan = clock()\n{}\nprint(clock() - began)"


def seconds(code: str, processes: int = 3) -> float:
    command = [sys.executable, "-W", "ignore", "-c", TIMED.format(code)]
    setting = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return min(
        float(
            subprocess.run(command, capture_output=True, text=True, check=True, env=setting).stdout
        )
        for _ in range(processes)
    )


def measure() -> dict[str, float]:
    seconds(FIT, 1)  # fills the cache
    return {
        "import pasb, s": seconds(IMPORT),
        "first fit on iris, imports included, s": seconds(FIT),
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:40} {value:8.2f}")
