"""Columns of a table that are a covariate of alternatives, such as the price of each.

Classifiers other than `StickChoiceClassifier` see a table and do not know which of its columns
belong to which alternative. A user says so by a dictionary from alternatives to columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.choice.market import Market, Version
from pasb.covariates.frame_input import data_frame
from pasb.effects.altered_rows import check_known


class AlternativeColumns:
    """The column of each alternative in the table that a model is asked about.

    Parameters
    ----------
    market : Market
        Of a table.
    columns : dict
        From alternatives to names of columns; for arrays to numbers of columns, or to names such
        as ``"x0"``. Alternatives without a column are left out.
    """

    def __init__(self, market: Market, columns: Any):
        if not isinstance(columns, Mapping) or not columns:
            raise TypeError(
                "columns must be a dictionary from alternatives to columns, such as "
                f"{{{market.labels[0]!r}: 'price'}}; got {columns!r}"
            )
        self.market = market
        self.column_of = {market.number_of(label): name for label, name in columns.items()}
        self._frame = data_frame(market.source)
        if self._frame is None:
            self._array = np.asarray(market.source)
            if self._array.ndim != 2:
                raise TypeError("columns need a table that is an array or a data frame")
            names = [f"x{k}" for k in range(self._array.shape[1])]
            own = getattr(market.model, "feature_names_in_", names)
            known = [str(name) for name in own]
            self.column_of = {
                k: known[name] if isinstance(name, int) and 0 <= name < len(known) else name
                for k, name in self.column_of.items()
            }
        else:
            known = self._frame.columns
        self._known = known
        for name in self.column_of.values():
            check_known(name, known, "columns", "a column of the table")
            if self._column(name).dtype.kind not in "biuf":
                raise ValueError(f"columns: {name!r} does not hold numbers")

    def scaled(self, category: int, factor: float) -> Version:
        """The choices where the column of an alternative is multiplied, where it is available."""
        if category not in self.column_of:
            label = self.market.labels[category]
            raise ValueError(f"columns: say which column is that of {label!r}")
        name, has = self.column_of[category], self.market.available[:, category]
        old = self._column(name).astype(np.float64)
        table = self._with(name, np.where(has, old * factor, old))
        return self.market.version(table, self.market.now.available)

    def _column(self, name: str) -> NDArray:
        if self._frame is None:
            return self._array[:, self._known.index(name)]
        return self._frame[name].to_numpy()

    def _with(self, name: str, values: NDArray[np.float64]) -> Any:
        """The table with other values in one column."""
        if self._frame is None:
            table = self._array.astype(np.float64)
            table[:, self._known.index(name)] = values
            return table
        import narwhals as nw

        frame = self._frame
        new = nw.new_series(name, values, nw.Float64, backend=frame.implementation)
        return nw.to_native(frame.with_columns(new))
