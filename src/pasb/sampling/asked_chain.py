"""Sweeps of linear sticks whose rows are elsewhere, with few passes over the rows.

Proposals from normal approximations do not depend on where a chain is. So those of `BATCH` sweeps,
for all sticks of all chains, are evaluated in one pass; what is left is arithmetic. The moves of a
sweep, each of which leaves the posterior invariant, latents and precisions integrated out:

1. In the first sweep of a batch, where the order is inferred: draw the whole order from one
   proposal for each stick that takes part (`pasb.moves.whole_order`, with bridges of no leaps);
   the mirror image of the last stick; and, where not all sticks are known, plain swaps
   (`pasb.moves.swap`), which can lead to any order. One pass, or two.
2. An independence proposal for every easy stick (`pasb.moves.refresh`). One pass for the batch.
3. A trajectory for every stick that is not easy and, in one sweep of `TRAVEL_EVERY`, for all:
   whatever the approximations miss, these do not depend on. A pass for each step.
4. Precisions from their full conditional.

Batches begin at fixed sweeps and random numbers are named by their sweep, so it does not matter
where a run was cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pasb.binary.asked_laplace import SHARE, draw_proposal, proposal_log_weight
from pasb.binary.asked_travel import Point, point_at, travelled
from pasb.binary.bent_normal import draw_gaussian
from pasb.binary.binary_model import Keys
from pasb.binary.linear_kernels import draw_precisions
from pasb.binary.row_requests import VALUE, Request
from pasb.evidences.asked_sticks import AskedSticks, Pair
from pasb.moves.independence import (
    ADOPTION,
    CHOICE,
    DECISION,
    PROPOSAL,
    REFERENCE,
    REFRESH,
    log_ratios,
)
from pasb.moves.mirror import mirror
from pasb.moves.move import Move, State
from pasb.moves.swap import swap_moves
from pasb.moves.whole_order import WHOLE
from pasb.numerics.asking import Ask, Asking, answered_by, together
from pasb.orders.known_sticks import draw_known_stick as draw_stick
from pasb.orders.known_sticks import mark_useful, sticks_of, sum_known_orders
from pasb.orders.table import OrderTable
from pasb.sampling.problem import Problem
from pasb.sticks import ABSENT
from pasb.variates.scalar import uniform_at

BATCH = 16  # sweeps whose proposals are evaluated in one pass
TRAVEL_EVERY = 32  # sweeps
TRAVEL = np.int64(32)  # a kind of move
ZERO = np.int64(0)
# what is counted, in this order
PROPOSED, ACCEPTED, TRAVELLED, ARRIVED, GRADIENTS, WHOLES, CHANGED = range(7)
MIRRORS, MIRRORED, SWAPS, SWAPPED = range(7, 11)

# mypy: disable-error-code="call-arg"


class AskedSweeps(Move):
    """The sweeps of one chain.

    Parameters
    ----------
    problem : Problem
    sticks : AskedSticks
        Explored already.
    ask : callable
        Answers requests, see `pasb.binary.row_requests`.
    """

    statistics = (
        "refresh_proposed",
        "refresh_accepted",
        "trajectory_proposed",
        "trajectory_accepted",
        "trajectory_steps",
        "whole_order_proposed",
        "whole_order_sticks_changed",
        "mirror_proposed",
        "mirror_accepted",
        "swap_proposed",
        "swap_accepted",
    )
    evaluates = True

    def __init__(self, problem: Problem, sticks: AskedSticks, ask: Ask):
        super().__init__()
        self.problem, self.sticks, self.ask = problem, sticks, ask
        self.prior = sticks.prior
        n = problem.rows.n_categories
        # log-likelihoods: coefficients of the row's category, rows of the column's group
        self.sums = np.zeros((n, problem.rows.n_groups))
        self.measured = False  # whether they are those of the state

    def __call__(self, state: State, keys: Keys) -> None:
        """One sweep of this chain alone."""
        sweeps = self.sweeps(state, keys, keys.sweep, lambda: False)
        answered_by(self.ask, sweeps)

    def start_at(self, state: State, keys: Keys) -> None:
        """Draw coefficients to start from, further from the mode than the posterior goes."""
        pairs = sticks_of(state.order)
        answered_by(self.ask, self.sticks.approximated(pairs))
        for stick, (c, behind) in enumerate(pairs):
            key = keys.at(stick, purpose=PROPOSAL)
            draw_proposal(self.sticks.packed((c, behind)), 1.0, key, state.parameters["coef"][c])
        self.forget()
        answered_by(self.ask, self._measure(state))
        state.log_likelihood = self._log_likelihood(state)

    def forget(self) -> None:
        """The state was changed from outside."""
        self.measured = False

    def resumed(self, state: State) -> Asking[None]:
        """Find out what follows from a state that was read from a checkpoint."""
        self.forget()
        yield from self._measure(state)
        state.log_likelihood = self._log_likelihood(state)

    def sweeps(
        self, state: State, keys: Keys, last: int, after: Callable[[], bool]
    ) -> Asking[None]:
        """Sweep from the sweep of `keys` to `last`, which are of one batch.

        `after` is called after every sweep, and ends it by returning True.
        """
        first = keys.sweep
        if not self.measured:
            yield from self._measure(state)
        if self.problem.infers and first % BATCH == 1:
            yield from self._move_order(state, keys)
        pairs = sticks_of(state.order)
        yield from self.sticks.judged(pairs)
        easy = [stick for stick, pair in enumerate(pairs) if self.sticks.is_easy(pair)]
        each = [keys._replace(sweep=sweep) for sweep in range(first, last + 1)]
        proposed = [self._proposals(pairs[stick], stick, each) for stick in easy]
        answers = []
        if easy:
            answers = yield [
                Request(VALUE, self.sticks.roles(pairs[stick]), coef)
                for stick, coef in zip(easy, proposed, strict=True)
            ]
        for i, own in enumerate(each):
            for stick, coef, answer in zip(easy, proposed, answers, strict=True):
                self._decide(state, pairs[stick], stick, coef[i], answer.sums[i], own)
            travellers = [stick for stick in range(len(pairs)) if stick not in easy]
            if own.sweep % TRAVEL_EVERY == 0:
                travellers = list(range(len(pairs)))
            if travellers:
                moves = [self._travel(state, pairs[stick], stick, own) for stick in travellers]
                yield from together(moves)
            coef, precision = state.parameters["coef"], state.parameters["precision"]
            for stick, (c, _) in enumerate(pairs):
                key = own.at(stick, REFRESH, ADOPTION)
                draw_precisions(coef[c], tuple(self.prior), key, precision[c])
            state.log_likelihood = self._log_likelihood(state)
            if after():
                return

    def _measure(self, state: State) -> Asking[None]:
        """The sums of the coefficients of the order."""
        pairs = sticks_of(state.order)
        coef = state.parameters["coef"]
        answers = yield [
            Request(VALUE, self.sticks.roles(pair), coef[pair[0]][None].copy()) for pair in pairs
        ]
        for (c, _), answer in zip(pairs, answers, strict=True):
            self.sums[c] = answer.sums[0]
        self.measured = True

    def _value(self, pair: Pair, sums: NDArray[np.float64]) -> float:
        """Log-likelihood of a stick; sums of groups that are not on it do not count."""
        return float(sums[self.sticks.roles(pair) != ABSENT].sum())

    def _log_likelihood(self, state: State) -> float:
        return sum(self._value(pair, self.sums[pair[0]]) for pair in sticks_of(state.order))

    def _proposals(self, pair: Pair, stick: int, each: list[Keys]) -> NDArray[np.float64]:
        packed = self.sticks.packed(pair)
        out = np.empty((len(each), self.problem.rows.n_columns))
        for coef, keys in zip(out, each, strict=True):
            draw_proposal(packed, SHARE, keys.at(stick, REFRESH, PROPOSAL), coef)
        return out

    def _log_weight(
        self, pair: Pair, coef: NDArray[np.float64], sums: NDArray[np.float64]
    ) -> float:
        """Log of posterior over proposal."""
        weight = proposal_log_weight(self.sticks.packed(pair), coef, tuple(self.prior))
        return self._value(pair, sums) + float(weight)

    def _decide(
        self,
        state: State,
        pair: Pair,
        stick: int,
        proposed: NDArray[np.float64],
        sums: NDArray[np.float64],
        keys: Keys,
    ) -> None:
        """An independence proposal for the coefficients of a stick."""
        c = pair[0]
        coef = state.parameters["coef"][c]
        gain = self._log_weight(pair, proposed, sums) - self._log_weight(pair, coef, self.sums[c])
        u = uniform_at(keys.at(stick, REFRESH, DECISION), ZERO)
        self.counted[PROPOSED] += 1
        if math.log(u) < gain:
            coef[:] = proposed
            self.sums[c] = sums
            self.counted[ACCEPTED] += 1

    def _travel(self, state: State, pair: Pair, stick: int, keys: Keys) -> Asking[None]:
        """A trajectory of the coefficients of a stick."""
        c = pair[0]
        coef = state.parameters["coef"][c]
        own, n_steps = self.sticks.stick(pair), self.sticks.steps(pair)
        start: Point = yield from point_at(own, coef)
        key = keys.at(stick, TRAVEL, PROPOSAL)
        gain, end = yield from travelled(own, start, n_steps, key)
        self.counted[TRAVELLED] += 1
        self.counted[GRADIENTS] += n_steps
        if math.log(uniform_at(keys.at(stick, TRAVEL, DECISION), ZERO)) < gain:
            coef[:] = end.coef
            self.sums[c] = end.sums
            self.counted[ARRIVED] += 1

    def _move_order(self, state: State, keys: Keys) -> Asking[None]:
        """The moves that change the order."""
        if self.sticks.known is not None:
            yield from self._draw_order(state, keys)
        if self.problem.model.symmetric:
            self._mirror(state, keys)
        if not self.sticks.complete:
            yield from self._swap(state, keys)

    def _mirror(self, state: State, keys: Keys) -> None:
        coef, precision = state.parameters["coef"], state.parameters["precision"]
        self.counted[MIRRORS] += 1
        if mirror(state.order, coef, precision, tuple(keys)):
            self.sums[state.order[-2]] = self.sums[state.order[-1]]
            self.counted[MIRRORED] += 1

    def _draw_order(self, state: State, keys: Keys) -> Asking[None]:
        """The whole order, from one proposal for each stick that takes part."""
        known, gaussians, shares = self.sticks.known, self.sticks.gaussians, self.sticks.shares
        assert known is not None
        order, coef = state.order, state.parameters["coef"]
        precision = state.parameters["precision"]
        key = keys.at(0, WHOLE, CHOICE)
        included = np.array([s >= 1.0 or uniform_at(key, k) < s for k, s in enumerate(shares)])
        present = {known.number(*pair): pair for pair in sticks_of(order)}
        self.counted[WHOLES] += 1
        if -1 in present:
            return
        included[list(present)] = True
        below, above = np.zeros((2, len(known.sets)))
        if mark_useful(known.graph, included, below, above) < len(order):
            return
        chosen = np.flatnonzero(included).tolist()
        pairs = known.pairs
        away = [k for k in chosen if k not in present]
        ends = np.empty((len(away), coef.shape[1]))
        for k, end in zip(away, ends, strict=True):
            draw_proposal(gaussians[k], SHARE, keys.at(k, WHOLE, PROPOSAL), end)
        answers = yield [
            Request(VALUE, self.sticks.roles(pairs[k]), end[None])
            for k, end in zip(away, ends, strict=True)
        ]
        weights = np.full(len(pairs), -np.inf)
        for k, end, answer in zip(away, ends, answers, strict=True):
            weight = self._log_weight(pairs[k], end, answer.sums[0]) - math.log(shares[k])
            weights[k] = weight if weight < np.inf else -np.inf
        for k, pair in present.items():
            own = self._log_weight(pair, coef[pair[0]], self.sums[pair[0]])
            if not abs(own) < np.inf:
                return
            weights[k] = own - math.log(shares[k])
        sum_known_orders(known.graph, weights, below)
        where = {k: i for i, k in enumerate(away)}
        r = len(known.sets) - 1
        for stick in range(len(order) - 1):
            u = uniform_at(keys.at(stick, WHOLE, DECISION), ZERO)
            k = int(draw_stick(known.graph, weights, below, r, u))
            r = int(known.lower[k])
            c = order[stick] = pairs[k][0]
            if k in where:
                self.counted[CHANGED] += 1
                coef[c] = ends[where[k]]
                self.sums[c] = answers[where[k]].sums[0]
                key = keys.at(stick, WHOLE, ADOPTION)
                draw_precisions(coef[c], tuple(self.prior), key, precision[c])
        order[-1] = int(known.sets[r]).bit_length() - 1

    def _swap(self, state: State, keys: Keys) -> Asking[None]:
        """Plain swaps, with the reference's coefficients from their pseudo-prior."""
        order, coef, n = state.order, state.parameters["coef"], len(state.order)
        reference = int(order[-1])
        first = [(s, self.sticks.sample.all_but(s)) for s in range(n)]
        pseudo = np.stack([self.sticks.packed(pair) for pair in first])
        draw_gaussian(pseudo[reference], keys.at(reference, REFERENCE, PROPOSAL), coef[reference])
        answers = yield [
            Request(VALUE, self.sticks.roles(pair), coef[pair[0]][None].copy()) for pair in first
        ]
        sums = np.stack([answer.sums[0] for answer in answers])
        ratios = np.zeros(n)
        log_ratios(coef, pseudo, tuple(self.prior), ratios)
        n_swaps = self.problem.n_swaps
        key = keys.at(n)
        groups = self.problem.rows.groups
        table = OrderTable(sums, sums, ratios, (groups.category, groups.available))
        accepted = swap_moves(*table, order, n_swaps, key)
        self.counted[SWAPS] += n_swaps
        self.counted[SWAPPED] += accepted
        self.sums[:] = sums
