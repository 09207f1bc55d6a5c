"""The classes that rows of a file really have, as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasb.covariates.class_labels import class_labels
from pasb.covariates.column_plans import same_number
from pasb.covariates.tables import TableError, listed


def known_labels(column: pd.Series, classes: NDArray) -> tuple[list[str], NDArray[np.bool_]]:
    """The text of each label, spelt as the model does where it knows the label, and the gaps."""
    labels, gaps = class_labels(column)
    known = {str(label) for label in classes.tolist()}
    texts = [str(label) for label in labels.tolist()]
    return [text if text in known else same_number(text) for text in texts], gaps


def true_labels(
    column: pd.Series, classes: NDArray, path: Path, before: int = 0
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The same, all of them classes of the model.

    Parameters
    ----------
    column : Series
    classes : array
        Those that the model knows.
    path : Path
        The file, for messages.
    before : int
        Rows of the file that come before these.

    Raises
    ------
    TableError
        With the first label that is no class of the model, and its row.
    """
    texts, gaps = known_labels(column, classes)
    names = [str(label) for label in classes.tolist()]
    known = set(names)
    for row, text in enumerate(texts):
        if text not in known and not gaps[row]:
            raise TableError(
                f"{path}: column {column.name!r} holds {text!r} in row {before + row + 1}, which "
                f"is not a class of the model ({listed(names, 8)})"
            )
    return np.array(texts), gaps
