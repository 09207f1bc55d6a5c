"""Quick probabilities of several versions of rows are those of the general way."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from pasb import SoftplusClassifier, StickLogisticClassifier, datasets
from pasb.effects.altered_rows import AlteredRows, Shift
from pasb.effects.logistic_variants import are_logistic, of_logistic_variants
from pasb.effects.softplus_variants import are_softplus, of_softplus_variants
from pasb.effects.streaming import of_variants

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 30, "n_jobs": 1, "random_state": 0}
QUICK = {
    "logistic": (of_logistic_variants, StickLogisticClassifier(**SHORT)),
    "softplus": (of_softplus_variants, SoftplusClassifier(n_experts=3, n_layers=2, **SHORT)),
}
VARIANTS = [
    {},
    {"x1": Shift(0.5)},
    {"x0": 5.0, "x3": Shift(-0.1)},
    {"x2": 1.0, "x0": 6.0, "x1": 3.0, "x3": 0.5},
]


@pytest.mark.parametrize("kind", ["logistic", "softplus"])
@pytest.mark.parametrize("best", [False, True])
def test_the_general_way(kind, best):
    data = datasets.load("iris")
    if kind == "logistic":
        model = StickLogisticClassifier(**SHORT).fit(data.X, data.y)
        applies, quick = are_logistic, of_logistic_variants
    else:
        model = SoftplusClassifier(n_experts=3, n_layers=2, **SHORT).fit(data.X, data.y)
        applies, quick = are_softplus, of_softplus_variants
    model = model.best_draw() if best else model  # with experts that are off
    rows = AlteredRows(model, data.X)
    predictor = model.fitted_.predictor()
    assert applies(rows)
    for part in (slice(0, 3), slice(20, 150)):
        ways = [way(rows, predictor, VARIANTS)(part) for way in (quick, of_variants)]
        found, expected = (
            np.concatenate(
                [
                    values[..., : part.stop - part.start]
                    for _, values in ((some, values.copy()) for some, values in way)
                ]
            )
            for way in ways
        )
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)


def test_far_away_rows_of_softplus_sticks():
    """Predictors too large for plain exponentials, in some versions or in all of them."""
    data = datasets.load("iris")
    model = SoftplusClassifier(n_experts=3, n_layers=2, **SHORT).fit(data.X, data.y)
    predictor = model.fitted_.predictor()
    far = np.array(data.X[:40])
    far[::7] *= 1e5
    for X in (np.array(data.X[:40]), far):
        rows = AlteredRows(model, X)
        variants = [{}, {"x1": Shift(1e6)}, {"x0": -1e6}, {"x2": Shift(1.0)}]
        ways = [
            np.concatenate(
                [v[..., :40].copy() for _, v in way(rows, predictor, variants)(slice(0, 40))]
            )
            for way in (of_softplus_variants, of_variants)
        ]
        assert np.isfinite(ways[0]).all()
        np.testing.assert_allclose(*ways, rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("kind", list(QUICK))
@pytest.mark.parametrize("size", [1.0, 150.0, 1e5])
def test_two_values_for_all_rows(kind, size):
    """Versions that share exponentials, among others, and with predictors too large for that."""
    data = datasets.load("iris")
    quick, model = QUICK[kind]
    model = clone(model).fit(data.X, data.y)
    predictor = model.fitted_.predictor()
    rows = AlteredRows(model, data.X)
    variants = [
        {"x0": 5.0 - size}, {"x0": 5.0 + size}, {}, {"x0": 6.0}, {"x1": 3.0}, {"x1": Shift(size)},
        {"x1": 2.0}, {"x0": 5.0, "x1": Shift(1.0)}, {"x0": 6.0, "x1": Shift(size)},
        {"x0": 6.0, "x1": 2.0}, {"x0": 7.0, "x1": Shift(1.0)}, {"x2": Shift(1.0, high=4.0)},
    ]  # fmt: skip
    found, expected = (
        np.concatenate(
            [v[..., :150].copy() for _, v in way(rows, predictor, variants)(slice(0, 150))]
        )
        for way in (quick, of_variants)
    )
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("kind", list(QUICK))
def test_versions_in_which_only_some_changes_are_alike(kind):
    """A shift that bounds cut off for some rows is none that all rows share."""
    data = datasets.load("iris")
    quick, model = QUICK[kind]
    model = clone(model).fit(data.X, data.y)
    predictor = model.fitted_.predictor()
    rows = AlteredRows(model, data.X)
    variants = [{"x0": Shift(1.0, high=6.0)}, {"x0": Shift(0.3), "x1": Shift(1.0, high=3.0)}]
    found, expected = (
        np.concatenate(
            [v[..., :150].copy() for _, v in way(rows, predictor, variants)(slice(0, 150))]
        )
        for way in (quick, of_variants)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)
