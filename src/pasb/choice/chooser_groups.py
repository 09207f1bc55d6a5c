"""What choices are grouped by: covariates of choosers, columns of a table, labels beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.choice_data import ChoiceData
from pasb.covariates.frame_input import data_frame
from pasb.covariates.sparse_rows import dense_table
from pasb.effects.grouped_by import grouped_by


class ChooserColumns:
    """Columns by which choices may be grouped.

    Parameters
    ----------
    source : ChoiceData, or table of covariates
    names : list of str
        Of the columns of a table without names of its own.
    n : int
        Number of choices.
    """

    def __init__(self, source: Any, names: list[str], n: int):
        self._n = n
        if isinstance(source, ChoiceData):
            self._frame, self._array = None, source.chooser
            self.columns, self.what = source.chooser_names, "a covariate of choosers"
            return
        self._frame, self._array = data_frame(source), source
        self.what = "a column of the table"
        if self._frame is None:
            self.columns = names[: np.shape(source)[1]]
        else:
            self.columns = list(self._frame.columns)

    def __len__(self) -> int:
        return self._n

    def column(self, name: str) -> NDArray:
        """The values of a column."""
        if self._frame is None:
            return dense_table(self._array)[:, self.columns.index(name)]
        return self._frame[name].to_numpy()

    def grouped_by(self, by: Any) -> tuple[list[str], list[list]]:
        """Names and values of what choices are grouped by.

        Parameters
        ----------
        by : str, array, Series, or list of these; or a list with a label for each choice
        """
        plain = isinstance(by, list | tuple) and all(np.ndim(one) == 0 for one in by)
        if plain and len(by) == self._n and not set(by) & set(self.columns):
            by = np.asarray(by)
        return grouped_by(self, by, self.what, "choices")
