"""What a fit will take, told before it begins; what does not fit on a cluster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pasb
from pasb.binary import Logistic, Robit, Softplus, SupportVector
from pasb.covariates.parts import PieceRange, cut
from pasb.engines.cluster_room import WITHOUT_ROWS, WorkerRoom, check_cluster, size_in_files
from pasb.engines.cost import CELL, FitCost, RunCost, products_of_sweeps
from pasb.engines.sweep_cost import Size, softplus_seconds
from pasb.engines.workshop import bytes_needed
from pasb.errors import EngineError
from pasb.numerics.row_groups import NO_GROUPS
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.row_sums import PartedRows

GB = 10**9


class Sums:
    """As many rows as one likes, and the passes so far."""

    counts, n_columns, groups = np.array([600, 300, 100]), 4, NO_GROUPS
    n_rows, seconds, n_products = 1000, 2.0, 4e6


class Chain:
    schedule = Schedule(n_warmup=32, n_draws=96, thin=1, seed=0)

    def __init__(self, order=None):
        rows = PartedRows.over(Sums())
        self.problem = Problem(rows, Logistic(), fixed_order=order)


def test_a_run_costs_what_the_passes_before_it_did():
    one = RunCost.of([Chain()])
    assert one.n_passes == 8 * 2 + 4 * 4  # batches of 16 sweeps, trajectories in every 32nd
    assert one.seconds == pytest.approx(products_of_sweeps(1000, 4, 3, 128) * 2.0 / 4e6)
    four = RunCost.of([Chain() for _ in range(4)])
    assert four.seconds == pytest.approx(4 * one.seconds)
    assert four.n_passes == one.n_passes  # chains share them
    assert RunCost.of([Chain(np.arange(3))]).n_passes == 8 + 4 * 4
    assert RunCost(200.0, 1234.5, 10**6).words() == (
        "sampling: about 3 min 20 s for 1,234 passes over 1,000,000 rows, if proposals are accepted"
    )


def test_the_cost_of_all_phases():
    first = FitCost.of_reading(10**7, 20, 2 * GB, n_cores=2)
    assert first.seconds == pytest.approx(2 * 10**7 * 20 * CELL / 2)
    assert first.words() == (
        "10,000,000 rows x 20 columns, roughly: looking at the rows 5 s, blocks (1.9 GiB) 5 s"
    )
    whole = first.with_classes(Logistic(), Size(10**7, 21, 5), 4 * 320, 2, infers=True)
    assert whole.words().startswith("10,000,000 rows x 20 columns, 5 classes, roughly: looking")
    assert all(name in whole.words() for name in ("search", "approximations", "sampling"))
    fixed = first.with_classes(Logistic(), Size(10**7, 21, 5), 4 * 320, 2, infers=False)
    assert fixed.search == 0
    assert fixed.approximations < whole.approximations
    assert fixed.sampling == whole.sampling
    more = first.with_classes(Logistic(), Size(10**7, 21, 26), 4 * 320, 2, infers=True)
    assert more.sampling == pytest.approx(whole.sampling * 25 / 4)


def test_it_is_told_where_progress_is_shown(capsys):
    rng = np.random.default_rng(0)
    settings = {"engine": "blocks", "n_warmup": 2, "n_draws": 20, "n_chains": 2, "n_jobs": 1}
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    for shown in (True, False):
        with pytest.warns(pasb.ConvergenceWarning):
            pasb.StickLogisticClassifier(**settings, progress=shown, random_state=0).fit(X, y)
        told = capsys.readouterr().err
        assert ("90 rows x 2 columns, 3 classes, roughly: looking" in told) == shown


def test_the_cost_of_softplus_sticks():
    first = FitCost.of_reading(10**6, 10, GB, n_cores=1)
    small, large = Softplus(n_experts=2, n_layers=1), Softplus(n_experts=4, n_layers=3)
    size = Size(10**6, 11, 3)
    costs = [first.with_classes(model, size, 400, 1, infers=True) for model in (small, large)]
    assert 2 < costs[1].sampling / costs[0].sampling < 6  # experts x layers, and what they share
    assert costs[0].sampling == pytest.approx(400 * softplus_seconds(small, size))
    assert costs[0].approximations == 0  # starts are of a sample
    assert (
        costs[0].search
        == first.with_classes(small, size._replace(n_rows=10**7), 400, 1, infers=True).search
    )
    assert first.with_classes(small, size, 400, 1, infers=False).search == 0
    assert first.with_classes(small, size, 400, 4, infers=True).sampling == pytest.approx(
        costs[0].sampling / 4
    )


def problems(model, n_rows=400, **settings):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 2))])
    problem = Problem(Rows.of(X, np.arange(n_rows) % 3, 3), model, **settings)
    return [problem] * 4


def test_the_cost_of_rows_in_memory():
    schedule = Schedule(n_warmup=100, n_draws=50, thin=2, seed=0)
    softplus, kernel = (
        Softplus(n_experts=2, n_layers=1, moves="mixed"),
        SupportVector(inclusion=0.5),
    )
    for model in (Logistic(), Robit(), softplus, kernel, SupportVector()):
        one = FitCost.in_memory(problems(model), schedule, 1)
        two = FitCost.in_memory(problems(model, n_rows=800), schedule, 2)
        assert one.words().startswith("400 rows x 2 columns, 3 classes, roughly: ")
        assert two.sampling == pytest.approx(one.sampling)
        assert two.search == pytest.approx(one.search)
        assert one.search > 0
        longer = FitCost.in_memory(problems(model), replace(schedule, longest=4), 1)
        assert longer.words().endswith("up to 4 times as long if needed")
        fixed = FitCost.in_memory(problems(model, fixed_order=np.arange(3)), schedule, 1)
        assert fixed.search == 0
    for settings in ({"scheme": "paper"}, {"augmented": True}):
        assert FitCost.in_memory(problems(Logistic(), **settings), schedule, 1) is None
    assert FitCost.in_memory(problems(Softplus(moves="gibbs")), schedule, 1) is None


def test_the_cost_of_choosing_a_width(monkeypatch):
    told = []
    monkeypatch.setattr(FitCost, "tell", lambda self: told.append(self))
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    short = {"n_warmup": 2, "n_draws": 10, "n_chains": 1, "n_jobs": 1, "random_state": 0}
    with pytest.warns(pasb.ConvergenceWarning):
        pasb.StickSVMClassifier(cv_widths=[0.1, 1.0], **short).fit(X, y)
    first, last = told[0], told[-1]
    assert first.words().startswith("40 rows x 40 columns, 3 classes, roughly: choosing the width")
    assert last.words().startswith("60 rows x 60 columns, 3 classes, roughly: search of orders")
    assert first.width > 0 == last.width


def test_a_kernel_that_memory_does_not_hold(monkeypatch):
    monkeypatch.setenv("PASB_MEMORY", "0.01")
    X, y = np.random.default_rng(0).normal(size=(2000, 2)), np.arange(2000) % 3
    words = "2,000 bases on 2,000 rows takes .* Pass n_bases of at most 670, a random choice"
    with pytest.raises(ValueError, match=words):
        pasb.StickSVMClassifier(width=0.5).fit(X, y)


def test_long_fits_in_memory_say_so(capsys, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    settings = {"n_warmup": 2, "n_draws": 20, "n_chains": 2, "n_jobs": 1, "random_state": 0}
    for least, told in ((60.0, False), (0.0, True)):
        monkeypatch.setattr("pasb.engines.cost.LONG", least)
        with pytest.warns(pasb.ConvergenceWarning):
            pasb.StickLogisticClassifier(**settings).fit(X, y)
        assert ("90 rows x 2 columns, 3 classes, roughly: s" in capsys.readouterr().err) == told


ROOM = [WorkerRoom(GB, 0, "a"), WorkerRoom(GB, 0, "a")]


def parts_of(n_rows):
    return cut([2**16] * (n_rows // 2**16))


def test_what_fits_on_a_cluster():
    check_cluster(ROOM, 20, parts_of(5_000_000), "float64")
    check_cluster(ROOM, 20, parts_of(10_000_000), "float32")
    endless = [[PieceRange(0, 0, 2**40)]]
    check_cluster([], 20, endless, "float64")  # nobody knows the limits
    with pytest.raises(EngineError, match="a part of"):
        check_cluster(ROOM, 20, endless, "float64")
    check_cluster([one._replace(disk=3 * GB) for one in ROOM], 20, parts_of(10**7), "float64")


def test_what_no_cluster_of_this_size_holds():
    words = r"9,961,472 rows take 1.8 GiB, and 2 workers .* 1.1 GiB .* use 2 more workers.*float32"
    with pytest.raises(EngineError, match=words):
        check_cluster(ROOM, 20, parts_of(10**7), "float64")
    with pytest.raises(EngineError) as raised:
        check_cluster(ROOM, 20, parts_of(2 * 10**7), "float32")
    assert "float32" not in str(raised.value)
    shared = [one._replace(disk=GB // 2) for one in ROOM]  # one disk, which both use
    with pytest.raises(EngineError, match=r"476.8 MiB on disk"):
        check_cluster(shared, 20, parts_of(10**7), "float64")


def test_parts_and_partitions_that_no_worker_can_make():
    with pytest.raises(EngineError, match=r"a part of 65,536 rows .* use fewer columns.*float32"):
        check_cluster(ROOM, 1000, parts_of(2**16), "float64")
    whole = [[PieceRange(0, start, start + 2**16)] for start in range(0, 2**22, 2**16)]
    with pytest.raises(EngineError, match=r"partition of 4,194,304 rows .* X.repartition"):
        check_cluster(ROOM, 20, whole, "float64")


def test_what_stays_in_the_memory_of_workers():
    room = [WorkerRoom(GB, 10 * GB, "a"), WorkerRoom(GB, 10 * GB, "b")]
    most = int(2 * (0.6 * GB - WITHOUT_ROWS))
    assert size_in_files(room, most, 10) is None
    assert size_in_files(room, most + 1, 10) == most // 10
    assert size_in_files([one._replace(memory=GB // 2) for one in room], 100, 10) == 10
    assert size_in_files([], 2**60, 10) is None  # nobody knows the limits
    assert size_in_files(ROOM, 2 * GB, 10) is None  # no disk to put them on
    assert size_in_files(room, 15 * GB, 300) == 0.3 * 2 * GB / 300
    same_disk = [one._replace(host="a") for one in room]
    assert size_in_files(same_disk, 15 * GB, 300) is None


def test_bytes_of_blocks():
    assert bytes_needed(10**6, 20, "float64") == 10**6 * (24 * 8 + 4)
    assert bytes_needed(10**6, 20, "float32") == 10**6 * (24 * 4 + 4)
