"""A sweep of logistic or robit sticks in one compiled call: trajectories, mirror image, neighbours.

Changes coefficients, precisions and the order, by moves that each leave the posterior invariant:
for every stick a stretch (`pasb.binary.stretch`) where its posterior is far from normal, and a
trajectory (`pasb.moves.trajectory`); then the mirror image (`pasb.moves.mirror`) and proposals to
swap neighbours (`pasb.moves.neighbours`). Applies where the approximations of all sticks that there
can be are known: with a fixed order, or with few enough categories for the lattice. Costs about
two passes over the rows of each stick.

It is one call because a sweep of a small table takes some ten microseconds, and calls from Python
would take as long. Counts under the names of these moves: `trajectory_proposed`,
`trajectory_accepted`, `trajectory_steps`, `stretch_proposed`, `stretch_accepted`,
`mirror_proposed`, `mirror_accepted`, `neighbours_proposed` and `neighbours_accepted`.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.bent_normal import bend_of
from pasb.binary.binary_model import Keys
from pasb.binary.coefficient_prior import knows_no_sign
from pasb.binary.linear import LinearSampler
from pasb.binary.linear_kernels import NO_EXPERT, STRETCH
from pasb.binary.precisions import GREATEST_PRECISION, LEAST_PRECISION, n_at_bounds
from pasb.binary.stretch import stretch, stretch_along
from pasb.binary.travel import STEPS, enough_steps, travel_space
from pasb.evidences.known import Known
from pasb.moves.mirror import mirror
from pasb.moves.move import Move, State, place_of
from pasb.moves.neighbours import swap_neighbours
from pasb.moves.trajectory import follow
from pasb.numerics.compiled import kernel
from pasb.orders.known_sticks import find_stick
from pasb.orders.table import OrderTable, keep_group_sums, order_log_likelihood
from pasb.sticks import ABSENT, FAILURE, SUCCESS, assign_roles
from pasb.variates.scalar import stream_key

FEWEST = int(STEPS[0])  # steps: a stick that needs more is far from normal
MOST_STRETCHED = 64  # columns: the length of a longer vector is known too well
N_STRETCHES, N_ALONG = np.int64(2), np.int64(4)  # plain ints would be compiled as constants
ALONG = np.int64(1)  # kind of the stream

STATISTICS = (
    "trajectory_proposed",
    "trajectory_accepted",
    "trajectory_steps",
    "stretch_proposed",
    "stretch_accepted",
    "mirror_proposed",
    "mirror_accepted",
    "neighbours_proposed",
    "neighbours_accepted",
)
# where the kernels count them
TRAJECTORIES, TRAJECTORIES_KEPT, STEPS_TAKEN = 0, 1, 2
STRETCHES, STRETCHES_KEPT, MIRRORS, MIRRORS_KEPT, SWAPS, SWAPS_KEPT = 3, 4, 5, 6, 7, 8

# mypy: disable-error-code="call-arg"


class Whitened(Move):
    """Trajectories of all sticks, and moves of the order where it is inferred.

    Parameters
    ----------
    sampler : LinearSampler
    order_table : OrderTable
        Of which only what the sticks of the present order need is kept up to date.
    known : Known
        The sticks, and their approximations.
    forward, infers : bool
        Whether sticks stop on success; whether the order is sampled.
    """

    statistics = STATISTICS
    steps = ("trajectory", "stretch", "mirror", "neighbours")
    evaluates = True

    def __init__(
        self,
        sampler: LinearSampler,
        order_table: OrderTable,
        known: Known,
        forward: bool,
        infers: bool,
    ):
        super().__init__()
        self.sampler, self.order_table = sampler, order_table
        self.known, self.gaussians = known, known.gaussians
        # a chain fills in steps that are not known yet
        self.efforts = (known.steps.copy(), known.leaps, known.shares)
        nothing = np.zeros(0, dtype=np.int64)
        self.graph = (nothing,) * 4 if known.sticks is None else known.sticks.graph
        self.forward, self.infers = forward, infers
        n_categories, n_groups = sampler.rows.n_categories, sampler.rows.n_groups
        n_padded = sampler.rows.blocks.shape[1]
        self.current = np.full(n_categories, -1, dtype=np.int64)
        self.cached = (  # see `pasb.moves.trajectory.follow`
            self.current,
            np.zeros((n_categories, n_padded)),
            np.zeros((n_categories, n_groups)),
            self.efforts[0],
        )
        self.work = travel_space(sampler.rows)
        self.scratch = (  # roles, and sticks and approximations of a swap of neighbours
            np.zeros(n_groups, dtype=np.int8),
            np.zeros((4, 3), dtype=np.int64),
            np.zeros(4, dtype=np.int64),
        )
        self.n_bounded = np.zeros(1, dtype=np.int64)

    def forget(self) -> None:
        """Another move changed the coefficients: slopes and sums have to be computed again."""
        self.current[:] = -1

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        with self.sampler.space() as space:
            state.log_likelihood = whitened_sweep(
                self.sampler.regression,
                (self.forward, self.infers),
                place_of(state, self.order_table),
                (self.gaussians, self.graph[0]),
                self.cached,
                (self.work, self.scratch, space.proposed, space.pair),
                (self.counted, self.n_bounded),
                tuple(keys),
            )
        if self.n_bounded[0]:
            self.sampler.count("bounded_precisions", int(self.n_bounded[0]))
            self.n_bounded[0] = 0


@kernel
def whitened_sweep(regression, settings, place, known, cached, space, tally, keys):
    """The moves of `Whitened` one after the other; the log-likelihood.

    Parameters
    ----------
    regression : tuple
        Rows, prior and link, see `pasb.binary.linear_kernels`.
    settings : tuple of two bool
        ``(forward, infers)``, see `Whitened`.
    place : tuple
        ``(order, coef, precision, accept, reject, groups)``, see `pasb.moves.move`.
    known : tuple
        ``(gaussians, stick_keys)``: packed approximations, (sticks, packed size), and the sorted
        keys by which `find_stick` finds them; all but the first empty where all sticks are known.
    cached : tuple
        ``(known, slope, sums, steps)``, see `pasb.moves.trajectory.follow`.
    space : tuple
        ``(work, scratch, proposed, pair)``: of trajectories; ``(roles, sticks, gaussian_of)`` of
        shapes (groups), (4, 3), (4); coefficients of a proposal; of stretches.
    tally : tuple
        ``(counted, n_bounded)``, of shapes (9,) and (1,): `STATISTICS`, and the precisions of
        sticks that are at a bound in the end.
    keys : tuple of (seed, chain, sweep)
    """
    forward, infers = settings
    order, coef, precision, accept, reject, groups = place
    gaussians, stick_keys = known
    work, scratch, proposed, pair = space
    counted, n_bounded = tally
    roles, sticks, gaussian_of = scratch
    n_categories, n = coef.shape
    last = n_categories - 1
    stop, go_on = (SUCCESS, FAILURE) if forward else (FAILURE, SUCCESS)
    work[0][n:] = 0.0
    behind = (1 << n_categories) - 1 if infers else 0
    for stick in range(last):
        c = order[stick]
        behind &= ~(1 << c)
        number = find_stick(stick_keys, c, behind) if infers else stick
        if number < 0:
            continue
        assign_roles(order, stick, stop, go_on, ABSENT, groups, roles)
        at = (number, roles, stick)
        rows = (work, proposed[0], pair)
        follow_stick(regression, gaussians, at, place, cached, rows, counted, keys)
    if infers:
        if knows_no_sign(regression[1]):
            mirror_last(place, stick_keys, cached, counted, keys)
        for proposal in range(last):
            a = swap_neighbours(
                regression, forward, place, known, proposed, keys, proposal, sticks, gaussian_of
            )
            counted[SWAPS] += 1
            if a >= 0:
                counted[SWAPS_KEPT] += 1
                cached[0][order[a]] = cached[0][order[a + 1]] = -1
    n_bounded[0] += n_at_bounds(precision, order[:last], LEAST_PRECISION, GREATEST_PRECISION)
    return order_log_likelihood(accept, reject, groups, order)


@kernel
def follow_stick(regression, gaussians, at, place, cached, rows, counted, keys):
    """Stretch a stick where that helps, and follow a trajectory of it.

    `at` is the number of its approximation, the roles of the rows, and the stick; `rows` is work
    space of trajectories and of stretches. `gaussians` are the packed approximations, (sticks,
    packed size); `regression`, `place`, `cached`, `counted` and `keys` are as for `whitened_sweep`.
    """
    number, roles, stick = at
    work, padded, pair = rows
    order, coef, _, _, _, _ = place
    known, _, _, steps = cached
    c, n = order[stick], coef.shape[1]
    gaussian = gaussians[number]
    if steps[number] == 0:
        steps[number] = enough_steps(regression, gaussian, roles, work)
        work[0][n:] = 0.0
    if steps[number] > FEWEST and n <= MOST_STRETCHED:
        key = stream_key(*keys, stick, NO_EXPERT, STRETCH)
        accepted = stretch(regression, work[0], pair[0], roles, N_STRETCHES, key, coef[c])
        counted[STRETCHES] += N_STRETCHES
        if bend_of(gaussian)[0] == 0.0:
            key = stream_key(*keys, stick, ALONG, STRETCH)
            along = (N_ALONG, key, coef[c])
            accepted += stretch_along(regression, gaussian, padded, pair, roles, *along)
            counted[STRETCHES] += N_ALONG
        if accepted > 0:
            known[c] = -1
        counted[STRETCHES_KEPT] += accepted
    n_steps, accepted = follow(
        regression, gaussian, number, roles, stick, place, cached, work, keys
    )
    counted[TRAJECTORIES] += 1
    counted[TRAJECTORIES_KEPT] += accepted
    counted[STEPS_TAKEN] += n_steps


@kernel
def mirror_last(place, stick_keys, cached, counted, keys):
    """The mirror image, and what is cached of it.

    `place`, `cached`, `counted` and `keys` are those of `whitened_sweep`, `stick_keys` those of
    the sticks that are known.
    """
    order, coef, precision, accept, reject, groups = place
    known, slope, sums, _ = cached
    counted[MIRRORS] += 1
    if mirror(order, coef, precision, keys):
        d, c = order[-2], order[-1]
        slope[d] = -slope[c]
        sums[d] = sums[c]
        known[d] = find_stick(stick_keys, d, 1 << c)
        if groups[0].shape[0] > 0:
            keep_group_sums(accept, reject, groups[0], d, sums[d])
        else:
            accept[d, d] = sums[d, d]
            reject[d, c] = sums[d, c]
        counted[MIRRORS_KEPT] += 1
