"""Fits of many rows by other programs, on the same rows, as ratios within one run.

    python benchmarks/scale_peers.py --rows 100000 1000000
    python benchmarks/scale_peers.py --rows 100000 --only pasb NumPyro

scikit-learn and dask-ml fit a logistic regression without uncertainty; NumPyro draws from the
posterior of one, on the CPU. dask-ml has two classes only, so it fits one class against the others,
five times. Ours are draws of stick-breaking models until R-hat is at most 1.01 with 400 effective
draws. Rows are those of `dask_scale.py`, in memory but for `pasb blocks`, which reads Parquet.
Seconds are of the clock and of the processor, with what a first small fit compiles left out.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from dask_scale import written
from sklearn.linear_model import LogisticRegression

from pasb import StickLogisticClassifier


def ours(engine: str):
    def fit(path, X, y):
        model = StickLogisticClassifier(
            engine=engine,
            n_jobs=2,
            random_state=1,
            progress=False,
            n_draws=1000,
            until={"rhat": 1.01, "ess": 400},
        )
        model.fit(*((path, "y") if engine == "blocks" else (X, y)))
        seen = model.diagnostics_
        return model.predict_proba, f"R-hat {seen.worst_rhat:.3f}, {seen.worst_ess:.0f} effective"

    return fit


def scikit_learn(solver: str):
    def fit(path, X, y):
        model = LogisticRegression(solver=solver, C=1.0, max_iter=500).fit(X, y)
        return model.predict_proba, f"{int(np.max(model.n_iter_))} iterations"

    return fit


def dask_ml(path, X, y):
    import dask
    import dask.array as da
    from dask_ml.linear_model import LogisticRegression as OfDask

    rows = da.from_array(X, chunks=(65_536, -1))
    coef = []
    with dask.config.set(scheduler="threads", num_workers=2):
        for label in np.unique(y):
            own = da.from_array((y == label).astype(int), chunks=65_536)
            model = OfDask(solver="lbfgs", C=1.0, max_iter=100).fit(rows, own)
            coef.append((np.asarray(model.coef_).ravel(), float(model.intercept_)))

    def predict(Z):
        p = np.column_stack([1 / (1 + np.exp(-(Z @ slope + level))) for slope, level in coef])
        return p / p.sum(axis=1, keepdims=True)

    return predict, "one class against the others"


def numpyro(path, X, y):
    import jax
    import jax.numpy as jnp
    from numpyro import distributions, sample
    from numpyro.infer import MCMC, NUTS

    from pasb.posterior.diagnostics import bulk_ess

    jax.config.update("jax_enable_x64", True)
    n_classes = len(np.unique(y))
    rows, labels = jnp.asarray(np.column_stack([np.ones(len(X)), X])), jnp.asarray(y)

    def model():
        coef = sample("coef", distributions.Normal(0, 1).expand([rows.shape[1], n_classes - 1]))
        scores = jnp.column_stack([jnp.zeros(len(rows)), rows @ coef])
        sample("y", distributions.Categorical(logits=scores), obs=labels)

    run = MCMC(NUTS(model), num_warmup=WARMUP, num_samples=DRAWS, progress_bar=False)
    run.run(jax.random.PRNGKey(0))
    coef = np.asarray(run.get_samples()["coef"])
    least = np.min(bulk_ess(coef.reshape(1, len(coef), -1)))

    def predict(Z):
        scores = np.column_stack([np.ones(len(Z)), Z]) @ coef.mean(axis=0)
        p = np.exp(np.column_stack([np.zeros(len(Z)), scores]))
        return p / p.sum(axis=1, keepdims=True)

    return predict, f"{WARMUP} + {DRAWS} draws, {least:.0f} effective"


WARMUP = DRAWS = 200
PROGRAMS = {
    "pasb cpu": ours("cpu"),
    "pasb blocks": ours("blocks"),
    "scikit-learn lbfgs": scikit_learn("lbfgs"),
    "scikit-learn saga": scikit_learn("saga"),
    "dask-ml lbfgs": dask_ml,
    "NumPyro NUTS": numpyro,
}


def main() -> None:
    global WARMUP, DRAWS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--draws", type=int, default=200, help="of NumPyro, and as many before")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "pasb-dask-scale"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    small = written(arguments.folder, 2000, 20, 5)
    for n_rows in arguments.rows:
        base = None
        path = written(arguments.folder, n_rows, 20, 5)
        test = rows_of(written(arguments.folder / "test", 10_000, 20, 5, seed=2))
        for name in arguments.only:
            WARMUP = DRAWS = 5
            try:
                PROGRAMS[name](small, *rows_of(small))
            except ImportError as error:
                print(f"{n_rows} rows, {name}: not installed ({error})", flush=True)
                continue
            WARMUP = DRAWS = arguments.draws
            rows = rows_of(path)
            began, worked = perf_counter(), process_time()
            predict, words = PROGRAMS[name](path, *rows)
            seconds, worked = perf_counter() - began, process_time() - worked
            base = base or worked
            p = np.asarray(predict(test[0]))
            loss = -np.log(p[np.arange(len(p)), test[1]]).mean()
            print(
                f"{n_rows} rows, {name}: {seconds:.1f} s, {worked:.1f} s of processor time "
                f"({worked / base:.2f} of the first), log loss {loss:.4f}, {words}",
                flush=True,
            )


def rows_of(path: Path):
    frame = pd.read_parquet(path)
    return frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()


if __name__ == "__main__":
    main()
