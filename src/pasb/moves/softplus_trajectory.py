"""Trajectories of softplus sticks on the posterior with all latents integrated out.

Changes coefficients, weights, rates, gamma_0 and c_0 of the categories on sticks, and draws their
precisions given the rest. A trajectory without a U-turn (`pasb.moves.no_u_turn`) leaves the
posterior of a stick invariant, and so do precisions from their full conditional. Gibbs updates
take small steps because latents and coefficients hold each other; this move has no latents.
Applies to softplus models with ``moves="mixed"``, under the exact scheme. Costs up to 256 gradients
a stick, each a pass over its rows (`benchmarks/softplus_trajectories.py`); sticks run side by side
where there are idle threads.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.softplus_kernels import mark_rows
from pasb.binary.softplus_posterior import position_of, take_position
from pasb.binary.softplus_prior import ALL, draw_precisions
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.moves.move import Move, State
from pasb.moves.no_u_turn import MOST_DOUBLINGS, no_u_turn
from pasb.numerics.adaptation import adapt, metric_and_step, window_ends
from pasb.numerics.helpers import Task, TaskRunner
from pasb.numerics.rows import BLOCK, Rows
from pasb.sticks import ABSENT, Roles

# mypy: disable-error-code="call-arg"


class SoftplusTrajectory(Move):
    """A trajectory of every stick.

    Parameters
    ----------
    sampler : SoftplusSampler
    roles : Roles
        Of rows on a stick; those that stopped before take no part, imputed or not.
    n_warmup : int
        Sweeps in which step and metric are adapted; after them they stay as they are.
    run : TaskRunner
    """

    statistics = ("no_u_turn_gradients", "no_u_turn_moved", "no_u_turn_divergences")

    def __init__(self, sampler: SoftplusSampler, roles: Roles, n_warmup: int, run: TaskRunner):
        super().__init__()
        self.sampler, self.run = sampler, run
        self.roles = roles._replace(before=ABSENT)
        self.n_warmup, self.window_ends = n_warmup, window_ends(n_warmup)
        model = sampler.model
        shape = float(model.shape) if sampler.ard else float(model.precision)
        self.prior = (sampler.ard, shape, sampler.rate_prior, sampler.hypers)

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        found = np.zeros((len(state.order), len(self.statistics)), dtype=np.int64)
        tasks: list[Task] = []
        for stick, category in enumerate(state.order[:-1].tolist()):
            own = {name: values[category] for name, values in state.parameters.items()}
            roles = self.roles.on_stick(state.order, stick)
            tasks.append(partial(self._follow, own, roles, stick, keys, found[stick]))
        self.run(tasks)
        self.counted += found.sum(axis=0)

    def _follow(
        self,
        own: Parameters,
        roles: NDArray[np.int8],
        stick: int,
        keys: Keys,
        found: NDArray[np.int64],
    ) -> None:
        """One trajectory; what it did is counted in `found`."""
        sampler, rows = self.sampler, self.sampler.rows
        record = own["adaptation"]
        adapts = 0 < keys.sweep <= self.n_warmup
        inverse_mass, step = metric_and_step(record, adapts)
        # sticks of the other moves are numbered up to the number of categories
        name = stick + 2 * rows.n_categories
        position = position_of(own)
        before = position.copy()
        kind = ("softplus", *sampler.size, "trajectory")
        with rows.spaces.lent(kind, partial(_space, rows, sampler.size, len(position))) as space:
            labels, used, work, ends, saved = space
            mark_rows(rows.bounds, roles, labels, used)
            n_gradients, acceptance, diverged = no_u_turn(
                (rows.blocks, labels, used),
                self.prior,
                work,
                inverse_mass,
                step,
                keys.at(name),
                ends,
                saved,
                position,
            )
        found[:] = n_gradients, (position != before).any(), diverged
        if adapts and n_gradients > 0:
            adapt(record, position, acceptance, keys.sweep, self.n_warmup, self.window_ends)
        take_position(position, own, bool(sampler.rate_prior[0] > 0))
        if sampler.ard:
            # rates are part of the position
            no_rates = np.zeros(2)
            given = own["coef"], ALL, sampler.shape, no_rates, *keys, name
            draw_precisions(*given, own["precision"], own["rate"])


def _space(rows: Rows, size: tuple[int, int, int], n: int) -> tuple:
    """Labels, used blocks, the work space of the log-posterior, and scratch of a trajectory."""
    n_blocks, n_padded, _ = rows.blocks.shape
    n_experts, n_layers, n_columns = size
    work = (
        np.zeros((n_experts * n_layers, n_padded)),
        np.zeros((n_experts * n_layers, n_padded)),
        np.zeros((n_experts, n_layers, BLOCK)),
        np.zeros((n_experts, n_layers + 1, BLOCK)),
        n_columns,
    )
    return (
        np.zeros(n_blocks * BLOCK, dtype=np.int8),
        np.zeros(n_blocks, dtype=np.bool_),
        work,
        np.zeros((2, 3, n)),
        np.zeros((2, MOST_DOUBLINGS + 1, n)),
    )
