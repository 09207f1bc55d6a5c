"""What becomes of columns, by their cells and names."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from pasb import datasets
from pasb.covariates.cells import cells_of
from pasb.covariates.column_planning import ROW_NUMBERS, Choices, Decision, decide
from pasb.covariates.column_plans import CategoryPlan, LeftOut, NumberPlan

N = 40
BUNDLED = ("iris", "wine", "glass", "vehicle", "segment", "satimage")


def decided(values, name="x", **choices):
    column = nw.from_native(pd.Series(values), series_only=True)
    return decide(name, cells_of(column), Choices(**choices))


def plan(values, name="x", **choices):
    found = decided(values, name, **choices)
    assert not found.problem
    return found.plan


def text(values):
    return [str(value) for value in values]


class TestNumbers:
    def test_in_text(self):
        assert plan(["1.5", "2", "x?"[1:]] * 5) == NumberPlan("x", "point", 1.75, True)

    def test_decimal_commas_are_seen(self):
        assert plan(["1,5", "2,25", "3"]).reading == "comma"
        assert plan(["1,5", "2,25"], decimal=",").reading == "comma"
        assert plan(["1.5", "2.25"]).reading == "point"
        assert isinstance(plan(["1,5", "2,25"] * 9, decimal="."), CategoryPlan)

    def test_commas_that_may_be_thousands_are_asked_about(self):
        assert "decimal comma, or in thousands?" in decided(["1,234", "2,500"]).problem
        assert "(--decimal .)" in decided(["1,234", "2,500"]).problem
        assert plan(["1,234", "2,500"], decimal=",").fill == pytest.approx(1.867)
        for choices in ({}, {"numeric": {"x"}}):
            assert plan(["1,234", "2,500", "17"], decimal=".", **choices).fill == 1234
        assert plan(["0,346", "1,345"] * 9).fill == pytest.approx(0.8455)

    def test_one_wrong_sign_does_not_change_the_others(self):
        """All others lost their point: 6.912 was read as 6912, and 0.346 as 346."""
        for numbers in (text(np.arange(30) + 0.346), text(np.arange(300, 330) / 1000)):
            problem = decided([*numbers, "1,5"]).problem
            assert "but for 1 value: the first is '1,5' in row 31" in problem
        numbers = [*(f"{k},5" for k in range(30)), "1.5"]
        assert "but for 1 value: the first is '1.5' in row 31" in decided(numbers).problem

    def test_two_signs_are_asked_about(self):
        problem = decided(["12.346", "850", "1,5"] * 9).problem
        assert "the one in '1,5' or the one in '12.346'?" in problem
        assert plan(["12.346", "850", "1,5"] * 9, decimal=",").fill == 850
        thousands = [*(f"{k}.250" for k in range(1, 11)), "850"]
        assert "is '1.250' a number with a decimal point" in decided(thousands).problem
        assert plan(thousands, decimal=",").fill == 5250
        assert plan(thousands, decimal=".").fill == 6.25

    def test_spaces_and_apostrophes_between_thousands(self):
        assert plan(["1 234,5", "7,25", "12 345,0"]).fill == 1234.5
        assert plan(["1'234.5", "7.25", "\u221212'345"]).fill == 7.25

    def test_units(self):
        assert plan([f"${k / 4}" for k in range(N)]) == NumberPlan("x", "point $", 4.875)
        assert plan([f"{k / 4} %" for k in range(N)]).reading == "point %"
        problem = decided([*(f"{k / 4} %" for k in range(N)), "0.2"]).problem
        assert "but for 1 value: the first is '0.2' in row 41" in problem

    def test_a_mistake_among_numbers_is_named(self):
        problem = decided([*text(range(30)), "3o"]).problem
        assert problem.startswith("column 'x' holds numbers, but for 1 value: the first is '3o'")
        assert "row 31" in problem
        assert "--categorical 'x'" in problem

    def test_half_of_them_are_categories(self):
        assert isinstance(plan(["1", "2", "a", "b"] * 5), CategoryPlan)

    def test_numeric_as_told(self):
        assert "is to be numeric, but 2 values" in decided(["1", "a", "b"], numeric={"x"}).problem
        assert plan(["01", "02"], numeric={"x"}).reading == "point"

    def test_infinity(self):
        assert "infinity in 1 row, the first is row 2" in decided([1.0, np.inf, 2.0]).problem

    def test_dashes_are_gaps_of_numbers_and_levels_of_categories(self):
        assert plan(["1", "-", "3"] * 4).indicator
        assert plan(["+", "-"] * 10).levels == ("+", "-")


class TestTruths:
    @pytest.mark.parametrize(
        "values", [["Yes", "no"], ["TRUE", "False"], ["t", "F"], ["ja", "Nein"]]
    )
    def test_in_text_of_any_case(self, values):
        assert plan(values * 5).reading == "truth"

    def test_of_their_type(self):
        assert plan([True, False, True]).reading == "truth"

    @pytest.mark.parametrize("values", [["m", "f"], ["yes", "maybe"]])
    def test_not_all_pairs_are_truths(self, values):
        assert isinstance(plan(values * 5), CategoryPlan)

    def test_zero_and_one_stay_numbers(self):
        assert plan(["0", "1"] * 5).reading == "point"


class TestDates:
    def test_in_text(self):
        found = plan([f"{1 + k % 28}.{1 + k % 12}.2020" for k in range(N)])
        assert found.reading == "%d.%m.%Y"

    @pytest.mark.parametrize(
        ("words", "reading", "first"),
        [
            (["3/4/2021 3:15 PM", "12/31/2021 12:05 am"], "%m/%d/%Y %I:%M %p", 18690.635),
            (["31/12/2021 11:05 PM", "3/4/2021 3:15 pm"], "%d/%m/%Y %I:%M %p", 18992.962),
            (["3/4/2021 15:15:36", "12/31/2021 0:00:00"], "%m/%d/%Y %H:%M:%S", 18690.636),
            (["3/4/2021 3:15:36 PM"], "%m/%d/%Y %I:%M:%S %p", 18690.636),
            (["2021/03/04 15:15", "2021/12/31 00:00"], "%Y/%m/%d %H:%M", 18690.635),
            (["2021-03", "2021-12", "2022-01"], "%Y-%m", 18687),
            (["15:15", "3:06", "23:59"], "clock", 15.25),
            (["3:15 PM", "12:00 am", "11:59 p.m."], "clock", 15.25),
            (["07:30:36", "-", "23:00:00"], "clock", 7.51),
        ],
    )
    def test_of_many_forms(self, words, reading, first):
        found = plan([*words * 5, None])
        assert found.reading == reading
        column = nw.from_native(pd.Series([words[0]]), series_only=True)
        assert found.coded(cells_of(column)).columns[0, 0] == pytest.approx(first, abs=0.001)

    @pytest.mark.parametrize(
        "words",
        [
            ["2009-10", "2010-11", "2011-12"],  # seasons
            ["2009-10", "2012-13"],
            ["2021-03", "2021-00"],
            ["1021-03", "4711-12"],
            ["3:1", "10:2"],
            ["75:30", "80:15"],
            ["13:00 PM", "14:00 PM"],
        ],
    )
    def test_what_only_looks_like_them_is_text(self, words):
        assert isinstance(plan(words * 5), CategoryPlan)

    def test_a_mistake_among_times_is_named(self):
        problem = decided([*(f"{k % 24}:{k % 60:02d}" for k in range(N)), "25:10"]).problem
        assert "holds times of the day, but for 1 value: the first is '25:10' in row 41" in problem

    def test_a_mistake_among_dates_is_named(self):
        values = [f"2020-01-{1 + k % 28:02d}" for k in range(N)] + ["2020-02-31"]
        assert "holds dates, but for 1 value: the first is '2020-02-31' in row 41" in (
            decided(values).problem
        )


class TestCodes:
    def test_leading_zeros(self):
        assert plan(["01", "02", "10"] * 5).levels == ("01", "02", "10")

    @pytest.mark.parametrize("name", ["code", "zip", "area_code", "PLZ"])
    def test_by_name(self, name):
        assert plan([3, 10, 3, 10] * 5, name).levels == ("3", "10")

    def test_integers_are_numbers_unless_told_otherwise(self):
        found = decided([1, 2, 3, 4] * 5)
        assert found.plan.reading == "point"
        assert found.remark == "few integers"
        assert plan([1, 2, 3, 4] * 5, categorical={"x"}).levels == ("1", "2", "3", "4")

    def test_spellings_of_one_code(self):
        assert plan(["1.0", "1", "2.0", "b"] * 5, categorical={"x"}).levels == ("1", "2", "b")


class TestIds:
    def test_row_numbers(self):
        assert plan(np.arange(N)) == LeftOut("x", "id")
        assert plan(text(range(1, N + 1))) == LeftOut("x", "id")
        assert isinstance(plan(np.arange(N), keep_id={"x"}), NumberPlan)

    @pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
    def test_row_numbers_of_some_rows(self, share):
        """Of a split, in order or shuffled; they would tell classes that come in blocks."""
        rng = np.random.default_rng(0)
        rows = np.sort(rng.permutation(150)[: int(150 * share)])
        assert decided(rows) == Decision(LeftOut("x", "id"), remark=ROW_NUMBERS)
        assert plan(text(rows[::-1] + 1)) == LeftOut("x", "id")
        assert plan(np.arange(31, 151)) == LeftOut("x", "id")
        assert isinstance(plan(rows, keep_id={"x"}), NumberPlan)
        assert plan(rng.permutation(800)[: int(800 * share)]) == LeftOut("x", "id")

    @pytest.mark.parametrize("n", [15, N, 200])
    def test_row_numbers_of_any_type_with_a_gap_or_a_mistake(self, n):
        """pandas makes floats of integers with a gap; these told the classes, as no integers."""
        numbers = np.arange(1.0, n + 1)
        gap = np.where(np.arange(n) == 7, np.nan, numbers)
        twice = np.where(np.arange(n) == 7, 7, numbers)
        in_text = ["" if np.isnan(value) else f"{value:g}" for value in gap]
        for values in (
            numbers,
            gap,
            twice,
            pd.array(gap, dtype="Int64"),
            pd.array(gap, dtype="Float32"),
            in_text,
            [word or "-" for word in in_text],
            np.where(np.isnan(gap), np.nan, twice),
            np.where(np.arange(n) % 3 == 0, np.nan, numbers) if n > N else gap,
        ):
            assert decided(values) == Decision(LeftOut("x", "id"), remark=ROW_NUMBERS)
            assert isinstance(plan(values, keep_id={"x"}), NumberPlan)
            assert plan(values, "id") == LeftOut("id", "id")

    def test_an_id_with_a_gap(self):
        values = np.random.default_rng(0).permutation(10 * N)[:N].astype(float)
        values[3] = np.nan
        assert plan(values, "id") == LeftOut("id", "id")
        assert plan([31.0, 72.0, np.nan, 15.0], "id") == LeftOut("id", "id")
        assert isinstance(plan(values, "x"), NumberPlan)
        assert isinstance(plan(values / 7, "id"), NumberPlan)
        assert plan([np.nan, 3, 10, 3, 10], "zip").levels == ("3", "10")

    @pytest.mark.parametrize(
        "values",
        [
            pytest.param([21, 25, 26, 30, 33, 38, 41, 45, 52, 60, 71], id="few ages, sorted"),
            pytest.param(range(100, 10_000, 100), id="prices, sorted"),
            pytest.param(range(1880, 2020), id="years"),
            pytest.param(np.random.default_rng(0).permutation(40), id="ranks of few rows"),
            pytest.param(range(-50, 50), id="below zero"),
            pytest.param(np.sort(np.arange(200) % 70), id="sorted, but not different"),
            pytest.param([21, 22, 22, 25, 27, 30, 33, 36, 41, 48, 52, 58], id="ages, one twice"),
            pytest.param(np.repeat(np.arange(1990, 2020), 20), id="years, sorted"),
            pytest.param(np.arange(300) * 1.5, id="halves"),
        ],
    )
    def test_integers_that_stay_numbers(self, values):
        assert isinstance(plan(list(values)), NumberPlan)
        assert isinstance(plan([float(value) for value in values]), NumberPlan)
        assert isinstance(plan([None, *values]), NumberPlan)

    @pytest.mark.parametrize("ordered", [False, True])
    def test_measurements_in_whole_units_stay_numbers(self, ordered, seed):
        """Minutes, pieces, scores: some repeat, and more so where they are not evenly spread.

        No level: that fewer than three of a hundred repeat has a probability of 1e-8.
        """
        rng = np.random.default_rng(seed)
        for n in (100, 1000):
            for values in (
                rng.integers(1, 2 * n, n),
                rng.poisson(n, n),
                np.floor(rng.exponential(n / 2, n)),
                np.floor(np.abs(rng.normal(0, n, n))),
            ):
                shown = np.sort(values) if ordered else values
                assert isinstance(plan(shown.astype(float)), NumberPlan)

    def test_covariates_of_real_tables_stay(self):
        """In their order, sorted, and of every third row."""
        tables = [datasets.load(name).X for name in BUNDLED]
        tables += [load().data for load in (load_breast_cancer, load_diabetes, load_digits)]
        for table in tables:
            for values in np.asarray(table, dtype=float).T:
                for some in (values, np.sort(values), values[::3]):
                    assert plan(some).kind != "left out" or np.ptp(some) == 0

    def test_by_name(self):
        values = np.random.default_rng(0).permutation(10 * N)[:N]
        for name in ("id", "customer_id", "ID", "customerId", "row"):
            assert plan(values, name) == LeftOut(name, "id")
        for name in ("x", "population", "humid", "paid"):
            assert isinstance(plan(values, name), NumberPlan)

    def test_an_id_that_repeats_is_a_category(self):
        assert isinstance(plan([7, 8, 9, 10] * 10, "shop_id"), CategoryPlan)

    def test_text(self):
        assert plan([f"p{k}" for k in range(N)]) == LeftOut("x", "id")
        assert plan([f"note {k}" for k in range(N)]) == LeftOut("x", "text")
        assert plan([f"p{k // 4}" for k in range(N)]).kind == "category"
        assert plan([f"p {k // 1.5}" for k in range(N)], "bird ID") == LeftOut("bird ID", "id")

    def test_text_that_is_to_be_kept(self):
        problem = decided([f"p{k}" for k in range(N)], keep_id={"x"}).problem
        assert problem.startswith("column 'x' is to be kept, but hardly any of its 40 different")
        often = plan([f"p{max(k - 9, 0)}" for k in range(N)], keep_id={"x"})
        assert often.levels == ("p0",)
        assert often.pooled == 30

    def test_measurements_are_no_ids(self):
        assert isinstance(plan(np.linspace(0, 1, N)), NumberPlan)
        assert isinstance(plan(np.arange(1950, 1950 + N)), NumberPlan)


class TestConstants:
    @pytest.mark.parametrize("values", [["a"] * 5, [3] * 5, [1.5] * 5, ["2,5"] * 5, [True] * 5])
    def test_are_left_out(self, values):
        assert plan(values) == LeftOut("x", "constant")

    @pytest.mark.parametrize("values", [[None] * 5, ["", "NA", "?"], [np.nan] * 3])
    def test_empty_columns_are_left_out(self, values):
        assert plan(values) == LeftOut("x", "empty")


class TestCategories:
    def test_rare_levels_are_pooled(self):
        values = ["a"] * 20 + ["b"] * 15 + list("cdefg")
        found = plan(values)
        assert (found.levels, found.pooled) == (("a", "b"), 5)
        assert found.shares == (0.5, 0.375, 0.125)

    def test_one_rare_level_keeps_its_name(self):
        assert plan(["a"] * 20 + ["b"] * 15 + ["c"]).levels == ("a", "b", "c")

    def test_limits(self):
        values = [f"l{k % 10}" for k in range(N)]
        assert plan(values, max_levels=3).pooled == 7
        assert plan(values, min_count=5).kind == "left out"
        assert plan(values, min_count=1).pooled == 0

    def test_gaps_are_a_level(self):
        found = plan(["a", "b", None, "b"] * 5)
        assert found.missing
        assert found.shares == (0.25, 0.5, 0.25)

    def test_gaps_refused(self):
        assert (
            "2 gaps, the first in row 2" in decided(["a", None, "b", ""], missing="error").problem
        )
        assert "1 gap, the first in row 2" in decided(["1", "-", "2"], missing="error").problem


def test_nested_columns_are_called_so():
    assert "holds nested values" in decided([[1], [2]]).problem
    assert decided([[1], [2]], drop={"x"}).plan == LeftOut("x", "dropped")
