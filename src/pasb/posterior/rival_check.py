"""Whether held-out predictions lean towards those of a rival, more than a right model would.

Cox's test of models that are not nested, on held-out rows. Let p be the model's probabilities and r
the rival's, both fitted without the row, and d_c = log r_c - log p_c. If the model is right, d of
the class observed is on average the sum of p_c d_c, and its variance follows from p too. If the
rival is right, the sum over rows exceeds that by some sqrt(variance) standard deviations. One
direction is looked at, so this finds what is far below the noise of any single cell.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pasb.covariates.table_encoder import TableEncoder
from pasb.covariates.tables import TableError

LINEAR = "a multinomial logit"
CURVED = "a multinomial logit with squares and products"
MOST_COLUMNS = 15  # of which products are taken
MOST_ROWS = 20_000  # of a fit
FARTHEST = 3.0  # a log-ratio counts as at most this: one row must not decide
LEAST_PROBABILITY = 1e-6

Splits = list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def rivals_of(
    X: Any,
    labels: NDArray,
    p: NDArray[np.float64],
    splits: Splits,
    available: NDArray[np.bool_] | None = None,
) -> list[dict[str, Any]]:
    """What each rival says of held-out predictions: ``rival, gain, z, p_value``.

    Parameters
    ----------
    X : array or data frame
        Covariates; text and categories become 0/1 columns.
    labels : array of shape (n_rows,)
    p : array of shape (n_rows, n_classes)
        The model's probabilities of held-out rows.
    splits : list of pairs
        Training and held-out rows of each fold.
    available : boolean array of shape (n_rows, n_classes), optional
        Which classes the rows could choose. Rivals are judged among these.

    Returns
    -------
    list of dict
        `gain` is by how much the rival's log-probabilities of the classes observed are larger, all
        rows together. Empty where the covariates cannot be made numbers.
    """
    try:
        table = np.asarray(TableEncoder().fit(X).encode(X)[0])
    except TableError:
        return []
    if not table.shape[1]:
        return []
    rivals: dict[str, Any] = {LINEAR: make_pipeline(StandardScaler(), _logit())}
    if table.shape[1] <= MOST_COLUMNS:
        terms = PolynomialFeatures(2, include_bias=False)
        rivals[CURVED] = make_pipeline(StandardScaler(), terms, StandardScaler(), _logit())
    splits = [(train[:: -(-len(train) // MOST_ROWS)], test) for train, test in splits]
    category = np.unique(labels, return_inverse=True)[1]
    found = []
    for name, rival in rivals.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of iterations: an approximate fit is a rival too
            r = cross_val_predict(rival, table, labels, cv=splits, method="predict_proba")
        if available is not None:
            r = np.maximum(r, LEAST_PROBABILITY) * available
            r /= r.sum(axis=1, keepdims=True)
        found.append({"rival": name, **leaning(p, r, category)})
    return found


def leaning(
    p: NDArray[np.float64], r: NDArray[np.float64], category: NDArray[np.int64]
) -> dict[str, float]:
    """Cox's statistic of probabilities p against r, and how probable one as large is."""
    log_p, log_r = (np.log(np.maximum(each, LEAST_PROBABILITY)) for each in (p, r))
    towards = np.clip(log_r - log_p, -FARTHEST, FARTHEST)
    expected = (p * towards).sum(axis=1)
    variance = float(((p * towards**2).sum(axis=1) - expected**2).sum())
    own = np.arange(len(p)), category
    # below 1, not even a rival that is right would stand out
    z = float((towards[own] - expected).sum() / np.sqrt(max(variance, 1.0)))
    return {"gain": float((log_r - log_p)[own].sum()), "z": z, "p_value": float(norm.sf(z))}


def _logit() -> LogisticRegression:
    return LogisticRegression(max_iter=300)
