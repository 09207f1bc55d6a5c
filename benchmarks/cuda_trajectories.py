"""Softplus trajectories on a real GPU: the CPU's, how fast, and what they are worth.

``python benchmarks/cuda_trajectories.py`` on a machine with an NVIDIA GPU and numba-cuda; parts by
name. Every figure has compilation behind it.

agree
    The largest relative difference of a chain on CPU and GPU after a sweep from the same state,
    with forces in double precision on both.
speed
    Milliseconds of a sweep and microseconds of a step for several numbers of chains.
parts
    Microseconds of every kernel and product of a step.
fits
    Default fits: R-hat of class probabilities of test rows, effective draws a second, error and log
    loss; then Gibbs updates alone, also on the GPU, in the same time.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from time import perf_counter

import numpy as np
import tables
from convergence import agreement
from cuda_softplus import rows_of, seconds_a_sweep
from scores import error_rate, log_loss

from pasb import SoftplusClassifier
from pasb.binary import softplus_posterior
from pasb.binary.binary_model import Keys
from pasb.binary.softplus import Softplus
from pasb.covariates.scaling import Scaling
from pasb.engines.device import array_module
from pasb.engines.softplus_arrays import BatchChain
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.moves.move import State
from pasb.moves.softplus_trajectory import STATISTICS
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

SEED, N_WARMUP = 7, 20
SETS = ("satimage", "vehicle", "segment", "vowel", "glass", "waveform")
STEP = 0.2


def batch_of(name: str, n_chains: int) -> tuple[SoftplusBatch, list]:
    """Chains behind a warm-up, with steps of a usual size, and their states."""
    rows = rows_of(name)
    model = Softplus(moves="mixed", rate="shared")
    problems = [Problem(rows, model, fixed_order=np.arange(rows.n_categories))] * n_chains
    sampler = model.sampler(rows)
    starts = [sampler.start(Keys(SEED, c, 0)) for c in range(n_chains)]
    for own in starts:
        own["adaptation"][:, [0, 1, 3]] = np.log(STEP)
    members = [BatchChain(problem, SEED, c) for c, problem in enumerate(problems)]
    batch = SoftplusBatch(members, n_warmup=N_WARMUP)
    batch.start([problem.fixed_order for problem in problems], starts)
    return batch, problems


def table_of(part: tables.Part) -> Rows:
    scaling = Scaling.of(part.X_train, np.ones(len(part.X_train)), "standard")
    return Rows.of(scaling.with_constant(part.X_train), part.y_train, part.n_classes)


def agree(name: str, direction: str, n_sweeps: int = 3) -> dict[str, float]:
    """Of trajectories alone, and of whole sweeps, which continue by Gibbs updates."""
    softplus_posterior.IN_SINGLE = False  # as on the GPU
    rows = rows_of(name)
    model = Softplus(moves="mixed", rate="shared")
    problem = Problem(rows, model, direction, fixed_order=np.arange(rows.n_categories))
    sweeper = Sweeper(problem, n_warmup=N_WARMUP)
    state = sweeper.start(Keys(SEED, 0, 0))
    state.parameters["adaptation"][:, [0, 1, 3]] = np.log(STEP)
    batch = SoftplusBatch([BatchChain(problem, SEED, 0)], n_warmup=N_WARMUP)
    worst: Counter[str] = Counter()
    counted = []

    def compare(what: str, then: State) -> None:
        found = {**batch.parameters(), "adaptation": batch.learned}
        for parameter in ("coef", "weight", "precision", "adaptation"):
            mine, theirs = found[parameter][0], then.parameters[parameter]
            apart = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
            worst[f"{what}, {parameter}"] = max(worst[f"{what}, {parameter}"], apart)

    for number in range(1, n_sweeps + 1):
        alone = State(state.order, {k: v.copy() for k, v in state.parameters.items()})
        batch.start([state.order], [state.parameters])
        sweeper.moves[0](alone, Keys(SEED, 0, number))
        with batch.launcher.stream:
            batch.arrays["sweep"].fill(number)
            batch.paths.sweep(number)
            counted.append(batch.paths.finish(number)[0].tolist())
        compare("trajectory", alone)
        batch.start([state.order], [state.parameters])
        sweeper.sweep(state, Keys(SEED, 0, number))
        batch.sweep(number)
        compare("sweep", state)
    return {**worst, ", ".join(STATISTICS): counted}


def speed(name: str, n_chains: int, n_sweeps: int = 6) -> dict[str, float]:
    batch, _ = batch_of(name, n_chains)
    for number in range(1, 4):
        batch.sweep(number)
    rounds: list[int] = []
    follow = batch.paths._follow
    batch.paths._follow = lambda most: (rounds.append(most), follow(most))
    began = perf_counter()
    gradients = 0
    for number in range(N_WARMUP + 1, N_WARMUP + 1 + n_sweeps):
        batch.sweep(number)
        column = STATISTICS.index("softplus_trajectory_gradients")
        gradients += int(batch.path_counts[:, column].sum())
    seconds = perf_counter() - began
    return {
        "chains": n_chains,
        "places": batch.paths.sizes.n_places,
        "ms a sweep": round(1e3 * seconds / n_sweeps, 2),
        "us a step": round(1e6 * seconds / sum(rounds), 1),
        "us a gradient of a stick": round(1e6 * seconds / gradients, 2),
        "share of sticks at work": round(
            gradients / (sum(rounds) + len(rounds)) / batch.paths.sizes.n_places, 2
        ),
    }


def parts(name: str, n_chains: int, n_times: int = 20) -> dict[str, float]:
    """Every kernel of a step for itself, replayed many times; all places are at work."""
    batch, _ = batch_of(name, n_chains)
    for number in range(1, 4):
        batch.sweep(number)
    paths, stream, launch = batch.paths, batch.launcher.stream, batch.launcher.launch
    with stream:
        n_steps = np.full(paths.sizes.n_pairs, 10**9)
        batch.put("n_steps", n_steps)
        batch.put("steps", np.full(len(n_steps), 1e-9))  # so that nothing diverges
        batch.put("members", paths._rounds(n_steps)[0])
        kernels: list[tuple] = []
        paths._launch = lambda *given: kernels.append(given)
        paths._row_gradients()
        paths._step(first=0)
        paths._enter()
        launch(*kernels.pop())
        out = {"places": paths.sizes.n_places}
        for given in kernels:
            stream.begin_capture()
            for _ in range(n_times):
                launch(*given)
            graph = stream.end_capture()
            out[given[0].py_func.__name__] = microseconds(stream, graph.launch, n_times)
        for what in (paths._predict, paths._add_up):
            acts = [what] * n_times
            every = microseconds(stream, lambda _, acts=acts: [act() for act in acts], n_times)
            out["first product" if what is paths._predict else "second product"] = every
        began = perf_counter()
        paths.metrics.forget()
        paths._renew_metrics()
        stream.synchronize()
        out["a metric"] = round(1e6 * (perf_counter() - began) / len(n_steps))
    return out


def microseconds(stream, act, n_times: int) -> float:
    act(stream)
    stream.synchronize()
    began = perf_counter()
    act(stream)
    stream.synchronize()
    return round(1e6 * (perf_counter() - began) / n_times, 1)


def fit(part: tables.Part, n_rows: int = 300, **settings) -> dict[str, float]:
    model = SoftplusClassifier(engine="cuda", random_state=SEED, progress=False, **settings)
    firsts: list[float] = []
    model.set_params(callbacks=[lambda info: firsts.append(perf_counter()) if not firsts else None])
    began = perf_counter()
    model.fit(part.X_train, part.y_train)
    seconds = perf_counter() - began
    kept = model.draws_
    chosen = np.linspace(0, len(part.y_test) - 1, min(n_rows, len(part.y_test))).astype(int)
    flat = model.sample_proba(part.X_test[chosen])
    draws = flat.reshape(kept.n_chains, kept.n_draws, *flat.shape[1:])
    found = agreement(draws, list(kept.directions))
    mean = model.predict_proba(part.X_test)
    return {
        "R-hat median": round(found["rhat_median"], 3),
        "R-hat 95 %": round(found["rhat_95"], 3),
        "top R-hat 95 %": round(found["top_rhat_95"], 3),
        "ESS median": round(found["ess_median"], 1),
        "ESS a second": round(found["ess_median"] / seconds, 2),
        "ESS a second of sampling": round(found["ess_median"] / (began + seconds - firsts[0]), 2),
        "error": round(100 * error_rate(mean, part.y_test), 2),
        "log loss": round(log_loss(mean, part.y_test), 4),
        "standard error 95 %": round(found["standard_error_95"], 4),
        "seconds": round(seconds, 1),
        "seconds to the first sweep": round(firsts[0] - began, 1),
        "chains": kept.n_chains,
        "draws": kept.n_draws,
        "thin": kept.thin,
        "gradients": int(kept.statistics.get("softplus_trajectory_gradients", np.zeros(1)).sum()),
        "divergences": int(
            kept.statistics.get("softplus_trajectory_divergences", np.zeros(1)).sum()
        ),
        "log-likelihoods": np.round(kept.log_likelihood.mean(axis=1)).astype(int).tolist(),
    }


def compile_everything() -> float:
    began = perf_counter()
    X = np.random.default_rng(0).normal(size=(60, 3))
    for moves in ("mixed", "gibbs"):
        short = {"n_warmup": 4, "n_draws": 4, "n_chains": 1, "moves": moves, "direction": "forward"}
        settings = {**short, "progress": False, "random_state": 0}
        model = SoftplusClassifier(engine="cuda", **settings).fit(X, np.arange(60) % 3)
        model.predict_proba(X)
    return perf_counter() - began


def fits(names: list[str], data: str | None, settings: dict, gibbs: bool) -> None:
    for name in names:
        part = tables.load(name, 0, data)
        ours = fit(part, **settings)
        print(json.dumps({"set": name, **settings, **ours}), flush=True)
        if not gibbs:
            continue
        # as many sweeps as take that time; half of them are warm-up
        each = seconds_a_sweep(table_of(part), ours["chains"], 30)
        n = int((ours["seconds"] - ours["seconds to the first sweep"]) / each)
        thin = max(1, n // 2 // 1000)
        long = {"moves": "gibbs", "n_warmup": n // 2, "n_draws": n // 2 // thin, "thin": thin}
        found = fit(part, **long)
        print(json.dumps({"set": name, **long, **found}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["agree", "speed", "parts", "fits"])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--chains", nargs="*", type=int, default=[8, 32, 128])
    parser.add_argument("--data", help="a folder that tables.py exported to")
    parser.add_argument("--set", nargs="*", default=[], help="settings of the fits, name=number")
    parser.add_argument("--no-gibbs", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    array_module()  # complains if there is no GPU
    if "agree" in given.what:
        for name, direction in (
            ("vehicle", "forward"),
            ("satimage", "reverse"),
            ("dna", "forward"),
        ):
            print(name, direction, agree(name, direction), flush=True)
    for name in given.sets if "speed" in given.what else []:
        for n_chains in given.chains:
            print(name, speed(name, n_chains), flush=True)
    for name in given.sets if "parts" in given.what else []:
        for n_chains in given.chains[:2]:
            print(name, parts(name, n_chains), flush=True)
    if "fits" in given.what:
        settings = {k: json.loads(v) for k, v in (pair.split("=") for pair in given.set)}
        print(f"compilation {compile_everything():.1f} s", flush=True)
        fits(given.sets, given.data, settings, not given.no_gibbs)


if __name__ == "__main__":
    main()
