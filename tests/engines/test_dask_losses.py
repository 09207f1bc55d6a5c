"""What is lost during a run on a cluster: workers at any moment, the scheduler, the client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from pasb import SoftplusClassifier, StickLogisticClassifier, StickRobitClassifier
from pasb.errors import EngineError

dask = pytest.importorskip("dask", reason="the extra pasb[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra pasb[dask] is not installed")
pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")
LOCAL = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
# a local cluster gives up a worker that is gone 15 s after it died, also where it has come back and
# died once more in between
SETTINGS = {"distributed.comm.retry.count": 2, "distributed.deploy.lost-worker-timeout": "1 hour"}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 96)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 3))
    y = np.argmax(X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(700, 3)), axis=1)
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y).to_parquet(
        path / "0.parquet", index=False, row_group_size=130
    )
    return path


@contextmanager
def client_of_two():
    with (
        dask.config.set(SETTINGS),
        distributed.LocalCluster(**LOCAL) as local,
        distributed.Client(local, set_as_default=False) as one,
    ):
        yield one


def model(engine="blocks", kind=StickLogisticClassifier, **settings):
    usual = {"n_chains": 2, "n_warmup": 5, "n_draws": 40, "random_state": 3, "progress": False}
    return kind(engine=engine, **(usual | settings))


def same(one, other):
    mine, theirs = one.draws_.parameters, other.draws_.parameters
    return (
        np.array_equal(one.draws_.order, other.draws_.order)
        and np.array_equal(one.draws_.log_likelihood, other.draws_.log_likelihood)
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
    )


class Killer:
    """Kills a worker process at some calls of `DaskCluster.submit`, which passes consist of."""

    def __init__(self, client, calls):
        self.client, self.calls, self.n, self.killed = client, set(calls), 0, 0

    def __call__(self):
        self.n += 1
        if self.n in self.calls:
            while not (pids := self.client.run(os.getpid, on_error="ignore").values()):
                time.sleep(0.1)  # all are just being started again
            os.kill(min(pids), signal.SIGKILL)
            self.killed += 1


def watched(monkeypatch, killer, names=("submit", "compute")):
    """Let a killer know of every task that is handed to the cluster."""
    for name in names:
        before = getattr(distributed.Client, name)

        def call(self, *arguments, _before=before, **settings):
            made = _before(self, *arguments, **settings)
            killer()  # while the task waits or runs
            return made

        monkeypatch.setattr(distributed.Client, name, call)


SOFTPLUS = {"kind": SoftplusClassifier, "n_experts": 2, "n_layers": 1, "n_chains": 1}
SOFTPLUS |= {"n_warmup": 3, "n_draws": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{}, {"kind": StickRobitClassifier}, SOFTPLUS],
    ids=["logistic", "robit", "softplus"],
)
def test_workers_killed_at_random_moments(folder, settings, seed, monkeypatch):
    """Ten of them, while rows are loaded and in the middle of passes."""
    expected = model(**settings).fit(folder, "y")
    with client_of_two() as client:
        counter = Killer(client, ())
        with pytest.MonkeyPatch.context() as patch:
            watched(patch, counter)
            assert same(model(client, **settings).fit(folder, "y"), expected)
        rng = np.random.default_rng(seed)
        # the first two are looks at the rows and the blocks; the rest are tasks of passes
        moments = {1, 2, *rng.choice(np.arange(3, counter.n + 1), 8, replace=False).tolist()}
        killer = Killer(client, moments)
        watched(monkeypatch, killer)
        assert same(model(client, **settings).fit(folder, "y"), expected)
        assert killer.killed == 10


def test_a_robit_fit_loses_a_worker(folder, monkeypatch):
    settings = {"kind": StickRobitClassifier, "n_draws": 10, "order": [1, 0, 2]}
    expected = model(**settings).fit(folder, "y")
    with client_of_two() as client:
        killer = Killer(client, {2, 30})
        watched(monkeypatch, killer)
        assert same(model(client, **settings).fit(folder, "y"), expected)
        assert killer.killed == 2


def test_the_client_is_closed_during_a_fit(folder):
    with client_of_two() as client:

        def close(info):
            if info.sweep == 20:
                threading.Thread(target=client.close).start()

        lost = model(client, callbacks=[close], n_draws=4000)
        with pytest.raises(EngineError, match=r"client is|scheduler was lost"):
            lost.fit(folder, "y")
        assert not hasattr(lost, "draws_")


SCHEDULER = """
import time
from distributed import LocalCluster
cluster = LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None
)
print(cluster.scheduler_address, flush=True)
time.sleep(600)
"""


@contextmanager
def cluster_process():
    """A cluster in a process of its own, and a client of it."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        address = process.stdout.readline().decode().strip()
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            client = distributed.Client(address, timeout=20, set_as_default=False)
            yield process, client
            client.close(timeout=1)
    finally:
        process.kill()
        process.wait()


def test_a_run_goes_on_at_another_cluster(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("pasb.sampling.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("pasb.engines.parted.PartedEngine.slice_seconds", 0.0)
    settings = {"checkpoint": tmp_path / "run"}
    with cluster_process() as (process, client):

        def kill(info):
            if info.sweep == 20:
                process.kill()

        with pytest.raises(EngineError, match=r"scheduler was lost.*continues from it"):
            model(client, callbacks=[kill], **settings).fit(folder, "y")
    sweeps = []
    with cluster_process() as (_, client):
        seen = [lambda info: sweeps.append(info.sweep)]
        resumed = model(client, callbacks=seen, **settings).fit(folder, "y")
    assert min(sweeps) > 16
    assert same(resumed, model().fit(folder, "y"))
