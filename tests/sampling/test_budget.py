"""Runs whose time is spent: what is kept, what is an error, how they continue. No test waits."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest

from pasb.binary import Logistic
from pasb.engines.threads import ThreadEngine
from pasb.errors import TimeBudgetError
from pasb.evidences.evidences import Evidences
from pasb.numerics.rows import Rows
from pasb.sampling.budget import FEWEST_DRAWS, Budget
from pasb.sampling.chain import Chain
from pasb.sampling.engine import Engine
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.run import sample
from pasb.sampling.sweep import Sweeper

SCHEDULE = Schedule(n_warmup=20, n_draws=60, thin=1, seed=7)


def budget(seconds):
    """By a clock that advances by one second whenever somebody looks: about once a sweep."""
    ticks = count()
    return Budget.of(seconds, clock=lambda: next(ticks))


def problems(n_chains=2):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(60), rng.normal(size=60)])
    rows = Rows.of(X, np.arange(60) % 3, 3)
    both = [Problem(rows, Logistic(), direction, n_swaps=5) for direction in ("forward", "reverse")]
    return [both[k % 2] for k in range(n_chains)]


class OneBatch(ThreadEngine):
    """All chains as one team, as on a GPU: a sweep of each in turn."""

    def teams(self, chains):
        return [list(chains)]

    def begin(self, n_teams):
        return super().begin(n_teams) and 1

    def advance(self, team, until, seconds=float("inf"), after_sweep=None):
        stops = []
        while not any(stops) and any(chain.n_done < until for chain in team):
            least = min(chain.n_done for chain in team)
            for chain in [chain for chain in team if chain.n_done == least]:
                stop = None if after_sweep is None else lambda c: stops.append(after_sweep(c))
                super().advance([chain], least + 1, after_sweep=stop)


ENGINES = {"one thread": ThreadEngine, "two": lambda: ThreadEngine(2), "one batch": OneBatch}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def assert_same(one, other, n=None):
    for a, b in [
        (one.order, other.order),
        (one.log_likelihood, other.log_likelihood),
        *((values, other.parameters[name]) for name, values in one.parameters.items()),
        *((values, other.statistics[name]) for name, values in one.statistics.items()),
    ]:
        np.testing.assert_array_equal(a[:, :n], b[:, :n])


@pytest.fixture(scope="module")
def whole():
    return sample(problems(), SCHEDULE, ThreadEngine())


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    monkeypatch.setattr(Engine, "slice_seconds", 0.0)


@pytest.fixture(autouse=True)
def no_looks_before_the_first_sweep(monkeypatch):
    """So that the clock counts sweeps; `tests/classifiers/test_stopping.py` has searches."""
    monkeypatch.setattr(Evidences, "check_time", lambda self: None)


class TestBudget:
    def test_by_the_clock(self):
        now = [5.0]
        own = Budget.of(2, clock=lambda: now[0])
        assert not own.spent
        now[0] = 6.9
        assert not own.spent
        now[0] = 7.0
        assert own.spent

    def test_shares_of_what_is_left(self):
        now = [0.0]
        own = Budget.of(12, clock=lambda: now[0])
        now[0] = 2.0
        half = own.share(2, "level 1 of 2")
        assert half.ends == 7
        assert half.words == "the share of level 1 of 2 in max_seconds=12"
        now[0] = 20.0
        assert own.share(2, "level 2 of 2").spent

    def test_of_the_wall_by_itself(self):
        assert not Budget.of(1e6).spent
        assert Budget.of(1e-12).spent


@every_engine
class TestTimeIsSpent:
    def test_all_chains_have_the_draws_of_a_whole_run(self, whole, engine):
        draws = sample(problems(), SCHEDULE, engine(), budget=budget(140))
        assert draws.ended == "time"
        assert draws.interrupted
        assert FEWEST_DRAWS <= draws.n_draws < 60
        assert draws.n_asked == 60
        assert draws.order.shape[:2] == (2, draws.n_draws)
        assert draws.directions == ("forward", "reverse")
        assert_same(draws, whole, draws.n_draws)

    def test_enough_time(self, whole, engine):
        draws = sample(problems(), SCHEDULE, engine(), budget=budget(10_000))
        assert draws.ended == "finished"
        assert_same(draws, whole)

    def test_in_the_warmup(self, engine):
        with pytest.raises(TimeBudgetError, match=r"^max_seconds=12 is too short") as raised:
            sample(problems(), SCHEDULE, engine(), budget=budget(12))
        text = str(raised.value)
        assert "of 20 sweeps of warm-up" in text
        assert "Allow more time, or set a smaller n_warmup." in text
        assert "checkpoint" not in text

    def test_with_too_few_draws(self, engine):
        now = [0.0]
        own = Budget.of(5, clock=lambda: now[0])

        def look(info):
            now[0] = 10.0 if info.sweep >= 24 else now[0]

        with pytest.raises(TimeBudgetError, match=r"after [45] of 60 draws, .* at least 10 of"):
            sample(problems(), SCHEDULE, engine(), budget=own, callbacks=[look])

    def test_before_the_first_sweep(self, engine):
        swept = []
        with pytest.raises(TimeBudgetError, match="before the first sweep"):
            sample(problems(), SCHEDULE, engine(), budget=budget(1), callbacks=[swept.append])
        with pytest.raises(TimeBudgetError, match="before the first sweep"):
            sample(problems(), SCHEDULE, engine(), budget=budget(2), callbacks=[swept.append])
        assert swept == []

    def test_resumed_runs_have_the_same_draws(self, whole, engine, tmp_path):
        """Stopped in the warm-up, stopped later, then finished; each with time of its own."""
        with pytest.raises(TimeBudgetError, match="The same call continues") as raised:
            sample(problems(), SCHEDULE, engine(), checkpoint=tmp_path, budget=budget(12))
        assert str(tmp_path) in str(raised.value)
        part = sample(problems(), SCHEDULE, engine(), checkpoint=tmp_path, budget=budget(120))
        assert part.ended == "time"
        assert_same(part, whole, part.n_draws)
        rest = sample(problems(), SCHEDULE, engine(), checkpoint=tmp_path, budget=budget(1000))
        assert rest.ended == "finished"
        assert_same(rest, whole)

    def test_a_chain_that_has_not_begun_is_not_saved(self, whole, engine, tmp_path):
        with pytest.raises(TimeBudgetError):
            sample(problems(), SCHEDULE, engine(), checkpoint=tmp_path, budget=budget(3))
        folders = list(Path(tmp_path).glob("chain-*"))
        assert len(folders) <= 2
        assert_same(sample(problems(), SCHEDULE, engine(), checkpoint=tmp_path), whole)


def test_few_draws_may_be_all_that_is_asked_for(whole):
    short = Schedule(20, 3, 1, 7)
    draws = sample(problems(), short, ThreadEngine(), budget=budget(10_000))
    assert draws.ended == "finished"
    assert_same(draws, whole, 3)


def test_a_callback_that_stops_first_is_an_interrupt():
    draws = sample(
        problems(),
        SCHEDULE,
        ThreadEngine(),
        budget=budget(10_000),
        callbacks=[lambda info: info.sweep == 22],
    )
    assert draws.ended == "interrupted"


def test_time_for_one_slow_chain(monkeypatch):
    """Time that is spent in the start of a chain ends the run after its first sweep."""
    now = [0.0]
    start = Sweeper.start

    def slow(self, keys):
        now[0] += 100
        return start(self, keys)

    monkeypatch.setattr(Sweeper, "start", slow)
    done = []
    monkeypatch.setattr(Chain, "after_sweep", lambda self: done.append(self.index))
    with pytest.raises(TimeBudgetError):
        sample(problems(), SCHEDULE, ThreadEngine(), budget=Budget.of(50, clock=lambda: now[0]))
    assert done == [0]
