"""Runs that stop once their draws are good enough: where chains meet, and what is decided there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from pasb.binary import Logistic
from pasb.engines.threads import ThreadEngine
from pasb.numerics.rows import Rows
from pasb.sampling.budget import Budget
from pasb.sampling.engine import Engine
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.run import FIRST_MEETING, meetings, sample

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


def assert_same(one, other, n=None):
    np.testing.assert_array_equal(one.order, other.order[:, :n])
    np.testing.assert_array_equal(one.parameters["coef"], other.parameters["coef"][:, :n])


class TestWhere:
    def test_they_grow_and_end_with_the_last_draw(self):
        for n_draws in (1, 99, 100, 101, 150, 1000, 10**6):
            points = meetings(n_draws)
            assert points[-1] == n_draws
            assert all(a < b for a, b in pairwise(points))
            assert min(points) == min(n_draws, FIRST_MEETING)
        assert sum(meetings(10**6)) < 4 * 10**6

    def test_a_longer_run_meets_at_the_same_points(self):
        assert meetings(10_000)[:6] == meetings(1000)[:6]


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
