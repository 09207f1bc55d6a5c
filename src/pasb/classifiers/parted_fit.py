"""Fit tables that are not held in memory: collections of Dask, Parquet files, mapped arrays."""

from __future__ import annotations

import os
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from pasb.classifiers.stick_classifier import StickClassifier
from pasb.covariates.checking import checked_table
from pasb.covariates.dask_source import DaskSource
from pasb.covariates.parquet_source import ParquetSource
from pasb.covariates.part_availability import groups_of
from pasb.covariates.part_scan import Look, class_factors, scaling_of, united
from pasb.covariates.parts import PartPlan, cut
from pasb.covariates.prior_scale import MOST_ROWS
from pasb.covariates.rows_elsewhere import is_dask, is_elsewhere
from pasb.covariates.table_sources import ArraySource, TableSource
from pasb.engines.cost import FitCost
from pasb.engines.parted import PartedEngine, check_problem
from pasb.engines.row_blocks import RowBlocks
from pasb.engines.sweep_cost import Size
from pasb.engines.workshop import bytes_needed, rows_of_a_part
from pasb.numerics.helpers import cores
from pasb.posterior.fitted import MOST_WATCHED, WatchedRows
from pasb.sampling.draws import check_room
from pasb.sampling.engine import Engine
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.progress import phase
from pasb.sampling.row_sums import PartedRows, RowSums, digest_of_all

USUAL_LENGTHS = 64, 256  # sweeps of warm-up and draws: most draws are independent of the last
MOST_VALUES = 10_000  # of labels, beyond which they are no classes


class PartedFit(StickClassifier):
    """A classifier that can leave its rows where they are.

    `fit` does so where `X` is a collection of Dask or a path of Parquet files, and where `engine`
    says so.
    """

    engine: Any = "cpu"
    prior: Any = None
    _parted = False  # whether the present or last fit was one of rows in parts
    _leaves_rows = True  # where they are; False for a kind that needs them in memory
    _at_hand: tuple[str, ...] = ("cpu",)  # engines that hold arrays in memory
    _parted_engine: type[PartedEngine] = PartedEngine

    def __sklearn_clone__(self) -> Any:
        if not self._has_client:
            return super().__sklearn_clone__()
        twin = copy(self)  # a client cannot be copied, and need not be
        twin.engine = RowBlocks(client=self.engine)
        cloned = super(PartedFit, twin).__sklearn_clone__()
        cloned.engine = self.engine
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "engine": "dask"} if self._has_client else state

    @property
    def _has_client(self) -> bool:
        """Whether the engine is the client of a cluster, which cannot be copied."""
        return not isinstance(self.engine, str | RowBlocks)

    def _usual_lengths(self) -> tuple[int, int]:
        return USUAL_LENGTHS if self._parted else super()._usual_lengths()

    def _make_engine(self) -> Engine:
        if self._parted:
            return self._parted_engine(cores(self.n_jobs))
        return super()._make_engine()

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any = None, availability: Any = None
    ) -> tuple[list[Problem], Schedule]:
        at_hand = isinstance(self.engine, str) and self.engine in self._at_hand
        self._parted = self._leaves_rows and (is_elsewhere(X) or not at_hand)
        if not self._parted:
            return super()._prepare(X, y, sample_weight, availability)
        self._start_fit()
        if self.prior is not None:
            raise ValueError(
                "prior needs rows in memory and engine='cpu'; blocks of rows do not know it"
            )
        row_blocks = RowBlocks.of(self.engine)
        model = self._binary_model()
        model.check()
        source = self._source_of(X, y, sample_weight, availability)
        workshop = row_blocks.workshop(cores(self.n_jobs))
        phase("counting rows")
        lengths = workshop.lengths(source)
        if not sum(lengths):
            raise ValueError("X has no rows")
        parts = cut(lengths, rows_of_a_part(sum(lengths)))
        workshop.check_room(source, parts, row_blocks.storage)
        n_rows, n_columns = sum(lengths), len(source.names) + 1
        n_bytes = bytes_needed(n_rows, n_columns - 1, row_blocks.storage)
        cost = FitCost.of_reading(n_rows, n_columns - 1, n_bytes, workshop.n_cores)
        cost.tell()
        phase("looking at the rows")
        look = united(workshop.looks(source, parts))
        library = "polars" if type(X).__module__.startswith("polars") else "pandas"
        self._learn_columns(source, look, library)
        groups = groups_of(look.patterns, source.alternatives, self.classes_)
        factors = class_factors(look, self.class_weight)
        self._scaling = scaling_of(look, factors, self.scale, source.names)
        seen = look.totals > 0
        self._ranges = np.column_stack([look.low[seen].min(axis=0), look.high[seen].max(axis=0)])
        self._fixed_orders()  # complains before anything takes time
        n_chains = self.n_chains * len(self._directions)
        check_room(model, n_columns, len(self.classes_), n_chains, self._lengths()[1])
        n_warmup, n_draws = self._lengths()
        n_sweeps = n_chains * (n_warmup + n_draws * self.thin)
        size = Size(n_rows, n_columns, len(self.classes_))
        infers = isinstance(self.order, str) and self.order == "infer"
        cost.with_classes(model, size, n_sweeps, workshop.n_cores, infers).tell()
        phase("making blocks of rows")
        plan = PartPlan(self.classes_, factors, self._scaling, row_blocks.storage, *groups)
        row_sums = workshop.sums(source, parts, plan)
        return self._problems_of(row_sums), self._schedule(self._run_seed())

    def _source_of(self, X: Any, y: Any, sample_weight: Any, availability: Any) -> TableSource:
        """A table in pieces; for a GPU, tables in memory are read as by `engine="cpu"`."""
        on_gpu = RowBlocks.of(self.engine).device == "cuda"
        if is_elsewhere(X) or isinstance(X, np.ndarray | TableSource) or not on_gpu:
            return source_of(X, y, sample_weight, availability)
        table, labels = checked_table(self, X, y=y, reset=True)
        names = getattr(self, "feature_names_in_", None)
        return ArraySource(table, labels, sample_weight, names, availability)

    def _learn_columns(self, source: TableSource, look: Look, library: str) -> None:
        """Names of columns and classes, as `predict` wants them."""
        if len(look.labels) > MOST_VALUES:
            raise ValueError(
                f"y has {len(look.labels):,} distinct values, which are too many for classes: is "
                "it the right column?"
            )
        self.classes_ = look.labels
        self.n_features_in_ = len(source.names)
        self.__dict__.pop("feature_names_in_", None)
        if source.has_names:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        self._frame_library = library

    def _problems_of(self, row_sums: RowSums) -> list[Problem]:
        """The problem of every chain, and what is learned from a few rows."""
        phase("choosing the prior")
        self._fit_prior(row_sums.at_most(MOST_ROWS))
        self._watched = watched_rows(row_sums)
        digest = "" if self._checkpoint() is None else digest_of_all(row_sums)
        problem = Problem(
            rows=PartedRows.over(row_sums, digest),
            model=self._binary_model(),
            scheme=self.scheme,
            augmented=self.sticks == "augmented",
            n_swaps=self._number_of_swaps(),
            swaps_only=isinstance(self.order, str) and self.order == "swap",
        )
        fixed = self._fixed_orders()
        each = [
            replace(problem, direction=direction, fixed_order=fixed[direction])
            for direction in self._directions
        ]
        check_problem(problem)
        return [problem for problem in each for _ in range(self.n_chains)]


def source_of(X: Any, y: Any, sample_weight: Any, availability: Any = None) -> TableSource:
    """A table in pieces, from what `fit` was given."""
    if isinstance(X, TableSource):
        return X
    if isinstance(X, str | os.PathLike):
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if not isinstance(value, str) and not (value is None and name != "y"):
                raise ValueError(
                    f"{name} must be the name of a column where X is a path; got "
                    f"{type(value).__name__}"
                )
        return ParquetSource(X, y, sample_weight, availability=availability)
    if is_dask(X):
        return DaskSource(X, y, sample_weight, availability)
    if not isinstance(X, np.ndarray):
        raise ValueError(
            "engine='blocks' takes arrays, also mapped from a file with numpy.load(..., "
            f"mmap_mode='r'), Parquet files and collections of Dask, not {type(X).__name__}; "
            "data frames in memory are for engine='cpu'"
        )
    return ArraySource(X, y, sample_weight, availability=availability)


def watched_rows(row_sums: RowSums) -> WatchedRows:
    """The rows that are diagnosed, as `WatchedRows.of` chooses them."""
    counts = row_sums.counts
    n = int(counts.sum())
    chosen = np.unique(np.linspace(0, n - 1, min(MOST_WATCHED, n)).astype(np.int64))
    ends = np.cumsum(counts)
    own = np.searchsorted(ends, chosen, side="right")
    ranks = [chosen[own == g] - (ends[g] - counts[g]) for g in range(len(counts))]
    inner, _, group, found = row_sums.take(ranks)
    numbers, groups = found.astype(np.int64), row_sums.groups
    if not groups.given:
        return WatchedRows(numbers, inner, group)
    return WatchedRows(numbers, inner, groups.category[group], groups.available[group])
