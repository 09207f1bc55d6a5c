"""Do the chains of every model converge? Class probabilities of test rows, on many tables.

``python benchmarks/convergence.py run --label NAME [--models ...] [--sets ...] [--set thin=2]``
adds a line to benchmarks/results/convergence.jsonl for each model, table and seed; ``table NAME``
shows the lines of a label, ``compare OLD NEW`` those that two labels have in common. The settings
are the defaults, unless ``--set`` says otherwise. With all models and tables it takes hours.

R-hat is the rank-normalised one and an effective sample size (ESS) the bulk one, each for every
class probability of up to 300 test rows. "top" are those of the most probable class of a row alone.
Where chains break sticks in both directions, which are two models, R-hat is the larger of the two
and the ESS twice the smaller. The standard error of a probability is the standard deviation over
chains of their means, over the root of the number of chains; of a row it is that of its worst
class. Seconds are those that the processor spent in `fit`, all threads together, with compiled code
loaded before; "clock" are those that passed. Gradients are counted where draws come from
trajectories, without the warm-up.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from time import perf_counter, process_time

import job_lines
import numpy as np
import tables
from scores import error_rate, log_loss
from stick_models import STICK_MODELS, load_kernels, stick_model

from report import show, shown

DEFAULT = [name for name in STICK_MODELS if name != "StackedSoftplus"]
N_ROWS = 300
MOST_RHAT = 99.0  # that of chains which stand still at different values is infinite
SHOWN = {
    "rhat_median": "R-hat, median",
    "rhat_95": "R-hat, 95 %",
    "rhat_worst": "R-hat, worst",
    "top_rhat_95": "top R-hat, 95 %",
    "ess_median": "ESS, median",
    "ess_worst": "ESS, worst",
    "ess_a_second": "ESS a second",
    "ess_a_gradient": "ESS a gradient",
    "standard_error_95": "standard error, 95 %",
    "log_loss": "log loss",
    "seconds": "seconds",
}
COMPARED = ("rhat_95", "top_rhat_95", "ess_median", "ess_a_second", "standard_error_95", "seconds")


def agreement(draws: np.ndarray, directions: list[str]) -> dict[str, float]:
    """R-hat, ESS and standard errors of (chain, draw, row, class) probabilities."""
    from pasb.posterior.diagnostics import rhat_and_ess

    n_draws, n_rows, n_classes = draws.shape[1:]
    kinds = list(dict.fromkeys(directions))
    rhats, sizes, variances = [], [], []
    for kind in kinds:
        own = draws[np.array(directions) == kind]
        rhat, ess = rhat_and_ess(own.reshape(len(own), n_draws, -1))
        rhats.append(rhat.reshape(n_rows, n_classes))
        sizes.append(ess.reshape(n_rows, n_classes))
        spread = own.mean(axis=1).var(axis=0, ddof=1) if len(own) > 1 else np.nan
        variances.append(spread / len(own) + np.zeros((n_rows, n_classes)))
    rhat = np.minimum(np.max(rhats, axis=0), MOST_RHAT)
    ess = len(kinds) * np.min(sizes, axis=0)
    standard_error = np.sqrt(np.sum(variances, axis=0)) / len(kinds)
    top = np.arange(n_rows), draws.mean(axis=(0, 1)).argmax(axis=1)
    return {
        "rhat_median": float(np.median(rhat)),
        "rhat_95": float(np.quantile(rhat, 0.95)),
        "rhat_worst": float(rhat.max()),
        "top_rhat_median": float(np.median(rhat[top])),
        "top_rhat_95": float(np.quantile(rhat[top], 0.95)),
        "top_rhat_worst": float(rhat[top].max()),
        "ess_median": float(np.median(ess)),
        "ess_worst": float(ess.min()),
        "top_ess_median": float(np.median(ess[top])),
        "top_ess_worst": float(ess[top].min()),
        "standard_error_95": float(np.quantile(standard_error.max(axis=1), 0.95)),
        "standard_error_worst": float(standard_error.max()),
    }


def one(job: dict) -> dict:
    """Measure one model on one partition, in this process."""
    try:
        part = tables.load(job["set"], job["partition"], job["data"])
    except tables.Absent as error:
        return {"status": str(error)}
    warnings.simplefilter("ignore")
    load_kernels(job["model"], job["settings"])
    model = stick_model(job["model"], job["settings"], job["seed"], job["threads"])
    clock, began = perf_counter(), process_time()
    model.fit(part.X_train, part.y_train)
    seconds, clock = process_time() - began, perf_counter() - clock

    n_rows = min(job["rows"], len(part.y_test))
    chosen = np.linspace(0, len(part.y_test) - 1, n_rows).astype(int)
    kept = model.draws_
    flat = model.sample_proba(part.X_test[chosen])
    draws = flat.reshape(kept.n_chains, kept.n_draws, *flat.shape[1:])
    figures: dict = agreement(draws, list(kept.directions))
    mean = flat.mean(axis=0)
    gradients = int(kept.statistics.get("softplus_trajectory_gradients", np.zeros(1)).sum())
    return {
        "status": "done",
        "use": tables.SOURCES[job["set"]].use,
        **figures,
        "seconds": seconds,
        "clock": clock,
        "ess_a_second": figures["ess_median"] / seconds,
        "gradients": gradients,
        "ess_a_gradient": figures["ess_median"] / gradients if gradients else math.nan,
        "log_loss": log_loss(mean, part.y_test[chosen]),
        "error": error_rate(mean, part.y_test[chosen]),
        "chains": kept.n_chains,
        "draws": kept.n_draws,
        "log_likelihoods": kept.log_likelihood.mean(axis=1).tolist(),
        "orders": n_orders(kept),
    }


def n_orders(kept) -> int:
    """How many orders chains of one direction spend most of their draws in."""

    def favourite(orders: np.ndarray) -> tuple[int, ...]:
        distinct, counts = np.unique(orders, axis=0, return_counts=True)
        return tuple(distinct[counts.argmax()])

    favourites = [favourite(orders) for orders in kept.order]
    pairs = set(zip(kept.directions, favourites, strict=True))
    return max(sum(kind == d for kind, _ in pairs) for d in kept.directions)


def table(lines: list[dict]) -> None:
    """One part for each model, one line for each table; means over partitions and seeds."""
    groups = job_lines.by_model_and_set(lines)
    for model in STICK_MODELS:
        figures = {
            name: {
                head: f"{value:.3g}"
                for key, head in SHOWN.items()
                if not math.isnan(value := job_lines.mean_of(own, key))
            }
            for (which, name), own in groups.items()
            if which == model
        }
        if figures:
            show(model, figures)
    for line in job_lines.missing(lines):
        print(line)


def compare(old: list[dict], new: list[dict]) -> None:
    """Old and new figures beside each other, and the medians of new over old."""
    before, after = map(job_lines.by_model_and_set, job_lines.common_lines(old, new))
    for model in STICK_MODELS:
        names = [name for which, name in before if which == model]
        if not names:
            continue
        pairs = {
            name: {
                key: tuple(job_lines.mean_of(side[model, name], key) for side in (before, after))
                for key in COMPARED
            }
            for name in names
        }
        figures = {
            name: {SHOWN[key]: f"{a:.3g} > {b:.3g}" for key, (a, b) in own.items()}
            for name, own in pairs.items()
        }
        for use in ("choose", "report"):
            own = [pairs[name] for name in names if tables.SOURCES[name].use == use]
            if own:
                figures[f"median of new / old, to {use}"] = {
                    SHOWN[key]: shown(
                        float(f"{np.median([b / a if a else np.nan for a, b in column]):.3g}")
                    )
                    for key in COMPARED
                    for column in [[pair[key] for pair in own]]
                }
        show(model, figures)


def measure(models=("StickLogistic", "StickRobit", "Softplus"), sets=("iris", "wine")) -> dict:
    """A few small tables, for `run.py`."""
    figures = {}
    for name in sets:
        for model in models:
            job = {"model": model, "set": name, "partition": 0, "seed": 1, "settings": {}}
            found = one({**job, "threads": 1, "data": None, "rows": N_ROWS})
            figures[f"{name}: {model}"] = {
                head: found[key] for key, head in SHOWN.items() if not math.isnan(found[key])
            }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="measure")
    job_lines.run_arguments(running, STICK_MODELS, DEFAULT)
    running.set_defaults(partitions=1)
    running.add_argument("--rows", type=int, default=N_ROWS, help="test rows at most")
    showing = commands.add_parser("table", help="show the figures of a label")
    showing.add_argument("label")
    comparing = commands.add_parser("compare", help="show what two labels have in common")
    comparing.add_argument("old")
    comparing.add_argument("new")
    for command in (running, showing, comparing):
        job_lines.file_argument(command, "convergence.jsonl")
    commands.add_parser("one", help="one job, in this process").add_argument("job", type=json.loads)
    given = parser.parse_args()
    if given.command == "one":
        print(json.dumps(job_lines.plain(one(given.job))))
    elif given.command == "run":
        job_lines.run(
            __file__, job_lines.jobs_of(given, {"rows": given.rows}), given.to, given.jobs
        )
    elif given.command == "table":
        table(job_lines.labelled(job_lines.read(given.to), given.label))
    else:
        lines = job_lines.read(given.to)
        compare(*(job_lines.labelled(lines, label) for label in (given.old, given.new)))


if __name__ == "__main__":
    main()
