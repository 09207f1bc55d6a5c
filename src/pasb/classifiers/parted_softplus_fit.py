"""Fit softplus models to tables that are not held in memory."""

from __future__ import annotations

from typing import Any

from pasb.binary.softplus_sampler import NO_WEIGHTS
from pasb.classifiers.parted_fit import PartedFit
from pasb.covariates.parts import has_weights
from pasb.covariates.rows_elsewhere import is_elsewhere
from pasb.engines.device import array_module
from pasb.engines.parted_softplus import PartedSoftplus
from pasb.engines.row_blocks import RowBlocks
from pasb.errors import EngineError
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.row_sums import RowSums


class PartedSoftplusFit(PartedFit):
    """A softplus classifier that can leave its rows where they are."""

    _at_hand = ("cpu", "cuda")
    _parted_engine = PartedSoftplus
    _n_cells = 0  # of the present fit: rows times columns times sticks

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any = None, availability: Any = None
    ) -> tuple[list[Problem], Schedule]:
        whole = isinstance(self.engine, str) and self.engine == "cuda" and not is_elsewhere(X)
        if self._leaves_rows and not whole:
            blocks = RowBlocks.of(self.engine)
            if blocks.device == "cuda" and blocks.client is not None:
                raise EngineError(
                    "softplus models use one GPU, not those of workers: leave out client, or device"
                )
        if whole:
            array_module()  # complains if there is no GPU
        return super()._prepare(X, y, sample_weight, availability)

    def _problems_of(self, row_sums: RowSums) -> list[Problem]:
        if any(row_sums.map(has_weights, [None] * len(row_sums.bounds))):
            raise ValueError(NO_WEIGHTS)
        problems = super()._problems_of(row_sums)
        self._n_cells = row_sums.n_rows * row_sums.n_columns * (len(self.classes_) - 1)
        return problems
