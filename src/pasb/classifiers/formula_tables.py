"""Tables that formulas take: as those of pandas, with the columns and levels of the fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pasb.covariates.gaps import without_gaps

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(data: Any) -> pd.DataFrame:
    """A data frame of any library as one of pandas."""
    import narwhals as nw
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"formulas need a data frame of pandas or polars, not {type(data).__name__}"
        )
    columns: dict[str, NDArray] = {name: frame[name].to_numpy() for name in frame.columns}
    return pd.DataFrame(columns)


def check_has(table: pd.DataFrame, names: list[str]) -> None:
    """Raise a ValueError that names a column which a table does not have."""
    for name in names:
        if name not in table.columns:
            shown = ", ".join(repr(str(column)) for column in list(table.columns)[:12])
            raise ValueError(f"formula: data has no column {name!r}; it has {shown}")


def columns_of(spec: Any, table: pd.DataFrame) -> list[str]:
    """The columns of a table that the terms are made of, those within functions too."""
    used = map(str, spec.variables_by_source.get("data", ()))
    # the method of a column goes by the name "column.method"
    return sorted({name if name in table.columns else name.split(".")[0] for name in used})


def kind_of(column: pd.Series) -> str:
    """What a column holds: "number", "bool" or "text"."""
    dtype: Any = getattr(column.dtype, "categories", column).dtype
    if dtype.kind == "b":
        return "bool"
    return "number" if dtype.kind in "iuf" else "text"


def levels_of_columns(encoder_state: Mapping[str, Any], columns: list[str]) -> dict[str, list]:
    """The levels of columns that are factors of a formula, as they are or in ``C(...)``."""
    found = {}
    for factor, (_, state) in encoder_state.items():
        for name in columns:
            own = rf"(C\(\s*)?`?{re.escape(name)}`?\s*(,.*)?\)?"
            if "categories" in state and re.fullmatch(own, factor, re.DOTALL):
                found[name] = list(state["categories"])
    return found


def check_levels(table: pd.DataFrame, levels: Mapping[str, list]) -> None:
    """Raise a ValueError that names a column and its level that was not there in the fit."""
    for name, known in levels.items():
        own = without_gaps(table[name].unique())
        strange = [value for value in own.tolist() if value not in known]
        if strange:
            shown = ", ".join(map(repr, known[:12]))
            rest = f" and {len(known) - 12} more" if len(known) > 12 else ""
            raise ValueError(
                f"formula: {name!r} has a level that was not there in fit: {strange[0]!r}; it had "
                f"{shown}{rest}"
            )
