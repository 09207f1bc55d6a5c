"""The prior of coefficients, precisions integrated out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import t

from pasb.binary.coefficient_prior import CoefficientPrior


@pytest.mark.parametrize(
    "prior", [CoefficientPrior(True, 2.0, 8.0), CoefficientPrior(False, 0.5, 1)]
)
def test_prior_is_a_density_with_the_stated_gradient(prior):
    def density(b):
        return np.exp(prior.log_density(np.array([b])))

    assert quad(density, -np.inf, np.inf)[0] == pytest.approx(1, abs=1e-6)
    if prior.ard:
        assert density(1.3) == pytest.approx(t.pdf(1.3, 4, scale=2))
    slope = (np.log(density(1.3 + 1e-5)) - np.log(density(1.3 - 1e-5))) / 2e-5
    assert -prior.precision_at(np.array([1.3]))[0] * 1.3 == pytest.approx(slope, rel=1e-6)
