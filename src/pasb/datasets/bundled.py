"""The data sets that come with the package, as compressed tables in ``data/``.

``README.md`` in this folder says where each table comes from.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files

import numpy as np

from pasb.datasets.catalog import ENTRIES
from pasb.datasets.dataset import Dataset


@cache
def _table(name: str) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray | None]:
    """Read covariate names, covariates, classes and split; they must not be changed."""
    packed = files("pasb.datasets").joinpath("data", f"{name}.csv.gz").read_bytes()
    header, *lines = gzip.decompress(packed).decode("ascii").splitlines()
    columns = header.split(",")
    labels = 2 if "split" in columns else 1  # the label columns are the last
    cells = [line.rsplit(",", labels) for line in lines]
    X = np.loadtxt([row[0] for row in cells], delimiter=",", ndmin=2)
    split = np.array([row[1] for row in cells]) if labels == 2 else None
    return columns[:-labels], X, np.array([row[-1] for row in cells]), split


def read(name: str) -> Dataset:
    """Load a bundled data set; its arrays are fresh copies."""
    features, X, y, split = _table(name)
    return Dataset(
        name=name,
        X=X.copy(),
        y=y.copy(),
        feature_names=list(features),
        classes=np.unique(y).tolist(),
        description=ENTRIES[name].description,
        citation=ENTRIES[name].citation,
        split=None if split is None else split.copy(),
    )


def load_iris() -> Dataset:
    """Load the iris data: 150 flowers of 3 species.

    Five random partitions of 120 / 30 rows.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load_iris()
    Dataset('iris': 150 rows, 4 covariates, 3 classes)
    """
    return read("iris")


def load_wine() -> Dataset:
    """Load the wine data: 178 wines from 3 cultivars.

    Five random partitions of 142 / 36 rows.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load_wine()
    Dataset('wine': 178 rows, 13 covariates, 3 classes)
    """
    return read("wine")


def load_glass() -> Dataset:
    """Load the glass data: 214 splinters of 6 kinds of glass.

    Five random partitions of 171 / 43 rows.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load_glass()
    Dataset('glass': 214 rows, 9 covariates, 6 classes)
    """
    return read("glass")


def load_vehicle() -> Dataset:
    """Load the vehicle data: 846 silhouettes of 4 vehicles.

    Ten random partitions of 592 / 254 rows. The paper calls its split predefined;
    none of that size is known.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load_vehicle()
    Dataset('vehicle': 846 rows, 18 covariates, 4 classes)
    """
    return read("vehicle")


def load_segment() -> Dataset:
    """Load the segment data: 2310 image patches of 7 kinds.

    Ten random partitions of 231 / 2079 rows.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load_segment()
    Dataset('segment': 2310 rows, 19 covariates, 7 classes)
    """
    return read("segment")


def load_dna() -> Dataset:
    """Load the dna data: 3186 sequences with or without a splice junction.

    The split of Statlog, 2000 / 1186 rows, is predefined.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load_dna()
    Dataset('dna': 3186 rows, 180 covariates, 3 classes)
    """
    return read("dna")


def load_satimage() -> Dataset:
    """Load the satimage data: 6435 neighbourhoods of Landsat pixels, 6 soils.

    The split of Statlog, 4435 / 2000 rows, is predefined.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load_satimage()
    Dataset('satimage': 6435 rows, 36 covariates, 6 classes)
    """
    return read("satimage")
