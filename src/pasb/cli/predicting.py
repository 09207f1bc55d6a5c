"""What ``pasb predict`` does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from pasb.cli import printing
from pasb.cli.failures import UsageError, check_output
from pasb.cli.fitting import load_model
from pasb.cli.scores import Scores
from pasb.covariates.tables import (
    TableError,
    covariates,
    ending,
    need_column,
    read_table,
    write_table,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 10


def predict_table(
    model_path: Path,
    path: Path,
    out: Path | None,
    interval: float,
    proba: bool,
    target: str | None,
    best_draw: bool,
    force: bool,
) -> None:
    """Predict the rows of a file; write them to `out` or print the first ones."""
    if not 0 < interval < 1:
        raise UsageError(f"--interval must lie between 0 and 1, not {interval}")
    if out is not None:
        ending(out)
        check_output(out, force)
    model = load_model(model_path)
    if not hasattr(model, "feature_names_in_"):
        raise UsageError(
            f"{model_path} was fitted to an array without column names; predict with pasb.load "
            "from Python, or fit it again with pasb fit"
        )
    table = read_table(path, target)
    if target is not None:
        need_column(table, target, path)
    X = covariates(table, list(model.feature_names_in_), path)
    if best_draw:
        model = model.best_draw()
    if proba and not best_draw:
        frame = model.predict_frame(X, interval)
    else:
        frame = _without_intervals(model, X, proba)
    console = printing.console()
    if out is not None:
        write_table(frame, out)
        console.print(f"{len(frame):,} predictions are in [bold]{escape(str(out))}[/bold].")
    else:
        _print_first(console, model, frame, interval)
    if target is not None:
        # the frame already has the means, unless it has classes only
        means = [f"p_{label}" for label in model.classes_]
        given = frame[means].to_numpy() if proba else model.predict_proba(X)
        truth = _truth(table[target], model.classes_, target, path)
        console.print(f"On {len(frame):,} rows: {Scores.of(given, truth, model.classes_).words()}")


def _without_intervals(model: Any, X: pd.DataFrame, proba: bool) -> pd.DataFrame:
    """Predicted classes, and their probabilities if wanted."""
    import pandas as pd

    means = model.predict_proba(X)
    columns = {"prediction": model.classes_[np.argmax(means, axis=1)]}
    if proba:
        columns |= {f"p_{label}": means[:, s] for s, label in enumerate(model.classes_)}
    return pd.DataFrame(columns, index=X.index)


def _truth(column: pd.Series, classes: NDArray, target: str, path: Path) -> NDArray:
    """True labels as text, all of them classes that the model knows."""
    if column.dtype.kind == "f" and not column.isna().any() and (column % 1 == 0).all():
        column = column.astype(np.int64)
    truth = np.array([str(value).strip() for value in column])
    unknown = np.setdiff1d(truth, classes.astype(str))
    if len(unknown):
        known = ", ".join(map(str, classes[:8])) + (" ..." if len(classes) > 8 else "")
        raise TableError(
            f"{path}: column {target!r} holds {unknown[0]!r}, which is not a class of the model "
            f"({known})"
        )
    return truth


def _print_first(console: Any, model: Any, frame: pd.DataFrame, interval: float) -> None:
    """A table of the first rows: the prediction, its probability, and the runner-up."""
    first = f"p_{model.classes_[0]}"
    proba, with_interval = first in frame, f"{first}_lower" in frame
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("row", justify="right")
    table.add_column("prediction")
    if proba:
        table.add_column("probability", justify="right")
        if with_interval:
            table.add_column(f"{interval:.0%} interval", justify="center")
        table.add_column("runner-up")
        table.add_column("probability", justify="right")
    labels = [str(label) for label in model.classes_]
    for number, row in enumerate(frame.head(MOST_ROWS).to_dict("records"), start=1):
        cells = [str(number), escape(str(row["prediction"]))]
        if proba:
            best, second = sorted(labels, key=lambda label: -row[f"p_{label}"])[:2]
            cells.append(f"{row[f'p_{best}']:.3f}")
            if with_interval:
                cells.append(f"{row[f'p_{best}_lower']:.3f} to {row[f'p_{best}_upper']:.3f}")
            cells += [escape(second), f"{row[f'p_{second}']:.3f}"]
        table.add_row(*cells)
    console.print(table)
    shown = min(MOST_ROWS, len(frame))
    console.print(f"{shown} of {len(frame):,} rows. Write all with --out predictions.csv.")
