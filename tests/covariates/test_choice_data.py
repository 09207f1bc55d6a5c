"""Tables of choices, wide and long, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pasb.choice import ChoiceData


def wide():
    return pd.DataFrame(
        {
            "mode": ["bus", "car", "walk", "bus"],
            "income": [1.0, 2.0, 3.0, 4.0],
            "price_bus": [2.0, 2.1, 2.2, 2.3],
            "price_car": [5.0, 5.1, np.nan, 5.3],
            "price_walk": [0.0, 0.0, 0.0, 0.0],
            "car_av": [1, 1, 0, 1],
        }
    )


def read(frame, **other):
    settings = {
        "choice": "mode",
        "alternatives": ["walk", "car", "bus"],
        "covariates": ["price"],
        "chooser": ["income"],
        "availability": {"car": "car_av"},
    }
    return ChoiceData.from_wide(frame, **(settings | other))


def test_wide_and_long_are_the_same():
    frame = wide()
    one = read(frame)
    rows = [
        {"trip": 10 - i, "mode": mode, "price": row[f"price_{mode}"], "income": row["income"]}
        | {"chosen": row["mode"] == mode}
        for i, row in frame.iterrows()
        for mode in ("walk", "car", "bus")
        if mode != "car" or row["car_av"]
    ]
    two = ChoiceData.from_long(
        pd.DataFrame(rows),
        case="trip",
        alternative="mode",
        covariates=["price"],
        chooser=["income"],
        choice="chosen",
    )
    assert one.alternatives.tolist() == two.alternatives.tolist() == ["bus", "car", "walk"]
    assert one.choice.tolist() == two.choice.tolist() == ["bus", "car", "walk", "bus"]
    assert (one.available == two.available).all()
    pd.testing.assert_frame_equal(one.table(), two.table())
    assert one.values[0, :, 0].tolist() == [2.0, 5.0, 0.0]


def test_long_tables_may_list_what_is_not_available():
    """As those of xlogit do."""
    frame = wide()
    rows = [
        {"trip": i, "mode": mode, "price": row[f"price_{mode}"], "chosen": row["mode"] == mode}
        | {"open": mode != "car" or row["car_av"]}
        for i, row in frame.iterrows()
        for mode in ("walk", "car", "bus")
    ]
    settings = {"case": "trip", "alternative": "mode", "covariates": ["price"], "choice": "chosen"}
    data = ChoiceData.from_long(pd.DataFrame(rows), **settings, availability="open")
    pd.testing.assert_frame_equal(data.table(), read(frame, chooser=[]).table())
    assert (data.available == read(frame).available).all()
    with pytest.raises(ValueError, match="price of car is missing in choice 3"):
        ChoiceData.from_long(pd.DataFrame(rows), **settings)
    rows[0]["open"], rows[2]["open"] = False, False
    with pytest.raises(ValueError, match="choice 1 is bus, which is not available"):
        ChoiceData.from_long(pd.DataFrame(rows), **settings, availability="open")
    rows[1]["open"] = 2
    with pytest.raises(ValueError, match="'open' must hold True and False"):
        ChoiceData.from_long(pd.DataFrame(rows), **settings, availability="open")


@pytest.mark.parametrize("labels", [["bus", "car"], [1, 2]], ids=["text", "numbers"])
def test_long_tables_that_repeat_the_chosen_label(labels):
    one, two = labels
    frame = pd.DataFrame({"trip": [1, 1, 2, 2], "alt": [one, two] * 2, "took": [two] * 4})
    settings = {"case": "trip", "alternative": "alt"}
    with pytest.raises(ValueError, match=r"frame\['took'\] == frame\['alt'\]"):
        ChoiceData.from_long(frame, **settings, choice="took")
    flagged = frame.assign(took=frame["took"] == frame["alt"])
    data = ChoiceData.from_long(flagged, **settings, choice="took")
    assert data.choice.tolist() == [two, two]


@pytest.mark.parametrize("choice", ["mode", None])
def test_nothing_available(choice):
    frame = wide().assign(bus_av=[1, 1, 1, 0], car_av=[1, 1, 0, 0], walk_av=[1, 1, 1, 0])
    with pytest.raises(ValueError, match=r"nothing is available in choice 4 \(1 of 4"):
        read(frame, choice=choice, availability="{alternative}_av")


def test_columns_may_be_listed():
    frame = wide().rename(columns={"price_bus": "fare"})
    own = {"price": {"bus": "fare", "car": "price_car", "walk": 0}}  # walking is free
    data = read(frame, covariates=own)
    assert (data.values[:, 2, 0] == 0).all()
    pd.testing.assert_frame_equal(data.table(), read(wide()).table())


def test_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(wide())
    pd.testing.assert_frame_equal(read(frame).table(), read(wide()).table())


def test_other_versions():
    data = read(wide())
    raised = data.changed("price", "bus", factor=2, add=1)
    assert raised.values[:, 0, 0] == pytest.approx([5.0, 5.2, 5.4, 5.6])
    assert data.values[0, 0, 0] == 2.0
    assert data.changed("price", value=1.0).values[0].tolist() == [[1.0]] * 3
    assert not data.without("walk").available[:, 2].any()
    assert len(data.take([0, 2])) == 2
    with pytest.raises(ValueError, match="'boat' is not among"):
        data.without("boat")
    with pytest.raises(ValueError, match="'time' is no covariate of alternatives"):
        data.changed("time")
    with pytest.raises(ValueError, match="choice 1 has nothing left"):
        data.without("bus", "car", "walk")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(car_av=1), "price of car is missing in choice 3"),
        (lambda f: f.assign(income=[1, 2, np.nan, 4]), "income is missing in choice 3"),
        (lambda f: f.drop(columns="price_bus"), "no column 'price_bus'"),
        (lambda f: f.assign(price_bus="x"), "'price_bus' must hold numbers; row 1 has 'x'"),
        (
            lambda f: f.assign(income=["low", "high", "low", "low"]),
            "'income' must hold numbers; row 1 has 'low'.*TableEncoder",
        ),
        (lambda f: f.assign(mode=["bus", None, "car", "bus"]), "'mode' has no label in row 2"),
        (
            lambda f: f.assign(price_car=["5", "5", None, [1]]),
            r"'price_car' must hold numbers; row 4 has \[1\]",
        ),
        (lambda f: f.assign(car_av=2), "'car_av' must hold True and False"),
        (lambda f: f.assign(mode=["bus", "car", "boat", "bus"]), "choice 3 is boat"),
    ],
)
def test_errors_name_choice_and_column(change, message):
    with pytest.raises(ValueError, match=message):
        read(change(wide()))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"availability": {"tram": "car_av"}},
            "availability: 'tram' is not among the alternatives: bus, car, walk",
        ),
        ({"availability": "car_av"}, "availability must hold {alternative}"),
        ({"availability": "{mode}_{alternative}"}, "{alternative} and nothing else in braces"),
        (
            {"covariates": {"price": {"tram": "price_car", "bus": "price_bus"}}},
            "'price'.: 'tram' is not among the alternatives: bus, car, walk",
        ),
        (
            {"covariates": {"price": {"bus": "price_bus", "car": "price_car"}}},
            "'price'.: walk has no column",
        ),
        ({"alternatives": ["bus", "car", "walk", "bus"]}, "alternatives: bus is listed twice"),
        (
            {"covariates": ["price", "time"], "pattern": "price_{alternative}"},
            "pattern must hold {covariate}",
        ),
    ],
)
def test_names_that_fit_nothing_are_refused(other, message):
    with pytest.raises(ValueError, match=message):
        read(wide(), **other)


def test_alternatives_are_a_list():
    with pytest.raises(TypeError, match="alternatives must be a list"):
        read(wide(), alternatives="bus")


def test_one_name_is_a_list_of_one():
    data = read(wide(), covariates="price", chooser="income")
    pd.testing.assert_frame_equal(data.table(), read(wide()).table())
    rows = pd.DataFrame({"trip": [1, 1], "mode": ["bus", "car"], "price": [2, 5], "age": [4, 4]})
    long = ChoiceData.from_long(
        rows, case="trip", alternative="mode", covariates="price", chooser="age"
    )
    assert (long.covariates, long.chooser_names) == (["price"], ["age"])


@pytest.mark.parametrize("nothing", [None, pd.NA, float("nan")], ids=str)
def test_columns_of_what_is_not_available_may_be_empty(nothing):
    frame = wide().assign(price_car=pd.Series([5.0, 5.1, nothing, 5.3], dtype=object))
    assert np.isnan(read(frame).values[2, 1, 0])
    pd.testing.assert_frame_equal(read(frame).table(), read(wide()).table())
    with pytest.raises(ValueError, match="price of car is missing in choice 3"):
        read(frame, availability=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(chosen=0), "trip 1 has 0 chosen"),
        (lambda f: pd.concat([f, f[:1]]), "trip 1 has two rows for bus"),
        (lambda f: f.assign(income=[1, 2, 1, 1]), "income differs between the rows of trip 1"),
    ],
)
def test_errors_of_long_tables(change, message):
    frame = pd.DataFrame(
        {
            "trip": [1, 1, 2, 2],
            "mode": ["bus", "car", "bus", "car"],
            "price": [1.0, 2.0, 3.0, 4.0],
            "income": [1, 1, 1, 1],
            "chosen": [1, 0, 0, 1],
        }
    )
    names = {"case": "trip", "alternative": "mode", "covariates": ["price"]}
    with pytest.raises(ValueError, match=message):
        ChoiceData.from_long(change(frame), **names, chooser=["income"], choice="chosen")


def test_frames_only():
    with pytest.raises(TypeError, match="must be a data frame"):
        read(np.zeros((2, 2)))


def test_what_was_chosen_must_be_available():
    """The first choice that is not is named."""
    frame = pd.DataFrame({"mode": ["bus", "car", "car"], "bus_av": [1, 1, 1], "car_av": [1, 1, 0]})
    names, columns = {"alternatives": ["bus", "car"]}, {"bus": "bus_av", "car": "car_av"}
    whole = ChoiceData.from_wide(frame, **names, choice="mode")
    some = ChoiceData.from_wide(frame, **names, availability=columns)
    message = r"choice 3 is car, which is not available.*1 of 3 choices"
    with pytest.raises(ValueError, match=message):
        ChoiceData.from_wide(frame, **names, choice="mode", availability=columns)
    with pytest.raises(ValueError, match=message):
        replace(whole, available=some.available)
