"""User-written binary models: the worked examples of the documentation, and bad ones."""

from __future__ import annotations

import importlib.util
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from pasb import StickBreakingClassifier
from pasb.binary.binary_model import Keys
from pasb.binary.custom import CustomBinary
from pasb.binary.robit import Robit
from pasb.numerics.rows import Rows, blocked
from pasb.sticks import ABSENT, FAILURE, IMPUTED, SUCCESS
from pasb.testing import (
    check_binary_model,
    check_fixed_order,
    check_log_probabilities,
    check_reproducibility,
)

PAGE = Path(__file__).parents[2] / "docs" / "binary_models.md"
SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 40, "random_state": 3, "progress": False}


def code_blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The classes of the page as a module that can be imported, as a user's would be."""
    path = tmp_path_factory.mktemp("example") / "worked_examples.py"
    path.write_text("\n\n".join(block for block in code_blocks() if "(CustomBinary)" in block))
    spec = importlib.util.spec_from_file_location("worked_examples", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["worked_examples"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["worked_examples"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 2))
    return X, np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(60, 3)), axis=1)


@pytest.mark.statistical(level=1e-6)
@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
def test_the_page_runs(capsys):
    names = {"__name__": "page"}
    for block in code_blocks():
        exec(compile(block, str(PAGE), "exec"), names)
    assert "Probit passed 8 checks" in capsys.readouterr().out


@pytest.mark.statistical(level=1e-6)
def test_the_second_example_conforms(example, seed, level):
    check_binary_model(example.ComplementaryLogLog(n_moves=1), seed=seed, level=level)


def test_probit_is_robit_with_infinite_df(example, data):
    X, y = data
    found = []
    for binary in (example.Probit(shape=2.0, rate=8.0), Robit(df=np.inf, moves="gibbs")):
        model = StickBreakingClassifier(
            binary=binary, order=[0, 1, 2], n_chains=2, n_warmup=200, n_draws=1000, random_state=1
        )
        found.append(model.fit(X, y).predict_proba(X))
    # no level: 0.011 with a spread of 0.003 over other seeds
    assert np.abs(found[0] - found[1]).max() < 0.05


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
@pytest.mark.parametrize("sticks", ["marginal", "augmented"])
@pytest.mark.parametrize("name", ["Probit", "ComplementaryLogLog"])
def test_end_to_end(example, data, name, sticks, tmp_path):
    X, y = data
    binary = getattr(example, name)()
    model = StickBreakingClassifier(binary=binary, sticks=sticks, direction="reverse", **SHORT)
    model.fit(X, y)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert model.summary().shape[0] == 2 * 3
    assert model.posterior_["posterior"]["probability"].shape[:2] == (2, 40)
    again = clone(model).fit(X, y)
    assert (again.draws_.parameters["coef"] == model.draws_.parameters["coef"]).all()
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict_proba(X) == model.predict_proba(X)).all()
    with pytest.raises(TypeError, match="cannot be saved"):
        model.save(tmp_path / "model.pasb")


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
def test_a_checkpoint_goes_on_as_if_never_stopped(example, data, tmp_path):
    X, y = data
    model = StickBreakingClassifier(binary=example.Probit(), **SHORT)
    whole = model.fit(X, y).draws_
    stopped = clone(model).set_params(checkpoint=tmp_path / "run", n_draws=15)
    stopped.fit(X, y)
    resumed = stopped.set_params(n_draws=40).fit(X, y).draws_
    assert (resumed.parameters["coef"] == whole.parameters["coef"]).all()
    assert (resumed.order == whole.order).all()


class Constant(CustomBinary):
    """A model without coefficients: one probability, with a uniform prior, for all rows."""

    kept = ("log_odds",)

    def log_success_and_failure(self, parameters, X):
        eta = np.full(len(X), parameters["log_odds"])
        return -np.logaddexp(0, -eta), -np.logaddexp(0, eta)

    def simulate(self, n_columns, rng):
        p = rng.beta(1, 1)
        return {"log_odds": np.log(p) - np.log1p(-p)}

    def update(self, parameters, X, labels, rng):
        p = rng.beta(1 + labels.sum(), 1 + (1 - labels).sum())
        return {"log_odds": np.log(p) - np.log1p(-p)}


@pytest.mark.statistical(level=1e-6)
def test_a_model_without_coefficients(data, seed, level):
    check_log_probabilities(Constant())
    check_fixed_order(Constant(), seed=seed, level=level)
    X, y = data
    model = StickBreakingClassifier(
        binary=Constant(), n_chains=2, n_warmup=200, n_draws=500, random_state=0
    )
    shares = np.bincount(y) / len(y)  # off by 0.004 with a spread of 0.001 over other seeds
    assert model.fit(X, y).predict_proba(X[:1])[0] == pytest.approx(shares, abs=0.1)
    assert "log_odds" in model.posterior_["posterior"]
    with pytest.raises(NotImplementedError, match="summary"):
        model.summary()


class Recording(Constant):
    """Keeps what `update` was given."""

    def update(self, *given):
        Recording.given = given
        return super().update(*given[:4])


class WeightedRecording(Recording):
    weighted = True


def recorded(model, roles, weights=None):
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    sampler = model.sampler(Rows.of(X, np.array([2, 0, 1, 0, 1, 2]), 3, weights))
    parameters = sampler.start(Keys(0, 0, 0))
    sampler.update(parameters, 0, 0, np.array(roles, dtype=np.int8), Keys(0, 0, 1))
    return Recording.given


def test_update_gets_the_rows_that_inform_the_stick():
    _, X, labels, _ = recorded(Recording(), [SUCCESS, ABSENT, FAILURE])
    assert X.tolist() == [[1, 1], [1, 3], [1, 0], [1, 5]]
    assert labels.tolist() == [1, 1, 0, 0]
    _, X, labels, _ = recorded(Recording(), [ABSENT, ABSENT, ABSENT])
    assert X.shape == (0, 2)
    assert labels.shape == (0,)
    _, X, labels, _ = recorded(Recording(), [SUCCESS, IMPUTED, FAILURE])
    assert len(X) == 6
    assert set(labels) <= {0.0, 1.0}


def test_weights():
    weights = np.array([1.0, 0.0, 2.5, 1.0, 1.0, 1.0])
    *_, given = recorded(WeightedRecording(), [SUCCESS, FAILURE, FAILURE], weights)
    assert given.tolist() == [1.0, 2.5, 1.0, 1.0, 1.0]  # by category; zero leaves a row out
    with pytest.raises(ValueError, match="sample_weight must be 0 or 1"):
        recorded(Recording(), [SUCCESS, FAILURE, FAILURE], weights)


class Odd(CustomBinary):
    """Does what it is told, right or wrong."""

    def __init__(self, result=None, logs=None, kept=("coef",)):
        self.result = result
        self.logs = logs
        self.kept = kept

    def link(self, eta):
        return self.logs if self.logs is not None else (-np.logaddexp(0, -eta),) * 2

    def simulate(self, n_columns, rng):
        return {"coef": rng.normal(size=n_columns)}

    def update(self, parameters, X, labels, rng):
        return parameters if self.result is None else self.result


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Odd(result=[1.0]), TypeError, "Odd.update must return a dictionary"),
        (Odd(result={"coef": ["a", "b"]}), TypeError, "float arrays"),
        (Odd(result={"coef": np.zeros(7)}), ValueError, r"'coef' with the shape \(7,\), not \(3,"),
        (Odd(result={"beta": np.zeros(3)}), ValueError, r"\['beta'\], not \['coef'\]"),
        (Odd(result={"coef": np.full(3, np.nan)}), ValueError, "not finite"),
        (Odd(logs=np.zeros(3)), TypeError, "two arrays"),
        (Odd(logs=(np.zeros(2), np.zeros(2))), ValueError, "shapes"),
        (Odd(kept=("coef", "scale")), ValueError, "kept names 'scale'"),
    ],
)
def test_bad_models_are_told_what_is_wrong(data, model, error, message):
    with pytest.raises(error, match=message):
        StickBreakingClassifier(binary=model, **SHORT).fit(*data)


def test_a_model_without_probabilities(data):
    class Nothing(Odd):
        link = CustomBinary.link

    with pytest.raises(NotImplementedError, match="Nothing needs a method link"):
        StickBreakingClassifier(binary=Nothing(), **SHORT).fit(*data)


def test_link_and_rows_give_the_same_probabilities(example):
    class ByRows(example.ComplementaryLogLog):
        def log_success_and_failure(self, parameters, X):
            assert X.shape[1] == len(parameters["coef"])
            return self.link(X @ parameters["coef"])

    rng = np.random.default_rng(0)
    coef, blocks = rng.normal(size=(4, 2, 3)), blocked(rng.normal(size=(9, 3)))
    by_link = example.ComplementaryLogLog().log_probabilities({"coef": coef}, blocks)
    by_rows = ByRows().log_probabilities({"coef": coef}, blocks)
    assert by_rows[0] == pytest.approx(by_link[0])
    assert by_rows[1] == pytest.approx(by_link[1])
    check_log_probabilities(ByRows())
    check_reproducibility(ByRows())
