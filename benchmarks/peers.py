"""Error, log loss, time and effective samples a second, beside those of other programs.

``python benchmarks/peers.py [--data NAME ...] [--only PEER ...] [--device gpu]``. Every program
fits the same training rows (partition 0, covariates standardised) in a process of its own, on
one core, and the Bayesian linear ones have the same prior, N(0, 1) for every coefficient, and one
chain of 300 + 400 draws (ours of 100 + 400: they need no more). Seconds are those that the
processor spent, so that others who use the machine hardly matter. With ``--device gpu`` NumPyro
runs on the GPU, with all cores, and its seconds are those of the clock.

The effective sample size is the bulk one of the class probabilities of the first 300 test rows, the
median over rows and classes, by the same estimator for all. "with warm-up" divides it by the
seconds of the whole fit, in which NumPyro compiles its model and ours finds its order; our
kernels come compiled from Numba's cache and are loaded by a tiny fit beforehand (how long that
took is told). "without" divides by the seconds that the kept draws took.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DATA = ("vehicle", "satimage", "dna")
N_WARMUP, N_DRAWS = 300, 400
OUR_WARMUP = 100  # whitened chains reach the level of their log-likelihood within 20 sweeps
N_TEST_ROWS = 300
GP_ROWS = 500  # a Gaussian process takes time cubic in its rows


class Fit(NamedTuple):
    """What a program made of the training rows."""

    predict: Callable[[np.ndarray], np.ndarray]  # rows to mean class probabilities
    fit_s: float
    draws_s: float = np.nan  # of `fit_s`, spent on the draws that were kept
    sample: Callable[[np.ndarray], np.ndarray] | None = None  # rows to (draw, row, class)
    notes: dict[str, float | str] = {}  # noqa: RUF012


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray  # as numbers
    X_test: np.ndarray
    y_test: np.ndarray


def load(name: str) -> Rows:
    from pasb import datasets

    part = datasets.load(name).partition(0)
    _, y = np.unique(part.y_train, return_inverse=True)
    _, y_test = np.unique(part.y_test, return_inverse=True)
    centre, spread = part.X_train.mean(axis=0), part.X_train.std(axis=0)
    spread[spread == 0] = 1.0
    return Rows((part.X_train - centre) / spread, y, (part.X_test - centre) / spread, y_test)


def clock() -> float:
    return time.perf_counter() if os.environ.get("PEERS_DEVICE") == "gpu" else time.process_time()


def stick_breaking(kind, n_warmup=OUR_WARMUP, n_draws=N_DRAWS, **settings):
    """One of our classifiers; the callback only looks at the clock."""

    def fit(rows: Rows) -> Fit:
        import pasb

        def classifier(n_warmup, n_draws, **more):
            return getattr(pasb, kind)(
                **settings,
                **more,
                n_chains=1,
                n_warmup=n_warmup,
                n_draws=n_draws,
                scale=None,
                n_jobs=1,
                random_state=1,
                progress=False,
            )

        began = clock()
        few = np.concatenate([np.flatnonzero(rows.y == s)[:10] for s in np.unique(rows.y)])
        classifier(20, 20).fit(rows.X[few, :4], rows.y[few]).predict_proba(rows.X[few, :4])
        loaded = clock() - began
        marks = []

        def look(info):
            if info.sweep in (n_warmup, info.n_sweeps):
                marks.append(clock())

        began = clock()
        model = classifier(n_warmup, n_draws, callbacks=[look]).fit(rows.X, rows.y)
        ended = clock()
        notes = {"kernels loaded, s": loaded, "warm-up": n_warmup, "draws": n_draws}
        return Fit(
            model.predict_proba, ended - began, marks[1] - marks[0], model.sample_proba, notes
        )

    return fit


def polson(rows: Rows) -> Fit:
    """Softmax regression by Polya-Gamma Gibbs sampling; all sweeps cost the same."""
    from pasb.peers import BayesianMultinomialLogit

    settings = {"precision": 1.0, "n_chains": 1, "scale": None, "random_state": 1, "n_jobs": 1}
    few = np.concatenate([np.flatnonzero(rows.y == s)[:10] for s in np.unique(rows.y)])
    small = BayesianMultinomialLogit(n_warmup=2, n_draws=4, **settings)
    small.fit(rows.X[few, :4], rows.y[few]).predict_proba(rows.X[few, :4])
    model = BayesianMultinomialLogit(n_warmup=N_WARMUP, n_draws=N_DRAWS, **settings)
    began = clock()
    model.fit(rows.X, rows.y)
    seconds = clock() - began
    share = N_DRAWS / (N_WARMUP + N_DRAWS)
    return Fit(model.predict_proba, seconds, share * seconds, model.sample_proba)


def softmax_draws(coef: np.ndarray) -> tuple[Callable, Callable]:
    """Prediction and draws from (draw, column, class but the last) coefficients."""

    def sample(X):
        eta = np.einsum("nv,dvs->dns", with_constant(X), coef, optimize=True)
        p = np.concatenate([eta, np.zeros((*eta.shape[:2], 1))], axis=2)
        p = np.exp(p - p.max(axis=2, keepdims=True))
        return p / p.sum(axis=2, keepdims=True)

    def predict(X):
        return np.concatenate([sample(part).mean(axis=0) for part in np.array_split(X, 20)])

    return predict, sample


def with_constant(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), X])


def numpyro_softmax(rows: Rows) -> Fit:
    import jax
    import numpyro
    from numpyro.distributions import Categorical, Normal
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    platform = jax.devices()[0].platform
    if os.environ.get("PEERS_DEVICE") == "gpu" and platform == "cpu":
        raise ImportError("this JAX sees no GPU")
    X, y = jax.numpy.asarray(with_constant(rows.X)), jax.numpy.asarray(rows.y)
    shape = (X.shape[1], int(rows.y.max()))

    def model(X, y):
        coef = numpyro.sample("coef", Normal(0.0, 1.0).expand(shape).to_event(2))
        logits = jax.numpy.concatenate([X @ coef, jax.numpy.zeros((len(X), 1))], axis=1)
        numpyro.sample("y", Categorical(logits=logits), obs=y)

    mcmc = MCMC(NUTS(model), num_warmup=N_WARMUP, num_samples=N_DRAWS, progress_bar=False)
    began = clock()
    mcmc.run(jax.random.PRNGKey(1), X, y, extra_fields=("num_steps",))
    coef = np.array(mcmc.get_samples()["coef"])
    seconds = clock() - began
    steps = float(np.mean(mcmc.get_extra_fields()["num_steps"]))
    # again from where it stands; it compiles each time, so what one draw takes is taken off
    times = {}
    for n in (1, N_DRAWS):
        mcmc.post_warmup_state, mcmc.num_samples = mcmc.last_state, n
        began = clock()
        mcmc.run(mcmc.post_warmup_state.rng_key, X, y)
        np.array(mcmc.get_samples()["coef"])
        times[n] = clock() - began
    draws_s = (times[N_DRAWS] - times[1]) * N_DRAWS / (N_DRAWS - 1)
    notes = {"device": platform, "gradients a draw": steps}
    predict, sample = softmax_draws(coef)
    return Fit(predict, seconds, draws_s, sample, notes)


def pymc_softmax(nuts_sampler: str) -> Callable[[Rows], Fit]:
    def fit(rows: Rows) -> Fit:
        import pymc
        from pytensor import tensor

        began = clock()
        with pymc.Model():
            coef = pymc.Normal("coef", 0.0, 1.0, shape=(rows.X.shape[1] + 1, int(rows.y.max())))
            eta = tensor.dot(with_constant(rows.X), coef)
            logits = tensor.concatenate([eta, tensor.zeros((len(rows.y), 1))], axis=1)
            pymc.Categorical("y", logit_p=logits, observed=rows.y)
            found = pymc.sample(
                N_DRAWS,
                tune=N_WARMUP,
                chains=1,
                cores=1,
                random_seed=1,
                nuts_sampler=nuts_sampler,
                progressbar=False,
                compute_convergence_checks=False,
            )
        seconds = clock() - began
        draws = np.asarray(found.posterior["coef"].values)[0]
        # the sampling is not told apart: an equal share for each draw, compilation left out
        sampling = float(found.posterior.attrs.get("sampling_time", seconds))
        share = N_DRAWS / (N_WARMUP + N_DRAWS)
        predict, sample = softmax_draws(draws)
        return Fit(predict, seconds, share * sampling, sample)

    return fit


def gaussian_process(rows: Rows) -> Fit:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    chosen = np.random.default_rng(0).permutation(len(rows.y))[:GP_ROWS]
    kernel = 1.0 * RBF(np.sqrt(rows.X.shape[1]))
    model = GaussianProcessClassifier(kernel, random_state=1)
    began = clock()
    model.fit(rows.X[chosen], rows.y[chosen])
    return Fit(model.predict_proba, clock() - began, notes={"rows": len(chosen)})


def support_vector(rows: Rows) -> Fit:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    model = CalibratedClassifierCV(SVC(C=10.0), ensemble=False)
    began = clock()
    model.fit(rows.X, rows.y)
    return Fit(model.predict_proba, clock() - began)


PEERS: dict[str, tuple[Callable[[Rows], Fit], str]] = {
    "logistic": (stick_breaking("StickLogisticClassifier", precision=1.0), "pasb"),
    "robit": (stick_breaking("StickRobitClassifier", precision=1.0), "pasb"),
    "softplus K5 T3": (
        stick_breaking("SoftplusClassifier", 50, 100, n_experts=5, n_layers=3, direction="forward"),
        "pasb",
    ),
    "Polson's softmax": (polson, "pasb"),
    "NumPyro softmax": (numpyro_softmax, "numpyro"),
    "PyMC softmax": (pymc_softmax("pymc"), "pymc"),
    "nutpie softmax": (pymc_softmax("nutpie"), "nutpie"),
    "Gaussian process": (gaussian_process, "sklearn"),
    "SVC, calibrated": (support_vector, "sklearn"),
}


def one(peer: str, name: str) -> dict[str, float | str]:
    """Measure one program on one data set, in this process."""
    from pasb.diagnostics import bulk_ess

    warnings.simplefilter("ignore")
    rows = load(name)
    fit = PEERS[peer][0](rows)
    began = clock()
    p = fit.predict(rows.X_test)
    predict_s = clock() - began
    hit = p[np.arange(len(p)), rows.y_test]
    figures: dict[str, float | str] = {
        "error, %": 100 * float(np.mean(p.argmax(axis=1) != rows.y_test)),
        "log loss": float(-np.mean(np.log(np.maximum(hit, 1e-15)))),
        "fit, s": fit.fit_s,
        "predict, s": predict_s,
    }
    if fit.sample is not None:
        draws = fit.sample(rows.X_test[:N_TEST_ROWS])
        ess = float(np.median(bulk_ess(draws.reshape(1, len(draws), -1))))
        figures |= {
            "draws, s": fit.draws_s,
            "ESS": ess,
            "ESS a second, with warm-up": ess / fit.fit_s,
            "ESS a second, without": ess / fit.draws_s,
        }
    return figures | fit.notes


def in_its_own_process(peer: str, name: str, device: str) -> dict[str, float | str]:
    if importlib.util.find_spec(PEERS[peer][1]) is None:
        return {"status": "not installed"}
    gpu = device == "gpu" and "NumPyro" in peer
    setting = {
        **os.environ,
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
        "JAX_PLATFORMS": "" if gpu else "cpu",
        "XLA_FLAGS": "" if gpu else "--xla_cpu_multi_thread_eigen=false",
        "PEERS_DEVICE": "gpu" if gpu else "cpu",
    }
    core = None if gpu or not hasattr(os, "sched_setaffinity") else max(os.sched_getaffinity(0))

    def on_one_core():
        if core is not None:
            os.sched_setaffinity(0, {core})

    done = subprocess.run(
        [sys.executable, __file__, "--one", peer, name],
        capture_output=True,
        text=True,
        env=setting,
        preexec_fn=on_one_core,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        return {"status": f"failed: {lines[-1]}"}
    return json.loads(done.stdout.splitlines()[-1])


def ratios(results: dict[str, dict], name: str) -> dict[str, float]:
    """Our effective samples a second over those of the best peer, and of the best of others."""
    found = {}
    for what in ("with warm-up", "without"):
        rate = {
            peer: results[f"{name}: {peer}"].get(f"ESS a second, {what}", 0.0) for peer in PEERS
        }
        theirs = [peer for peer, (_, module) in PEERS.items() if module != "pasb"]
        for best, among in (("peer", [*theirs, "Polson's softmax"]), ("other program", theirs)):
            most = max(rate[peer] for peer in among)
            for peer in ("logistic", "robit"):
                if most > 0 and rate[peer] > 0:
                    found[f"{peer} / best {best}, {what}"] = rate[peer] / most
    return found


def measure(data=DATA, only=tuple(PEERS), device="cpu") -> dict[str, dict]:
    results: dict[str, dict] = {}
    for name in data:
        for peer in PEERS:
            chosen = peer in only
            found = in_its_own_process(peer, name, device) if chosen else {"status": "left out"}
            results[f"{name}: {peer}"] = found
            if chosen:
                print(f"  {name}: {peer}: {found}", file=sys.stderr, flush=True)
        results[f"{name}: ratios of ESS a second"] = ratios(results, name)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--only", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--one", nargs=2, metavar=("PEER", "DATA"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(*given.one)))
        return
    from report import write

    write({"peers": lambda: measure(given.data, given.only, given.device)}, ["peers"], "peers-")


if __name__ == "__main__":
    main()
