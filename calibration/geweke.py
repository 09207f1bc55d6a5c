"""Joint-distribution tests (Geweke 2004), as `pasb.testing` has them for users' models."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from calibration.replicates import FIXED
from calibration.scenarios import SCENARIOS
from pasb.binary.binary_model import BinaryModel
from pasb.sampling.sweep import Sweeper
from pasb.sticks import Direction
from pasb.testing import joint_distribution as joint

LIMIT = 1e-6  # a p-value below fails; there are some 40, corrected for their means
N_SWEEPS = 5
BY_PRODUCTS: tuple[str, ...] = ("active", "idle", "adaptation")  # of a softplus update


class Deviation(NamedTuple):
    """The worst of some means before and after the sweeps, in standard errors."""

    what: str
    z: float
    n_means: int

    @property
    def p(self) -> float:
        """Corrected for the number of means."""
        return min(1.0, 2 * float(norm.sf(self.z)) * self.n_means)


def deviation(
    model: BinaryModel,
    n: int,
    seed: int,
    *,
    fixed: bool,
    direction: Direction = "forward",
    augmented: bool = False,
    sweeper: type[Sweeper] = Sweeper,
    table: NDArray[np.float64] = joint.X,
) -> Deviation:
    """Draw `n` times from prior and model, sweep each on, and compare functions of both."""
    rng = np.random.default_rng(seed)
    with patch.object(joint, "Sweeper", sweeper), patch.object(joint, "X", table):
        before = joint.from_the_prior(model, FIXED if fixed else None, direction, n, rng)
        after = joint.swept(model, before, fixed, direction, augmented, N_SWEEPS, seed)
        names, first, second = joint.statistics(_with_a_prior(before), _with_a_prior(after))
    z = joint.deviations(second - first)
    return Deviation(names[int(np.argmax(z))], float(z.max()), len(z))


def _with_a_prior(draws: joint.Joint) -> joint.Joint:
    """Without what an update leaves behind and the prior does not draw."""
    skip = BY_PRODUCTS
    if "mass" in draws.parameters:  # few enough that all entries are compared
        skip = (*skip, "precision", "rate")
    kept = {name: v for name, v in draws.parameters.items() if name not in skip}
    if "deviation" in kept:  # as many as are looked at
        coef, effect = kept["coef"][..., :5], kept["effect"][..., :2]
        kept = {"coef": coef, "effect": effect, "deviation": kept["deviation"]}
    return draws._replace(parameters=kept)


def run(scale: float, jobs: int, say: Callable[[str], None]) -> dict:
    """Every scenario of the calibration, but those of availability, which tables here have not."""
    out = []
    for scenario in SCENARIOS.values():
        if scenario.patterns:
            continue
        n = max(100, round(scale * (1000 if scenario.fixed else 500)))
        worst = deviation(
            scenario.model(),
            n,
            scenario.seed,
            fixed=scenario.fixed,
            direction=scenario.direction,
            augmented=scenario.augmented,
            table=scenario.small_table,
        )
        out.append({"name": scenario.name, "n": n, **worst._asdict(), "p": worst.p})
        say(f"{scenario.name}: z up to {worst.z:.1f} ({worst.what}), p {worst.p:.2g}")
    least = min(one["p"] for one in out)
    return {
        "scenarios": out,
        "n_sweeps": N_SWEEPS,
        "least_p": least,
        "limit": LIMIT,
        "passed": bool(least >= LIMIT),
    }
