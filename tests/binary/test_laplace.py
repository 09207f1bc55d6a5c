"""Normal approximations: modes and evidences against quadrature, draws against their density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, kstest

from pasb.binary.bent_normal import WIDE_SHARE, WIDTH, pack
from pasb.binary.binary_model import Keys
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.laplace import Laplace, laplace_logistic
from pasb.numerics.rows import (
    Rows,
)
from pasb.sticks import ABSENT, FAILURE, SUCCESS


@pytest.mark.parametrize("precision", [0.5, "ard"])
def test_laplace_finds_the_mode_and_the_evidence(precision):
    """Mode against its equation, evidence of one intercept against quadrature."""
    prior = CoefficientPrior.of(precision, 3.0, 2.0)
    # rows that are absent fill a block, and share others with those that are not
    y = np.repeat(np.arange(5), [100, 18, 500, 12, 3])
    roles = np.array([ABSENT, FAILURE, ABSENT, SUCCESS, ABSENT], dtype=np.int8)
    fit = laplace_logistic(Rows.of(np.ones((len(y), 1)), y, 5), roles, prior)
    p = 1 / (1 + np.exp(-fit.mode[0]))
    gradient = 12 - 30 * p - prior.precision_at(fit.mode)[0] * fit.mode[0]
    assert gradient == pytest.approx(0, abs=1e-3)

    def posterior(b):
        likelihood = -12 * np.logaddexp(0, -b) - 18 * np.logaddexp(0, b)
        return np.exp(likelihood + prior.log_density(np.array([b])))

    exact = np.log(quad(posterior, -15, 15, epsabs=0)[0])
    assert fit.log_evidence == pytest.approx(exact, abs=0.03)
    proposal = quad(lambda b: np.exp(fit.log_density(np.array([b]))), -15, 15)[0]
    assert proposal == pytest.approx(1, abs=1e-6)


@pytest.mark.statistical(level=1e-6)
def test_laplace_draws_have_the_density_they_claim(seed, level):
    """The two-component proposal against its own distribution function."""
    mode, scale = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    factor = np.array([[1.0, 0.0], [0.6, 0.8]])
    approximation = Laplace(pack(mode, scale, factor, -2 * np.log(1.5 / 0.8), 0.0), 0.0)
    draws = np.empty((20_000, 2))
    for i in range(len(draws)):
        approximation.draw(Keys(seed, 0, i).at(0), draws[i])
    z = (draws - mode) / scale @ factor
    distance = np.sum(z**2, axis=1)

    def cdf(d):
        return 1 - (1 - WIDE_SHARE) * np.exp(-d / 2) - WIDE_SHARE * np.exp(-d / 2 / WIDTH**2)

    assert kstest(distance, cdf).pvalue > level / 3
    for column in z.T:  # symmetric about the mode
        assert binomtest(int((column > 0).sum()), len(column)).pvalue > level / 3
