"""The encoder of tables as a transformer: any library, pipelines, checks of scikit-learn."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pasb import TableEncoder
from pasb.covariates.encoder_file import encoder_from_json, encoder_of_numbers, encoder_to_json
from pasb.covariates.tables import TableError

NOT_SATISFIABLE = {
    "check_dataframe_column_names_consistency": (
        "Columns are found by name: they may come in any order, and those that are not used may "
        "be missing. The tests below check that, and the errors."
    ),
    "check_estimators_empty_data_messages": (
        "A table without columns gives a table without columns, on which a classifier fits its "
        "intercepts."
    ),
}


@parametrize_with_checks([TableEncoder()], expected_failed_checks=lambda _: NOT_SATISFIABLE)
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


def messy(n=60):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": np.arange(n) + 17,
            "size": [f"{v:.2f}" for v in rng.normal(size=n)],
            "income": [f"{v:.1f}".replace(".", ",") for v in rng.normal(50, 9, size=n)],
            "member": ["Yes", "no", "YES ", "No"] * (n // 4),
            "joined": [f"{1 + k % 28}.{1 + k % 12}.2020" for k in range(n)],
            "colour": ["red", "blue", " red", "green", "?", "blue"] * (n // 6),
            "zip": ["01234", "12345", "00001"] * (n // 3),
            "country": "DE",
        }
    )
    table.loc[3, "size"] = "NA"
    return table


NAMES = [
    *("size", "size (missing)", "income", "member", "joined"),
    *("colour=blue", "colour=green", "colour=red", "colour=(missing)"),
    *("zip=00001", "zip=01234", "zip=12345"),
]
LIBRARIES = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same(library):
    encoder = TableEncoder().fit(LIBRARIES[library](messy()))
    assert list(encoder.get_feature_names_out()) == NAMES
    expected = TableEncoder().fit_transform(messy())
    for other in LIBRARIES.values():
        np.testing.assert_array_equal(encoder.transform(other(messy())), expected)


def test_the_numbers():
    out = TableEncoder().set_output(transform="pandas").fit_transform(messy())
    table = messy()
    assert out["income"].tolist() == [float(v.replace(",", ".")) for v in table["income"]]
    assert out["member"].tolist()[:4] == [1, 0, 1, 0]
    assert out.loc[3, "size (missing)"] == 1
    assert out.loc[3, "size"] == pytest.approx(
        np.median([float(v) for k, v in enumerate(table["size"]) if k != 3])
    )
    assert out.loc[0, "joined"] == (dt.date(2020, 1, 1) - dt.date(1970, 1, 1)).days
    assert out.loc[
        4, ["colour=blue", "colour=green", "colour=red", "colour=(missing)"]
    ].tolist() == [
        *(0, 0, 0),
        1,
    ]


def test_report():
    assert TableEncoder().fit(messy()).report() == [
        "numbers: size (1 gap), income (decimal comma)",
        "categories, one-hot: colour (3 levels, 10 gaps), zip (3 levels)",
        "true or false, as 1 or 0: member",
        "dates, as days: joined (day.month.year)",
        "left out: id (tells rows apart), country (constant; always 'DE')",
    ]


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(output, kind):
    out = TableEncoder().set_output(transform=output).fit_transform(messy())
    assert isinstance(out, kind)
    assert list(out.columns) == NAMES


def test_in_a_pipeline():
    y = np.array(["a", "b", "c"] * 20)
    pipe = make_pipeline(TableEncoder(), DecisionTreeClassifier(random_state=0)).fit(messy(), y)
    assert pipe.score(messy(), y) > 0.9  # the zip codes tell the classes
    assert list(pipe[:-1].get_feature_names_out()) == NAMES
    assert clone(pipe).fit(messy(), y).predict(messy()).shape == (60,)


class TestNewRows:
    encoder = TableEncoder().fit(messy())

    def test_columns_in_another_order_more_and_fewer(self):
        table = messy()
        expected = self.encoder.transform(table)
        other = table[table.columns[::-1]].drop(columns=["id", "country"]).assign(more=1)
        np.testing.assert_array_equal(self.encoder.transform(other), expected)

    def test_missing_columns_are_named_together(self):
        table = messy().drop(columns="zip").rename(columns={"size": "sizes"})
        with pytest.raises(TableError, match=r"'size', 'zip' are missing.*did you mean 'sizes'"):
            self.encoder.transform(table)

    def test_all_problems_are_reported_together(self):
        table = messy().assign(size="big", joined="2020-13-01").drop(columns="zip")
        with pytest.raises(TableError, match="3 problems") as caught:
            self.encoder.transform(table)
        for part in ("'zip' is missing", "'size' holds 60 values", "'joined' holds 60 values"):
            assert part in str(caught.value)

    def test_unknown_levels_and_new_gaps_warn(self):
        table = messy()
        table.loc[:1, "zip"] = ["99999", ""]
        with pytest.warns(UserWarning, match=r"'zip' has levels such as '99999' in 1 row"):
            out = self.encoder.transform(table)
        np.testing.assert_allclose(out[:2, -3:], 1 / 3)

    def test_unknown_levels_refused(self):
        encoder = TableEncoder(unknown="error").fit(messy())
        with pytest.raises(TableError, match=r"'zip' has unknown levels such as '9'"):
            encoder.transform(messy().assign(zip="9"))
        with pytest.raises(TableError, match=r"'member' holds 60 values other than true or false"):
            encoder.transform(messy().assign(member="perhaps"))

    def test_a_decimal_sign_of_their_own(self):
        table = messy()
        expected = self.encoder.transform(table)
        table["income"] = table["income"].str.replace(",", ".")
        with pytest.raises(TableError, match="other than numbers with a decimal comma"):
            self.encoder.transform(table)
        np.testing.assert_array_equal(self.encoder.encode(table, decimal=".")[0], expected)

    def test_names_are_needed_where_fit_saw_them(self):
        with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 8"):
            self.encoder.transform(np.zeros((3, 2)))

    def test_an_empty_table(self):
        with pytest.raises(ValueError, match="0 sample"):
            self.encoder.transform(messy()[:0])


class TestFit:
    def test_all_problems_are_reported_together(self):
        table = pd.DataFrame(
            {"a": [*range(30), "x"], "b": [[1]] * 31, "c": [np.inf] + [1.0] * 30, "d": 1}
        )
        with pytest.raises(TableError, match=r"X has 5 problems") as caught:
            TableEncoder(drop=["e"], keep_id=["dd"]).fit(table)
        for part in ("'e'", "'dd'; did you mean 'd'", "'a' holds", "'b' holds nested", "infinity"):
            assert part in str(caught.value)

    def test_names_that_occur_twice(self):
        table = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
        with pytest.raises(TableError, match="two columns are named 'a'"):
            TableEncoder().fit(table)

    def test_text_of_many_columns_is_taken_apart_together(self):
        """Calls of Python functions, for every column: few, and the same for more columns."""
        import cProfile
        import pstats

        def calls(n):
            words = np.array([["red", "2,5"], ["blue", "3"], ["red", "?"], ["blue", "4"]])
            table = pd.DataFrame(np.tile(words, n // 2), columns=[f"c{k}" for k in range(n)])
            profile = cProfile.Profile()
            encoder = TableEncoder()
            coded = profile.runcall(encoder.fit_transform, table)
            assert coded.shape == (4, n // 2 * 3)
            return pstats.Stats(profile).total_calls / n

        calls(2)
        few, many = calls(1000), calls(4000)
        assert many < 1.1 * few
        assert many < 700  # 1200 one by one, with two passes

    def test_fit_transform_is_both(self):
        for table in (messy(), messy()[["size"]], pd.DataFrame({"k": [1.0, 1.0, 1.0]})):
            one, two = TableEncoder(), TableEncoder()
            np.testing.assert_array_equal(one.fit_transform(table), two.fit(table).transform(table))
            assert one.report() == two.report()

    def test_ten_thousand_columns(self):
        n = 10_000
        table = pd.DataFrame(
            np.arange(3 * n).reshape(3, n) % 7, columns=[f"c{k}" for k in range(n)]
        )
        names = [f"c{k}" for k in range(0, n, 2)]
        encoder = TableEncoder(numeric=names).fit(table)
        assert len(encoder.plans_) == n
        assert encoder.transform(table).shape == (3, n)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"missing": "fill"}, "missing must be one of 'indicator', 'error'"),
            ({"missing": "drop"}, "one of 'indicator', 'error'.*drop them from X and y before fit"),
            ({"unknown": 3}, "unknown must be one of"),
            ({"decimal": ";"}, "decimal must be one of"),
            ({"min_count": 0}, "min_count must be a positive integer"),
            ({"max_levels": 1.5}, "max_levels must be a positive integer"),
            ({"drop": "size"}, "drop must be a list of column names; got 'size'"),
            ({"numeric": ["size"], "categorical": ["size"]}, "both name column 'size'"),
        ],
    )
    def test_impossible_parameters(self, changes, message):
        with pytest.raises(ValueError, match=message):
            TableEncoder(**changes).fit(messy())

    def test_columns_of_an_array_by_number(self):
        X = np.array([[1, 5], [2, 6], [3, 5], [1, 6]] * 5)
        encoder = TableEncoder(categorical=[0]).fit(X)
        assert list(encoder.get_feature_names_out()) == ["x0=1", "x0=2", "x0=3", "x1"]

    def test_names_that_would_collide(self):
        table = pd.DataFrame({"c": ["a", "b", "d"] * 5, "c=a": np.linspace(0, 1, 15)})
        names = list(TableEncoder().fit(table).get_feature_names_out())
        assert len(set(names)) == len(names) == 4

    def test_names_that_are_no_text(self):
        table = pd.DataFrame({0: [1.5, 2.5, 4.5], 1: ["a", "b", "a"]})
        assert TableEncoder().fit_transform(table).shape == (3, 2)


class TestFiles:
    def test_round_trip(self):
        encoder = TableEncoder(drop=("id",)).fit(messy())
        again = encoder_from_json(encoder_to_json(encoder))
        np.testing.assert_array_equal(again.transform(messy()), encoder.transform(messy()))
        assert again.report() == encoder.report()
        assert encoder_to_json(again) == encoder_to_json(encoder)

    def test_numbers_alone(self):
        encoder = encoder_of_numbers(["a", "b"])
        assert encoder.is_trivial
        out, _ = encoder.encode(pd.DataFrame({"b": ["1", "2"], "a": ["3", "4"]}))
        assert out.tolist() == [[3, 1], [4, 2]]
        with pytest.raises(TableError, match="'a' has 1 gap, the first in row 12"):
            encoder.encode(pd.DataFrame({"b": ["1", "2"], "a": ["3", ""]}), before=10)

    def test_what_is_trivial(self):
        plain = pd.DataFrame({"a": [1.5, 2.5, 1.0], "b": [2, 3, 5]})
        assert TableEncoder().fit(plain).is_trivial
        assert TableEncoder(drop=["a"]).fit(plain).is_trivial
        assert not TableEncoder().fit(messy()).is_trivial


@pytest.mark.parametrize("kind", ["int64", "float64", "gap", "Int64", "text", "twice"])
def test_row_numbers_do_not_leak_into_folds(kind):
    """Classes in blocks, as files have them: with its number, a row is classified at once."""
    from sklearn.model_selection import cross_val_score

    n = 120
    serial = pd.Series(np.arange(1.0, n + 1))
    if kind == "twice":
        serial[40] = 40.0
    elif kind != "float64" and kind != "int64":
        serial[40] = np.nan
    if kind == "text":
        serial = serial.map(lambda value: "" if np.isnan(value) else f"{value:g}")
    serial = serial.astype(kind) if kind in ("int64", "Int64") else serial
    table = pd.DataFrame({"serial": serial, "noise": np.arange(n) * 7919 % 101 / 3})
    y = np.repeat(["a", "b", "c"], n // 3)
    for folds in (3, 5):
        pipe = make_pipeline(TableEncoder(), DecisionTreeClassifier(random_state=0))
        assert cross_val_score(pipe, table, y, cv=folds).mean() < 0.7
    encoder = TableEncoder().fit(table[::2])
    assert encoder.ids_ == ["serial"]
    assert encoder.report() == [
        "numbers: noise",
        "left out: serial (tells rows apart; row numbers)",
        "if they are no row numbers: --keep-id 'serial'",
    ]
    assert TableEncoder(keep_id=["serial"]).fit(table).ids_ == []


def test_ids_as_told():
    encoder = TableEncoder(ids=["colour"]).fit(messy())
    assert "colour" in encoder.ids_
    with pytest.raises(ValueError, match="ids and keep_id both name column 'colour'"):
        TableEncoder(ids=["colour"], keep_id=["colour"]).fit(messy())
    with pytest.raises(TableError, match="there is no column 'colours'; did you mean 'colour'"):
        TableEncoder(ids=["colours"]).fit(messy())


def test_units_and_thousands_have_a_word():
    table = pd.DataFrame({"price": ["$1,250.50", "$7", "$19"], "rate": ["5.4%", "3%", "2%"]})
    encoder = TableEncoder().fit(table)
    assert encoder.report()[0] == "numbers: price (commas between thousands, in $), rate (in %)"
    assert encoder.transform(table).tolist() == [[1250.5, 5.4], [7, 3], [19, 2]]
    new = pd.DataFrame({"price": ["$1.250,50"], "rate": ["5,4%"]})
    assert encoder.encode(new, decimal=",")[0].tolist() == [[1250.5, 5.4]]
    with pytest.raises(TableError, match=r"1 value other than numbers in %, the first is '0.05'"):
        encoder.transform(table.assign(rate="0.05")[:1])


def test_rows_with_gaps():
    encoder = TableEncoder().fit(messy())
    found = encoder.gap_rows(messy())
    assert found[3]
    assert found.sum() == 11


def test_nothing_warns_on_the_rows_of_the_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(messy()).transform(messy())
