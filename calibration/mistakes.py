"""Deliberate mistakes in updates, each of which calibration must find.

Where an update is a method in Python it is replaced; where it is a compiled kernel, the kernel
runs on distorted inputs or its result is distorted. Everything else is pasb as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.order_mistakes import (
    AlwaysAccept,
    EarlierRowsFail,
    InSteps,
    KeptReference,
    SwapWithoutRatio,
    SwapWithoutStop,
    WholeOrders,
    WholeOrdersUnnormalised,
)
from calibration.replicates import Scenario
from calibration.scenarios import PRIOR, own_probit
from pasb.binary import Logistic, Robit, Softplus
from pasb.binary.binary_model import BinaryModel, Keys, Parameters
from pasb.binary.linear_kernels import PRECISIONS, draw_precisions
from pasb.binary.logistic import LogisticSampler
from pasb.binary.logistic_kernels import gibbs_step
from pasb.binary.robit import RobitSampler
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.binary.t_link import t_link
from pasb.numerics.rows import linear_predictors
from pasb.sampling.sweep import Sweeper

# ---------------------------------------------------------------- coefficients, logistic


class GibbsInSteps(LogisticSampler):
    """The update of the logistic model by Gibbs, whose steps can be replaced one by one."""

    def update(self, parameters, category, stick, roles, keys):  # noqa: D102
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        self.draw_coefficients(roles, alpha, keys, stick, coef)
        self.draw_precisions(coef, keys, stick, alpha)

    def draw_coefficients(self, roles, alpha, keys, stick, coef) -> None:
        """Latents given the coefficients, then those again."""
        with self.space() as space:
            gibbs_step(self.regression, space.work, roles, alpha, *keys, stick, coef)
            self.gram, self.linear = space.work[4].copy(), space.work[5].copy()

    def draw_precisions(self, coef, keys, stick, alpha) -> None:
        """Precisions given the new coefficients."""
        draw_precisions(coef, self.regression[1], keys.at(stick, purpose=PRECISIONS), alpha)


class LatentFactor(GibbsInSteps):
    """w ~ PG(1, 2 x'b)."""

    def draw_coefficients(self, roles, alpha, keys, stick, coef):  # noqa: D102
        coef *= 2.0
        super().draw_coefficients(roles, alpha, keys, stick, coef)


class MeanWithoutPrior(GibbsInSteps):
    """The mean (X'WX)^-1 X'k where it is (diag(alpha) + X'WX)^-1 X'k."""

    def draw_coefficients(self, roles, alpha, keys, stick, coef):  # noqa: D102
        super().draw_coefficients(roles, alpha, keys, stick, coef)
        n = len(coef)
        lower = np.tril(self.gram[:n, :n])
        precision = lower + np.tril(lower, -1).T
        linear = self.linear[:n]
        without = np.linalg.lstsq(precision - np.diag(alpha), linear, rcond=1e-10)[0]
        coef += without - np.linalg.solve(precision, linear)


class PriorTwice(GibbsInSteps):
    """Coefficients with precision 2 diag(alpha) + X'WX."""

    def draw_coefficients(self, roles, alpha, keys, stick, coef):  # noqa: D102
        super().draw_coefficients(roles, 2 * alpha, keys, stick, coef)


class PrecisionShape(GibbsInSteps):
    """alpha ~ Gamma(shape, ...) where it is Gamma(shape + 1/2, ...)."""

    def draw_precisions(self, coef, keys, stick, alpha):  # noqa: D102
        prior = self.prior._replace(shape=self.prior.shape - 0.5)
        draw_precisions(coef, tuple(prior), keys.at(stick, purpose=PRECISIONS), alpha)


class PrecisionRate(GibbsInSteps):
    """alpha ~ Gamma(..., rate + b^2) where it is rate + b^2 / 2."""

    def draw_precisions(self, coef, keys, stick, alpha):  # noqa: D102
        super().draw_precisions(np.sqrt(2.0) * coef, keys, stick, alpha)


class NoJacobian(GibbsInSteps):
    """A stretch of all coefficients accepted without the Jacobian factor^n."""

    def draw_precisions(self, coef, keys, stick, alpha):  # noqa: D102
        rng = np.random.default_rng(int(keys.at(stick, purpose=99)))
        for _ in range(3):
            factor = np.exp(0.8 * rng.normal())
            gain = self.log_target(factor * coef) - self.log_target(coef)
            if np.log(rng.random()) < gain:
                coef *= factor
        super().draw_precisions(coef, keys, stick, alpha)

    def draw_coefficients(self, roles, alpha, keys, stick, coef):  # noqa: D102
        self.roles = roles
        super().draw_coefficients(roles, alpha, keys, stick, coef)

    def log_target(self, coef) -> float:
        """Log-posterior, precisions integrated out."""
        n_blocks, n_padded, size = self.rows.blocks.shape
        padded, eta = np.zeros((1, n_padded)), np.empty((1, n_blocks * size))
        padded[0, : len(coef)] = coef
        linear_predictors(self.rows.blocks, padded, eta)
        role = self.roles[self.rows.categories]
        sign = np.select([role == 1, role == 0], [1.0, -1.0])
        logs = -np.logaddexp(0.0, -sign * eta[0, : self.rows.n_rows])
        return float(logs[sign != 0].sum()) + self.prior.log_density(coef)


class WrongLogistic(Logistic):
    """The logistic model with a wrong sampler."""

    wrong: type[LogisticSampler] = GibbsInSteps

    def sampler(self, rows):  # noqa: D102
        return self.wrong(self, rows)


def logistic_with(wrong: type[LogisticSampler], moves: str = "gibbs", **prior):
    """A maker of logistic models that sample by `wrong`."""

    def make() -> BinaryModel:
        model = WrongLogistic(moves=moves, **(prior or PRIOR))
        model.wrong = wrong
        return model

    return make


# ---------------------------------------------------------------- robit


class NoScales(RobitSampler):
    """Latents and coefficients as though the scales w were all one."""

    def update(self, parameters, category, stick, roles, keys):  # noqa: D102
        right = self.link, self.regression
        self.link = t_link(np.inf)
        self.regression = (*self.regression[:2], self.link)
        super().update(parameters, category, stick, roles, keys)
        self.link, self.regression = right


class WrongRobit(Robit):
    """Robit regression that forgets the scales."""

    def sampler(self, rows):  # noqa: D102
        return NoScales(self, rows)


def robit_without_scales() -> BinaryModel:
    """Heavy tails, where the scales matter."""
    return WrongRobit(df=1.0, moves="gibbs", **PRIOR)


# ---------------------------------------------------------------- softplus

# a wide prior of gamma_0 and c_0, on which the weights then depend strongly
WIDE = {"mass_shape": 1.0, "mass_rate": 0.5, "inverse_scale_shape": 1.0, "inverse_scale_rate": 1.0}


class HypersInSteps(SoftplusSampler):
    """gamma_0, weights and c_0 in plain NumPy, in an order that can be changed."""

    turns = ("mass", "weight", "inverse_scale")

    def _draw_weights(self, own: Parameters, exposure: NDArray, keys: Keys, stick: int) -> None:
        rng = np.random.default_rng(int(keys.at(stick, purpose=99)))
        for turn in self.turns:
            getattr(self, f"draw_{turn}")(own, exposure, rng)

    def draw_mass(self, own, exposure, rng) -> None:
        """gamma_0 by CRT, the weights integrated out."""
        n, share = len(exposure), own["mass"][0] / len(exposure)
        tables = sum(
            (rng.random(int(count)) < share / (share + np.arange(int(count)))).sum()
            for count in own["active"]
        )
        logs = np.log1p(exposure / own["inverse_scale"][0]).sum() / n
        shape, rate = self.hypers[:2]
        own["mass"][0] = max(rng.gamma(shape + tables) / (rate + logs), 1e-280)

    def draw_weight(self, own, exposure, rng) -> None:
        """r_k ~ Gamma(gamma_0 / K + n_k, rate c_0 + E_k)."""
        shape = own["mass"][0] / len(exposure) + own["active"]
        own["weight"][:] = np.clip(
            rng.gamma(shape) / (own["inverse_scale"][0] + exposure), 1e-300, 1e9
        )

    def draw_inverse_scale(self, own, exposure, rng) -> None:
        """c_0 given the weights."""
        shape, rate = self.hypers[2:]
        draw = rng.gamma(shape + own["mass"][0]) / (rate + own["weight"].sum())
        own["inverse_scale"][0] = max(draw, 1e-9)


class WeightsFirst(HypersInSteps):
    """Weights before gamma_0, which is drawn as though they were integrated out."""

    turns = ("weight", "mass", "inverse_scale")


class ScaleBeforeWeights(HypersInSteps):
    """c_0 between gamma_0 and the weights, from the old weights."""

    turns = ("mass", "inverse_scale", "weight")


class HalfOfTheActive(HypersInSteps):
    """Weights that count only half of the active rows."""

    def draw_weight(self, own, exposure, rng):  # noqa: D102
        shape = own["mass"][0] / len(exposure) + 0.5 * own["active"]
        own["weight"][:] = np.clip(
            rng.gamma(shape) / (own["inverse_scale"][0] + exposure), 1e-300, 1e9
        )


class WrongSoftplus(Softplus):
    """Softplus regression with a wrong sampler."""

    wrong: type[SoftplusSampler] = HypersInSteps

    def sampler(self, rows):  # noqa: D102
        return self.wrong(self, rows)


def softplus_with(wrong: type[SoftplusSampler]):
    """A maker of softplus models that sample by `wrong`."""

    def make() -> BinaryModel:
        model = WrongSoftplus(n_experts=2, n_layers=1, **PRIOR, **WIDE)
        model.wrong = wrong
        return model

    return make


# ---------------------------------------------------------------- a user's model


def probit_shape() -> BinaryModel:
    """docs/binary_models.md: "Try self.shape + 1.0 in the last line of Probit.update"."""
    right = own_probit()

    class Probit(type(right)):  # type: ignore[misc]
        def update(self, parameters, X, labels, rng):
            new = super().update(parameters, X, labels, rng)
            rate = 1 / (self.rate + 0.5 * new["coef"] ** 2)
            return {**new, "precision": rng.gamma(self.shape + 1.0, rate)}

    return Probit(shape=3.0, rate=3.0)


@dataclass(frozen=True)
class Mistake:
    """A wrong update, and the scenario that should show it."""

    what: str
    scenario: Scenario

    @property
    def name(self) -> str:
        """That of the scenario."""
        return self.scenario.name


def _mistake(what: str, model, thin: int, n: int, *, fixed=True, sweeper=Sweeper, **options):
    name = f"mistake: {what}"
    return Mistake(what, Scenario(name, model, n, thin, fixed=fixed, sweeper=sweeper, **options))


RIGHT = [  # what the mistakes are made in, without a mistake
    _mistake("none: logistic by steps", logistic_with(GibbsInSteps), 10, 400),
    _mistake("none: softplus, hyperparameters in NumPy", softplus_with(HypersInSteps), 8, 100),
    _mistake(
        "none: sweep by steps",
        logistic_with(LogisticSampler, "mixed"),
        4,
        300,
        sweeper=InSteps,
        fixed=False,
    ),
    _mistake(
        "none: whole orders alone",
        logistic_with(LogisticSampler, "mixed"),
        4,
        300,
        sweeper=WholeOrders,
        fixed=False,
    ),
]
WRONG = [
    _mistake("logistic: latents from PG(1, 2 x'b)", logistic_with(LatentFactor), 10, 800),
    _mistake("logistic: mean without the prior", logistic_with(MeanWithoutPrior), 10, 800),
    _mistake("logistic: prior precision twice", logistic_with(PriorTwice), 10, 800),
    _mistake(
        "logistic: precisions with shape a, not a + 1/2", logistic_with(PrecisionShape), 10, 800
    ),
    _mistake(
        "logistic: precisions with rate b + c^2, not b + c^2/2",
        logistic_with(PrecisionRate),
        10,
        800,
    ),
    _mistake("logistic: stretch without its Jacobian", logistic_with(NoJacobian), 6, 800),
    _mistake(
        "logistic: normal approximation taken for exact",
        logistic_with(LogisticSampler, "mixed"),
        4,
        800,
        sweeper=AlwaysAccept,
    ),
    _mistake("robit: scales forgotten", robit_without_scales, 10, 800),
    _mistake("softplus: weights before the mass", softplus_with(WeightsFirst), 8, 100),
    _mistake("softplus: scale before the weights", softplus_with(ScaleBeforeWeights), 8, 100),
    _mistake("softplus: half of the active rows", softplus_with(HalfOfTheActive), 8, 100),
    _mistake("a user's probit: shape + 1, as the guide suggests to try", probit_shape, 12, 400),
    _mistake(
        "order: swaps without the stopping term",
        logistic_with(LogisticSampler),
        20,
        400,
        sweeper=SwapWithoutStop,
        fixed=False,
    ),
    _mistake(
        "order: swaps without pseudo-prior over prior",
        logistic_with(LogisticSampler),
        20,
        400,
        sweeper=SwapWithoutRatio,
        fixed=False,
    ),
    _mistake(
        "order: reference not redrawn",
        logistic_with(LogisticSampler, "mixed"),
        4,
        800,
        sweeper=KeptReference,
        fixed=False,
    ),
    _mistake(
        "order: whole orders, distributions not normalised alike",
        logistic_with(LogisticSampler, "mixed"),
        4,
        800,
        sweeper=WholeOrdersUnnormalised,
        fixed=False,
    ),
    _mistake(
        "order: the printed algorithm (scheme='paper')",
        logistic_with(LogisticSampler),
        20,
        400,
        fixed=False,
        scheme="paper",
    ),
    _mistake(
        "sticks: rows that stopped earlier fail",
        logistic_with(LogisticSampler),
        10,
        400,
        sweeper=EarlierRowsFail,
    ),
]
MISTAKES = {mistake.name: mistake for mistake in (*RIGHT, *WRONG)}
