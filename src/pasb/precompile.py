"""Compile the kernels of every model, so that the first fit is quick.

Run it once after an installation, ``python -m pasb.precompile``, or with the names of some models:
``python -m pasb.precompile logistic softplus``. Tiny fits do it, in several processes, for Numba
compiles one function at a time in each. What is compiled already is not compiled again.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any, NamedTuple

MODELS = ("logistic", "robit", "softplus", "svm", "stacked", "choice")
MOST_PROCESSES = 4  # more would compile the same functions at the same time

SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "n_jobs": 1, "progress": False}
SMALL = {"n_experts": 2, "n_layers": 2}
FIXED = {"order": [2, 0, 1]}

# (model, settings): the long ones first, and those that share kernels not side by side
FITS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("logistic", FIXED),
    ("softplus", {**SMALL, "thin": 8}),  # sweeps enough to move between orders
    ("logistic", {}),
    ("svm", {"width": 1.0}),
    ("robit", {}),
    ("logistic", {"engine": "blocks", "thin": 8}),  # as many sweeps as it takes to make all moves
    ("svm", {"kernel": "linear", "inclusion": None}),
    ("stacked", {**SMALL, "stack_sweeps": 4}),
    ("choice", {}),
    ("choice", FIXED),
)
PRINTED = {"scheme": "paper", "sticks": "augmented"}
PAPER: tuple[tuple[str, dict[str, Any]], ...] = (
    ("softplus", {**SMALL, **PRINTED}),
    ("logistic", PRINTED),
    ("robit", PRINTED),
    ("svm", {"width": 1.0, **PRINTED}),
)


def classifier(model: str, settings: dict[str, Any]) -> Any:
    """A classifier that is fitted in no time, once it is compiled."""
    import pasb
    from pasb.choice import StickChoiceClassifier

    kinds = {
        "logistic": pasb.StickLogisticClassifier,
        "robit": pasb.StickRobitClassifier,
        "softplus": pasb.SoftplusClassifier,
        "svm": pasb.StickSVMClassifier,
        "stacked": pasb.StackedSoftplusClassifier,
        "choice": StickChoiceClassifier,
    }
    return kinds[model](**SHORT, random_state=0, **settings)


class Done(NamedTuple):
    """What a fit compiled."""

    n_functions: int
    seconds: float
    kept: bool = True  # all of it, on disk


def fit(model: str, settings: dict[str, Any]) -> Done:
    """Fit tiny tables."""
    from pasb.sampling.compilation import compilation
    from pasb.variates.code_cache import unsaved

    began = compilation.n_functions, compilation.seconds
    with warnings.catch_warnings(), rare_collections():
        warnings.simplefilter("ignore")
        (_fit_choices if model == "choice" else _fit_classes)(model, settings)
    n_functions, seconds = compilation.n_functions - began[0], compilation.seconds - began[1]
    return Done(n_functions, seconds, not unsaved)


def _fit_classes(model: str, settings: dict[str, Any]) -> None:
    """Three classes, and ten, which have their orders searched."""
    import numpy as np

    rng = np.random.default_rng(0)
    for n_classes in (3, 10):
        if n_classes > 3 and "order" in settings:
            continue
        y = np.arange(20 * n_classes) % n_classes
        X = rng.normal(size=(len(y), 2))
        fitted = classifier(model, settings).fit(X, y, sample_weight=np.ones(len(y)))
        _predict(fitted, X)


def _fit_choices(model: str, settings: dict[str, Any]) -> None:
    """Choices among what is available; with a fixed order also those of persons."""
    import numpy as np
    import pandas as pd

    from pasb.choice import ChoiceData

    rng, n, alternatives = np.random.default_rng(0), 60, [0, 1, 2]
    columns = {"choice": np.arange(n) % 3, "age": rng.normal(size=n), "who": np.arange(n) // 4}
    for k in alternatives:
        columns[f"price_{k}"] = rng.normal(size=n)
        columns[f"available_{k}"] = (columns["choice"] == k) | (rng.random(n) < 0.8)
    for available in (None, "available_{alternative}"):
        data = ChoiceData.from_wide(
            pd.DataFrame(columns),
            choice="choice",
            alternatives=alternatives,
            covariates=["price"],
            chooser=["age"],
            availability=available,
            person="who" if "order" in settings else None,
        )
        fitted = classifier(model, settings).fit(data, sample_weight=np.ones(n))
        fitted.predict_proba(data)
        fitted.predict_frame(data)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles of objects rarely: the compiler makes and keeps very many objects."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _predict(model: Any, X: Any) -> None:
    """Predict with many draws, which are side by side, and with few."""
    fitted = model.fitted_
    for least_draws in (1, len(fitted.predictor().orders) + 1):
        predictor = replace(fitted.predictor(), least_draws=least_draws)
        predictor.mean(fitted.columns(X))
        predictor.intervals(fitted.columns(X), (0.05, 0.95))


def precompile(
    models: Iterable[str] = MODELS, n_processes: int | None = None, paper: bool = False
) -> Done:
    """Compile the kernels of these models.

    Parameters
    ----------
    models : iterable of str
        Some of `MODELS`.
    n_processes : int, optional
        By default one for each core, and four at most. With one, this process does it.
    paper : bool, default=False
        Also those of ``scheme="paper"`` and ``sticks="augmented"``.
    """
    from joblib import cpu_count

    models = set(models)
    fits = [own for own in (*FITS, *(PAPER if paper else ())) if own[0] in models]
    n_processes = n_processes or min(MOST_PROCESSES, cpu_count())
    began = monotonic()
    if n_processes == 1:
        done = [_told(own, fit(*own)) for own in fits]
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(n_processes, mp_context=context) as pool:
            jobs = {pool.submit(fit, *own): own for own in fits}
            done = [_told(jobs[job], job.result()) for job in as_completed(jobs)]
    n_functions = sum(part.n_functions for part in done)
    return Done(n_functions, monotonic() - began, all(part.kept for part in done))


def _told(fitted: tuple[str, dict[str, Any]], done: Done) -> Done:
    if done.n_functions > 0:
        settings = ", ".join(f"{k}={v!r}" for k, v in fitted[1].items() if k not in SMALL)
        name = f"{fitted[0]} ({settings})" if settings else fitted[0]
        told = f"  {name}: {done.n_functions} functions, {done.seconds:.0f} s"
        print(told, file=sys.stderr, flush=True)
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, and say so."""
    parser = argparse.ArgumentParser(
        prog="python -m pasb.precompile",
        description="Compile the kernels of all models, so that the first fit is quick.",
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"some of {', '.join(MODELS)}")
    parser.add_argument("--jobs", type=int, help="processes; by default one a core, at most 4")
    parser.add_argument("--paper", action="store_true", help="also the printed algorithms")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.models if name not in MODELS]
    if unknown:
        parser.error(f"{unknown[0]!r} is no model: choose from {', '.join(MODELS)}")
    if given.jobs is not None and not 1 <= given.jobs <= 64:
        parser.error(f"--jobs must be from 1 to 64, not {given.jobs}")
    models = given.models or MODELS
    print(f"Compiling the kernels of {', '.join(models)} ...", file=sys.stderr, flush=True)
    done = precompile(models, given.jobs, given.paper)
    if not done.kept:
        from pasb.sampling.progress import NOT_KEPT

        print(f"Error: {NOT_KEPT}.", file=sys.stderr)
        return 1
    taken = f"Compiled {done.n_functions} functions in {done.seconds:.0f} s."
    print(taken if done.n_functions else "All were compiled already.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
