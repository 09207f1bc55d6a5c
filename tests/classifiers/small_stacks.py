"""Small stacks of softplus models."""

from __future__ import annotations

import numpy as np

from pasb import SoftplusClassifier, SoftplusFeatures, StackedSoftplusClassifier

SMALL = {
    "moves": "gibbs",  # quick; paths between orders take most of a small fit
    "n_experts": 2,
    "n_layers": 2,
    "n_chains": 2,
    "n_warmup": 10,
    "n_draws": 12,
    "n_swaps": 5,
    "n_jobs": 1,
    "random_state": 0,
}
STACK_SWEEPS = 30
LABELS = np.array(["ash", "oak", "yew"])


def data(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], LABELS[y]


X, Y = data()
NEW = np.random.default_rng(1).normal(size=(300, 2))


def fit(table=X, labels=Y, sample_weight=None, **changes):
    settings = SMALL | {"stack_sweeps": STACK_SWEEPS} | changes
    return StackedSoftplusClassifier(**settings).fit(table, labels, sample_weight=sample_weight)


def features(table=X, labels=Y, sample_weight=None, **changes):
    transformer = SoftplusFeatures(SoftplusClassifier(**(SMALL | changes)))
    return transformer.fit(table, labels, sample_weight=sample_weight)


def assert_same_draws(model, other):
    np.testing.assert_array_equal(model.draws_.order, other.draws_.order)
    np.testing.assert_array_equal(model.draws_.log_likelihood, other.draws_.log_likelihood)
    for name, values in model.draws_.parameters.items():
        np.testing.assert_array_equal(values, other.draws_.parameters[name], err_msg=name)


def assert_same_model(model, other):
    assert_same_draws(model, other)
    assert len(model._levels) == len(other._levels)
    for one, two in zip(model._levels, other._levels, strict=True):
        np.testing.assert_array_equal(one.vectors, two.vectors)
        np.testing.assert_array_equal(one.tags, two.tags)
    np.testing.assert_array_equal(model.predict_proba(NEW), other.predict_proba(NEW))
