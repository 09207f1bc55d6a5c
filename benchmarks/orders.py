"""Orders: is the best one found every time, is their posterior right, what does it cost?

``python benchmarks/orders.py [NAME ...]`` prints a table and writes a JSON file to
benchmarks/results. Names: satimage, enumeration, cost, walk, and those of
`orders_softplus`, which take longer and are measured only when named.
"""

from __future__ import annotations

import sys
from itertools import product
from time import perf_counter

import numpy as np
import orders_softplus

from pasb import Logistic, datasets
from pasb.binary.binary_model import Keys
from pasb.covariates.scaling import Scaling
from pasb.evidences.filling import evidence_lattice
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows, unblocked
from pasb.orders import Lattice, enumerate_orders
from pasb.posterior.predict import Predictor
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.sweep import Sweeper
from pasb.sticks import ABSENT, SUCCESS
from report import write


def standardised(X, y, **construction) -> tuple[Problem, Scaling]:
    """A logistic problem on covariates of mean 0 and variance 1."""
    classes, categories = np.unique(y, return_inverse=True)
    scaling = Scaling.of(X, np.ones(len(X)), "standard")
    rows = Rows.of(scaling.with_constant(X), categories, len(classes))
    return Problem(rows, Logistic(), **construction), scaling


def tied(order) -> tuple[int, ...]:
    """An order whose last two are interchangeable, in one of its two forms."""
    return (*map(int, order[:-2]), *sorted(map(int, order[-2:])))


def satimage(n_seeds: int = 10, n_chains: int = 10, n_warmup: int = 150, n_draws: int = 150):
    """Ten chains of ten seeds: which order each ends in, and its test error.

    The figures to compare with: 20.65 % by the printed algorithm, 15.20 % by the best of all
    720 fixed orders. Chains start from the lattice, as they do by default; a second set of
    chains is put into random orders instead, from which the moves alone must find the way.
    """
    part = datasets.load("satimage").partition(0)
    problem, scaling = standardised(part.X_train, part.y_train, n_swaps=100)
    X_test, classes = scaling.with_constant(part.X_test), np.unique(part.y_train)
    schedules = [Schedule(n_warmup, n_draws, 1, seed) for seed in range(n_seeds)]
    figures: dict = {"sweeps of a chain": n_warmup + n_draws}
    with one_blas_thread():
        store = problem.approximations(n_jobs=2)
        assert store is not None
        best = tied(store.lattice().best_order())
        for name in ("from the lattice", "from random orders"):
            tops, errors = [], []
            for schedule, number in product(schedules, range(n_chains)):
                sweeper = Sweeper(problem, store)
                state = sweeper.start(Keys(schedule.seed, number, 0))
                if name == "from random orders":
                    rng = np.random.default_rng([schedule.seed, number])
                    state.order[:] = rng.permutation(6)
                    sweeper.resume(state)
                kept_orders, kept_coef = [], []
                for sweep in range(1, schedule.n_sweeps + 1):
                    sweeper.sweep(state, Keys(schedule.seed, number, sweep))
                    if sweep > n_warmup:
                        kept_orders.append(state.order.copy())
                        kept_coef.append(state.parameters["coef"].copy())
                orders, counts = np.unique(
                    [tied(order) for order in kept_orders], axis=0, return_counts=True
                )
                tops.append(tied(orders[np.argmax(counts)]))
                draws = {"coef": np.array(kept_coef)}, np.array(kept_orders)
                predictor = Predictor(problem.model, np.zeros(n_draws, dtype=bool), *draws)
                predicted = classes[np.argmax(predictor.mean(X_test), axis=1)]
                errors.append(100 * float(np.mean(predicted != part.y_test)))
            figures[name] = {
                "chains": len(tops),
                "different top orders": len(set(tops)),
                "in the best order, %": 100 * tops.count(best) / len(tops),
                "test error, mean %": float(np.mean(errors)),
                "test error, worst %": max(errors),
            }
    return figures


def stick_integral(rows: Rows, gaussian, roles, half: int) -> float:
    """Evidence of a stick with two columns by the trapezoid rule, some ten deviations wide."""
    prior = Logistic().prior
    step = 10 / half
    u = np.arange(-half, half + 1) * step
    precision_factor = _factor(gaussian)
    points = np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)
    beta = gaussian.mode + np.linalg.solve(precision_factor.T, points.T).T
    role = roles[rows.categories]
    used = role != ABSENT
    eta = beta @ unblocked(rows.blocks, rows.n_rows, 2)[used].T
    log_likelihood = ((role[used] == SUCCESS) * eta - np.logaddexp(0, eta)).sum(axis=1)
    a, b = prior.shape, prior.rate
    log_prior = -(a + 0.5) * np.log(b + 0.5 * beta**2).sum(axis=1)
    constant = prior.log_density(np.zeros(2)) + 2 * (a + 0.5) * np.log(b)
    values = log_likelihood + log_prior + constant
    top = values.max()
    volume = step**2 / np.abs(np.linalg.det(precision_factor))
    return float(top + np.log(np.exp(values - top).sum() * volume))


def _factor(gaussian):
    from pasb.binary.bent_normal import unpacked

    _, scale, factor, *_ = unpacked(gaussian.packed)
    return np.tril(factor) / scale[:, None]


def enumeration(n_sweeps: int = 60_000, n_chains: int = 4):
    """Posterior over the orders of 3, 4 and 5 categories against quadrature of every stick.

    Two columns (a constant and one covariate), overlapping categories and few rows, so that
    many orders have a sizeable probability.
    """
    figures = {}
    for n in (3, 4, 5):
        rng = np.random.default_rng(n)
        y = np.repeat(np.arange(n), 20)
        x = rng.normal(size=len(y)) + 0.8 * rng.normal(size=n)[y]
        problem, _ = standardised(x[:, None], y, n_swaps=20)
        with one_blas_thread():
            store = problem.approximations()
            exact = _exact_lattice(problem, store, 80)
            coarse = _exact_lattice(problem, store, 60)
            orders = enumerate_orders(n)
            expected = np.exp([exact.log_probability(order) for order in orders])
            found = evidence_lattice(store).with_ties()
            by_lattice = np.exp([found.log_probability(order) for order in orders])
            visits = _visits(problem, store, orders, n_sweeps, n_chains)
        by_chain = visits.mean(axis=0)
        figures[f"S = {n}"] = {
            "orders above 1 %": int((2 * expected > 0.01).sum() // 2),
            "chain, total variation": _distance(by_chain, expected),
            "between two halves of the chains": _distance(
                visits[: n_chains // 2].mean(axis=0), visits[n_chains // 2 :].mean(axis=0)
            ),
            "lattice, total variation": _distance(by_lattice, expected),
            "log-evidence, lattice - exact": found.log_evidence - exact.log_evidence,
            "quadrature, coarse - fine": coarse.log_evidence - exact.log_evidence,
        }
    return figures


def _exact_lattice(problem: Problem, store, half: int) -> Lattice:
    def log_evidence(category, later):
        roles = store.roles(category, later)
        gaussian = store.sampler.approximate(roles, None)
        return stick_integral(problem.rows, gaussian, roles, half)

    return Lattice.of(problem.rows.n_categories, log_evidence)


def _visits(problem, store, orders, n_sweeps, n_chains):
    """Shares of the orders in each chain."""
    index = {tuple(order): k for k, order in enumerate(orders)}
    shares = np.zeros((n_chains, len(orders)))
    for chain in range(n_chains):
        sweeper = Sweeper(problem, store)
        state = sweeper.start(Keys(0, chain, 0))
        for sweep in range(1, n_sweeps + 1):
            sweeper.sweep(state, Keys(0, chain, sweep))
            # either form of the last two has the same probability
            shares[chain, index[tuple(state.order)]] += 0.5
            shares[chain, index[(*state.order[:-2], *state.order[:-3:-1])]] += 0.5
    return shares / n_sweeps


def _distance(p, q) -> float:
    return 0.5 * float(np.abs(p - q).sum())


def letters(n_categories: int = 26, n_rows: int = 15_000, n_features: int = 16):
    """Data of the size of the letter set: overlapping clusters of unequal spread."""
    rng = np.random.default_rng(26)
    y = np.arange(n_rows) % n_categories
    centres = rng.normal(size=(n_categories, n_features))
    spread = rng.uniform(0.7, 1.3, size=(n_categories, 1))
    return centres[y] + spread[y] * rng.normal(size=(n_rows, n_features)), y


def cost():
    """Seconds on two cores: the lattice of satimage, and searched orders."""
    figures = {}
    part = datasets.load("satimage").partition(0)
    square = datasets.load("square101")
    with one_blas_thread():
        problem, _ = standardised(part.X_train, part.y_train)
        problem.approximations().log_evidence(0, 2)  # compiles
        for n_jobs in (1, 2):
            store = problem.approximations(n_jobs)
            began = perf_counter()
            store.lattice()
            figures[f"satimage, lattice of the chain, {n_jobs} threads"] = perf_counter() - began
            began = perf_counter()
            evidence_lattice(store)
            figures[f"satimage, evidences alone, {n_jobs} threads"] = perf_counter() - began
        X, y = letters(12, 2000)
        store = standardised(X, y)[0].approximations(2)
        began = perf_counter()
        evidence_lattice(store)
        figures["12 categories, N = 2000, P = 17, evidences alone"] = perf_counter() - began
        for name, X, y in (
            ("S = 26, N = 15 000, P = 17, searched", *letters()),
            ("square101, logistic, searched", square.X, square.y),
        ):
            store = standardised(X, y)[0].approximations(2)
            began = perf_counter()
            order = store.searched_order(0)
            figures[name] = {
                "seconds": perf_counter() - began,
                "evidences": len(store._evidences),
                "log-evidence": store.evidence_of_order(order),
            }
    return figures


def walk(n_restarts: int = 8, n_sweeps: int = 200):
    """The walk against restarts of the plain swap chain, S = 26 and 101: orders' log-evidences."""
    square = datasets.load("square101")
    return {
        "S = 26": _walk_and_restarts(*letters(), n_restarts, n_sweeps),
        "S = 101": _walk_and_restarts(square.X, square.y, n_restarts, n_sweeps),
    }


def _walk_and_restarts(X, y, n_restarts: int, n_sweeps: int) -> dict[str, float]:
    n = len(np.unique(y))
    problem, _ = standardised(X, y, n_swaps=2 * n**2)
    with one_blas_thread():
        store = problem.approximations(2)
        found, seconds = [], []
        for seed in range(3):
            store._searched = None
            began = perf_counter()
            found.append(store.evidence_of_order(store.searched_order(seed)))
            seconds.append(perf_counter() - began)
        swaps = Problem(problem.rows, problem.model, n_swaps=problem.n_swaps, swaps_only=True)
        reached = []
        began = perf_counter()
        for chain in range(n_restarts):
            sweeper = Sweeper(swaps, store, settling=n_sweeps // 2)
            state, best = sweeper.start(Keys(1, chain, 0)), -np.inf
            for sweep in range(1, n_sweeps + 1):
                sweeper.sweep(state, Keys(1, chain, sweep))
                if sweep % 50 == 0:
                    best = max(best, store.evidence_of_order(state.order))
            reached.append(best)
        return {
            "walk, worst of three seeds": min(found),
            "walk, best": max(found),
            "walk, seconds of the first": seconds[0],
            f"best of {n_restarts} swap chains": max(reached),
            "swap chains, mean": float(np.mean(reached)),
            "swap chains, seconds": perf_counter() - began,
            "by separation alone": store.evidence_of_order(store.by_separation()),
        }


PARTS = {"satimage": satimage, "enumeration": enumeration, "cost": cost, "walk": walk}

if __name__ == "__main__":
    everything = {**PARTS, **orders_softplus.PARTS}
    write(everything, sys.argv[1:] or list(PARTS), "orders-")
