"""Nanoseconds per draw of `pasb.variates`, on one thread, beside other libraries.

Run ``python benchmarks/variates.py``. Rivals take turns within every round, so that a
change of the machine's load meets them alike; the figure is the fastest round.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

from pasb import variates

DRAWS = 400_000
ROUNDS = 9


def _cases() -> dict[str, dict[str, Callable[[], object]]]:
    """For every case the libraries and what they are to run."""
    rng = np.random.default_rng(0)
    tilt = rng.normal(0.0, 3.0, DRAWS)
    small = np.exp(rng.uniform(np.log(0.001), np.log(0.5), DRAWS))
    tiny = np.exp(rng.uniform(np.log(1e-6), 0.0, DRAWS))
    cases: dict[str, dict[str, Callable[[], object]]] = {
        "PG(1, c)": {"pasb": lambda: variates.polya_gamma(1.0, tilt, seed=1)},
        "PG(h, c), h in 0.001..0.5": {"pasb": lambda: variates.polya_gamma(small, tilt, seed=1)},
        "PG(h, c), h in 1e-6..1": {"pasb": lambda: variates.polya_gamma(tiny, tilt, seed=1)},
        "PG(4, c)": {"pasb": lambda: variates.polya_gamma(4.0, tilt, seed=1)},
        "PG(50, c)": {"pasb": lambda: variates.polya_gamma(50.0, tilt, seed=1)},
        "normal": {
            "pasb": lambda: variates.normal(size=DRAWS, seed=1),
            "numpy": lambda: rng.standard_normal(DRAWS),
        },
        "exponential": {
            "pasb": lambda: variates.exponential(size=DRAWS, seed=1),
            "numpy": lambda: rng.standard_exponential(DRAWS),
        },
        "gamma(0.01)": {
            "pasb": lambda: variates.gamma(0.01, size=DRAWS, seed=1),
            "numpy": lambda: rng.standard_gamma(0.01, size=DRAWS),
        },
        "gamma(3)": {
            "pasb": lambda: variates.gamma(3.0, size=DRAWS, seed=1),
            "numpy": lambda: rng.standard_gamma(3.0, size=DRAWS),
        },
        "poisson(3)": {
            "pasb": lambda: variates.poisson(3.0, size=DRAWS, seed=1),
            "numpy": lambda: rng.poisson(3.0, size=DRAWS),
        },
        "binomial(100, 0.3)": {
            "pasb": lambda: variates.binomial(100, 0.3, size=DRAWS, seed=1),
            "numpy": lambda: rng.binomial(100, 0.3, size=DRAWS),
        },
        "CRT(100, 1)": {"pasb": lambda: variates.crt(100, 1.0, size=DRAWS, seed=1)},
        "truncated normal, x > 1": {
            "pasb": lambda: variates.truncated_normal(1.0, np.inf, size=DRAWS, seed=1)
        },
    }
    try:
        from polyagamma import random_polyagamma
    except ImportError:
        return cases
    for name, h in (
        ("PG(1, c)", 1.0),
        ("PG(h, c), h in 0.001..0.5", small),
        ("PG(4, c)", 4.0),
        ("PG(50, c)", 50.0),
    ):
        cases[name]["polyagamma"] = lambda h=h: random_polyagamma(h, tilt, random_state=rng)
    return cases


def measure(rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Nanoseconds per draw by case and library, and the ratio of a rival to pasb."""
    figures: dict[str, dict[str, float]] = {}
    for case, rivals in _cases().items():
        for run in rivals.values():
            run()  # compile, and warm the caches
        best = dict.fromkeys(rivals, np.inf)
        for _ in range(rounds):
            for library, run in rivals.items():
                start = time.perf_counter()
                run()
                best[library] = min(best[library], time.perf_counter() - start)
        row = {library: seconds / DRAWS * 1e9 for library, seconds in best.items()}
        for library in rivals:
            if library != "pasb":
                row["ratio"] = row[library] / row["pasb"]
        figures[case] = row
    return figures


def main() -> None:
    figures = measure()
    print(f"{'ns per draw':<28}{'pasb':>10}{'rival':>10}{'ratio':>8}")
    for case, row in figures.items():
        rival = next((row[name] for name in ("polyagamma", "numpy") if name in row), None)
        line = f"{case:<28}{row['pasb']:>10.1f}"
        if rival is not None:
            line += f"{rival:>10.1f}{row['ratio']:>8.2f}"
        print(line)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
