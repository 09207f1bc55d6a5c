"""A sweep of the logistic and robit models where all normal approximations are at hand.

That is with a fixed order, or with few enough categories for the lattice. Most sweeps are
*whitened*, one compiled call: a trajectory of every stick (`pasb.moves.trajectory`), after
moves that stretch it where its posterior is far from normal, and proposals to swap neighbours
in the order. One in `EVERY` is *full* (with 64 columns and more, where it costs as much as many of
the others, one in a multiple of that): it does what
`pasb.sampling.sweep.Sweeper.sweep` does, with the same random numbers; a test holds them together,
bit by bit. Its Gibbs steps do not depend on how good the approximations are, and the first
sweep, which starts anywhere, is one of them. After the sweep that follows it the whole order is
drawn (`pasb.moves.whole_order`); with more than four categories, where that costs more, not
after every one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pasb.binary.base import Keys, Parameters
from pasb.binary.linear_kernels import stretch
from pasb.binary.logistic_kernels import NO_EXPERT, SCALE, draw_precisions
from pasb.moves.joint import CHOICE, NEIGHBOURS, REFRESH, JointMoves
from pasb.moves.proposals import ADOPTION, DECISION, PROPOSAL, independence_move
from pasb.moves.trajectory import STEPS, enough_steps, slopes, travel
from pasb.moves.whole_order import draw_whole_order
from pasb.numerics.rows import BLOCK
from pasb.orders.swap import swap_moves, uniform_at
from pasb.orders.table import OrderTable, order_log_likelihood
from pasb.sticks import ABSENT, FAILURE, SUCCESS, parts_on_stick
from pasb.variates.scalar import stream_key

if TYPE_CHECKING:
    from pasb.binary.linear import LinearSampler
    from pasb.evidences.approximations import Approximations

EVERY = 32
COLUMNS_AT_ONCE = 32  # with more, full sweeps are as much less often
FEWEST = int(STEPS[0])  # steps: a stick that needs more is far from normal
STICKS_AT_ONCE = 32  # of whole orders: with more, they are drawn as much less often
MOST_STRETCHED = 64  # columns: the length of a longer vector is known too well
ZERO, ONE, TWO = (np.int64(k) for k in range(3))  # plain ints would be compiled as constants

# mypy: disable-error-code="call-arg"


class LinearSweep:
    """The sweeps of one chain.

    Parameters
    ----------
    sampler : LinearSampler
    table : OrderTable
    laws, law_index : array
        ``law_index[c, R]`` is the row of `laws` for category c with the set R behind it; with
        a fixed order ``law_index[j, 0]`` is that of stick j.
    augmented, infers : bool
        Whether full sweeps impute labels; whether the order is sampled.
    n_swaps : int
        Plain swaps of a full sweep.
    """

    def __init__(
        self,
        sampler: LinearSampler,
        table: OrderTable,
        laws: NDArray[np.float64],
        law_index: NDArray[np.int64],
        augmented: bool,
        infers: bool,
        n_swaps: int,
    ):
        self.sampler, self.table = sampler, table
        self.laws, self.law_index = laws, law_index
        self.augmented, self.infers, self.n_swaps = augmented, infers, n_swaps
        rows = sampler.rows
        n_categories, n_padded = rows.n_categories, rows.blocks.shape[1]
        known_laws = KnownLaws(laws, law_index, n_categories, infers)
        self.joint = JointMoves(sampler, cast("Approximations", known_laws))
        # for each category: the law its slope and sums belong to, or -1
        self.known = np.full(n_categories, -1, dtype=np.int64)
        self.carried = (
            self.known,
            np.zeros((n_categories, n_padded)),
            np.zeros((n_categories, n_categories)),
            np.zeros(len(laws), dtype=np.int64),  # steps of a trajectory, 0 while not known
        )
        self.work = (  # of a trajectory
            np.zeros(n_padded),
            np.zeros(n_padded),
            np.zeros(n_categories),
            np.zeros(BLOCK),
            np.zeros(BLOCK),
            np.zeros((5, n_padded)),
        )
        # sweeps from one full sweep to the next, and from one whole order to the next
        self.full_every = EVERY * max(1, rows.n_columns // COLUMNS_AT_ONCE)
        self.whole_every = self.full_every * max(1, len(laws) // STICKS_AT_ONCE)

    @cached_property
    def of_all_sticks(self) -> tuple[NDArray[np.float64], ...]:
        """Coefficients, sums and weight of every stick there can be."""
        n_laws, rows = len(self.laws), self.sampler.rows
        return (
            np.zeros((n_laws, rows.n_columns)),
            np.zeros((n_laws, rows.n_categories)),
            np.zeros(n_laws),
        )

    def __call__(
        self, parameters: Parameters, order: NDArray[np.int64], keys: Keys
    ) -> tuple[float, int, int]:
        """Advance parameters and order; log-likelihood, swaps accepted and proposed."""
        if keys.sweep % self.full_every == 1:
            self.known[:] = -1
            return self._full(parameters, order, keys)
        with self.sampler.space() as space:
            log_likelihood = whitened_sweep(
                self.sampler.setting,
                space.slots,
                self.sampler.forward,
                parameters["coef"],
                parameters["precision"],
                self.table.accept,
                self.table.reject,
                order,
                self.laws,
                self.law_index,
                self.infers,
                self.carried,
                self.work,
                *keys,
            )
        if self.infers and keys.sweep % self.whole_every == 2:
            return self._draw_whole_order(parameters, order, keys), 0, 0
        return log_likelihood, 0, 0

    def _draw_whole_order(
        self, parameters: Parameters, order: NDArray[np.int64], keys: Keys
    ) -> float:
        new_coef, _, _, eta, _, _ = self.work
        self.known[:] = -1
        n_changed = draw_whole_order(
            self.sampler.setting,
            self.sampler.forward,
            parameters["coef"],
            parameters["precision"],
            self.table.accept,
            self.table.reject,
            order,
            self.laws,
            self.law_index,
            *self.of_all_sticks,
            new_coef,
            eta,
            *keys,
        )
        if n_changed < 0:
            self.sampler.guards["skipped_whole_orders"] += 1
        return self.table.log_likelihood(order)

    def _full(
        self, parameters: Parameters, order: NDArray[np.int64], keys: Keys
    ) -> tuple[float, int, int]:
        sampler, table, n = self.sampler, self.table, len(order)
        for stick, category in enumerate(order[:-1].tolist()):
            sampler.update(parameters, category, stick, self._parts(order, stick), keys)
        if self.infers and uniform_at(keys.at(n, 1), 0) >= 0.5:
            c, d = order[-2:]
            for values in parameters.values():
                values[d] = values[c]
            parameters["coef"][d] *= -1.0
            order[-2:] = d, c
        sums = (table.accept, table.reject)
        sampler.log_sums(parameters, *(sums if sampler.forward else sums[::-1]))
        self.joint.refresh(order, parameters, table, keys)
        accepted = proposed = 0
        if self.infers:
            for number in range(n - 1):
                self.joint.swap_neighbours(order, parameters, table, keys, number)
            self.joint.draw_reference(order, parameters, table, keys)
            accepted = swap_moves(*table, order, self.n_swaps, keys.at(n))
            proposed = self.n_swaps
        return table.log_likelihood(order), accepted, proposed

    def _parts(self, order: NDArray[np.int64], stick: int) -> NDArray[np.int8]:
        labels = (SUCCESS, FAILURE) if self.sampler.forward else (FAILURE, SUCCESS)
        return parts_on_stick(order, stick, labels, self.augmented)


class KnownLaws:
    """The laws of all sticks, as `pasb.moves.joint.JointMoves` asks for them."""

    def __init__(
        self, laws: NDArray[np.float64], law_index: NDArray[np.int64], n: int, infers: bool
    ):
        self.all, self.index, self.n, self.infers = laws, law_index, n, infers
        self.everyone = 2**n - 1

    def laws(self, sticks: tuple[tuple[int, int], ...]) -> NDArray[np.float64]:
        """Packed laws of some sticks, one a row."""
        if self.infers:
            return self.all[[self.index[stick] for stick in sticks]]
        return self.all[[self.index[self.n - 1 - later.bit_count(), 0] for _, later in sticks]]

    def pseudo_priors(self) -> NDArray[np.float64]:
        """Packed laws of all categories on the first stick, one a row."""
        return self.laws(tuple((s, self.everyone & ~(1 << s)) for s in range(self.n)))


@njit(cache=True, error_model="numpy", nogil=True)
def whitened_sweep(
    setting,
    slots,
    forward,
    coef,
    precision,
    accept,
    reject,
    order,
    laws,
    law_index,
    infers,
    carried,
    work,
    seed,
    chain,
    sweep,
):
    """A trajectory of every stick, the mirror image, and swaps of neighbours.

    What is `carried` from sweep to sweep follows from the state, and so does the table, of
    which only what the sticks of the present order need is up to date. Returns the
    log-likelihood.
    """
    known, slope, sums, steps = carried
    new_coef, new_slope, new_sums, eta, residual, _ = work
    _, prior, _ = setting
    n_categories, n = coef.shape
    last = n_categories - 1
    stop, go_on = (SUCCESS, FAILURE) if forward else (FAILURE, SUCCESS)
    parts = np.empty(n_categories, dtype=np.int8)
    sticks = np.empty((4, 3), dtype=np.int64)
    law_of = np.empty(4, dtype=np.int64)

    later = 2**n_categories - 1 if infers else 0
    for stick in range(last):
        c = order[stick]
        for j in range(n_categories):
            parts[order[j]] = ABSENT if j < stick else (stop if j == stick else go_on)
        later &= ~(1 << c)
        number = law_index[c, later] if infers else law_index[stick, 0]
        law = laws[number]
        if steps[number] == 0:
            steps[number] = enough_steps(setting, law, parts, work)
        new_coef[n:] = 0.0
        if steps[number] > FEWEST and n <= MOST_STRETCHED:
            key = stream_key(seed, chain, sweep, stick, NO_EXPERT, SCALE)
            stretch(setting, new_coef, slots[1], parts, TWO, key, coef[c])
            if np.any(coef[c] != new_coef[:n]):
                known[c] = -1
        if known[c] != number:
            new_coef[:n] = coef[c]
            slopes(setting, parts, new_coef, eta, residual, slope[c], sums[c])
            known[c] = number
        key = stream_key(seed, chain, sweep, stick, REFRESH, PROPOSAL)
        gain = travel(setting, law, parts, steps[number], key, coef[c], slope[c], sums[c], work)
        key = stream_key(seed, chain, sweep, stick, REFRESH, DECISION)
        if np.log(uniform_at(key, ZERO)) < gain:
            coef[c] = new_coef[:n]
            slope[c] = new_slope
            sums[c] = new_sums
        key = stream_key(seed, chain, sweep, stick, REFRESH, ADOPTION)
        draw_precisions(coef[c], *prior, key, precision[c])
        accept[c, c] = sums[c, c]
        for j in range(stick + 1, n_categories):
            reject[c, order[j]] = sums[c, order[j]]
    if not infers:
        return order_log_likelihood(accept, reject, order)

    key = stream_key(seed, chain, sweep, n_categories, ONE, ZERO)
    if uniform_at(key, ZERO) >= 0.5:
        c, d = order[last - 1], order[last]
        coef[d] = -coef[c]
        precision[d] = precision[c]
        slope[d] = -slope[c]
        sums[d] = sums[c]
        known[d] = law_index[d, 1 << c]
        accept[d, d] = sums[d, d]
        reject[d, c] = sums[d, c]
        order[last - 1], order[last] = d, c

    for number in range(last):
        key = stream_key(seed, chain, sweep, number, NEIGHBOURS, CHOICE)
        a = int(uniform_at(key, ZERO) * last)
        c, d = order[a], order[a + 1]
        behind = 0
        for j in range(a + 2, n_categories):
            behind |= 1 << order[j]
        n_changed = 2 if a + 1 < last else 1
        new = n_changed
        sticks[0, 0], sticks[0, 1] = c, d
        law_of[0] = law_index[c, behind | (1 << d)]
        sticks[new, 0], sticks[new, 1] = d, c
        law_of[new] = law_index[d, behind | (1 << c)]
        if n_changed == 2:
            sticks[1, 0], sticks[1, 1] = d, -1
            law_of[1] = law_index[d, behind]
            sticks[3, 0], sticks[3, 1] = c, -1
            law_of[3] = law_index[c, behind]
        sticks[:, 2] = a + 2
        accepted = independence_move(
            setting,
            slots,
            forward,
            coef,
            precision,
            accept,
            reject,
            order,
            sticks[: 2 * n_changed],
            laws,
            law_of,
            n_changed,
            seed,
            chain,
            sweep,
            number,
            NEIGHBOURS,
        )
        if accepted:
            order[a], order[a + 1] = d, c
            known[c] = known[d] = -1
    return order_log_likelihood(accept, reject, order)
