"""How well some rows speak for the sticks of a fitted model: a log-evidence for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.evidences.corrected import corrected_evidence, has_evidences
from pasb.evidences.evidences import members
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows
from pasb.posterior.fitted import Fitted
from pasb.sampling.problem import Problem
from pasb.sticks import Direction


class StickEvidences:
    """Log-evidences of sticks, worked out when they are asked for.

    That of a stick is the log marginal likelihood of how it divides the rows that reach it, under
    the prior of the model, as `pasb.order_evidence` has it. NaN where it is not defined: under a
    horseshoe prior, with more columns than a normal approximation is for, for binary models without
    one, and where the model was fitted with availability or the rows have some.

    Parameters
    ----------
    fitted : Fitted
    direction : {"forward", "reverse"}
    inner, categories : array
        Rows in the binary model's columns, and their categories.
    available : boolean array of shape (n_rows, n_classes), optional
        What each row could choose.
    """

    def __init__(
        self,
        fitted: Fitted,
        direction: Direction,
        inner: NDArray[np.float64],
        categories: NDArray[np.int64],
        available: NDArray[np.bool_] | None = None,
    ):
        binary = fitted.binary
        self._known: dict[tuple[int, int], float] = {}
        self._ties = fitted.last_two_tie
        self._store = None
        given = available is not None or fitted.watched.available is not None
        if given or not has_evidences(binary):
            return
        with one_blas_thread():
            rows = Rows.of(inner, categories, len(fitted.classes))
            self._store = Problem(rows, binary, direction).approximations()
            if self._store is not None:
                self._evidence_of = corrected_evidence(binary, rows)

    def of_order(self, order: NDArray[np.int64]) -> NDArray[np.float64]:
        """Those of the sticks of an order; NaN where they are not defined."""
        found = np.full(len(order) - 1, np.nan)
        if self._store is None:
            return found
        with one_blas_thread():
            for stick, category in enumerate(order[:-1]):
                found[stick] = self._of(int(category), members(order[stick + 1 :]))
            if self._ties:  # approximations of the two forms differ a little
                found[-1] = 0.5 * (found[-1] + self._of(int(order[-1]), members(order[-2:-1])))
        return found

    def _of(self, category: int, later: int) -> float:
        value = self._known.get((category, later))
        if value is None:
            assert self._store is not None
            roles = self._store.roles(category, later)
            value = self._evidence_of(self._store.sampler.approximate(roles, None), roles)
            self._known[category, later] = value
        return value
