"""Peak memory of one fit in a process of its own.

``python peak_memory.py MODEL ROWS COLUMNS CATEGORIES DRAWS CHAINS THREADS [--first]`` prints JSON.
The peak is the largest resident memory of the process, as the kernel counts it, above what there
was before the data were made; so it holds the data too. Another fit with the same settings, but
400 rows and 8 draws, comes before: it loads what is compiled and starts the same threads. With
``--first`` nothing comes before; what the peak is higher by then belongs to the process and
grows neither with the data nor with the draws.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from scaling import table

from pasb import SoftplusClassifier, StickLogisticClassifier
from pasb.numerics.helpers import one_blas_thread


def classifier(model: str, n_categories: int, n_draws: int, n_chains: int, n_jobs: int):
    """Softplus chains have a fixed order: penalised fits to find one see 1000 rows at most."""
    shared = {"n_chains": n_chains, "n_warmup": 2, "n_draws": n_draws, "n_jobs": n_jobs}
    shared |= {"random_state": 1, "progress": False}
    if model == "logistic":
        return StickLogisticClassifier(**shared)
    order = list(range(n_categories))
    return SoftplusClassifier(n_experts=5, n_layers=3, order=order, **shared)


def status(name: str) -> int:
    """Bytes that the kernel reports under a name."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def measure(
    model: str,
    n_rows: int,
    n_columns: int,
    n_categories: int,
    n_draws: int,
    n_chains: int,
    n_jobs: int,
    *,
    first: bool,
) -> dict[str, float]:
    settings = n_chains, n_jobs
    if not first:
        classifier(model, n_categories, 8, *settings).fit(*table(400, n_columns, n_categories))
    before = status("VmRSS")
    with one_blas_thread():  # others would have buffers of their own
        X, y = table(n_rows, n_columns, n_categories)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    fitted = classifier(model, n_categories, n_draws, *settings).fit(X, y)
    peak = status("VmHWM") - before
    data = X.nbytes + y.nbytes
    kept = sum(values.nbytes for values in fitted.draws_.parameters.values())
    figures = {"data": data, "kept draws": kept, "peak": peak}
    return {f"{name}, MB": size / 2**20 for name, size in figures.items()} | {
        "peak / (data + kept)": peak / (data + kept)
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = [argument for argument in sys.argv[1:] if argument != "--first"]
    sizes = map(int, given[1:])
    print(json.dumps(measure(given[0], *sizes, first=len(given) < len(sys.argv) - 1)))
