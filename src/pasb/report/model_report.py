"""A report on a fitted model, for browsers, notebooks and programs."""

from __future__ import annotations

import datetime
import html
import json
import os
import platform
import tempfile
import webbrowser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from pasb import __version__
from pasb.covariates.choice_data import ChoiceData, refuse_choices
from pasb.effects.altered_rows import table_of_choices
from pasb.plots.subject import Subject
from pasb.posterior.tails import tails_of
from pasb.report.effect_facts import effect_facts
from pasb.report.evaluated import Evaluated
from pasb.report.fit_facts import draw_facts, model_facts, order_facts
from pasb.report.made_again import MadeAgain
from pasb.report.page import FRAME, page
from pasb.report.rival_facts import rival_facts
from pasb.report.row_facts import row_facts, score_facts
from pasb.storage.whole_file import replacing

INTERVAL, MOST_ROWS = 0.9, 10_000
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


class ModelReport:
    """What a model found and how good it is, on one page.

    The page is a single HTML file without scripts: what was fitted, whether the draws can be
    trusted, the order of the classes, effects of the leading covariates, scores, confusion and
    calibration, rows worth a look, and a logistic regression to compare with.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
    X : array or data frame of shape (n_rows, n_features), or ChoiceData, optional
        Rows to look at, best those that the model was not fitted to. Without them the report ends
        with the order.
    y : array of shape (n_rows,), optional
        Their classes. Without them there are no scores.
    train : pair of table and labels, optional
        What the model was fitted to. The logistic regression that it is compared with then learns
        from the same rows.
    title : str, optional
    interval : float, default=0.9
        Probability of the credible intervals.
    max_rows : int, default=10000
        Look at so many rows at most, evenly spaced.
    compare : bool, default=True
        Whether to fit the logistic regression.
    command : str, optional
        How the report was made; it is printed at its end.
    row_numbers : integer array of shape (n_rows,), optional
        Numbers of the rows of `X` in the table they come from, which rows worth a look are then
        called by. By default they count from 1 in `X`, and the index of a pandas data frame stands
        beside the number unless it counts the rows too. Columns that a `TableEncoder` left out as
        ids stand there as well.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes the rows of `X` can choose; a model that was fitted with it asks for it. The
        logistic regression knows nothing of it: its probabilities are divided by their sum over
        what is available.

    Attributes
    ----------
    facts : dict
        All that the page says: text, numbers and lists.

    Examples
    --------
    >>> from pasb import ModelReport, StickLogisticClassifier, datasets
    >>> part = datasets.load("iris").partition(0)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1)
    >>> report = ModelReport(model.fit(part.X_train, part.y_train), part.X_test, part.y_test)
    >>> report
    ModelReport(StickLogisticClassifier, 30 rows, error ...%)
    >>> report.html()[:15]  # report.write_html("iris.html") writes it to a file
    '<!doctype html>'
    """

    def __init__(
        self,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        train: tuple[Any, ArrayLike] | None = None,
        title: str | None = None,
        interval: float = INTERVAL,
        max_rows: int = MOST_ROWS,
        compare: bool = True,
        command: str | None = None,
        row_numbers: ArrayLike | None = None,
        availability: Any = None,
    ):
        tails_of(interval)
        if y is not None and X is None:
            raise ValueError("y needs the rows it belongs to: pass X too")
        for name, value in (("row_numbers", row_numbers), ("availability", availability)):
            if value is not None and X is None:
                raise ValueError(f"{name} must belong to rows: pass X too")
        if not isinstance(max_rows, int) or max_rows < 1:
            raise ValueError(f"max_rows must be a positive integer; got {max_rows!r}")
        if train is not None and len(train) != 2:
            raise ValueError("train must be a pair: the table of the fit and its labels")
        if train is not None:
            refuse_choices(train[0], "train takes", "leave it out, or pass tables")
        subject = Subject.of(model)
        rows = [name for name, given in (("X_test", X), ("y_test", y)) if given is not None]
        named = None if availability is None else "availability_test"
        if isinstance(X, ChoiceData):
            y = X.choice if y is None else y
            X, availability = table_of_choices(subject.classifier, X, availability)
        seen = None
        if X is not None:
            seen = Evaluated.of(model, X, y, max_rows, row_numbers, availability)
        classifier = subject.classifier
        chosen = {
            "train": None if train is None else "(X_train, y_train)",
            "row_numbers": None if row_numbers is None else "row_numbers",
            "title": None if title is None else repr(title),
            "interval": None if interval == INTERVAL else repr(interval),
            "max_rows": None if max_rows == MOST_ROWS else repr(max_rows),
            "compare": None if compare else "False",
            "availability": named,
        }
        options = {name: value for name, value in chosen.items() if value is not None}
        again = MadeAgain.of(model, classifier, command, rows, options)
        self.facts: dict[str, Any] = {
            "title": title or f"Report on a {type(classifier).__name__}",
            "version": __version__,
            "date": datetime.date.today().isoformat(),
            "versions": _versions(),
            "reproduce": again.lines,
            "reproduce_notes": again.notes,
            "model": model_facts(subject),
            "draws": draw_facts(classifier),
            "order": order_facts(classifier, seen),
            "data": None,
        }
        if seen is not None:
            self.facts["data"] = {
                "rows": seen.n_rows,
                "given": seen.n_given,
                "draws": seen.n_draws,
                "seen": seen.seen,
                "availability": seen.available is not None,
            }
            self.facts["effects"] = effect_facts(seen, interval)
            self.facts["rows"] = row_facts(seen, interval)
            if seen.category is not None:
                self.facts["scores"] = score_facts(seen)
                if compare:
                    self.facts["rival"] = rival_facts(seen, train)

    def html(self) -> str:
        """The page as text."""
        return page(self.facts)

    def write_html(self, path: str | os.PathLike) -> None:
        """Write the page to a file, which is complete or not there.

        Parameters
        ----------
        path : path
        """
        with replacing(path) as file:
            file.write(self.html().encode("utf-8"))

    def open(self) -> Path:
        """Write the page to a temporary file and show it in a browser.

        Returns
        -------
        Path
            The file.
        """
        with tempfile.NamedTemporaryFile(prefix="pasb-report-", suffix=".html", delete=False) as f:
            path = Path(f.name)
        self.write_html(path)
        webbrowser.open(path.as_uri())
        return path

    def json(self) -> str:
        """All that the page says, as JSON for programs."""
        return json.dumps(self.facts, allow_nan=False)

    def _repr_html_(self) -> str:
        """The page within a notebook, in a frame of its own: neither changes the other."""
        content = html.escape(page(self.facts, FRAME), quote=True)
        return (
            '<iframe title="Report on a fitted model" sandbox="allow-popups" loading="lazy" '
            'style="width:100%;height:640px;border:1px solid #ccc;border-radius:6px" '
            f'srcdoc="{content}"></iframe>'
        )

    def __repr__(self) -> str:
        facts = self.facts
        told = [facts["model"]["name"]]
        if facts["data"]:
            told.append(f"{facts['data']['rows']:,} rows")
        if "scores" in facts:
            told.append(f"error {facts['scores']['error']:.1%}")
        return f"ModelReport({', '.join(told)})"


def _versions() -> dict[str, str]:
    found = {"pasb": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # installed in some other way
            continue
    return found
