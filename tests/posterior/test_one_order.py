"""Draws of one order for ArviZ, and the words where there are several."""

from __future__ import annotations

import warnings

import arviz_stats
import numpy as np
import polars as pl
import pytest

from pasb import SoftplusClassifier, StickLogisticClassifier
from pasb.posterior.one_order import largest_rectangle

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

LABELS = np.array(["ash", "oak", "yew"])
SHORT = {"n_chains": 2, "n_jobs": 1, "random_state": 0, "progress": False}


def data(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], LABELS[y]


@pytest.fixture(scope="module")
def model():
    return StickLogisticClassifier(n_warmup=20, n_draws=60, **SHORT).fit(*data())


@pytest.fixture(scope="module")
def softplus():
    return SoftplusClassifier(n_warmup=8, n_draws=10, **SHORT).fit(*data())


def test_arviz_summarises_the_coefficients_of_an_order(model):
    """In `posterior_` they are NaN in draws without the stick, and so was all of the table."""
    numbers = ["mean", "sd"]
    whole = arviz_stats.summary(model.posterior_, var_names=["coef"], round_to="none")
    assert whole[numbers].isnull().to_numpy().any()
    tree = model.posterior_of_order()
    table = arviz_stats.summary(tree, var_names=["coef", "intercept"], round_to="none")
    assert len(table) == 2 * (2 + 1)
    assert np.isfinite(table[numbers].to_numpy(dtype=float)).all()


def test_the_draws_are_those_of_the_order(model):
    for order in model.order_posterior()["order"]:
        labels = order.replace(" / ", " > ").split(" > ")
        tree = model.posterior_of_order(
            [*labels[:1], *labels[:0:-1]]
        )  # either form of the last two
        posterior, number = tree["posterior"], tree["sample_stats"]["draw_of_run"]
        assert (LABELS[posterior["order"]] == labels).all()
        behind = [" | ".join([labels[0], ", ".join(labels[1:])]), " | ".join(labels[1:])]
        assert posterior["split"].values.tolist() == behind
        assert posterior.attrs["order"] == order
        for chain in posterior["chain"].values:
            picked = number.sel(chain=chain).values
            whole = model.posterior_["posterior"].sel(chain=chain, split=behind)
            np.testing.assert_array_equal(
                posterior["coef"].sel(chain=chain), whole["coef"].isel(draw=picked)
            )
        had = (LABELS[model.draws_.order] == labels).all(axis=2)
        assert number.size + posterior.attrs["draws_left_out"] == had.sum()
        assert posterior.attrs["order_probability"] == pytest.approx(had.mean())


@pytest.mark.parametrize(
    ("counts", "chains", "n"),
    [
        ([10, 10, 10], [0, 1, 2], 10),
        ([1, 100, 90, 0], [1, 2], 90),
        ([0, 7, 0], [1], 7),
        ([5, 10], [0, 1], 5),
        ([0, 0], [0, 1], 0),
    ],
)
def test_most_draws_are_kept(counts, chains, n):
    assert largest_rectangle(np.array(counts)) == (chains, n)


def test_directions(softplus):
    tree = softplus.posterior_of_order(direction="reverse")
    assert set(tree["posterior"]["direction"].values) == {"reverse"}
    assert not tree["posterior"]["coef"].isnull().any()
    with pytest.raises(ValueError, match="direction: the model has 'forward' and 'reverse'"):
        softplus.posterior_of_order(direction="up")


def test_orders_that_are_not_there(model):
    fixed = StickLogisticClassifier(order=LABELS, n_warmup=5, n_draws=9, **SHORT).fit(*data())
    with pytest.raises(ValueError, match=r"no draw has yew > ash > oak; there are ash > oak > yew"):
        fixed.posterior_of_order(["yew", "ash", "oak"])
    with pytest.raises(ValueError, match="'elm' is not a class"):
        model.posterior_of_order(["elm", "ash", "oak"])


def test_summary_says_that_there_are_several_orders(model):
    first = model.order_posterior()["order"][0]
    with pytest.warns(UserWarning, match=f"Several orders are probable: {first}") as caught:
        table = model.summary()
    assert caught[0].filename == __file__
    assert table.attrs["orders"] in str(caught[0].message)
    fixed = StickLogisticClassifier(order=LABELS, n_warmup=5, n_draws=9, **SHORT).fit(*data())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.summary(orders="probable").attrs == table.attrs
        assert "orders" not in fixed.summary().attrs


def test_softplus_sticks_have_quantities(softplus):
    X, y = data()
    with pytest.warns(UserWarning, match="Several orders of forward sticks"):
        table = softplus.summary(X=X, y=y)
    names = ["active experts", "weight", "mean rate"]
    assert table["quantity"].tolist() == names * 4  # two sticks of each direction
    assert table["log_evidence"].isnull().all()
    posterior = softplus.posterior_["posterior"]
    for row in table[table["direction"] == "forward"].itertuples():
        own = posterior.sel(split=f"forward: {row[3]} | {row.against}")
        by_name = {
            "active experts": (own["active"] > 0).sum("expert").where(own["mean_rate"].notnull()),
            "weight": own["weight"].sum("expert", skipna=False),
            "mean rate": own["mean_rate"],
        }
        assert row.mean == pytest.approx(float(by_name[row.quantity].mean()))
    X, y = data()
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    again = SoftplusClassifier(precision_rate=8.0, n_warmup=2, n_draws=4, **SHORT).fit(frame, y)
    table = again.summary(orders=1)
    assert table["quantity"].to_list() == names[:2] * 4
