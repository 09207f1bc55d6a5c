"""The columns that a formula needs, from the cells of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from pasb.covariates.cells import cells_by_column
from pasb.covariates.encoder_file import encoder_of_numbers
from pasb.covariates.tables import Problems, TableError, need_columns

BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


class FormulaRows:
    """Reads the covariates of a formula as what they were in `fit`: numbers, text or booleans.

    It takes the place of a `TableEncoder`.
    """

    def __init__(self, kinds: dict[str, str]):
        self.kinds, self.n_features_in_ = kinds, len(kinds)
        self.ids_: list[str] = []
        self.numbers = [name for name, kind in kinds.items() if kind == "number"]
        self.others = [name for name in kinds if name not in self.numbers]

    def need(self, names: Sequence[str], problems: Problems) -> list[str]:
        """The columns that are used; a problem if some are not among `names`."""
        need_columns(list(names), list(self.kinds), problems)
        return list(self.kinds)

    def encode(
        self, rows: pd.DataFrame, decimal: str | None = None, before: int = 0
    ) -> tuple[pd.DataFrame, list[Any]]:
        """The covariates of some rows, as a data frame for the model."""
        columns: dict[str, Any] = {}
        if self.numbers:
            values, _ = encoder_of_numbers(self.numbers).encode(rows, decimal, before)
            columns |= {name: values[:, v] for v, name in enumerate(self.numbers)}
        frame = nw.from_native(rows, eager_only=True)
        for name, cells in zip(self.others, cells_by_column(frame, self.others), strict=True):
            found = cells.as_words()
            gaps = np.flatnonzero(found.gaps)
            if len(gaps):
                raise TableError(f"column {name!r} is empty in row {before + gaps[0] + 1}")
            columns[name] = np.array(found.words, dtype=object)[found.codes]
            if self.kinds[name] == "bool":
                columns[name] = self._booleans(name, columns[name], before)
        return pd.DataFrame(columns), []

    def _booleans(self, name: str, words: Any, before: int) -> Any:
        known = [BOOLEANS.get(str(word).strip().lower()) for word in words]
        if None in known:
            row = known.index(None)
            raise TableError(
                f"column {name!r} holds {words[row]!r} in row {before + row + 1}, neither true nor "
                "false"
            )
        return np.array(known, dtype=bool)
