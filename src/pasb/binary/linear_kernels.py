"""What the updates of all linear models share: predictors, the centre half, precisions.

An update of a stick has two halves. The *row half* (`pasb.binary.logistic_kernels`,
`pasb.binary.robit_kernels`) draws the latents of every row given the coefficients and adds up
what the coefficients need of them, X'WX and a linear term. The *centre half* draws the
coefficients from these sums and sees no row, unless their matrix cannot be factorised.

Compiled code takes plain tuples of arrays, because every call from Python costs some time during
which other chains wait: Numba finds out the type of nine arguments in 0.7 microseconds, as a plain
tuple or one by one, that of a named tuple of them in twice that. The tuples are

``regression = (weighted_rows, prior, link)``
    ``weighted_rows = (blocks, weights, bounds)`` of `pasb.numerics.rows.Rows`;
    ``prior = (ard, shape, rate)`` or ``(kind, shape, rate, location)``, see
    `pasb.binary.coefficient_prior`;
    ``link = (df, constant, pieces)`` of `pasb.binary.t_link`;
``work = (latents, linear_weights, used, scratch, gram, linear, scale, factor, padded_coef)``
    the work space of an update, see `LinearSpace`;
``keys = (seed, chain, sweep)``
    which name the random numbers of a sweep.

Arguments of the kernels of linear models, with n columns, padded to n_padded for vectorised code,
and rows in n_blocks blocks of `BLOCK`:

- `blocks` (n_blocks, n_padded, BLOCK), `weights` (n_blocks x BLOCK), `bounds` (n_groups + 1):
  covariates, row weights, and where groups of rows begin; a group is a category, unless rows
  differ in what is available (`pasb.numerics.rows.Rows`);
- `roles` (n_groups): what the rows of each group are on the stick (`pasb.sticks`);
- `coef`, `precision` (n) or (n_padded): coefficients of a category, and their precisions;
- `eta`, `residual` (rows): linear predictors, and derivatives of the log-likelihood by them; of
  all rows or of one block, as work space;
- `slope` (n_padded), `sums` (n_groups): the gradient of the log-posterior, and the log-likelihood
  of each group's rows;
- `success`, `failure` (n_groups): sums of the logs of success and of failure over each group's
  rows;
- `latents`, `linear_weights` (n_blocks x BLOCK), `used` (n_blocks): weight and linear term of the
  latent observation of each row, and which blocks have a row that counts;
- `gaussian` (packed size): a normal approximation (`pasb.binary.bent_normal`);
- `forward` (bool): whether sticks stop on success;
- `key` (uint64): of a stream of random numbers, whose row i belongs to row i of the table or to
  coefficient i;
- `seed`, `chain`, `sweep`, `stick` (int): what names the random numbers of an update.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.coefficient_prior import NORMAL
from pasb.binary.precisions import within_bounds
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import BLOCK, Rows, one_predictor
from pasb.sticks import ABSENT
from pasb.variates.scalar import gamma, normal, open_stream

# Layers of the stream. For a plain int Numba would compile the callee once per value.
LATENTS, COEFFICIENTS, PRECISIONS, STRETCH = (np.int64(k) for k in range(4))
NO_EXPERT = np.int64(0)


class LinearSpace(NamedTuple):
    """Work space of a thread that deals with linear predictors.

    An update, a proposal and a normal approximation never run in one thread at the same time, so
    they share what they need for every row. Linear predictors are not kept: to compute them
    again where they are needed costs little beside what is done with them.

    Attributes
    ----------
    pair : two vectors, of all rows of the blocks
    work : tuple of arrays
        Of an update: latents and linear weights (`pair`); which blocks have a row that counts;
        a weighted block (padded columns, BLOCK); Gram matrix and linear term, padded; scale (n)
        and factor (n, n) of the normal draw; and padded coefficients.
    proposed : tuple of arrays
        For proposed coefficients of up to two sticks: the coefficients (2, padded columns), the
        linear predictors of one of them (in `pair`), and their rows of the order table, logs of
        stopping and of going on, both (2, n_groups).
    """

    pair: tuple[NDArray[np.float64], NDArray[np.float64]]
    work: tuple[NDArray, ...]
    proposed: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, rows: Rows, squares: bool = True) -> LinearSpace:
        """Make one; without `squares`, there is no room for a Gram matrix and its factor."""
        n_blocks, n_padded, _ = rows.blocks.shape
        n = rows.n_columns
        side, own = (n_padded, n) if squares else (0, 0)
        # by themselves they fit where the preparation of the table left vectors of that size free
        pair = (np.zeros(n_blocks * BLOCK), np.zeros(n_blocks * BLOCK))
        work = (
            *pair,
            np.zeros(n_blocks, dtype=np.bool_),
            np.zeros((n_padded, BLOCK)),
            np.zeros((side, side)),
            np.zeros(n_padded),
            np.zeros(n),
            np.zeros((own, own)),
            np.zeros(n_padded),
        )
        sizes = n_padded, rows.n_groups, rows.n_groups
        coef, accept, reject = (np.zeros((2, size)) for size in sizes)
        return cls(pair, work, (coef, pair[0], accept, reject))


@elementwise
def present_predictors(blocks, bounds, roles, padded_coef, out):
    """x'b of the rows that are not absent, and of those that share a block with them.

    It goes into `out` (n_blocks x BLOCK); of other rows that stays as it is.
    """
    done = 0
    for s in range(roles.shape[0]):
        if roles[s] == ABSENT or bounds[s] == bounds[s + 1]:
            continue
        stop = (bounds[s + 1] - 1) // BLOCK + 1
        for k in range(max(done, bounds[s] // BLOCK), stop):
            one_predictor(blocks[k], padded_coef, out[k * BLOCK : (k + 1) * BLOCK])
        done = stop


@kernel
def centre_half(blocks, prior, work, precision, key, coef):
    """Draw `coef` given the sums of a row half; False if that took a QR of the rows."""
    latents, linear_weights, _, _, gram, linear, scale, factor, _ = work
    n = coef.shape[0]
    for v in range(n):
        gram[v, v] += precision[v]
    if len(prior) == 4:
        for v in range(n):
            linear[v] += precision[v] * prior[3][v]
    if draw_from_precision(gram[:n, :n], linear[:n], key, scale, factor, coef):
        return True
    centre = np.zeros(n)
    if len(prior) == 4:
        centre[:] = prior[3]
    draw_by_qr(blocks, latents, linear_weights, precision, centre, key, scale, coef)
    return False


@kernel
def draw_precisions(coef, prior, key, precision):
    """alpha_v ~ Gamma(shape + 1/2, rate + (b_v - location)^2 / 2), unless it is fixed."""
    if len(prior) == 3:
        ard, shape, rate = prior
        if not ard:
            return
        for v in range(coef.shape[0]):
            draw, _ = gamma(open_stream(key, v), shape + 0.5)
            precision[v] = within_bounds(draw / (rate + 0.5 * coef[v] * coef[v]))
    else:
        kind, shapes, rates, location = prior
        for v in range(coef.shape[0]):
            if kind[v] != NORMAL:
                away = coef[v] - location[v]
                draw, _ = gamma(open_stream(key, v), shapes[v] + 0.5)
                precision[v] = within_bounds(draw / (rates[v] + 0.5 * away * away))


@kernel
def standard_normals(key, out):
    """Fill `out` with standard normal variates."""
    for v in range(out.shape[0]):
        out[v], _ = normal(open_stream(key, v))
