"""All benchmarks in one run: one table, and a JSON file to compare commits by.

``make bench``, or ``python benchmarks/run.py [NAME ...]``. Figures that decide anything
are ratios within one run; the machine's own speed cancels. What concerns the order takes
longer and has its own command, ``python benchmarks/orders.py``.
"""

from __future__ import annotations

import sys

import mixing
import peers
import prediction
import scaling
import softplus_sweep
import start
import sweep
from report import write

import variates

PARTS = {
    "variates": variates.measure,
    "sweep": sweep.measure,
    "softplus sweep": softplus_sweep.measure,
    "prediction": prediction.measure,
    "scaling": scaling.measure,
    "start": start.measure,
    "mixing": mixing.measure,
    "peers": peers.measure,
}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS))
