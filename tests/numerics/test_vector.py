"""Vector functions against NumPy, to the last digit and at the ends of their range."""

from __future__ import annotations

import numpy as np
from numba import njit

from pasb.numerics.vector import vector_exp, vector_log, vector_log1p_exp_neg, vector_softplus


@njit
def apply(which, x, out):
    for i in range(x.size):
        if which == 0:
            out[i] = vector_exp(x[i])
        elif which == 1:
            out[i] = vector_log(x[i])
        elif which == 2:
            out[i] = vector_log1p_exp_neg(x[i])
        else:
            out[i] = vector_softplus(x[i])


def largest_relative_error(which, x, reference):
    out = np.empty_like(x)
    apply(which, x, out)
    return np.max(np.abs(out / reference - 1))


class TestVectorFunctions:
    def test_exp(self):
        x = np.linspace(-700, 700, 100_001)
        assert largest_relative_error(0, x, np.exp(x)) < 1e-15

    def test_log(self):
        x = np.exp(np.linspace(-700, 700, 100_001))
        x = x[np.abs(np.log(x)) > 1e-3]
        assert largest_relative_error(1, x, np.log(x)) < 1e-15
        near_one = 1 + np.linspace(1e-8, 1e-3, 10_001)
        assert largest_relative_error(1, near_one, np.log(near_one)) < 1e-15

    def test_log1p_exp_neg(self):
        x = np.linspace(0, 700, 100_001)
        assert largest_relative_error(2, x, np.log1p(np.exp(-x))) < 2e-15

    def test_softplus(self):
        x = np.linspace(-700, 1e4, 100_001)
        assert largest_relative_error(3, x, np.logaddexp(0, x)) < 2e-15

    def test_extremes_stay_finite(self):
        x = np.array([-1e300, -1e4, -708.5, 0.0, 709.5, 1e4, 1e300])
        for which in (0, 3):
            out = np.empty_like(x)
            apply(which, x, out)
            assert np.isfinite(out).all()
