"""How far chains of the algorithm as printed differ by their seeds alone.

``python benchmarks/seeds_as_printed.py [PART ...]``: a tenth of the paper's sweeps, eight seeds on
one partition, as printed and with our defaults: the errors of one chain, and the orders that they
end with.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from report import write

from pasb import datasets
from pasb.paper.cells import SCHEMES
from pasb.paper.fitting import fitted_model
from pasb.paper.models import MODELS, Run

CELLS = (
    ("glass", "pasb_mlr"),
    ("glass", "pasb_robit_k6"),
    ("waveform", "pasb_robit_k6"),
    ("dna", "pasb_robit_k6"),
    ("satimage", "pasb_mlr"),
)
N_SEEDS = 8


def of_cell(dataset: str, name: str) -> dict[str, dict[str, float]]:
    part = datasets.load(dataset).partition(0)
    figures = {}
    for scheme, title in SCHEMES.items():
        errors, orders = [], set()
        for seed in range(N_SEEDS):
            run = Run("quick", scheme, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model, _ = fitted_model(run, MODELS[name], part.X_train, part.y_train)
            errors.append(100 * float(np.mean(model.predict(part.X_test) != part.y_test)))
            orders.add(tuple(model.order_))
        figures[title] = {
            "lowest error": min(errors),
            "median": float(np.median(errors)),
            "highest": max(errors),
            "orders": len(orders),
        }
    return figures


PARTS = {f"{dataset} {name}": partial(of_cell, dataset, name) for dataset, name in CELLS}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "seeds-as-printed-")
