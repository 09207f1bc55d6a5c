"""About how long a model of the tables takes on one core, to plan with; within a factor of two."""

from __future__ import annotations

from reproduction.paper.table_models import BUDGETS

#: training rows, test rows, columns and categories
SHAPES = {
    "iris": (120, 30, 5, 3),
    "wine": (142, 36, 14, 3),
    "square": (294, 126, 3, 3),
    "glass": (171, 43, 10, 6),
    "vehicle": (592, 254, 19, 4),
    "waveform": (500, 4500, 22, 3),
    "segment": (231, 2079, 20, 7),
    "dna": (2000, 1186, 181, 3),
    "satimage": (4435, 2000, 37, 6),
}
SMOKE = 0.25  # seconds of a cell


def softplus_sweep(rows: int, columns: int, categories: int, vectors: int, scheme: str) -> float:
    """Seconds of one sweep of one chain; `vectors` is K times T."""
    sticks = _sticks(categories, scheme)
    row = 0.2e-6 + vectors * (0.16e-6 + columns**2 * 38e-12)
    return 1e-4 * categories + rows * sticks * row


def _sticks(categories: int, scheme: str) -> float:
    """Sticks that a row counts on: as printed all, else those up to its own, and orders to move."""
    return categories if scheme == "paper" else 0.75 * (categories - 1)


def of_model(dataset: str, model: str, budget: str, scheme: str) -> float:
    """Seconds to fit one model of the paper's Table 1 to one partition, and to predict."""
    if budget == "smoke":
        return SMOKE
    rows, test, columns, categories = SHAPES[dataset]
    share, step, _ = BUDGETS[budget]
    sticks = _sticks(categories, scheme)

    def softplus(n_sweeps: int, k: int, t: int, p: int = columns) -> float:
        both = 2 * n_sweeps * share
        return both * softplus_sweep(rows, p, categories, k * t, scheme)

    linear = rows * sticks * (50e-9 + columns**2 * 12e-12) + 1e-5
    drawn = 0.3 + 5_000 * share * (rows + test) * categories * (columns * 1e-9 + 1e-7)
    seconds = {
        "pasb_mlr": lambda: drawn + 10_000 * share * 2 * linear,
        "pasb_robit_k6": lambda: drawn + 8_000 * share * 3 * linear,
        "bayes_mlr": lambda: 10_000 * share * 2 * linear,
        "pasb_msvm": lambda: 0.5 + (share + 0.1) * rows * (categories - 1) * 15e-3,
        "msr_k1_t1": lambda: softplus(10_000, 1, 1),
        "msr_k1_t3": lambda: softplus(10_000, 1, 3),
        "msr_k5_t1": lambda: softplus(10_000, 5, 1),
        "msr_k5_t3": lambda: softplus(10_000, 5, 3),
        "dt_msr": lambda: softplus(3_000, 5, 3) + softplus(10_000, 5, 1, columns + 15 * categories),
        "l2_mlr": lambda: 130 * categories * (3e-3 + rows * columns * 5e-8),
        "svm": lambda: 1 + (21 / step) ** 2 * 3 * (rows**2 * (columns + 20) * 7e-10 + 2e-3),
        "amm": lambda: 0.3 + rows * columns * categories * 2e-6,
    }
    return seconds[model]()
