"""What a report prints as Python makes the same model and the same report again."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

import pasb
from pasb import ModelReport, StickLogisticClassifier, TableEncoder
from pasb.report import rival_facts
from pasb.report.python_text import PythonText

from .conftest import FEW

SHORT = {"n_chains": 2, "n_warmup": 17, "n_draws": 9}


def logistic(**settings):
    return StickLogisticClassifier(**{**SHORT, "random_state": 3, **settings})


def softplus():
    return pasb.SoftplusClassifier(
        n_experts=2, n_layers=1, n_chains=1, n_warmup=11, n_draws=7, random_state=5
    )


SEEDED = ("settings", "priors", "softplus", "pipeline")
PRIOR = {"petal_length": pasb.Normal(0, 2), "sepal_width": pasb.StudentT(4)}
MODELS = {
    "settings": lambda: logistic(scale=None, order=np.array(["setosa", "virginica", "versicolor"])),
    "seed unknown": lambda: logistic(random_state=None),
    "generator": lambda: logistic(random_state=np.random.default_rng(1)),
    "priors": lambda: logistic(prior=PRIOR),
    "softplus": softplus,
    "general": lambda: pasb.StickBreakingClassifier(
        binary=pasb.Robit(df=3), **SHORT, random_state=np.int64(2)
    ),
    "formula": lambda: pasb.fit("kind ~ petal_length * sepal_width", TABLE, **SHORT),
    "pipeline": lambda: make_pipeline(TableEncoder(drop=["petal_width"]), logistic()),
    "steps": lambda: Pipeline(
        [
            ("chosen", ColumnTransformer([("q", QuantileTransformer(n_quantiles=7), [0, 2, 3])])),
            ("logs", FunctionTransformer(np.log1p)),
            ("scaled", StandardScaler()),
            ("sticks", logistic(random_state=None)),
        ]
    ),
}
TABLE = pasb.datasets.load("iris").frame().rename(columns={"class": "kind"})


@pytest.fixture(autouse=True)
def plain_rival(monkeypatch):
    """The regression beside the model, made twice for each report here, tries one penalty."""
    monkeypatch.setattr(rival_facts, "PENALTIES", (1.0,))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_lines_make_the_same_report(name, tmp_path, monkeypatch):
    if name == "formula":
        pytest.importorskip("formulaic")
    X, y = TABLE.drop(columns="kind"), TABLE["kind"].to_numpy()
    model = MODELS[name]().fit(X, y)
    train = (X, y)
    report = ModelReport(model, X[::3], y[::3], train=train, interval=0.8, title="It's <mine>")
    monkeypatch.chdir(tmp_path)
    made = {"X_train": X, "y_train": y, "X_test": X[::3], "y_test": y[::3]}
    exec(report.facts["reproduce"], made)
    np.testing.assert_array_equal(made["model"].predict_proba(X), model.predict_proba(X))
    written = (tmp_path / "report.html").read_text("utf-8")
    if name in SEEDED:  # else the second model has a random_state, which its report tells
        assert written == report.html()
    assert report.facts["reproduce_notes"] == []


def test_what_cannot_be_written_down_is_said(iris):
    model, _, (X, y) = iris
    pipe = make_pipeline(FunctionTransformer(lambda table: table), clone(model)).fit(X, y)
    facts = ModelReport(pipe, X).facts
    assert facts["reproduce_notes"] == ["Write your own values of func where there are dots."]
    assert "FunctionTransformer(func=...)" in facts["reproduce"]
    compile(facts["reproduce"], "lines", "exec")


def test_a_lost_seed_is_said(tmp_path, iris):
    _, (X, y), _ = iris
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logistic(random_state=None).fit(X, y).save(tmp_path / "m.pasb")
        facts = pasb.load(tmp_path / "m.pasb").report().facts
    assert "seed of the fit is not known" in facts["reproduce_notes"][0]
    assert facts["reproduce"].endswith("model.report().write_html('report.html')")


def test_runs_that_were_cut_short_are_said(iris):
    _, (X, y), _ = iris
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(**{**FEW, "n_draws": 10**6}, max_seconds=1).fit(X, y)
    assert "stopped before its end" in model.report().facts["reproduce_notes"][0]
    assert "another run ends elsewhere" in model.report().html()


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 2, 0.5, -np.inf, "it's", (1,), (), [1, [2, "a"]], {"a": {1: (2, 3)}}),
        *({1, 2}, set(), np.float64(0.25), np.int32(4), np.arange(3.0), np.array(["a", "b"])),
        *(np.log, np.mean, StandardScaler, dict, pasb.Normal(1, 3), StandardScaler(with_std=False)),
    ],
)
def test_text_of_values(value):
    text = PythonText({})
    made = eval(text.of(value), {name: __import__(name) for name in ("numpy", "pasb", "sklearn")})
    assert not text.unknown
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(made, value)
    elif isinstance(value, StandardScaler):
        assert repr(made) == repr(value)
    else:
        assert made == value
