"""The data sets of the paper: those of `pasb.datasets`, and dna, which is kept here.

``data/README.md`` says where the table of dna comes from and why the package does not bundle it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from pasb import datasets
from pasb.datasets import Dataset
from pasb.datasets.bundled import Table, parsed

DATA = Path(__file__).parent / "data"


def load(name: str, *, seed: int = 0) -> Dataset:
    """Load or generate a data set of the paper.

    Parameters
    ----------
    name : str
        "dna", or one of `pasb.datasets.names`.
    seed : int, default 0
        Seed of the generated sets.

    Examples
    --------
    >>> from reproduction.data_sets import load
    >>> load("iris")
    Dataset('iris': 150 rows, 4 covariates, 3 classes)
    """
    return load_dna() if name == "dna" else datasets.load(name, seed=seed)


def load_dna() -> Dataset:
    """Load the dna data: 3186 sequences with or without a splice junction.

    The split of Statlog, 2000 / 1186 rows, is predefined.

    Examples
    --------
    >>> from reproduction.data_sets import load_dna
    >>> load_dna()
    Dataset('dna': 3186 rows, 180 covariates, 3 classes)
    """
    table = _table()
    assert table.split is not None
    return Dataset(
        name="dna",
        X=table.X.copy(),
        y=table.y.copy(),
        feature_names=list(table.feature_names),
        classes=np.unique(table.y).tolist(),
        description="Splice junctions in DNA sequences of 60 bases, as 180 binary indicators, 3 a "
        "base. 3186 rows, 3 classes: ei (exon to intron), ie (intron to exon), n (neither). "
        "Predefined split of Statlog, training and validation rows together: train 464, 485, "
        "1051; test 303, 280, 603. 82 test rows have the covariates of some training row, as in "
        "the original.",
        citation="M. O. Noordewier, G. G. Towell and J. W. Shavlik (1991). Training "
        "knowledge-based neural networks to recognize genes in DNA sequences. Advances in Neural "
        "Information Processing Systems 3. UCI Machine Learning Repository, Splice-junction Gene "
        "Sequences. D. Michie, D. J. Spiegelhalter and C. C. Taylor, editors (1994). Machine "
        "Learning, Neural and Statistical Classification. Ellis Horwood.",
        split=table.split.copy(),
    )


@cache
def _table() -> Table:
    return parsed((DATA / "dna.csv.gz").read_bytes())
