"""The data sets of the paper, bundled or generated, with its partitions.

Nothing is fetched from the network. ``README.md`` in this folder says where the
bundled tables come from.

Examples
--------
>>> from pasb import datasets
>>> part = datasets.load("vehicle").partition(0, scale="range")
>>> part.X_train.shape, part.X_test.shape
((592, 18), (254, 18))
"""

from __future__ import annotations

from pasb.datasets.bundled import (
    load_glass,
    load_iris,
    load_satimage,
    load_segment,
    load_vehicle,
    load_wine,
)
from pasb.datasets.catalog import known_name, names
from pasb.datasets.dataset import Dataset
from pasb.datasets.generators import make_square, make_square101, make_swiss_roll, make_waveform
from pasb.datasets.partitions import Partition

__all__ = [
    "Dataset",
    "Partition",
    "load",
    "load_glass",
    "load_iris",
    "load_satimage",
    "load_segment",
    "load_vehicle",
    "load_wine",
    "make_square",
    "make_square101",
    "make_swiss_roll",
    "make_waveform",
    "names",
]

_LOADERS = {
    "iris": load_iris,
    "wine": load_wine,
    "glass": load_glass,
    "vehicle": load_vehicle,
    "segment": load_segment,
    "satimage": load_satimage,
}
_MAKERS = {
    "square": make_square,
    "waveform": make_waveform,
    "square101": make_square101,
    "swiss_roll": make_swiss_roll,
}


def load(name: str, *, seed: int = 0) -> Dataset:
    """Load or generate a data set of the paper, in the paper's size.

    Parameters
    ----------
    name : str
        One of `names`; case does not matter, and a space or hyphen counts as "_".
    seed : int, default 0
        Seed of the generated sets square, waveform, square101 and swiss_roll. The
        bundled sets do not depend on it.

    Returns
    -------
    Dataset
        Raw covariates, class names, description and citation.

    Raises
    ------
    ValueError
        If there is no such set. The message lists the names and suggests the nearest.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.load("satimage")
    Dataset('satimage': 6435 rows, 36 covariates, 6 classes)
    >>> datasets.load("square", seed=3)
    Dataset('square': 420 rows, 2 covariates, 3 classes)
    """
    name = known_name(name)
    return _MAKERS[name](seed=seed) if name in _MAKERS else _LOADERS[name]()
