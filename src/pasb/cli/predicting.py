"""What ``pasb predict`` does: some rows at a time, in memory that does not grow with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

from pasb.classifiers.formula import FormulaClassifier
from pasb.cli import printing
from pasb.cli.failures import UsageError
from pasb.cli.formula_rows import FormulaRows
from pasb.cli.model_parts import ModelParts, load_parts
from pasb.cli.saving import check_writable
from pasb.cli.true_labels import true_labels
from pasb.covariates.column_plans import Assumed
from pasb.covariates.encoder_file import encoder_of_numbers
from pasb.covariates.parquet_source import is_many, parquet_files
from pasb.covariates.table_encoder import TableEncoder
from pasb.covariates.table_reading import read_chunks
from pasb.covariates.table_writing import table_writer
from pasb.covariates.tables import Problems, TableError, count, ending, need_columns
from pasb.report.scores import RunningScores

MOST_ROWS = 10
ROWS_AT_ONCE, CELLS_AT_ONCE = 8192, 2_000_000


@dataclass(frozen=True)
class PredictOptions:
    """The options of ``pasb predict``."""

    interval: float = 0.9
    proba: bool = True
    target: str | None = None
    ids: Sequence[str] = ()
    best_draw: bool = False
    encoding: str = "utf-8"
    decimal: str | None = None


class Predicted(NamedTuple):
    """Some rows and what the model says of them."""

    n_rows: int
    frame: pd.DataFrame | None  # ids, prediction, probabilities; None for rows that only count
    X: Any = None
    labels: pd.Series | None = None  # the target, if it was named


def predict_table(
    model_path: Path, path: Path, out: Path | None, options: PredictOptions, force: bool
) -> None:
    """Predict the rows of a file; write them to `out` or print the first ones."""
    if not 0 < options.interval < 1:
        raise UsageError(
            f"--interval must lie between 0 and 1, not {options.interval}; 0.9 for 90%"
        )
    if out is not None:
        ending(out)
        check_writable(out, force, [*_files(path), model_path])
    parts = load_parts(model_path)
    encoder = _encoder(parts, model_path)
    model = parts.classifier.best_draw() if options.best_draw else parts.classifier
    scores = None if options.target is None else RunningScores(model.classes_)
    assumed: dict[tuple[str, str], Assumed] = {}
    n_rows, first = 0, list[pd.DataFrame]()
    with nullcontext() if out is None else table_writer(out) as append:
        for part in _predicted(path, encoder, model, options, assumed, everything=out is not None):
            n_rows += part.n_rows
            if part.frame is None:
                continue
            if append is not None:
                append(part.frame)
            elif sum(len(frame) for frame in first) < MOST_ROWS:
                first.append(part.frame.head(MOST_ROWS))
            if scores is not None and part.labels is not None:
                before = n_rows - part.n_rows
                truth, gaps = true_labels(part.labels, model.classes_, path, before)
                scores.add(_means(part, model, options), np.where(gaps, "", truth))
    console = printing.console()
    if out is not None:
        made = f"{count(n_rows, 'prediction')} {'is' if n_rows == 1 else 'are'}"
        console.print(f"{made} in [bold]{printing.plain(str(out))}[/bold].")
    else:
        _print_first(console, model, pd.concat(first), n_rows, options.interval)
    printing.notes(console, [parts.note_of_stop(), *(f"{a.words()}." for a in assumed.values())])
    if scores is not None:
        console.print(f"On {scores.n_rows:,} rows: {scores.words()}")


def _encoder(parts: ModelParts, path: Path) -> TableEncoder | FormulaRows:
    """The encoder of a model; one of plain numbers for a model without."""
    if parts.encoder is not None:
        return parts.encoder
    model = parts.classifier
    if isinstance(model, FormulaClassifier):
        return FormulaRows(model.kinds_)
    if not hasattr(model, "feature_names_in_") and model.n_features_in_:
        raise UsageError(
            f"{path} was fitted to an array without column names; predict with pasb.load from "
            "Python, or fit it again with pasb fit"
        )
    return encoder_of_numbers([str(name) for name in getattr(model, "feature_names_in_", ())])


def _predicted(
    path: Path,
    encoder: TableEncoder | FormulaRows,
    model: Any,
    options: PredictOptions,
    assumed: dict[tuple[str, str], Assumed],
    everything: bool,
) -> Iterator[Predicted]:
    """Go through a file. What had to be assumed is added up in `assumed`.

    Unless `everything` is wanted or there are labels, only the first rows are predicted, and the
    others counted.
    """
    before = 0
    ids: list[str] = []

    def wanted(names: list[str]) -> list[str]:
        problems = Problems(str(path))
        used = encoder.need(names, problems)
        asked = [*options.ids, *([] if options.target is None else [options.target])]
        need_columns(names, asked, problems)
        problems.raise_any()
        known = set(names)
        ids[:] = options.ids or [name for name in encoder.ids_ if name in known]
        chosen = {*used, *asked, *ids}
        return [name for name in names if name in chosen] or names[:1]

    at_once = min(ROWS_AT_ONCE, max(1, CELLS_AT_ONCE // max(1, encoder.n_features_in_)))
    for chunk in _chunks(path, wanted, at_once, options.encoding):
        needed = everything or options.target is not None
        rows = chunk if needed else chunk.head(max(0, MOST_ROWS - before))
        if len(rows):
            X = _encoded(path, encoder, model, rows, options, before, assumed)
            frame = _with_ids(_predictions(model, X, options), rows, ids, path)
            labels = None if options.target is None else chunk[options.target]
            yield Predicted(len(chunk), frame, X, labels)
        else:
            yield Predicted(len(chunk), None)
        before += len(chunk)


def _chunks(
    path: Path, wanted: Callable[[list[str]], list[str]], n_rows: int, encoding: str
) -> Iterator[pd.DataFrame]:
    """Rows of a file, or of all Parquet files of a folder or a pattern, in the order of names."""
    for file in _files(path):
        yield from read_chunks(file, wanted, n_rows, encoding)


def _files(path: Path) -> list[Path]:
    """The files that are read."""
    if not is_many(path):
        return [path]
    try:
        return [Path(file) for file in parquet_files(path)]
    except ValueError as error:
        raise TableError(str(error).removeprefix("X: ")) from None


def _encoded(
    path: Path,
    encoder: TableEncoder | FormulaRows,
    model: Any,
    rows: pd.DataFrame,
    options: PredictOptions,
    before: int,
    assumed: dict[tuple[str, str], Assumed],
) -> Any:
    """Covariates of some rows, with names if the model knows them."""
    try:
        X, found = encoder.encode(rows, options.decimal, before)
    except TableError as error:
        problems = Problems(str(path))
        problems.add_of(error)
        problems.raise_any()
        raise
    for one in found:
        kind = one.what.split()[0]  # levels differ from part to part
        old = assumed.get((one.column, kind))
        n_rows = one.n_rows + (0 if old is None else old.n_rows)
        assumed[one.column, kind] = (old or one)._replace(n_rows=n_rows)
    if not hasattr(model, "feature_names_in_"):
        return X
    return pd.DataFrame(X, columns=list(model.feature_names_in_))


def _predictions(model: Any, X: Any, options: PredictOptions) -> pd.DataFrame:
    """Predicted classes; probabilities and intervals if wanted."""
    if options.proba and not options.best_draw:
        frame = model.predict_frame(X, options.interval)
        return frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    means = model.predict_proba(X)
    columns = {"prediction": model.classes_[np.argmax(means, axis=1)]}
    if options.proba:
        columns |= {f"p_{label}": means[:, s] for s, label in enumerate(model.classes_)}
    return pd.DataFrame(columns)


def _with_ids(
    frame: pd.DataFrame, rows: pd.DataFrame, ids: Sequence[str], path: Path
) -> pd.DataFrame:
    """Predictions behind the ids of their rows."""
    for name in ids:
        if name in frame.columns:
            raise UsageError(f"{path}: the id column {name!r} is named like a column of the result")
    if not ids:
        return frame
    own = rows[list(ids)].reset_index(drop=True)
    return pd.concat([own, frame.reset_index(drop=True)], axis=1)


def _means(part: Predicted, model: Any, options: PredictOptions) -> NDArray[np.float64]:
    """Mean probabilities, which the frame already has unless it has classes only."""
    if part.frame is None or not options.proba:
        return model.predict_proba(part.X)
    return part.frame[[f"p_{label}" for label in model.classes_]].to_numpy(dtype=np.float64)


def _print_first(
    console: Any, model: Any, frame: pd.DataFrame, n_rows: int, interval: float
) -> None:
    """A table of the first rows: the prediction, its probability, and the runner-up."""
    first = f"p_{model.classes_[0]}"
    proba, with_interval = first in frame, f"{first}_lower" in frame
    ids = list(frame.columns[: list(frame.columns).index("prediction")])
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("row", justify="right")
    for name in (*ids, "prediction"):
        table.add_column(printing.plain(name))
    if proba:
        table.add_column("probability", justify="right")
        if with_interval:
            table.add_column(f"{interval:.0%} interval", justify="center")
        table.add_column("runner-up")
        table.add_column("probability", justify="right")
    labels = [str(label) for label in model.classes_]
    for number, row in enumerate(frame.head(MOST_ROWS).to_dict("records"), start=1):
        cells = [str(number), *(printing.plain(str(row[name])) for name in (*ids, "prediction"))]
        if proba:
            best, second = sorted(labels, key=lambda label: -row[f"p_{label}"])[:2]
            cells.append(f"{row[f'p_{best}']:.3f}")
            if with_interval:
                cells.append(f"{row[f'p_{best}_lower']:.3f} to {row[f'p_{best}_upper']:.3f}")
            cells += [printing.plain(second), f"{row[f'p_{second}']:.3f}"]
        table.add_row(*cells)
    console.print(table)
    shown = min(MOST_ROWS, n_rows)
    console.print(f"{shown} of {n_rows:,} rows. Write all with --out predictions.csv.")
