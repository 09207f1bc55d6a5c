"""The multinomial support vector machine: kernel columns, width, bases, files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import pasb
from pasb import StickSVMClassifier, datasets
from pasb.covariates.kernel_columns import choose_landmarks, kernel_columns
from pasb.covariates.kernel_width import MOST_ROWS, cross_validate, folds_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of short chains

SHORT = {"n_chains": 1, "n_warmup": 30, "n_draws": 20, "random_state": 3, "progress": False}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StickSVMClassifier(width=0.25, **SHORT).fit(*iris)


def test_kernel_columns_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, landmarks = rng.normal(size=(30, 4)), rng.normal(size=(11, 4))
    columns = kernel_columns(X, landmarks, 0.7)
    assert (columns[:, 0] == 1).all()
    assert columns[:, 1:] == pytest.approx(rbf_kernel(X, landmarks, gamma=0.7), rel=1e-12)
    far = kernel_columns(np.array([[1e200, 0, 0, 0], [np.inf, 0, 0, 0]]), landmarks, 2.0)
    assert (far[:, 1:] == 0).all()


def test_kernel_columns_do_not_depend_on_other_rows():
    rng = np.random.default_rng(1)
    X, landmarks = rng.normal(size=(301, 5)), rng.normal(size=(17, 5))
    whole = kernel_columns(X, landmarks, 0.3)
    for rows in (slice(0, 1), slice(7, 40), slice(299, 301)):
        assert np.array_equal(kernel_columns(X[rows], landmarks, 0.3), whole[rows])


def test_landmarks():
    rng = np.random.default_rng(2)
    X, categories = rng.normal(size=(100, 2)), np.repeat([0, 1, 2], [80, 18, 2])
    assert choose_landmarks(X, categories, None, 0).tolist() == list(range(100))
    few = choose_landmarks(X, categories, 20, 0)
    assert len(set(few)) == 20
    assert (np.diff(few) > 0).all()
    counts = np.bincount(categories[few], minlength=3)
    assert counts.min() >= 1
    assert counts[0] >= 15
    assert np.array_equal(few, choose_landmarks(X, categories, 20, 0))
    assert not np.array_equal(few, choose_landmarks(X, categories, 20, 1))
    X[50] = X[3]
    assert 50 not in choose_landmarks(X, categories, None, 0)


def test_fit_predicts_probabilities(fitted, iris):
    X, y = iris
    proba = fitted.predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(np.ones(150), abs=1e-12)
    assert fitted.score(X, y) > 0.95
    assert fitted.width_ == 0.25
    assert all(len(column) == 0 for column in fitted.cv_results_.values())
    assert len(fitted.bases_) == 149  # one flower occurs twice
    assert set(fitted.support_) <= set(fitted.bases_)
    assert 0 < fitted.n_hyperplanes() < 149
    coef = fitted.posterior_["posterior"]["coef"]
    assert coef.dims == ("chain", "draw", "category", "basis")


def test_a_row_does_not_depend_on_the_others(fitted, iris, monkeypatch):
    X, _ = iris
    whole, samples = fitted.predict_proba(X), fitted.sample_proba(X, 3)
    assert np.array_equal(fitted.predict_proba(X[70:72]), whole[70:72])
    monkeypatch.setattr("pasb.classifiers.svm_classifier._NUMBERS_AT_ONCE", 1)
    many = np.concatenate([X, X, X])
    assert np.array_equal(fitted.predict_proba(many)[150:300], whole)
    assert np.array_equal(fitted.sample_proba(many, 3)[:, 300:], samples)


def test_save_and_load(fitted, iris, tmp_path):
    X, _ = iris
    fitted.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.width_ == fitted.width_
    assert np.array_equal(again.support_, fitted.support_)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("landmarks", lambda a: a[:, :1]),
        ("landmarks", lambda a: a[:-1]),
        ("landmarks", lambda a: a * np.nan),
        ("landmarks", lambda a: a.astype(np.int64)),
        ("bases", lambda a: a.astype(np.float64)),
        ("bases", lambda a: a[:0]),
        ("width", lambda a: -a),
        ("width", lambda a: np.concatenate([a, a])),
        ("scores", lambda a: np.zeros((2, 2))),
    ],
)
def test_files_that_make_no_sense_are_refused(fitted, name, spoil):
    arrays = fitted._learned()
    model = StickSVMClassifier()
    model.n_features_in_ = 4
    model._relearn(arrays)
    with pytest.raises(ValueError, match=r"kernel|cross validation"):
        model._relearn({**arrays, name: spoil(arrays[name])})


def test_width_by_cross_validation():
    part = datasets.load("square").partition(0)
    model = StickSVMClassifier(cv_widths=[0.001, 2.0, 300.0], n_bases=60, **SHORT)
    model.fit(part.X_train, part.y_train)
    assert model.width_ == 2.0
    results = model.cv_results_
    assert results["param_width"].tolist() == [0.001, 2.0, 300.0]
    assert results["mean_test_error"].argmin() == 1
    assert results["rank_test_error"].argmin() == 1
    assert sorted(results["rank_test_error"]) == [1, 2, 3]
    assert model.score(part.X_test, part.y_test) > 0.9
    again = StickSVMClassifier(cv_widths=[300.0, 2.0, 0.001], n_bases=60, n_jobs=1, **SHORT)
    again.fit(part.X_train, part.y_train)
    assert again.cv_results_.keys() == results.keys()
    for name, column in results.items():
        np.testing.assert_array_equal(again.cv_results_[name], column)


def test_the_search_of_widths_ends_at_the_best():
    """Every third width, then two neighbours on each side; ties go to the lower loss."""
    tried = []

    def fit(width, train, test):
        tried.append(width)
        right = 0.79 - 0.01 * abs(np.log2(width) - 5)
        return np.column_stack([np.full(len(test), right), np.full(len(test), 1 - right)])

    categories = np.repeat([0, 1], [40, 10])
    scores = cross_validate(
        fit, categories, np.ones(50), [2.0**k for k in range(21)], n_folds=3, seed=0, n_jobs=2
    )
    assert min(scores).width == 2.0**5
    assert len(tried) == 3 * len(scores) <= 36


def test_folds():
    categories = np.repeat([0, 1, 2], [4000, 2000, 6])
    folds = folds_of(categories, np.arange(6006), 3, 0)
    assert len(folds) == 3
    tests = np.concatenate([test for _, test in folds])
    assert len(set(tests)) == len(tests) == MOST_ROWS
    for train, test in folds:
        assert not set(train) & set(test)
        assert set(categories[train]) == {0, 1, 2}
    assert folds_of(np.array([0, 1]), np.arange(2), 3, 0) == []


def test_too_few_rows_for_cross_validation():
    model = StickSVMClassifier(**SHORT).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert model.width_ == 0.5


@pytest.mark.parametrize("inclusion", [None, 0.5])
def test_linear_kernel(iris, inclusion):
    X, y = iris
    model = StickSVMClassifier(kernel="linear", inclusion=inclusion, **SHORT).fit(X, y)
    assert model.score(X, y) > 0.93
    assert model.posterior_["posterior"]["coef"].dims[-1] == "feature"
    assert len(model.support_) <= 4


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ({"width": 0}, "width"),
        ({"width": -1.0}, "width"),
        ({"cv_widths": [1.0, 0.0]}, "cv_widths"),
        ({"cv_widths": []}, "cv_widths"),
        ({"inclusion": 1.0}, "inclusion"),
        ({"n_bases": 0}, "n_bases"),
        ({"kernel": "poly"}, "kernel"),
    ],
)
def test_impossible_settings_are_named(setting, name, iris):
    with pytest.raises(ValueError, match=name):
        StickSVMClassifier(**{**SHORT, **setting}).fit(*iris)


def test_rows_without_weight_are_no_landmarks(iris):
    X, y = iris
    weights = np.ones(150)
    weights[::2] = 0
    settings = {**SHORT, "width": 0.25}
    model = StickSVMClassifier(**settings).fit(X, y, sample_weight=weights)
    assert (model.bases_ % 2 == 1).all()
    alone = StickSVMClassifier(**settings).fit(X[1::2], y[1::2])
    assert np.array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_not_fitted():
    with pytest.raises(NotFittedError):
        StickSVMClassifier().predict_proba([[0.0]])
    assert not hasattr(StickSVMClassifier(), "support_")


def test_a_run_goes_on_from_its_checkpoint(iris, tmp_path):
    X, y = iris
    settings = {**SHORT, "cv_widths": [0.1, 1.0], "n_bases": 30}
    whole = StickSVMClassifier(**settings).fit(X, y)
    stop = [lambda info: info.sweep >= 40]
    folder = tmp_path / "run"
    StickSVMClassifier(**settings, checkpoint=folder, callbacks=stop).fit(X, y)
    resumed = StickSVMClassifier(**settings, checkpoint=folder).fit(X, y)
    assert np.array_equal(resumed.draws_.parameters["coef"], whole.draws_.parameters["coef"])
