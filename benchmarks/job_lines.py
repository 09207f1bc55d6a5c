"""Jobs that each run in a process of their own and leave one line of JSON in a file.

A job is a model on one partition of a table, under a label such as a version of the package. Jobs
that the file says are done are not run again, so a run that was stopped continues where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from time import perf_counter

from stick_models import STICK_MODELS, parsed, stick_model
from tables import SOURCES

from report import RESULTS, commit, say

KEY = ("label", "model", "set", "partition", "seed")
PEERS = "peers"  # the label of methods that are not ours
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def read(path: Path) -> list[dict]:
    """The last line of each job."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return list({tuple(line[name] for name in KEY): line for line in lines}.values())


def run_arguments(parser: argparse.ArgumentParser, models: Iterable[str], default: list[str]):
    """What the command ``run`` takes."""
    add = parser.add_argument
    add("--label", required=True, help="what is measured, such as a version")
    add("--models", nargs="+", default=default, choices=list(models), metavar="MODEL")
    add("--sets", nargs="+", default=list(SOURCES), choices=list(SOURCES), metavar="SET")
    add("--partitions", type=int, help="of each table at most; all that it has without it")
    add("--seeds", nargs="+", type=int, default=[1])
    add("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of our models")
    add("--data", metavar="FOLDER", help="of tables, see tables.py")
    add("--jobs", type=int, default=1, help="processes at the same time")
    add("--threads", type=int, default=1, help="of each process")
    add("--limit", type=float, default=3600.0, help="seconds for each job")


def file_argument(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("--to", type=Path, default=RESULTS / name, metavar="FILE", help="of lines")


def jobs_of(given: argparse.Namespace, extra: dict) -> list[dict]:
    """All jobs of a command line, one partition of all tables after the other."""
    settings = parsed(given.set)
    for model in set(given.models) & set(STICK_MODELS):
        try:
            stick_model(model, settings, 0, 1)
        except ValueError as error:
            raise SystemExit(f"{model}: {error}") from None
    most = max(SOURCES[name].n_partitions for name in given.sets)
    most = min(most, given.partitions or most)
    return [
        {
            "label": given.label if model in STICK_MODELS else PEERS,
            "model": model,
            "set": name,
            "partition": partition,
            "seed": seed,
            "settings": settings if model in STICK_MODELS else {},
            "threads": given.threads,
            "limit": given.limit,
            "data": given.data,
            **extra,
        }
        for seed in given.seeds
        for partition in range(most)
        for name in given.sets
        if partition < SOURCES[name].n_partitions
        for model in given.models
    ]


def finished(job: dict, old: dict | None) -> bool:
    """Whether a job need not run: it is done, or did not end within as long a time."""
    if old is None:
        return False
    if old["settings"] != job["settings"]:
        raise SystemExit(f"{job['label']} has lines with settings {old['settings']}: a new label")
    status = old["status"]
    return status == "done" or (status.startswith("not done") and old["limit"] >= job["limit"])


def run(program: str, jobs: list[dict], to: Path, at_once: int) -> None:
    """Run the jobs that are not finished, some at a time; add a line to the file after each."""
    before = {tuple(line[name] for name in KEY): line for line in read(to)}
    left = [job for job in jobs if not finished(job, before.get(tuple(job[k] for k in KEY)))]
    say(f"{len(left)} of {len(jobs)} jobs to run; lines go to {to}")
    to.parent.mkdir(parents=True, exist_ok=True)
    about = {"commit": commit(), "cores": os.cpu_count()}
    lock, n_done = Lock(), 0

    def one(job: dict) -> None:
        nonlocal n_done
        began = perf_counter()
        line = {**without_folder(job), **in_its_own_process(program, job), **about}
        line["when"] = datetime.now(UTC).isoformat(timespec="seconds")
        with lock:
            n_done += 1
            with to.open("a") as file:
                file.write(json.dumps(plain(line)) + "\n")
            name = " ".join(str(job[key]) for key in KEY)
            say(f"[{n_done}/{len(left)}] {name}: {line['status']}, {perf_counter() - began:.0f} s")

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, left))


def without_folder(job: dict) -> dict:
    return {name: value for name, value in job.items() if name not in ("data", "keep")}


def plain(value):
    """Numbers of five digits, and null for what is no number."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


def in_its_own_process(program: str, job: dict) -> dict:
    """The figures of a job, with a status: done, failed, not done in time, or what is absent."""
    environment = {**os.environ, **dict.fromkeys(THREADS, str(job["threads"]))}
    command = [sys.executable, program, "one", json.dumps(job)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=job["limit"]
        )
    except subprocess.TimeoutExpired:
        return {"status": f"not done within {job['limit']:.0f} s"}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it said nothing, rc {done.returncode}"]
        print(*lines[-20:], sep="\n", file=sys.stderr, flush=True)
        return {"status": f"failed: {lines[-1]}"}
    return json.loads(done.stdout.splitlines()[-1])


def mean_of(lines: list[dict], name: str) -> float:
    """The mean of a figure over lines, NaN where none has it."""
    values = [line[name] for line in lines if line.get(name) is not None]
    return sum(values) / len(values) if values else math.nan


def by_model_and_set(lines: Iterable[dict]) -> dict[tuple[str, str], list[dict]]:
    """Lines of jobs that are done, in the order of the tables."""
    groups: dict[tuple[str, str], list[dict]] = {}
    rank = list(SOURCES)
    for line in sorted(lines, key=lambda line: rank.index(line["set"])):
        if line["status"] == "done":
            groups.setdefault((line["model"], line["set"]), []).append(line)
    return groups


def common_lines(old: Iterable[dict], new: Iterable[dict]) -> tuple[list[dict], list[dict]]:
    """Lines of two labels on the same model, table, partition and seed."""
    sides = [
        {tuple(line[name] for name in KEY[1:]): line for line in lines if line["status"] == "done"}
        for lines in (old, new)
    ]
    shared = [key for key in sides[0] if key in sides[1]]
    return [sides[0][key] for key in shared], [sides[1][key] for key in shared]


def missing(lines: Iterable[dict]) -> list[str]:
    """What is not done, in words."""
    return [
        f"{line['model']} on {line['set']} ({line['partition']}): {line['status']}"
        for line in lines
        if line["status"] != "done"
    ]


def labelled(lines: Iterable[dict], label: str) -> list[dict]:
    lines = list(lines)
    found = [line for line in lines if line["label"] == label]
    if not found:
        known = sorted({line["label"] for line in lines})
        raise SystemExit(f"no lines of {label!r}; there are {', '.join(known) or 'none'}")
    return found
