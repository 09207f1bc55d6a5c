"""Why chains of square101 as printed fit worse than ours: their prior, or what they draw.

``python benchmarks/square101_as_printed.py [--sweeps N] [PART ...]``: a chain with a suboptimal
order of the paper's Figure 3, with the paper's prior or ours, and with binary outcomes drawn beyond
a row's own stick (as printed) or left out. Mean log-likelihoods over the tenth before a quarter,
a half and all of the sweeps; in the end, sizes of coefficients and experts a stick.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import repository_root  # noqa: F401

from pasb import datasets
from pasb.binary.binary_model import Keys
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from report import write
from reproduction.paper.experiments.square101 import SIZE, suboptimal_order
from reproduction.paper.softplus_chains import rows_of, softplus_model

SCHEME_OF = {"the paper's": "paper", "ours": "exact"}
SMALL = 0.01  # weights below this share of their stick's largest do not count


def of_chain(prior: str, augmented: bool, n_sweeps: int) -> dict[str, float]:
    data = datasets.make_square101(8000, seed=0)
    rows, classes = rows_of(data.X, data.y, SCHEME_OF[prior])
    model = softplus_model(rows, SIZE, SIZE, SCHEME_OF[prior])
    order = suboptimal_order(classes, 0)
    sweeper = Sweeper(Problem(rows, model, augmented=augmented, fixed_order=order))
    state = sweeper.start(Keys(0, 0, 0))
    values = []
    for number in range(1, n_sweeps + 1):
        sweeper.sweep(state, Keys(0, 0, number))
        values.append(state.log_likelihood)
    figures = {}
    for share in (4, 2, 1):
        n = n_sweeps // share
        figures[f"{n} sweeps"] = float(np.mean(values[n - max(1, n // 10) : n]))
    weights, coef = state.parameters["weight"][order[:-1]], state.parameters["coef"][order[:-1]]
    counted = weights > SMALL * weights.max(axis=1, keepdims=True)
    largest = np.abs(coef).max(axis=(2, 3))[counted]  # of each expert that counts
    figures["experts a stick"] = float(counted.sum(axis=1).mean())
    figures["median largest coefficient"] = float(np.median(largest))
    figures["share of experts with one above 10,000"] = float((largest > 1e4).mean())
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
    parser.add_argument("--sweeps", type=int, default=1000)
    given = parser.parse_args()
    parts = {name: partial(of_chain, *case, given.sweeps) for name, case in PARTS.items()}
    write(parts, given.parts or list(parts), "square101-as-printed-")
