"""scikit-learn's own checks, and what takes the place of those that sampling cannot pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from pasb import (
    SoftplusClassifier,
    SoftplusFeatures,
    StackedSoftplusClassifier,
    StickBreakingClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
    StickSVMClassifier,
)
from pasb.posterior.diagnostics import bulk_ess

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SMALL = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "n_swaps": 5, "n_jobs": 1, "random_state": 0}

WITHOUT_COLUMNS = {
    "check_estimators_empty_data_messages": (
        "A table without columns is welcome: it gives the intercept model. The messages for tables "
        "without rows are checked in test_bad_input.py."
    )
}
NOT_SATISFIABLE = {
    **WITHOUT_COLUMNS,
    **dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "A row of weight 2 and the same row twice have the same posterior but use other random "
        "numbers, so the draws agree in distribution, not one by one. The tests below compare them "
        "within Monte Carlo error, and zero weights exactly.",
    ),
}


SOFTPLUS = SMALL | {"n_experts": 2, "n_layers": 2, "n_chains": 1, "n_warmup": 30, "n_draws": 20}

# what trajectories add to a fit of a small table, paths between orders, takes most of its time
SOFTPLUS_BY_GIBBS = SOFTPLUS | {"moves": "gibbs"}

SVM = SMALL | {"n_chains": 1, "n_warmup": 30, "n_draws": 20, "width": 0.5}

ONLY_WHOLE_ROWS = WITHOUT_COLUMNS | dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_list",
        "check_sample_weights_not_overwritten",
    ),
    "Weights other than 0 and 1 are refused: a power of a row's likelihood has no augmentation. "
    "The tests below check weights of 0 and 1, as lists and as arrays.",
)


def expected_failures(estimator):
    whole = SoftplusClassifier | SoftplusFeatures | StickRobitClassifier
    return ONLY_WHOLE_ROWS if isinstance(estimator, whole) else NOT_SATISFIABLE


@parametrize_with_checks(
    [
        StickLogisticClassifier(**SMALL),
        StickBreakingClassifier(**SMALL),
        SoftplusClassifier(**SOFTPLUS_BY_GIBBS),
        StackedSoftplusClassifier(**SOFTPLUS_BY_GIBBS, stack_sweeps=40),
        SoftplusFeatures(SoftplusClassifier(**SOFTPLUS_BY_GIBBS)),
        StickRobitClassifier(**SMALL),
        StickSVMClassifier(**SVM),
        StickSVMClassifier(kernel="linear", **SVM),
    ],
    expected_failed_checks=expected_failures,
)
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SoftplusClassifier(**SOFTPLUS),
        StackedSoftplusClassifier(**SOFTPLUS, stack_sweeps=40),
        SoftplusFeatures(SoftplusClassifier(**SOFTPLUS)),
    ],
    expected_failed_checks=expected_failures,
)
def test_check_of_scikit_learn_with_default_moves(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "classifier",
    [
        StickLogisticClassifier,
        StickBreakingClassifier,
        SoftplusClassifier,
        StackedSoftplusClassifier,
        StickRobitClassifier,
        StickSVMClassifier,
    ],
)
def test_tags(classifier):
    tags = get_tags(classifier())
    assert is_classifier(classifier())
    assert tags.estimator_type == "classifier"
    assert tags.classifier_tags.multi_class
    assert not tags.classifier_tags.multi_label
    assert not tags.classifier_tags.poor_score
    assert tags.target_tags.required
    assert not tags.target_tags.multi_output
    assert tags.input_tags.two_d_array
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert not tags.input_tags.string
    assert not tags.input_tags.categorical
    assert not tags.non_deterministic
    assert tags.requires_fit


def three_clouds(seed, n):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) + 0.8 * np.eye(3)[y][:, :2], y


def mean_and_error(model, X):
    """Posterior means of the class probabilities and their Monte Carlo standard errors."""
    draws = model.sample_proba(X)
    n_chains = model.draws_.n_chains
    flat = draws.reshape(n_chains, len(draws) // n_chains, -1)
    error = flat.std(axis=(0, 1)) / np.sqrt(bulk_ess(flat))
    return flat.mean(axis=(0, 1)), error


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("classifier", [StickLogisticClassifier])
def test_weights_count_rows(classifier, seed, level):
    X, y = three_clouds(seed, 90)
    weights = np.array([5, 2, 1])[y]
    settings = {
        "n_chains": 2,
        "n_warmup": 200,
        "n_draws": 1500,
        "order": [0, 1, 2],
        "n_jobs": 1,
    }
    weighted = classifier(random_state=seed, **settings).fit(X, y, sample_weight=weights)
    repeated = classifier(random_state=seed + 1, **settings).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    plain = classifier(random_state=seed + 2, **settings).fit(X, y)
    rows = X[:5]
    (a, error_a), (b, error_b) = mean_and_error(weighted, rows), mean_and_error(repeated, rows)
    limit = norm.isf(level / 2 / a.size)
    assert np.max(np.abs(a - b) / np.hypot(error_a, error_b)) < limit
    # and the comparison can tell: without the weights the probabilities are others, by 180 to 330
    # standard errors over other seeds, where 11 are asked for
    c, error_c = mean_and_error(plain, rows)
    assert np.max(np.abs(a - c) / np.hypot(error_a, error_c)) > 2 * limit


@pytest.mark.parametrize("classifier", [StickLogisticClassifier, StickBreakingClassifier])
@pytest.mark.parametrize("sticks", ["marginal", "augmented"])
def test_zero_weight_leaves_a_row_out(classifier, sticks):
    X, y = three_clouds(1, 60)
    kept = np.arange(60) % 4 != 0
    settings = {**SMALL, "sticks": sticks}
    weighted = classifier(**settings).fit(X, y, sample_weight=kept.astype(float))
    without = classifier(**settings).fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.draws_.order, without.draws_.order)
    np.testing.assert_array_equal(
        weighted.draws_.parameters["coef"], without.draws_.parameters["coef"]
    )
    np.testing.assert_array_equal(weighted.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize("classifier", [SoftplusClassifier, StackedSoftplusClassifier])
@pytest.mark.parametrize("sticks", ["marginal", "augmented"])
def test_zero_weight_leaves_a_row_out_of_softplus_models(classifier, sticks):
    X, y = three_clouds(1, 60)
    weights = (np.arange(60) % 4 != 0).astype(float)
    model = classifier(**SOFTPLUS, sticks=sticks)
    if classifier is StackedSoftplusClassifier:
        model.set_params(stack_sweeps=20)
    without = model.fit(X[weights > 0], y[weights > 0]).predict_proba(X)
    before = weights.copy()
    for given in (weights, weights.tolist(), weights.astype(int)):
        np.testing.assert_array_equal(
            model.fit(X, y, sample_weight=given).predict_proba(X), without
        )
    np.testing.assert_array_equal(weights, before)


def test_class_without_weight_keeps_its_column():
    X, y = three_clouds(2, 60)
    model = StickLogisticClassifier(**SMALL).fit(X, y, sample_weight=(y != 1).astype(float))
    proba = model.predict_proba(X)
    assert proba.shape == (60, 3)
    assert np.isfinite(proba).all()
    assert list(model.classes_) == [0, 1, 2]
