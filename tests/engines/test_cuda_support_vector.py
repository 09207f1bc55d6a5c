"""Support vector machines on a GPU draw what the CPU draws from the same keys; fits, and errors."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import StickSVMClassifier
from pasb.binary.binary_model import Keys
from pasb.binary.support_vector import SupportVector
from pasb.errors import EngineError
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

pytestmark = pytest.mark.filterwarnings("ignore")

N = 6  # the simulator takes seconds for a sweep of a few rows
Y = np.arange(N) % 3
ORDER = np.array([2, 0, 1])
SPIKES = {"inclusion": 0.5, "precision": "ard"}
# of columns that are the same; their difference, which no row sees, is then of the size of 1e7
LOOSE = {"inclusion": None, "precision": 1e-15}


def table_of(n_columns=2, same=False):
    rng = np.random.default_rng(0)
    own = rng.normal(size=(N, 1)).repeat(n_columns, axis=1) if same else None
    return np.column_stack([np.ones(N), rng.normal(size=(N, n_columns)) if own is None else own])


def available(seed=1):
    out = np.random.default_rng(seed).random((N, 3)) < 0.5
    out[np.arange(N), Y] = True
    return out


def agree(model, rows, *, n_sweeps=1, settles=False, seen_by=None, **construction):
    """Sweep one chain on both, compare all of it, and return the guards.

    With `seen_by`, rows of a table, what is compared of coefficients is what these see.
    """
    from pasb.engines.softplus_arrays import BatchChain
    from pasb.engines.support_vector_batch import SupportVectorBatch

    problem = Problem(rows, SupportVector(**model), swaps_only=True, n_swaps=5, **construction)
    sweeper = Sweeper(problem, settling=n_sweeps if settles else 0)
    state = sweeper.start(Keys(5, 1, 0))
    batch = SupportVectorBatch([BatchChain(problem, 5, 1)], fits_reference=settles)
    batch.start(state.order[None].copy(), [{k: v.copy() for k, v in state.parameters.items()}])
    counts = np.zeros(2, dtype=np.int64)
    for number in range(1, n_sweeps + 1):
        sweeper.sweep(state, Keys(5, 1, number))
        (log_likelihood,) = batch.sweep(number)
        counts += batch.path_counts[0]
        np.testing.assert_array_equal(batch.orders[0], state.order)
        assert log_likelihood == pytest.approx(state.log_likelihood, abs=1e-7)
        for name, values in batch.parameters().items():
            found, expected = values[0], state.parameters[name]
            if name == "coef" and seen_by is not None:
                found, expected = found @ seen_by.T, expected @ seen_by.T
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(counts, sweeper.sampler.counted)
    (guards,) = batch.take_guards()
    assert guards == sweeper.sampler.guards
    return guards


def test_one_precision_for_all_and_weights():
    rows = Rows.of(table_of(), Y, 3, np.linspace(0.5, 2, N))
    agree({**SPIKES, "precision": "shared"}, rows, n_sweeps=2)


def test_rows_that_could_not_be_everything():
    agree(SPIKES, Rows.of(table_of(), Y, 3, available=available()))


def test_chains_that_settle_fit_the_reference():
    agree(SPIKES, Rows.of(table_of(), Y, 3), settles=True)


def test_imputed_labels_and_all_columns_at_once():
    rows = Rows.of(table_of(), Y, 3)
    agree({"inclusion": None, "precision": 2.0}, rows, augmented=True, fixed_order=ORDER)


def test_more_columns_than_are_drawn_together(monkeypatch):
    for module in ("binary.support_vector", "engines.support_vector_batch"):
        monkeypatch.setattr(f"pasb.{module}.AT_ONCE", 2)
    agree({"inclusion": 0.999, "precision": 2.0}, Rows.of(table_of(4), Y, 3), fixed_order=ORDER)


def test_where_no_cholesky_factor_exists():
    table = table_of(same=True)
    rows = Rows.of(table, Y, 3)
    assert agree(LOOSE, rows, seen_by=table, fixed_order=ORDER)["qr_fallbacks"] > 0


def test_columns_that_cannot_be_drawn_together():
    rows = Rows.of(table_of(same=True), Y, 3)
    likely = {"inclusion": 1 - 2**-53, "precision": 1e-30}
    assert agree(likely, rows, fixed_order=ORDER)["skipped_joint_draws"] > 0


def test_precisions_at_a_bound():
    rows = Rows.of(table_of(), Y, 3)
    at_bound = {"inclusion": None, "shape": 1e-300, "rate": 1e120}
    assert agree(at_bound, rows, fixed_order=ORDER)["bounded_precisions"] > 0


X = np.random.default_rng(0).normal(size=(N, 1))
SHORT = {"width": 0.5, "n_chains": 1, "n_warmup": 0, "n_draws": 2, "order": [2, 0, 1]}
SHORT |= {"random_state": 3, "progress": False, "n_bases": 2}


def assert_same(here, there):
    np.testing.assert_array_equal(here.draws_.order, there.draws_.order)
    for name, values in here.draws_.parameters.items():
        other = there.draws_.parameters[name]
        np.testing.assert_allclose(values, other, rtol=1e-8, atol=1e-12, err_msg=name)


def test_a_fit_is_stopped_and_goes_on_on_the_cpu(tmp_path):
    here = StickSVMClassifier(**SHORT).fit(X, Y)
    own = {**SHORT, "checkpoint": tmp_path / "run"}
    there = StickSVMClassifier(engine="cuda", callbacks=[lambda info: info.sweep == 1], **own)
    assert there.fit(X, Y).draws_.n_draws == 1
    resumed = StickSVMClassifier(**own).fit(X, Y)
    assert_same(here, resumed)
    assert resumed.draws_.statistics.keys() == here.draws_.statistics.keys()
    for name, counts in resumed.draws_.statistics.items():
        np.testing.assert_array_equal(counts, here.draws_.statistics[name])
    np.testing.assert_allclose(
        StickSVMClassifier(**SHORT | {"n_draws": 1}).fit(X, Y).predict_proba(X),
        there.predict_proba(X),
    )


def test_an_order_that_is_inferred():
    free = {**SHORT, "order": "infer", "n_draws": 1}
    assert_same(
        StickSVMClassifier(**free).fit(X, Y), StickSVMClassifier(engine="cuda", **free).fit(X, Y)
    )


@pytest.mark.parametrize(
    ("free", "words"),
    [
        (120, r"6 rows with 3 columns need .*: 2 columns would fit; n_bases"),
        (5000, r"50 chains need .*: \d chains fit"),
    ],
    ids=["table", "chains"],
)
def test_out_of_memory_says_what_fits(monkeypatch, free, words):
    from pasb.engines import support_vector_batch

    monkeypatch.setattr(support_vector_batch, "free_bytes", lambda xp: free)
    with pytest.raises(EngineError, match=words):
        StickSVMClassifier(engine="cuda", **{**SHORT, "n_chains": 50}).fit(X, Y)


def test_the_printed_algorithm_is_refused():
    with pytest.raises(ValueError, match=r"scheme='paper' needs engine='cpu'"):
        StickSVMClassifier(engine="cuda", scheme="paper").fit(X, Y)
