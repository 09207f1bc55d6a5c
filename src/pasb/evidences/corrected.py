"""The log-evidence of a stick from its normal approximation, and what that misses added to it."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.binary.laplace import Laplace
from pasb.binary.linear import LinearModel
from pasb.evidences.importance import ImportanceSampler
from pasb.evidences.prior_tails import missing_tails
from pasb.numerics.rows import Rows

N_IMPORTANCE = 512  # draws, where a normal approximation may err by more than a little


def has_evidences(binary: BinaryModel) -> bool:
    """Whether normal approximations tell the evidence of a stick; not under a horseshoe prior."""
    return not (isinstance(binary, LinearModel) and getattr(binary.prior, "shrinks", False))


def corrected_evidence(
    binary: BinaryModel, rows: Rows, n_importance: int = N_IMPORTANCE
) -> Callable[[Laplace, NDArray[np.int8]], float]:
    """From the normal approximation of a stick and its roles to its log-evidence.

    Parameters
    ----------
    binary : BinaryModel
    rows : Rows
    n_importance : int
        Draws by which an approximation is corrected where it may err by more than a little; 0 for
        none. Elsewhere only the tails of t priors are added.
    """
    even = isinstance(n_importance, Integral) and n_importance >= 0 and n_importance % 2 == 0
    if not even:
        raise ValueError(f"n_importance must be an even number, or 0; got {n_importance!r}")
    linear = isinstance(binary, LinearModel)
    draws = ImportanceSampler(binary, rows, n_importance) if linear and n_importance else None

    def evidence_of(found: Laplace, roles: NDArray[np.int8]) -> float:
        if draws is not None and draws.is_needed(roles):
            return draws.log_evidence(found, roles)[0]
        return found.log_evidence + (missing_tails(found, binary.prior) if linear else 0.0)

    return evidence_of
