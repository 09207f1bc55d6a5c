"""Paths and collections of Dask where all rows must be in memory: errors that say what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import pasb
from pasb.binary import SupportVector
from pasb.classifiers.parted_fit import PartedFit
from pasb.covariates.frame_input import data_frame
from pasb.covariates.rows_elsewhere import TAKERS

Y = np.arange(30) % 3
X = np.random.default_rng(0).normal(size=(30, 2)) + Y[:, None]
OTHERS = [
    pasb.StickSVMClassifier(),
    pasb.StackedSoftplusClassifier(),
    pasb.StickBreakingClassifier(binary=SupportVector()),
    pasb.StickEnsembleClassifier(LogisticRegression()),
]
every = pytest.mark.parametrize("model", OTHERS, ids=lambda model: type(model).__name__)


def collections():
    da = pytest.importorskip("dask.array", reason="the extra pasb[dask] is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="the extra pasb[dask] is not installed")
    return da.from_array(X, chunks=10), dd.from_pandas(pd.DataFrame(X), npartitions=2)


def test_the_list_of_classifiers_that_leave_rows_where_they_are():
    named = [getattr(pasb, name) for name in pasb.__all__]
    kinds = [one for one in named if isinstance(one, type) and issubclass(one, PartedFit)]
    assert sorted(TAKERS) == sorted(one.__name__ for one in kinds if one._leaves_rows)


@every
def test_refused_before_anything_is_read(model):
    array, frame = collections()
    takers = f"{TAKERS[0]}, .* and .* fit rows where they are"
    for table, kind in ((array, "array"), (frame, "data frame")):
        name = type(model).__name__
        words = rf"X is a Dask {kind}, and {name} needs .* pass X.compute\(\).*{takers}"
        with pytest.raises(ValueError, match=words):
            model.fit(table, Y)
    with pytest.raises(ValueError, match=rf"X is a path \('rows.parquet'\).* read .*{takers}"):
        model.fit("rows.parquet", Y)


def test_where_all_rows_are_needed_after_a_fit():
    array, frame = collections()
    with pytest.warns(pasb.ConvergenceWarning):
        fitted = pasb.StickLogisticClassifier(n_warmup=5, n_draws=5, random_state=0).fit(X, Y)
    for table in (array, frame, "rows.parquet"):
        with pytest.raises(ValueError, match="predict and predict_proba take it as it is"):
            fitted.predict_frame(table)
    with pytest.raises(ValueError, match=r"^X is a Dask array, and this needs all rows in memory"):
        pasb.order_evidence(array, Y)


def test_a_dask_frame_is_not_told_to_collect():
    _, frame = collections()
    with pytest.raises(TypeError, match=r"X\.compute\(\)"):
        data_frame(frame)
