"""Quick probabilities of several versions of rows are those of the general way."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import SoftplusClassifier, StickLogisticClassifier, datasets
from pasb.effects.altered_rows import AlteredRows, Shift
from pasb.effects.logistic_variants import are_logistic, of_logistic_variants
from pasb.effects.softplus_variants import are_softplus, of_softplus_variants
from pasb.effects.streaming import of_variants

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 30, "n_jobs": 1, "random_state": 0}
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
