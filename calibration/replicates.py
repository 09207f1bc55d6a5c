"""Replicates of one scenario: prior, data, chain, and the ranks of the truth among the draws.

Order and parameters come from the prior, labels from the model, and a chain under the scheme in
question samples the posterior. If that is right, the truth is one draw more: its rank among
thinned, nearly independent draws is uniform (Talts, Betancourt, Simpson, Vehtari and Gelman
2018; Modrak et al. 2023 on quantities that depend on the data). Ties are broken at random.

The reference category has no coefficients under the exact scheme: what stands in their place is
a draw from a pseudo-prior. So parameters are looked at by stick, or by category where it is not
the reference.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from pasb.binary.binary_model import BinaryModel, Keys, Parameters
from pasb.numerics.rows import Rows, blocked
from pasb.sampling.problem import Problem, Scheme
from pasb.sampling.sweep import Sweeper
from pasb.sticks import (
    LOG_NEVER,
    Direction,
    probabilities_of_draws,
    simulate_categories,
    skip_unavailable,
)
from pasb.testing import joint_distribution as joint

N_CATEGORIES, N_ROWS = 3, 30
X = np.column_stack([np.ones(N_ROWS), np.linspace(-1.7, 1.7, N_ROWS)])
PLACES = np.array([[1.0, -1.0], [1.0, 0.6]])
FIXED = np.array([2, 0, 1])
N_DRAWS = 31


@dataclass(frozen=True)
class Scenario:
    """A model, a construction, and how long its chains are.

    A chain is warmed up for `n_warmup` sweeps and keeps every `thin`-th of the following. `sweeper`
    and the model's own sampler are where deliberate mistakes come in.
    """

    name: str
    model: Callable[[], BinaryModel]
    n_replicates: int
    thin: int
    direction: Direction = "forward"
    augmented: bool = False
    fixed: bool = False
    scheme: Scheme = "exact"
    sweeper: type[Sweeper] = Sweeper
    n_warmup: int = 100
    patterns: bool = False  # whether rows have random sets of available categories
    n_covariates: int = 0  # of alternatives
    n_persons: int = 0  # who choose several times; the last place is of an unknown one

    @property
    def table(self) -> NDArray[np.float64]:
        """Columns of the rows, and of the places below them."""
        rows = np.vstack([X, PLACES])
        rng = np.random.default_rng(self.seed)
        own = rng.normal(size=(len(rows), self.n_covariates * N_CATEGORIES))
        if not self.n_persons:
            return np.column_stack([rows, own])
        person = rng.permutation(np.arange(len(rows)) % self.n_persons)
        person[-1] = -1
        return np.column_stack([rows, own, person])

    @property
    def small_table(self) -> NDArray[np.float64]:
        """That of joint-distribution tests: as `pasb.testing` has it, or ten of the rows."""
        return self.table[:N_ROWS:3] if self.n_covariates or self.n_persons else joint.X

    @property
    def seed(self) -> int:
        """Follows from the name."""
        return zlib.crc32(self.name.encode())


@dataclass
class Ranks:
    """Ranks of the truth in 0..N_DRAWS, (replicates, quantities).

    `autocorrelation` is that of successive kept draws, of the same shape; NaN where all are equal.
    """

    names: list[str]
    values: NDArray[np.int64]
    autocorrelation: NDArray[np.float64]


class Labels(NamedTuple):
    """Categories of the rows, and what was available to them, if not everything was."""

    y: NDArray[np.int64]
    available: NDArray[np.bool_] | None


def simulate(
    scenario: Scenario, model: BinaryModel, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Parameters, Labels]:
    """Order, parameters and labels of one replicate."""
    order = FIXED.copy() if scenario.fixed else rng.permutation(N_CATEGORIES)
    table = scenario.table
    n_columns = table.shape[1] if scenario.n_covariates else X.shape[1]
    parameters = model.simulate_categories(n_columns, N_CATEGORIES, rng)
    kept = {name: parameters[name][None] for name in model.kept}
    logs = model.log_probabilities(kept, blocked(table))
    success, failure = (log[0, :, :N_ROWS] for log in logs)
    available = None
    if scenario.patterns:
        available = rng.random((N_ROWS, N_CATEGORIES)) < 0.7
        available[np.arange(N_ROWS), rng.integers(N_CATEGORIES, size=N_ROWS)] = True
        on_sticks = success[order[:-1]][None], failure[order[:-1]][None]
        reverse = np.array([scenario.direction == "reverse"])
        skip_unavailable(*on_sticks, reverse, order[None], available, LOG_NEVER, 0.0)
        success[order[:-1]], failure[order[:-1]] = on_sticks[0][0], on_sticks[1][0]
    y = simulate_categories(success, failure, order, scenario.direction, rng=rng)
    return order, parameters, Labels(y, available)


def draws_of(
    scenario: Scenario, model: BinaryModel, labels: Labels, replicate: int
) -> tuple[NDArray[np.int64], Parameters]:
    """Orders and parameters of N_DRAWS thinned sweeps, given the labels."""
    problem = Problem(
        Rows.of(scenario.table[:N_ROWS], labels.y, N_CATEGORIES, available=labels.available),
        model,
        direction=scenario.direction,
        scheme=scenario.scheme,
        augmented=scenario.augmented,
        fixed_order=FIXED if scenario.fixed else None,
        n_swaps=20,
    )
    # where no lattice gives a starting order, half the warm-up is the classifiers' settling
    sweeper = scenario.sweeper(
        problem,
        settling=scenario.n_warmup // 2,
        n_warmup=scenario.n_warmup,
        annealed=problem.annealed(),
    )
    state = sweeper.start(Keys(scenario.seed, replicate, 0))
    orders = np.empty((N_DRAWS, N_CATEGORIES), dtype=np.int64)
    draws = {name: np.empty((N_DRAWS, *values.shape)) for name, values in state.parameters.items()}
    kept = 0
    for sweep in range(1, scenario.n_warmup + N_DRAWS * scenario.thin + 1):
        sweeper.sweep(state, Keys(scenario.seed, replicate, sweep))
        if sweep > scenario.n_warmup and (sweep - scenario.n_warmup) % scenario.thin == 0:
            orders[kept] = state.order
            for name, values in state.parameters.items():
                draws[name][kept] = values
            kept += 1
    return orders, draws


def quantities(
    scenario: Scenario,
    model: BinaryModel,
    orders: NDArray[np.int64],
    parameters: Parameters,
    labels: Labels,
) -> dict[str, NDArray[np.float64]]:
    """Scalars of every draw whose posterior is looked at."""
    sticks = np.arange(len(orders))[:, None], orders[:, :-1]
    kept = {name: parameters[name][sticks] for name in model.kept}
    logs = model.log_probabilities(kept, blocked(scenario.table))
    proba = np.empty((*orders.shape, logs[0].shape[-1]))
    reverse = np.full(len(orders), scenario.direction == "reverse")
    if labels.available is not None:
        skip_unavailable(*logs, reverse, orders, labels.available, LOG_NEVER, 0.0)
    probabilities_of_draws(*logs, reverse, orders, proba)
    out = {}
    for place in range(len(PLACES)):
        for s in range(N_CATEGORIES):
            out[f"p{s} at x = {PLACES[place, 1]:g}"] = proba[:, s, N_ROWS + place]
    with np.errstate(divide="ignore"):
        out["log-likelihood"] = np.log(proba[:, labels.y, np.arange(N_ROWS)]).sum(axis=1)
    each = np.arange(len(orders))
    for stick in range(N_CATEGORIES - 1):
        own = {name: values[each, orders[:, stick]] for name, values in parameters.items()}
        out.update({f"{name}, stick {stick}": v for name, v in of_stick(own).items()})
    if not scenario.fixed:
        coef = parameters["coef"].reshape(len(orders), N_CATEGORIES, -1)
        for s in range(N_CATEGORIES):
            out[f"position of {s}"] = np.argmax(orders == s, axis=1).astype(float)
        on_a_stick = orders[:, -1] != 0
        out["coef of 0 on a stick"] = np.where(on_a_stick, coef[:, 0, X.shape[1] - 1], 0.0)
    for k in range(scenario.n_covariates):  # of the first stick's category: generic or its own
        own = X.shape[1] + k * N_CATEGORIES + orders[:, 0]
        out[f"covariate {k}, stick 0"] = parameters["coef"][each, orders[:, 0], own]
    return out


def of_stick(own: Parameters) -> dict[str, NDArray[np.float64]]:
    """Scalars of one stick's parameters, among them log-densities that tie parameters together."""
    n = len(own["coef"])
    coef = own["coef"].reshape(n, -1)
    out = {"intercept": coef[:, 0], "slope": coef[:, 1]}
    if "precision" in own and np.ptp(own["precision"]) > 0:
        precision = own["precision"].reshape(n, -1)
        out["precision"] = precision[:, 1]
        out["log p(coef | precision)"] = (0.5 * np.log(precision) - 0.5 * precision * coef**2).sum(
            axis=1
        )
    if "mean_rate" in own:  # rates of layers are exponential with this mean
        mean, rate = own["mean_rate"].reshape(n, -1)[:, 0], own["rate"].reshape(n, -1)
        out["mean rate"] = mean
        out["log p(rate | mean)"] = -np.log(mean) * rate.shape[1] - rate.sum(axis=1) / mean
    if "weight" in own:
        weight, mass, inverse_scale = own["weight"], own["mass"], own["inverse_scale"]
        share = mass / weight.shape[1]
        log_density = share * np.log(inverse_scale) + (share - 1) * np.log(weight)
        log_density -= inverse_scale * weight
        out["weight"] = weight[:, 0]
        out["mass"], out["inverse scale"] = mass[:, 0], inverse_scale[:, 0]
        # without the normalising gamma function: any function will do
        out["log p(weight | mass, inverse scale)"] = log_density.sum(axis=1)
    if "deviation" in own:
        effect, deviation = own["effect"], own["deviation"][:, None]
        out["effect"], out["deviation"] = effect[:, 0], deviation[:, 0]
        out["log p(effect | deviation)"] = -(np.log(deviation) + (effect / deviation) ** 2 / 2).sum(
            axis=1
        )
    return out


def rank(truth: float, draws: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Draws below the truth, ties broken at random."""
    below, ties = int((draws < truth).sum()), int((draws == truth).sum())
    return below + int(rng.integers(ties + 1))


def ranks_of(scenario: Scenario, replicates: range) -> Ranks:
    """Ranks of some replicates; replicate k is the same in any batch."""
    model = scenario.model()
    names: list[str] = []
    values, lags = [], []
    for replicate in replicates:
        rng = np.random.default_rng([scenario.seed, replicate])
        order, parameters, labels = simulate(scenario, model, rng)
        once = {name: v[None] for name, v in parameters.items()}
        truth = quantities(scenario, model, order[None], once, labels)
        draws = quantities(scenario, model, *draws_of(scenario, model, labels, replicate), labels)
        names = list(draws)
        values.append([rank(float(truth[name][0]), draws[name], rng) for name in names])
        lags.append([_lag_one(draws[name]) for name in names])
    return Ranks(names, np.array(values), np.array(lags))


def _lag_one(draws: NDArray[np.float64]) -> float:
    """Autocorrelation of successive draws, of their ranks, as tails may be heavy."""
    if np.ptp(draws) == 0:
        return np.nan
    places = rankdata(draws)
    places -= places.mean()
    return float((places[1:] * places[:-1]).sum() / (places**2).sum())
