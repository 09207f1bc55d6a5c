"""Plans code new rows as they coded the old ones, and survive JSON; nothing else does."""

from __future__ import annotations

import json

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from pasb.covariates.cells import cells_of
from pasb.covariates.column_plans import (
    CategoryPlan,
    LeftOut,
    NumberPlan,
    from_json,
    same_number,
    to_json,
)


def coded(plan, values, before=0):
    return plan.coded(cells_of(nw.from_native(pd.Series(values), series_only=True)), before)


NUMBER = NumberPlan("x", "point", 2.5, indicator=True)
PLAIN = NumberPlan("x", "point", 2.5)
THREE = CategoryPlan("c", ("a", "b", "d"), (0.5, 0.25, 0.25))
TWO = CategoryPlan("c", ("a", "b"), (0.75, 0.25))
POOLED = CategoryPlan("c", ("a", "b"), (0.5, 0.25, 0.25), pooled=3)
GAPS = CategoryPlan("c", ("a", "b"), (0.5, 0.25, 0.25), missing=True)


class TestNumbers:
    def test_gaps_are_filled_and_marked(self):
        assert coded(NUMBER, ["1", "", "3"]).columns.tolist() == [[1, 0], [2.5, 1], [3, 0]]
        assert NUMBER.outputs == ["x", "x (missing)"]

    def test_gaps_that_training_rows_had_not(self):
        found = coded(PLAIN, ["1", "?"])
        assert found.columns.tolist() == [[1], [2.5]]
        assert found.assumed[0].words() == (
            "column 'x' has gaps in 1 row, and the training rows had none: filled with the "
            "median, 2.5"
        )

    def test_dates_that_fill_gaps_are_shown_as_dates(self):
        for fill, shown in ((18390.5, "2020-05-08"), (-1.0, "1969-12-31"), (1e300, "1e+300")):
            found = coded(NumberPlan("x", "%d.%m.%Y", fill), ["1.2.2020", ""])
            assert found.assumed[0].meaning == f"filled with the median, {shown}"

    def test_gaps_refused(self):
        plan = NumberPlan("x", "point", 0.0, refuse_gaps=True)
        assert coded(plan, [1, None], 10).problem == "column 'x' has 1 gap, the first in row 12"

    def test_another_type(self):
        assert "holds timestamps" in coded(PLAIN, pd.date_range("2020", periods=2)).problem
        assert "holds nested values" in coded(PLAIN, [[1], [2]]).problem
        date = NumberPlan("x", "%d.%m.%Y", 0.0)
        assert "not dates (day.month.year)" in coded(date, [1, 2]).problem

    def test_words_that_are_no_numbers_and_their_row_in_the_file(self):
        problem = coded(PLAIN, ["1", "two", "3"], before=100).problem
        assert problem == (
            "column 'x' holds 1 value other than numbers, the first is 'two' in row 102"
        )

    def test_infinity(self):
        assert "infinity in 1 row, the first is row 2" in coded(PLAIN, [1.0, np.inf]).problem

    def test_an_unknown_truth_is_a_gap(self):
        """It passed without a word where the training rows had gaps, and for a gap elsewhere."""
        plan = NumberPlan("x", "truth", 0.0, indicator=True)
        found = coded(plan, ["yes", "perhaps", "NO"])
        assert found.columns.tolist() == [[1, 0], [0, 1], [0, 0]]
        had_none = "in 1 row, and the training rows had none: "
        assert [one.words() for one in found.assumed] == [
            f"column 'x' has values such as 'perhaps' {had_none}they count as gaps"
        ]
        found = coded(NumberPlan("x", "truth", 0.5), ["yes", "perhaps", ""])
        assert [one.words() for one in found.assumed] == [
            f"column 'x' has values such as 'perhaps' {had_none}they count as gaps, filled with "
            "the median, 0.5",
            f"column 'x' has gaps {had_none}filled with the median, 0.5",
        ]
        assert coded(plan, [1.0, 3.0]).assumed[0].what == "values such as '3'"

    @pytest.mark.parametrize("refused", ["refuse_unknown", "refuse_gaps"])
    def test_an_unknown_truth_refused(self, refused):
        plan = NumberPlan("x", "truth", 0.0, indicator=True, **{refused: True})
        message = "holds 1 value other than true or false, the first is '{}' in row 2"
        assert message.format("perhaps") in coded(plan, ["yes", "perhaps", "no"]).problem
        assert message.format("3") in coded(plan, [1.0, 3.0]).problem


class TestCategories:
    def test_one_hot(self):
        assert coded(THREE, ["b", "a", "d"]).columns.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
        assert THREE.outputs == ["c=a", "c=b", "c=d"]

    def test_two_levels_take_one_column(self):
        assert coded(TWO, ["b", " a"]).columns.tolist() == [[1], [0]]
        assert TWO.outputs == ["c=b"]

    def test_unknown_levels_count_as_an_average_row(self):
        found = coded(THREE, ["z", "a", "z"])
        assert found.columns[0].tolist() == [0.5, 0.25, 0.25]
        assert found.assumed[0].words() == (
            "column 'c' has levels such as 'z' in 2 rows, and the training rows had none: they "
            "count as an average row"
        )
        assert coded(TWO, ["z"]).columns.tolist() == [[0.25]]

    def test_unknown_levels_join_the_pooled_ones(self):
        found = coded(POOLED, ["z", "a"])
        assert found.columns.tolist() == [[0, 0, 1], [1, 0, 0]]
        assert found.assumed == ()
        assert POOLED.outputs[-1] == "c=(other)"

    def test_unknown_levels_refused(self):
        plan = CategoryPlan("c", ("a", "b"), (0.5, 0.5), refuse_unknown=True)
        assert (
            "unknown levels such as 'z' in 1 row; known are 'a', 'b'" in coded(plan, ["z"]).problem
        )

    def test_gaps(self):
        assert coded(GAPS, [None, "a"]).columns.tolist() == [[0, 0, 1], [1, 0, 0]]
        found = coded(THREE, [None, "a"])
        assert found.columns[0].tolist() == [0.5, 0.25, 0.25]
        assert found.assumed[0].what == "gaps"

    def test_numbers_are_looked_up_as_codes(self):
        plan = CategoryPlan("c", ("1", "2", "3"), (0.4, 0.3, 0.3))
        for values in ([1, 2], [1.0, 2.0], ["1", "2.0"], pd.array([1, 2], dtype="Int8")):
            assert coded(plan, values).columns.tolist() == [[1, 0, 0], [0, 1, 0]]

    def test_dates_are_no_categories(self):
        assert "holds timestamps" in coded(THREE, pd.date_range("2020", periods=2)).problem


def test_spellings_of_a_number():
    words = ["1.0", "-2.00", "1", "01", "1.5", "a.0", "1."]
    assert [same_number(word) for word in words] == ["1", "-2", "1", "01", "1.5", "a.0", "1."]


@pytest.mark.parametrize(
    "plan", [NUMBER, PLAIN, THREE, POOLED, GAPS, LeftOut("x", "id")], ids=lambda p: p.kind
)
def test_json(plan):
    assert from_json(json.loads(json.dumps(to_json(plan)))) == plan


@pytest.mark.parametrize(
    ("plan", "changes"),
    [
        (NUMBER, {"kind": "other"}),
        (NUMBER, {"kind": ["number"]}),
        (NUMBER, {"reading": "%c"}),
        (NUMBER, {"reading": ["point"]}),
        (NUMBER, {"fill": "1"}),
        (NUMBER, {"fill": True}),
        (NUMBER, {"fill": 1e999}),
        (NUMBER, {"indicator": 1}),
        (NUMBER, {"refuse_unknown": 1}),
        (NUMBER, {"name": 3}),
        (NUMBER, {"more": 3}),
        (THREE, {"levels": ["a", "a", "b"]}),
        (THREE, {"levels": [1, 2, 3]}),
        (THREE, {"levels": "abd"}),
        (THREE, {"levels": []}),
        (THREE, {"levels": [["a"], "b", "c"]}),
        (THREE, {"shares": [0.5, 0.5]}),
        (THREE, {"shares": [0.5, 0.25, 2]}),
        (THREE, {"shares": [0.5, 0.25, "x"]}),
        (THREE, {"pooled": -1}),
        (THREE, {"pooled": True}),
        (THREE, {"missing": None}),
        (LeftOut("x", "id"), {"reason": "secret"}),
        (LeftOut("x", "id"), {"reason": {}}),
    ],
)
def test_json_that_is_no_plan(plan, changes):
    stored = json.loads(json.dumps(to_json(plan)))
    from_json(stored)  # as it was, it is a plan
    with pytest.raises((ValueError, TypeError)):
        from_json({**stored, **changes})


def test_json_from_before_there_were_refused_truths():
    stored = to_json(PLAIN)
    del stored["refuse_unknown"]
    assert from_json(stored) == PLAIN
    del stored["refuse_gaps"]
    with pytest.raises(ValueError, match="impossible way"):
        from_json(stored)


@pytest.mark.parametrize("stored", [None, 3, [], {}, "number"])
def test_json_of_another_shape(stored):
    with pytest.raises((ValueError, TypeError)):
        from_json(stored)
