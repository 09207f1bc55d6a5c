"""``pasb fit`` of Parquet files that are larger than memory: block by block, numbers only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasb.cli.failures import UsageError
from pasb.cli.training_table import ColumnOptions
from pasb.covariates.free_memory import in_words, memory_limit
from pasb.covariates.parquet_source import ParquetSource
from pasb.covariates.table_sources import clean_labels
from pasb.covariates.tables import PARQUET, TableError, need_columns
from pasb.covariates.tables import Problems as TableProblems

LINEAR = ("logistic", "robit")
A_FEW_ROWS = 10_000  # by which a model is judged


def reads_in_blocks(path: Path, model: str, engine: str | None) -> bool:
    """Whether a file is fitted block by block: asked for, or too large to be read as a whole."""
    if path.suffix not in PARQUET or not path.is_file() or model not in LINEAR:
        if engine == "blocks":
            raise UsageError(
                "--engine blocks reads Parquet files for --model logistic and robit; use "
                "--engine cpu"
            )
        return False
    return engine == "blocks" or (engine is None and bytes_of(path) > memory_limit())


def bytes_of(path: Path) -> int:
    """What a Parquet file would take in memory, at least."""
    try:
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(path, pre_buffer=False) as file:
            return 8 * file.metadata.num_rows * file.metadata.num_columns
    except (ImportError, OSError, ValueError):
        return 0  # whoever reads it says what is wrong


class LargeTable:
    """A Parquet file of numbers, and its labels.

    Parameters
    ----------
    path : Path
    target : str
    options : ColumnOptions
    test : float or None
        What ``--test`` holds out, which is refused here.
    """

    def __init__(self, path: Path, target: str, options: ColumnOptions, test: float | None):
        if test is not None:
            raise UsageError(
                "--test needs the whole table in memory: keep a file of its own to test on, and "
                "use pasb predict --target"
            )
        if options.categorical or options.keep_id:
            raise UsageError(
                "--categorical and --keep-id need the whole table in memory: encode these columns "
                "beforehand, or leave them out with --drop"
            )
        self.path, self.target = path, target
        try:
            everything = ParquetSource(path, None, names=[])
            names = everything.column_names
            problems = TableProblems(str(path))
            need_columns(names, [target, *options.numeric, *options.drop], problems)
            problems.raise_any()
            chosen = [name for name in names if name not in (target, *options.drop)]
            self.source = ParquetSource(path, target, names=chosen)
        except TableError:
            raise
        except ValueError as error:
            raise TableError(str(error)) from None
        self.n_rows = sum(self.source.lengths())

    def classes(self) -> NDArray:
        """The distinct labels."""
        import pyarrow.parquet as parquet

        found: list[NDArray] = []
        with parquet.ParquetFile(self.path, pre_buffer=False) as file:
            for group in range(file.metadata.num_row_groups):
                table = file.read_row_group(group, columns=[self.target], use_threads=False)
                labels = clean_labels(table.column(self.target).to_pandas(), repr(self.target))
                found.append(np.unique(labels))
        return np.unique(np.concatenate(found))

    def few_rows(self) -> tuple[pd.DataFrame, NDArray]:
        """Covariates and labels of the first rows."""
        raw = self.source.piece(0).load().rows(0, A_FEW_ROWS)
        return pd.DataFrame(raw.X, columns=self.source.names), raw.labels

    def fit(self, model: Any) -> Any:
        """Fit a classifier to all rows but the columns that were left out."""
        if model.engine == "cpu":
            model.set_params(engine="blocks")
        return model.fit(self.source, None)

    def words(self) -> list[tuple[str, str]]:
        """What it is, as the command line says it."""
        size = in_words(8 * self.n_rows * (len(self.source.names) + 1))
        return [
            ("rows", f"{self.n_rows:,}, read block by block ({size})"),
            ("numbers, scaled", f"{len(self.source.names):,} columns"),
        ]
