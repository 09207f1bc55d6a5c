"""Whether the draws of a run fit into memory, asked before anything takes time."""

from __future__ import annotations

import math
import os

from pasb.binary.binary_model import BinaryModel


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
