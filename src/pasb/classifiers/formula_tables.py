"""Tables of any library as those of pandas, which formulas take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

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
