"""Words as numbers, truths and dates."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.covariates.readings import DATES, fitting_dates, number_reading, read_words


@pytest.mark.parametrize(
    ("word", "reading", "value"),
    [
        ("1", "point", 1),
        ("-1.5e3", "point", -1500),
        (".5", "point", 0.5),
        ("+7.", "point", 7),
        ("1,5", "point", np.nan),
        ("1_000", "point", np.nan),
        ("0x10", "point", np.nan),
        ("", "point", np.nan),
        ("inf", "point", np.inf),
        ("1,5", "comma", 1.5),
        ("1.234.567,8", "comma", 1234567.8),
        ("1.5", "comma", np.nan),
        ("0.346", "comma", np.nan),
        ("1 234,5", "comma", 1234.5),
        ("12\u202f345\u202f678,9", "comma", 12345678.9),
        ("1'234.5", "point", 1234.5),
        ("-1\u00a0234", "point", -1234),
        ("12 34", "point", np.nan),
        ("0 123", "point", np.nan),
        ("1 234'567", "point", np.nan),
        ("1 234,5", "point", np.nan),
        ("\u22123.5", "point", -3.5),
        ("3\u22125", "point", np.nan),
        ("1 234 €", "point €", 1234),
        ("-3", "comma", -3),
        (",", "comma", np.nan),
        ("1,234,567.8", "thousands", 1234567.8),
        ("-12,345", "thousands", -12345),
        ("1234.5", "thousands", 1234.5),
        ("0,346", "thousands", np.nan),
        ("1,23", "thousands", np.nan),
        ("$5.20", "point $", 5.2),
        ("-$ 5.20", "point $", -5.2),
        ("5.20", "point $", 5.2),
        ("€5.20", "point $", np.nan),
        ("5,4 %", "comma %", 5.4),
        ("0.054", "point %", np.nan),
        ("YES", "truth", 1),
        ("nein", "truth", 0),
        ("perhaps", "truth", np.nan),
        ("1970-01-02", "iso", 1),
        ("1970-01-01T12:00:00Z", "iso", 0.5),
        ("1970-01-01 06:00+06:00", "iso", 0),
        ("1970", "iso", np.nan),
        ("1970-13-01", "iso", np.nan),
        ("2.1.1970", "%d.%m.%Y", 1),
        ("01/02/1970", "%m/%d/%Y", 1),
        ("3 Jan 1970", "%d %b %Y", 2),
    ],
)
def test_a_word(word, reading, value):
    np.testing.assert_array_equal(read_words([word], reading), [value])


@pytest.mark.parametrize("format", [name for name in DATES if name != "iso"])
def test_every_format_reads_what_it_writes(format):
    import datetime as dt

    day = dt.datetime(2021, 11, 25 if "%d" in format else 1, 9, 30)
    read = read_words([day.strftime(format)], format)[0]
    assert int(read) == (day - dt.datetime(1970, 1, 1)).days


class TestFormats:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["2020-01-31", "2020-02-01"], "iso"),
            (["31.1.2020", "1.2.2020"], "%d.%m.%Y"),
            (["01/31/2020", "02/01/2020"], "%m/%d/%Y"),
            (["31/01/2020", "02/01/2020"], "%d/%m/%Y"),
            (["a", "b"], None),
            (["1", "2"], None),
            (["1.2.3", "4.5.6"], None),
        ],
    )
    def test_the_one_that_fits(self, words, expected):
        assert fitting_dates(words, day_first=False) == expected

    def test_where_two_fit(self):
        words = ["03/04/2020", "05/06/2020"]
        assert fitting_dates(words, day_first=False) == "%m/%d/%Y"
        assert fitting_dates(words, day_first=True) == "%d/%m/%Y"

    def test_a_late_word_decides(self):
        words = [f"0{1 + k % 9}/0{1 + k // 9 % 9}/{2000 + k}" for k in range(300)] + ["31/01/2020"]
        assert fitting_dates(words, day_first=False) == "%d/%m/%Y"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["1.5", "2"], "point"),
        (["0,346", "1,345"], "comma"),
        (["1,25", "1,234"], "comma"),
        (["1,234", "2,500"], None),
        (["1,234", "1,234,567"], "thousands"),
        (["1,234.5", "7"], "thousands"),
        (["$1,234.50", "$7"], "thousands $"),
        (["$1,234", "$7"], None),
        (["3,50 €", "7,25 €"], "comma €"),
        (["5.4%", "12%"], "point %"),
        (["5.4%", "0.12", "0.1"], "point"),
        (["100% wool", "50% wool"], "point"),
        (["red", "a, b"], "point"),
        (["9.239.838", "64.043", "7"], "comma"),
        (["1 234,5", "7,25"], "comma"),
        (["1.234,5", "12.346"], "comma"),
        (["12.346", "1,5"], None),
        (["192.168.100.101", "192.168.100.250"], "point"),
        ([*(f"{k},5" for k in range(30)), "1.5"], "comma"),
        ([*(f"{k}.346" for k in range(10, 40)), "1,5"], "point"),
        ([*(f"0.{k}" for k in range(300, 330)), "1,234"], None),
        ([*(f"{k}.5" for k in range(300, 330)), "1,234"], "thousands"),
        ([*(f"{k}.250" for k in range(1, 11)), "850"], None),
        ([*(f"{k}.250" for k in range(10)), "850"], "point"),
        ([*(f"{k}.250" for k in range(1, 11)), "1850"], "point"),
        ([*(f"{k}.250" for k in range(1, 11))], "point"),
        (["1.250", "2.500", "850"], "point"),
    ],
)
def test_which_reading(words, expected):
    assert number_reading(words, "auto") == expected


@pytest.mark.parametrize(
    ("words", "decimal", "expected"),
    [
        (["1,234", "2,500"], ".", "thousands"),
        (["1,234", "2,500"], ",", "comma"),
        (["1.5", "2"], ".", "point"),
        ([*(f"{k}.250" for k in range(1, 11)), "850"], ".", "point"),
        ([*(f"{k}.250" for k in range(1, 11)), "850"], ",", "comma"),
        (["1,5", "2,25"], ".", "point"),
        (["$1,234", "$7"], ".", "thousands $"),
    ],
)
def test_which_reading_as_told(words, decimal, expected):
    assert number_reading(words, decimal) == expected
