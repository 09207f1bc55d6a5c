"""Swaps of neighbours in the order of softplus sticks, by paths through the prior.

Changes the order and the parameters of two sticks (of one, where the reference changes). Plain
swaps (`pasb.moves.swap`) keep coefficients that have adapted to the present order, and hardly one
is accepted. Here sticks that the new order needs get the ends of paths from the prior to their
posterior, and sticks that are given up have paths back to the prior
(`pasb.binary.softplus_annealing`). The product of the weights of the former over that of the latter
takes the place of the ratio of evidences in a Metropolis step. That leaves the posterior invariant,
because paths there and back have the same density seen from both ends. Latents and precisions are
integrated out, the scale that sticks share is given, the reference is no part of the model.

A swap is first tested by the estimated evidences (`pasb.evidences.annealed`), and paths are made
only if it passes, with the ratio of the estimates taken out again (delayed acceptance: Christen and
Fox 2005). So tables on which one order is certain cost nothing. Applies to softplus models with few
categories, rows and coefficients. Costs some 600 gradients a path, two to four paths a swap.
Counts `softplus_neighbours_proposed`, `softplus_neighbours_paths` and
`softplus_neighbours_accepted`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.softplus_annealing import N_SCRATCH, anneal
from pasb.binary.softplus_posterior import posterior_space
from pasb.binary.softplus_prior import ALL, draw_precisions
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.binary.softplus_standard import standard_of, take_standard
from pasb.binary.stick_rows import stick_rows
from pasb.evidences.annealed import AnnealedEvidences, first_of
from pasb.evidences.evidences import members
from pasb.moves.move import Move, State
from pasb.numerics.helpers import Task, TaskRunner
from pasb.variates.scalar import uniform_at

EVERY = 16  # sweeps
LAST_PAIR = 0.75  # its share of proposals: two paths, and where plain swaps seldom succeed

Stick = tuple[int, int]  # a category and the set behind it


class SoftplusNeighbours(Move):
    """Propose to swap two neighbours, in one sweep of `EVERY`.

    Parameters
    ----------
    sampler : SoftplusSampler
    evidences : AnnealedEvidences
        With plans of all sticks.
    run : TaskRunner
    """

    statistics = (
        "softplus_neighbours_proposed",
        "softplus_neighbours_paths",
        "softplus_neighbours_accepted",
    )

    def __init__(self, sampler: SoftplusSampler, evidences: AnnealedEvidences, run: TaskRunner):
        super().__init__()
        self.sampler, self.evidences, self.run = sampler, evidences, run
        self.blank = first_of(sampler)

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        if keys.sweep % EVERY == 0:
            self.swap(state, keys)

    def swap(self, state: State, keys: Keys) -> None:
        """Propose to swap two neighbours."""
        order = state.order
        n = len(order)
        # sticks of the other moves are numbered up to three times the number of categories
        first_name = 4 * n
        choice = keys.at(first_name)
        j = place_of_pair(uniform_at(choice, 0), n)
        a, b, behind = int(order[j]), int(order[j + 1]), members(order[j + 2 :])
        old = [(a, behind | 1 << b), (b, behind)][: 2 if behind else 1]
        new = [(b, behind | 1 << a), (a, behind)][: 2 if behind else 1]
        estimate = sum(self.evidences.log_evidence(*stick) for stick in new)
        estimate -= sum(self.evidences.log_evidence(*stick) for stick in old)
        self.counted[0] += 1
        if not math.log(uniform_at(choice, 1)) < estimate:
            return
        paths = [_Path(self, state, stick, back=True) for stick in old]
        paths += [_Path(self, state, stick, back=False) for stick in new]
        tasks: list[Task] = [
            partial(path.go, keys, first_name + 1 + 3 * i) for i, path in enumerate(paths)
        ]
        self.run(tasks)
        self.counted[1] += len(paths)
        gain = sum(path.log_weight for path in paths[len(old) :])
        gain -= sum(path.log_weight for path in paths[: len(old)])
        # neither a state beyond the bounds (plus infinity) nor NaN
        if gain < math.inf and math.log(uniform_at(choice, 2)) < gain - estimate:
            for i, path in enumerate(paths[len(old) :]):
                path.adopt(state, keys, first_name + 1 + 3 * (len(old) + i) + 2)
            order[j], order[j + 1] = b, a
            self.counted[2] += 1


def place_of_pair(u: float, n: int) -> int:
    """The first of two neighbours among `n` categories, by a uniform number."""
    if u < LAST_PAIR or n == 2:
        return n - 2
    return min(int((u - LAST_PAIR) / (1 - LAST_PAIR) * (n - 2)), n - 3)


class _Path:
    """A path of one stick: from the prior, or back from the parameters of its category."""

    def __init__(self, move: SoftplusNeighbours, state: State, stick: Stick, back: bool):
        self.sampler, self.blank, self.back = move.sampler, move.blank, back
        self.category, later = stick
        self.roles = move.evidences.roles(self.category, later)
        plan = move.evidences.plan(self.category, later)
        assert plan is not None
        self.plan = plan.path
        self.own = {name: values[self.category] for name, values in state.parameters.items()}
        self.rate_prior = self.sampler.rate_prior(self.own)
        self.log_weight = -math.inf
        self.position = np.zeros(0)

    def go(self, keys: Keys, name: int) -> None:
        """Follow the path; sticks `name` and the next two name its random numbers."""
        sampler = self.sampler
        rows = stick_rows(sampler.rows, self.roles)
        self.position = self._first(keys, name + 1)
        work = posterior_space(sampler.size, *rows.blocks.shape[1:])
        scratch = np.zeros((N_SCRATCH, len(self.position)))
        prior = sampler.shape, self.rate_prior, sampler.hypers
        self.log_weight = anneal(
            rows, prior, work, self.plan, not self.back, keys.at(name), scratch, self.position
        )

    def _first(self, keys: Keys, name: int) -> NDArray[np.float64]:
        if self.back:
            return standard_of(self.own, self.rate_prior)
        drawn = {name: values.copy() for name, values in self.blank.items()}
        if "mean_rate" in drawn:
            drawn["mean_rate"][:] = self.own["mean_rate"]
        self.sampler.draw_prior(drawn, 0, name, keys)
        return standard_of({name: values[0] for name, values in drawn.items()}, self.rate_prior)

    def adopt(self, state: State, keys: Keys, name: int) -> None:
        """Take the end of the path for the parameters of its category."""
        own: Parameters = self.own
        take_standard(self.position, self.rate_prior, own)
        own["active"][:] = 0.0
        own["idle"][:] = 0.0
        given = own["coef"], ALL, self.sampler.shape, np.zeros(2), *keys, name
        draw_precisions(*given, own["precision"], own["rate"])
