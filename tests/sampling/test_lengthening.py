"""Runs that continue until their draws are good enough: where chains meet, and what they keep."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from pasb.binary import Logistic
from pasb.engines.threads import ThreadEngine
from pasb.errors import CheckpointError
from pasb.numerics.rows import Rows
from pasb.sampling.budget import Budget
from pasb.sampling.chain import empty_trace
from pasb.sampling.draws import collect
from pasb.sampling.engine import Engine
from pasb.sampling.lengthening import FIRST_MEETING, halve, meetings
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.run import sample

SCHEDULE = Schedule(n_warmup=10, n_draws=400, thin=1, seed=7)


def problems(n_chains=3):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40), rng.normal(size=40)])
    return [Problem(Rows.of(X, np.arange(40) % 2, 2), Logistic(), n_swaps=5)] * n_chains


def run(enough, n_jobs=1, schedule=SCHEDULE, **more):
    return sample(problems(), schedule, ThreadEngine(n_jobs), enough=enough, **more)


@pytest.fixture(scope="module")
def whole():
    return sample(problems(), SCHEDULE, ThreadEngine())


@pytest.fixture(scope="module")
def every_draw():
    return sample(problems(), Schedule(10, 320, 2, 7), ThreadEngine())


def assert_same(one, other, n=None):
    np.testing.assert_array_equal(one.order, other.order[:, :n])
    np.testing.assert_array_equal(one.parameters["coef"], other.parameters["coef"][:, :n])


def places(n_draws, **more):
    return [one.n_draws for one in meetings(Schedule(10, n_draws, 1, 7, **more))]


class TestWhere:
    def test_they_grow_and_end_with_the_last_draw(self):
        for n_draws in (1, 99, 100, 101, 150, 1000, 10**6):
            points = places(n_draws)
            assert points[-1] == n_draws
            assert all(a < b for a, b in pairwise(points))
            assert min(points) == min(n_draws, FIRST_MEETING)
        assert sum(places(10**6)) < 4 * 10**6

    def test_a_longer_run_meets_at_the_same_points(self):
        assert places(10_000)[:6] == places(1000)[:6]

    def test_of_a_run_that_grows(self):
        *first, last, twice, most = meetings(Schedule(10, 400, 3, 7, longest=4))
        assert [one.n_draws for one in first] == [100, 150, 225, 337]
        assert [one.sweep for one in (last, twice, most)] == [1210, 2410, 4810]
        assert [one.thin for one in (last, twice, most)] == [3, 6, 12]


class TestEnough:
    @pytest.mark.parametrize("n_jobs", [1, 2, 5])
    @pytest.mark.parametrize("seconds", [0.0, 0.01, 100.0])
    def test_is_asked_about_whole_meetings(self, whole, n_jobs, seconds, monkeypatch):
        monkeypatch.setattr(Engine, "slice_seconds", seconds)
        seen = []

        def enough(draws):
            assert_same(draws, whole, draws.n_draws)
            seen.append(draws.n_draws)
            return draws.n_draws >= 225

        draws = run(enough, n_jobs)
        assert seen == [100, 150, 225]
        assert draws.ended == "until"
        assert not draws.interrupted
        assert (draws.n_draws, draws.n_asked) == (225, 400)
        assert_same(draws, whole, 225)

    def test_never(self, whole):
        seen = []
        draws = run(lambda draws: bool(seen.append(draws.n_draws)))
        assert seen == [100, 150, 225, 337]  # not at the end: there is nothing to decide
        assert draws.ended == "finished"
        assert_same(draws, whole)

    def test_thinned(self):
        seen = []
        schedule = Schedule(n_warmup=10, n_draws=150, thin=3, seed=7)
        draws = run(lambda draws: bool(seen.append(draws.n_draws)), schedule=schedule)
        assert seen == [100]
        assert draws.n_draws == 150

    def test_an_interrupt_while_it_is_asked(self, whole):
        def enough(draws):
            raise KeyboardInterrupt

        draws = run(enough)
        assert draws.ended == "interrupted"
        assert draws.n_draws == 100
        assert_same(draws, whole, 100)

    def test_an_error_of_its_own_comes_through(self):
        with pytest.raises(ZeroDivisionError):
            run(lambda draws: 1 / 0)

    def test_time_may_end_the_run_before(self, whole):
        now = [0.0]

        def enough(draws):
            now[0] = 10.0
            return False

        draws = run(enough, budget=Budget.of(5, clock=lambda: now[0]))
        assert draws.ended == "time"
        assert_same(draws, whole, draws.n_draws)


class TestResumed:
    @pytest.mark.parametrize("sweep", [5, 60, 110, 111, 200])
    def test_stops_where_the_run_would_have(self, whole, tmp_path, sweep):
        def enough(draws):
            return draws.n_draws >= 225

        stop = [lambda info: info.sweep >= sweep]
        ended = "interrupted" if sweep > 10 else "warm-up"
        assert run(enough, checkpoint=tmp_path, callbacks=stop).ended == ended
        for _ in range(2):  # the second one has nothing left to do
            draws = run(enough, 2, checkpoint=tmp_path)
            assert (draws.ended, draws.n_draws) == ("until", 225)
            assert_same(draws, whole, 225)
        files = sorted(tmp_path.rglob("*.pasb"))
        run(enough, checkpoint=tmp_path)
        assert sorted(tmp_path.rglob("*.pasb")) == files

    def test_goes_on_when_more_is_asked(self, whole, tmp_path):
        assert run(lambda draws: True, checkpoint=tmp_path).n_draws == 100
        draws = run(lambda draws: draws.n_draws >= 300, checkpoint=tmp_path)
        assert draws.n_draws == 337
        assert_same(draws, whole, 337)
        assert_same(run(None, checkpoint=tmp_path), whole)

    def test_of_a_longer_run_the_first_draws(self, whole, tmp_path):
        run(None, checkpoint=tmp_path)
        draws = run(lambda draws: draws.n_draws >= 150, checkpoint=tmp_path)
        assert (draws.ended, draws.n_draws) == ("until", 150)
        assert_same(draws, whole, 150)


class TestGrowth:
    """Runs that may become up to eight times as long."""

    SCHEDULE = Schedule(n_warmup=10, n_draws=40, thin=2, seed=7, longest=8)

    def assert_thinned(self, draws, every_draw, factor):
        """The draws are every so many of those of a run that drops none."""
        n, chosen = draws.n_draws, slice(factor - 1, None, factor)
        assert draws.thin == 2 * factor
        np.testing.assert_array_equal(draws.order, every_draw.order[:, chosen][:, :n])
        coef = every_draw.parameters["coef"][:, chosen][:, :n]
        np.testing.assert_array_equal(draws.parameters["coef"], coef)
        likelihood = every_draw.log_likelihood[:, chosen][:, :n]
        np.testing.assert_array_equal(draws.log_likelihood, likelihood)
        for name, counts in draws.statistics.items():  # of all sweeps since the draw before
            own = every_draw.statistics[name][:, : n * factor]
            np.testing.assert_array_equal(counts, own.reshape(len(own), n, factor).sum(axis=2))

    @pytest.mark.parametrize("n_jobs", [1, 3])
    @pytest.mark.parametrize("factor", [1, 2, 4, 8])
    def test_keeps_as_many_draws_further_apart(self, every_draw, n_jobs, factor):
        seen = []

        def enough(draws):
            self.assert_thinned(draws, every_draw, (len(seen) and 2 ** len(seen)) or 1)
            seen.append(draws.thin)
            return draws.thin == 2 * factor

        draws = run(enough, n_jobs, self.SCHEDULE, first_look=40)
        assert seen == [2, 4, 8][: len(seen)]
        assert (draws.n_draws, draws.ended) == (40, "finished")
        self.assert_thinned(draws, every_draw, factor)

    def test_an_odd_number_of_draws(self, every_draw):
        schedule = Schedule(10, 35, 2, 7, longest=8)
        draws = run(lambda draws: False, 1, schedule, first_look=35)
        assert draws.n_draws == 35
        self.assert_thinned(draws, every_draw, 8)

    def test_looks_early_too(self, every_draw, monkeypatch):
        monkeypatch.setattr("pasb.sampling.lengthening.FIRST_MEETING", 20)
        seen = []
        run(lambda draws: bool(seen.append((draws.n_draws, draws.thin))), 1, self.SCHEDULE)
        assert seen == [(20, 2), (30, 2), (40, 2), (40, 4), (40, 8)]

    def test_does_not_grow_unless_asked(self, every_draw):
        self.assert_thinned(run(None, 1, self.SCHEDULE), every_draw, 1)

    @pytest.mark.parametrize("n_draws", [40, 35])
    @pytest.mark.parametrize("sweep", [5, 50, 90, 91, 130, 170, 171, 300, 330, 331, 650])
    def test_resumed(self, every_draw, tmp_path, sweep, n_draws):
        schedule = Schedule(10, n_draws, 2, 7, longest=8)
        how = {"schedule": schedule, "first_look": n_draws, "checkpoint": tmp_path}
        stop = [lambda info: info.sweep >= sweep]
        part = run(lambda draws: False, callbacks=stop, **how)
        if part.n_draws > 1:
            self.assert_thinned(part, every_draw, part.thin // 2)
        for _ in range(2):  # the second one has nothing left to do
            draws = run(lambda draws: False, 2, **how)
            assert draws.n_draws == n_draws
            self.assert_thinned(draws, every_draw, 8)

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    @pytest.mark.parametrize("n_draws", [40, 35])
    @pytest.mark.parametrize("lost", [0, 1, 2, 3])
    def test_what_is_missing_is_drawn_again(self, every_draw, tmp_path, n_draws, lost):
        schedule = Schedule(10, n_draws, 2, 7, longest=8)
        how = {"schedule": schedule, "first_look": n_draws, "checkpoint": tmp_path}
        for sweep in (60, 140, 260):
            run(lambda draws: False, callbacks=[lambda info, k=sweep: info.sweep >= k], **how)
        run(lambda draws: False, **how)
        segments = sorted((tmp_path / "chain-0001").glob("*.pasb"))
        assert len(segments) > 4
        segments[lost].write_bytes(b"")
        draws = run(lambda draws: False, **how)
        assert draws.n_draws == n_draws
        self.assert_thinned(draws, every_draw, 8)

    def test_resumed_after_its_end(self, every_draw, tmp_path):
        how = {"schedule": self.SCHEDULE, "first_look": 40, "checkpoint": tmp_path}
        for _ in range(2):
            draws = run(lambda draws: draws.thin >= 8, **how)
            assert draws.n_draws == 40
            self.assert_thinned(draws, every_draw, 4)

    def test_draws_that_were_dropped_cannot_be_asked_for(self, tmp_path):
        run(lambda draws: False, 1, self.SCHEDULE, first_look=40, checkpoint=tmp_path)
        with pytest.raises(CheckpointError, match=r"100 draws after 650 sweeps, not 320"):
            run(None, 1, Schedule(10, 400, 2, 7), checkpoint=tmp_path)

    def test_chains_that_could_not_catch_up_are_thinned_alike(self, every_draw):
        schedule = self.SCHEDULE
        engine = ThreadEngine()
        with engine:
            chains = engine.chains(problems(), schedule)
            trace = empty_trace(problems()[0], schedule, len(chains[0].tally.names), 3)
            for k, (chain, sweeps) in enumerate(zip(chains, (90, 100, 180), strict=True)):
                chain.fill({name: values[k] for name, values in trace.items()})
                engine.advance([chain], sweeps)
        draws = collect(chains, trace, "interrupted")
        assert draws.n_draws == 10
        self.assert_thinned(draws, every_draw, 4)

    def test_goes_on_where_saving_has_failed(self, every_draw, tmp_path, monkeypatch):
        def fail(*_):
            raise CheckpointError("no room.")

        monkeypatch.setattr("pasb.storage.checkpoint.Checkpoint.append", fail)
        with pytest.warns(UserWarning, match="no room"):
            draws = run(lambda draws: False, 1, self.SCHEDULE, first_look=40, checkpoint=tmp_path)
        self.assert_thinned(draws, every_draw, 8)


def test_halving_a_trace():
    trace = {"x": np.arange(7.0), "statistics": np.arange(7)[:, None]}
    left = halve(trace, 5)
    np.testing.assert_array_equal(trace["x"][:2], [1, 3])
    np.testing.assert_array_equal(trace["statistics"][:2, 0], [0 + 1, 2 + 3])
    np.testing.assert_array_equal(left, [4])
