"""Groups of the tree that need rows, and what ArviZ makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import SoftplusClassifier, StickLogisticClassifier, StickSVMClassifier, datasets

pytestmark = pytest.mark.filterwarnings("ignore")

SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 60, "n_jobs": 1, "random_state": 0}
ALL = ("log_likelihood", "observed_data", "posterior_predictive", "prior", "prior_predictive")


@pytest.fixture(scope="module")
def rows():
    data = datasets.load("iris")
    return data.X[::2], data.y[::2]


@pytest.fixture(scope="module")
def tree(rows):
    model = StickLogisticClassifier(**SHORT).fit(*rows)
    return model, model.posterior_with(*rows, groups=ALL, n_prior=80, random_state=1)


def test_groups_and_numbers(tree, rows):
    model, found = tree
    X, y = rows
    assert set(found.children) == {"posterior", "sample_stats", "constant_data", *ALL}
    place = np.searchsorted(model.classes_, y)
    p = model.sample_proba(X)[:, np.arange(len(y)), place].reshape(2, 60, -1)
    np.testing.assert_allclose(found["log_likelihood"]["y"], np.log(p), rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(found["observed_data"]["y"], place)
    assert found["posterior"].equals(model.posterior_["posterior"])
    assert found["prior"]["coef"].sizes["draw"] == 80
    assert found["prior_predictive"]["y"].shape == (1, 80, len(y))


@pytest.mark.statistical(level=1e-7)
def test_predictive_draws_have_the_probabilities_of_the_model(tree, rows):
    model, found = tree
    labels = found["posterior_predictive"]["y"].values.reshape(120, -1)
    samples = model.sample_proba(rows[0])
    for s in range(3):
        gap = (labels == s).mean() - samples[..., s].mean()
        error = np.sqrt((samples[..., s] * (1 - samples[..., s])).sum()) / labels.size
        assert abs(gap) < 6 * error + 1e-9


@pytest.mark.statistical(level=1e-7)
def test_the_prior_has_its_scale(tree):
    model, found = tree
    inner = found["prior"]["coef"].values * model.fitted_.scaling.spread
    order = found["prior"]["order"].values
    known = inner[~np.isnan(inner)]
    scale = np.sqrt(model.precision_rate_ / 2)  # a t distribution with 4 degrees of freedom
    quartile = 0.7407 * scale
    share = (np.abs(known) < quartile).mean()
    assert abs(share - 0.5) < 6 * 0.5 / np.sqrt(len(known))
    first = np.bincount(order[..., 0].ravel(), minlength=3) / 80
    assert np.abs(first - 1 / 3).max() < 6 * np.sqrt(2 / 9 / 80)


def test_softplus_has_a_prior_of_each_direction(rows):
    model = SoftplusClassifier(n_experts=2, n_layers=1, **SHORT | {"n_draws": 10}).fit(*rows)
    found = model.posterior_with(rows[0], groups=("prior", "prior_predictive"), n_prior=7)
    assert found["prior"]["direction"].values.tolist() == ["forward", "reverse"]
    assert found["prior_predictive"]["y"].shape == (2, 7, 75)


@pytest.mark.parametrize("plot", ["plot_ppc_rootogram", "plot_ppc_pava", "plot_loo_pit"])
def test_pictures_of_arviz(tree, plot):
    import arviz_plots
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    options = {"data_type": "categorical"} if plot == "plot_ppc_pava" else {}
    getattr(arviz_plots, plot)(tree[1], **options)
    pyplot.close("all")


def test_refusals(tree, rows):
    model, _ = tree
    with pytest.raises(ValueError, match="groups: 'likelihood' must be one of"):
        model.posterior_with(*rows, groups=["likelihood"])
    with pytest.raises(ValueError, match="y is needed"):
        model.posterior_with(rows[0])
    machine = StickSVMClassifier(width=0.1, **SHORT | {"n_draws": 5}).fit(*rows)
    with pytest.raises(ValueError, match="has no prior predictive draws"):
        machine.posterior_with(rows[0], groups="prior")
    with pytest.raises(ValueError, match="needs a likelihood"):
        machine.posterior_with(*rows, groups="log_likelihood")
