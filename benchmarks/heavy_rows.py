"""How exact coefficients are where the weights of rows differ by many decades.

``python benchmarks/heavy_rows.py [GREATEST ...]``: a layer of a softplus model under the paper's
prior, where a Polya-Gamma weight may be 1e20 beside a prior precision of 1e-12. The mean of the
draw, by Cholesky of the sums, by QR of the rows and by QR of heavy rows and the light rows'
factor, against rational numbers, in units of the distribution's own spread.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_heavy import draw_with_heavy_rows
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import BLOCK, blocked
from report import write

N_ROWS, N_COLUMNS, N_PROBLEMS = 60, 5, 12
SPREAD = 1e6  # of coefficients and predictors: that of the prior
KEY = np.uint64(7)

exact = np.vectorize(Fraction, otypes=[object])


def distances(rng: np.random.Generator, greatest: float) -> dict[str, float]:
    """Of the three ways, for one problem with weights up to the greatest."""
    m, n = N_ROWS, N_COLUMNS
    X = np.column_stack([np.ones(m), rng.random((m, n - 1))])
    heavy = rng.random(m) < 0.3
    exponents = rng.uniform(-6, 0, m)
    exponents[heavy] = rng.uniform(2, math.log10(greatest), heavy.sum())
    w = 10.0**exponents
    psi, alpha, centre = SPREAD * rng.normal(size=m), np.full(n, SPREAD**-2), np.zeros(n)
    # where the theta of a row is large, Gibbs sampling turns a positive predictor round
    linear = np.where(psi > 0, -2 * w * psi, np.sqrt(w))
    Q = exact(X).T @ (exact(w)[:, None] * exact(X)) + np.diag(exact(alpha))
    mean = solve(Q, exact(X).T @ exact(linear))
    blocks, used = blocked(X), np.ones(1, dtype=np.bool_)
    weights, linear_weights, none = np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK)
    weights[:m], linear_weights[:m] = w, linear

    def cholesky(linear_weights: NDArray) -> NDArray:
        out = np.full(n, np.nan)
        gram = (X * w[:, None]).T @ X + np.diag(alpha)
        sums = X.T @ linear_weights[:m]
        draw_from_precision(gram, sums, KEY, np.empty(n), np.empty((n, n)), out)
        return out

    def qr(linear_weights: NDArray) -> NDArray:
        out = np.empty(n)
        draw_by_qr(blocks, weights, linear_weights, alpha, centre, KEY, np.empty(n), out)
        return out

    def heavy_rows(linear_weights: NDArray) -> NDArray:
        out, p = np.empty(n), blocks.shape[1]
        work = np.empty((p, BLOCK)), np.empty((p, p)), np.empty(n), np.empty((n, n))
        given = weights, linear_weights, used, alpha, centre
        draw_with_heavy_rows(blocks, *given, KEY, *work, out)
        return out

    out = {}
    for way in (cholesky, qr, heavy_rows):
        drawn = way(linear_weights) - way(none)  # with the same noise
        if np.isfinite(drawn).all():
            off = exact(drawn) - mean
            out[way.__name__] = math.sqrt(off @ Q @ off)
        else:
            out[way.__name__] = math.inf
    return out


def solve(matrix: NDArray, right: NDArray) -> NDArray:
    """Gaussian elimination."""
    n = len(right)
    a = np.column_stack([matrix, right])
    for j in range(n):
        a[j] = a[j] / a[j, j]
        for i in range(n):
            if i != j:
                a[i] = a[i] - a[j] * a[i, j]
    return a[:, n]


def up_to(greatest: float) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(0)
    problems = [distances(rng, greatest) for _ in range(N_PROBLEMS)]
    return {
        way: {name: float(of([own[way] for own in problems])) for name, of in FIGURES.items()}
        for way in problems[0]
    }


FIGURES = {"median": np.median, "worst": np.max}
PARTS = {f"{w:.0e}": partial(up_to, w) for w in (1e5, 1e8, 1e11, 1e14, 1e17, 1e20)}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "heavy-rows-")
