"""The methods that the paper compares with: their grids, scikit-learn's checks, and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from reproduction.peers import (
    AdaptiveMultiHyperplane,
    AdaptiveMultiHyperplaneCV,
    BayesianMultinomialLogit,
    l2_multinomial_logit,
    n_support_vectors,
    rbf_svm,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SMALL = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "n_jobs": 1, "random_state": 0}


def test_grids_are_those_of_the_paper():
    linear = l2_multinomial_logit()
    assert linear.param_grid["estimator__C"] == [2.0**k for k in range(-10, 16)]
    assert linear.cv.get_n_splits() == 5
    assert linear.estimator.estimator.solver == "liblinear"
    assert linear.estimator.estimator.fit_intercept
    svm = rbf_svm()
    powers = [2.0**k for k in range(-10, 11)]
    assert svm.param_grid == {"C": powers, "gamma": powers}
    assert svm.cv.get_n_splits() == 3
    assert rbf_svm(step=5).param_grid["C"] == [2.0**k for k in (-10, -5, 0, 5, 10)]
    machine = AdaptiveMultiHyperplaneCV()
    np.testing.assert_allclose(machine.regularizations, 10.0 ** np.arange(-7, -1))
    assert tuple(machine.epochs) == (5, 10, 20, 50, 100)


def test_presets_fit_text_labels():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    linear = l2_multinomial_logit().fit(X, labels)
    assert linear.score(X, labels) > 0.9
    assert len(linear.best_estimator_.estimators_) == 3
    svm = rbf_svm(step=5).fit(X, labels)
    assert svm.score(X, labels) > 0.95
    assert n_support_vectors(svm) == len(svm.best_estimator_.support_)
    with pytest.raises(ValueError, match="step"):
        rbf_svm(step=0)


@parametrize_with_checks(
    [
        BayesianMultinomialLogit(**SMALL),
        AdaptiveMultiHyperplane(random_state=0),
        AdaptiveMultiHyperplaneCV(epochs=(5, 10), random_state=0),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": (
            "the draws agree in distribution, not one by one; test_multinomial_logit has weights"
        ),
        "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
        "check_estimators_empty_data_messages": "a table without columns is welcome",
    },
)
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        BayesianMultinomialLogit(**SMALL),
        AdaptiveMultiHyperplane(random_state=0),
        AdaptiveMultiHyperplaneCV(epochs=(5,), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_errors_name_the_trouble(estimator):
    frame = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0] * 5, "height": [1.0, 1.0, 2.0, 2.0] * 5})
    y = ["a", "b", "a", "b"] * 5
    with pytest.raises(ValueError, match="one class only"):
        estimator.fit(frame, ["a"] * 20)
    with pytest.raises(ValueError, match=r"'height' has 1 such value"):
        estimator.fit(frame.assign(height=[np.nan] + [1.0] * 19), y)
    with pytest.raises(ValueError, match="'colour' does not hold numbers"):
        estimator.fit(frame.assign(colour="red"), y)
    assert set(estimator.fit(frame, y).predict(frame)) <= {"a", "b"}
    with pytest.raises(ValueError, match="third"):
        estimator.predict(frame.assign(third=1.0))


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (BayesianMultinomialLogit(precision=-1.0), "precision"),
        (BayesianMultinomialLogit(thin=0), "thin"),
        (BayesianMultinomialLogit(n_jobs=0), "n_jobs"),
        (AdaptiveMultiHyperplane(regularization=0.0), "regularization"),
        (AdaptiveMultiHyperplane(prune_every=0), "prune_every"),
        (AdaptiveMultiHyperplaneCV(epochs=(10, 5)), "epochs"),
        (AdaptiveMultiHyperplaneCV(regularizations=()), "regularizations"),
    ],
)
def test_wrong_settings_are_named(estimator, name):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=name):
        estimator.fit(X, y)
