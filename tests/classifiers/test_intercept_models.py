"""A table without covariates gives the intercept model: shares of the classes, for every row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pasb
from pasb import (
    SoftplusClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
    StickSVMClassifier,
    TableEncoder,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
SMALL = {"n_chains": 1, "n_warmup": 50, "n_draws": 50, "n_jobs": 1, "random_state": 0}
Y = np.repeat(["a", "b", "c"], [150, 100, 50])


@pytest.mark.parametrize(
    "model",
    [
        StickLogisticClassifier(**SMALL),
        StickRobitClassifier(**SMALL),
        StickSVMClassifier(kernel="linear", inclusion=None, **SMALL),
        SoftplusClassifier(n_experts=1, n_layers=1, direction="forward", **SMALL),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_row_has_the_same_probabilities(model, tmp_path):
    X = np.empty((len(Y), 0))
    proba = model.fit(X, Y).predict_proba(X)
    assert (proba == proba[0]).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    if not isinstance(model, StickSVMClassifier):  # whose probabilities come from a formula
        # no level: the standard error of a share is 0.03
        np.testing.assert_allclose(proba[0], [1 / 2, 1 / 3, 1 / 6], atol=0.2)
    model.save(tmp_path / "m.pasb")
    np.testing.assert_array_equal(pasb.load(tmp_path / "m.pasb").predict_proba(X[:5]), proba[:5])


@pytest.mark.parametrize("frame", [True, False])
def test_frames_and_encoders(frame):
    table = pd.DataFrame({"constant": ["x"] * len(Y)})
    encoder = TableEncoder().set_output(transform="pandas" if frame else "default")
    X = encoder.fit_transform(table)
    assert X.shape == (300, 0)
    model = StickLogisticClassifier(**SMALL).fit(X, Y)
    assert model.n_features_in_ == 0
    assert set(model.summary()["feature"]) == {"(intercept)"}
    assert model.predict_frame(X).shape == (300, 10)
    assert set(model.predict(X)) == {"a"}
