"""Evidences of softplus sticks by annealing, and the plans of paths that move between orders.

For every pair of a category and a set of categories behind it, a small population goes from the
prior to the posterior (`pasb.binary.softplus_plan`): that gives an estimate of the log-evidence and
a plan of exact paths (`pasb.moves.softplus_neighbours`). The scale of the coefficients, which a
chain samples, is a fixed one here; plans serve at any other. A plan follows from the rows and the
stick alone, so chains that share a store do not depend on each other, and a resumed run makes the
same ones again. Plans are made when they are asked for.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.binary.softplus_plan import AnnealingPlan, make_plan
from pasb.binary.softplus_posterior import posterior_space
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.binary.softplus_standard import standard_of
from pasb.binary.stick_rows import stick_rows
from pasb.evidences.evidences import Evidences
from pasb.orders.lattice import Lattice
from pasb.sticks import Roles

MEAN_RATE = 60.0  # with which plans are made
MOST_CATEGORIES = 4  # S (2^(S-1) - 1) plans, 28 for 4
MOST_COORDINATES = 250  # of a stick
MOST_ROWS = 600
SEED = 1907


class AnnealedEvidences(Evidences):
    """Plans and log-evidences of the sticks of a softplus model.

    Parameters
    ----------
    sampler : SoftplusSampler
        Of this store alone.
    roles : Roles
    n_jobs : int
        Plans that are made at the same time.
    """

    def __init__(self, sampler: SoftplusSampler, roles: Roles, n_jobs: int = 1):
        super().__init__(sampler.rows.counts, roles, n_jobs)
        self.sampler = sampler
        self._plans: dict[tuple[int, int], AnnealingPlan | None] = {}
        self._locks: dict[tuple[int, int], threading.Lock] = {}
        self._lock = threading.Lock()
        self._lattice: Lattice | None = None

    @staticmethod
    def applies(sampler: SoftplusSampler) -> bool:
        """Whether paths from the prior to the posterior can be short enough."""
        rows, (n_experts, n_layers, n) = sampler.rows, sampler.size
        n_coordinates = n_experts * (n_layers * (n + 1) + 1) + 2
        return (
            sampler.ard
            and sampler.model.moves == "mixed"
            and rows.n_categories <= MOST_CATEGORIES
            and rows.n_rows <= MOST_ROWS
            and n_coordinates <= MOST_COORDINATES
        )

    def plan(self, category: int, later: int) -> AnnealingPlan | None:
        """How paths of a stick go; None if they would be too long."""
        stick = (category, later)
        with self._lock:
            own = self._locks.setdefault(stick, threading.Lock())
        with own:  # who comes second waits for the first
            if stick not in self._plans:
                self._plans[stick] = self._make(category, later)
            return self._plans[stick]

    def log_evidence(self, category: int, later: int) -> float:
        """Estimated log-evidence of a stick; minus infinity where there is no plan."""
        plan = self.plan(category, later)
        return -np.inf if plan is None else plan.log_evidence

    def lattice(self) -> Lattice | None:
        """The evidences of all orders; None where a stick has no plan."""
        n = self.n_categories
        sticks = [(c, r) for r in range(1, 2**n) for c in range(n) if not r >> c & 1]
        # those with all rows are farthest from their prior: if one is too far, no more are made
        hardest = [stick for stick in sticks if stick[1] == self.all_but(stick[0])]
        with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
            for some in (hardest, sticks):
                found = list(pool.map(self.plan, *zip(*some, strict=True)))
                if any(plan is None for plan in found):
                    return None
        if self._lattice is None:
            self._lattice = Lattice.of(n, self.log_evidence)
        return self._lattice

    def _make(self, category: int, later: int) -> AnnealingPlan | None:
        sampler = self.sampler
        drawn = first_of(sampler)
        own = {name: values[0] for name, values in drawn.items()}
        if "mean_rate" in own:
            drawn["mean_rate"][:] = MEAN_RATE
            own["mean_rate"] = drawn["mean_rate"][0]
        rate_prior = sampler.rate_prior(own)
        keys = Keys(SEED, category, later)

        def draw_prior(i: int) -> NDArray[np.float64]:
            sampler.draw_prior(drawn, 0, i, keys)
            return standard_of(own, rate_prior)

        rows = stick_rows(sampler.rows, self.roles(category, later))
        work = posterior_space(sampler.size, *rows.blocks.shape[1:])
        prior = sampler.shape, rate_prior, sampler.hypers
        rng = np.random.default_rng([SEED, category, later])
        return make_plan(rows, prior, work, draw_prior, rng)


def first_of(sampler: SoftplusSampler) -> dict[str, NDArray]:
    """Parameters of one category, to be drawn from the prior."""
    start = sampler.start(Keys(0, 0, 0))
    return {name: values[:1].copy() for name, values in start.items() if name != "adaptation"}
