"""Softplus regression: K experts, each a stack of T layers (Zhou 2016; section 4 of the paper).

    success with probability 1 - exp(-sum_k r_k q_T),  r_k ~ Gamma(gamma_0 / K, rate c_0),
    q_0 = 1,  q_t = log(1 + q_(t-1) exp(psi_t)),  psi_t = x'b_k^(t+1),
    b ~ N(0, 1 / alpha),  alpha ~ Gamma(shape, rate) or fixed,
    gamma_0 ~ Gamma(mass_shape, mass_rate),  c_0 ~ Gamma(inverse_scale_shape, inverse_scale_rate).

**Augmentation.** In the paper's hierarchy theta_t ~ Gamma(theta_(t+1), scale exp(psi_t)),
theta_(T+1) = r_k, and a row succeeds when one of its counts m_k ~ Poisson(theta_1) is not
zero. Let the counts be those of Poisson processes on [0, 1] and keep, instead of a count, the
time u of its first arrival (*active*), or that there is none. With e_0 = u, or 1 when there
is none, and e_t = log(1 + e_(t-1) exp(psi_t)), integrating out theta_1, ..., theta_t leaves
that no arrival comes before e_t at rate theta_(t+1), or that the first one comes then:

    exp(-theta_(t+1) e_t)  or  theta_(t+1) exp(-theta_(t+1) e_t) de_t / de_(t-1) ... de_1 / du.

As exp(-e_t) = 1 / (1 + e_(t-1) exp(psi_t)), layer t sees a negative binomial likelihood of n
= 0 or 1 with shape theta_(t+1) and logit psi_t + log e_(t-1). So one update is

1. given coefficients, weights and labels, latents from their exact joint distribution: which
   experts are active, with probabilities 1 - exp(-r_k q_T) but not none where the label is 1;
   e_T, an exponential of rate r_k cut off at q_T where active; downward e_(t-1) = (exp(e_t) - 1)
   exp(-psi_t) and theta_t ~ Gamma(theta_(t+1) + n, scale exp(psi_t - e_t));
2. upward, t = 1..T: w ~ PG(theta_(t+1) + n, psi_t + log e_(t-1)), coefficients with
   precision diag(alpha) + X'WX and linear term X'((n - theta_(t+1)) / 2 - w log e_(t-1)), and
   the new e_t; theta_(t+1) is then integrated out;
3. with n_k and E_k the sums of n and e_T: gamma_0 by CRT(n_k, gamma_0 / K) with the weights
   integrated out, then r_k ~ Gamma(gamma_0 / K + n_k, rate c_0 + E_k), then c_0.

No latent variable outlives an update, so the update is exact whatever rows the stick had
before. An expert is active in a row when the paper's count is positive, hence "active
experts" means the same; but h is theta + 1 rather than theta + m, with m up to exp(q_1), so
the coefficients move further: with a fixed order, 1.8 to 2 times the effective sample size of
the log-likelihood on square (K = 5, T = 3) and vehicle (K = 5, T = 1), none more on vehicle
with T = 3, and a quicker start on all three (one chain each).
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel, Parameters, stacked
from pasb.binary.precisions import GREATEST_PRECISION
from pasb.binary.side_by_side import Experts, softplus_probabilities
from pasb.binary.softplus_fit import LEAST_PENALTY, SoftplusFits
from pasb.binary.softplus_link import (
    LEAST,
    LINEAR_BELOW,
    LOG_GREATEST,
    link_space,
    log_link,
    log_weights,
)
from pasb.binary.softplus_posterior import position_of
from pasb.binary.softplus_printed import PrintedSampler
from pasb.binary.softplus_prior import (
    FIRST_MEAN_RATE,
    LEAST_PRECISION,
    LEAST_RATE,
    MEAN_RATE_PRIOR,
    MOST_MEAN_RATE,
)
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.numerics.adaptation import first_record
from pasb.numerics.rows import BLOCK, Rows, padded

# mypy: disable-error-code="call-arg"

NEGLIGIBLE = 1e-4  # rate of an expert that a compact model leaves out


class Softplus(BinaryModel):
    """Bayesian softplus regression, a nonlinear binary regression.

    Parameters
    ----------
    n_experts : int, default=5
        K. Success when one expert says so: a union of regions. Experts that are not needed
        get weights near zero.
    n_layers : int, default=3
        T. Each expert confines a region by up to T hyperplanes.
    precision : "ard" or positive float, default="ard"
        Prior precision of the coefficients: a number is used for all of them, "ard" gives
        each its own with a gamma prior.
    shape : float, default=2.0
        Shape of the gamma prior of the precisions.
    rate : "shared", float or pair of floats, default=8.0
        Rate of the gamma prior of the precisions. A pair is the shape and rate of a gamma
        prior that the rate of each layer of each expert has in its turn. With "shared" that
        prior is exponential, and its mean is a parameter of its own, shared by all categories
        and sampled with the rest: a wide prior, so that the data choose the scale of the
        coefficients (`pasb.moves.mean_rate`). The paper's choice, ``shape=1e-6, rate=(1, 1)``,
        is nearly improper: a coefficient of zero with infinite precision is then an absorbing
        state.
    mass_shape, mass_rate : float, default=1.0, 1.0
        Gamma prior of gamma_0, the mass of the gamma process.
    inverse_scale_shape, inverse_scale_rate : float, default=1.0, 1.0
        Gamma prior of c_0, the inverse scale of the weights.
    moves : {"gibbs", "mixed"}, default="gibbs"
        "gibbs" is the update below. "mixed" adds trajectories on the posterior with all latents
        integrated out (`pasb.moves.softplus_trajectory`): each takes as long as some ten updates
        or more, and goes much further. Both are exact.
    prune : bool, default=False
        Turn an expert off when no row needed it in 100 updates in a row; it only comes back
        when its category has been the reference. Sweeps get faster; the posterior is then
        approximate, because an expert could have come back by itself.

    Examples
    --------
    >>> from pasb import Softplus, StickBreakingClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickBreakingClassifier(
    ...     binary=Softplus(n_experts=2, n_layers=1), n_warmup=100, n_draws=100, random_state=1
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    has_fits = True
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "coef": ("expert", "layer", "column"),
        "weight": ("expert",),
        "active": ("expert",),
        "mean_rate": (),
    }

    def __init__(
        self,
        *,
        n_experts: int = 5,
        n_layers: int = 3,
        precision: float | str = "ard",
        shape: float = 2.0,
        rate: float | str | tuple[float, float] = 8.0,
        mass_shape: float = 1.0,
        mass_rate: float = 1.0,
        inverse_scale_shape: float = 1.0,
        inverse_scale_rate: float = 1.0,
        moves: str = "gibbs",
        prune: bool = False,
    ):
        self.n_experts = n_experts
        self.n_layers = n_layers
        self.precision = precision
        self.shape = shape
        self.rate = rate
        self.mass_shape = mass_shape
        self.mass_rate = mass_rate
        self.inverse_scale_shape = inverse_scale_shape
        self.inverse_scale_rate = inverse_scale_rate
        self.moves = moves
        self.prune = prune

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        """The parameters that a kept draw holds."""
        return ("coef", "weight", "active", *(("mean_rate",) if self.shares_rate else ()))

    def check(self) -> None:  # noqa: D102
        for name in ("n_experts", "n_layers"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        if self.precision != "ard" and not _positive(self.precision):
            raise ValueError(
                f"precision must be 'ard' or a positive number, not {self.precision!r}"
            )
        rate = self.rate
        pair = isinstance(rate, tuple | list) and len(rate) == 2 and all(map(_positive, rate))
        if not pair and not _positive(rate) and rate != "shared":
            raise ValueError(
                f"rate must be 'shared', a positive number or a pair of them, not {rate!r}"
            )
        for name in (
            "shape",
            "mass_shape",
            "mass_rate",
            "inverse_scale_shape",
            "inverse_scale_rate",
        ):
            if not _positive(getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, not {getattr(self, name)!r}")
        if not isinstance(self.prune, bool | np.bool_):
            raise ValueError(f"prune must be True or False, not {self.prune!r}")
        if self.moves not in ("gibbs", "mixed"):
            raise ValueError(f"moves must be 'gibbs' or 'mixed', not {self.moves!r}")
        if self.prune and self.moves == "mixed":
            raise ValueError("prune=True needs moves='gibbs': trajectories move every expert")

    def first_adaptation(self, own: Parameters) -> Parameters:
        """What trajectories know of a category before the first one; nothing without them."""
        if self.moves != "mixed":
            return {}
        return {"adaptation": first_record(len(position_of(own)))}

    @property
    def shares_rate(self) -> bool:
        """Whether the mean of the rates is a parameter."""
        return self.precision == "ard" and isinstance(self.rate, str)

    @property
    def rate_prior(self) -> tuple[float, float]:
        """Shape and rate of the prior of the rates; zeros when the rate is a number.

        Where their mean is a parameter, this is the prior with which chains start.
        """
        if isinstance(self.rate, tuple | list):
            return float(self.rate[0]), float(self.rate[1])
        return (1.0, 1.0 / FIRST_MEAN_RATE) if self.shares_rate else (0.0, 0.0)

    @property
    def first_rate(self) -> float:
        """The rate with which chains and penalised fits start."""
        a, b = self.rate_prior
        if a > 0:
            return a / b
        return FIRST_MEAN_RATE if isinstance(self.rate, str) else float(self.rate)  # type: ignore[arg-type]

    def sampler(self, rows: Rows) -> SoftplusSampler:  # noqa: D102
        return SoftplusSampler(self, rows)

    def printed_sampler(self, rows: Rows) -> PrintedSampler:  # noqa: D102
        return PrintedSampler(self, rows)

    def shapes(self, n_columns: int) -> dict[str, tuple[int, ...]]:  # noqa: D102
        n_experts = int(self.n_experts)
        shapes: dict[str, tuple[int, ...]] = {
            "coef": (n_experts, int(self.n_layers), n_columns),
            "weight": (n_experts,),
            "active": (n_experts,),
            "mean_rate": (),
        }
        return {name: shapes[name] for name in self.kept}

    def simulate(self, n_columns: int, rng: np.random.Generator) -> Parameters:  # noqa: D102
        return self._simulate(n_columns, rng, self._mean_rate(rng))

    def simulate_categories(  # noqa: D102
        self, n_columns: int, n_categories: int, rng: np.random.Generator
    ) -> Parameters:
        mean_rate = self._mean_rate(rng)
        return stacked([self._simulate(n_columns, rng, mean_rate) for _ in range(n_categories)])

    def _mean_rate(self, rng: np.random.Generator) -> float:
        """The mean of the rates from its prior, where it has one."""
        if not self.shares_rate:
            return 0.0
        shape, rate = MEAN_RATE_PRIOR
        while (inverse := rng.gamma(shape, 1 / rate)) < 1 / MOST_MEAN_RATE:
            pass
        return 1 / inverse

    def _simulate(self, n_columns: int, rng: np.random.Generator, mean_rate: float) -> Parameters:
        n_experts, n_layers = int(self.n_experts), int(self.n_layers)
        a, b = (1.0, 1 / mean_rate) if self.shares_rate else self.rate_prior
        rate = np.full((n_experts, n_layers), self.first_rate)
        if a > 0:
            rate = np.maximum(rng.gamma(a, 1 / b, rate.shape), LEAST_RATE)
        shape = (n_experts, n_layers, n_columns)
        if self.precision == "ard":
            alpha = rng.gamma(self.shape, 1 / rate[..., None], shape)
            alpha = np.clip(alpha, LEAST_PRECISION, GREATEST_PRECISION)
        else:
            alpha = np.full(shape, float(self.precision))
        mass = max(rng.gamma(self.mass_shape, 1 / self.mass_rate), LEAST)
        inverse_scale = max(rng.gamma(self.inverse_scale_shape, 1 / self.inverse_scale_rate), LEAST)
        own = {
            "coef": rng.standard_normal(shape) / np.sqrt(alpha),
            "weight": np.maximum(rng.gamma(mass / n_experts, 1 / inverse_scale, n_experts), LEAST),
            "active": np.zeros(n_experts),
            "precision": alpha,
            "rate": rate,
            "mass": np.array([mass]),
            "inverse_scale": np.array([inverse_scale]),
            "idle": np.zeros(n_experts),
        }
        if self.shares_rate:
            own["mean_rate"] = np.array(mean_rate)
        return own | self.first_adaptation(own)

    def log_probabilities(  # noqa: D102
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        coef, weight = parameters["coef"], parameters["weight"]
        n_draws, n_categories, n_experts, n_layers, n_columns = coef.shape
        flat = padded(coef.reshape(-1, n_experts * n_layers, n_columns), blocks.shape[1])
        log_weight = log_weights(weight.reshape(-1, n_experts))
        log_success, log_failure = np.empty((2, len(flat), len(blocks) * BLOCK))
        scratch = link_space(n_experts, n_layers)[:3]
        log_link(blocks, flat, log_weight, *scratch, log_success, log_failure)
        shape = (n_draws, n_categories, -1)
        return log_success.reshape(shape), log_failure.reshape(shape)

    def side_by_side(self, parameters: Mapping[str, NDArray]) -> tuple[NDArray, ...]:  # noqa: D102
        return Experts.of(parameters["coef"], parameters["weight"])

    def stick_probabilities(  # noqa: D102
        self,
        layout: tuple[NDArray, ...],
        X: NDArray[np.float64],
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        softplus_probabilities(*layout, X, success, failure)

    def penalised_fits(self, rows: Rows) -> SoftplusFits:  # noqa: D102
        precision = (
            self.shape / self.first_rate if self.precision == "ard" else float(self.precision)
        )
        # a nearly improper prior would be no penalty at all
        precision = max(precision, LEAST_PENALTY)
        return SoftplusFits(rows, int(self.n_experts), int(self.n_layers), precision)

    def without_inactive(self, parameters: Mapping[str, NDArray]) -> Parameters:  # noqa: D102
        weight = np.where(parameters["active"] > 0, parameters["weight"], 0.0)
        return {**parameters, "weight": weight}

    def without_negligible(  # noqa: D102
        self, parameters: Mapping[str, NDArray], X: NDArray[np.float64]
    ) -> Parameters:
        weight = parameters["weight"].copy()
        for own, coef, active in zip(weight, parameters["coef"], parameters["active"], strict=True):
            most = largest_rates(own, coef, X)
            out = (active == 0) & (most < NEGLIGIBLE)
            out &= most < most.max(axis=-1, keepdims=True)  # one must stay
            own[out] = 0.0
        return {**parameters, "weight": weight}

    def n_hyperplanes(self, parameters: Mapping[str, NDArray]) -> int:  # noqa: D102
        return int(self.n_layers) * int(active_experts(parameters).sum())


def largest_rates(
    weight: NDArray[np.float64], coef: NDArray[np.float64], X: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The most that experts add to the rate of a row, max of r_k q_T over the rows of `X`.

    `weight` is (..., experts), `coef` (..., experts, layers, columns).
    """
    log_q = np.zeros((*weight.shape, len(X)))
    for layer in np.moveaxis(coef, -2, 0):
        x = layer @ X.T + log_q
        log_q = np.where(x < LINEAR_BELOW, x, np.log(np.logaddexp(0, np.maximum(x, LINEAR_BELOW))))
    return np.exp(np.minimum(log_weights(weight) + log_q.max(axis=-1), LOG_GREATEST))


def active_experts(parameters: Mapping[str, NDArray]) -> NDArray[np.int64]:
    """How many experts of each category are active, over any leading axes.

    An expert is active in a draw when its latent count is positive in at least one row
    (section 4.1 of the paper). T times their number is the number of active hyperplanes. A
    category that is the reference has none under the exact scheme.
    """
    return np.sum(parameters["active"] > 0, axis=-1)


def _positive(value) -> bool:
    return isinstance(value, Real) and 0 < float(value) < np.inf
