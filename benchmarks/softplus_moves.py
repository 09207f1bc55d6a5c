"""Moves on the marginal likelihood of softplus sticks against Gibbs sampling, per second.

``python benchmarks/softplus_moves.py [DATA]``. Given the order, weights and precisions, the
latents of a stick integrate out and its coefficients have a smooth posterior, on which
Hamiltonian trajectories are exact moves. They are put after Gibbs sweeps here, on one stick after
the other, with a diagonal metric from the variances of a Gibbs chain and a step size that is
tuned before the measured sweeps. One chain each, from the same state and with a fixed order,
and effective samples of the class probabilities of 300 test rows (median) and of the
log-likelihood over the processor's seconds.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

from pasb import datasets
from pasb.binary import Softplus
from pasb.binary.binary_model import Keys
from pasb.binary.softplus_fit import value_and_gradient
from pasb.binary.softplus_kernels import mark_rows
from pasb.binary.softplus_link import log_weights
from pasb.covariates.scaling import Scaling
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows, blocked
from pasb.posterior.diagnostics import bulk_ess
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import log_probabilities

N_WARMUP, N_TUNE, N_SWEEPS = 400, 80, 500
ORDER = {"vehicle": (0, 3, 2, 1)}  # the one that logistic sticks favour


class Trajectories:
    """Hamiltonian trajectories of the coefficients of every stick, given all else."""

    def __init__(self, sweeper: Sweeper, variance: np.ndarray, n_steps: int, seed: int):
        self.sweeper, self.n_steps = sweeper, n_steps
        self.variance = variance
        self.rng = np.random.default_rng(seed)
        self.step = np.full(len(variance), 0.05)
        self.accepted = np.zeros(len(variance))
        self.n = 0
        sampler = sweeper.sampler
        n_experts, n_layers, _ = sampler.size
        n_blocks, n_padded, size = sampler.rows.blocks.shape
        self.labels = np.zeros(n_blocks * size, dtype=np.int8)
        self.used = np.zeros(n_blocks, dtype=np.bool_)
        self.padded = np.zeros((n_experts * n_layers, n_padded))
        self.scratch = (
            np.zeros((n_experts, n_layers, size)),
            np.zeros((n_experts, n_layers + 1, size)),
        )
        self.gradients = np.zeros((n_experts * n_layers, n_padded)), np.zeros(n_experts)

    def posterior(self, coef, precision, log_weight):
        """Log-posterior of the coefficients and its gradient."""
        rows, n = self.sweeper.sampler.rows, coef.shape[-1]
        self.padded[:, :n] = coef.reshape(-1, n)
        value = value_and_gradient(
            rows.blocks,
            self.labels,
            self.used,
            self.padded,
            log_weight,
            *self.scratch,
            *self.gradients,
        )
        value -= 0.5 * np.sum(precision * coef**2)
        return value, self.gradients[0][:, :n].reshape(coef.shape) - precision * coef

    def move(self, state, tune: bool) -> None:
        sampler, rng = self.sweeper.sampler, self.rng
        self.n += 1
        for stick, c in enumerate(state.order[:-1]):
            mark_rows(
                sampler.rows.bounds,
                self.sweeper.problem.roles.on_stick(state.order, stick),
                self.labels,
                self.used,
            )
            coef, precision = state.parameters["coef"][c], state.parameters["precision"][c]
            log_weight = log_weights(state.parameters["weight"][c])
            # of what the prior allows at present, for precisions move too
            variance = 1 / (precision + 1 / self.variance[c])
            step = self.step[c] * rng.uniform(0.8, 1.2)
            velocity = rng.standard_normal(coef.shape) * np.sqrt(variance)
            value, gradient = self.posterior(coef, precision, log_weight)
            energy = value - 0.5 * np.sum(velocity**2 / variance)
            place = coef
            for _ in range(self.n_steps):
                velocity = velocity + 0.5 * step * variance * gradient
                place = place + step * velocity
                value, gradient = self.posterior(place, precision, log_weight)
                velocity = velocity + 0.5 * step * variance * gradient
            gain = value - 0.5 * np.sum(velocity**2 / variance) - energy
            chance = np.exp(min(gain, 0.0)) if np.isfinite(gain) else 0.0
            if rng.random() < chance:
                coef[:] = place
            if tune:
                self.step[c] *= np.exp((chance - 0.75) * 2 / np.sqrt(self.n))
            else:
                self.accepted[c] += chance


def table(name: str):
    part = datasets.load(name).partition(0)
    classes, y = np.unique(part.y_train, return_inverse=True)
    scaling = Scaling.of(part.X_train, np.ones(len(y)), "standard")
    rows = Rows.of(scaling.with_constant(part.X_train), y, len(classes))
    return rows, scaling.with_constant(part.X_test[:300])


def copy(state):
    parameters = {name: values.copy() for name, values in state.parameters.items()}
    return type(state)(state.order.copy(), parameters)


def run(problem: Problem, begun, variance, test, n_steps: int, gibbs_every: int):
    sweeper, state = Sweeper(problem), copy(begun)
    sweeper.resume(state)
    moves = Trajectories(sweeper, variance, n_steps, seed=1) if n_steps else None
    probabilities, log_likelihood = [], []
    seconds, n_test = 0.0, len(test)
    blocks = blocked(test)
    for sweep in range(-N_TUNE, N_SWEEPS):
        began = process_time()
        if sweep % gibbs_every == 0:
            sweeper.sweep(state, Keys(2, 0, sweep + N_TUNE + 1))
        if moves is not None:
            moves.move(state, tune=sweep < 0)
        if sweep < 0:
            continue
        seconds += process_time() - began
        sweeper.tabulate(state)
        log_likelihood.append(sweeper.table.log_likelihood(state.order))
        one = {name: values[None] for name, values in state.parameters.items()}
        success, failure = problem.model.log_probabilities(one, blocks)
        logs = log_probabilities(success[0], failure[0], state.order)
        probabilities.append(np.exp(logs)[:, :n_test].ravel())
    ess = np.median(bulk_ess(np.array(probabilities)[None]))
    ess_log_likelihood = bulk_ess(np.array(log_likelihood)[None, :, None])[0]
    figures = {
        "seconds": seconds,
        "ESS": ess,
        "ESS a second": ess / seconds,
        "ESS of the log-likelihood a second": ess_log_likelihood / seconds,
        "mean log-likelihood": float(np.mean(log_likelihood)),
    }
    if moves is not None:
        sticks = state.order[:-1]
        figures["accepted"] = float(np.mean(moves.accepted[sticks]) / N_SWEEPS)
        figures["step"] = float(np.mean(moves.step[sticks]))
    return {key: float(value) for key, value in figures.items()}


def measure(name: str = "vehicle") -> dict[str, dict[str, float]]:
    rows, test = table(name)
    problem = Problem(rows, Softplus(), fixed_order=np.array(ORDER[name]))
    sweeper = Sweeper(problem)
    results = {}
    with one_blas_thread():
        state = sweeper.start(Keys(1, 0, 0))
        kept = []
        for sweep in range(1, N_WARMUP + 1):
            sweeper.sweep(state, Keys(1, 0, sweep))
            if sweep > N_WARMUP // 2:
                kept.append(state.parameters["coef"].copy())
        variance = np.var(kept, axis=0) + 1e-4
        for case, (n_steps, gibbs_every) in {
            "Gibbs": (0, 1),
            "Gibbs and 10 steps": (10, 1),
            "10 steps, Gibbs one sweep in 5": (10, 5),
        }.items():
            results[case] = run(problem, state, variance, test, n_steps, gibbs_every)
            print(case, results[case], file=sys.stderr, flush=True)
    return results


if __name__ == "__main__":
    from report import write

    write({"softplus moves": lambda: measure(*sys.argv[1:])}, ["softplus moves"], "softplus-moves-")
