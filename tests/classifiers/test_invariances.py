"""Properties of the estimators that hold for any table and any labels.

What is promised of draws, and what of the posterior only: random numbers are keyed by the
position of a row among the rows of its class, by the column and by the class.

==============================  ===================================================
change                          what stays the same
==============================  ===================================================
labels renamed in their order   every draw, bit for bit
classes interleaved otherwise   every draw, bit for bit (scale "range" or None; the
                                means of "standard" are sums, equal to rounding)
rows of a class permuted        the posterior: evidences and modes to rounding
columns permuted                the posterior: evidences, and modes permuted alike
labels renamed otherwise        the posterior: evidences of the sticks renamed alike
covariates times powers of two  every draw, bit for bit, where they are scaled
covariates shifted and scaled   probabilities to rounding, where they are scaled (softplus: with
                                Gibbs updates; trajectories make rounding larger)
==============================  ===================================================
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pasb
from pasb.numerics.rows import Rows
from pasb.sticks import ABSENT, FAILURE, SUCCESS

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "n_jobs": 1, "progress": False}
MODELS = {
    "logistic": lambda **more: pasb.StickLogisticClassifier(**SHORT, **more),
    "robit": lambda **more: pasb.StickRobitClassifier(**SHORT, **more),
    "softplus": lambda **more: pasb.SoftplusClassifier(**SHORT, n_experts=2, n_layers=2, **more),
    "linear svm": lambda **more: pasb.StickSVMClassifier(**SHORT, kernel="linear", **more),
    "rbf svm": lambda **more: pasb.StickSVMClassifier(**SHORT, width=0.5, **more),
}
LINEAR = ["logistic", "robit", "softplus", "linear svm"]  # columns that follow from the rows alone
names = st.sampled_from(sorted(MODELS))
seeds = st.integers(0, 2**31 - 1)


def often(n_examples):
    return settings(
        max_examples=n_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def table_and_labels(seed, n_classes=3, n_columns=3, n_rows=40):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
    return rng.normal(size=(n_rows, n_columns)) + rng.normal(size=(n_classes, n_columns))[y], y


def assert_same_draws(one, other):
    np.testing.assert_array_equal(one.draws_.order, other.draws_.order)
    np.testing.assert_array_equal(one.draws_.log_likelihood, other.draws_.log_likelihood)
    for name, values in one.draws_.parameters.items():
        np.testing.assert_array_equal(values, other.draws_.parameters[name])


def assert_probabilities(proba, n_rows, n_classes):
    assert proba.shape == (n_rows, n_classes)
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


# ---------------------------------------------------------------- anything finite

finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.floats(-5, 5) | st.sampled_from([0.0, 1.0, -1.0])
labels = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=5, unique=True),
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=2,
             max_size=5, unique=True),
    st.just([False, True]),
    st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=4, unique=True),
)  # fmt: skip


@st.composite
def anything(draw):
    shape = draw(st.tuples(st.integers(2, 12), st.integers(1, 3)))
    X = draw(hnp.arrays(np.float64, shape, elements=draw(st.sampled_from([finite, small]))))
    known = draw(labels)
    rest = draw(st.lists(st.sampled_from(known), min_size=shape[0] - 2, max_size=shape[0] - 2))
    return X, np.array([*known[:2], *rest])


def check_any_finite_table(name, case, scale, seed):
    X, y = case
    seen = []
    model = MODELS[name](
        random_state=seed, scale=scale, callbacks=[lambda info: seen.append(info.log_likelihood)]
    ).fit(X, y)
    assert np.isfinite(seen).all()
    assert_probabilities(model.predict_proba(X), len(X), len(np.unique(y)))
    assert set(model.predict(X).tolist()) <= set(y.tolist())


ANY = given(name=names, case=anything(), scale=st.sampled_from(["standard", "range"]), seed=seeds)
test_any_finite_table = often(60)(ANY(check_any_finite_table))
test_any_finite_table_many = pytest.mark.slow(often(4000)(ANY(check_any_finite_table)))


@often(25)
@given(name=names, seed=seeds, other=hnp.arrays(np.float64, (5, 3), elements=finite))
def test_prediction_for_any_finite_table(name, seed, other):
    X, y = table_and_labels(seed)
    model = MODELS[name](random_state=seed).fit(X, y)
    assert_probabilities(model.predict_proba(other), 5, 3)


@pytest.mark.parametrize("scale", ["standard", "range", None])
@pytest.mark.parametrize("name", MODELS)
def test_prediction_beyond_the_range_of_floats(name, scale, seed):
    """Scaled covariates that overflow still have probabilities."""
    X, y = table_and_labels(seed)
    far = np.array([[1.7, 0, 0], [1.7, -1.7, 1.7], [-1.7, -1.7, -1.7]]) * 1e308
    for factor in (1.0, 1e-300):
        model = MODELS[name](random_state=seed, scale=scale).fit(X * factor, y)
        assert_probabilities(model.predict_proba(far), 3, 3)


# ---------------------------------------------------------------- draws that stay the same


@often(15)
@given(name=names, seed=seeds, renamed=st.lists(st.text("abcäz ", min_size=1), min_size=4,
       max_size=4, unique=True))  # fmt: skip
def test_label_names(name, seed, renamed):
    """Only the order of the labels counts, not what they are."""
    X, y = table_and_labels(seed, n_classes=4)
    one = MODELS[name](random_state=seed).fit(X, y)
    other = MODELS[name](random_state=seed).fit(X, np.array(sorted(renamed))[y])
    assert_same_draws(one, other)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(np.array(sorted(renamed))[one.predict(X)], other.predict(X))


@often(25)
@given(
    name=st.sampled_from(LINEAR), seed=seeds, scale=st.sampled_from(["range", None]),
    sticks=st.sampled_from(["marginal", "augmented"]),
)  # fmt: skip
def test_interleaving_of_classes(name, seed, scale, sticks):
    """Where the rows of a class stand among those of others makes no difference."""
    X, y = table_and_labels(seed)
    rows = np.argsort(y, kind="stable")
    settings = {"random_state": seed, "scale": scale, "sticks": sticks}
    one = MODELS[name](**settings).fit(X, y)
    other = MODELS[name](**settings).fit(X[rows], y[rows])
    assert_same_draws(one, other)


@often(15)
@given(
    name=names, seed=seeds, scale=st.sampled_from(["standard", "range"]),
    powers=st.lists(st.integers(-300, 300), min_size=3, max_size=3),
)  # fmt: skip
def test_powers_of_two(name, seed, scale, powers):
    X, y = table_and_labels(seed)
    factors = 2.0 ** np.array(powers)
    one = MODELS[name](random_state=seed, scale=scale).fit(X, y)
    other = MODELS[name](random_state=seed, scale=scale).fit(X * factors, y)
    assert_same_draws(one, other)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X * factors))


# ---------------------------------------------------------------- equal to rounding


@often(15)
@given(
    name=names, seed=seeds, scale=st.sampled_from(["standard", "range"]),
    factors=st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3),
    shifts=st.lists(st.floats(-100, 100), min_size=3, max_size=3),
)  # fmt: skip
def test_affine_rescaling(name, seed, scale, factors, shifts):
    X, y = table_and_labels(seed)
    changed = (X + shifts) * factors
    settings = {"random_state": seed, "scale": scale}
    if name == "softplus":
        settings["moves"] = "gibbs"
    one = MODELS[name](**settings).fit(X, y)
    other = MODELS[name](**settings).fit(changed, y)
    np.testing.assert_array_equal(one.draws_.order, other.draws_.order)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(changed), atol=1e-7)


APPROXIMATED = {"logistic": pasb.Logistic(), "robit": pasb.Robit()}  # with normal approximations


def approximations(name, X, y, n_classes=3):
    """Mode and evidence of every stick: each class against each set of the others."""
    table = np.column_stack([np.ones(len(X)), X])
    sampler = APPROXIMATED[name].sampler(Rows.of(table, y, n_classes))
    out = {}
    for accept in range(n_classes):
        for chosen in range(1, 2**n_classes):
            rest = [s for s in range(n_classes) if chosen >> s & 1 and s != accept]
            if rest:
                roles = np.full(n_classes, ABSENT, dtype=np.int8)
                roles[accept], roles[rest] = SUCCESS, FAILURE
                found = sampler.approximate(roles, None)
                out[accept, frozenset(rest)] = (found.mode, found.log_evidence)
    return out


def assert_same_approximations(one, other, columns=None, renamed=(0, 1, 2)):
    columns = np.arange(4) if columns is None else np.concatenate([[0], np.add(columns, 1)])
    for (accept, rest), (mode, evidence) in one.items():
        key = (renamed[accept], frozenset(renamed[s] for s in rest))
        np.testing.assert_allclose(other[key][0], mode[columns], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(other[key][1], evidence, rtol=1e-6)


with_approximations = st.sampled_from(sorted(APPROXIMATED))


@often(20)
@given(name=with_approximations, seed=seeds, permuted=st.permutations(range(40)))
def test_rows_permuted(name, seed, permuted):
    X, y = table_and_labels(seed)
    assert_same_approximations(
        approximations(name, X, y), approximations(name, X[permuted], y[permuted])
    )


@often(20)
@given(name=with_approximations, seed=seeds, permuted=st.permutations(range(3)))
def test_columns_permuted(name, seed, permuted):
    X, y = table_and_labels(seed)
    one, other = approximations(name, X, y), approximations(name, X[:, permuted], y)
    assert_same_approximations(one, other, columns=permuted)


@often(20)
@given(name=with_approximations, seed=seeds, renamed=st.permutations(range(3)))
def test_classes_renamed(name, seed, renamed):
    X, y = table_and_labels(seed)
    one, other = approximations(name, X, y), approximations(name, X, np.array(renamed)[y])
    assert_same_approximations(one, other, renamed=renamed)


@often(15)
@given(name=st.sampled_from(LINEAR), seed=seeds, permuted=st.permutations(range(3)))
def test_coefficients_permuted_with_the_columns(name, seed, permuted):
    """A draw whose coefficients follow the columns gives the same probabilities."""
    assume(permuted != [0, 1, 2])
    X, y = table_and_labels(seed)
    model = MODELS[name](random_state=seed).fit(X, y)
    other = copy.deepcopy(model)
    columns = np.concatenate([[0], np.add(permuted, 1)])
    coef = other.draws_.parameters["coef"]
    coef[...] = coef[..., columns]
    other._scaling = type(model._scaling)(*(part[permuted] for part in model._scaling))
    np.testing.assert_allclose(
        other.predict_proba(X[:, permuted]), model.predict_proba(X), rtol=1e-9, atol=1e-12
    )
