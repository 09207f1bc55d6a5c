from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pasb.effects.altered_rows import Shift
from pasb.effects.contrasts import contrasts_of


class Rows:
    """Stands for `AlteredRows`, without a model."""

    def __init__(self, frame):
        self.frame, self.names = frame, list(frame.columns)
        self.covariates, self.ranges, self.bent = self.names, {}, []

    def column(self, name):
        return self.frame[name].to_numpy()

    def is_numeric(self, name):
        return self.frame[name].dtype.kind in "if"

    def check_columns(self, names, argument):
        assert set(names) <= set(self.names)


ROWS = Rows(
    pd.DataFrame({"mass": np.arange(5.0), "male": [0, 1, 0, 1, 1], "island": list("abcab")})
)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ("mass", [("+1", {}, {"mass": Shift(1.0)})]),
        ({"mass": -0.5}, [("-0.5", {}, {"mass": Shift(-0.5)})]),
        ({"mass": (1, 3)}, [("3 - 1", {"mass": 1.0}, {"mass": 3.0})]),
        ({"mass": "iqr"}, [("iqr", {"mass": 1.0}, {"mass": 3.0})]),
        ({"mass": "minmax"}, [("minmax", {"mass": 0.0}, {"mass": 4.0})]),
        ("male", [("1 - 0", {"male": 0.0}, {"male": 1.0})]),
        (
            "island",
            [
                ("b - a", {"island": "a"}, {"island": "b"}),
                ("c - a", {"island": "a"}, {"island": "c"}),
            ],
        ),
        ({"island": ["b", "c"]}, [("c - b", {"island": "b"}, {"island": "c"})]),
    ],
)
def test_ways_to_change(variables, expected):
    assert [contrast[1:] for contrast in contrasts_of(ROWS, variables)] == expected


def test_standard_deviations_around_the_mean():
    low, high = contrasts_of(ROWS, {"mass": "2sd"})[0][2:]
    sd = np.std(np.arange(5), ddof=1)
    assert (low["mass"], high["mass"]) == pytest.approx((2 - sd, 2 + sd))


def test_pairs_of_levels():
    labels = [contrast.label for contrast in contrasts_of(ROWS, {"island": "pairwise"})]
    assert labels == ["b - a", "c - a", "c - b"]


def test_bad_input():
    with pytest.raises(ValueError, match="'d' is not a level of 'island'"):
        contrasts_of(ROWS, {"island": ["a", "d"]})
    with pytest.raises(ValueError, match="'reference', 'pairwise'"):
        contrasts_of(ROWS, {"island": 1})
    with pytest.warns(UserWarning, match="extrapolates"):
        contrasts_of(ROWS, {"mass": [0, 7]})
