"""What one source for CPU and GPU would cost the CPU, where two are kept.

``python benchmarks/one_source.py [link] [sticks] [cholesky]``: functions as kernels on a GPU have
them, one row or one thread at a time, compiled for one thread of the CPU, beside those that the
CPU runs. Both take turns within every round; the figure is the fastest round. `difference` is
the largest one of their results.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
from numba import njit

from pasb.binary.softplus_link import add_layer
from pasb.engines.cuda_centre import LEAST_SQUARE
from pasb.engines.device_functions import with_layer
from pasb.numerics.compiled import kernel
from pasb.numerics.gaussian import equilibrated_cholesky
from pasb.numerics.rows import BLOCK
from pasb.sticks import probabilities_of_draws
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


PARTS = {"link": link, "sticks": sticks, "cholesky": cholesky}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "one-source-")
