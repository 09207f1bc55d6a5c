"""``pasb fit`` of Parquet that is larger than memory, or in many files: block by block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasb.cli.failures import UsageError
from pasb.cli.training_table import ColumnOptions
from pasb.covariates.free_memory import in_words, memory_limit
from pasb.covariates.parquet_source import ParquetSource, is_many, is_parquet
from pasb.covariates.tables import Problems as TableProblems
from pasb.covariates.tables import TableError, need_columns
from pasb.engines.row_blocks import RowBlocks

IN_BLOCKS = ("logistic", "robit", "softplus")
BLOCKWISE = "blocks", "cuda", "dask"  # engines that leave rows where they are
A_FEW_ROWS = 10_000  # by which a model is judged


def reads_in_blocks(path: Path, model: str, engine: str | None) -> bool:
    """Whether a table is fitted block by block: asked for, in many files, or too large."""
    asked = engine is not None and engine != "cpu" and (engine != "cuda" or is_many(path))
    asked = asked or (engine is None and is_many(path))
    if not is_parquet(path) or model not in IN_BLOCKS:
        if asked or is_many(path):
            raise UsageError(
                f"{path} with --engine {engine or 'blocks'}: only Parquet, and --model logistic, "
                "robit and softplus, are read in blocks; use one file, and --engine cpu"
            )
        return False
    if is_many(path) and engine == "cpu":
        raise UsageError(
            f"{path}: several files are read in blocks; leave out --engine cpu, or give one file"
        )
    return asked or (engine != "cpu" and bytes_of(path) > memory_limit())


def bytes_of(path: Path) -> int:
    """What a Parquet file would take in memory, at least."""
    try:
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(path, pre_buffer=False) as file:
            return 8 * file.metadata.num_rows * file.metadata.num_columns
    except (ImportError, OSError, ValueError):
        return 0  # whoever reads it says what is wrong


@contextmanager
def engine_for(name: str, storage: str | None) -> Iterator[RowBlocks]:
    """The engine that ``--engine`` and ``--storage`` name; a cluster is left in the end."""
    kept = storage or "float64"
    if name in ("cpu", "blocks", "cuda"):
        yield RowBlocks(storage=kept, device="cuda" if name == "cuda" else "cpu")
        return
    if name != "dask" and "://" not in name:
        raise UsageError(
            f"--engine must be cpu, {', '.join(BLOCKWISE)} or the address of a Dask scheduler, "
            f"such as tcp://scheduler:8786; got {name!r}"
        )
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise UsageError(f"--engine {name} needs Dask: pip install 'pasb[dask]'") from error
    address = dask.config.get("scheduler-address", None) if name == "dask" else name
    if address is None:
        raise UsageError(
            "--engine dask: where is the scheduler? Give its address, as --engine "
            "tcp://scheduler:8786 or in the environment variable DASK_SCHEDULER_ADDRESS"
        )
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--engine {name}: no Dask scheduler at {address} ({error})") from error
    with client:
        yield RowBlocks(storage=kept, client=client)


class LargeTable:
    """A Parquet file of numbers, or several, and the labels.

    Parameters
    ----------
    path : Path
    target : str
    options : ColumnOptions
    test : float or None
        What ``--test`` holds out, which is refused here.
    storage : str, optional
        In which covariates are kept.
    """

    def __init__(
        self,
        path: Path,
        target: str,
        options: ColumnOptions,
        test: float | None,
        storage: str | None = None,
    ):
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
        self.path, self.target, self.storage = path, target, storage
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
            raise TableError(str(error).removeprefix("X: ")) from None
        self.n_rows = sum(self.source.lengths())

    def classes(self) -> NDArray:
        """The distinct labels."""
        source = ParquetSource(self.path, self.target, names=[])
        load = source.loader()
        return np.unique(
            np.concatenate([np.unique(load(k).labels) for k in range(source.n_pieces)])
        )

    def few_rows(self) -> tuple[pd.DataFrame, NDArray]:
        """Covariates and labels of the first rows."""
        raw = self.source.piece(0).load().rows(0, A_FEW_ROWS)
        return pd.DataFrame(raw.X, columns=self.source.names), raw.labels

    def fit(self, model: Any) -> Any:
        """Fit a classifier to all rows but the columns that were left out."""
        name = model.engine
        with engine_for(name, self.storage) as engine:
            model.set_params(engine=engine).fit(self.source, None)
        return model.set_params(engine="blocks" if name == "cpu" else name)

    def words(self) -> list[tuple[str, str]]:
        """What it is, as the command line says it."""
        size = in_words(8 * self.n_rows * (len(self.source.names) + 1))
        return [
            ("rows", f"{self.n_rows:,}, read block by block ({size})"),
            ("numbers, scaled", f"{len(self.source.names):,} columns"),
        ]
