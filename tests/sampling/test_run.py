"""Runs: one seed, one chain; schedules, callbacks and interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from tests.sampling.small_runs import (
    N_DRAWS,
    N_WARMUP,
    X,
    Y,
    arrays,
    assert_same_draws,
    classifier,
    fit,
)

import pasb.engines.threads
import pasb.sampling.run
from pasb.errors import ConvergenceWarning
from pasb.sampling.sweep import Sweeper

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


class TestOneSeedOneChain:
    @pytest.mark.parametrize("n_jobs", [1, 2, 4])
    def test_number_of_threads(self, whole, n_jobs):
        assert_same_draws(fit(n_jobs=n_jobs), whole)

    @pytest.mark.parametrize("seconds", [0.0, 0.003, 100.0])
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_slicing(self, whole, monkeypatch, seconds, n_jobs):
        monkeypatch.setattr(pasb.engines.threads.ThreadEngine, "slice_seconds", seconds)
        assert_same_draws(fit(n_jobs=n_jobs), whole)

    def test_in_a_thread_beside_another_run(self, whole):
        models = [classifier(), classifier(random_state=6)]
        threads = [threading.Thread(target=model.fit, args=(X, Y)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert_same_draws(models[0], whole)

    def test_fit_again(self, whole):
        model = fit(random_state=6)
        assert_same_draws(model.set_params(random_state=5).fit(X, Y), whole)

    def test_more_chains_leave_the_first_ones_alone(self, whole):
        coef = fit(n_chains=3).draws_.parameters["coef"]
        np.testing.assert_array_equal(coef[:2], whole.draws_.parameters["coef"])

    def test_other_seeds_and_other_chains_differ(self, whole):
        coef = whole.draws_.parameters["coef"]
        assert not np.isin(coef[0], coef[1]).any()
        assert not np.isin(coef, fit(random_state=6).draws_.parameters["coef"]).any()

    @pytest.mark.parametrize("seed", [np.int64(5), np.uint32(5)])
    def test_numpy_integers_are_seeds(self, whole, seed):
        assert_same_draws(fit(random_state=seed), whole)

    def test_random_state_object(self):
        first = fit(random_state=np.random.RandomState(3))
        assert_same_draws(fit(random_state=np.random.RandomState(3)), first)
        shared = np.random.RandomState(3)
        assert_same_draws(fit(random_state=shared), first)
        assert not np.isin(
            fit(random_state=shared).draws_.parameters["coef"], first.draws_.parameters["coef"]
        ).any()

    def test_no_random_state(self):
        coef = [fit(random_state=None).draws_.parameters["coef"] for _ in range(2)]
        assert not np.isin(*coef).any()


class TestSchedule:
    def test_thinning_keeps_every_third_draw(self, whole):
        thinned = fit(thin=3, n_draws=N_DRAWS // 3)
        for name, values in arrays(thinned).items():
            every = arrays(whole)[name]
            expected = every[:, 2::3]
            if name in whole.draws_.statistics:  # counts since the draw before
                n_draws = values.shape[1]
                expected = every[:, : 3 * n_draws].reshape(-1, n_draws, 3).sum(axis=2)
            np.testing.assert_array_equal(values, expected, err_msg=name)

    def test_more_draws_begin_with_the_same(self, whole):
        assert_same_draws(fit(n_draws=N_DRAWS + 10), whole, n=N_DRAWS)

    def test_without_warmup(self):
        model = fit(n_warmup=0, n_draws=4)
        assert model.draws_.n_draws == 4
        assert model.draws_.n_warmup == 0

    def test_one_draw_of_one_chain(self):
        model = fit(n_chains=1, n_warmup=0, n_draws=1)
        assert model.sample_proba(X).shape == (1, 60, 3)
        assert np.isfinite(model.predict_proba(X)).all()

    @pytest.mark.parametrize(
        "changes",
        [
            {"scheme": "paper"},
            {"sticks": "augmented"},
            {"order": [2, 0, 1]},
            {"order": "swap"},
            {"precision": 0.5},
        ],
    )
    def test_every_scheme_is_a_function_of_its_seed(self, changes):
        assert_same_draws(fit(n_jobs=1, **changes), fit(n_jobs=2, **changes))


class TestCallbacks:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_called_after_every_sweep(self, n_jobs):
        seen = {0: [], 1: []}
        model = fit(callbacks=[lambda info: seen[info.chain].append(info)], n_jobs=n_jobs)
        for chain, infos in seen.items():
            assert [info.sweep for info in infos] == list(range(1, N_WARMUP + N_DRAWS + 1))
            assert [info.warmup for info in infos] == [True] * N_WARMUP + [False] * N_DRAWS
            assert {info.n_sweeps for info in infos} == {N_WARMUP + N_DRAWS}
            assert all(0 <= info.swap_acceptance <= 1 for info in infos)
            kept = infos[N_WARMUP:]
            np.testing.assert_array_equal(
                [info.log_likelihood for info in kept], model.draws_.log_likelihood[chain]
            )
            # of a symmetric model's draws, the last two categories are sorted in the end
            order = np.array([info.order for info in kept])
            order[:, -2:].sort(axis=1)
            np.testing.assert_array_equal(order, model.draws_.order[chain])

    def test_one_call_at_a_time(self):
        busy = threading.Lock()

        def callback(info):
            assert busy.acquire(blocking=False)
            time.sleep(0.0005)
            busy.release()

        fit(callbacks=[callback], n_jobs=2)

    def test_all_are_called(self):
        counts = [0, 0]

        def count(which):
            def callback(info):
                counts[which] += 1

            return callback

        fit(callbacks=(count(0), count(1)))
        assert counts == [2 * (N_WARMUP + N_DRAWS)] * 2

    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("n_chains", [1, 3])
    def test_true_stops_the_run(self, n_jobs, n_chains):
        model = classifier(
            n_jobs=n_jobs,
            n_chains=n_chains,
            n_draws=2000,
            callbacks=[lambda info: info.sweep >= N_WARMUP + 7],
        )
        with pytest.warns(ConvergenceWarning, match="stopped after"):
            model.fit(X, Y)
        assert model.draws_.interrupted
        assert 7 <= model.draws_.n_draws < 2000
        assert model.draws_.order.shape[0] == n_chains
        assert np.isfinite(model.predict_proba(X)).all()
        assert_same_draws(model, fit(n_chains=n_chains, n_draws=model.draws_.n_draws))

    def test_stop_after_the_last_sweep_is_a_whole_run(self, whole):
        last = N_WARMUP + N_DRAWS
        model = fit(callbacks=[lambda info: info.sweep == last and info.chain == 1], n_jobs=1)
        assert not model.draws_.interrupted
        assert_same_draws(model, whole)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_an_exception_comes_through(self, n_jobs):
        def callback(info):
            if info.sweep == 10 and info.chain == 1:
                raise ZeroDivisionError("of the callback")

        with pytest.raises(ZeroDivisionError, match="of the callback"):
            fit(callbacks=[callback], n_jobs=n_jobs, n_draws=100_000)


def interrupt_at(sweep):
    """A callback that presses Ctrl-C once."""
    pressed = threading.Event()

    def callback(info):
        if info.sweep >= sweep and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    return callback


class TestInterrupt:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_keeps_the_draws_made_so_far(self, n_jobs):
        model = classifier(n_draws=100_000, n_jobs=n_jobs, callbacks=[interrupt_at(N_WARMUP + 5)])
        with pytest.warns(ConvergenceWarning, match="stopped after"):
            assert model.fit(X, Y) is model
        assert model.draws_.interrupted
        n = model.draws_.n_draws
        assert 5 <= n < 100_000
        assert np.isfinite(model.predict_proba(X)).all()
        assert_same_draws(model, fit(n_draws=n))

    def test_in_the_warmup(self):
        model = classifier(n_warmup=100_000, callbacks=[interrupt_at(3)])
        with pytest.warns(ConvergenceWarning, match=r"STOPPED IN THE WARM-UP, after \d+ sweep"):
            model.fit(X, Y)
        assert model.draws_.n_draws == 1
        assert 1 <= model.draws_.n_warmup < 100_000
        assert np.isfinite(model.predict_proba(X)).all()
        assert len(model.predict_frame(X)) == 60
        assert model.posterior_["posterior"].sizes["draw"] == 1
        assert len(model.summary()) == 6

    def test_raised_by_a_callback(self):
        def callback(info):
            if info.sweep == N_WARMUP + 5:
                raise KeyboardInterrupt

        model = fit(n_draws=100_000, callbacks=[callback])
        assert model.draws_.interrupted
        assert_same_draws(model, fit(n_draws=model.draws_.n_draws))

    def test_no_chain_is_in_two_threads_at_once(self, monkeypatch):
        """One chain is slow when the interrupt comes, while the other's thread is free."""
        running, overlaps = set(), []
        sweep = Sweeper.sweep

        def watched(self, state, keys):
            if keys.chain in running:
                overlaps.append(keys)
            running.add(keys.chain)
            if keys.chain == 1 and 20 < keys.sweep <= 40:  # later ones only have to catch up
                time.sleep(0.2)
            sweep(self, state, keys)
            running.discard(keys.chain)

        monkeypatch.setattr(Sweeper, "sweep", watched)
        model = fit(n_jobs=2, n_draws=100_000, callbacks=[interrupt_at(22)], n_warmup=30)
        assert model.draws_.interrupted
        assert not overlaps

    def test_leaves_blas_as_it_was(self):
        from threadpoolctl import threadpool_info

        before = threadpool_info()
        fit(n_draws=100_000, callbacks=[interrupt_at(10)])
        assert threadpool_info() == before


def test_draws_show_themselves_in_a_line():
    """A notebook showed all their arrays, thousands of lines of them."""
    assert repr(fit().draws_) == "Draws(chains=2, draws=30, of coef, ended='finished')"
