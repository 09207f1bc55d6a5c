"""Bad input gives an error that names what is wrong and says what to do."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from pasb import Logistic, StickBreakingClassifier, StickLogisticClassifier

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SMALL = {"n_chains": 2, "n_warmup": 5, "n_draws": 10, "n_swaps": 5, "n_jobs": 1, "random_state": 0}
N = 30
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.repeat(["a", "b", "c"], N // 3)
NAMES = ["height", "width", "depth"]


def classifier(**changes):
    return StickLogisticClassifier(**(SMALL | changes))


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y)


@pytest.fixture(scope="module")
def fitted_frame():
    return classifier().fit(pd.DataFrame(X, columns=NAMES), Y)


def pandas_frame(X):
    return pd.DataFrame(X, columns=NAMES)


def polars_frame(X):
    return pl.DataFrame(X, schema=NAMES)


class TestNotFinite:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.nan, "contains NaN.*{} has 1 such value.*row 5.*SimpleImputer"),
            (np.inf, "contains infinity.*{} has 1 such value.*row 5.*overflow"),
            (-np.inf, "contains infinity.*{} has 1 such value.*row 5.*overflow"),
        ],
    )
    @pytest.mark.parametrize(
        ("kind", "column"),
        [(np.asarray, "column x1"), (pandas_frame, "'width'"), (polars_frame, "'width'")],
    )
    def test_the_column_is_named(self, value, message, kind, column):
        bad = X.copy()
        bad[4, 1] = value
        with pytest.raises(ValueError, match=message.format(column)):
            classifier().fit(kind(bad), Y)

    def test_many_columns(self):
        bad = X.copy()
        bad[:, 1:] = np.nan
        with pytest.raises(ValueError, match=r"(?s)2 problems:.*x1 has 30 such values.*x2 has 30"):
            classifier().fit(bad, Y)

    def test_missing_values_of_pandas_and_polars(self):
        gaps = [None] + [1] * (N - 1)
        for frame in (
            pd.DataFrame({"full": X[:, 0], "gaps": pd.array(gaps, dtype="Int64")}),
            pl.DataFrame({"full": X[:, 0], "gaps": gaps}),
        ):
            with pytest.raises(ValueError, match=r"NaN.*'gaps'"):
                classifier().fit(frame, Y)

    def test_in_prediction(self, fitted_frame):
        bad = pandas_frame(X)
        bad.loc[7, "depth"] = np.nan
        with pytest.raises(ValueError, match=r"NaN.*'depth'.*row 8"):
            fitted_frame.predict(bad)


class TestColumns:
    @pytest.mark.parametrize(
        "column",
        [
            pd.Series(["x"] * N, dtype=object),
            pd.Series(["x"] * N, dtype="string"),
            pd.Series(["x", "y"] * (N // 2), dtype="category"),
            pd.Series([1, "x"] * (N // 2), dtype=object),
            pd.Series([[1.0]] * N),
        ],
        ids=["object", "string", "category", "mixed", "lists"],
    )
    def test_text_in_pandas(self, column):
        frame = pandas_frame(X).assign(colour=column)
        with pytest.raises(ValueError, match=r"'colour' does not hold numbers.*OneHotEncoder"):
            classifier().fit(frame, Y)

    @pytest.mark.parametrize(
        "column",
        [
            pl.Series(["x"] * N),
            pl.Series(["x"] * N, dtype=pl.Categorical),
            pl.Series(["x"] * N, dtype=pl.Enum(["x"])),
            pl.Series([b"x"] * N),
            pl.Series([[1.0]] * N),
        ],
        ids=["string", "categorical", "enum", "bytes", "lists"],
    )
    def test_text_in_polars(self, column):
        frame = polars_frame(X).with_columns(colour=column)
        with pytest.raises(ValueError, match=r"'colour' does not hold numbers.*OneHotEncoder"):
            classifier().fit(frame, Y)

    @pytest.mark.parametrize(
        "column",
        [
            pd.Series(pd.date_range("2020", periods=N)),
            pd.Series(pd.date_range("2020", periods=N, tz="UTC")),
            pd.Series(pd.to_timedelta(range(N), unit="s")),
            pd.Series(pd.period_range("2020", periods=N, freq="D")),
        ],
        ids=["dates", "zoned", "durations", "periods"],
    )
    def test_dates_in_pandas(self, column):
        with pytest.raises(ValueError, match=r"'when' holds dates or times.*numbers first"):
            classifier().fit(pandas_frame(X).assign(when=column), Y)

    @pytest.mark.parametrize(
        "value",
        [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), dt.timedelta(1), dt.time(1)],
        ids=["date", "datetime", "duration", "time"],
    )
    def test_dates_in_polars(self, value):
        with pytest.raises(ValueError, match=r"'when' holds dates or times.*numbers first"):
            classifier().fit(polars_frame(X).with_columns(when=pl.Series([value] * N)), Y)

    def test_text_in_prediction(self, fitted_frame):
        with pytest.raises(ValueError, match="'width' does not hold numbers"):
            fitted_frame.predict(pandas_frame(X).assign(width="x"))

    @pytest.mark.parametrize(
        "column",
        [
            pd.Series([True, False] * (N // 2)),
            pd.Series([1, 2] * (N // 2), dtype="category"),
            pd.Series([1, 2] * (N // 2), dtype=object),
            pd.Series([1, 2] * (N // 2), dtype="Int8"),
            pd.Series([1, 2] * (N // 2), dtype="double[pyarrow]"),
        ],
        ids=["bool", "category", "object", "nullable", "pyarrow"],
    )
    def test_numbers_of_all_kinds_are_welcome(self, column):
        assert classifier().fit(pandas_frame(X).assign(more=column), Y).n_features_in_ == 4

    def test_lazy_frame(self):
        with pytest.raises(TypeError, match=r"X is a lazy frame.*collect\(\)"):
            classifier().fit(polars_frame(X).lazy(), Y)

    @pytest.mark.parametrize(
        ("bad", "error", "message"),
        [
            (X[:, 0], ValueError, "Expected 2D array"),
            (np.empty((0, 3)), ValueError, "0 sample"),
            (X * 1j, ValueError, "Complex data not supported"),
            (np.full((N, 2), "x"), ValueError, "could not convert string to float"),
            (np.full((N, 2), "2020", dtype="M8[D]"), ValueError, "X holds dates"),
        ],
        ids=["1d", "no rows", "complex", "text", "dates"],
    )
    def test_arrays(self, bad, error, message):
        with pytest.raises(error, match=message):
            classifier().fit(bad, Y[: len(bad)] if bad.shape[0] == 0 else Y)

    def test_in_prediction(self, fitted, fitted_frame):
        with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
            fitted.predict_proba(X[:, :2])
        with pytest.raises(ValueError, match="0 sample"):
            fitted.predict(np.empty((0, 3)))
        with pytest.raises(ValueError, match="unseen at fit time:\n- mass"):
            fitted_frame.predict(pandas_frame(X).rename(columns={"width": "mass"}))
        with pytest.raises(ValueError, match="same order"):
            fitted_frame.predict_proba(pandas_frame(X)[NAMES[::-1]])
        with pytest.raises(ValueError, match="now missing:\n- depth"):
            fitted_frame.sample_proba(polars_frame(X).drop("depth"))


class TestLabels:
    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (np.repeat("a", N), r"y holds one class only \('a'\).*at least two classes"),
            (X[:, 0], "Unknown label type: continuous"),
            (Y[:-1], r"inconsistent numbers of samples: \[30, 29\]"),
            (np.c_[Y, Y], "y should be a 1d array"),
            (None, "requires y to be passed"),
            (np.r_[np.nan, np.arange(N - 1) % 2], "y contains NaN"),
            ([None, *Y[1:]], "y contains NaN or None: 1 label.*row 1"),
            (pd.Series([*Y[:-1], None]), "y contains NaN or None.*row 30"),
            (pl.Series([*Y[:-1].tolist(), None]), "y contains NaN or None.*row 30"),
            ([1, *Y[1:].tolist()], "y mixes labels of type int and str"),
            (np.array([1, *Y[1:].tolist()], dtype=object), "y mixes labels of type int and str"),
        ],
        ids=[
            "one class",
            "continuous",
            "too short",
            "two columns",
            "none",
            "nan",
            "None",
            "pandas gap",
            "polars gap",
            "mixed list",
            "mixed array",
        ],
    )
    def test_bad_labels(self, y, message):
        with pytest.raises(ValueError, match=message):
            classifier().fit(X, y)


class TestWeights:
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (-np.ones(N), "Negative values in data passed to `sample_weight`"),
            (np.zeros(N), "(?i)sample.weight.*zero"),
            (np.ones(N - 1), r"sample_weight .* shape must be \(30,\); got \(29,\)"),
            (np.full(N, np.nan), "sample_weight contains NaN"),
            (np.full(N, np.inf), "sample_weight contains infinity"),
            (np.ones((N, 2)), r"sample_weight .* shape must be \(30,\); got \(30, 2\)"),
        ],
        ids=["negative", "zero", "too short", "nan", "infinite", "two columns"],
    )
    def test_bad_weights(self, weights, message):
        with pytest.raises(ValueError, match=message):
            classifier().fit(X, Y, sample_weight=weights)

    def test_fractions_with_augmented_sticks(self):
        with pytest.raises(
            ValueError, match="sample_weight must be 0 or 1 with sticks='augmented'"
        ):
            classifier(sticks="augmented").fit(X, Y, sample_weight=np.full(N, 0.5))


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_chains", 0),
            ("n_chains", 1.5),
            ("n_draws", -1),
            ("n_draws", 0),
            ("n_warmup", -1),
            ("thin", 0),
            ("n_swaps", 0),
            ("n_swaps", "many"),
            ("scheme", "gibbs"),
            ("sticks", "long"),
            ("scale", "minmax"),
            ("precision", -1),
            ("precision", 0),
            ("precision", np.inf),
            ("precision", np.nan),
            ("precision", "flat"),
            ("precision_shape", 0),
            ("precision_rate", -2),
            ("order", "abc"),
            ("order", None),
            ("order", 3),
            ("random_state", -1),
            ("random_state", "today"),
            ("n_jobs", 1.5),
            ("progress", "yes"),
            ("checkpoint", 3),
            ("callbacks", print),
        ],
    )
    def test_impossible_values(self, name, value):
        with pytest.raises(ValueError, match=f"The '{name}' parameter .* must be"):
            classifier(**{name: value}).fit(X, Y)

    @pytest.mark.parametrize(
        ("order", "message"),
        [
            (["a", "b"], "order must list every class exactly once.*'c' is missing"),
            (["a", "b", "c", "a"], "order must list every class exactly once.*more than once"),
            (["a", "b", "z"], "order: 'z' is not a class; the classes are 'a', 'b', 'c'"),
            ([["a", "b", "c"]], "order: .* is not a class"),
        ],
    )
    def test_orders_that_are_none(self, order, message):
        with pytest.raises(ValueError, match=message):
            classifier(order=order).fit(X, Y)

    def test_callbacks_that_are_none(self):
        with pytest.raises(TypeError, match="callbacks must be callables; got 3"):
            classifier(callbacks=[3]).fit(X, Y)

    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"direction": "up"}, ValueError, "The 'direction' parameter"),
            ({"binary": "logistic"}, ValueError, "The 'binary' parameter"),
            ({"binary": Logistic}, TypeError, r"binary must be an object.*Logistic\(\)"),
            ({"binary": Logistic(precision=-1)}, ValueError, "precision must be .* positive"),
            ({"binary": Logistic(rate=0)}, ValueError, "rate must be a positive number"),
            ({"binary": Logistic(shape="x")}, ValueError, "shape must be a positive number"),
        ],
    )
    def test_of_the_general_classifier(self, changes, error, message):
        with pytest.raises(error, match=message):
            StickBreakingClassifier(**SMALL, **changes).fit(X, Y)

    def test_positional_arguments_are_refused(self):
        with pytest.raises(TypeError):
            StickLogisticClassifier(0.1)


class TestAfterFit:
    @pytest.mark.parametrize(
        "method", ["predict", "predict_proba", "predict_log_proba", "sample_proba", "predict_frame"]
    )
    def test_prediction_before_fit(self, method):
        with pytest.raises(NotFittedError, match="Call 'fit'"):
            getattr(classifier(), method)(X)

    def test_results_before_fit(self, tmp_path):
        model = classifier()
        for ask in (
            model.summary,
            model.order_posterior,
            lambda: model.posterior_,
            lambda: model.save(tmp_path / "m"),
            lambda: model.export(tmp_path / "m.nc"),
        ):
            with pytest.raises(NotFittedError, match="Call 'fit'"):
                ask()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("n_draws", [0, -1, 21, 2.5, "3"])
    def test_number_of_draws(self, fitted, n_draws):
        with pytest.raises(ValueError, match="n_draws must be from 1 to 20, not"):
            fitted.sample_proba(X, n_draws=n_draws)

    @pytest.mark.parametrize("interval", [0, 1, -0.1, 90, np.nan, "wide"])
    def test_interval(self, fitted, interval):
        with pytest.raises(ValueError, match="interval must lie between 0 and 1, not"):
            fitted.summary(interval=interval)
        with pytest.raises(ValueError, match="interval must lie between 0 and 1, not"):
            fitted.predict_frame(X, interval=interval)

    @pytest.mark.parametrize("top", [0, -1, 1.5])
    def test_top(self, fitted, top):
        with pytest.raises(ValueError, match="top must be a positive integer; got"):
            fitted.order_posterior(top=top)

    def test_export(self, fitted, tmp_path):
        with pytest.raises(ValueError, match=r"must end in .nc \(NetCDF\) or .zarr, not '.csv'"):
            fitted.export(tmp_path / "draws.csv")


def test_no_jobs_at_all_is_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        StickLogisticClassifier(**{**SMALL, "n_jobs": 0}).fit(X, y)


def test_classes_whose_columns_would_collide_are_refused():
    X, y = np.arange(20.0)[:, None], np.array(["a", "a_lower"] * 10)
    model = StickLogisticClassifier(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="two columns would have the same name"):
        model.predict_frame(X)
