"""The report: its figures are those of the model, and hostile names stay text."""

from __future__ import annotations

import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb import ModelReport, SoftplusClassifier, StickLogisticClassifier
from pasb.report.drawings import ticks
from pasb.report.evaluated import spaced

from .conftest import FEW, HOSTILE

VOID = {"meta", "link", "line", "circle", "rect", "polyline", "polygon", "br", "img"}


class Outline(HTMLParser):
    """Tags, ids and text of a page; tags must close in order."""

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_figures_are_those_of_the_model(iris, report):
    model, (X_train, _), (X, y) = iris
    facts = report.facts
    proba = model.predict_proba(X)
    assert facts["scores"]["error"] == pytest.approx(np.mean(model.predict(X) != y))
    assert facts["scores"]["log_loss"] == pytest.approx(log_loss(y, proba))
    np.testing.assert_array_equal(
        facts["scores"]["confusion"], confusion_matrix(y, model.predict(X))
    )
    assert sum(facts["model"]["training_rows"]) == len(X_train)
    assert facts["draws"]["rhat"] == pytest.approx(model.diagnostics_.worst_rhat)
    assert facts["rival"]["how"] == "train"
    top = model.order_posterior(1)
    assert facts["order"]["directions"][0]["orders"][0] == top["order"][0]
    place = np.array(facts["order"]["directions"][0]["place"])
    np.testing.assert_allclose(place.sum(axis=0), 1)
    np.testing.assert_allclose(place.sum(axis=1), 1)


def test_effects_are_those_of_pasb_effects(iris, report):
    model, _, (X, _) = iris
    term = report.facts["effects"]["terms"][0]
    column = X[term["term"]]
    ends = [column.mean() - column.std(ddof=0), column.mean() + column.std(ddof=0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pasb.effects.avg_comparisons(model, X, {term["term"]: ends})
    np.testing.assert_allclose(term["estimate"], found["estimate"], atol=1e-9)
    np.testing.assert_allclose(term["lower"], found["lower"], atol=1e-9)
    for one in report.facts["effects"]["terms"]:  # what one class gains, others lose
        assert sum(one["estimate"]) == pytest.approx(0, abs=1e-9)


def test_rows_worth_a_look_are_the_right_ones(iris):
    model, _, (X, y) = iris
    y = np.where(np.arange(len(y)) == 7, "virginica", y)  # a wrong label
    report = model.report(X, y, compare=False)
    proba = model.predict_proba(X)
    given = proba[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    surprising = report.facts["rows"]["surprising"]
    assert surprising[0]["row"] == int(np.argmin(given)) + 1 == 8
    assert surprising[0]["truth"]["p"] == pytest.approx(given.min())
    first = report.facts["rows"]["doubtful"][0]
    assert first["prediction"]["lower"] <= first["prediction"]["p"] <= first["prediction"]["upper"]


def test_page_is_one_file_that_loads_nothing(report, tmp_path):
    report.write_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    outline = Outline(page)
    assert "script" not in outline.tags
    assert not re.search(r"https?://", page)
    links = [value for name, value in outline.attributes if name in ("href", "src")]
    ids = {value for name, value in outline.attributes if name == "id"}
    assert all(link == "data:," or link[1:] in ids for link in links)
    assert [n for n in outline.tags if n == "h1"] == ["h1"]
    assert len(page) < 3e6
    for name in ("order", "draws", "effects", "scores", "rows", "rival", "cite"):
        assert name in ids


def test_a_page_of_vehicle_is_small():
    """All 846 rows, and 4000 draws."""
    data = pasb.datasets.load("vehicle")
    part, table = data.partition(0), data.frame().drop(columns="class")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(n_warmup=100, n_draws=1000, random_state=1)
        model.fit(table.iloc[part.train], part.y_train)
    report = model.report(table, data.y, train=(table.iloc[part.train], part.y_train))
    assert report.facts["data"]["rows"] == 846
    assert report.facts["draws"]["chains"] * report.facts["draws"]["draws"] == 4000
    assert len(report.html().encode()) < 3e6
    assert len(report.json()) < 3e6


def test_hostile_names_stay_text(hostile):
    page = hostile.html()
    outline = Outline(page)
    assert not {"script", "img", "b"} & set(outline.tags)
    assert not [name for name, _ in outline.attributes if name.startswith("on")]
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "\x00" not in page
    assert HOSTILE[0] in " ".join(outline.words)
    assert "{{7*7}}" in " ".join(outline.words)
    frame = hostile._repr_html_()
    assert frame.count("<") == 2  # the frame's own tags; all else is escaped
    assert "<script" not in frame


def test_levels_of_categories_are_compared(hostile):
    terms = hostile.facts["effects"]["terms"]
    changes = [term["change"] for term in terms if term["term"] == HOSTILE[1]]
    assert changes
    assert all("→" in change for change in changes)


def test_json(report):
    facts = json.loads(report.json())
    assert facts["model"]["name"] == "StickLogisticClassifier"
    assert facts["scores"]["error"] == report.facts["scores"]["error"]


def test_opens_in_a_browser(report, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = report.open()
    assert opened == [path.as_uri()]
    assert path.read_text("utf-8").startswith("<!doctype html>")
    path.unlink()


def test_training_rows_are_told(iris):
    model, train, test = iris
    assert model.report(*train, compare=False).facts["data"]["seen"]
    assert "look like the rows of the fit" in model.report(*train, compare=False).html()
    assert not model.report(*test, compare=False).facts["data"]["seen"]


def test_no_comparison_on_rows_of_the_fit(iris):
    model, (X, y), test = iris
    for train in (None, (X, y)):
        page = model.report(X, y, train=train).html()
        assert "No comparison: these look like the rows of the fit" in page
        assert "than that of a logistic regression" not in page
    held_out = model.report(*test, train=(X, y)).html()
    assert held_out.count("than that of a logistic regression") == 2  # in short, and in its section
    unequal = model.report(*test).html()
    assert unequal.count("than that of a logistic regression") == 1
    assert "no contest of equals" in unequal


def test_less_is_enough(iris):
    model, _, (X, y) = iris
    bare = model.report()
    assert "scores" not in bare.facts
    assert Outline(bare.html())
    unlabelled = model.report(X)
    assert "scores" not in unlabelled.facts
    assert "truth" not in unlabelled.facts["rows"]["doubtful"][0]
    assert Outline(unlabelled.html())
    plain = model.report(X, y, compare=False)
    assert "rival" not in plain.facts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None, "X": None, "train": (1, 2, 3)}, "pair"),
        ({"X": None}, "pass X too"),
        ({"interval": 1.5}, "between 0 and 1"),
        ({"max_rows": 0}, "max_rows"),
    ],
)
def test_wrong_inputs(iris, change, message):
    model, _, (X, y) = iris
    with pytest.raises(ValueError, match=message):
        ModelReport(model, **{"X": X, "y": y, **change})


def test_unknown_labels_are_named(iris):
    model, _, (X, y) = iris
    with pytest.raises(ValueError, match="'tulip', which is not a class"):
        model.report(X, np.where(np.arange(len(y)) == 3, "tulip", y))
    with pytest.raises(ValueError, match="label for each"):
        model.report(X, y[:-1])


def test_not_a_model():
    with pytest.raises(TypeError, match="fitted classifier of pasb"):
        ModelReport(StandardScaler())


def test_many_rows_are_bounded(iris):
    model, _, (X, y) = iris
    times = 100_000 // len(X) + 1
    table, labels = pd.concat([X] * times, ignore_index=True), np.tile(y, times)
    report = model.report(table, labels, max_rows=2000, compare=False)
    assert report.facts["data"]["rows"] == 2000
    assert report.facts["data"]["given"] == len(table)
    assert f"evenly spaced among {len(table):,}" in report.html()


def test_many_classes_numbers_as_labels_arrays_and_pipelines():
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(26), 12)
    X = rng.normal(size=(len(y), 3)) + y[:, None] * 0.4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = make_pipeline(StandardScaler(), StickLogisticClassifier(**FEW)).fit(X, y)
        report = ModelReport(pipe, X, y, compare=False)
    assert np.shape(report.facts["scores"]["confusion"]) == (26, 26)
    assert Outline(report.html())


@pytest.mark.filterwarnings("ignore")
def test_softplus_has_both_directions():
    X, y = pasb.datasets.load("iris").X[::3], pasb.datasets.load("iris").y[::3]
    settings = {"n_experts": 2, "n_layers": 1, "direction": "both"}
    model = SoftplusClassifier(n_warmup=20, n_draws=20, n_chains=1, random_state=1, **settings)
    report = model.fit(X, y).report(X, y, compare=False)
    assert len(report.facts["order"]["directions"]) == 2
    priors = report.facts["model"]["priors"]
    assert priors[0]["of"] == ["each coefficient"]
    assert "the data say" in next(one["prior"] for one in priors if one["of"] == ["each mean rate"])
    assert "each mean rate: 1 / gamma(0.5, 2)" in report.html()
    assert "reverse sticks" in report.html()
    assert Outline(report.html())


@pytest.mark.filterwarnings("ignore")
def test_formula():
    pytest.importorskip("formulaic")
    data = pasb.datasets.load("iris").frame().rename(columns={"class": "kind"})
    model = pasb.fit("kind ~ petal_length + sepal_length", data, **FEW)
    report = model.report(data, data["kind"], compare=False)
    assert report.facts["effects"]["terms"][0]["term"] == "petal_length"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_formula_of_a_table_with_text(library):
    """The response and a categorical covariate are in the table; the rival gets the terms."""
    pytest.importorskip("formulaic")
    data = pasb.datasets.load("iris").frame().rename(columns={"class": "kind"})
    data = data.assign(size=np.where(data["petal_length"] > 4, "long", "short"), note="text")
    rows = data if library == "pandas" else polars.from_pandas(data)
    model = pasb.fit("kind ~ size + bs(sepal_length, df=4)", rows, **FEW)
    for report in (
        pasb.ModelReport(model, rows, rows["kind"]),
        model.report(rows[:60:3], rows["kind"][:60:3], train=(rows, rows["kind"])),
    ):
        rival = report.facts["rival"]
        assert rival["theirs"]["error"] < 0.5
        assert rival["learned_from"] == 150
        assert report.facts["scores"]["error"] < 0.5
        assert Outline(report.html())
        assert "size" in report.html()


def test_ticks_are_round_and_few():
    assert ticks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert len(ticks(-163.2, -120.9)) <= 6
    assert spaced(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert len(spaced(1000, 10)) == 10


def test_a_notebook_shows_the_picture_and_a_line(iris):
    model = iris[0]
    shown = model._repr_mimebundle_()["text/html"]
    assert "sk-container" in shown or "sk-top-container" in shown
    assert shown.count("pasb-state") == 1
    assert "Fitted to 120 rows, 3 classes: 2 chains of 60 draws" in shown
    assert "Not fitted yet." in StickLogisticClassifier()._repr_html_()
    assert StickLogisticClassifier()._repr_html_().count("pasb-state") == 1


def test_diagnostics_print_as_a_table(iris):
    lines = repr(iris[0].diagnostics_).splitlines()
    assert lines[0].split() == ["R-hat", "ESS", "standard", "error"]
    assert lines[1].startswith("log-likelihood")
    assert len({len(line) for line in lines}) == 1
    assert "<th" in iris[0].diagnostics_._repr_html_()
