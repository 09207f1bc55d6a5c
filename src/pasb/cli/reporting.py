"""What ``pasb report`` does."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasb.cli import printing
from pasb.cli.command_text import command_text
from pasb.cli.failures import UsageError
from pasb.cli.model_parts import ModelParts, load_parts
from pasb.cli.saving import check_writable
from pasb.cli.true_labels import known_labels, true_labels
from pasb.covariates.encoder_file import encoder_of_numbers
from pasb.covariates.table_reading import read_table
from pasb.covariates.tables import Problems, count, need_columns
from pasb.report import ModelReport
from pasb.report.model_report import INTERVAL

ENCODING = "utf-8"


class LabelledRows(NamedTuple):
    """Rows of a file that have a label, as the model takes them."""

    X: Any
    labels: NDArray
    number: NDArray[np.int64]  # of each row in the file, from 1
    left_out: int


def report_file(
    model_path: Path,
    data: Path | None,
    out: Path,
    *,
    target: str | None = None,
    train: Path | None = None,
    title: str | None = None,
    interval: float = INTERVAL,
    encoding: str = ENCODING,
    force: bool = False,
) -> None:
    """Write a report on a saved model, looked at with the rows of a file."""
    if not 0 < interval < 1:
        raise UsageError(f"--interval must lie between 0 and 1, not {interval}")
    if train is not None and data is None:
        raise UsageError("--train is what to compare on; name the rows to look at with --data")
    check_writable(out, force, [path for path in (model_path, data, train) if path is not None])
    parts = load_parts(model_path)
    console = printing.console()
    rows = learned = None
    model = _whole(parts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        if data is not None:
            rows, target = _labelled(data, parts, target, encoding)
        if train is not None:
            learned, _ = _labelled(train, parts, target, encoding)
        told: dict[str, object] = {"data": data, "target": target, "train": train}
        told |= {"title": title, "out": out}
        told |= {} if interval == INTERVAL else {"interval": interval}
        told |= {} if encoding == ENCODING else {"encoding": encoding}
        report = ModelReport(
            model,
            None if rows is None else rows.X,
            None if rows is None or not len(rows.labels) else rows.labels,
            train=None if learned is None else (learned.X, learned.labels),
            title=title or f"Report on {model_path.name}",
            interval=interval,
            row_numbers=None if rows is None else rows.number,
            command=command_text("report", model_path, told),
        )
    report.write_html(out)
    notes = list(dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning))
    if rows is not None and rows.left_out:
        notes.append(f"{count(rows.left_out, 'row')} of {data} without a label left out.")
    printing.notes(console, notes)
    told_of(console, report, out)


def told_of(console: Any, report: ModelReport, out: Path) -> None:
    """Say in a line or two what the report says, and where it is."""
    scores = report.facts.get("scores")
    if scores:
        console.print(
            f"On {report.facts['data']['rows']:,} rows: error {scores['error']:.2%}, log loss "
            f"{scores['log_loss']:.4f}, calibration error {scores['calibration']:.3f}"
        )
        if report.facts["data"]["seen"]:
            console.print("These look like the rows of the fit; scores on new rows are worse.")
    console.print(
        f"The report is in [bold]{printing.plain(str(out))}[/bold]: open it in a browser."
    )


def _whole(parts: ModelParts) -> Any:
    from sklearn.pipeline import Pipeline

    if parts.encoder is None:
        return parts.classifier
    return Pipeline([("encoder", parts.encoder), ("classifier", parts.classifier)])


def _labelled(
    path: Path, parts: ModelParts, target: str | None, encoding: str
) -> tuple[LabelledRows, str | None]:
    """Rows of a file and their labels, and the column that these are in."""
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    table = read_table(path, encoding)
    model = parts.classifier
    encoder = parts.encoder
    if encoder is None:
        if not hasattr(model, "feature_names_in_") and model.n_features_in_:
            raise UsageError(
                "the model was fitted to an array without column names; use model.report(X, y) "
                "in Python"
            )
        encoder = encoder_of_numbers([str(n) for n in getattr(model, "feature_names_in_", ())])
    problems = Problems(str(path))
    used = set(encoder.need(list(table.columns), problems))
    if target is not None:
        need_columns(list(table.columns), [target], problems)
    problems.raise_any()
    if target is None:
        target = _target(table, used, model.classes_, path)
    texts, gaps = true_labels(table[target], model.classes_, path)
    if gaps.all():
        raise UsageError(f"{path}: column {target!r} holds no label")
    rows = table[~gaps].drop(columns=target).reset_index(drop=True)
    X: Any = rows
    if parts.encoder is None:
        X = encoder.encode(rows)[0]
        if hasattr(model, "feature_names_in_"):
            X = pd.DataFrame(X, columns=list(model.feature_names_in_))
    return LabelledRows(X, texts[~gaps], np.flatnonzero(~gaps) + 1, int(gaps.sum())), target


def _target(table: pd.DataFrame, used: set[str], classes: NDArray, path: Path) -> str:
    """The one column that holds nothing but classes of the model."""
    known = {str(label) for label in classes}
    found = []
    for name in table.columns:
        if name in used:
            continue
        texts, gaps = known_labels(table[name], classes)
        words = {text for text, gap in zip(texts, gaps.tolist(), strict=True) if not gap}
        if words and words <= known:
            found.append(str(name))
    if len(found) == 1:
        return found[0]
    which = "several columns hold" if found else "no column holds"
    raise UsageError(f"{path}: {which} the classes of the model; name the right one with --target")
