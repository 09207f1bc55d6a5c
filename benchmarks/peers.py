"""Error, log loss, time and effective samples a second, beside those of other programs.

``python benchmarks/peers.py [--data NAME ...] [--only PEER ...] [--device gpu] [--limit SECONDS]
[--to FILE]``. Every program fits the same training rows (partition 0, covariates standardised) in
a process of its own, on one core, and the Bayesian linear ones have the same prior, N(0, 1) for
every coefficient, and one chain of 300 + 400 draws (ours of 100 + 400: they need no more). Seconds
are those that the processor spent, so that others who use the machine hardly matter. With
``--device gpu`` NumPyro runs on the GPU, with all cores, and its seconds are those of the clock.

The effective sample size is the bulk one of the class probabilities of the first 300 test rows, the
median over rows and classes, by the same estimator for all. "with warm-up" divides it by the
seconds of the whole fit, in which NumPyro, PyMC and nutpie compile their model and ours finds its
order; our kernels come compiled from Numba's cache and are loaded by a tiny fit beforehand (how
long that took is told). "compiled before" leaves their compilation out as well, "without" divides
by the seconds that the kept draws took. Memory is the peak of the process, imports included.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from peer_programs import PEERS, clock, load

DATA = ("vehicle", "satimage", "dna")
N_TEST_ROWS = 300


def peak_mb() -> float:
    """Of this process; what `getrusage` tells may be that of the process which started it."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(found[0]) / 1024 if found else float("nan")


def one(peer: str, name: str) -> dict[str, float | str]:
    """Measure one program on one data set, in this process."""
    missing = [module for module in PEERS[peer][1] if importlib.util.find_spec(module) is None]
    if missing:
        return {"status": f"not installed: {', '.join(missing)}"}
    from pasb.posterior.diagnostics import bulk_ess

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
        "peak MB": peak_mb(),
    }
    if fit.sample is not None:
        draws = fit.sample(rows.X_test[:N_TEST_ROWS])
        ess = float(np.median(bulk_ess(draws.reshape(1, len(draws), -1))))
        figures |= {
            "draws, s": fit.draws_s,
            "ESS": ess,
            "compilation, s": fit.compile_s,
            "ESS a second, with warm-up": ess / fit.fit_s,
            "ESS a second, compiled before": ess / (fit.fit_s - fit.compile_s),
            "ESS a second, without": ess / fit.draws_s,
        }
    return figures | fit.notes | {"version": sys.modules[PEERS[peer][1][0]].__version__}


def python_of(peer: str) -> str:
    """The interpreter of a peer: PyMC needs an older Numba, so `make bench` sets it apart.

    The variable PEERS_PYTHON names another one for PyMC and nutpie.
    """
    if "pymc" not in PEERS[peer][1]:
        return sys.executable
    apart = Path(__file__).parents[1] / ".venv" / "peers" / "bin" / "python"
    return os.environ.get("PEERS_PYTHON") or str(apart if apart.exists() else sys.executable)


def in_its_own_process(peer: str, name: str, device: str, limit: float) -> dict[str, float | str]:
    if limit <= 0:
        return {"status": "no time left"}
    gpu = device == "gpu" and "NumPyro" in peer
    core = None if gpu or not hasattr(os, "sched_setaffinity") else max(os.sched_getaffinity(0))

    def on_one_core():
        if core is not None:
            os.sched_setaffinity(0, {core})

    with tempfile.TemporaryDirectory() as compiled:  # PyTensor is to compile, as others do
        setting = {
            **os.environ,
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
            "JAX_PLATFORMS": "cuda,cpu" if gpu else "cpu",
            "JAX_TRACEBACK_FILTERING": "off",  # so that the last line tells what went wrong
            "XLA_FLAGS": "" if gpu else "--xla_cpu_multi_thread_eigen=false",
            "PEERS_DEVICE": "gpu" if gpu else "cpu",
            "PYTENSOR_FLAGS": f"base_compiledir={compiled}",
        }
        try:
            done = subprocess.run(
                [python_of(peer), __file__, "--one", peer, name],
                capture_output=True,
                text=True,
                env=setting,
                preexec_fn=on_one_core,
                timeout=None if limit == np.inf else limit,
            )
        except subprocess.TimeoutExpired:
            return {"status": f"not done within {limit:.0f} s"}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        print(*lines[-20:], sep="\n", file=sys.stderr, flush=True)
        return {"status": f"failed: {lines[-1]}"}
    return json.loads(done.stdout.splitlines()[-1])


def ratios(results: dict[str, dict], name: str) -> dict[str, float]:
    """Our effective samples a second over those of the best peer, and of the best of others."""
    found = {}
    for what in ("with warm-up", "compiled before", "without"):
        rate = {
            peer: results.get(f"{name}: {peer}", {}).get(f"ESS a second, {what}", 0.0)
            for peer in PEERS
        }
        theirs = [peer for peer, (_, modules) in PEERS.items() if "pasb" not in modules]
        for best, among in (("peer", [*theirs, "Polson's softmax"]), ("other program", theirs)):
            most = max(rate[peer] for peer in among)
            for peer in ("logistic", "robit"):
                if most > 0 and rate[peer] > 0:
                    found[f"{peer} / best {best}, {what}"] = rate[peer] / most
    return found


def measure(data=DATA, only=tuple(PEERS), device="cpu", limit=np.inf) -> dict[str, dict]:
    """`limit`: seconds for all together; what would begin later is left out."""
    ends = time.monotonic() + limit
    results: dict[str, dict] = {}
    for name in data:
        for peer in PEERS:
            if peer in only:
                found = in_its_own_process(peer, name, device, ends - time.monotonic())
                results[f"{name}: {peer}"] = found
                print(f"  {name}: {peer}: {found}", file=sys.stderr, flush=True)
        if compared := ratios(results, name):
            results[f"{name}: ratios of ESS a second"] = compared
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--only", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--limit", type=float, default=np.inf, help="seconds for all together")
    parser.add_argument("--to", help="where the figures go; benchmarks/results without it")
    parser.add_argument("--one", nargs=2, metavar=("PEER", "DATA"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(*given.one)))
        return
    from report import write

    parts = {"peers": lambda: measure(given.data, given.only, given.device, given.limit)}
    write(parts, ["peers"], "peers-", given.to)


if __name__ == "__main__":
    main()
