"""Formula models as files: the same predictions, on the command line too, and nothing executed."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pasb
from pasb.classifiers.saved_formulas import formula_to_json, from_plain, to_plain
from pasb.cli import app
from pasb.errors import FileFormatError
from pasb.storage import store

pytest.importorskip("formulaic")
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "n_jobs": 1, "random_state": 0}
FORMULA = (
    "species ~ bill * island + bs(mass, df=4) + poly(bill, 2) + sex + year + "
    "C(island, contr.sum):mass + log(`wing span`) + scale(mass) + np.sqrt(mass) + cs(bill, df=4)"
)


def birds(n=60):
    rng = np.random.default_rng(3)
    place = np.arange(n) % 3
    return pd.DataFrame(
        {
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[place],
            "bill": 40 + 4 * place + rng.normal(size=n) * 2,
            "mass": 3.5 + 0.5 * (place == 2) + rng.normal(size=n) * 0.3,
            "island": np.where(rng.random(n) < 0.3 + 0.2 * place, "Dream", "Biscoe"),
            "sex": rng.random(n) < 0.5,
            "year": pd.Categorical(2007 + np.arange(n) % 3),
            "wing span": np.exp(rng.normal(size=n)),
        }
    )


DATA = birds()


@pytest.fixture(scope="module")
def fitted():
    prior = {"bill*": pasb.Normal(0, 1), "island[T.Dream]": pasb.StudentT(3, 0, 2)}
    return pasb.fit(FORMULA, DATA, prior=prior, **SHORT)


@pytest.fixture(scope="module")
def path(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("formula") / "model.pasb"
    fitted.save(path)
    return path


def test_a_model_comes_back(fitted, path):
    again = pasb.load(path)
    few = DATA.iloc[5:8]  # not all levels, a narrow range
    for rows in (DATA, few):
        np.testing.assert_array_equal(again.predict_proba(rows), fitted.predict_proba(rows))
    pd.testing.assert_frame_equal(again.terms(few), fitted.terms(few))
    pd.testing.assert_frame_equal(again.summary(), fitted.summary())
    assert again.formula == FORMULA
    assert again.kinds_ == fitted.kinds_
    assert again.model_.prior == fitted.model_.prior
    assert again.best_draw().predict(few).shape == (3,)
    bad = few.assign(island="Mars")
    with pytest.raises(ValueError, match="Mars"):
        again.predict(bad)


def test_the_command_line_predicts(fitted, path, tmp_path):
    table, out = tmp_path / "birds.csv", tmp_path / "out.csv"
    DATA.to_csv(table, index=False)
    run = CliRunner().invoke(app, ["predict", str(path), str(table), "--out", str(out)])
    assert run.exit_code == 0, run.output
    found = pd.read_csv(out)[["p_Adelie", "p_Chinstrap", "p_Gentoo"]]
    np.testing.assert_allclose(found, fitted.predict_proba(DATA), atol=1e-12)
    assert CliRunner().invoke(app, ["summary", str(path)]).exit_code == 0
    DATA.assign(sex="perhaps").to_csv(table, index=False)
    for frame, word in (
        (DATA.drop(columns="mass"), "mass"),
        (DATA.assign(sex="perhaps"), "neither true nor"),
        (DATA.assign(island=[None, *DATA["island"][1:]]), "empty in row 1"),
    ):
        frame.to_csv(table, index=False)
        run = CliRunner().invoke(app, ["predict", str(path), str(table)])
        assert run.exit_code != 0
        assert word in run.output + str(run.exception)


@pytest.mark.parametrize("term", ["bill.abs()", "np.cumsum(bill)"])
def test_other_python_is_not_saved(term, tmp_path):
    model = pasb.fit(f"species ~ {term}", DATA, **SHORT)
    with pytest.raises(TypeError, match="cannot be saved"):
        model.save(tmp_path / "model.pasb")


@pytest.mark.parametrize(
    "term",
    [
        "I(__import__('os').mkdir('{there}'))",
        "I(().__class__.__base__.__subclasses__())",
        "np.load('{there}')",
        "I([x for x in (1, 2)])",
        "bs(bill, df=10**9)",
        "I((lambda: 1)())",
    ],
)
def test_a_file_cannot_execute(term, path, tmp_path):
    there = tmp_path / "executed"
    meta, arrays = store.read(path, "model")
    meta["formula"]["text"] = f"species ~ bill + {term.format(there=there)}"
    changed = tmp_path / "changed.pasb"
    store.write(changed, "model", meta, arrays)
    with pytest.raises(FileFormatError):
        pasb.load(changed)
    assert not os.path.exists(there)


@pytest.mark.parametrize("key", ["text", "levels", "example", "kinds", "transforms", "library"])
def test_an_incomplete_formula_is_refused(key, path, tmp_path):
    meta, arrays = store.read(path, "model")
    changed = tmp_path / "changed.pasb"
    for wrong in ({}, None, "species ~ mass"):
        meta["formula"] = {**meta["formula"], key: wrong}
        store.write(changed, "model", meta, arrays)
        with pytest.raises(FileFormatError):
            pasb.load(changed)


def test_what_is_remembered_keeps_its_type(fitted):
    value = {"a": [1, 2.5, None, True], 3: {"b": float("inf")}, "c": ("x",)}
    back = from_plain(json.loads(json.dumps(to_plain(value))))
    assert back == {**value, "c": ["x"]}
    assert np.array_equal(from_plain(to_plain(np.arange(3.0))), np.arange(3.0))
    json.dumps(formula_to_json(fitted), allow_nan=False)
    with pytest.raises(TypeError, match="set"):
        to_plain({1})


def test_a_prior_where_it_has_no_meaning():
    for model in ("softplus", "svm"):
        with pytest.raises(ValueError, match="no coefficient for each term"):
            pasb.fit("species ~ bill", DATA, model=model, prior=pasb.Normal())
