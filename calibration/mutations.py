"""Whether the suite finds deliberate mistakes: the same tests, on wrong updates.

The joint-distribution test and simulation-based calibration look at more and more replicates until
a p-value is below the limit of the suite. A mistake is caught when one of the two fails;
what the mistakes were made in must pass both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibration import geweke, sbc
from calibration.mistakes import RIGHT, WRONG
from calibration.replicates import N_DRAWS, Scenario

GEWEKE = (250, 500, 1000, 2000, 4000)
SBC = (50, 100, 200, 400, 800)


def run(scale: float, jobs: int, say: Callable[[str], None]) -> dict:
    """All mistakes, and the same updates without one."""
    out = []
    for mistake in (*RIGHT, *WRONG):
        right = mistake in RIGHT
        one = {
            "what": mistake.what,
            "right": right,
            "geweke": _geweke(mistake.scenario, right, scale),
            "sbc": _sbc(mistake.scenario, right, scale, jobs),
        }
        caught = one["geweke"]["fails"] or one["sbc"]["fails"]
        one["as_it_should"] = caught != right
        out.append(one)
        say(
            f"{mistake.what}: joint test p {one['geweke']['p']:.1g} at {one['geweke']['n']}, "
            f"SBC p {one['sbc']['p']:.1g} at {one['sbc']['n']}"
        )
    return {"mistakes": out, "n_draws": N_DRAWS, "passed": all(one["as_it_should"] for one in out)}


def _geweke(scenario: Scenario, right: bool, scale: float) -> dict:
    if scenario.scheme != "exact":  # the joint test is of the exact scheme
        return {"n": 0, "p": 1.0, "where": "", "fails": False}
    for n in [max(100, round(scale * 2000))] if right else GEWEKE:
        worst = geweke.deviation(
            scenario.model(), n, scenario.seed, fixed=scenario.fixed, sweeper=scenario.sweeper
        )
        if worst.p < geweke.LIMIT:
            break
    return {"n": n, "p": worst.p, "where": worst.what, "fails": bool(worst.p < geweke.LIMIT)}


def _sbc(scenario: Scenario, right: bool, scale: float, jobs: int) -> dict:
    most = scenario.n_replicates
    looks = [max(50, round(scale * most))] if right else [n for n in SBC if n <= most]
    ranks, names = np.empty((0, 0), dtype=np.int64), []
    for n in looks:
        start = len(ranks)
        more = sbc.run_replicates(scenario, n, jobs, "mistakes", start)
        names = more.names
        ranks = np.concatenate([ranks, more.values]) if start else more.values
        p = sbc.p_values(ranks)
        if p.min() < sbc.LIMIT:
            break
    least = float(p.min())
    worst = int(p.argmin())
    return {
        "n": n,
        "p": least,
        "where": names[worst],
        "ranks": ranks[:, worst].tolist(),
        "fails": bool(least < sbc.LIMIT),
    }
