"""What each data set is and what to cite: the words, apart from the numbers."""

from __future__ import annotations

import difflib
from typing import NamedTuple


class CatalogEntry(NamedTuple):
    """Description and citation of one data set."""

    description: str
    citation: str


_PAPER = (
    "Q. Zhang and M. Zhou (2018). Permuted and augmented stick-breaking Bayesian multinomial "
    "regression. Journal of Machine Learning Research 18(204), 1-33."
)
_STATLOG = (
    "D. Michie, D. J. Spiegelhalter and C. C. Taylor, editors (1994). Machine Learning, Neural "
    "and Statistical Classification. Ellis Horwood."
)

# In the order of the paper's tables, then the two sets that only its figures show.
ENTRIES: dict[str, CatalogEntry] = {
    "square": CatalogEntry(
        "Two rectangles side by side within a square frame; generated. Category 1 is the frame, "
        "2 the left and 3 the right rectangle. 420 rows, 2 covariates, 3 classes in the paper. "
        "The size is stated there; the geometry and the class sizes (220, 100, 100) were "
        "estimated from its Figure 2.",
        _PAPER,
    ),
    "iris": CatalogEntry(
        "Sepal and petal measurements, in cm, of three species of iris, as in Fisher's table. "
        "150 rows, 4 covariates, 3 classes of 50. The copy in the UCI repository differs in "
        "three cells of rows 35 and 38.",
        "R. A. Fisher (1936). The use of multiple measurements in taxonomic problems. Annals of "
        "Eugenics 7(2), 179-188.",
    ),
    "wine": CatalogEntry(
        "Chemical analysis of wines from three cultivars grown in one region of Italy. 178 rows, "
        "13 covariates, 3 classes (59, 71, 48). Donor S. Aeberhard, 1991.",
        "M. Forina et al. (1991). PARVUS: an extendible package for data exploration, "
        "classification and correlation. Institute of Pharmaceutical and Food Analysis and "
        "Technologies, Genoa. UCI Machine Learning Repository, Wine.",
    ),
    "glass": CatalogEntry(
        "Refractive index and oxide content of glass splinters. 214 rows, 9 covariates, 6 classes: "
        "1 and 2 building windows (float processed or not), 3 vehicle windows (float processed), "
        "5 containers, 6 tableware, 7 headlamps; code 4 does not occur. Counts 70, 76, 17, 13, 9, "
        "29. One row is a duplicate, as in the original. Donor V. Spiehler, 1987.",
        "B. German (1987). Glass Identification. Home Office Forensic Science Service. UCI "
        "Machine Learning Repository.",
    ),
    "vehicle": CatalogEntry(
        "Shape measurements of the silhouettes of four vehicles: opel, saab (both cars), bus and "
        "van. 846 rows, 18 covariates, 4 classes (212, 217, 218, 199). The paper calls its split "
        "592/254 predefined, but no published split of that size is known, and 592 is 0.7 times "
        "846; so the partitions here are ten random ones of that size. Publications must "
        "acknowledge the Turing Institute, Glasgow.",
        "J. P. Siebert (1987). Vehicle recognition using rule based methods. Research Memorandum "
        "TIRM-87-018, Turing Institute, Glasgow. Data by P. Mowforth and B. Shepherd, Turing "
        "Institute, Glasgow; Statlog and UCI Machine Learning Repository, Vehicle Silhouettes.",
    ),
    "waveform": CatalogEntry(
        "Breiman's waveforms: each of 3 classes mixes two of three triangular waves, plus noise; "
        "generated. 5000 rows, 21 covariates in the paper, which used the UCI sample; a fresh "
        "sample is the same experiment. The least possible error is about 14 %.",
        "L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone (1984). Classification and "
        "Regression Trees. Wadsworth.",
    ),
    "segment": CatalogEntry(
        "Patches of 3 x 3 pixels from seven outdoor images. 2310 rows, 19 covariates, 7 classes "
        "of 330; Statlog codes brickface 1, sky 2, foliage 3, cement 4, window 5, path 6, grass "
        "7. The covariate region_pixel_count is constant. 224 rows duplicate an earlier row, as "
        "in the original. Donor C. Brodley, 1990.",
        "Vision Group, University of Massachusetts (1990). Image Segmentation. UCI Machine "
        "Learning Repository and Statlog. " + _STATLOG,
    ),
    "satimage": CatalogEntry(
        "Landsat images: four spectral bands of the nine pixels of a 3 x 3 neighbourhood. 6435 "
        "rows, 36 covariates, 6 classes: 1 red soil, 2 cotton crop, 3 grey soil, 4 damp grey soil, "
        "5 soil with vegetation stubble, 7 very damp grey soil; code 6 does not occur. Predefined "
        "split of Statlog: train 1072, 479, 961, 415, 470, 1038; test 461, 224, 397, 211, 237, "
        "470.",
        "A. Srinivasan (1993). Landsat Satellite. University of Strathclyde; original data from "
        "the Australian Centre for Remote Sensing. UCI Machine Learning Repository and Statlog. "
        + _STATLOG,
    ),
    "square101": CatalogEntry(
        "A square of 100 unit squares within a frame: 101 classes in the plane; generated. "
        "Category 1 is the frame; 2 to 101 are the unit squares, numbered in an inward clockwise "
        "spiral from the bottom left. 8000 rows, 2 covariates in the paper. Shapes and size are "
        "stated there, the numbering was read from its Figure 3(a).",
        _PAPER,
    ),
    "swiss_roll": CatalogEntry(
        "Two spiral arms in the plane, one a class; generated. 2 covariates. All constants were "
        "read by eye from the paper's Figure 6; the size is not stated there, 800 is a choice.",
        _PAPER,
    ),
}


def names() -> list[str]:
    """List the names of all data sets.

    Returns
    -------
    list of str
        In the order of the paper's tables.

    Examples
    --------
    >>> from pasb import datasets
    >>> datasets.names()[:4]
    ['square', 'iris', 'wine', 'glass']
    """
    return list(ENTRIES)


def known_name(name: str) -> str:
    """Find the name that is meant, whatever its case, with spaces or hyphens.

    Parameters
    ----------
    name : str
        What the user wrote.

    Returns
    -------
    str
        One of `names`.

    Raises
    ------
    ValueError
        If there is no such set. The message lists the names and suggests the nearest.

    Examples
    --------
    >>> from pasb.datasets.catalog import known_name
    >>> known_name("Swiss roll")
    'swiss_roll'
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set must be a str, got {type(name).__name__}")
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    if plain in ENTRIES:
        return plain
    near = difflib.get_close_matches(plain, ENTRIES, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"there is no data set {name!r}.{hint} Known names: {', '.join(ENTRIES)}.")
