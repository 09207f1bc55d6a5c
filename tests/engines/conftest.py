"""What tests of engines share: a Dask cluster, and where tests of a GPU run.

Tests of the GPU engine need a GPU, or Numba's simulator: ``NUMBA_ENABLE_CUDASIM=1 pytest``.
`make test` runs the files `test_cuda_*` a second time in the simulator.
"""

from __future__ import annotations

import pandas as pd
import pytest
from tests.engines.trees import SMALL, fit_in_blocks, trees

from pasb.binary import softplus_posterior
from pasb.engines.device import available

needs_device = pytest.mark.skipif(
    not available(), reason="no GPU here: `make test` runs it in Numba's simulator"
)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name.startswith("test_cuda"):
            item.add_marker(needs_device)


@pytest.fixture(autouse=True)
def forces_of_a_gpu(request, monkeypatch):
    """A GPU follows trajectories in double precision: so that chains can be compared, a CPU too."""
    if request.path.name.startswith("test_cuda"):
        monkeypatch.setattr(softplus_posterior, "IN_SINGLE", False)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, processes of their own."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.admin.log-format": "", "distributed.comm.retry.count": 2}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as local,
    ):
        yield local


@pytest.fixture
def client(cluster):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as one:
        yield one


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", SMALL)


@pytest.fixture(scope="module")
def table():
    return trees()


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"]).assign(tree=table[1])
    frame.iloc[:300].to_parquet(path / "0.parquet", index=False, row_group_size=77)
    frame.iloc[300:].to_parquet(path / "1.parquet", index=False)
    return path


@pytest.fixture(scope="module")
def expected():
    return fit_in_blocks()
