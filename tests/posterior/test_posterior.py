"""What a fitted model tells of its draws: the tree for ArviZ, the frames, the exports."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray

from pasb import StickLogisticClassifier
from pasb.posterior.fitted import MOST_WATCHED

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

N_CHAINS, N_DRAWS = 2, 40
LABELS = np.array(["ash", "oak", "yew"])


def data(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], LABELS[y]


X, Y = data()


def fit(X=X, Y=Y, **changes):
    settings = {
        "n_chains": N_CHAINS,
        "n_warmup": 20,
        "n_draws": N_DRAWS,
        "n_jobs": 1,
        "random_state": 0,
    }
    return StickLogisticClassifier(**(settings | changes)).fit(X, Y)


@pytest.fixture(scope="module")
def fitted():
    return fit()


@pytest.fixture(scope="module")
def fixed():
    return fit(order=["yew", "ash", "oak"])


GROUPS = {"posterior", "sample_stats", "observed_data", "constant_data"}


class TestTree:
    def test_groups_and_shapes(self, fitted):
        tree = fitted.posterior_
        assert isinstance(tree, xarray.DataTree)
        assert set(tree.children) == GROUPS
        posterior = tree["posterior"]
        assert posterior["coef"].dims == ("chain", "draw", "split", "feature")
        assert posterior["intercept"].shape == (N_CHAINS, N_DRAWS, posterior.sizes["split"])
        assert posterior["order"].shape == (N_CHAINS, N_DRAWS, 3)
        assert posterior["probability"].shape == (N_CHAINS, N_DRAWS, MOST_WATCHED, 3)
        assert tree["sample_stats"]["log_likelihood_sum"].shape == (N_CHAINS, N_DRAWS)
        assert list(posterior["category"].values) == list(LABELS)
        assert list(posterior["feature"].values) == ["x0", "x1"]
        assert posterior.attrs["inference_library"] == "pasb"

    def test_is_built_once(self, fitted):
        assert fitted.posterior_ is fitted.posterior_

    def test_a_new_fit_gives_a_new_tree(self):
        model = fit(n_draws=5)
        before = model.posterior_
        after = model.set_params(random_state=1).fit(X, Y).posterior_
        assert not before.equals(after)

    def test_coefficients_are_kept_apart_by_what_they_mean(self, fitted):
        posterior = fitted.posterior_["posterior"]
        assert len(posterior["split"]) > 2  # several orders were drawn
        draws = fitted.draws_
        slopes = fitted.fitted_.scaling.intercept_and_slopes(draws.parameters["coef"])[1]
        for label, own in posterior["coef"].groupby("split"):
            name, _, behind = label.partition(" | ")
            category = LABELS.tolist().index(name)
            for chain, draw in np.ndindex(N_CHAINS, N_DRAWS):
                order = LABELS[draws.order[chain, draw]].tolist()
                after = order[order.index(name) + 1 :]
                found = own.values[chain, draw].ravel()
                if set(after) == set(behind.split(", ")):
                    np.testing.assert_array_equal(found, slopes[chain, draw, category])
                else:
                    assert np.isnan(found).all()
        shares = posterior["coef"].notnull().isel(feature=0).mean(("chain", "draw"))
        np.testing.assert_allclose(shares, fitted.posterior_["constant_data"]["split_probability"])
        for name in ("probability", "order"):
            assert not posterior[name].isnull().any()

    def test_probabilities_are_those_of_the_rows(self, fitted):
        posterior = fitted.posterior_["posterior"]
        rows = posterior["row"].values
        samples = fitted.sample_proba(X[rows]).reshape(N_CHAINS, N_DRAWS, len(rows), 3)
        np.testing.assert_array_equal(posterior["probability"].values, samples)
        observed = fitted.posterior_["observed_data"]["y"].values
        np.testing.assert_array_equal(LABELS[observed], Y[rows])

    def test_rows_without_weight_are_not_watched(self):
        weights = (np.arange(60) >= 30).astype(float)
        model = fit()
        model.fit(X, Y, sample_weight=weights)
        rows = model.posterior_["posterior"]["row"].values
        assert rows.min() >= 30
        observed = model.posterior_["observed_data"]["y"].values
        np.testing.assert_array_equal(LABELS[observed], Y[rows])

    def test_diagnostics_are_those_of_the_probabilities(self, fitted):
        from arviz_stats.base import array_stats

        probability = fitted.posterior_["posterior"]["probability"].values
        expected = array_stats.rhat(probability[:, :, 3, 1], chain_axis=0, draw_axis=1)
        assert fitted.diagnostics_.rhat_probability[3, 1] == pytest.approx(expected)


class TestArviz:
    def test_all_that_was_drawn_in_one_table(self, fitted, fixed):
        """As the guide of ArviZ begins: no variable may have a coordinate that others lack."""
        import arviz_stats

        for model in (fitted, fixed):
            posterior = model.posterior_["posterior"]
            table = arviz_stats.summary(model.posterior_)
            sizes = [posterior[name][0, 0].size for name in posterior.data_vars]
            assert len(table) == sum(sizes)

    def test_statistics(self, fitted):
        import arviz_stats

        table = arviz_stats.summary(fitted.posterior_, var_names=["probability"])
        assert len(table) == 3 * MOST_WATCHED
        for function in (arviz_stats.rhat, arviz_stats.ess, arviz_stats.mcse):
            out = function(fitted.posterior_, var_names=["probability"])
            values = out["probability"] if "probability" in out else out["posterior/probability"]
            assert values.shape == (MOST_WATCHED, 3)
            assert np.isfinite(values).all()

    def test_coefficients_under_a_fixed_order(self, fixed):
        import arviz_stats

        table = arviz_stats.summary(
            fixed.posterior_, var_names=["coef"], coords={"split": ["yew | ash, oak", "ash | oak"]}
        )
        assert len(table) == 4
        ours = fixed.summary()
        ours = ours[ours["feature"] != "(intercept)"].sort_values(["class", "feature"])
        np.testing.assert_allclose(
            np.sort(table["mean"].astype(float)), np.sort(ours["mean"]), atol=0.006
        )

    @pytest.mark.parametrize("plot", ["plot_dist", "plot_forest", "plot_rank", "plot_trace"])
    def test_plots(self, fixed, plot):
        import arviz_plots
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        rows = fixed.posterior_["posterior"]["row"].values[:2]
        draw = getattr(arviz_plots, plot)
        draw(fixed.posterior_, var_names=["probability"], coords={"row": rows})
        draw(fixed.posterior_, var_names=["coef"], coords={"split": ["yew | ash, oak"]})
        pyplot.close("all")


class TestExport:
    @pytest.mark.parametrize(
        "labels",
        [LABELS, LABELS.astype(object), np.array([3, 5, 9]), np.array([False, True, True])],
        ids=["str", "object", "int", "bool"],
    )
    def test_netcdf(self, tmp_path, labels):
        model = fit(Y=labels[np.arange(60) % 3], n_draws=5)
        model.export(tmp_path / "draws.nc")
        again = xarray.open_datatree(tmp_path / "draws.nc", engine="h5netcdf")
        assert set(again.children) == GROUPS
        for name, values in model.posterior_["posterior"].data_vars.items():
            np.testing.assert_array_equal(again["posterior"][name].values, values.values)
        np.testing.assert_array_equal(again["posterior"]["category"].values, model.classes_)
        again.close()

    def test_path_as_text(self, fitted, tmp_path):
        fitted.export(str(tmp_path / "draws.nc"))
        fitted.export(str(tmp_path / "draws.nc"))  # over the old one
        assert (tmp_path / "draws.nc").exists()

    @pytest.mark.parametrize(
        ("ending", "package"), [("nc", "h5netcdf"), ("nc", "h5py"), ("zarr", "zarr")]
    )
    def test_missing_package(self, fitted, tmp_path, monkeypatch, ending, package):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"needs .*{package}.*: pip install .*{package}"):
            fitted.export(tmp_path / f"draws.{ending}")
        assert list(tmp_path.iterdir()) == []


class TestSummary:
    def test_rows_and_columns(self, fitted):
        table = fitted.summary()
        names = "stick class against probability feature mean sd lower upper rhat ess prior"
        assert list(table.columns) == names.split()
        assert table["stick"].tolist() == [1, 1, 1, 2, 2, 2]
        assert table["class"].tolist() == np.repeat(fitted.order_[:-1], 3).tolist()
        assert (table["lower"] <= table["mean"]).all()
        assert (table["mean"] <= table["upper"]).all()

    def test_numbers(self, fixed):
        posterior = fixed.posterior_["posterior"]
        table = fixed.summary(interval=0.5)
        values = posterior["coef"].sel(split="ash | oak", feature="x1").values
        row = table[(table["class"] == "ash") & (table["feature"] == "x1")].iloc[0]
        assert row["stick"] == 2
        np.testing.assert_allclose(
            [row["mean"], row["sd"], row["lower"], row["upper"]],
            [values.mean(), values.std(), *np.quantile(values, [0.25, 0.75])],
        )

    def test_only_draws_that_have_the_stick(self, fitted):
        posterior = fitted.posterior_["posterior"]
        table = fitted.summary()
        for stick in (1, 2):
            own = table[(table["stick"] == stick) & (table["feature"] == "x0")].iloc[0]
            behind = sorted(fitted.order_[stick:])
            assert own["against"] == ", ".join(behind)
            coef = posterior["coef"].sel(split=f"{own['class']} | {own['against']}", feature="x0")
            assert own["mean"] == pytest.approx(float(coef.mean()))
            assert own["probability"] == pytest.approx(float(coef.notnull().mean()))

    def test_several_orders(self, fitted):
        orders = fitted.order_posterior()
        table = fitted.summary(orders=2)
        assert table["order"].unique().tolist() == orders["order"][:2].tolist()
        assert len(table) == 12
        probable = fitted.summary(orders="probable")
        expected = orders[orders["probability"] >= 0.05]
        assert probable["order"].unique().tolist() == expected["order"].tolist()
        np.testing.assert_allclose(
            probable["order_probability"].unique(), expected["probability"].unique()
        )

    def test_agreement_of_chains(self, fixed):
        from pasb.posterior.diagnostics import rhat_and_ess

        table = fixed.summary()
        coef = fixed.posterior_["posterior"]["coef"].sel(split="ash | oak", feature="x1").values
        rhat, ess = rhat_and_ess(coef[:, :, None])
        row = table[(table["class"] == "ash") & (table["feature"] == "x1")].iloc[0]
        assert (row["rhat"], row["ess"]) == pytest.approx((rhat[0], ess[0]))

    def test_how_sticks_divide_rows(self, fixed):
        table = fixed.summary(X=X, y=Y).drop_duplicates("stick")
        assert table["rows"].tolist() == pytest.approx([1.0, 2 / 3])
        assert (table["stopped_own"] > table["stopped_others"]).all()

    def test_bad_arguments(self, fitted):
        with pytest.raises(ValueError, match="orders must be 'top', 'probable' or a positive"):
            fitted.summary(orders="best")
        with pytest.raises(ValueError, match="both X and y"):
            fitted.summary(X=X)

    def test_wider_intervals_hold_narrower_ones(self, fitted):
        wide, narrow = fitted.summary(0.95), fitted.summary(0.5)
        assert (wide["lower"] <= narrow["lower"]).all()
        assert (wide["upper"] >= narrow["upper"]).all()


class TestOrderPosterior:
    def test_frequencies(self, fitted):
        table = fitted.order_posterior()
        assert list(table.columns) == ["order", "probability", "chains"]
        assert table["probability"].sum() == pytest.approx(1)
        assert (np.diff(table["probability"]) <= 0).all()
        assert table["order"][0].replace(" / ", " > ") == " > ".join(fitted.order_)
        draws = LABELS[fitted.draws_.order]
        for _, row in table.iterrows():
            same = (draws == row["order"].replace(" / ", " > ").split(" > ")).all(axis=2)
            assert same.mean() == pytest.approx(row["probability"])
            assert same.any(axis=1).sum() == row["chains"]

    def test_classes_that_share_the_last_stick_have_one_form(self, fitted, fixed):
        assert (fitted.draws_.order[..., -2] < fitted.draws_.order[..., -1]).all()
        assert fitted.order_posterior()["order"].str.fullmatch(r"\w+ > \w+ / \w+").all()
        assert fixed.order_posterior()["order"].tolist() == ["yew > ash > oak"]

    def test_top(self, fitted):
        assert len(fitted.order_posterior(top=1)) == 1
        assert len(fitted.order_posterior(top=100)) == len(fitted.order_posterior())


class TestPredictFrame:
    def test_columns(self, fitted):
        frame = fitted.predict_frame(X)
        names = [f"p_{label}{end}" for label in LABELS for end in ("", "_lower", "_upper")]
        assert list(frame.columns) == ["prediction", *names]
        np.testing.assert_array_equal(frame["prediction"], fitted.predict(X))

    def test_numbers(self, fitted):
        frame = fitted.predict_frame(X, interval=0.8)
        samples = fitted.sample_proba(X)
        mean = fitted.predict_proba(X)
        for s, label in enumerate(LABELS):
            lower, upper = np.quantile(samples[:, :, s], [0.1, 0.9], axis=0)
            np.testing.assert_array_equal(frame[f"p_{label}"], mean[:, s])
            np.testing.assert_allclose(frame[f"p_{label}_lower"], lower)
            np.testing.assert_allclose(frame[f"p_{label}_upper"], upper)

    def test_many_rows(self, fitted):
        rows = np.tile(X, (4, 1))
        frame = fitted.predict_frame(rows)
        np.testing.assert_array_equal(frame["p_ash_lower"][:60], frame["p_ash_lower"][180:])
