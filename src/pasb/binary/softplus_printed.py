"""The printed update of softplus regression, for ``scheme="paper"``.

The paper prints the hierarchy (`eq:DICLR_model`) and takes the sampler from Zhou (2016). In a
row with the label b, for every expert k of weight r_k and with theta_(T+1) = r_k,

    theta_t ~ Gamma(theta_(t+1), scale exp(psi_t)),  t = T..1,
    m_k ~ Poisson(theta_1),  b = 1 where the sum of the m_k is not zero.

With m_1 = m_k and m_(t+1) ~ CRT(m_t, theta_(t+1)), and with theta_1, ..., theta_t integrated
out, m_(t+1) ~ Poisson(theta_(t+1) q_t), and m_t given m_(t+1) does not depend on theta_(t+1).
So one update is

1. downward, t = T..1: theta_t ~ Gamma(theta_(t+1) + m_t, scale exp(psi_t - q_t)), given the
   counts of the update before;
2. the sum of the counts m_k of a success from a Poisson distribution of the rate sum_k theta_1
   given that it is not zero, split over the experts in proportion to theta_1; zero in a failure;
3. upward, t = 1..T: w ~ PG(m_t + theta_(t+1), psi_t + log q_(t-1)), coefficients with precision
   diag(alpha) + X'WX and linear term X'((m_t - theta_(t+1)) / 2 - w log q_(t-1)), and
   m_(t+1) ~ CRT(m_t, theta_(t+1)); theta_t is integrated out from here on;
4. with L_k and Q_k the sums of m_(T+1) and q_T: gamma_0 by CRT(L_k, gamma_0 / K) with the
   weights integrated out, then r_k ~ Gamma(gamma_0 / K + L_k, rate c_0 + Q_k), then c_0; then
   the precisions.

**Order of the steps.** The paper does not print the order of step 4. Here it is the one that
leaves the posterior invariant: gamma_0 is drawn with the weights integrated out, so the weights
must follow it at once. Published code for the binary model has another order, and with it another
stationary distribution (`tests/binary/test_softplus.py` tells them apart).

**Labels that change.** The counts of an update belong to its labels. Orders and imputed labels
are drawn with all latents integrated out, so a row that was no success before, or whose label is
imputed, gets theta and counts from their exact joint distribution, by the first arrivals
of `pasb.binary.softplus`. All other successes start from their own counts, as printed.

So the update leaves the posterior of a stick invariant, as ours does
(`tests/binary/test_softplus_printed.py`); what is not exact under ``scheme="paper"`` is the part
of the reference in the swaps. It takes smaller steps: Polya-Gamma variables have the shape
theta + m where ours have theta + 1, and the counts hold the coefficients where they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.softplus_kernels import mark_rows
from pasb.binary.softplus_link import log_weights
from pasb.binary.softplus_printed_kernels import draw_counts, update_expert
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.binary.softplus_update import StickUpdate, expert_space, reserve_spaces
from pasb.numerics.helpers import Task
from pasb.numerics.rows import BLOCK, Rows

if TYPE_CHECKING:
    from pasb.binary.softplus import Softplus

# mypy: disable-error-code="call-arg"


class PrintedUpdate(StickUpdate):
    """One printed update of the parameters of one category."""

    n_sums = 3

    def begin(self) -> Iterable[Task]:
        """Draw theta and the counts of the lowest layer; then the experts can be updated."""
        rows, size = self.sampler.rows, self.sampler.size
        self.work = rows.spaces.take((*self.kind, "printed"), partial(stick_space, rows, size))
        self.sums = np.zeros((self.n_sums, size[0]))
        labels, used, self.thetas, padded_coef, *work = self.work
        mark_rows(rows.bounds, self.roles, labels, used)
        padded_coef[:, : size[2]] = self.own["coef"].reshape(-1, size[2])
        draw_counts(
            (rows.blocks, labels, used),
            padded_coef,
            log_weights(np.where(self.off, 0.0, self.own["weight"])),
            tuple(self.keys),
            self.stick,
            (self.off, *work),
            self.own["counts"],
            self.thetas,
        )
        return [partial(self.expert, int(k)) for k in np.flatnonzero(~self.off)]

    def expert(self, k: int) -> None:
        """Update the coefficients of one expert; the last one updates what they share."""
        rows, size, own = self.sampler.rows, self.sampler.size, self.own
        labels, used = self.work[:2]
        sums = np.empty(self.n_sums)
        with rows.spaces.lent((*self.kind, "expert"), partial(expert_space, rows, size)) as space:
            n_qr, n_frozen = update_expert(
                (rows.blocks, labels, used),
                (*space[:2], self.thetas[k], *space[3:]),
                own["weight"][k],
                own["precision"][k],
                tuple(self.keys),
                self.stick,
                k,
                own["coef"][k],
                own["counts"][k],
                sums,
            )
        self.ended(k, sums, n_qr, n_frozen)

    def give_back(self) -> None:  # noqa: D102
        self.sampler.rows.spaces.give((*self.kind, "printed"), self.work)


class PrintedSampler(SoftplusSampler):
    """The sampler of one chain that makes printed updates.

    Its parameters have one array more: ``counts``, (categories, experts, layers, rows), those
    of successes. They are latents, but the next update starts from them.
    """

    updates = PrintedUpdate

    def __init__(self, model: Softplus, rows: Rows):
        super().__init__(model, rows)
        n_rows = len(rows.blocks) * BLOCK
        self.counts_shape = (rows.n_categories, *self.size[:2], n_rows)

    def reserve(self, n_threads: int) -> None:  # noqa: D102
        reserve_spaces(self.rows, self.size, n_threads, ("printed", stick_space))

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        return {**super().start(keys), "counts": np.zeros(self.counts_shape)}

    def resume(self, parameters: Parameters) -> None:
        """As ever; parameters without counts are those of rows that are all new."""
        super().resume(parameters)
        parameters.setdefault("counts", np.zeros(self.counts_shape))

    def finish(
        self,
        own: Parameters,
        off: NDArray[np.bool_],
        sums: NDArray[np.float64],
        keys: Keys,
        stick: int,
    ) -> None:
        """The weights see the counts above all layers, not the number of active rows."""
        n_active, exposure, counts = sums
        super().finish(own, off, np.array([counts, exposure]), keys, stick)
        own["active"][:] = n_active

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        super().draw_prior(parameters, category, stick, keys)
        parameters["counts"][category] = 0.0


def stick_space(rows: Rows, size: tuple[int, int, int]) -> tuple:
    """The work space of an update of one stick.

    Labels, used blocks, theta above the lowest layer, coefficients; for `draw_counts` predictors,
    log q and q of a block; those, counts and theta of a row; what else has a number for each
    expert; and which of them are active.
    """
    n_blocks, n_padded, _ = rows.blocks.shape
    n_experts, n_layers, _ = size
    return (
        np.zeros(n_blocks * BLOCK, dtype=np.int8),
        np.zeros(n_blocks, dtype=np.bool_),
        np.zeros((n_experts, n_layers - 1, n_blocks * BLOCK)),
        np.zeros((n_experts * n_layers, n_padded)),
        *(np.zeros((n_experts * n_layers, BLOCK)) for _ in range(3)),
        np.zeros((5, n_experts, n_layers)),
        np.zeros((4, n_experts)),
        np.zeros(n_experts, dtype=np.int8),
    )
