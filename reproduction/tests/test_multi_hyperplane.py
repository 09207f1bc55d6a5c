"""The adaptive multi-hyperplane machine, against a plain second implementation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from reproduction.peers import AdaptiveMultiHyperplane, AdaptiveMultiHyperplaneCV
from reproduction.peers.multi_hyperplane_cv import _last_before_growth

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def plain_machine(X, y, n_classes, nu, n_epochs, limit, threshold, every, seed):
    """The algorithm as it is usually written: weights shrink, steps are 1 / (nu (t + 1))."""
    rng = np.random.RandomState(seed)
    rows = np.column_stack([X, np.ones(len(X))])
    weights = [[np.zeros(rows.shape[1])] for _ in range(n_classes)]
    assigned: list = [None] * len(rows)
    t = 0
    for epoch in range(n_epochs + 1):
        if epoch > 1:
            for i, (x, own) in enumerate(zip(rows, y, strict=True)):
                assigned[i] = max(weights[own], key=lambda w: w @ x)
        for i in rng.permutation(len(rows)):
            t += 1
            x, own = rows[i], y[i]
            best = max(weights[own], key=lambda w: w @ x)
            if epoch == 0:
                assigned[i] = best
            known = any(w is assigned[i] for w in weights[own])
            mine = assigned[i] if known else best
            others = [w for s in range(n_classes) if s != own for w in weights[s]]
            rival = max(others, key=lambda w: w @ x)
            violated = 1 + rival @ x - mine @ x > 0
            grows = best @ x <= 0
            for vectors in weights:
                for w in vectors:
                    w *= 1 - 1 / (t + 1)
            step = x / (nu * (t + 1))
            if violated:
                rival -= step
                if epoch > 0 or not grows:
                    mine += step
                if grows and len(weights[own]) < limit:
                    weights[own].append(step.copy())
            if epoch > 0 and t % every == 0:
                prune(weights, threshold / (t * nu))
    return weights


def prune(weights, threshold):
    lengths = sorted(w @ w for vectors in weights for w in vectors)
    limit = max(
        [v for v, c in zip(lengths, np.cumsum(lengths), strict=True) if c <= threshold**2] or [-1.0]
    )
    for s, vectors in enumerate(weights):
        kept, left = [], len(vectors)
        for w in vectors:
            if w @ w <= limit and left > 1:
                left -= 1
            else:
                kept.append(w)
        weights[s] = kept


def checkerboard(n, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize(("threshold", "every", "limit"), [(0.0, 10**6, 50), (2.5, 70, 4)])
def test_machine_equals_a_plain_implementation(threshold, every, limit):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = AdaptiveMultiHyperplane(
        regularization=1e-3,
        n_epochs=4,
        max_weights=limit,
        prune_threshold=threshold,
        prune_every=every,
        random_state=5,
    ).fit(X, y)
    plain = plain_machine(X, y, 3, 1e-3, 4, limit, threshold, every, 5)
    assert [len(w) for w in model.weights_] == [len(w) for w in plain]
    for mine, other in zip(model.weights_, plain, strict=True):
        np.testing.assert_allclose(mine, np.array(other), rtol=1e-7, atol=1e-9)


def test_machine_separates_what_no_line_can():
    X, y = checkerboard(600)
    test_X, test_y = checkerboard(600, seed=1)
    model = AdaptiveMultiHyperplane(n_epochs=30, random_state=0).fit(X, y)
    assert model.score(test_X, test_y) > 0.93
    assert LogisticRegression().fit(X, y).score(test_X, test_y) < 0.65
    assert model.n_hyperplanes_ >= 4


def test_hyperplane_counts():
    X, y = checkerboard(300)
    free = AdaptiveMultiHyperplane(random_state=0).fit(X, y)
    assert free.n_hyperplanes_ == sum(len(w) for w in free.weights_) > 2
    assert max(len(w) for w in free.weights_) <= 50
    linear = AdaptiveMultiHyperplane(max_weights=1, random_state=0).fit(X, y)
    assert linear.n_hyperplanes_ == 2
    assert linear.weights_[0].shape == (1, 3)
    unbiased = AdaptiveMultiHyperplane(max_weights=1, bias=0.0, random_state=0).fit(X, y)
    assert unbiased.weights_[0].shape == (1, 2)
    settings = {"prune_every": 300, "random_state": 0}  # the last step prunes
    everything = AdaptiveMultiHyperplane(prune_threshold=1e9, **settings).fit(X, y)
    assert everything.n_hyperplanes_ == 2
    some = AdaptiveMultiHyperplane(prune_threshold=3.0, **settings).fit(X, y)
    assert 2 <= some.n_hyperplanes_ < free.n_hyperplanes_


def test_machine_follows_its_random_state():
    X, y = checkerboard(200)
    first, again, other = (
        AdaptiveMultiHyperplane(random_state=k).fit(X, y).decision_function(X) for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_epochs_are_tried_until_the_error_grows():
    assert _last_before_growth(np.array([0.3, 0.2, 0.25, np.nan])) == 1
    assert _last_before_growth(np.array([0.3, 0.2, 0.2, 0.1])) == 3
    assert _last_before_growth(np.array([0.3, 0.4, np.nan, np.nan])) == 0
    X, y = checkerboard(200)
    model = AdaptiveMultiHyperplaneCV(random_state=0).fit(X, y)
    for path in model.cv_errors_:
        tried = path[~np.isnan(path)]
        assert np.isnan(path[len(tried) :]).all()
        assert np.all(np.diff(tried)[:-1] <= 0)
        assert len(tried) == 5 or tried[-1] > tried[-2]
    row = list(model.regularizations).index(model.regularization_)
    column = list(model.epochs).index(model.n_epochs_)
    assert column == _last_before_growth(model.cv_errors_[row])
    assert model.estimator_.get_params()["regularization"] == model.regularization_
    assert model.estimator_.get_params()["n_epochs"] == model.n_epochs_


def test_continuing_equals_starting_again():
    X, y = checkerboard(150)
    folds = list(StratifiedKFold(3).split(X, y))
    model = AdaptiveMultiHyperplaneCV(
        regularizations=(1e-3,), epochs=(2, 4), cv=StratifiedKFold(3), random_state=3
    ).fit(X, y)
    for k in range(np.sum(~np.isnan(model.cv_errors_))):
        fresh = AdaptiveMultiHyperplane(**model.estimator_.get_params())
        fresh.set_params(n_epochs=(2, 4)[k])
        wrong = sum(np.sum(fresh.fit(X[a], y[a]).predict(X[b]) != y[b]) for a, b in folds)
        assert model.cv_errors_[0, k] == wrong / 150
