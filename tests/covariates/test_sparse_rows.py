"""Sparse tables: the same model as from dense ones, within a limit of memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from pasb import SoftplusClassifier, StickLogisticClassifier, StickSVMClassifier, effects
from pasb.covariates.sparse_rows import SparseRows, as_one_matrix, densified

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
SMALL = {"n_chains": 1, "n_warmup": 5, "n_draws": 8, "n_jobs": 1, "random_state": 0}


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.5)
    return X, np.arange(40) % 3


X, Y = data()
KINDS = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "pandas": lambda X: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X)),
    "pandas, NaN left out": lambda X: pd.DataFrame(X).astype(pd.SparseDtype(float)),
    "pandas, 1 left out": lambda X: pd.DataFrame(X).astype({1: pd.SparseDtype(float, 1.0)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_model(kind):
    dense = StickLogisticClassifier(**SMALL).fit(X, Y)
    model = StickLogisticClassifier(**SMALL).fit(KINDS[kind](X), Y)
    np.testing.assert_array_equal(model.draws_.parameters["coef"], dense.draws_.parameters["coef"])
    for rows in (X, KINDS[kind](X)):
        np.testing.assert_array_equal(model.predict_proba(rows), dense.predict_proba(X))
    assert model.sample_proba(KINDS[kind](X)).shape == (8, 40, 3)


@pytest.mark.parametrize(
    "model",
    [
        SoftplusClassifier(n_experts=1, n_layers=1, direction="forward", **SMALL),
        StickSVMClassifier(width=0.5, **SMALL),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_classifiers(model):
    expected = model.fit(X, Y).predict_proba(X)
    fitted = model.fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(fitted.predict_proba(sparse.csr_array(X)), expected)


def test_beyond_the_limit_fit_refuses_and_prediction_goes_row_by_row(monkeypatch):
    model = StickLogisticClassifier(**SMALL).fit(X, Y)
    monkeypatch.setenv("PASB_MEMORY", "0.01")
    many = sparse.csr_array((700_000, 3))
    with pytest.raises(ValueError, match=r"700,000 rows and 3 columns take 16\.0 MiB.*PASB_MEMORY"):
        StickLogisticClassifier(**SMALL).fit(many, np.arange(700_000) % 3)
    few = SparseRows(sparse.csr_array(X))
    assert few.shape == (40, 3)
    np.testing.assert_array_equal(few[10:20], X[10:20])
    assert model.predict_proba(many[:5]).shape == (5, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_effects(kind):
    model = StickLogisticClassifier(**SMALL).fit(X, Y)
    expected = effects.avg_slopes(model, X)["estimate"]
    found = effects.avg_slopes(model, KINDS[kind](X))["estimate"]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_left_out_values_that_are_missing_are_named():
    holed = pd.DataFrame(np.where(X == 0, np.nan, X), columns=list("abc"))
    with pytest.raises(ValueError, match=r"contains NaN: column .a. has 2. such values"):
        StickLogisticClassifier(**SMALL).fit(holed.astype(pd.SparseDtype(float)), Y)


def test_the_limit(monkeypatch):
    monkeypatch.setenv("PASB_MEMORY", "0.01")
    wide = pd.DataFrame(np.ones((1000, 3))).astype(pd.SparseDtype(float)).iloc[:, [0] * 3000]
    wide.columns = [f"x{k}" for k in range(3000)]
    with pytest.raises(ValueError, match="X is sparse, but the model needs it dense"):
        as_one_matrix(wide)
    with pytest.raises(ValueError, match="X is sparse, but the model needs it dense"):
        densified(sparse.csr_array((10_000_000, 10_000)))
    assert densified(sparse.csr_array(X)).tolist() == X.tolist()


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_bad_values_are_named(value, what):
    bad = X.copy()
    bad[6, 1] = value
    with pytest.raises(ValueError, match=rf"contains {what}: column x1 has 1 .* row 7"):
        StickLogisticClassifier(**SMALL).fit(sparse.csr_array(bad), Y)
