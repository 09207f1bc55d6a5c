"""A prior of its own for each column: normal, t, or a horseshoe, on the inner scale.

A model takes them as plain tuples, the constant's first:

``("normal", location, scale)``
``("t", df, location, scale)``
``("horseshoe", scale)``
    b_v ~ N(0, lambda_v^2 tau^2), with lambda_v half-Cauchy of scale 1 and one tau for the columns
    of a stick that have this prior, half-Cauchy of the given scale (Carvalho, Polson and Scott
    2010).

A half-Cauchy scale is a gamma mixture of gammas (Makalic and Schmidt 2016). With w = 1 / tau^2,

    alpha_v ~ Gamma(1/2, r_v),  r_v ~ Gamma(1/2, w),
    w ~ Gamma(1/2, z),  z ~ Gamma(1/2, 1 / scale^2),

so given its rate r_v a coefficient has a t distribution with one degree of freedom, like others
with one. `draw_shrinkage` draws r, w and z by Gibbs steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pasb.binary.coefficient_prior import HORSESHOE, NORMAL, STUDENT
from pasb.binary.precisions import within_bounds
from pasb.numerics.compiled import kernel
from pasb.variates.scalar import exponential, gamma, open_stream

KINDS = {"normal": 3, "t": 4, "horseshoe": 2}  # and the length of their tuples

# mypy: disable-error-code="call-arg"


class ColumnPriors(NamedTuple):
    """Independent coefficients, each with a prior of its own; arrays of shape (n_columns,).

    With `kind` normal, ``shape / rate`` is the precision. Otherwise the precision has a gamma
    prior; that of a horseshoe has a rate that changes, and `rate` is a typical one.
    """

    kind: NDArray[np.int8]
    shape: NDArray[np.float64]
    rate: NDArray[np.float64]
    location: NDArray[np.float64]

    @classmethod
    def of(cls, priors: Sequence[Sequence[Any]]) -> ColumnPriors:
        """From plain tuples."""
        kind = np.empty(len(priors), dtype=np.int8)
        shape, rate, location = np.ones((3, len(priors)))
        for v, (name, *numbers) in enumerate(priors):
            if name == "normal":
                kind[v], (location[v], scale) = NORMAL, numbers
                shape[v] = 1 / scale**2
            elif name == "t":
                kind[v], (df, location[v], scale) = STUDENT, numbers
                shape[v], rate[v] = df / 2, df / 2 * scale**2
            else:
                kind[v], location[v], scale = HORSESHOE, 0.0, numbers[0]
                shape[v], rate[v] = 0.5, 0.5 * scale**2
        return cls(kind, shape, rate, location)

    @property
    def symmetric(self) -> bool:
        """Whether the density does not know a sign."""
        return not self.location.any()

    @property
    def shrinks(self) -> bool:
        """Whether some columns have a horseshoe."""
        return bool((self.kind == HORSESHOE).any())

    @property
    def scale(self) -> float:
        """A typical scale of a coefficient."""
        return float(np.exp(np.mean(0.5 * np.log(self.rate / self.shape))))

    @property
    def horseshoe_scale(self) -> float:
        """The scale of tau."""
        return float(np.sqrt(2 * self.rate[self.kind == HORSESHOE][0]))

    def some(self, columns: NDArray[np.int64]) -> ColumnPriors:
        """The priors of some of the columns."""
        return ColumnPriors(
            self.kind[columns], self.shape[columns], self.rate[columns], self.location[columns]
        )

    def log_density(self, coef: NDArray[np.float64]) -> float:
        """Log-density of a coefficient vector, constants included; rates as they are here."""
        a, b = self.shape, self.rate
        square = 0.5 * (coef - self.location) ** 2
        normal = 0.5 * np.log(a / b) - a / b * square
        t = gammaln(a + 0.5) - gammaln(a) + a * np.log(b) - (a + 0.5) * np.log(b + square)
        each = np.where(self.kind == NORMAL, normal, t) - 0.5 * math.log(2 * math.pi)
        return float(each.sum())

    def precision_at(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Precision of the normal distribution, around the location, that touches the prior."""
        touching = (self.shape + 0.5) / (self.rate + 0.5 * (coef - self.location) ** 2)
        return np.where(self.kind == NORMAL, self.shape / self.rate, touching)

    def pull(
        self, coef: NDArray[np.float64], precision: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Minus the gradient of the log-density, from what `precision_at` found there."""
        return precision * (coef - self.location)

    def start(self, n: int) -> NDArray[np.float64]:
        """Precisions to start from."""
        return self.shape / self.rate

    def simulate(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw precisions, given the rates."""
        drawn = rng.gamma(self.shape) / self.rate
        return np.where(self.kind == NORMAL, self.shape / self.rate, drawn)

    def simulate_shrinkage(self, rng: np.random.Generator) -> tuple[ColumnPriors, NDArray]:
        """Draw the rates of the horseshoe: the priors with these rates; w and z."""
        rate, shrinkage = self.rate.copy(), np.empty(2)
        key = np.uint64(rng.integers(2**63))
        draw_horseshoe(self.kind, self.horseshoe_scale, key, rate, shrinkage)
        return self._replace(rate=rate), shrinkage


def check_priors(priors: Any) -> None:
    """Raise a ValueError for what is no list of plain tuples as above."""
    scales = set()
    for own in priors:
        name, *numbers = own
        if name not in KINDS or len(own) != KINDS[name]:
            raise ValueError(
                f"priors: {own!r} must be ('normal', location, scale), "
                "('t', df, location, scale) or ('horseshoe', scale)"
            )
        if not all(math.isfinite(number) for number in numbers) or not numbers[-1] > 0:
            raise ValueError(f"priors: {own!r} has a scale that is not positive")
        if name == "t" and not numbers[0] > 0:
            raise ValueError(f"priors: {own!r} has degrees of freedom that are not positive")
        if name == "horseshoe":
            scales.add(numbers[0])
    if len(scales) > 1:
        raise ValueError("priors: all columns with a horseshoe share one scale")


@kernel
def draw_shrinkage(coef, kind, scale, key, rate, precision, shrinkage):
    """Draw rates r, then w and z; ``shrinkage = (w, z)``.

    Columns have a `kind`, a coefficient in `coef`, a `precision` and a `rate` each; `scale` is that
    of the horseshoe. Random numbers are those of the stream `key`.

    r_v ~ Exponential(alpha_v + w). Then w given alpha / w and r w, which do not depend on it in the
    prior: Gamma((m + 1) / 2, z + sum of alpha_v b_v^2 / (2 w)), and alpha and r follow it.
    """
    n = coef.shape[0]
    w, z = shrinkage
    m, total = 0, 0.0
    for v in range(n):
        if kind[v] == HORSESHOE:
            draw, _ = exponential(open_stream(key, v))
            rate[v] = within_bounds(draw / (precision[v] + w))
            m += 1
            total += 0.5 * precision[v] / w * coef[v] ** 2
    draw, _ = gamma(open_stream(key, n), 0.5 * (m + 1))
    ratio = within_bounds(draw / (z + total)) / w
    for v in range(n):
        if kind[v] == HORSESHOE:
            precision[v] = within_bounds(precision[v] * ratio)
            rate[v] = within_bounds(rate[v] / ratio)
    draw, _ = exponential(open_stream(key, n + 1))
    shrinkage[0] = w * ratio
    shrinkage[1] = within_bounds(draw / (1.0 / scale**2 + w * ratio))


@kernel
def draw_horseshoe(kind, scale, key, rate, shrinkage):
    """Draw z, w and rates from their prior.

    `kind`, `scale`, `key`, `rate` and `shrinkage` are as for `draw_shrinkage`.
    """
    n = kind.shape[0]
    draw, _ = gamma(open_stream(key, n), 0.5)
    shrinkage[1] = within_bounds(draw * scale**2)
    draw, _ = gamma(open_stream(key, n + 1), 0.5)
    shrinkage[0] = within_bounds(draw / shrinkage[1])
    for v in range(n):
        if kind[v] == HORSESHOE:
            draw, _ = gamma(open_stream(key, v), 0.5)
            rate[v] = within_bounds(draw / shrinkage[0])
