"""Error, log loss, calibration and time of every model and of other classifiers, on many tables.

``python benchmarks/accuracy.py run --label NAME [--models ...] [--sets ...] [--set SETTING=VALUE]``
adds a line to benchmarks/results/accuracy.jsonl for each model, partition of a table and seed.
Lines of other classifiers (`accuracy_peers.py` says how they are tuned) have the label "peers",
whatever NAME is. ``table NAME`` shows a label beside the peers, with mean ranks;
``compare OLD NEW`` the ratios of what two labels have in common. With everything it takes hours.

The calibration error compares the largest probability of a row with how often it is right, in 15
bins of equal size. The temperature is the power that would be best on the test rows: above 1 the
probabilities were too sure, below 1 not sure enough; the loss at it tells what calibration alone
can gain. Seconds are those of the processor in fitting, tuning included; "clock" are those that
passed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import warnings
from pathlib import Path
from time import perf_counter, process_time

import job_lines
import numpy as np
import tables
from accuracy_peers import PEERS, Task
from scipy.stats import rankdata
from scores import best_temperature, calibration_error, error_rate, log_loss
from stick_models import STICK_MODELS, load_kernels, stick_model

from report import RESULTS, show

MODELS = (*STICK_MODELS, *PEERS)
USES = {"in all": ("choose", "report"), "to choose": ("choose",), "to report": ("report",)}
SHOWN = {
    "error": "error, %",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
    "temperature": "best temperature",
    "loss_at_temperature": "loss at it",
    "seconds": "seconds",
}


def fitted(job: dict, part: tables.Part):
    """A function from rows to probabilities, seconds of the processor and of the clock."""
    ours = job["model"] in STICK_MODELS
    if ours:
        load_kernels(job["model"], job["settings"])
    clock, began = perf_counter(), process_time()
    if ours:
        model = stick_model(job["model"], job["settings"], job["seed"], job["threads"])
        predict = model.fit(part.X_train, part.y_train).predict_proba
    else:
        task = Task(part.X_train, part.y_train, job["seed"], job["threads"])
        predict = PEERS[job["model"]][0](task)
    return predict, process_time() - began, perf_counter() - clock


def one(job: dict) -> dict:
    """Measure one model on one partition, in this process."""
    module = PEERS[job["model"]][1] if job["model"] in PEERS else "pasb"
    if importlib.util.find_spec(module) is None:
        return {"status": f"not installed: {module} (it is in pasb[bench])"}
    try:
        part = tables.load(job["set"], job["partition"], job["data"])
    except tables.Absent as error:
        return {"status": str(error)}
    warnings.simplefilter("ignore")
    predict, seconds, clock = fitted(job, part)
    began = perf_counter()
    p, y = np.asarray(predict(part.X_test), dtype=float), part.y_test
    predicted = perf_counter() - began
    if job.get("keep"):
        path = Path(job["keep"]) / ("-".join(str(job[k]) for k in job_lines.KEY) + ".npz")
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, p=p.astype(np.float32), y=y.astype(np.int16))
    temperature, loss_at_it = best_temperature(p, y)
    return {
        "status": "done",
        "use": tables.SOURCES[job["set"]].use,
        "n_test": len(y),
        "error": 100 * error_rate(p, y),
        "log_loss": log_loss(p, y),
        "calibration_error": calibration_error(p, y),
        "temperature": temperature,
        "loss_at_temperature": loss_at_it,
        "seconds": seconds,
        "clock": clock,
        "predict_clock": predicted,
    }


def shared_by_all(lines: list[dict], models: list[str]) -> list[dict]:
    """Lines of the tables, partitions and seeds that all models have done."""
    done: dict[tuple, set[str]] = {}
    for line in lines:
        if line["status"] == "done":
            done.setdefault((line["set"], line["partition"], line["seed"]), set()).add(
                line["model"]
            )
    whole = {key for key, found in done.items() if found >= set(models)}
    return [line for line in lines if (line["set"], line["partition"], line["seed"]) in whole]


def ranks(lines: list[dict], models: list[str]) -> dict[str, dict]:
    """Mean ranks over tables; a table's figure is the mean over partitions and seeds."""
    groups = job_lines.by_model_and_set(shared_by_all(lines, models))
    sets = list(dict.fromkeys(name for _, name in groups))
    found: dict[str, dict] = {model: {} for model in models}
    for use, chosen in USES.items():
        own = [name for name in sets if tables.SOURCES[name].use in chosen]
        for key, head in (("log_loss", "log loss"), ("error", "error")):
            if own:
                losses = [[job_lines.mean_of(groups[m, s], key) for m in models] for s in own]
                means = rankdata(losses, axis=1).mean(axis=0)
                for model, rank in zip(models, means, strict=True):
                    found[model][f"rank by {head}, {len(own)} {use}"] = f"{rank:.2f}"
    return found


def table(lines: list[dict], models: list[str]) -> None:
    """One part for each table, one line for each model; then the mean ranks."""
    lines = [line for line in lines if line["model"] in models]
    groups = job_lines.by_model_and_set(lines)
    for name in dict.fromkeys(name for _, name in groups):
        figures = {
            model: {
                head: f"{job_lines.mean_of(groups[model, name], key):.3g}"
                for key, head in SHOWN.items()
            }
            | {"partitions": str(len({line["partition"] for line in groups[model, name]}))}
            for model in models
            if (model, name) in groups
        }
        show(f"{name} ({tables.SOURCES[name].use})", figures)
    present = [model for model in models if any(model == m for m, _ in groups)]
    show("mean ranks where all models are done", ranks(lines, present))
    for line in job_lines.missing(lines):
        print(line)


def compare(old: list[dict], new: list[dict]) -> None:
    """Ratios of log losses, differences of errors, table by table, and their summary."""
    before, after = map(job_lines.by_model_and_set, job_lines.common_lines(old, new))
    for model in dict.fromkeys(model for model, _ in before):
        figures: dict[str, dict] = {}
        ratios: dict[str, float] = {}
        for which, name in before:
            if which != model:
                continue
            a, b = (
                {key: job_lines.mean_of(side[model, name], key) for key in SHOWN}
                for side in (before, after)
            )
            ratio = b["log_loss"] / a["log_loss"] if a["log_loss"] else math.nan
            ratios[name] = ratio
            heads = {head: f"{a[key]:.3g} > {b[key]:.3g}" for key, head in SHOWN.items()}
            figures[name] = {"new / old log loss": f"{ratio:.3f}"} | heads
        for use, chosen in USES.items():
            found = {k: ratio for k, ratio in ratios.items() if tables.SOURCES[k].use in chosen}
            if found:
                worst = max(found, key=found.__getitem__)
                figures[f"{len(found)} {use}"] = {
                    "new / old log loss, median": f"{np.median(list(found.values())):.3f}",
                    "largest": f"{found[worst]:.3f} ({worst})",
                }
        show(model, figures)


def measure(models=("StickLogistic", "Softplus", "Logistic"), sets=("iris", "wine")) -> dict:
    """A few small tables, for `run.py`."""
    figures = {}
    for name in sets:
        for model in models:
            job = {"model": model, "set": name, "partition": 0, "seed": 1, "settings": {}}
            found = one({**job, "threads": 1, "data": None})
            figures[f"{name}: {model}"] = {head: found[key] for key, head in SHOWN.items()}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="measure")
    job_lines.run_arguments(running, MODELS, [m for m in MODELS if m != "StackedSoftplus"])
    running.add_argument("--keep", action="store_true", help="keep probabilities of test rows")
    showing = commands.add_parser("table", help="show a label beside the peers")
    showing.add_argument("label", nargs="?", help="the peers alone without it")
    showing.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    comparing = commands.add_parser("compare", help="show what two labels have in common")
    comparing.add_argument("old")
    comparing.add_argument("new")
    for command in (running, showing, comparing):
        job_lines.file_argument(command, "accuracy.jsonl")
    commands.add_parser("one", help="one job, in this process").add_argument("job", type=json.loads)
    given = parser.parse_args()
    if given.command == "one":
        print(json.dumps(job_lines.plain(one(given.job))))
        return
    if given.command == "run":
        extra = {"keep": str(RESULTS / "probabilities")} if given.keep else {}
        job_lines.run(__file__, job_lines.jobs_of(given, extra), given.to, given.jobs)
        return
    lines = job_lines.read(given.to)
    if given.command == "table":
        peers = [line for line in lines if line["label"] == job_lines.PEERS]
        table(peers + (job_lines.labelled(lines, given.label) if given.label else []), given.models)
    else:
        compare(*(job_lines.labelled(lines, label) for label in (given.old, given.new)))


if __name__ == "__main__":
    main()
