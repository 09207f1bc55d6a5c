"""A question, answered with what a person would use otherwise beside it: ``pasb demo``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from pasb import SoftplusClassifier, StickLogisticClassifier, datasets
from pasb.cli import printing
from pasb.cli.command_text import command_text
from pasb.errors import ConvergenceWarning
from pasb.report import ModelReport
from pasb.report.scores import Scores, scores_of

if TYPE_CHECKING:
    import pandas as pd

SEED = 1
PICTURES = ("demo.png",)
FILES = ("figures.json", "report.html", "softplus.pasb", "test.csv")
OURS = ("pasb, softplus sticks", "pasb, logistic sticks")


class Task(NamedTuple):
    """A data set in training and test rows."""

    X_train: pd.DataFrame
    y_train: NDArray
    X_test: pd.DataFrame
    y_test: NDArray


class Contender(NamedTuple):
    """A classifier after its fit: scores on test rows, and what the fit took."""

    name: str
    model: Any
    scores: Scores
    seconds: float


def run(out: Path, *, quick: bool = False) -> None:
    """Fit, compare, explain and write a report.

    Parameters
    ----------
    out : Path
        Folder for report, picture and model; it is created if needed.
    quick : bool, default=False
        Hardly any draws, to see that everything works.
    """
    began = monotonic()
    out.mkdir(parents=True, exist_ok=True)
    console = printing.console()
    task = vehicle()
    console.print(
        "[bold]pasb demo[/bold]: is this silhouette a bus, an Opel, a Saab or a van? "
        f"{len(task.y_train)} rows to learn from, {len(task.y_test)} to test on, "
        f"{task.X_train.shape[1]} covariates. Six classifiers learn from the same rows."
    )
    found = [_contend(name, make(), task) for name, make in contenders(quick).items()]
    printing.heading(console, f"On the {len(task.y_test)} test rows (lower is better)")
    _print_scores(console, found)
    for text in verdicts(found):
        console.print(text)
    softplus, logistic = (next(c.model for c in found if c.name == name) for name in OURS)
    console.print(_one_row_in_words(task, softplus))
    printing.heading(console, "Can the draws be trusted?")
    console.print(f"Logistic: {logistic.convergence_in_words()}")
    console.print(f"Softplus, short chains so that you need not wait: {_in_words(softplus)}")
    printing.heading(console, "What the order says")
    console.print(logistic.order_in_words(task.X_train, task.y_train))

    _write(out, task, softplus, found, quick)
    _pictures(console, out, logistic, found, quick)
    page = printing.plain(str(out / "report.html"))
    console.print(
        f"\nThe whole story is in [bold]{page}[/bold]: open it in a browser.  "
        f"[dim]({monotonic() - began:.0f} s in all)[/dim]"
    )
    console.print("The same for a table of your own, any CSV with a column of classes:")
    console.print(
        "  pasb fit table.csv --target column --test 0.3 --out model.pasb --report report.html"
    )


def _in_words(softplus: Any) -> str:
    """What the chains say of themselves, and that the defaults are longer."""
    told = softplus.convergence_in_words()
    if softplus.converged_:
        return told
    return f"{told} By default chains run until they agree, or give up."


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


def contenders(quick: bool) -> dict[str, Callable[[], Any]]:
    """Ours, and what a person would use otherwise, each made when it is its turn."""
    sweeps = 20 if quick else 400
    return {
        OURS[0]: lambda: SoftplusClassifier(
            n_layers=2,
            n_chains=1 if quick else 4,
            n_warmup=sweeps,
            n_draws=20 if quick else 100,
            random_state=SEED,
        ),
        OURS[1]: lambda: StickLogisticClassifier(
            n_warmup=5 * sweeps // 2, n_draws=5 * sweeps // 2, random_state=SEED
        ),
        "logistic regression, C by cross-validation": _regression,
        "random forest, 500 trees": lambda: _forest(10 if quick else 500),
        "gradient boosting, as it comes": lambda: _boosting(5 if quick else 100, early=False),
        "gradient boosting, stopped early": lambda: _boosting(5 if quick else 100, early=True),
    }


def _regression() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    softmax = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky"))
    penalties = {"logisticregression__C": [0.1, 1, 10, 100, 1000]}
    return GridSearchCV(softmax, penalties, scoring="neg_log_loss")


def _forest(n_trees: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_trees, random_state=SEED)


def _boosting(n_steps: int, early: bool) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    rate = 0.05 if early else 0.1
    return HistGradientBoostingClassifier(
        max_iter=n_steps, early_stopping=early, learning_rate=rate, random_state=SEED
    )


def _contend(name: str, model: Any, task: Task) -> Contender:
    began = monotonic()
    # boosting waits for its threads in a loop, which takes long where other programs run
    limits = nullcontext() if name in OURS else threadpool_limits(1)
    with warnings.catch_warnings(), limits:
        warnings.simplefilter("ignore", ConvergenceWarning)  # the text below speaks of it
        model.fit(task.X_train, task.y_train)
    seconds = monotonic() - began
    return Contender(name, model, scores_of(model, task.X_test, task.y_test), seconds)


def _print_scores(console: Console, found: list[Contender]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("")
    for name in ("error", "log loss", "calibration error", "seconds"):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(
            one.name,
            f"{one.scores.error:.1%}",
            f"{one.scores.log_loss:.3f}",
            f"{one.scores.calibration:.3f}",
            f"{one.seconds:.1f}",
            style="bold" if one.name in OURS else None,
        )
    console.print(table)


def verdicts(found: list[Contender]) -> list[str]:
    """Where the package is ahead and where it is not, from the figures."""
    by_name = {one.name: one for one in found}
    softplus, logistic = (by_name[name] for name in OURS)
    others = [one for one in found if one.name not in OURS]
    rival = min(others, key=lambda one: one.scores.log_loss)
    quickest = min(found, key=lambda one: one.seconds)
    told = []
    for one in (softplus, logistic):
        gap = rival.scores.log_loss - one.scores.log_loss
        side = "ahead of" if gap > 0 else "behind"
        told.append(
            f"In log loss, {one.name[6:]} are {abs(gap):.3f} {side} the best of the others "
            f"({rival.name}); in errors, {one.scores.error:.1%} against "
            f"{min(other.scores.error for other in others):.1%}."
        )
    told.append(
        f"Softplus sticks take {softplus.seconds:.0f} s, and the quickest {quickest.seconds:.1f} s "
        f"({quickest.name})."
    )
    return told


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


def _write(out: Path, task: Task, model: Any, found: list[Contender], quick: bool) -> None:
    """The report, the model it is about, its rows, and the figures for programs."""
    model.save(out / "softplus.pasb")
    task.X_test.assign(**{"class": task.y_test}).to_csv(out / "test.csv", index=False)
    report = ModelReport(
        model,
        task.X_test,
        task.y_test,
        train=(task.X_train, task.y_train),
        title="Which vehicle is this? Softplus sticks on silhouettes",
        command=command_text("demo", None, {"out": out, "quick": quick}),
    )
    report.write_html(out / "report.html")
    figures = {
        one.name: {"error": one.scores.error, "log_loss": one.scores.log_loss} for one in found
    }
    (out / "figures.json").write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


def _pictures(console: Console, out: Path, model: Any, found: list[Contender], quick: bool) -> None:
    X, y = flowers()
    sweeps = 50 if quick else 1000
    small = StickLogisticClassifier(n_warmup=sweeps, n_draws=sweeps, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        small.fit(X, y)
    try:
        figure = _combined(model, small, X, y, found)
    except ImportError as error:
        console.print(
            f"\n[bold yellow]Note:[/bold yellow] no picture: {printing.plain(str(error))}"
        )
        return
    figure.savefig(out / PICTURES[0], dpi=100)


def _combined(model: Any, small: Any, X: pd.DataFrame, y: NDArray, found: list[Contender]) -> Any:
    """The picture for the README: scores, a map, and the posterior of the order."""
    from pasb import plots
    from pasb.plots import style
    from pasb.plots.precedence import order_matrix

    figure = style.new_figure(12.0, 4.2)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.0, 1.15, 1))
    _bars(left, found)
    plots.probability_map(small, X, y, ax=middle)
    style.title(
        middle, "Probabilities, not just labels", "iris: the stronger the colour, the surer"
    )
    order_matrix(model, right)
    style.title(right, "The order is inferred", "P(row's class is split off before column's)")
    return figure


def _bars(ax: Any, found: list[Contender]) -> None:
    from pasb.plots import style

    for line, one in enumerate(found):
        colour = style.COLOURS[0] if one.name in OURS else "#B5BCC4"
        ax.barh(line, one.scores.log_loss, height=0.62, color=colour)
        text = f"{one.scores.log_loss:.2f}   {one.scores.error:.0%} wrong"
        ax.annotate(
            text,
            (one.scores.log_loss, line),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL,
            color=style.INK,
        )
    names = [one.name.replace(", ", "\n", 1) for one in found]
    ax.set_yticks(range(len(found)), names)
    ax.set_ylim(len(found) - 0.4, -0.6)
    ax.set_xlim(0, 1.75 * max(one.scores.log_loss for one in found))
    style.tidy(ax)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", length=0, labelbottom=False)
    ax.spines["bottom"].set_visible(False)
    style.title(ax, "Better probabilities", "vehicle, 254 test rows: log loss, lower is better")
