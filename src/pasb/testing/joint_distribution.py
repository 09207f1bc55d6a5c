"""Joint-distribution tests of a binary model's update.

Parameters are drawn from the prior and data from the model, so the parameters are also a
draw from their posterior given these data. A few sweeps later they still are, if and only
if the sweep leaves the posterior invariant. This is repeated with fresh parameters and
data, and functions of parameters and data are compared before and after (Geweke 2004; in
this form, whose repetitions are independent, Gandy and Scott 2020). So the level holds
however slowly the update mixes. Every parameter is replaced by its rank in the prior, so
that heavy tails and units do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from pasb.binary.binary_model import Approximable, BinaryModel, Keys, Parameters, stacked
from pasb.moves.move import State
from pasb.numerics.rows import Rows, blocked
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import Direction, simulate_categories
from pasb.testing.findings import ConformityError

X = np.column_stack([np.ones(10), np.linspace(-1.5, 1.5, 10)])
N_CATEGORIES = 3
MOST_ENTRIES = 8  # of a category's parameters, evenly chosen from all


def check_fixed_order(
    model: BinaryModel, *, seed: int = 0, level: float = 1e-6, thorough: bool = False
) -> str:
    """The update leaves the posterior invariant when the order is fixed.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_fixed_order(Logistic(moves="gibbs")).split(",")[0]
    '46 means of 1000 x 5 sweeps'
    """
    return _joint_test("check_fixed_order", model, True, seed, level, thorough)


def check_sampled_order(
    model: BinaryModel, *, seed: int = 0, level: float = 1e-6, thorough: bool = False
) -> str:
    """The whole sweep, which also samples the order, leaves the posterior invariant.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_sampled_order(Logistic(moves="gibbs")).split(",")[0]
    '46 means of 200 x 5 sweeps'
    """
    return _joint_test("check_sampled_order", model, False, seed, level, thorough)


class Joint(NamedTuple):
    """Draws of order and parameters, one a row, and the data they belong to."""

    orders: NDArray[np.int64]
    parameters: Parameters
    y: NDArray[np.int64]


def _joint_test(check, model, fixed, seed, level, thorough) -> str:
    n, n_sweeps = 1000 if fixed else 600, 5
    if isinstance(model.sampler(Rows.of(X, np.arange(len(X)) % 2, 2)), Approximable):
        n = n if fixed else n // 3  # new data need new approximations of every stick
    n *= 5 if thorough else 1
    designs: list[tuple[Direction, bool]] = [("forward", False), ("reverse", True)]
    worst, limit, n_statistics = 0.0, 0.0, 0
    for k, (direction, augmented) in enumerate(designs):
        rng = np.random.default_rng([seed, fixed, k])
        order = np.array([1, 2, 0]) if fixed else None
        before = from_the_prior(model, order, direction, n, rng)
        after = swept(model, before, fixed, direction, augmented, n_sweeps, seed)
        _moves(check, model, before, after)
        names, first, second = statistics(before, after)
        z = deviations(second - first)
        limit = norm.isf(level / len(designs) / 2 / len(z))
        bad = np.flatnonzero(z > limit)
        if len(bad):
            listed = sorted(bad, key=lambda j: -z[j])[:3]
            sticks = "augmented" if augmented else "marginal"
            raise ConformityError(
                check,
                model,
                f"does not leave the posterior invariant ({direction}, {sticks} sticks): "
                + "; ".join(
                    f"the mean of {names[j]} goes from {first[:, j].mean():.3f} to "
                    f"{second[:, j].mean():.3f} (z = {z[j]:.1f})"
                    for j in listed
                )
                + f". Beyond z = {limit:.1f} that is not chance.",
            )
        worst, n_statistics = max(worst, z.max()), len(z)
    return (
        f"{n_statistics} means of {n} x {n_sweeps} sweeps, |z| up to {worst:.1f} "
        f"(limit {limit:.1f})"
    )


def from_the_prior(
    model: BinaryModel,
    fixed_order: NDArray[np.int64] | None,
    direction: Direction,
    n: int,
    rng: np.random.Generator,
) -> Joint:
    """Independent draws of everything, from prior and model."""
    parameters = simulated(model, n, rng)
    if fixed_order is None:
        orders = rng.permuted(np.tile(np.arange(N_CATEGORIES), (n, 1)), axis=1)
    else:
        orders = np.tile(fixed_order, (n, 1))
    both = model.log_probabilities(parameters, blocked(X))
    success, failure = (log[:, :, : len(X)] for log in both)
    y = np.array(
        [
            simulate_categories(success[d], failure[d], orders[d], direction, rng=rng)
            for d in range(n)
        ]
    )
    return Joint(orders, parameters, y)


def swept(
    model: BinaryModel,
    before: Joint,
    fixed: bool,
    direction: Direction,
    augmented: bool,
    n_sweeps: int,
    seed: int,
) -> Joint:
    """Every draw some sweeps later, given its data."""
    after = Joint(
        before.orders.copy(), {k: v.copy() for k, v in before.parameters.items()}, before.y
    )
    for d, y in enumerate(before.y):
        problem = Problem(
            Rows.of(X, y, N_CATEGORIES),
            model,
            direction=direction,
            augmented=augmented,
            fixed_order=before.orders[d] if fixed else None,
            n_swaps=5,
        )
        sweeper = Sweeper(problem)
        parameters = {name: values[d] for name, values in after.parameters.items()}
        state = State(after.orders[d], parameters)  # views: the sweeps write into `after`
        sweeper.resume(state)
        for sweep in range(n_sweeps):
            sweeper.sweep(state, Keys(seed, d, sweep))
    return after


def simulated(model: BinaryModel, n: int, rng: np.random.Generator) -> Parameters:
    """Parameters of `n` draws and all categories from the prior."""
    n_columns = X.shape[1]
    return stacked([model.simulate_categories(n_columns, N_CATEGORIES, rng) for _ in range(n)])


def entries(parameters: Parameters) -> tuple[list[str], NDArray[np.float64]]:
    """Some scalars of each category, (draws, categories, entries), and their names."""
    names, columns = [], []
    for name, values in parameters.items():
        flat = values.reshape(*values.shape[:2], -1)
        names += [f"{name}[{d}]" for d in range(flat.shape[2])]
        columns.append(flat)
    stacked = np.concatenate(columns, axis=2)
    n = stacked.shape[2]
    chosen = np.unique(np.linspace(0, n - 1, min(n, MOST_ENTRIES)).astype(np.int64))
    return [names[d] for d in chosen], stacked[:, :, chosen]


def _moves(check: str, model: BinaryModel, before: Joint, after: Joint) -> None:
    """Whether the sweeps change whatever the prior leaves open."""
    names, old = entries(before.parameters)
    _, new = entries(after.parameters)
    first = np.arange(len(old)), before.orders[:, 0]
    for d, name in enumerate(names):
        if np.ptp(old[..., d]) > 0 and (old[first][:, d] == new[first][:, d]).all():
            raise ConformityError(
                check, model, f"never changes {name}, although its prior is not one point"
            )


def statistics(
    before: Joint, after: Joint
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Bounded functions of parameters, order and data, before and after the sweeps."""
    names, old = entries(before.parameters)
    _, new = entries(after.parameters)
    grids = np.quantile(old.reshape(-1, old.shape[2]), np.linspace(0, 1, 501), axis=0)
    first = _statistics(names, before, old, grids)
    second = _statistics(names, after, new, grids)
    a, b = (np.stack(list(values.values()), axis=1) for values in (first, second))
    return list(first), a, b


def _statistics(names, draws: Joint, values, grids) -> dict[str, NDArray[np.float64]]:
    order, y = draws.orders, draws.y
    each = np.arange(len(order))
    out: dict[str, NDArray] = {}
    for s in range(N_CATEGORIES):
        out[f"[first category is {s}]"] = order[:, 0] == s
        out[f"[last category is {s}]"] = order[:, -1] == s
    for stick in range(N_CATEGORIES - 1):
        stops = y == order[:, stick, None]
        share, slope = stops.mean(axis=1), (stops * X[:, 1]).mean(axis=1)
        out[f"share of stick {stick}"] = share
        ranks = {
            name: _rank(grids[:, d], values[each, order[:, stick], d])
            for d, name in enumerate(names)
        }
        before = None
        for name, v in ranks.items():
            label = f"rank({name}) on stick {stick}"
            out[label] = v
            out[f"{label} squared"] = v**2
            out[f"{label} times share"] = v * share
            out[f"{label} times slope"] = v * slope
            if before is not None:
                out[f"{label} times the one before"] = v * before
            before = v
    return {name: np.asarray(v, dtype=np.float64) for name, v in out.items()}


def _rank(grid, values):
    """Ranks of values in the prior, from -1 to 1; zero where the prior is one point."""
    if grid[0] == grid[-1]:
        return np.where(values == grid[0], 0.0, 1.0)
    return np.interp(values, grid, np.linspace(-1, 1, len(grid)))


def deviations(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of the differences in standard errors; zero where nothing differs."""
    error = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
    mean = np.abs(differences.mean(axis=0))
    return np.where(mean > 1e-9, mean / np.maximum(error, 1e-12), 0.0)
