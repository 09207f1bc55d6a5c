"""What one source would cost the CPU, where two are kept.

``python benchmarks/one_source.py [link] [sticks] [cholesky]``: functions as kernels on a GPU have
them, one row or one thread at a time, compiled for one thread of the CPU, beside those that the
CPU runs. Both take turns within every round; the figure is the fastest round. `difference` is
the largest one of their results.

``python benchmarks/one_source.py askings``: what is written as an asking, for rows that are
elsewhere, with rows that are at hand, beside the compiled functions that such rows have.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
from numba import njit

from pasb.binary import Logistic, Softplus
from pasb.binary.asked_laplace import climbed
from pasb.binary.asked_travel import Stick, point_at, travelled
from pasb.binary.bent_normal import unpacked
from pasb.binary.binary_model import Keys
from pasb.binary.laplace import laplace
from pasb.binary.row_requests import answered, stacked, unstacked
from pasb.binary.softplus_annealing import N_SCRATCH
from pasb.binary.softplus_link import add_layer
from pasb.binary.softplus_metric import metric_of
from pasb.binary.softplus_posterior import position_of, posterior_space
from pasb.binary.softplus_requests import answered as softplus_answered
from pasb.binary.stick_rows import stick_rows
from pasb.binary.travel import travel, travel_space
from pasb.engines.cuda_centre import LEAST_SQUARE
from pasb.engines.device_functions import with_layer
from pasb.moves.asked_softplus_trajectory import Density, followed
from pasb.moves.softplus_trajectory import LENGTH, follow
from pasb.numerics.asking import answered_by
from pasb.numerics.compiled import kernel
from pasb.numerics.gaussian import equilibrated_cholesky
from pasb.numerics.rows import BLOCK, Rows
from pasb.sticks import FAILURE, SUCCESS, probabilities_of_draws
from pasb.variates.scalar import stream_key, uniform_at
from report import write

ROUNDS = 25
scalar_layer = njit(error_model="numpy", forceinline=True)(with_layer.py_func)  # the GPU's source


@kernel
def _layers(n, psi, start, log_q):
    """The CPU's layer on one block, `n` times."""
    for _ in range(n):
        log_q[:] = start
        add_layer(psi, log_q)


@njit(error_model="numpy")
def _scalar_layers(n, psi, start, log_q):
    """The GPU's layer, row by row."""
    for _ in range(n):
        log_q[:] = start
        for i in range(psi.size):
            log_q[i] = scalar_layer(psi[i], log_q[i])


@njit(error_model="numpy")
def scalar_sticks(log_success, log_failure, reverse, orders, out):
    """The loop of the kernel `probabilities` in `pasb.engines.cuda_rows`, one row after the other.

    There the logs come from the link; here both functions are given them.
    """
    n_draws, n_categories, n_rows = out.shape
    last = n_categories - 1
    for d in range(n_draws):
        for row in range(n_rows):
            log_left = 0.0
            for j in range(last):
                success, failure = log_success[d, j, row], log_failure[d, j, row]
                stop, go_on = (failure, success) if reverse[d] else (success, failure)
                out[d, orders[d, j], row] = math.exp(log_left + stop)
                log_left += go_on
            out[d, orders[d, last], row] = math.exp(log_left)


@njit(error_model="numpy")
def scalar_cholesky(precision, scale, factor):
    """`equilibrate` and `factorise` of `pasb.engines.cuda_centre` with one thread."""
    n = precision.shape[0]
    for v in range(n):
        scale[v] = 1.0 / math.sqrt(precision[v, v])
    for a in range(n):
        for b in range(a):
            factor[b, a] = precision[a, b] * scale[a] * scale[b]
        factor[a, a] = 1.0
    for j in range(n):
        for i in range(j, n):
            total, more = factor[j, i], 0.0
            k = 0
            while k + 3 < j:
                total -= factor[k, i] * factor[k, j] + factor[k + 1, i] * factor[k + 1, j]
                more += factor[k + 2, i] * factor[k + 2, j] + factor[k + 3, i] * factor[k + 3, j]
                k += 4
            while k < j:
                total -= factor[k, i] * factor[k, j]
                k += 1
            factor[j, i] = total - more
        square = factor[j, j]
        if not square > LEAST_SQUARE:
            return False
        pivot = math.sqrt(square)
        for i in range(j, n):
            factor[j, i] = pivot if i == j else factor[j, i] / pivot
    return True


def compare(
    cpu: Callable[[], object], gpu: Callable[[], object], n: int, difference: Callable[[], float]
) -> dict[str, float]:
    """Nanoseconds of both for each of `n` things that a call deals with."""
    best = {"cpu": math.inf, "gpu": math.inf}
    for way in (cpu, gpu):
        way()  # compiles
    for _ in range(ROUNDS):
        for name, way in (("cpu", cpu), ("gpu", gpu)):
            start = perf_counter()
            way()
            best[name] = min(best[name], perf_counter() - start)
    ours, theirs = 1e9 * best["cpu"] / n, 1e9 * best["gpu"] / n
    return {
        "CPU's source, ns": ours,
        "GPU's source, ns": theirs,
        "times as long": theirs / ours,
        "difference": difference(),
    }


def link() -> dict[str, dict[str, float]]:
    """One layer of the link, a block of rows; the figures are those of a row."""
    rng = np.random.default_rng(0)
    out = {}
    for spread in (1.0, 3.0, 30.0):
        psi, start = rng.normal(0, spread, BLOCK), rng.normal(0, 1, BLOCK)
        ours, theirs = np.empty((2, BLOCK))
        n = 1000
        out[f"predictors of spread {spread:g}"] = compare(
            lambda n=n, psi=psi, start=start, ours=ours: _layers(n, psi, start, ours),
            lambda n=n, psi=psi, start=start, theirs=theirs: _scalar_layers(n, psi, start, theirs),
            n * BLOCK,
            lambda ours=ours, theirs=theirs: float(np.abs(ours - theirs).max()),
        )
    return out


def sticks() -> dict[str, dict[str, float]]:
    """The chain of sticks in a prediction; the figures are those of a row under one draw."""
    rng = np.random.default_rng(0)
    out = {}
    for n_categories in (3, 6, 26):
        n_draws, n_rows = 64, 4 * BLOCK
        eta = rng.normal(0, 3, (n_draws, n_categories - 1, n_rows))
        logs = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
        reverse = np.arange(n_draws) % 2 == 0
        orders = rng.permuted(np.tile(np.arange(n_categories), (n_draws, 1)), axis=1)
        ours, theirs = np.empty((2, n_draws, n_categories, n_rows))
        given = (*logs, reverse, orders)
        out[f"{n_categories} categories"] = compare(
            lambda given=given, ours=ours: probabilities_of_draws(*given, ours),
            lambda given=given, theirs=theirs: scalar_sticks(*given, theirs),
            n_draws * n_rows,
            lambda ours=ours, theirs=theirs: float(np.abs(ours - theirs).max()),
        )
    return out


def cholesky() -> dict[str, dict[str, float]]:
    """The Cholesky factor of a precision matrix."""
    rng = np.random.default_rng(0)
    out = {}
    for n in (5, 37, 181):
        x = rng.normal(size=(2 * n, n))
        precision = x.T @ x + np.eye(n)
        scale, ours, theirs = np.empty(n), np.zeros((n, n)), np.zeros((n, n))
        out[f"{n} columns"] = compare(
            lambda p=precision, s=scale, f=ours: equilibrated_cholesky(p, s, f),
            lambda p=precision, s=scale, f=theirs: scalar_cholesky(p, s, f),
            1,
            lambda ours=ours, theirs=theirs: float(np.abs(np.tril(ours) - np.triu(theirs).T).max()),
        )
    return out


def askings() -> dict[str, dict[str, float]]:
    """Trajectories and Newton's method on the first of three sticks; microseconds of a call."""
    out = {}
    for n_rows, n_columns in ((150, 5), (20_000, 17)):
        rng = np.random.default_rng(0)
        y = np.arange(n_rows) % 3
        table = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, n_columns - 1))])
        table[:, 1:3] += np.eye(3)[y][:, :2]
        rows, roles = Rows.of(table, y, 3), np.array([SUCCESS, FAILURE, FAILURE], dtype=np.int8)
        for name, ways in (("linear", of_linear), ("softplus", of_softplus)):
            for what, (ours, theirs) in ways(rows, roles).items():
                found = compare(ours, theirs, 1000, lambda: 0.0)
                out[f"{name} {what}, {n_rows} rows, {n_columns} columns"] = {
                    "compiled, us": found["CPU's source, ns"],
                    "asked, us": found["GPU's source, ns"],
                    "times as long": found["times as long"],
                }
    return out


def of_linear(rows: Rows, roles: np.ndarray) -> dict[str, tuple[Callable, Callable]]:
    """A trajectory of two steps, and Newton's method."""
    sampler = Logistic(precision=1.0).sampler(rows)
    gaussian = sampler.approximate(roles, None).packed
    stick = Stick(roles, sampler.prior, gaussian)
    n, key = rows.n_columns, np.uint64(7)
    start, work = unpacked(gaussian)[0].copy(), travel_space(rows)

    def ask(requests):
        return unstacked(requests, answered(rows, sampler.link, stacked(requests)))

    point = answered_by(ask, point_at(stick, start))
    slope = np.zeros(rows.blocks.shape[1])
    slope[:n] = point.slope
    fixed = sampler.regression, gaussian, roles, 2, key, start, slope, point.sums, work
    return {
        "trajectory": (
            lambda: travel(*fixed),
            lambda: answered_by(ask, travelled(stick, point, 2, key)),
        ),
        "Newton": (
            lambda: laplace(rows, roles, sampler.prior, sampler.link, np.zeros(n)),
            lambda: answered_by(ask, climbed(roles, sampler.prior, np.zeros(n))),
        ),
    }


def of_softplus(rows: Rows, roles: np.ndarray) -> dict[str, tuple[Callable, Callable]]:
    """A trajectory of five experts of two layers, to the same length."""
    sampler = Softplus(n_experts=5, n_layers=2).sampler(rows)
    own = {name: values[0] for name, values in sampler.start(Keys(0, 0, 0)).items()}
    sampler.start_stick(own, roles)
    position, on_stick = position_of(own), stick_rows(rows, roles)
    prior = sampler.ard, sampler.shape, sampler.rate_prior(own), sampler.hypers
    work = posterior_space(sampler.size, *on_stick.blocks.shape[1:])
    metric = metric_of(on_stick, prior, position[None], work)
    scratch, density = np.zeros((N_SCRATCH, len(position))), Density(sampler.size)
    zero = np.int64(0)
    keys = [np.uint64(stream_key(zero, zero, np.int64(k), zero, zero, zero)) for k in range(100)]
    key = min(keys, key=lambda key: abs(uniform_at(key, zero) - 0.5))  # of the usual length
    length = 2.0 * LENGTH * float(uniform_at(key, zero))

    def ask(requests):
        return softplus_answered(rows, np.arange(rows.n_rows), requests)

    def compiled():
        follow(on_stick, prior, work, metric, 0.5, key, scratch, position.copy())

    def asked():
        place = position.copy()
        answered_by(ask, followed(density, roles, prior, metric, 0.5, length, key, place))

    return {"trajectory": (compiled, asked)}


PARTS = {"link": link, "sticks": sticks, "cholesky": cholesky, "askings": askings}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "one-source-")
