"""The programs that `peers` compares, each as a function of the training rows.

The Bayesian softmax regressions have one model: N(0, 1) for every coefficient of a constant and
the standardised covariates, the last class fixed at zero.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import repository_root  # noqa: F401

N_WARMUP, N_DRAWS = 300, 400
N_AGAIN = 100  # draws of NumPyro's that are timed without compilation
OUR_WARMUP = 100  # whitened chains reach the level of their log-likelihood within 20 sweeps
GP_ROWS = 500  # a Gaussian process takes time cubic in its rows


class Fit(NamedTuple):
    """What a program made of the training rows."""

    predict: Callable[[np.ndarray], np.ndarray]  # rows to mean class probabilities
    fit_s: float
    draws_s: float = np.nan  # of `fit_s`, spent on the draws that were kept
    sample: Callable[[np.ndarray], np.ndarray] | None = None  # rows to (draw, row, class)
    compile_s: float = 0.0  # of `fit_s`, spent on compilation
    notes: dict[str, float | str] = {}  # noqa: RUF012


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray  # as numbers
    X_test: np.ndarray
    y_test: np.ndarray


def load(name: str) -> Rows:
    from reproduction import data_sets

    part = data_sets.load(name).partition(0)
    _, y = np.unique(part.y_train, return_inverse=True)
    _, y_test = np.unique(part.y_test, return_inverse=True)
    centre, spread = part.X_train.mean(axis=0), part.X_train.std(axis=0)
    spread[spread == 0] = 1.0
    return Rows((part.X_train - centre) / spread, y, (part.X_test - centre) / spread, y_test)


def clock() -> float:
    """Seconds of the processor, those of compilers that were called included."""
    if os.environ.get("PEERS_DEVICE") == "gpu":
        return time.perf_counter()
    called = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + called.ru_utime + called.ru_stime


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
            model.predict_proba,
            ended - began,
            marks[1] - marks[0],
            model.sample_proba,
            notes=notes,
        )

    return fit


def polson(rows: Rows) -> Fit:
    """Softmax regression by Polya-Gamma Gibbs sampling; all sweeps cost the same."""
    from reproduction.peers import BayesianMultinomialLogit

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
    """NumPyro's NUTS; `fit_s` is that of one call, which compiles its loop of all draws."""
    import jax
    import numpyro
    from numpyro.distributions import Categorical, Normal
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    device = jax.devices(os.environ.get("PEERS_DEVICE", "cpu"))[0]  # fails where there is none
    X, y = jax.numpy.asarray(with_constant(rows.X)), jax.numpy.asarray(rows.y)
    shape = (X.shape[1], int(rows.y.max()))

    def model(X, y):
        coef = numpyro.sample("coef", Normal(0.0, 1.0).expand(shape).to_event(2))
        logits = jax.numpy.concatenate([X @ coef, jax.numpy.zeros((len(X), 1))], axis=1)
        numpyro.sample("y", Categorical(logits=logits), obs=y)

    kernel = NUTS(model)
    mcmc = MCMC(kernel, num_warmup=N_WARMUP, num_samples=N_DRAWS, progress_bar=False)
    began = clock()
    mcmc.run(jax.random.PRNGKey(1), X, y, extra_fields=("num_steps",))
    coef = np.array(mcmc.get_samples()["coef"])
    seconds = clock() - began
    steps = np.array(mcmc.get_extra_fields()["num_steps"])

    # draws again from where it stands, in a loop whose first call compiles it
    @jax.jit
    def go_on(n, state):
        def draw(_, at):
            state, n_steps = at
            state = kernel.sample(state, (X, y), {})
            return state, n_steps + state.num_steps

        return jax.lax.fori_loop(0, n, draw, (state, 0))

    began = clock()
    jax.block_until_ready(go_on(1, mcmc.last_state))
    compile_s = clock() - began  # about what the loop above took
    began = clock()
    _, again = jax.block_until_ready(go_on(N_AGAIN, mcmc.last_state))
    draws_s = (clock() - began) * steps.sum() / float(again)
    notes = {
        "device": device.device_kind,
        "gradients a draw": float(steps.mean()),
    }
    predict, sample = softmax_draws(coef)
    return Fit(predict, seconds, draws_s, sample, compile_s, notes)


def pymc_model(rows: Rows):
    import pymc
    from pytensor import tensor

    with pymc.Model() as model:
        coef = pymc.Normal("coef", 0.0, 1.0, shape=(rows.X.shape[1] + 1, int(rows.y.max())))
        eta = tensor.dot(with_constant(rows.X), coef)
        logits = tensor.concatenate([eta, tensor.zeros((len(rows.y), 1))], axis=1)
        pymc.Categorical("y", logit_p=logits, observed=rows.y)
    return model


def pymc_softmax(rows: Rows) -> Fit:
    """PyMC's own NUTS, which notes what processor time every draw took."""
    import pymc

    began = clock()
    with pymc_model(rows):
        found = pymc.sample(
            N_DRAWS,
            tune=N_WARMUP,
            chains=1,
            cores=1,
            random_seed=1,
            nuts_sampler="pymc",
            discard_tuned_samples=False,
            progressbar=False,
            compute_convergence_checks=False,
        )
    seconds = clock() - began
    draws_s = float(found.sample_stats["process_time_diff"].sum())
    warmup_s = float(found.warmup_sample_stats["process_time_diff"].sum())
    predict, sample = softmax_draws(found.posterior["coef"].values[0])
    notes = {"gradients a draw": float(found.sample_stats["n_steps"].mean())}
    return Fit(predict, seconds, draws_s, sample, seconds - warmup_s - draws_s, notes)


def nutpie_softmax(rows: Rows) -> Fit:
    """nutpie's NUTS on the model compiled by Numba; its time goes by gradients."""
    import nutpie

    began = clock()
    compiled = nutpie.compile_pymc_model(pymc_model(rows), backend="numba")
    compile_s = clock() - began
    found = nutpie.sample(
        compiled,
        draws=N_DRAWS,
        tune=N_WARMUP,
        chains=1,
        cores=1,
        seed=1,
        save_warmup=True,
        progress_bar=False,
    )
    seconds = clock() - began
    steps = float(found.sample_stats["n_steps"].sum())
    share = steps / (steps + float(found.warmup_sample_stats["n_steps"].sum()))
    predict, sample = softmax_draws(found.posterior["coef"].values[0])
    notes = {"gradients a draw": steps / N_DRAWS}
    return Fit(predict, seconds, share * (seconds - compile_s), sample, compile_s, notes)


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


# what each is made by, and the modules without which it is not
PEERS: dict[str, tuple[Callable[[Rows], Fit], tuple[str, ...]]] = {
    "logistic": (stick_breaking("StickLogisticClassifier", precision=1.0), ("pasb",)),
    "robit": (stick_breaking("StickRobitClassifier", precision=1.0), ("pasb",)),
    "softplus K5 T3": (
        stick_breaking("SoftplusClassifier", 50, 100, n_experts=5, n_layers=3, direction="forward"),
        ("pasb",),
    ),
    "Polson's softmax": (polson, ("pasb",)),
    "NumPyro softmax": (numpyro_softmax, ("numpyro",)),
    "PyMC softmax": (pymc_softmax, ("pymc",)),
    "nutpie softmax": (nutpie_softmax, ("nutpie", "pymc", "numba")),
    "Gaussian process": (gaussian_process, ("sklearn",)),
    "SVC, calibrated": (support_vector, ("sklearn",)),
}
