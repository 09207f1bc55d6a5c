from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pasb import effects

FRAME = pd.DataFrame(
    {"mass": [3.0, 4.0, 8.0], "island": ["a", "b", "b"], "tame": [True, True, False]}
)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_combinations_and_typical_values(library):
    X = FRAME if library == "pandas" else pl.from_pandas(FRAME)
    grid = effects.datagrid(X, mass=[3, 5], island="all")
    assert type(grid) is type(X)
    assert list(grid["mass"]) == [3, 3, 5, 5]
    assert list(grid["island"]) == ["a", "b", "a", "b"]
    assert list(grid["tame"]) == [True] * 4
    assert list(effects.datagrid(X)["mass"]) == [5.0]


def test_arrays():
    X = np.array([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_array_equal(effects.datagrid(X, x1=[2, 5]), [[2, 2], [2, 5]])


def test_bad_input():
    with pytest.raises(ValueError, match="did you mean 'mass'"):
        effects.datagrid(FRAME, masss=1)
    with pytest.raises(ValueError, match="'c' is not a level of 'island'"):
        effects.datagrid(FRAME, island=["a", "c"])
    with pytest.raises(ValueError, match="'mass' holds numbers"):
        effects.datagrid(FRAME, mass="heavy")
    with pytest.raises(ValueError, match="'mass' must be finite numbers"):
        effects.datagrid(FRAME, mass=[3.0, np.nan])
    with pytest.raises(ValueError, match="no values"):
        effects.datagrid(FRAME, mass=[])
    with pytest.warns(UserWarning, match="goes from 3 to 8"):
        effects.datagrid(FRAME, mass=9)
