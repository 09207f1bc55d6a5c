"""Words as numbers, truths and dates."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.covariates.readings import DATES, fitting_dates, looks_like_thousands, read_words


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
        ("-3", "comma", -3),
        (",", "comma", np.nan),
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

    day = dt.datetime(2021, 11, 25, 9, 30)
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


def test_thousands():
    assert looks_like_thousands(["1,234", "12,345,678", "5"])
    assert not looks_like_thousands(["1,25", "1,234"])
    assert not looks_like_thousands(["5"])
