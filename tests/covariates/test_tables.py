"""What tables have in common: formats by ending, and problems that are reported together."""

from __future__ import annotations

import pytest

from pasb.covariates.tables import (
    Problems,
    TableError,
    ending,
    listed,
    nearest,
    need_columns,
    twice,
)


@pytest.mark.parametrize(
    ("name", "expected"), [("a.csv", ".csv"), ("a.CSV.gz", ".csv.gz"), ("b.pq", ".pq")]
)
def test_ending(tmp_path, name, expected):
    assert ending(tmp_path / name) == expected


def test_unknown_ending(tmp_path):
    with pytest.raises(TableError, match="must end in"):
        ending(tmp_path / "a.txt")


class TestProblems:
    def test_none(self):
        Problems("t.csv").raise_any()

    def test_one_takes_one_line(self):
        problems = Problems("t.csv")
        problems.add("it is empty")
        with pytest.raises(TableError, match=r"^t\.csv: it is empty$") as caught:
            problems.raise_any()
        assert caught.value.found == ("it is empty",)

    def test_several_are_reported_together(self):
        problems = Problems("t.csv")
        for k in range(25):
            problems.add(f"number {k}")
        with pytest.raises(
            TableError, match=r"t\.csv has 25 problems:\n- number 0\n- number 1"
        ) as e:
            problems.raise_any()
        assert str(e.value).endswith("- number 19\n- and 5 more")

    def test_those_of_another_error_join(self):
        problems = Problems("t.csv")
        problems.add("first")
        problems.add_of(TableError("second"))
        with pytest.raises(TableError, match=r"- first\n- second"):
            problems.raise_any()


def test_names_of_many_columns_are_compared_in_linear_time():
    """A comparison of every pair would take 1e10 steps."""
    names = [f"c{k}" for k in range(100_000)]
    assert twice(names) == []
    assert twice([*names, "c7", "c7"]) == ["c7"]
    problems = Problems("X")
    assert need_columns(names, names[::2], problems) == names[::2]
    assert not problems.found


def test_missing_columns_suggest_the_nearest():
    problems = Problems("X")
    need_columns(["size", "weight"], ["siez", "colour"], problems)
    assert problems.found == [
        "there is no column 'siez'; did you mean 'size'?",
        "there is no column 'colour'; there are size, weight",
    ]
    assert nearest("zzz", ["size"]) == ""
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
