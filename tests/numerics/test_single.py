"""Exponential and logarithm in single precision against NumPy's in double precision."""

from __future__ import annotations

import numpy as np

from pasb.numerics.compiled import elementwise
from pasb.numerics.single import single_exp, single_log


@elementwise
def _apply(x, exponential, logarithm):
    for i in range(x.size):
        exponential[i] = single_exp(x[i])
        logarithm[i] = single_log(abs(x[i]))


def both(x):
    out = np.empty((2, x.size), dtype=np.float32)
    _apply(x, out[0], out[1])
    return out.astype(np.float64)


def test_exponential_and_logarithm():
    x = np.concatenate([np.linspace(-87, 88, 100_001), np.geomspace(1e-37, 1e37, 100_001)])
    x = x[x != 0].astype(np.float32)
    exponential, logarithm = both(x)
    inside = x <= 88
    expected = np.exp(x[inside].astype(np.float64))
    np.testing.assert_allclose(exponential[inside], expected, rtol=2e-7)
    np.testing.assert_allclose(logarithm, np.log(abs(x.astype(np.float64))), rtol=3e-7, atol=1e-7)


def test_far_out_they_stay_finite():
    x = np.array([-1e30, -np.inf, 89.0, 1e30, np.inf], dtype=np.float32)
    exponential, _ = both(x)
    assert (exponential > 0).all()
    assert np.isfinite(exponential).all()
