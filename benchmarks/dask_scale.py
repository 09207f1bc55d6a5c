"""What rows in parts cost: passes over them, and whole fits, by rows, workers and engine.

    python benchmarks/dask_scale.py products --rows 100000 1000000
    python benchmarks/dask_scale.py passes --rows 100000 1000000 --workers 1 2
    python benchmarks/dask_scale.py fit --rows 1000000 --engine blocks
    python benchmarks/dask_scale.py fit --rows 1000000 --engine dask --workers 2
    python benchmarks/dask_scale.py storage --rows 100000
    PASB_MEMORY=1 python benchmarks/dask_scale.py fit --rows 20000000 --warmup 16 --draws 32
    python benchmarks/dask_scale.py groups --rows 65536 --classes 10

`products` is the processor time of one thread for a row and a vector. `passes` times passes of
proposals and of Newton steps and compares them with the model

    seconds = round trip + (rows x seconds a row + products x seconds a product) / workers,

products being rows x columns x vectors; and processor time with the same model for one worker,
which other work on the machine changes little. `fit` has the time, passes, effective sample size
and peak memory of a fit; "without files" leaves out pages of mapped files, which can be taken back.
`storage` is how far float32 covariates move what a model predicts, in posterior standard
deviations. `groups` is the processor time of a row and a vector, one part, where each class is
available to half of the rows that did not choose it, beside that with everything available. Rows
are written to Parquet once, in a folder that is kept (`--folder`).
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import warnings
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from pasb import ConvergenceWarning, RowBlocks, StickLogisticClassifier, StickRobitClassifier
from pasb.binary.row_requests import NEWTON, SLOPE, VALUE, Request, answered, stacked
from pasb.binary.t_link import LOGISTIC_LINK
from pasb.covariates.parquet_source import ParquetSource
from pasb.covariates.part_scan import scaling_of, united
from pasb.covariates.parts import PartPlan, cut
from pasb.engines.workshop import LocalWorkshop, rows_of_a_part
from pasb.numerics.rows import Rows
from pasb.sticks import ABSENT, FAILURE, SUCCESS, Roles

AT_ONCE = 2**17


def written(folder: Path, n_rows: int, n_columns: int, n_classes: int, seed: int = 1) -> Path:
    """A folder of Parquet files with rows of a softmax regression."""
    own = folder / f"{n_rows}x{n_columns}x{n_classes}"
    if (own / "_done").exists():
        return own
    own.mkdir(parents=True, exist_ok=True)
    slopes = np.random.default_rng(0).normal(size=(n_columns, n_classes)) * 0.5
    names = [f"x{v}" for v in range(n_columns)]
    for k, start in enumerate(range(0, n_rows, AT_ONCE)):
        rng = np.random.default_rng([seed, k])
        X = rng.normal(size=(min(AT_ONCE, n_rows - start), n_columns))
        y = np.argmax(X @ slopes + rng.gumbel(size=(len(X), n_classes)), axis=1)
        frame = pd.DataFrame(X, columns=names).assign(y=y)
        frame.to_parquet(own / f"{k:05d}.parquet", index=False)
    (own / "_done").touch()
    return own


def peak() -> float:
    """GB that this process has used at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Watch(Thread):
    """Looks at the memory of this process that no file has, ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.over = 0.0, Event()

    def run(self) -> None:
        while not self.over.wait(0.1):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    self.peak = max(self.peak, int(line.split()[1]) / 2**20)


def worker_peak(client) -> float:
    """GB that a worker has used at most."""
    return max(client.run(peak).values())


def sums_of(workshop, path: Path, storage: str = "float64"):
    source = ParquetSource(path, "y")
    parts = cut(workshop.lengths(source), rows_of_a_part(sum(workshop.lengths(source))))
    look = united(workshop.looks(source, parts))
    scaling = scaling_of(look, None, "standard", source.names)
    return workshop.sums(source, parts, PartPlan(look.labels, None, scaling, storage))


def passes(arguments) -> None:
    from distributed import Client, LocalCluster

    from pasb.engines.dask_sums import DaskWorkshop

    print("rows       workers     kind    vectors  seconds   of processors  ns a product")
    lines = []
    for n_rows in arguments.rows:
        path = written(arguments.folder, n_rows, arguments.columns, arguments.classes)
        for n_workers in arguments.workers:
            if n_workers == 0:
                times = timed(sums_of(LocalWorkshop(2), path), process_time, arguments)
            else:
                with (
                    LocalCluster(
                        n_workers=n_workers,
                        threads_per_worker=1,
                        dashboard_address=None,
                        memory_limit=arguments.memory,
                    ) as cluster,
                    Client(cluster) as client,
                ):

                    def worked(client=client) -> float:
                        return sum(client.run(process_time).values())

                    times = timed(sums_of(DaskWorkshop(client), path), worked, arguments)
            for kind, n_vectors, seconds, processors in times:
                products = n_rows * (arguments.columns + 1) * n_vectors
                name = "2 threads" if n_workers == 0 else f"{n_workers}"
                print(
                    f"{n_rows:<10} {name:<11} {kind:<8}{n_vectors:<8} {seconds:<9.3f} "
                    f"{processors:<14.3f} {1e9 * processors / products:.3f}",
                    flush=True,
                )
                if n_workers:
                    lines.append((kind, n_rows, products, n_workers, seconds, processors))
    for kind in ("VALUE", "NEWTON"):
        own = np.array([line for name, *line in lines if name == kind])
        if len(own) > 3:
            fitted_model(kind, *own.T, arguments)


def fitted_model(kind, rows, products, workers, seconds, processors, arguments) -> None:
    """Say how well a round trip, a row and a product explain what passes take."""
    one = np.ones(len(rows))
    for name, taken, trips, share in (
        ("clock", seconds, one, workers),
        ("processors", processors, workers, one),  # every worker has its messages
    ):
        scaled = np.column_stack([trips, rows / share, products / share]) / taken[:, None]
        (trip, row, rate), _ = nnls(scaled, one)
        error = np.abs(scaled @ [trip, row, rate] - 1)
        large = 1e9 * (row + rate * (arguments.columns + 1) * arguments.vectors) / 100
        print(
            f"{kind}, {name}: {1e3 * trip:.0f} ms a pass, {1e9 * row:.1f} ns a row, "
            f"{1e9 * rate:.3f} ns a product; relative error: median {np.median(error):.0%}, worst "
            f"{error.max():.0%}; 1e9 rows on 100 workers, {arguments.vectors} vectors: "
            f"{trip + large:.1f} s a pass"
        )


def timed(sums, worked, arguments) -> list[tuple[str, int, float, float]]:
    """Kind, vectors, seconds of the clock and of processors: the least of some passes."""
    rng = np.random.default_rng(2)
    roles = np.full(arguments.classes, FAILURE, dtype=np.int8)
    roles[0] = SUCCESS
    out = []
    for name, kind, most in (
        ("VALUE", VALUE, arguments.vectors),
        ("NEWTON", NEWTON, max(1, arguments.vectors // 8)),
    ):
        for n in (1, most):
            coef = rng.normal(size=(n, arguments.columns + 1)) * 0.1
            requests = [Request(kind, roles, one[None]) for one in coef]
            times = []
            # the first one loads kernels; many rows leave less to chance
            for _ in range((2 if sums.n_rows > 5_000_000 else 3) + (n == 1)):
                before, began = worked(), perf_counter()
                sums.ask(requests, LOGISTIC_LINK)
                times.append((perf_counter() - began, worked() - before))
            out.append((name, n, *np.min(times, axis=0).tolist()))
    sums.close()
    return out


def products(arguments) -> None:
    for n_rows in arguments.rows:
        path = written(arguments.folder, n_rows, arguments.columns, arguments.classes)
        sums = sums_of(LocalWorkshop(1), path)
        rng = np.random.default_rng(2)
        for name, kind in (("value", VALUE), ("slope", SLOPE), ("Newton", NEWTON)):
            for n_absent in (0, 2):
                roles = np.full(arguments.classes, FAILURE, dtype=np.int8)
                roles[0], roles[arguments.classes - n_absent :] = SUCCESS, ABSENT
                coef = rng.normal(size=(16, arguments.columns + 1)) * 0.1
                times = []
                for _ in range(3):
                    began = process_time()
                    sums.ask([Request(kind, roles, coef)], LOGISTIC_LINK)
                    times.append(process_time() - began)
                each = 1e9 * min(times) / n_rows / len(coef)
                print(
                    f"{n_rows} rows, {name}, {n_absent} classes absent: {each:.1f} ns", flush=True
                )
        sums.close()


def fit(arguments) -> None:
    from contextlib import ExitStack

    for n_rows in arguments.rows:
        path = written(arguments.folder, n_rows, arguments.columns, arguments.classes)
        settings = {"random_state": 1, "progress": arguments.progress, "n_jobs": arguments.jobs}
        kind = StickRobitClassifier if arguments.model == "robit" else StickLogisticClassifier
        settings |= {
            name: value
            for name in ("n_chains", "n_warmup", "n_draws")
            if (value := getattr(arguments, name)) is not None
        }
        if arguments.fixed:
            settings["order"] = np.arange(arguments.classes)
        if arguments.goal:
            settings |= {"until": {"rhat": 1.01, "ess": 400}, "n_draws": 1000}
        with ExitStack() as stack:
            client = None
            engine = arguments.engine
            if engine == "dask":
                from distributed import Client, LocalCluster

                cluster = LocalCluster(
                    n_workers=arguments.workers[0],
                    threads_per_worker=1,
                    dashboard_address=None,
                    memory_limit=arguments.memory,
                )
                client = stack.enter_context(Client(stack.enter_context(cluster)))
                engine = client
            if arguments.storage != "float64":
                device = "cuda" if arguments.engine == "cuda" else "cpu"
                engine = RowBlocks(storage=arguments.storage, client=client, device=device)
            watch = Watch()
            watch.start()
            began, worked = perf_counter(), process_time()
            rows = (path, "y")
            if engine == "cpu":
                frame = pd.read_parquet(path)
                rows = (frame.drop(columns="y").to_numpy(), frame["y"].to_numpy())
                del frame
            model = kind(engine=engine, **settings)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(*rows)
            seconds, worked = perf_counter() - began, process_time() - worked
            watch.over.set()
            seen, draws = model.diagnostics_, model.draws_
            memory = f"{peak():.2f} GB here, {watch.peak:.2f} without files"
            if client is not None:
                memory += f", {worker_peak(client):.2f} GB in a worker"
                worked += sum(client.run(process_time).values())
        counted = {name: int(values.sum()) for name, values in draws.statistics.items()}
        accepted = counted.get("refresh_accepted", 0) / max(1, counted.get("refresh_proposed", 0))
        print(
            f"{arguments.model}, {n_rows} rows, {arguments.engine}: {seconds:.1f} s, "
            f"{worked:.1f} s of processor time, {draws.n_draws} draws of "
            f"{draws.n_chains} chains, R-hat {seen.worst_rhat:.3f}, "
            f"effective {seen.worst_ess:.0f}, {accepted:.0%} of proposals accepted, {memory}",
            flush=True,
        )


def storage(arguments) -> None:
    for n_rows in arguments.rows:
        path = written(arguments.folder, n_rows, arguments.columns, arguments.classes)
        sums = [sums_of(LocalWorkshop(2), path, kind) for kind in ("float64", "float32")]
        roles = np.full(arguments.classes, FAILURE, dtype=np.int8)
        roles[0] = SUCCESS
        coef = np.random.default_rng(2).normal(size=(8, arguments.columns + 1)) * 0.3
        values = [one.ask([Request(VALUE, roles, coef)], LOGISTIC_LINK)[0].sums for one in sums]
        gap = np.abs(values[0].sum(axis=1) - values[1].sum(axis=1)).max()
        fits = []
        for kind in ("float64", "float32"):
            model = StickLogisticClassifier(
                engine=RowBlocks(storage=kind), random_state=1, n_jobs=2, progress=False
            )
            fits.append(model.fit(path, "y").draws_.parameters["coef"])
        same = [one.reshape(-1, *one.shape[2:]) for one in fits]
        spread = same[0].std(axis=0)
        used = spread > 0
        shift = np.abs(same[0].mean(axis=0) - same[1].mean(axis=0))[used] / spread[used]
        print(
            f"{n_rows} rows: log-likelihoods differ by {gap:.1e}, posterior means by at most "
            f"{shift.max():.1e} posterior standard deviations"
        )


def groups(arguments) -> None:
    rng = np.random.default_rng(2)
    for n_rows in arguments.rows:
        X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, arguments.columns))])
        y = rng.integers(arguments.classes, size=n_rows)
        some = rng.random((n_rows, arguments.classes)) < 0.5
        some[np.arange(n_rows), y] = True
        for available in (None, some):
            rows = Rows.of(X, y, arguments.classes, available=available)
            roles = Roles.of("forward", groups=rows.groups)
            first = roles.on_stick(np.arange(arguments.classes), 0)
            times = []
            for kind, n in ((VALUE, 64), (NEWTON, 8)):
                coef = rng.normal(size=(n, rows.n_columns)) * 0.1
                asked = stacked([Request(kind, first, coef)])
                answered(rows, LOGISTIC_LINK, asked)  # compiles
                each = []
                for _ in range(5):
                    began = process_time()
                    answered(rows, LOGISTIC_LINK, asked)
                    each.append(1e9 * (process_time() - began) / n / n_rows)
                times.append(min(each))
            print(
                f"{n_rows} rows, {arguments.classes} classes, {rows.n_groups} groups: "
                f"value {times[0]:.1f} ns, Newton {times[1]:.0f} ns",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["passes", "products", "fit", "storage", "groups"])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[2], help="0 is two threads")
    parser.add_argument("--vectors", type=int, default=256)
    parser.add_argument("--engine", default="blocks", choices=["cpu", "cuda", "blocks", "dask"])
    parser.add_argument("--model", default="logistic", choices=["logistic", "robit"])
    parser.add_argument("--jobs", type=int, default=2, help="threads")
    parser.add_argument("--storage", default="float64", choices=["float64", "float32"])
    parser.add_argument("--memory", default="1GB", help="limit of a worker")
    parser.add_argument("--chains", type=int, dest="n_chains", help="a direction")
    parser.add_argument("--warmup", type=int, dest="n_warmup")
    parser.add_argument("--draws", type=int, dest="n_draws")
    parser.add_argument("--fixed", action="store_true", help="one order, not sampled")
    parser.add_argument("--goal", action="store_true", help="until R-hat 1.01 and 400 effective")
    parser.add_argument("--progress", action="store_true")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "pasb-dask-scale"
    )
    arguments = parser.parse_args()
    do = {"passes": passes, "products": products, "fit": fit, "storage": storage, "groups": groups}
    do[arguments.what](arguments)


if __name__ == "__main__":
    main()
