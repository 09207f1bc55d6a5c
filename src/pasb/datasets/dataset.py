"""A data set as users hold it in their hands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pasb.datasets import partitions
from pasb.datasets.partitions import Partition

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Covariates and classes of one data set.

    The arrays belong to the caller: loading a set again gives fresh ones.

    Attributes
    ----------
    name : str
        Name under which `pasb.datasets.load` knows the set.
    X : ndarray of float64, shape (n_rows, n_features)
        Raw, unscaled covariates.
    y : ndarray of str, shape (n_rows,)
        Class names.
    feature_names : list of str
        Names of the covariates.
    classes : list of str
        The class names that occur, sorted as text; a fitted classifier has the same
        ones, in the same order, in its attribute ``classes_``.
    description : str
        What the set is, where it comes from, and what is doubtful about it.
    citation : str
        What to cite.
    split : ndarray of str or None
        "train" or "test" for each row, where the set comes with a predefined split.

    Examples
    --------
    >>> from pasb import datasets
    >>> vehicle = datasets.load("vehicle")
    >>> vehicle
    Dataset('vehicle': 846 rows, 18 covariates, 4 classes)
    >>> vehicle.classes
    ['bus', 'opel', 'saab', 'van']
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: list[str]
    classes: list[str]
    description: str
    citation: str
    split: np.ndarray | None = None

    def __repr__(self) -> str:
        n, p = self.X.shape
        return f"Dataset({self.name!r}: {n} rows, {p} covariates, {len(self.classes)} classes)"

    @property
    def n_partitions(self) -> int:
        """How many partitions there are; their numbers start at zero."""
        return partitions.count(self.name, self.split)

    def frame(self) -> pd.DataFrame:
        """Give the data as a table.

        Returns
        -------
        pandas.DataFrame
            One column a covariate, and the class names in the last column, "class".

        Examples
        --------
        >>> from pasb import datasets
        >>> datasets.load_iris().frame()["class"].value_counts().to_dict()
        {'setosa': 50, 'versicolor': 50, 'virginica': 50}
        """
        import pandas as pd

        table = pd.DataFrame(self.X.copy(), columns=self.feature_names)
        table["class"] = self.y.copy()
        return table

    def partition(self, number: int = 0, *, scale: Literal["range"] | None = None) -> Partition:
        """Divide the rows into training and test rows as in the paper.

        =====================  ========  =============================================
        set                    numbers   training / test rows
        =====================  ========  =============================================
        iris                   0 to 4    120 / 30, random
        wine                   0 to 4    142 / 36, random
        glass                  0 to 4    171 / 43, random
        vehicle                0 to 9    592 / 254, random (see its description)
        square                 0 to 9    294 / 126, random
        waveform               0 to 9    500 / 4500, random
        segment                0 to 9    231 / 2079, random
        satimage               0         4435 / 2000, predefined
        square101, swiss_roll  0         all rows train; generate test rows with
                                         another seed
        =====================  ========  =============================================

        The paper took five random partitions of iris, wine and glass, one of square,
        waveform and segment, and published none of them. The partitions here are
        plain random ones too (not stratified). They follow from the name of the set
        and the number alone, and are the same on every machine. A generated set of
        another size is divided in the same proportion.

        Parameters
        ----------
        number : int, default 0
            Which partition.
        scale : {None, "range"}, default None
            None leaves the covariates as they are. "range" scales each one linearly
            so that the training rows fill [-1, 1]; test rows may fall outside. A
            covariate that is constant in training becomes zero.

        Returns
        -------
        Partition
            Its arrays are copies.

        Raises
        ------
        ValueError
            If there is no partition with that number, or no such scaling.

        Examples
        --------
        >>> from pasb import datasets
        >>> part = datasets.load("glass").partition(2, scale="range")
        >>> part
        Partition(171 training rows, 43 test rows)
        >>> float(part.X_train.min()), float(part.X_train.max())
        (-1.0, 1.0)
        """
        if scale is not None and scale != "range":
            raise ValueError(f"scale must be None or 'range', got {scale!r}")
        train, test = partitions.rows(self.name, len(self.y), number, self.split)
        X_train, X_test = self.X[train], self.X[test]
        if scale == "range":
            X_train, X_test = partitions.scale_to_range(X_train, X_test)
        return Partition(X_train, self.y[train], X_test, self.y[test], train, test)
