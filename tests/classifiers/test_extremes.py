"""A catalogue of numerical extremes: no sweep ends in NaN, no probability is lost."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import (
    SoftplusClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
    StickSVMClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 1, "n_warmup": 5, "n_draws": 5, "n_jobs": 1, "progress": False}
MODELS = {
    "logistic": (StickLogisticClassifier, {}),
    "robit": (StickRobitClassifier, {}),
    "softplus": (SoftplusClassifier, {"n_experts": 3, "n_layers": 2}),
    "linear svm": (StickSVMClassifier, {"kernel": "linear"}),
    "rbf svm": (StickSVMClassifier, {"width": 0.5, "n_bases": 50}),
}


def check(name, X, y, seed, **changes):
    """Fit, and look at the log-likelihood of every sweep and at all probabilities."""
    classifier, settings = MODELS[name]
    seen = []
    model = classifier(
        **(SHORT | settings | changes),
        random_state=seed,
        callbacks=[lambda info: seen.append(info.log_likelihood)],
    ).fit(X, y)
    assert len(seen) == model.draws_.n_chains * (model.n_warmup + model.n_draws)
    assert np.isfinite(seen).all()
    assert all(np.isfinite(values).all() for values in model.draws_.parameters.values())
    for proba in (model.predict_proba(X), *model.sample_proba(X[:20])):
        assert np.isfinite(proba).all()
        assert (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    return model


def separated(rng):
    y = np.arange(90) % 3
    x = 100.0 * y + 1e-3 * rng.normal(size=90)
    return np.column_stack([x, -x]), y


def duplicated(rng):
    """Three different rows, forty times each, with every label."""
    return np.repeat(rng.normal(size=(3, 2)), 40, axis=0), np.tile([0, 1, 2], 40)


def scales(rng):
    """Columns of 1e-8 to 1e8 in one table."""
    y = np.arange(120) % 3
    return (rng.normal(size=(120, 17)) + y[:, None]) * 10.0 ** np.arange(-8, 9), y


def heavy_tails(rng):
    y = np.arange(150) % 3
    return 10 * rng.standard_cauchy(size=(150, 4)) + y[:, None], y


def farther_than_squares_reach(rng):
    """Numbers whose squares overflow, and numbers whose squares vanish."""
    y = np.arange(60) % 3
    return (rng.normal(size=(60, 2)) + y[:, None]) * [1e300, 1e-300], y


def one_row_each(rng):
    return rng.normal(size=(3, 2)), np.arange(3)


def constant(rng):
    return np.ones((30, 2)), np.arange(30) % 3


CATALOGUE = [separated, duplicated, scales, heavy_tails, one_row_each, constant]


@pytest.mark.parametrize("scale", ["standard", "range", None])
@pytest.mark.parametrize("case", CATALOGUE, ids=lambda case: case.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_catalogue(name, case, scale, seed):
    check(name, *case(np.random.default_rng(seed)), seed, scale=scale)


@pytest.mark.parametrize("scale", ["standard", "range"])
@pytest.mark.parametrize("name", MODELS)
def test_range_of_floats(name, scale, seed):
    """Scaling brings any finite covariate into reach; coefficients on the outer scale exist."""
    X, y = farther_than_squares_reach(np.random.default_rng(seed))
    check(name, X, y, seed, scale=scale)


@pytest.mark.parametrize("name", MODELS)
def test_prediction_far_outside(name, seed):
    rng = np.random.default_rng(seed)
    model = check(name, *heavy_tails(rng), seed)
    far = rng.normal(size=(9, 4)) * 10.0 ** np.linspace(10, 290, 9)[:, None]
    proba = model.predict_proba(far)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


def rare(rng, n_rows, n_rare=1):
    """One row (or a few) of a class among all others, far from them."""
    X, y = rng.normal(size=(n_rows, 2)), np.zeros(n_rows, dtype=int)
    y[:n_rare] = 1
    X[:n_rare] += 5
    return X, y


@pytest.mark.parametrize("name", ["robit", "softplus", "linear svm", "rbf svm"])
def test_a_class_with_one_row_in_2000(name, seed):
    check(name, *rare(np.random.default_rng(seed), 2000), seed)


def test_a_class_with_one_row_in_100_000(seed):
    check("logistic", *rare(np.random.default_rng(seed), 100_001), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["robit", "softplus", "linear svm", "rbf svm"])
def test_a_class_with_one_row_in_100_000_for_every_model(name, seed):
    check(name, *rare(np.random.default_rng(seed), 100_001), seed)


@pytest.mark.parametrize("name", ["logistic", "linear svm", "rbf svm"])
def test_weights_of_1e5_to_1(name, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + y[:, None]
    classifier, settings = MODELS[name]
    seen = []
    model = classifier(
        **(SHORT | settings),
        random_state=seed,
        callbacks=[lambda info: seen.append(info.log_likelihood)],
    ).fit(X, y, sample_weight=np.where(y == 0, 1e5, 1.0))
    assert np.isfinite(seen).all()
    assert np.isfinite(model.predict_proba(X)).all()


def many_categories(rng, n_categories):
    y = np.repeat(np.arange(n_categories), 2)
    return rng.normal(size=(len(y), 3)) + y[:, None] / 20, y


@pytest.mark.parametrize("name", ["linear svm", "rbf svm"])
def test_200_categories(name, seed):
    check(name, *many_categories(np.random.default_rng(seed), 200), seed, n_warmup=1, n_draws=2)


@pytest.mark.parametrize("name", ["logistic", "robit", "softplus"])
def test_40_categories(name, seed):
    few = {"n_warmup": 1, "n_draws": 2}
    if name == "softplus":
        few |= {"n_experts": 1, "n_layers": 1, "direction": "reverse"}
    check(name, *many_categories(np.random.default_rng(seed), 40), seed, **few)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_200_categories_for_every_model(name, seed):
    check(name, *many_categories(np.random.default_rng(seed), 200), seed)


def wide(rng, n_columns):
    return rng.normal(size=(60, n_columns)), np.arange(60) % 3


@pytest.mark.parametrize("name", MODELS)
def test_2000_columns(name, seed):
    few = {"n_warmup": 2, "n_draws": 3}
    if name == "softplus":
        few |= {"n_experts": 1, "n_layers": 1, "direction": "forward", "order": [0, 1, 2]}
    check(name, *wide(np.random.default_rng(seed), 2000), seed, **few)


@pytest.mark.parametrize("case", [separated, heavy_tails], ids=lambda case: case.__name__)
def test_twenty_experts_of_twenty_layers(case, seed):
    X, y = case(np.random.default_rng(seed))
    check("softplus", X, y, seed, n_experts=20, n_layers=20, order=[0, 1, 2], n_warmup=2, n_draws=2)


@pytest.mark.slow
@pytest.mark.parametrize("case", CATALOGUE, ids=lambda case: case.__name__)
def test_twenty_experts_of_twenty_layers_for_longer(case, seed):
    X, y = case(np.random.default_rng(seed))
    check("softplus", X, y, seed, n_experts=20, n_layers=20, n_warmup=20, n_draws=20)
