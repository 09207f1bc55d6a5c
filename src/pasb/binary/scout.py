"""A better normal approximation of a stick, from a short chain of trajectories.

The curvature at the mode says little about a posterior that is far from normal: near separation
the coefficients reach several times as far as it suggests. So a short chain with trajectories
runs on the stick's posterior before the sampler begins. Mean and covariance of its positions
make the next approximation, in which it continues; several times, longer and longer. On which
scale the posterior is closer to normal, bent or not (`pasb.binary.bent_normal`), is judged by how
much weights vary. In the end the draws tell how many steps a trajectory needs,
how many leaps a bridge, and the evidence.

All random numbers depend on nothing, so what a scout finds is a function of the rows and the first
approximation. The sampler's moves are exact whatever it finds.

Arguments as in `pasb.binary.linear_kernels`; `n_steps` is the length of trajectories, `phase`
tells the streams of the stages apart, `draws` (draws, n) get the positions, and `work` is that of
`pasb.binary.travel`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.bent_normal import pack, unpacked
from pasb.binary.bridge import bridge
from pasb.binary.coefficient_prior import CoefficientPrior, coefficient_log_prior
from pasb.binary.column_priors import ColumnPriors
from pasb.binary.slopes import slopes
from pasb.binary.travel import STEPS, enough_steps, travel, travel_space
from pasb.numerics.compiled import kernel
from pasb.numerics.gaussian import equilibrated_cholesky
from pasb.numerics.rows import Rows
from pasb.variates.scalar import open_stream, stream_key, uniform

PHASES = (1, 1, 2, 4)  # their lengths
BASE, A_COLUMN = 30, 3  # trajectories of a phase of length 1, and more for each column
SHRINKAGE = 1.0  # of a covariance to that of the first approximation: draws a column
MARGIN = 0.8  # by how much better an approximation must be to be bent
POOR = 0.4  # acceptance below which a phase teaches nothing
ENOUGH, N_STARTS = 0.8, 16  # acceptance of trajectories, and from how many draws it is judged
LEAPS = (0, 2, 4, 8, 16, 32, 64)
GAP, N_BRIDGES = 0.3, 12  # between the median log-weights of bridges there and back
CLOSE = 1.0  # the gap without leaps at which the first approximation is good enough

ZERO = np.int64(0)
# purposes of the stream, and kinds
SCOUT, THERE, BACK = np.int64(13), np.int64(14), np.int64(15)
WANDER, START = np.int64(0), np.int64(1)

# mypy: disable-error-code="call-arg"


class Scout(NamedTuple):
    """What a short chain found of a stick.

    Attributes
    ----------
    packed : array
        The approximation, with the log-evidence.
    n_steps, n_leaps : int
        Of its trajectories, and of its bridges.
    """

    packed: NDArray[np.float64]
    n_steps: int
    n_leaps: int


class _Stick(NamedTuple):
    """Whose posterior a scout explores, and where it works."""

    regression: tuple
    roles: NDArray[np.int8]
    work: tuple[NDArray[np.float64], ...]

    def enough_steps(self, packed: NDArray[np.float64], draws: NDArray[np.float64]) -> int:
        """The fewest steps with which most trajectories from some draws are accepted."""
        starts = draws[:: max(1, len(draws) // N_STARTS)]
        for n_steps in STEPS[:-1].tolist():
            task = (self.regression, packed, self.roles, n_steps, starts, self.work)
            if mean_acceptance(*task) >= ENOUGH:
                return n_steps
        return int(STEPS[-1])

    def gap(
        self,
        packed: NDArray[np.float64],
        draws: NDArray[np.float64],
        steps_and_leaps: tuple[int, int],
    ) -> tuple[float, float]:
        """How much the log-weights of bridges vary; and the log-evidence without a constant.

        Bridges from the approximation have too small a log-weight for the evidence, bridges back
        from draws of the posterior one that is too large, and what is between the two medians
        is about the variance of either.
        """
        coef = np.zeros(len(self.work[0]))
        there, back = np.empty((2, N_BRIDGES))
        task = (self.regression, packed, self.roles, steps_and_leaps)
        for i in range(N_BRIDGES):
            names = (ZERO, ZERO, np.int64(steps_and_leaps[1]), np.int64(i), ZERO)
            there[i] = bridge(*task, True, (*names, THERE), coef, self.work)
            coef[: draws.shape[1]] = draws[(2 * i + 1) * len(draws) // (2 * N_BRIDGES)]
            back[i] = bridge(*task, False, (*names, BACK), coef, self.work)
        low = float(np.median(np.nan_to_num(there, nan=-np.inf)))
        high = float(np.median(np.nan_to_num(back, nan=np.inf)))
        return high - low, (low + high) / 2

    def enough_leaps(
        self, packed: NDArray[np.float64], draws: NDArray[np.float64], n_steps: int
    ) -> tuple[int, float]:
        """Leaps of a bridge whose weights vary little, and the log-evidence."""
        least, found = math.inf, (0, math.nan)
        for n_leaps in LEAPS:
            gap, evidence = self.gap(packed, draws, (n_steps, n_leaps))
            if gap < least:
                least, found = gap, (n_leaps, evidence)
            if gap < GAP:
                break
        return found


def scout(
    rows: Rows,
    roles: NDArray[np.int8],
    prior: CoefficientPrior | ColumnPriors,
    link: tuple[float, float, NDArray],
    first: NDArray[np.float64],
) -> Scout:
    """Improve a packed approximation by a short chain.

    Parameters
    ----------
    rows : Rows
    roles : array of shape (n_categories,)
        What the rows of each category are.
    prior : CoefficientPrior or ColumnPriors
    link : tuple
        See `pasb.binary.t_link`.
    first : array
        The approximation at the mode.

    Returns
    -------
    Scout
    """
    n = rows.n_columns
    regression = ((rows.blocks, rows.weights, rows.bounds), tuple(prior), link)
    stick = _Stick(regression, roles, travel_space(rows))
    coef = np.zeros(rows.blocks.shape[1])
    coef[:n] = unpacked(first)[0]
    narrow = covariance_of(first)
    most_bent = 1 / prior.scale
    n_steps = int(enough_steps(regression, first, roles, stick.work))
    now, before = first, (first, n_steps)
    kept = np.tile(coef[:n], (N_BRIDGES, 1))  # the draws of the last phase that went well
    for phase, length in enumerate(PHASES):
        draws = np.empty((length * (BASE + A_COLUMN * n), n))
        name = np.int64(phase)
        accepted = wander(regression, now, roles, n_steps, name, coef, draws, stick.work)
        if accepted < POOR * len(draws):
            now, n_steps = before
            n_steps = min(2 * n_steps, int(STEPS[-1]))
            coef[:n] = kept[len(kept) // 2]
            continue
        before, kept = (now, n_steps), draws
        straight, bent = (fitted(draws, bend, narrow) for bend in (0.0, most_bent))
        now, least = first, stick.gap(first, draws, (n_steps, 0))[0]
        for one, margin in ((straight, 1.0), (bent, MARGIN)):
            if one is None:
                continue
            gap = stick.gap(one, draws, (n_steps, 0))[0]
            if gap < margin * least:
                now, least = one, gap
        n_steps = stick.enough_steps(now, draws)
        if phase == 0 and now is first and least < CLOSE:
            break  # the first one is good
    constant = prior.log_density(np.zeros(n)) - coefficient_log_prior(
        np.zeros(n), 1.0, tuple(prior)
    )
    n_leaps, evidence = stick.enough_leaps(now, kept, n_steps)
    now = now.copy()
    now[-1] = evidence + constant
    return Scout(now, n_steps, n_leaps)


def mirrored(found: Scout) -> Scout:
    """What a scout would find of the stick on which success and failure trade places."""
    packed = found.packed.copy()
    mode = unpacked(packed)[0]
    mode *= -1.0
    return found._replace(packed=packed)


def covariance_of(packed: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariance matrix of the positions of an approximation."""
    _, scale, factor, _, _ = unpacked(packed)
    inverse = np.linalg.inv(np.tril(factor))
    return scale[:, None] * (inverse.T @ inverse) * scale


def fitted(
    draws: NDArray[np.float64], bend: float, narrow: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """A packed approximation with the moments of some draws; None where it has no density.

    `narrow` is the covariance of the first approximation.
    """
    m, n = draws.shape
    positions = np.arcsinh(bend * draws) / bend if bend > 0 else draws
    flat = 1 / np.sqrt(1 + (bend * draws.mean(axis=0)) ** 2)
    centred = positions - positions.mean(axis=0)
    covariance = centred.T @ centred + SHRINKAGE * n * (flat[:, None] * narrow * flat)
    covariance /= m + SHRINKAGE * n
    scale, factor = np.zeros(n), np.zeros((n, n))
    try:
        precision = np.linalg.inv(covariance)
    except np.linalg.LinAlgError:
        return None
    if not equilibrated_cholesky(precision, scale, factor):
        return None
    log_determinant = float(2 * np.sum(np.log(np.diag(factor)) - np.log(scale)))
    bends = np.full(n, bend)
    return pack(positions.mean(axis=0), scale, factor, log_determinant, 0.0, bends)


@kernel
def wander(regression, gaussian, roles, n_steps, phase, coef, draws, work):
    """Follow trajectories from `coef`, padded, and keep where they lead.

    `coef` becomes the last of the draws. The number of trajectories that were accepted.
    """
    new_coef, new_slope, new_sums, eta, residual, _ = work
    n = draws.shape[1]
    new_coef[n:] = 0.0
    slope, sums = np.zeros(coef.shape[0]), np.zeros(new_sums.shape[0])
    slopes(regression, roles, coef, eta, residual, slope, sums)
    accepted = 0
    for i in range(draws.shape[0]):
        key = stream_key(ZERO, ZERO, np.int64(i), phase, WANDER, SCOUT)
        n_own = n_steps if i % 5 < 4 else 2 * n_steps  # where it is steep, these get away
        gain = travel(regression, gaussian, roles, n_own, key, coef[:n], slope, sums, work)
        u, _ = uniform(open_stream(key, n))
        if math.log(u) < gain:
            coef[:] = new_coef
            slope[:] = new_slope
            sums[:] = new_sums
            accepted += 1
        draws[i] = coef[:n]
    return accepted


@kernel
def mean_acceptance(regression, gaussian, roles, n_steps, starts, work):
    """Mean acceptance of trajectories, one from each row of `starts`."""
    new_coef, _, new_sums, eta, residual, _ = work
    n = starts.shape[1]
    new_coef[n:] = 0.0
    coef, slope = np.zeros(new_coef.shape[0]), np.zeros(new_coef.shape[0])
    sums = np.zeros(new_sums.shape[0])
    total = 0.0
    for i in range(starts.shape[0]):
        coef[:n] = starts[i]
        slopes(regression, roles, coef, eta, residual, slope, sums)
        key = stream_key(ZERO, ZERO, np.int64(i), ZERO, START, SCOUT)
        gain = travel(regression, gaussian, roles, n_steps, key, coef[:n], slope, sums, work)
        total += math.exp(min(gain, 0.0)) if gain == gain else 0.0
    return total / starts.shape[0]
