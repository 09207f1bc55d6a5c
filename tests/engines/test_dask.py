"""Chains on the workers of a Dask cluster: real processes, which are killed now and then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.engines.trees import SMALL, N, model, same

from pasb import SoftplusClassifier, StickRobitClassifier
from pasb.engines.dask_sums import _is_alive
from pasb.errors import EngineError

dask = pytest.importorskip("dask", reason="the extra pasb[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra pasb[dask] is not installed")
pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning"),
    pytest.mark.usefixtures("small_parts"),
]


def softplus_fit(engine, *rows):
    """A short fit with few passes over few parts."""
    settings = {"n_experts": 2, "n_layers": 1, "n_chains": 1, "n_warmup": 3, "n_draws": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 300)
        patch.setattr("pasb.numerics.adaptation.FIRST_STEP", 0.3)
        return model(engine, SoftplusClassifier, **settings).fit(*rows)


@pytest.fixture(scope="module")
def expected_softplus(table):
    return softplus_fit("blocks", *table)


def same_softplus(one, other):
    active = [own.draws_.parameters["active"] for own in (one, other)]
    return same(one, other) and np.array_equal(*active)


class TestSameDraws:
    def test_wherever_the_rows_come_from(self, client, table, folder, expected):
        X, y = table
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(tree=y)
        chunked = da.from_array(X, chunks=(123, 2)), da.from_array(y, chunks=200)
        assert same(model(client).fit(*chunked), expected)
        assert same(model("dask").fit(dd.from_pandas(frame, npartitions=4), "tree"), expected)
        assert same(model("dask").fit(folder, "tree"), expected)
        assert same(model("cpu").fit(str(folder / "*.parquet"), "tree"), expected)

    def test_whatever_is_said_of_availability(self, client, table, folder, tmp_path):
        """In columns of the table, in a Dask array or in a Dask data frame."""
        X, y = table
        trees = np.array(["ash", "birch", "cedar"])
        available = np.random.default_rng(2).random((N, 3)) < 0.7
        available[np.arange(N), np.searchsorted(trees, y)] = True
        whole = model().fit(X, y, availability=available)
        beside = da.from_array(available, chunks=(200, 2))
        chunked = da.from_array(X, chunks=(123, 2)), da.from_array(y, chunks=200)
        in_array = model(client).fit(*chunked, availability=beside)
        assert same(in_array, whole)
        columns = {label: f"has_{label}" for label in trees}
        plain = pd.DataFrame(X, columns=["a", "b", "c"]).assign(tree=y)
        said = pd.DataFrame(available, columns=columns.values())
        said = said.astype({"has_ash": "boolean", "has_cedar": int})
        frame = dd.from_pandas(pd.concat([plain, said], axis=1), npartitions=4)
        in_frame = model("dask").fit(frame, "tree", availability=columns)
        assert same(in_frame, whole)
        apart = dd.from_pandas(pd.DataFrame(available[:, ::-1], columns=trees[::-1]), npartitions=4)
        again = model("dask").fit(dd.from_pandas(plain, npartitions=4), "tree", availability=apart)
        assert same(again, whole)
        pd.concat([plain, said], axis=1).to_parquet(tmp_path / "0.parquet", row_group_size=99)
        in_files = model("dask").fit(tmp_path, "tree", availability=columns)
        assert same(in_files, whole)
        short = {"n_experts": 2, "n_layers": 1, "n_chains": 1, "n_warmup": 4, "n_draws": 2}
        softplus = [
            model(engine, SoftplusClassifier, **short).fit(*rows, availability=own)
            for engine, rows, own in (("blocks", table, available), ("dask", chunked, beside))
        ]
        assert same(*softplus)
        p = whole.predict_proba(X, availability=available)
        for fitted, rows, own in (
            (in_array, chunked[0], beside),
            (in_frame, frame, columns),
            (again, dd.from_pandas(plain, npartitions=4), apart),
            (in_files, tmp_path, columns),
        ):
            lazy = fitted.predict_proba(rows, availability=own).compute()
            np.testing.assert_allclose(lazy, p, rtol=1e-12)
            labels = fitted.predict(rows, availability=own).compute()
            assert np.array_equal(labels, trees[np.argmax(p, axis=1)])

    def test_availability_that_makes_no_sense_is_refused(self, table):
        X, y = (da.from_array(one, chunks=(123, *one.shape[1:])) for one in table)
        frame = dd.from_pandas(pd.DataFrame(table[0], columns=list("abc")), npartitions=2)
        frame["tree"] = dd.from_pandas(pd.Series(table[1]), npartitions=2)
        ones = da.ones((N, 3), chunks=(123, 3))
        for rows, availability, words in (
            ((X, y), np.ones((N, 3)), "collection of Dask with the partitions of X"),
            ((X, y), {"ash": "a"}, "with a Dask array pass a Dask array"),
            ((X, y), ones[:, 0], "two dimensions, rows and classes"),
            ((X, y), ones[:, :2], "2 columns, and there are 3 classes"),
            ((X, y), ones[:-1], f"X has {N} rows and availability {N - 1}"),
            ((X, y), 2 * ones, "row 1 holds something else"),
            ((X, y), 0 * ones, f"nothing is available in {N} rows, the first of them row 1"),
            ((frame, "tree"), {"ash": "d"}, "the Dask data frame has no column 'd'"),
            ((frame, "tree"), "a", "a dictionary from classes to columns"),
        ):
            with pytest.raises(ValueError, match=words):
                model().fit(*rows, availability=availability)
        fitted = model(n_draws=4).fit(X, y)
        for rows, availability, words in (
            (X, {"ash": "a"}, "with a Dask array pass a Dask array"),
            (X, 2 * ones, "row 1 holds something else"),
            (X, ones[:, :2], "2 columns, and there are 3 classes"),
            (frame, {"ash": "d"}, "the Dask data frame has no column 'd'"),
        ):
            with pytest.raises(ValueError, match=words):
                fitted.predict_proba(rows, availability=availability).compute()

    def test_whatever_the_number_of_workers(self, cluster, folder, expected, expected_softplus):
        for n_workers in (3, 1):  # the other tests have two
            cluster.scale(n_workers)
            with distributed.Client(cluster) as client:
                client.wait_for_workers(n_workers)
                while len(client.scheduler_info(n_workers=-1)["workers"]) != n_workers:
                    time.sleep(0.05)
                assert same(model(client).fit(folder, "tree"), expected)
                assert same_softplus(softplus_fit(client, folder, "tree"), expected_softplus)
        cluster.scale(2)

    def test_after_workers_are_killed(self, client, folder, expected):
        killed = []

        def kill(info):
            if info.chain == 0 and info.sweep in (3, 20, 40):
                pids = client.run(os.getpid, on_error="ignore").values()
                killed.append(min(pids))
                os.kill(killed[-1], signal.SIGKILL)

        assert same(model(client, callbacks=[kill]).fit(folder, "tree"), expected)
        assert len(killed) == 3

    def test_of_robit_sticks(self, client, folder, table):
        settings = {"kind": StickRobitClassifier, "n_draws": 10, "order": ["birch", "ash", "cedar"]}
        assert same(model(client, **settings).fit(folder, "tree"), model(**settings).fit(*table))

    def test_of_softplus_sticks(self, cluster, folder, table, expected_softplus):
        """Rows draw random numbers by their numbers in the table, whoever has them."""
        frame = pd.DataFrame(table[0], columns=["a", "b", "c"]).assign(tree=table[1])
        with distributed.Client(cluster) as client:
            client.wait_for_workers(2)
            assert same_softplus(softplus_fit(client, folder, "tree"), expected_softplus)
            again = softplus_fit("dask", dd.from_pandas(frame, npartitions=5), "tree")
        assert same_softplus(again, expected_softplus)

    def test_with_parts_in_files_of_workers(self, client, folder, expected, monkeypatch):
        """As if workers had no memory for them; a worker that is lost takes its files along."""
        monkeypatch.setattr("pasb.engines.cluster_room.WITHOUT_ROWS", 2**60)
        seen = []

        def look(info):
            if info.chain == 0 and info.sweep == 3:
                seen.append(sum(client.run(files_of_parts).values()))
                os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

        assert same(model(client, callbacks=[look]).fit(folder, "tree"), expected)
        (n_files,) = seen
        assert n_files >= -(-N // SMALL)
        for _ in range(200):  # the scheduler takes a moment to tell
            if not sum(client.run(files_of_parts).values()):
                break
            time.sleep(0.05)
        assert not sum(client.run(files_of_parts).values())


def files_of_parts(dask_worker):
    """How many parts a worker has in files."""
    return len(list(Path(dask_worker.local_directory).glob("pasb-*.part")))


CLUSTER = """
import time
from distributed import LocalCluster
cluster = LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None
)
print(cluster.scheduler_address, flush=True)
time.sleep(600)
"""


def test_a_lost_scheduler_ends_the_run_which_can_be_resumed(
    folder, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr("pasb.sampling.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("pasb.engines.parted.PartedEngine.slice_seconds", 0.0)
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        address = process.stdout.readline().decode().strip()

        def kill(info):
            if info.sweep == 20:
                process.kill()

        settings = {"checkpoint": tmp_path / "run"}
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            client = distributed.Client(address, timeout=20, set_as_default=False)
            lost = model(client, callbacks=[kill], **settings)
            with pytest.raises(EngineError, match=r"scheduler was lost.*continues from it"):
                lost.fit(folder, "tree")
            assert not hasattr(lost, "draws_")
            client.close(timeout=1)
    finally:
        process.kill()
        process.wait()
    sweeps = []
    resumed = model(**settings, callbacks=[lambda info: sweeps.append(info.sweep)])
    assert same(resumed.fit(folder, "tree"), expected)
    assert min(sweeps) > 16


class TestPausedWorkers:
    """Workers that have used up their memory begin no task, so a run would wait for ever."""

    def test_end_the_run(self, folder, monkeypatch):
        monkeypatch.setattr("pasb.engines.dask_sums.PATIENCE", 1.0)
        monkeypatch.setattr("pasb.engines.dask_sums.A_LOOK", 0.2)
        with (
            dask.config.set({"distributed.worker.memory.terminate": False}),
            distributed.LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="48MiB",  # less than a process has from the start
                dashboard_address=None,
                silence_logs=50,
            ) as local,
            distributed.Client(local, set_as_default=False) as one,
        ):
            while "paused" not in [worker["status"] for worker in workers_of(one)]:
                time.sleep(0.05)
            with pytest.raises(EngineError, match=r"1 of 1 workers .*paused.*48.0 MiB.*float32"):
                model(one, n_draws=5).fit(folder, "tree")

    def test_what_counts_as_alive(self):
        running, paused = {"status": "running"}, {"status": "paused", "memory_limit": 2**30}
        busy = {**paused, "metrics": {"task_counts": {"executing": 1}}}
        assert _is_alive([running, running])
        assert _is_alive([paused, busy])
        assert not _is_alive([])
        assert not _is_alive([paused])
        assert not _is_alive([running, paused])  # idle, while tasks wait for the other one


def workers_of(client):
    return list(client.scheduler_info(n_workers=-1)["workers"].values())
