"""One softplus sweep on satimage (K = 5, T = 3): its floors, its parts, and a second thread.

A sweep cannot be faster than its draws (Polya-Gamma variables, gammas and uniforms at the speed
of the public front on the same arguments) and its Gram products by BLAS: by `dsyrk` on rows
that are weighted already, or, the stricter floor, their flops at the speed of the product of
two matrices of order 1000. Draws that would underflow are not made and not counted. The parts
are timed by themselves, over the same blocks and arguments. All but the threads are processor
time of one thread, the least of several runs from the same state, because the machine may be
shared. Two threads are measured by wall time, which tells something on an idle machine only,
and besides by the processor times of the tasks of a sweep and how two threads would share them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter, thread_time

import numpy as np
from numba import njit
from scipy.linalg.blas import dsyrk
from sweep import training_rows

from pasb import variates
from pasb.binary import Softplus, softplus_kernels
from pasb.binary.binary_model import Keys
from pasb.binary.softplus_link import add_layer, exponentials, link_space, log_sums_of, log_weights
from pasb.binary.softplus_rows import LEAST_THETA, NO_SHAPE
from pasb.moves.move import State
from pasb.numerics.gaussian import draw_from_precision
from pasb.numerics.helpers import Helpers, one_blas_thread
from pasb.numerics.rows import BLOCK, Rows, add_block, linear_predictors, padded, unblocked
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import ABSENT, SUCCESS

K, T = 5, 3
# orders that the penalised fits favour
ORDERS = {"forward": [1, 0, 4, 5, 2, 3], "reverse": [0, 4, 1, 3, 2, 5]}
part_of_sweep = njit(nogil=True, error_model="numpy")
draw_latents = softplus_kernels.draw_latents
draw_polya_gammas = softplus_kernels.draw_polya_gammas


@part_of_sweep
def predictors(blocks, used, coef, psi):
    for b in range(blocks.shape[0]):
        if used[b]:
            linear_predictors(blocks[b : b + 1], coef, psi[b])


@part_of_sweep
def layers(psi, used, log_q, q):
    for b in range(psi.shape[0]):
        if used[b]:
            for t in range(psi.shape[1]):
                if t == 0:
                    log_q[b, t] = 0.0
                else:
                    log_q[b, t] = log_q[b, t - 1]
                add_layer(psi[b, t], log_q[b, t])
                exponentials(log_q[b, t], q[b, t])


@part_of_sweep
def thetas(psi, log_q, q, used, log_weight, weight, labels, active, expert, key, latents):
    for b in range(psi.shape[0]):
        if used[b]:
            rows = slice(b * BLOCK, (b + 1) * BLOCK)
            draw_latents(
                psi[b],
                log_q[b],
                q[b],
                log_weight,
                weight,
                labels[rows],
                active[rows],
                expert,
                b * BLOCK,
                key,
                latents[b, 0],
                latents[b, 1:],
            )


@part_of_sweep
def polya_gammas(c, nothing, active, shape, used, labels, key, weights, linear):
    for b in range(c.shape[0]):
        if used[b]:
            rows = slice(b * BLOCK, (b + 1) * BLOCK)
            own = c[b], nothing, active[rows], shape[b], labels[rows]
            draw_polya_gammas(*own, b * BLOCK, key, weights[rows], linear[rows])


@part_of_sweep
def grams(blocks, used, weights, shares, scratch, gram, linear):
    for b in range(blocks.shape[0]):
        if used[b]:
            rows = slice(b * BLOCK, (b + 1) * BLOCK)
            add_block(blocks[b], weights[rows], shares[rows], scratch, gram, linear)


class Clock:
    """Adds up the least processor time of each part."""

    def __init__(self, repeats: int):
        self.repeats = repeats
        self.ms: dict[str, float] = {}

    def __call__(self, part: str, run: Callable, *arguments, times: int = 1) -> None:
        best = np.inf
        for r in range(self.repeats):
            # other random numbers each time, or the processor would learn the branches
            other = [x + np.uint64(2 * r) if isinstance(x, np.uint64) else x for x in arguments]
            start = thread_time()
            run(*other)
            best = min(best, thread_time() - start)
        self.ms[part] = self.ms.get(part, 0.0) + times * best * 1e3


def settled(rows: Rows, direction: str, n_sweeps: int) -> tuple[Problem, State]:
    order = np.array(ORDERS[direction])
    problem = Problem(rows, Softplus(n_experts=K, n_layers=T), direction, fixed_order=order)
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(1, 0, 0))
    for sweep in range(1, n_sweeps):
        sweeper.sweep(state, Keys(1, 0, sweep))
    return Problem(rows, problem.model, direction, swaps_only=True), state


def copied(state: State) -> State:
    parameters = {name: values.copy() for name, values in state.parameters.items()}
    return State(state.order.copy(), parameters)


def sweep_seconds(problem: Problem, state: State, helpers: Helpers, clock, repeats: int) -> float:
    """The least time of the same sweep, again and again."""
    sweeper = Sweeper(problem, helpers=helpers)
    best = np.inf
    for _ in range(repeats):
        here = copied(state)
        sweeper.resume(here)
        start = clock()
        sweeper.sweep(here, Keys(1, 0, 1000))
        best = min(best, clock() - start)
    return best


class Recorder(Helpers):
    """Runs tasks one by one, and works out how long two threads would take for them."""

    def __init__(self):
        super().__init__()
        self.alone = self.together = 0.0

    def run(self, tasks, breadth=1):
        recorded = [self._record(task) for task in tasks]
        ready, running, now = deque(recorded), [], 0.0
        while ready or running:
            while ready and len(running) < 2:
                seconds, more = ready.popleft()
                running.append((now + seconds, more))
            running.sort(key=lambda end: end[0])
            now, more = running.pop(0)
            ready.extendleft(reversed(more))
        self.together += now

    def _record(self, task):
        start = thread_time()
        more = task() or ()
        seconds = thread_time() - start
        self.alone += seconds
        return seconds, [self._record(other) for other in more]


def speed_up_of_tasks(problem: Problem, state: State, repeats: int) -> float:
    """What a second thread gains when it is free, from the processor times of the tasks."""
    gains = []
    for _ in range(repeats):
        recorder = Recorder()
        sweeper = Sweeper(problem, helpers=recorder)
        here = copied(state)
        sweeper.resume(here)
        recorder.alone = recorder.together = 0.0
        start = thread_time()
        sweeper.sweep(here, Keys(1, 0, 1000))
        seconds = thread_time() - start
        gains.append(seconds / (seconds - recorder.alone + recorder.together))
    return float(np.median(gains))


def parts_and_floors(problem: Problem, state: State, repeats: int) -> tuple[dict, dict]:
    """Milliseconds of the parts of a sweep, and of its floors."""
    rows = problem.rows
    blocks, bounds, n = rows.blocks, rows.bounds, rows.n_columns
    n_blocks, n_padded, _ = blocks.shape
    X = unblocked(blocks, rows.n_rows, n)
    labels, used = np.zeros(n_blocks * BLOCK, dtype=np.int8), np.zeros(n_blocks, dtype=np.bool_)
    flags = np.zeros((-(-K // 8), n_blocks * BLOCK), dtype=np.uint8)
    psi, log_q, q, latents = np.zeros((4, n_blocks, T, BLOCK))
    weights, shares = np.zeros((2, n_blocks * BLOCK))
    scratch, gram, linear = np.zeros((n_padded, BLOCK)), np.eye(n_padded), np.zeros(n_padded)
    normal_space = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    part, floor = Clock(repeats), Clock(repeats)
    n_products = n_uniforms = 0
    gammas, powers, tilts = [], [], []
    key = Keys(1, 0, 1000).at(0)
    for stick, category in enumerate(state.order[:-1]):
        own = {name: values[category] for name, values in state.parameters.items()}
        softplus_kernels.mark_rows(bounds, problem.roles.on_stick(state.order, stick), labels, used)
        present = labels.reshape(n_blocks, BLOCK) != ABSENT
        n_present = int(present.sum())
        coef = padded(own["coef"].reshape(K * T, n), n_padded)
        log_weight = log_weights(own["weight"])
        arrival_space = (
            np.zeros((T, BLOCK)),
            np.zeros((K, BLOCK)),
            np.zeros((3, K)),
            np.zeros(K, np.int8),
        )
        part(
            "arrivals",
            softplus_kernels.draw_arrivals,
            *(blocks, labels, used, coef, log_weight, key, *arrival_space, flags),
        )
        active = np.unpackbits(flags, axis=0, count=K, bitorder="little").view(np.int8)
        n_uniforms += K * int(np.sum(labels == SUCCESS)) + int(active.sum())
        weighted = np.asfortranarray(X[present.ravel()[: rows.n_rows]].T)
        floor("Gram products, dsyrk", dsyrk, 1.0, weighted, times=K * T)
        n_products += K * T * n_present
        for k in range(K):
            on = active[k].reshape(n_blocks, BLOCK)
            # the layers' own, the one below again, and the new ones
            part("predictors", predictors, blocks, used, coef[k * T : (k + 1) * T], psi)
            part("predictors", predictors, blocks, used, coef[k * T : (k + 1) * T], psi)
            part("predictors", predictors, blocks, used, coef[k * T + 1 : (k + 1) * T], psi)
            predictors(blocks, used, coef[k * T : (k + 1) * T], psi)
            part("exposures", layers, psi, used, log_q, q, times=2)
            drawn = psi, log_q, q, used, log_weight[k], own["weight"][k], labels, active[k]
            part("thetas", thetas, *drawn, k, key, latents)
            shape = np.broadcast_to(own["weight"][k], on.shape)
            for t in range(T - 1, 0, -1):
                made = present & (latents[:, t] > LEAST_THETA)
                gammas.append((shape + on)[made])
                shape = latents[:, t]
            exposure = latents[:, 0].copy()
            for t in range(T):
                shape = np.full(on.shape, own["weight"][k]) if t == T - 1 else latents[:, t + 1]
                c = psi[:, t] + exposure
                for b in range(n_blocks):
                    add_layer(psi[b, t], exposure[b])
                part(
                    "Polya-Gammas",
                    polya_gammas,
                    *(c, np.zeros(BLOCK), active[k], shape, used, labels, key, weights, shares),
                )
                made = present & (shape + on >= NO_SHAPE)
                tilts.append(c[made])
                powers.append((shape + on)[made])
            part(
                "Gram products",
                grams,
                blocks,
                used,
                weights,
                shares,
                scratch,
                gram,
                linear,
                times=T,
            )
            normal = np.eye(n), linear[:n], key, *normal_space
            part("Cholesky factors", draw_from_precision, *normal, times=T)
    space = link_space(K, T)
    for category in range(rows.n_categories):
        coef = padded(state.parameters["coef"][category].reshape(K * T, n), n_padded)
        weight = log_weights(state.parameters["weight"][category])
        sums = np.zeros((2, rows.n_categories))
        part("table of log-probabilities", log_sums_of, blocks, bounds, coef, weight, *space, *sums)
    floor("uniforms", lambda: variates.uniform(size=n_uniforms))
    floor("gammas", variates.gamma, np.concatenate(gammas))
    floor("Polya-Gammas", variates.polya_gamma, np.concatenate(powers), np.concatenate(tilts))
    square = np.random.default_rng(0).normal(size=(1000, 1000))
    product = Clock(repeats)
    product("dgemm", np.dot, square, square)
    floor.ms["Gram products, flops"] = n_products * n * (n + 1) / 2e9 * product.ms["dgemm"]
    floor.ms["variates"] = sum(map(len, (*gammas, *powers))) + n_uniforms
    return part.ms, floor.ms


def measure(n_sweeps: int = 200, repeats: int = 7) -> dict[str, dict[str, float]]:
    rows = training_rows("satimage")
    figures: dict[str, dict[str, float]] = {}
    with one_blas_thread():
        for direction in ORDERS:
            problem, state = settled(rows, direction, n_sweeps)
            sweep = 1e3 * sweep_seconds(problem, state, Helpers(), thread_time, 3 * repeats)
            parts, floors = parts_and_floors(problem, state, repeats)
            # once more: the load may have changed meanwhile
            sweep = min(
                sweep, 1e3 * sweep_seconds(problem, state, Helpers(), thread_time, 3 * repeats)
            )
            n_variates = floors.pop("variates")
            draws = sum(value for name, value in floors.items() if "Gram" not in name)
            parts["the rest"] = sweep - sum(parts.values())
            walls = {}
            for n_helpers in (0, 1, 0, 1):
                with Helpers(n_helpers) as helpers:
                    wall = sweep_seconds(problem, state, helpers, perf_counter, 3 * repeats)
                walls[n_helpers] = min(wall, walls.get(n_helpers, np.inf))
            figures[f"{direction}: parts, ms"] = parts
            figures[f"{direction}: floors, ms"] = floors
            figures[f"{direction}: sweep"] = {
                "variates": n_variates,
                "ms": sweep,
                "over floors": sweep / (draws + floors["Gram products, dsyrk"]),
                "over strict floors": sweep / (draws + floors["Gram products, flops"]),
                "wall ms, 1 thread": 1e3 * walls[0],
                "wall ms, 2 threads": 1e3 * walls[1],
                "1 thread / 2 threads": walls[0] / walls[1],
                "the same by the times of the tasks": speed_up_of_tasks(problem, state, repeats),
            }
    return figures


if __name__ == "__main__":
    from report import show

    show("softplus sweep", measure())
