"""A chain by itself: what it keeps, what it counts, and the way to a checkpoint and back."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.errors import DivergenceError
from pasb.moves.move import Move, State, Tally
from pasb.numerics.rows import Rows
from pasb.sampling.chain import Chain, empty_trace
from pasb.sampling.problem import Problem, Schedule

ROWS = Rows.of(np.column_stack([np.ones(6), np.arange(6.0)]), np.arange(6) % 3, 3)
PROBLEM = Problem(ROWS, Logistic())


class Step(Move):
    """Proposes five swaps a sweep, of which two are accepted."""

    statistics = ("swap_proposed", "swap_accepted")

    def __call__(self, state, keys):
        state.order[:] = np.roll(state.order, 1)
        state.parameters["coef"][:] = keys.sweep
        state.log_likelihood = -float(keys.sweep)
        self.counted += 5, 2


def new_chain(schedule, index=0):
    move = Step()
    sampler = PROBLEM.model.sampler(ROWS)
    chain = Chain(index, PROBLEM, schedule, Tally([move]), dict(sampler.guards), sampler.start)
    chain.fill(empty_trace(PROBLEM, schedule, len(chain.tally.names)))
    return chain, move


def sweep(chain, move, n):
    if chain.state is None:
        start = chain.parameters_to_start_from(chain.first_keys)
        chain.state = State(np.arange(3), start)
    for _ in range(n):
        move(chain.state, Keys(chain.schedule.seed, chain.index, chain.n_done + 1))
        chain.after_sweep()


@pytest.mark.parametrize(
    ("n_warmup", "n_draws", "thin"), [(0, 4, 1), (3, 4, 1), (3, 2, 3), (1, 3, 2)]
)
def test_keeps_every_so_many_draws_after_the_warmup(n_warmup, n_draws, thin):
    chain, move = new_chain(Schedule(n_warmup, n_draws, thin, 7))
    kept = []
    while not chain.finished:
        before, keeps = chain.n_kept, chain.keeps_next
        sweep(chain, move, 1)
        assert chain.n_kept == before + keeps
        kept += [chain.n_done] * keeps
    assert kept == [n_warmup + thin * (k + 1) for k in range(n_draws)]
    assert chain.n_done == chain.schedule.n_sweeps
    np.testing.assert_array_equal(chain.trace["log_likelihood"], np.negative(kept))
    np.testing.assert_array_equal(chain.trace["coef"][:, 0, 0], kept)
    np.testing.assert_array_equal(chain.trace["order"][:, 0], np.negative(kept) % 3)


def test_counts_since_the_draw_before_and_not_in_the_warmup():
    chain, move = new_chain(Schedule(4, 3, 2, 7))
    sweep(chain, move, chain.schedule.n_sweeps)
    assert chain.trace["statistics"].tolist() == [[10, 4]] * 3
    assert chain.tally.total.tolist() == [50, 20]


def test_info():
    chain, move = new_chain(Schedule(2, 3, 1, 7), index=4)
    before = chain.info()
    assert (before.chain, before.sweep, before.n_sweeps, before.warmup) == (4, 0, 5, True)
    assert np.isnan(before.log_likelihood)
    assert np.isnan(before.swap_acceptance)
    assert before.order.size == 0
    sweep(chain, move, 3)
    after = chain.info()
    assert (after.sweep, after.warmup, after.log_likelihood) == (3, False, -3.0)
    assert after.swap_acceptance == pytest.approx(0.4)
    after.order[:] = 9  # a copy
    assert sorted(chain.state.order) == [0, 1, 2]


def test_divergence_names_the_chain_and_the_sweep():
    chain, move = new_chain(Schedule(2, 3, 1, 7), index=4)
    sweep(chain, move, 2)
    error = chain.diverged("coef is not finite.")
    assert isinstance(error, DivergenceError)
    assert "chain 4 diverged at sweep 3 (coef is not finite)" in str(error)


def saved(n_done, schedule):
    chain, move = new_chain(schedule)
    sweep(chain, move, n_done)
    chain.guards[next(iter(chain.guards))] += 3
    draws = {name: values[: chain.n_kept].copy() for name, values in chain.trace.items()}
    return chain, move, chain.export_state(), draws


@pytest.mark.parametrize("n_done", [1, 2, 5])
def test_a_saved_chain_continues_as_if_never_stopped(n_done):
    schedule = Schedule(2, 4, 2, 7)
    chain, move, state, draws = saved(n_done, schedule)
    sweep(chain, move, schedule.n_sweeps - n_done)
    other, own = new_chain(schedule)
    other.import_state(n_done, state, draws)
    assert (other.n_done, other.guards) == (n_done, chain.guards)
    sweep(other, own, schedule.n_sweeps - n_done)
    for name, values in chain.trace.items():
        np.testing.assert_array_equal(other.trace[name], values, err_msg=name)
    assert (other.tally.total == chain.tally.total).all()


def test_what_is_exported_and_imported_is_a_copy():
    schedule = Schedule(0, 4, 1, 7)
    chain, move, state, draws = saved(2, schedule)
    before = {name: values.copy() for name, values in state.items()}
    sweep(chain, move, 1)
    other, own = new_chain(schedule)
    other.import_state(2, state, draws)
    sweep(other, own, 2)
    for name, values in state.items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


@pytest.mark.parametrize(
    ("part", "name", "change", "message"),
    [
        ("state", "order", lambda a: a[:2], "order in the state has another shape"),
        ("state", "order", lambda a: a * 0, "an order in the state is not a permutation"),
        ("state", "order", lambda a: a * 1.0, "another shape or dtype"),
        (
            "state",
            "parameter_coef",
            lambda a: a * np.nan,
            "parameter_coef in the state is not finite",
        ),
        ("state", "parameter_coef", None, "the state has other arrays"),
        ("state", "tally", lambda a: a[:, :1], "tally in the state"),
        ("draws", "order", lambda a: a[:, ::2], "order in the draws has another shape"),
        ("draws", "order", lambda a: a + 1, "an order in the draws is not a permutation"),
        ("draws", "coef", None, "the draws has other arrays"),
    ],
)
def test_what_no_chain_exported_is_refused(part, name, change, message):
    schedule = Schedule(0, 4, 1, 7)
    _, _, state, draws = saved(2, schedule)
    arrays = {"state": state, "draws": draws}[part]
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])
    other, _ = new_chain(schedule)
    with pytest.raises(ValueError, match=message):
        other.import_state(2, state, draws)
    assert other.state is None
    assert other.n_done == 0


def test_draws_and_sweeps_must_agree():
    schedule = Schedule(0, 4, 1, 7)
    _, _, state, draws = saved(2, schedule)
    other, _ = new_chain(schedule)
    with pytest.raises(ValueError, match="2 draws after 3 sweeps"):
        other.import_state(3, state, draws)


def test_a_trace_has_an_axis_for_chains_if_there_are_some():
    schedule = Schedule(0, 4, 1, 7)
    one, three = empty_trace(PROBLEM, schedule, 2), empty_trace(PROBLEM, schedule, 2, 3)
    for name, values in one.items():
        assert three[name].shape == (3, *values.shape)
        assert three[name].dtype == values.dtype
    assert one["statistics"].shape == (4, 2)
    assert one["coef"].shape == (4, 3, 2)
