"""Rows worth a look are called by the numbers and ids that they have in their table."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from pasb import ModelReport, StickLogisticClassifier, TableEncoder, datasets

from .conftest import FEW


def test_numbers_of_the_whole_table(iris):
    model, _, (X, y) = iris
    ours = model.report(X, y, compare=False).facts["rows"]
    theirs = model.report(X, y, compare=False, row_numbers=np.arange(1000, 1000 + len(y)))
    assert ours["numbered"] is False
    for kind in ("doubtful", "surprising"):
        expected = [one["row"] + 999 for one in ours[kind]]
        assert [one["row"] for one in theirs.facts["rows"][kind]] == expected
    assert "Rows have their numbers in the table they come from." in theirs.html()


def test_the_index_of_a_data_frame(iris):
    model, _, (X, y) = iris
    assert X.index[0] != 0
    rows = model.report(X, y, compare=False).facts["rows"]
    assert rows["ids"] == ["index"]
    for one in rows["doubtful"]:
        assert one["ids"] == [str(X.index[one["row"] - 1])]
    plain = model.report(X.reset_index(drop=True), y, compare=False)
    assert plain.facts["rows"]["ids"] == []
    assert "Rows count from 1 in the table of this report." in plain.html()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_ids_that_the_encoder_left_out(kind):
    data = datasets.load("iris").frame()
    y = data.pop("class")
    data["plant"] = [f"<p{k:03d}>" for k in range(len(data))]
    table = pytest.importorskip("polars").DataFrame(data) if kind == "polars" else data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = make_pipeline(TableEncoder(), StickLogisticClassifier(**FEW)).fit(table, y)
        report = ModelReport(pipe, table, y, compare=False, max_rows=50)
    rows = report.facts["rows"]
    assert rows["ids"] == ["plant"]
    for one in rows["doubtful"] + rows["surprising"]:
        assert one["ids"] == [f"<p{one['row'] - 1:03d}>"]
    assert f"&lt;p{rows['doubtful'][0]['row'] - 1:03d}&gt;" in report.html()


def test_gaps_among_ids_are_empty():
    data = pd.DataFrame({"x": np.arange(60.0) ** 1.5, "name": [f"n{k}" for k in range(60)]})
    data.loc[30, "name"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = make_pipeline(TableEncoder(), StickLogisticClassifier(**FEW))
        report = ModelReport(pipe.fit(data, np.arange(60) // 20), data)
    shown = {one["row"]: one["ids"] for one in report.facts["rows"]["doubtful"]}
    assert all(ids == [f"n{row - 1}" if row != 31 else ""] for row, ids in shown.items())


def test_wrong_numbers_are_refused(iris):
    model, _, (X, y) = iris
    with pytest.raises(ValueError, match="row_numbers must hold an integer for each of the 30"):
        model.report(X, y, row_numbers=[1, 2])
    with pytest.raises(ValueError, match="integer"):
        model.report(X, y, row_numbers=np.linspace(0, 1, len(y)))
    with pytest.raises(ValueError, match="pass X too"):
        model.report(row_numbers=[1])
