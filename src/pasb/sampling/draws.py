"""What a run kept of its chains, chain by chain and draw by draw, and the room it takes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.sampling.chain import Chain
from pasb.sticks import Direction

#: why a run ended: all was done; a user or callback stopped it, or did so in the warm-up, before
#: there were draws; its time was spent; or the draws were good enough
Ending = Literal["finished", "interrupted", "warm-up", "time", "until"]


@dataclass(frozen=True)
class Draws:
    """What a run kept: arrays with the axes (chain, draw, ...).

    Attributes
    ----------
    parameters : dict of array of shape (n_chains, n_draws, n_classes, ...)
        Those of the stick that each class has in a draw, by name, on the sampler's own scale;
        `posterior_` has them on the scale of the covariates.
    directions : tuple of {"forward", "reverse"}
        Of each chain.
    order : array of shape (n_chains, n_draws, n_classes)
        Numbers of the classes in `classes_`, first stick to last.
    log_likelihood : array of shape (n_chains, n_draws)
    statistics : dict of array of shape (n_chains, n_draws)
        What moves counted since the draw before: proposed, accepted, steps.
    guards : dict of int
        How often each numerical guard fired.
    n_warmup : int
        Sweeps of warm-up that were done.
    n_asked : int
        Draws of each chain, at most.
    thin : int
        Sweeps from one draw to the next.
    ended : {"finished", "interrupted", "warm-up", "time", "until"}
        Why the run ended.
    """

    parameters: dict[str, NDArray[np.float64]]
    directions: tuple[Direction, ...]
    order: NDArray[np.int64]
    log_likelihood: NDArray[np.float64]
    statistics: dict[str, NDArray[np.int32]]
    guards: dict[str, int]
    n_warmup: int
    n_asked: int
    thin: int = 1
    ended: Ending = "finished"
    # what others computed from these draws and need again; not copied or saved with them
    memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        """A line: the arrays would be thousands."""
        n_chains, n_draws = self.log_likelihood.shape
        names = ", ".join(self.parameters)
        return f"Draws(chains={n_chains}, draws={n_draws}, of {names}, ended={self.ended!r})"

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle holds."""
        return {**self.__dict__, "memo": {}}

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its end; the draws are fewer than was asked for."""
        return self.ended in ("interrupted", "warm-up", "time")

    def sort_last_two(self) -> None:
        """Put the lower of the last two categories first in all draws of a symmetric model.

        Swapping the last two categories and the sign of the last stick's coefficients
        changes no probability; with one of the two forms for all draws, a coefficient
        means the same in each of them.
        """
        self.memo.clear()
        for order, coef in zip(self.order, self.parameters["coef"], strict=True):
            flipped = np.flatnonzero(order[:, -2] > order[:, -1])
            c, d = order[flipped, -2], order[flipped, -1]
            coef[flipped, d] = -coef[flipped, c]
            order[flipped, -2], order[flipped, -1] = d, c

    def best(self) -> Draws:
        """The draw with the highest likelihood of each direction, as a chain of one draw."""
        chains, draws = [], []
        for direction in dict.fromkeys(self.directions):
            mine = self.of_direction(direction)
            chain, draw = divmod(int(np.argmax(self.log_likelihood[mine])), self.n_draws)
            chains.append(int(mine[chain]))
            draws.append(draw)
        return replace(
            self,
            parameters={k: v[chains, draws][:, None] for k, v in self.parameters.items()},
            directions=tuple(self.directions[chain] for chain in chains),
            order=self.order[chains, draws][:, None],
            log_likelihood=self.log_likelihood[chains, draws][:, None],
            statistics={k: v[chains, draws][:, None] for k, v in self.statistics.items()},
        )

    def spread(self, n: int) -> NDArray[np.int64]:
        """Numbers of `n` draws, all chains one after the other: evenly spaced in every chain."""
        shares = np.diff(np.arange(self.n_chains + 1) * n // self.n_chains)
        return np.concatenate(
            [
                chain * self.n_draws
                + ((np.arange(own) + 0.5) * self.n_draws / own).astype(np.int64)
                for chain, own in enumerate(shares)
                if own
            ]
        )

    def thinned(self, n: int) -> Draws:
        """So many draws of each chain, evenly spaced."""
        kept = self.spread(n * self.n_chains)[:n]  # the same of every chain
        return replace(
            self,
            parameters={name: values[:, kept] for name, values in self.parameters.items()},
            order=self.order[:, kept],
            log_likelihood=self.log_likelihood[:, kept],
            statistics={name: values[:, kept] for name, values in self.statistics.items()},
        )

    def of_chain(self, chain: int) -> Draws:
        """One of the chains, as views."""
        return self.of_chains(slice(chain, chain + 1))

    def of_chains(self, only: slice) -> Draws:
        """Some of the chains, as views."""
        return replace(
            self,
            parameters={name: values[only] for name, values in self.parameters.items()},
            directions=self.directions[only],
            order=self.order[only],
            log_likelihood=self.log_likelihood[only],
            statistics={name: values[only] for name, values in self.statistics.items()},
        )

    def of_direction(self, direction: Direction) -> NDArray[np.int64]:
        """The chains that break sticks in one direction."""
        return np.flatnonzero(np.array(self.directions) == direction)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.order.shape[0]

    @property
    def n_draws(self) -> int:
        """Draws of each chain."""
        return self.order.shape[1]


def collect(
    chains: list[Chain],
    trace: dict[str, NDArray],
    ended: Ending = "finished",
    n_draws: int | None = None,
) -> Draws:
    """The draws that all chains of a run have, from the arrays that the chains fill.

    Parameters
    ----------
    chains : list of Chain
    trace : dict of str to array
        What `pasb.sampling.chain.empty_trace` made for these chains.
    ended : Ending
        Why the run ended.
    n_draws : int, optional
        Keep so many of each chain; by default as many as all of them have.
    """
    thin = max(chain.thin for chain in chains)
    for chain in chains:  # they differ if an interrupt was followed by another one
        chain.thin_to(thin)
    if n_draws is None:
        n_draws = min(chain.n_kept for chain in chains)
        if all(chain.finished for chain in chains):
            ended = "finished"
    if n_draws == 0:
        # the states reached, so that one can look at them; they are no draws
        for chain in chains:
            chain.keep(0)
        n_draws, ended = 1, "warm-up"
    views = first_draws(chains, trace, n_draws)
    # a copy only where some draws were not made
    return replace(
        views,
        parameters={k: np.ascontiguousarray(values) for k, values in views.parameters.items()},
        order=np.ascontiguousarray(views.order),
        log_likelihood=np.ascontiguousarray(views.log_likelihood),
        ended=ended,
    )


def first_draws(chains: list[Chain], trace: dict[str, NDArray], n_draws: int) -> Draws:
    """The first draws of each chain, as views of the arrays that the chains fill."""
    kept = {name: values[:, :n_draws] for name, values in trace.items()}
    guards: dict[str, int] = {}
    for chain in chains:
        for name, count in chain.guards.items():
            guards[name] = guards.get(name, 0) + count
    schedule = chains[0].schedule
    return Draws(
        directions=tuple(chain.problem.direction for chain in chains),
        order=kept.pop("order"),
        log_likelihood=kept.pop("log_likelihood"),
        statistics=_by_name(chains[0].tally.names, kept.pop("statistics")),
        parameters=kept,
        guards=guards,
        n_warmup=min(schedule.n_warmup, min(chain.n_done for chain in chains)),
        n_asked=schedule.n_draws,
        thin=chains[0].thin,
    )


def _by_name(names: Sequence[str], counts: NDArray[np.int32]) -> dict[str, NDArray[np.int32]]:
    """Counts (chain, draw) by name; what two moves counted under one name is added up."""
    out: dict[str, NDArray[np.int32]] = {}
    for k, name in enumerate(names):
        out[name] = out[name] + counts[..., k] if name in out else counts[..., k].copy()
    return out


def check_room(
    model: BinaryModel, n_columns: int, n_categories: int, n_chains: int, n_draws: int
) -> None:
    """Refuse more draws than this machine has memory for.

    Parameters
    ----------
    model : BinaryModel
    n_columns, n_categories : int
    n_chains, n_draws : int
        Chains in all, and draws of each.
    """
    own = sum(math.prod(shape) for shape in model.shapes(n_columns).values())
    of_a_draw = 8 * n_chains * (n_categories * (own + 1) + 1)  # parameters, order, log-likelihood
    needed, room = n_draws * of_a_draw, memory()
    if room is not None and needed > room:
        raise ValueError(
            f"n_draws={n_draws} would take {needed / 2**30:,.0f} GiB of memory with {n_chains} "
            f"chains, and this machine has {room / 2**30:,.0f}: at most {room // of_a_draw} draws "
            "of each fit. Draw fewer, use fewer chains, or keep every few sweeps only (thin)"
        )


def memory() -> int | None:
    """Bytes of memory of this machine, where it tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
