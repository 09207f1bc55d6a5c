"""Parts of the paper's experiments: estimators, outliers, subsets and cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from reproduction.paper.cells import Cell, largest, path_of
from reproduction.paper.effective import batch_means, initial_sequence
from reproduction.paper.outliers import with_outliers
from reproduction.paper.subset import some_rows


def ar1(phi, n, n_series, seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, n_series))
    out = np.empty_like(noise)
    out[0] = noise[0] / np.sqrt(1 - phi**2)
    for k in range(1, n):
        out[k] = phi * out[k - 1] + noise[k]
    return out


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("estimator", [initial_sequence, batch_means])
@pytest.mark.parametrize("phi", [0.3, 0.7])
def test_effective_sample_size_of_autoregressions(estimator, phi, seed, level):
    n, n_series = 4000, 300
    tau = n / estimator(ar1(phi, n, n_series, seed))
    exact = (1 + phi) / (1 - phi)
    # both estimators are off by a few per cent: a batch cuts correlations, a sequence ends
    half = -norm.ppf(level / 8) * tau.std() / np.sqrt(n_series)
    assert abs(tau.mean() - exact) < 0.06 * exact + half


def test_a_series_that_does_not_vary_has_no_effective_size():
    draws = np.column_stack([np.ones(100), np.arange(100.0) % 7])
    for estimator in (initial_sequence, batch_means):
        size = estimator(draws)
        assert np.isnan(size[0])
        assert np.isfinite(size[1])


def test_alternating_draws_count_as_independent():
    """The sum ends before a negative pair, as in mcmcse 1.1."""
    draws = np.tile([[1.0], [-1.0]], (500, 1))
    assert initial_sequence(draws)[0] == 1000


def test_outliers_lie_where_the_appendix_says():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (200, 18)), np.repeat(list("abcd"), 50)
    new_X, new_y = with_outliers(X, y, 0.5, 3)
    assert np.array_equal(new_X[:200], X)
    assert np.array_equal(new_y[:200], y)
    outliers = new_X[200:]
    assert outliers.shape == (100, 18)
    wild = np.abs(outliers[:, 3:6])
    assert (wild > 2).all()
    assert (wild < 3).all()
    assert (np.abs(np.delete(outliers, (3, 4, 5), axis=1)) < 1).all()
    assert set(new_y[200:]) == set("abcd")
    assert np.array_equal(with_outliers(X, y, 0.5, 3)[0], new_X)
    assert not np.array_equal(with_outliers(X, y, 0.5, 4)[0], new_X)
    assert with_outliers(X, y, 0.0, 0)[0].shape == X.shape


def test_some_rows_keep_every_class():
    y = np.array([0] * 500 + [1] * 3)
    X, labels = some_rows(np.arange(503.0)[:, None], y, 10)
    assert len(X) == 10
    assert (labels == 1).sum() == 3


def test_the_largest_budget_counts():
    def result(budget, value, what=("a",)):
        return {"what": what, "scheme": "exact", "budget": budget, "value": value}

    results = [result("paper", 1), result("smoke", 2), result("quick", 3), result("quick", 4, "b")]
    assert {(r["what"], r["value"]) for r in largest(results)} == {(("a",), 1), ("b", 4)}


def test_cells_have_names_for_files():
    cell = Cell("ess", ("iris", "pasb_mlr", 2), "quick", "exact", 0)
    assert path_of(Path("x"), cell) == Path("x/cells/ess/iris-pasb_mlr-2-quick-exact-0.json")
