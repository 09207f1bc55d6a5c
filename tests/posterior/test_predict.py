"""Predictions: batches, threads, memory and the number of draws do not matter."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from pasb import StickLogisticClassifier

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
SMALL = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "n_swaps": 10, "n_jobs": 1}


def clouds(n=60, n_classes=3, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    angle = 2 * np.pi * y / n_classes
    X = rng.normal(size=(n, n_features))
    X[:, :2] += 3 * np.c_[np.cos(angle), np.sin(angle)]
    return X, y


def classifier(**changes):
    return StickLogisticClassifier(**(SMALL | {"random_state": 0} | changes))


X, Y = clouds()


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y)


@pytest.fixture(scope="module", params=[2, 3, 9, 30])
def case(request):
    """A model of some classes, and more rows than fit in one block."""
    X, y = clouds(n=300, n_classes=request.param, n_features=5)
    return classifier(n_warmup=3, n_draws=60).fit(X, y), X


class TestPrediction:
    def test_rows_are_probabilities(self, case):
        model, X = case
        for proba in (model.predict_proba(X), model.sample_proba(X[:50])):
            assert (proba >= 0).all()
            np.testing.assert_allclose(proba.sum(axis=-1), 1, rtol=1e-14)

    @pytest.mark.parametrize("size", [1, 2, 7, 100, 255, 256, 257, 299])
    def test_batches_do_not_matter(self, case, size):
        model, X = case
        starts = range(0, 300, size)
        np.testing.assert_array_equal(
            np.concatenate([model.predict_proba(X[k : k + size]) for k in starts]),
            model.predict_proba(X),
        )
        part = X[:40]
        np.testing.assert_array_equal(
            np.concatenate(
                [model.sample_proba(part[k : k + size]) for k in range(0, 40, size)], axis=1
            ),
            model.sample_proba(part),
        )

    @pytest.mark.parametrize("n_jobs", [2, None, -1])
    def test_threads_do_not_matter(self, case, n_jobs):
        model, X = case
        expected = model.predict_proba(X), model.sample_proba(X)
        other = clone(model)
        other.__dict__.update(model.__dict__, n_jobs=n_jobs)
        np.testing.assert_array_equal(other.predict_proba(X), expected[0])
        np.testing.assert_array_equal(other.sample_proba(X), expected[1])

    def test_memory_layout_does_not_matter(self, case):
        model, X = case
        expected = model.predict_proba(X)
        np.testing.assert_array_equal(model.predict_proba(np.asfortranarray(X)), expected)
        np.testing.assert_array_equal(model.predict_proba(X[::-1])[::-1], expected)
        np.testing.assert_array_equal(model.predict_proba(X.tolist()), expected)

    def test_mean_of_the_samples(self, case):
        model, X = case
        samples = model.sample_proba(X)
        assert samples.shape == (120, 300, len(model.classes_))
        np.testing.assert_allclose(
            model.predict_proba(X), samples.mean(axis=0), rtol=1e-12, atol=1e-15
        )

    @pytest.mark.parametrize("n_draws", [1, 2, 7, 119, 120])
    def test_fewer_draws(self, case, n_draws):
        model, X = case
        some, all_ = model.sample_proba(X[:5], n_draws=n_draws), model.sample_proba(X[:5])
        assert some.shape == (n_draws, 5, len(model.classes_))
        # a draw that was rejected occurs twice; a few draws are computed in another way
        matches = [
            set(np.flatnonzero((np.abs(all_ - one) < 1e-12).all(axis=(1, 2)))) for one in some
        ]
        at = -1
        for match in matches:
            at = min(k for k in match if k > at)

    def test_memory_is_bounded(self, fitted):
        """No array of rows x draws: 20 000 rows and 2000 draws would take a gigabyte."""
        model = classifier(n_warmup=5, n_draws=1000).fit(X, Y)
        rows = np.tile(X, (20_000 // len(X) + 1, 1))
        model.predict_proba(rows[:300])
        tracemalloc.start()
        try:
            model.predict_proba(rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 30e6
