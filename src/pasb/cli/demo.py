"""A guided fit of two bundled data sets: what ``pasb demo`` runs."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pasb import StickLogisticClassifier, datasets
from pasb.cli import printing
from pasb.cli.scores import Scores, scores_of
from pasb.errors import ConvergenceWarning

if TYPE_CHECKING:
    import pandas as pd

SEED = 1
PICTURES = ("demo.png", "traces.png", "map.png", "order.png", "coefficients.png", "reliability.png")


class Task(NamedTuple):
    """A data set in training and test rows."""

    X_train: pd.DataFrame
    y_train: NDArray
    X_test: pd.DataFrame
    y_test: NDArray


def run(out: Path, *, quick: bool = False) -> None:
    """Fit, explain and draw.

    Parameters
    ----------
    out : Path
        Folder for the pictures; it is created if needed.
    quick : bool, default=False
        A twentieth of the draws, to see that everything works.
    """
    began = monotonic()
    out.mkdir(parents=True, exist_ok=True)
    console = printing.console()
    sweeps = 50 if quick else 1000
    task = vehicle()
    console.print(
        "[bold]pasb demo[/bold]: tell a bus, an Opel, a Saab and a van apart by their "
        f"silhouettes. {len(task.y_train)} rows to learn from, {len(task.y_test)} to test on, "
        f"{task.X_train.shape[1]} covariates. The model puts the four classes on sticks, one "
        "after the other; each stick is a logistic regression that takes its class or passes "
        "the row on. Which class sits where is inferred together with the coefficients, by "
        "four chains of random draws."
    )
    model = _fit(task.X_train, task.y_train, sweeps)

    printing.heading(console, f"On the {len(task.y_test)} test rows (lower is better)")
    _comparison(console, task, model)
    console.print(_one_row_in_words(task, model))
    printing.heading(console, "Convergence")
    printing.grid(console, printing.convergence_rows(model))
    printing.order_tables(console, model)
    console.print(f"In words: {model.order_in_words(task.X_train, task.y_train)}")
    printing.note(console, model)
    printing.heading(console, "Largest coefficients under the most probable order")
    printing.coefficient_table(console, model, most=10)

    X, y = flowers()
    small = _fit(X, y, sweeps)
    printing.heading(console, "A second fit, small enough to draw: iris, by sepal and petal length")
    printing.order_tables(console, small)
    console.print(f"In words: {small.order_in_words(X, y)}")
    _pictures(console, out, task, model, small, X, y)
    console.print(f"\n[dim]{monotonic() - began:.0f} s in all.[/dim] Try it on your own table:")
    console.print("  pasb fit table.csv --target column --out model.pasb")
    console.print("  pasb predict model.pasb new.csv --out predictions.csv")


def vehicle() -> Task:
    """The vehicle silhouettes, 592 rows for training and 254 for the test."""
    data = datasets.load("vehicle")
    part = data.partition(0)
    X = data.frame().drop(columns="class")
    return Task(X.iloc[part.train], part.y_train, X.iloc[part.test], part.y_test)


def flowers() -> tuple[pd.DataFrame, NDArray]:
    """Sepal and petal length of the irises, and their species."""
    data = datasets.load("iris")
    return data.frame()[["sepal_length", "petal_length"]], data.y


def _fit(X: pd.DataFrame, y: NDArray, sweeps: int) -> Any:
    model = StickLogisticClassifier(n_warmup=sweeps, n_draws=sweeps, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the text below speaks of it
        return model.fit(X, y)


def _one_row_in_words(task: Task, model: Any) -> str:
    """What a Bayesian fit adds: how precisely the probability of an uncertain row is known."""
    proba = model.predict_proba(task.X_test)
    row = int(np.argmin(np.abs(proba.max(axis=1) - 0.6)))
    best = int(np.argmax(proba[row]))
    drawn = model.sample_proba(task.X_test.iloc[[row]])[:, 0, best]
    low, high = np.quantile(drawn, (0.05, 0.95))
    return (
        f"Every probability comes with an interval. Test row {row + 1}, an uncertain one: "
        f"P({model.classes_[best]}) = {proba[row, best]:.2f}, with probability 0.9 between "
        f"{low:.2f} and {high:.2f}. The truth: {task.y_test[row]}."
    )


def _comparison(console: Console, task: Task, model: Any) -> None:
    """Print test scores beside those of scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    softmax = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky"))
    tuned = GridSearchCV(
        softmax, {"logisticregression__C": [0.1, 1, 10, 100, 1000]}, scoring="neg_log_loss"
    )
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("")
    for name in ("error", "log loss", "calibration error", "R-hat"):
        table.add_column(name, justify="right")
    fits = [("[bold]pasb[/bold], order inferred", model)]
    fits.append(("LogisticRegression, as it comes", softmax.fit(task.X_train, task.y_train)))
    fits.append(
        ("LogisticRegression, C by cross-validation", tuned.fit(task.X_train, task.y_train))
    )
    for name, fitted in fits:
        scores: Scores = scores_of(fitted, task.X_test, task.y_test)
        seen = getattr(fitted, "diagnostics_", None)
        table.add_row(
            name,
            f"{scores.error:.1%}",
            f"{scores.log_loss:.3f}",
            f"{scores.calibration:.3f}",
            "" if seen is None else f"{seen.worst_rhat:.2f}",
        )
    console.print(table)


def _pictures(
    console: Console, out: Path, task: Task, model: Any, small: Any, X: pd.DataFrame, y: NDArray
) -> None:
    from pasb import plots

    try:
        figures = {
            "traces.png": plots.trace(model),
            "map.png": plots.probability_map(small, X, y).figure,
            "order.png": plots.order_posterior(model),
            "coefficients.png": plots.coefficients(model),
            "reliability.png": plots.reliability(model, task.X_test, task.y_test).figure,
            "demo.png": _combined(model, small, X, y),
        }
    except ImportError as error:
        console.print(f"\n[bold yellow]Note:[/bold yellow] no pictures: {escape(str(error))}")
        return
    for name, figure in figures.items():
        figure.savefig(out / name, dpi=100 if name == "demo.png" else 130)
    console.print(f"\nPictures are in [bold]{escape(str(out))}[/bold]: {', '.join(figures)}")


def _combined(model: Any, small: Any, X: pd.DataFrame, y: NDArray) -> Any:
    """The picture for the README: a map, the posterior of the order, and coefficients."""
    from pasb import plots
    from pasb.plots import style
    from pasb.plots.intervals import stick_coefficients
    from pasb.plots.precedence import order_matrix

    figure = style.new_figure(12.0, 4.2)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1, 0.9))
    plots.probability_map(small, X, y, ax=left)
    style.title(left, "Probabilities, not just labels", "iris: the stronger the colour, the surer")
    order_matrix(model, middle)
    style.title(
        middle, "The order is inferred", "vehicle: P(row's class is split off before column's)"
    )
    stick_coefficients(model, right)
    rest = " or ".join(str(label) for label in model.order_[1:])
    style.title(right, "Coefficients with intervals", f"vehicle: {model.order_[0]} against {rest}")
    return figure
