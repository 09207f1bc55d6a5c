"""From a file to what ``pasb fit`` trains on: an encoder, its table, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pasb.covariates.cells import cells_of
from pasb.covariates.class_labels import check_labels, class_labels
from pasb.covariates.column_plans import CategoryPlan, LeftOut, NumberPlan
from pasb.covariates.encoder_report import NUMBERS
from pasb.covariates.table_encoder import TableEncoder, ids_of
from pasb.covariates.table_reading import NAMELESS, read_table
from pasb.covariates.tables import Problems, TableError, count, need_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ColumnOptions:
    """What the command line says about columns and how their file is read."""

    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    drop: Sequence[str] = ()
    keep_id: Sequence[str] = ()
    missing: str = "indicator"  # or "drop", "error"
    encoding: str = "utf-8"
    decimal: str = "auto"

    def encoder(self, ids: Sequence[str] = ()) -> TableEncoder:
        """The encoder they ask for, not fitted yet; it gives data frames.

        Parameters
        ----------
        ids : sequence of str
            Columns that tell the rows of the whole file apart. Of some of them, row numbers may
            look like a measurement.
        """
        return TableEncoder(
            ids=list(ids),
            categorical=list(self.categorical),
            numeric=list(self.numeric),
            drop=list(self.drop),
            keep_id=list(self.keep_id),
            missing="error" if self.missing == "error" else "indicator",
            decimal=self.decimal,
        ).set_output(transform="pandas")

    def named(self) -> dict[str, Sequence[str]]:
        """The columns that options name."""
        return {
            "--categorical": self.categorical,
            "--numeric": self.numeric,
            "--drop": self.drop,
            "--keep-id": self.keep_id,
        }

    def naming(self, column: str) -> list[str]:
        """The options that name a column."""
        return [option for option, columns in self.named().items() if column in columns]


class TrainingTable(NamedTuple):
    """Rows to train on.

    Attributes
    ----------
    X : pandas.DataFrame
        All columns but the target, as they were read.
    labels : array of shape (n_rows,)
    notes : list of str
        What was done to the rows.
    encoder : TableEncoder
        Fitted to the file, rows with gaps included; its `ids_` tell the rows of all of it apart.
    coded : pandas.DataFrame or None
        What the encoder makes of the rows; None if some of those it was fitted to were dropped.
    """

    X: pd.DataFrame
    labels: NDArray
    notes: list[str]
    encoder: TableEncoder
    coded: pd.DataFrame | None


def training_table(path: Path, target: str, options: ColumnOptions) -> TrainingTable:
    """Read a file, and report all that is wrong with it at once.

    Raises
    ------
    TableError
    """
    table = read_table(path, options.encoding)
    problems, names = Problems(str(path)), list(table.columns)
    if not need_columns(names, [target], problems):
        problems.raise_any()
    need_columns(names, dict.fromkeys(chain.from_iterable(options.named().values())), problems)
    for option in options.naming(target):
        problems.add(
            f"column {target!r} is the target, which is learnt and is no covariate: leave out "
            f"{option} {target!r}, or name another --target"
        )
    problems.raise_any()

    held = cells_of(nw.from_native(table[target], series_only=True))
    if held.kind == "other":
        problems.add(f"column {target!r} holds {held.shown}, which are no classes")
        problems.raise_any()
    labels, unlabelled = class_labels(table[target])
    table = table.drop(columns=target)
    notes = []
    ids: list[str] = []
    dropping = options.missing == "drop"
    if dropping and unlabelled.any() and not unlabelled.all():
        ids = ids_of(table, options.encoder().choices())
        table, labels = table[~unlabelled], labels[~unlabelled]
        notes.append(f"{count(int(unlabelled.sum()), 'row')} without a label left out.")
        unlabelled = np.zeros(len(labels), dtype=bool)
    check_labels(labels, unlabelled, target, problems)
    encoder = options.encoder(ids)
    coded: Any = None  # a data frame, as the encoder gives it here
    try:
        coded = encoder.fit_transform(table)
    except TableError as error:
        problems.add_of(error)
    else:
        _refuse_nameless(encoder, problems)
    problems.raise_any()
    if dropping and (gaps := encoder.gap_rows(table)).any():
        if gaps.all():
            raise TableError(f"{path}: every row has a gap; --missing drop leaves none")
        _refuse_lost_classes(labels, gaps, problems)
        table, labels, coded = table[~gaps], labels[~gaps], None
        notes.append(f"{count(int(gaps.sum()), 'row')} with gaps left out, as asked.")
        check_labels(labels, np.zeros(len(labels), dtype=bool), target, problems)
        problems.raise_any()
    return TrainingTable(table, labels, notes, encoder, coded)


def _refuse_lost_classes(labels: NDArray, gaps: NDArray[np.bool_], problems: Problems) -> None:
    """Classes of which dropped rows leave nothing: a model could never predict them."""
    for label in np.setdiff1d(labels[gaps], labels[~gaps]).tolist():
        rows = count(int((labels == label).sum()), "row")
        problems.add(
            f"--missing drop leaves no row of class {label!r}: each of its {rows} has a gap. Fill "
            "the gaps (--missing indicator), or leave out the columns that have them (--drop)"
        )


def column_rows(encoder: TableEncoder) -> list[tuple[str, str]]:
    """What became of each column, as the command line says it."""
    rows = [
        ("numbers, scaled" if kind == NUMBERS else kind, text)
        for kind, text in encoder.report_rows()
    ]
    filled = any(isinstance(plan, NumberPlan) and plan.indicator for plan in encoder.plans_)
    levels = any(isinstance(plan, CategoryPlan) and plan.missing for plan in encoder.plans_)
    words = []
    if filled:
        words.append("filled with the median and marked by a column of their own")
    if levels:
        words.append("a level of their own in categories")
    if words:
        rows.append(("gaps", "; ".join(words)))
    if not any(not isinstance(plan, LeftOut) for plan in encoder.plans_):
        rows.append(("covariates", "none: the model has an intercept only"))
    return rows


def _refuse_nameless(encoder: TableEncoder, problems: Problems) -> None:
    for plan in encoder.plans_:
        harmless = isinstance(plan, LeftOut) and plan.reason in ("id", "empty", "dropped")
        if plan.name.startswith(NAMELESS) and not harmless:
            number = plan.name.removeprefix(NAMELESS)
            if number.isdigit():
                problems.add(
                    f"column {int(number) + 1} has no name. Name it, or leave it out with --drop "
                    f"{plan.name!r}"
                )
