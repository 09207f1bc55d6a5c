"""How far chains of the algorithm as printed differ by their seeds alone.

``python benchmarks/seeds_as_printed.py [PART ...]``: a tenth of the paper's sweeps, eight seeds on
one partition, as printed and with our defaults: the errors of one chain and those of its best draw,
and the orders that the chains end with.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
import repository_root  # noqa: F401

from report import write
from reproduction.data_sets import load
from reproduction.paper.cells import SCHEMES
from reproduction.paper.measures import error, size_and_best_draw
from reproduction.paper.prior_fallback import fitted_model
from reproduction.paper.table_models import MODELS, Run

CELLS = (
    ("glass", "pasb_mlr"),
    ("glass", "pasb_robit_k6"),
    ("waveform", "pasb_robit_k6"),
    ("segment", "pasb_mlr"),
    ("dna", "pasb_robit_k6"),
    ("dna", "pasb_msvm"),
    ("satimage", "pasb_mlr"),
)
N_SEEDS = 8


def of_cell(dataset: str, name: str) -> dict[str, dict[str, float]]:
    part = load(dataset).partition(0)
    figures = {}
    for scheme, title in SCHEMES.items():
        errors, best_errors, orders = [], [], set()
        for seed in range(N_SEEDS):
            run = Run("quick", scheme, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model, _ = fitted_model(run, MODELS[name], part.X_train, part.y_train)
            errors.append(error(model.predict(part.X_test), part.y_test))
            best = size_and_best_draw(model, part.X_test, part.y_test)
            best_errors.append(best["best_draw_error"])
            orders.add(tuple(model.order_))
        figures[title] = {
            "lowest error": min(errors),
            "median": float(np.median(errors)),
            "highest": max(errors),
            "lowest of the best draw": min(best_errors),
            "its highest": max(best_errors),
            "orders": len(orders),
        }
    return figures


PARTS = {f"{dataset} {name}": partial(of_cell, dataset, name) for dataset, name in CELLS}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "seeds-as-printed-")
