"""The update of one stick of a softplus model, cut into tasks for several threads.

First the arrivals of all experts, then the experts, each by itself, and when the last of them
is done what depends on all: weights, their mass and scale, precisions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.softplus_kernels import (
    LATENTS,
    NO_EXPERT,
    draw_arrivals,
    mark_rows,
    update_expert,
)
from pasb.binary.softplus_link import log_weights
from pasb.numerics.helpers import Task
from pasb.numerics.rows import BLOCK, Rows

if TYPE_CHECKING:
    from pasb.binary.softplus_sampler import SoftplusSampler

Arrays = tuple[NDArray, ...]

# mypy: disable-error-code="call-arg"


class StickUpdate:
    """One update of the parameters of one category.

    Parameters
    ----------
    sampler : SoftplusSampler
    own : dict of arrays
        The parameters of the category, changed in place.
    off : array of bool
        Experts that are passed over.
    stick : int
    roles : array
        What the rows of each category are on this stick.
    keys : Keys
    """

    #: numbers that an update of an expert adds up: active rows, exposure
    n_sums = 2

    def __init__(
        self,
        sampler: SoftplusSampler,
        own: Parameters,
        off: NDArray[np.bool_],
        stick: int,
        roles: NDArray[np.int8],
        keys: Keys,
    ):
        self.sampler, self.own, self.off = sampler, own, off
        self.stick, self.roles, self.keys = stick, roles, keys
        self.kind = ("softplus", *sampler.size)
        self.n_left = int(np.sum(~off))
        self.lock = threading.Lock()

    def begin(self) -> Iterable[Task]:
        """Draw the arrivals; then the experts can be updated."""
        rows, size = self.sampler.rows, self.sampler.size
        self.work: Any = rows.spaces.take((*self.kind, "stick"), partial(_stick_space, rows, size))
        self.sums = np.zeros((self.n_sums, size[0]))
        self.log_weight = log_weights(np.where(self.off, 0.0, self.own["weight"]))
        labels, used, flags, padded_coef, *scratch = self.work
        mark_rows(rows.bounds, self.roles, labels, used)
        padded_coef[:, : size[2]] = self.own["coef"].reshape(-1, size[2])
        key = self.keys.at(self.stick, NO_EXPERT, LATENTS)
        draw_arrivals(rows.blocks, labels, used, padded_coef, self.log_weight, key, *scratch, flags)
        return [partial(self.expert, int(k)) for k in np.flatnonzero(~self.off)]

    def expert(self, k: int) -> None:
        """Update the coefficients of one expert; the last one updates what they share."""
        rows, size, own = self.sampler.rows, self.sampler.size, self.own
        labels, used, flags = self.work[:3]
        sums = np.empty(self.n_sums)
        with rows.spaces.lent((*self.kind, "expert"), partial(expert_space, rows, size)) as work:
            n_qr, n_frozen = update_expert(
                (rows.blocks, labels, flags[k // 8], used),
                work,
                (own["weight"][k], self.log_weight[k]),
                own["precision"][k],
                tuple(self.keys),
                self.stick,
                k,
                own["coef"][k],
                sums,
            )
        self.ended(k, sums, n_qr, n_frozen)

    def ended(self, k: int, sums: NDArray[np.float64], n_qr: int, n_frozen: int) -> None:
        """Take the sums of an expert; after the last one, update what they share."""
        with self.lock:
            self.sums[:, k] = sums
            self.n_left -= 1
            last = self.n_left == 0
        self.sampler.count("qr_fallbacks", n_qr)
        self.sampler.count("frozen_rows", n_frozen)
        if last:
            self.give_back()
            self.sampler.finish(self.own, self.off, self.sums, self.keys, self.stick)

    def give_back(self) -> None:
        """Give the work space of the stick back."""
        self.sampler.rows.spaces.give((*self.kind, "stick"), self.work)


def _stick_space(rows: Rows, size: tuple[int, int, int]) -> Arrays:
    """Labels, used blocks, flags of experts, coefficients, and the scratch of `draw_arrivals`."""
    n_blocks, n_padded, _ = rows.blocks.shape
    n_experts, n_layers, _ = size
    return (
        np.zeros(n_blocks * BLOCK, dtype=np.int8),
        np.zeros(n_blocks, dtype=np.bool_),
        np.zeros((-(-n_experts // 8), n_blocks * BLOCK), dtype=np.uint8),
        np.zeros((n_experts * n_layers, n_padded)),
        np.zeros((n_layers, BLOCK)),
        np.zeros((n_experts, BLOCK)),
        np.zeros((3, n_experts)),
        np.zeros(n_experts, dtype=np.int8),
    )


def reserve_spaces(
    rows: Rows,
    size: tuple[int, int, int],
    n: int,
    stick: tuple[str, Callable[..., Arrays]] = ("stick", _stick_space),
) -> None:
    """Work space for `n` updates at the same time; `size` is experts, layers and columns."""
    for name, make in (stick, ("expert", expert_space)):
        rows.spaces.reserve(("softplus", *size, name), n, partial(make, rows, size))


def expert_space(rows: Rows, size: tuple[int, int, int]) -> Arrays:
    """The work space of `update_expert`; small arrays find room that others left free.

    Which rows of a block are active; of all rows the log of the exposure, and theta of the layers
    above the first; a weighted block; Gram matrix and linear term, padded; scale, factor and step
    of the normal draw; padded coefficients; and for every layer of a block psi, log q and q, which
    has two rows more.
    """
    n_blocks, n_padded, _ = rows.blocks.shape
    _, n_layers, n = size
    return (
        np.zeros(BLOCK, dtype=np.int8),
        np.zeros(n_blocks * BLOCK),
        np.zeros((n_layers - 1, n_blocks * BLOCK)),
        np.zeros((n_padded, BLOCK)),
        np.zeros((n_padded, n_padded)),
        np.zeros(n_padded),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros(n),
        np.zeros((n_layers, n_padded)),
        np.zeros((n_layers, BLOCK)),
        np.zeros((n_layers, BLOCK)),
        np.zeros((n_layers + 2, BLOCK)),
    )
