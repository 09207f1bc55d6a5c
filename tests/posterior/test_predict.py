"""Predictions: batches, threads, memory and the number of draws do not matter."""

from __future__ import annotations

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from pasb import (
    SoftplusClassifier,
    StickBreakingClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
)
from pasb.binary import SupportVector
from pasb.sticks import accept_reject, log_probabilities

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

    @pytest.mark.parametrize("n_draws", [1, 30, 64, 120])
    def test_intervals_are_quantiles_of_the_samples(self, case, n_draws):
        model, X = case
        frame = model.predict_frame(X[:70], interval=0.8, n_draws=n_draws)
        samples = model.sample_proba(X[:70], n_draws=n_draws)
        ends = np.quantile(samples, (0.1, 0.9), axis=0)
        for s, label in enumerate(model.classes_):
            np.testing.assert_array_equal(
                frame[f"p_{label}"], model.predict_proba(X[:70], n_draws=n_draws)[:, s]
            )
            np.testing.assert_allclose(frame[f"p_{label}_lower"], ends[0][:, s], rtol=1e-13)
            np.testing.assert_allclose(frame[f"p_{label}_upper"], ends[1][:, s], rtol=1e-13)

    def test_predictions_of_some_draws(self, case):
        model, X = case
        mean = model.sample_proba(X, n_draws=8).mean(axis=0)
        np.testing.assert_allclose(model.predict_proba(X, n_draws=8), mean, rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(
            model.predict(X, n_draws=8), model.classes_[model.predict_proba(X, n_draws=8).argmax(1)]
        )
        np.testing.assert_array_equal(
            model.predict_log_proba(X, n_draws=8), np.log(model.predict_proba(X, n_draws=8))
        )

    def test_threads_may_predict_at_the_same_time(self, case):
        """The first prediction prepares the draws: here sixteen are the first."""
        model, X = case
        expected = model.predict_proba(X)
        model.draws_.memo.clear()
        with ThreadPoolExecutor(16) as pool:
            rows = list(pool.map(lambda i: model.predict_proba(X[i : i + 1]), range(300)))
        np.testing.assert_array_equal(np.concatenate(rows), expected)

    def test_a_copy_of_the_draws_holds_no_predictors(self, case):
        model, X = case
        model.predict_proba(X[:1])
        assert model.draws_.memo
        again = pickle.loads(pickle.dumps(model))
        assert not again.draws_.memo
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    def test_hyperparameters_of_the_link_are_not_remembered(self):
        model = StickRobitClassifier(**SMALL, df=3.0, random_state=0).fit(X, Y)
        before = model.predict_proba(X)
        model.set_params(df=np.inf)
        assert np.abs(model.predict_proba(X) - before).max() > 1e-3

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

    def test_memory_of_intervals_is_bounded(self):
        model = classifier(n_warmup=5, n_draws=1000).fit(X, Y)
        rows = np.tile(X, (5000 // len(X) + 1, 1))
        model.predict_frame(rows[:300])
        tracemalloc.start()
        try:
            model.predict_frame(rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 30e6  # all probabilities would be 240 MB


def link_by_hand(model, parameters, inner):
    """Logs of success and failure of one stick of one draw, in plain NumPy."""
    if "weight" in parameters:
        log_q = np.zeros((len(parameters["weight"]), len(inner)))
        for layer in np.moveaxis(parameters["coef"], 1, 0):
            x = layer @ inner.T + log_q
            log_q = np.where(x < -30, x, np.log(np.logaddexp(0, np.maximum(x, -30))))
        rate = (parameters["weight"][:, None] * np.exp(log_q)).sum(axis=0)
        return np.log(-np.expm1(-rate)), -rate
    eta = inner @ parameters["coef"]
    if isinstance(model, StickRobitClassifier):
        from scipy.stats import t

        return t(model.df).logcdf(eta), t(model.df).logcdf(-eta)
    if isinstance(model, StickBreakingClassifier):
        eta = eta + np.clip(eta, -1, 1)
    return -np.logaddexp(0, -eta), -np.logaddexp(0, eta)


@pytest.mark.parametrize("n_draws", [20, 150])
@pytest.mark.parametrize(
    "model",
    [
        StickLogisticClassifier(),
        StickRobitClassifier(df=4.0),
        SoftplusClassifier(n_experts=3, n_layers=2, moves="gibbs"),
        StickBreakingClassifier(binary=SupportVector()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_draw_by_draw_as_the_formulas_say(model, n_draws):
    """Few draws and many are computed in different ways."""
    rows, y = clouds(n=50, n_classes=4)
    model = (
        clone(model).set_params(**(SMALL | {"n_draws": n_draws, "random_state": 3})).fit(rows, y)
    )
    fitted, draws = model.fitted_, model.draws_
    inner = fitted.columns(rows)
    expected = np.empty((draws.n_chains, draws.n_draws, 50, 4))
    for chain, draw in np.ndindex(expected.shape[:2]):
        logs = np.zeros((2, 4, 50))
        for category in draws.order[chain, draw, :-1]:
            own = {name: values[chain, draw, category] for name, values in draws.parameters.items()}
            logs[:, category] = link_by_hand(model, own, inner)
        both = accept_reject(*logs, draws.directions[chain])
        expected[chain, draw] = np.exp(log_probabilities(*both, draws.order[chain, draw])).T
    flat = expected.reshape(-1, 50, 4)
    np.testing.assert_allclose(model.sample_proba(rows), flat, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(rows), flat.mean(axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        np.concatenate([model.predict_proba(rows[i : i + 1]) for i in range(50)]),
        flat.mean(axis=0),
        rtol=0,
        atol=1e-12,
    )
