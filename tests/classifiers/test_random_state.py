"""A random state of any kind steers everything that is random."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import (
    StackedSoftplusClassifier,
    StickLogisticClassifier,
    StickSVMClassifier,
    order_evidence,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")

SHORT = {"n_chains": 1, "n_warmup": 4, "n_draws": 6, "n_jobs": 1, "progress": False}
SVM = {"cv_widths": [0.1, 1.0], "n_bases": 12}
STACKED = {"n_experts": 1, "n_layers": 1, "stack_sweeps": 10}
MODELS = [
    (StickLogisticClassifier, {}),
    (StickSVMClassifier, SVM),
    (StackedSoftplusClassifier, STACKED),
]


def clouds(n=60):
    rng = np.random.default_rng(8)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + np.eye(3)[y][:, :2], y


def fitted(kind, own, random_state):
    return kind(**SHORT, **own, random_state=random_state).fit(*clouds())


def same(a, b):
    return np.array_equal(a.draws_.parameters["coef"], b.draws_.parameters["coef"])


@pytest.mark.parametrize(("kind", "own"), MODELS)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_repeat_and_advance(kind, own, make):
    rng = make(5)
    first, second = fitted(kind, own, rng), fitted(kind, own, rng)
    assert same(first, fitted(kind, own, make(5)))
    assert not same(first, second)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, lambda seed: seed])
def test_landmarks_and_cross_validation_follow_it(make):
    models = [fitted(StickSVMClassifier, SVM, make(seed)) for seed in (1, 1, 2, 3)]
    losses = [model.cv_results_["mean_test_log_loss"].tolist() for model in models]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2] != losses[3]
    assert np.array_equal(models[0].bases_, models[1].bases_)
    assert len({tuple(model.bases_) for model in models}) == 3


def test_without_one_landmarks_differ_between_fits():
    # no level: twelve of sixty rows would have to be the same four times
    assert len({tuple(fitted(StickSVMClassifier, SVM, None).bases_) for _ in range(4)}) > 1


def test_without_one_a_checkpoint_keeps_landmarks_and_widths(tmp_path):
    X, y = clouds()
    settings = {**SHORT, **SVM, "checkpoint": tmp_path}
    stop = [lambda info: info.sweep >= 6]
    part = StickSVMClassifier(**settings, callbacks=stop).fit(X, y)
    whole = StickSVMClassifier(**settings).fit(X, y)
    assert np.array_equal(part.bases_, whole.bases_)
    assert part.width_ == whole.width_
    n = part.draws_.n_draws
    coef = whole.draws_.parameters["coef"]
    assert np.array_equal(part.draws_.parameters["coef"], coef[:, :n])


def test_draws_of_orders():
    found = order_evidence(*clouds())
    make = np.random.default_rng
    assert np.array_equal(found.draw(20, make(1)), found.draw(20, make(1)))
    assert not np.array_equal(found.draw(20, make(1)), found.draw(20, make(2)))
    assert np.array_equal(found.draw(20, 1), found.draw(20, np.random.RandomState(1)))
