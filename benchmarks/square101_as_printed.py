"""Why chains of square101 as printed fit worse than ours: their prior, or what they draw.

``python benchmarks/square101_as_printed.py [--engine cuda] [--sweeps N] [PART ...]``: chains with
the suboptimal orders of the paper's Figure 3, with the paper's prior or ours, and with binary
outcomes drawn beyond a row's own stick (as printed) or left out: mean log-likelihoods over the last
twentieth of a quarter of the sweeps, and of all.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from report import write

from pasb import datasets
from pasb.paper.cells import Context
from pasb.paper.chains import rows_of, run_chains, softplus_model
from pasb.paper.experiments.square101 import SIZE, suboptimal_order
from pasb.sweep import Problem

N_CHAINS = 2
SCHEME_OF = {"the paper's": "paper", "ours": "exact"}


def of_cell(prior: str, augmented: bool, n_sweeps: int, engine: str) -> dict[str, float]:
    data = datasets.make_square101(8000, seed=0)
    rows, classes = rows_of(data.X, data.y, SCHEME_OF[prior])
    model = softplus_model(rows, SIZE, SIZE, SCHEME_OF[prior])
    numbers = list(range(N_CHAINS))
    problems = [
        Problem(rows, model, augmented=augmented, fixed_order=suboptimal_order(classes, k))
        for k in numbers
    ]
    figures = {}
    with TemporaryDirectory() as folder:
        context = Context(Path(folder), engine=engine)
        where = Path(folder) / "chains"
        for share in (4, 1):
            n = n_sweeps // share
            ended = run_chains(problems, numbers, 0, n, max(1, n // 20), context, where)
            assert ended is not None
            figures[f"{n} sweeps"] = float(np.mean(ended.log_likelihood))
    return figures


PARTS = {
    f"prior {prior}, outcomes beyond a row's stick {'drawn' if augmented else 'left out'}": (
        prior,
        augmented,
    )
    for prior in SCHEME_OF
    for augmented in (True, False)
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--engine", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sweeps", type=int, default=4000)
    given = parser.parse_args()
    parts = {
        name: partial(of_cell, *case, given.sweeps, given.engine) for name, case in PARTS.items()
    }
    write(parts, given.parts or list(parts), "square101-as-printed-")
