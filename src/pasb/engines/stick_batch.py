"""Chains of single sticks as one batch on a GPU.

A stick's problem depends only on its category and the set of categories behind it. Six
categories have 720 orders of five sticks each, but only 186 sticks, so the log-likelihoods of all
orders follow from the chains of 186 sticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.engines.softplus_arrays import BatchChain
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.sampling.problem import Problem
from pasb.sticks import ABSENT


class StickOfProblem(NamedTuple):
    """A category and the set of categories behind it, a bit mask, in one direction."""

    problem: Problem
    category: int
    later: int


def all_sticks(problem: Problem) -> list[StickOfProblem]:
    """The sticks of all orders, those in front of one category at least."""
    n = problem.rows.n_categories
    return [
        StickOfProblem(problem, c, later)
        for c in range(n)
        for later in range(1, 2**n)
        if not later >> c & 1
    ]


class StickBatch(SoftplusBatch):
    """One chain for each stick.

    Parameters
    ----------
    sticks : sequence of StickOfProblem
        Of the same rows; a stick may be there several times.
    seed : int
    first : int
        The number of the first chain, which keys its random numbers; the others follow.
    """

    def __init__(self, sticks: Sequence[StickOfProblem], seed: int, first: int):
        self.sticks = list(sticks)
        super().__init__(
            [BatchChain(stick.problem, seed, first + c) for c, stick in enumerate(self.sticks)]
        )
        self.infers[:] = False
        categories = np.arange(self.n_categories)
        self._roles = np.stack(
            [
                stick.problem.roles.against(
                    stick.category, categories[stick.later >> categories & 1 > 0], len(categories)
                )
                for stick in self.sticks
            ]
        )
        roles = np.array([stick.problem.roles[:2] for stick in self.sticks])
        self._stops, self._goes_on = (self._roles == own[:, None] for own in roles.T)
        self._forward = np.array([stick.problem.direction == "forward" for stick in self.sticks])
        self._begin()

    def _sizes(self) -> tuple[int, int]:
        return 1, 1

    def _begin(self) -> None:
        problem = self.sticks[0].problem
        sampler = problem.model.sampler(problem.rows)
        starts = []
        for member, stick in zip(self.members, self.sticks, strict=True):
            start = sampler.start(Keys(member.seed, member.chain, 0))
            own = slice(stick.category, stick.category + 1)
            starts.append({name: start[name][own] for name in self.state_names})
        self.start([np.zeros(1, dtype=np.int64)] * self.n_chains, starts)

    def _put_orders(self) -> None:
        with_padding = np.full((self.n_chains, self.n_groups + 1), ABSENT, dtype=np.int8)
        with_padding[:, :-1] = self._roles
        self.put("roles", with_padding)
        self.put("slots", np.arange(self.n_chains))
        names = [(member.seed, member.chain, 0) for member in self.members]
        self.put("stick_keys", np.array(names, dtype=np.int64))

    def sweep(self, number: int) -> NDArray[np.float64]:
        """One sweep of all sticks; their log-likelihoods."""
        with self.launcher.stream:
            self.arrays["sweep"].fill(number)
            self._update_sticks()
            success, failure = (sums[:, 0] for sums in self._tabulate())
        forward = self._forward[:, None]
        stop, go_on = (
            np.where(forward, success, failure),
            np.where(forward, failure, success),
        )
        return (stop * self._stops + go_on * self._goes_on).sum(axis=1)
