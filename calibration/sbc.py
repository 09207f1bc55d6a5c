"""Simulation-based calibration of every scenario: p-values of uniform ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from calibration.replicates import N_DRAWS, Ranks, Scenario, ranks_of
from calibration.scenarios import SCENARIOS
from calibration.uniformity import p_value

LIMIT = 5e-8  # a p-value below fails; there are some 700, so a right sampler fails once in 30 000
BATCH = 25  # replicates of one task


def run_replicates(
    scenario: Scenario, n: int, jobs: int, registry: str = "scenarios", start: int = 0
) -> Ranks:
    """Ranks of the replicates `start` to `n`, in batches over processes.

    Processes look the scenario up in a registry by its name, for its classes may not be
    importable.
    """
    batches = [range(a, min(a + BATCH, n)) for a in range(start, n, BATCH)]
    if jobs == 1:
        parts = [ranks_of(scenario, batch) for batch in batches]
    else:
        tasks = (delayed(_batch)(registry, scenario.name, batch) for batch in batches)
        parts = list(Parallel(n_jobs=jobs)(tasks))
    return Ranks(
        parts[0].names,
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.autocorrelation for part in parts]),
    )


def _batch(registry: str, name: str, batch: range) -> Ranks:
    if registry == "scenarios":
        return ranks_of(SCENARIOS[name], batch)
    from calibration.mistakes import MISTAKES

    return ranks_of(MISTAKES[name].scenario, batch)


def p_values(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of every quantity, from ranks (replicates, quantities)."""
    return np.array([p_value(column, N_DRAWS) for column in values.T])


def run(scale: float, jobs: int, say: Callable[[str], None]) -> dict:
    """All scenarios."""
    return judged([run_one(scenario, scale, jobs, say) for scenario in SCENARIOS.values()])


def run_one(scenario: Scenario, scale: float, jobs: int, say: Callable[[str], None]) -> dict:
    """Ranks and p-values of one scenario."""
    n = max(50, round(scale * scenario.n_replicates))
    ranks = run_replicates(scenario, n, jobs)
    p = p_values(ranks.values)
    say(f"{scenario.name}: {n} replicates, least p {p.min():.2g} of {len(p)}")
    return {
        "name": scenario.name,
        "n_replicates": n,
        "n_sweeps": scenario.n_warmup + N_DRAWS * scenario.thin,
        "thin": scenario.thin,
        "quantities": ranks.names,
        "p": p.tolist(),
        "autocorrelation": np.nanmean(ranks.autocorrelation, axis=0).tolist(),
        "ranks": ranks.values.tolist(),
    }


def judged(scenarios: list[dict]) -> dict:
    """The results, and whether any p-value is below the limit."""
    least = min(min(one["p"]) for one in scenarios)
    return {
        "scenarios": scenarios,
        "n_draws": N_DRAWS,
        "n_tests": sum(len(one["p"]) for one in scenarios),
        "limit": LIMIT,
        "least_p": least,
        "passed": bool(least >= LIMIT),
    }
