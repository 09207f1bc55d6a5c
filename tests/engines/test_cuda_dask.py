"""Sums on the GPUs of the workers of a Dask cluster, or in the simulator: the bits of one GPU."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import pytest

from pasb.binary.row_requests import SLOPE, VALUE, Request, stacked
from pasb.binary.t_link import LOGISTIC_LINK
from pasb.covariates.parquet_source import ParquetSource
from pasb.covariates.part_scan import scaling_of, united
from pasb.covariates.parts import Part, PartPlan, cut
from pasb.engines import dask_device
from pasb.engines.cuda_sums import CudaSums
from pasb.engines.dask_device import Kept, answer_there
from pasb.engines.row_blocks import RowBlocks
from pasb.engines.workshop import LocalWorkshop
from pasb.numerics.rows import blocked
from pasb.sticks import FAILURE, SUCCESS

N, SMALL = 16, 8  # rows, and those of a part: the simulator is slow


@pytest.fixture
def client():
    distributed = pytest.importorskip("distributed", reason="the extra pasb[dask] is missing")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as local,
        distributed.Client(local, set_as_default=False) as one,
    ):
        yield one


@pytest.fixture
def source(tmp_path):
    pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    frame.assign(y=np.arange(N) % 2).to_parquet(tmp_path / "rows.parquet", index=False)
    return ParquetSource(tmp_path, "y")


def answers_of(workshop, source):
    parts = cut(workshop.lengths(source), SMALL)
    look = united(workshop.looks(source, parts))
    plan = PartPlan(look.labels, None, scaling_of(look, None, "standard", source.names), "float64")
    sums = workshop.sums(source, parts, plan)
    assert len(sums.bounds) == 2
    coef, roles = np.array([[0.1, 0.2, -0.3]]), np.array([SUCCESS, FAILURE], dtype=np.int8)
    passes = [[VALUE, SLOPE], [VALUE]]  # parts are copied, and there already
    asked = [[Request(kind, roles, coef) for kind in kinds] for kinds in passes]
    out = [answer for some in asked for answer in sums.ask(some, LOGISTIC_LINK)]
    sums.close()
    return out


def test_workers_answer_with_the_bits_of_one_gpu(client, source, monkeypatch):
    monkeypatch.setattr("pasb.engines.cluster_room.WITHOUT_ROWS", 2**60)  # from files, then
    expected = answers_of(LocalWorkshop(1, sums_type=CudaSums), source)
    found = answers_of(RowBlocks(client=client, device="cuda").workshop(1), source)
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def part(n=10):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return Part(blocked(X), None, np.array([0, 4, n]), 3, np.arange(n, dtype=np.int32))


def test_parts_stay_while_somebody_has_them_and_there_is_room(monkeypatch):
    kept, first, second, loads = Kept(), part(), part(), []

    def load(holder):
        loads.append(holder)
        return holder

    size = dask_device.bytes_of(first)
    total = 1.5 * size / dask_device.SHARE
    monkeypatch.setattr(dask_device, "free_bytes", lambda xp: total - size * len(kept.parts))
    for holder in (first, second, first, second):
        kept.there(holder, load)
    assert [id(one) for one in loads] == [id(first), id(second), id(second)]
    loads.clear()
    del first, holder
    gc.collect()
    assert not kept.parts
    kept.there(second, load)
    assert len(kept.parts) == 1


def test_an_answer_is_made_of_numpy_arrays():
    roles = np.array([SUCCESS, FAILURE], dtype=np.int8)
    asked = stacked([Request(VALUE, roles, np.zeros((1, 3)))])
    (answer,) = answer_there(part(), lambda one: one, (asked, LOGISTIC_LINK))
    np.testing.assert_allclose(answer.sums, [[4 * np.log(0.5), 6 * np.log(0.5)]])
