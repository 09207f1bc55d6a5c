"""Chains: schedules, callbacks, interrupts, checkpoints and the progress display."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import pasb.engines.threads
import pasb.sampling.run
from pasb import StickLogisticClassifier
from pasb.errors import CheckpointError, ConvergenceWarning
from pasb.sampling.sweep import Sweeper
from pasb.storage.checkpoint import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

N_WARMUP, N_DRAWS = 20, 30


def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 2)) + np.eye(3)[y][:, :2], y


X, Y = data()


def classifier(**changes):
    settings = {
        "n_chains": 2,
        "n_warmup": N_WARMUP,
        "n_draws": N_DRAWS,
        "n_swaps": 10,
        "n_jobs": 1,
        "random_state": 5,
    }
    return StickLogisticClassifier(**(settings | changes))


def fit(**changes):
    return classifier(**changes).fit(X, Y)


def arrays(model):
    draws = model.draws_
    return {
        "order": draws.order,
        "log_likelihood": draws.log_likelihood,
        **draws.statistics,
        **draws.parameters,
    }


def assert_same_draws(model, other, n=None):
    """Bit for bit, all draws or the first n."""
    a, b = arrays(model), arrays(other)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name][:, :n], b[name][:, :n], err_msg=name)


@pytest.fixture(scope="module")
def whole():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


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
        with pytest.warns(ConvergenceWarning, match="stopped after"):
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
            if keys.chain == 1 and keys.sweep > 20:
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


@pytest.fixture
def often(monkeypatch):
    """Short slices, and a checkpoint after each."""
    monkeypatch.setattr(pasb.engines.threads.ThreadEngine, "slice_seconds", 0.001)
    monkeypatch.setattr(pasb.sampling.run, "CHECKPOINT_SECONDS", 0.0)


KILLED = """
import os, signal, sys
import numpy as np
import pasb.engines.threads
import pasb.sampling.run
from pasb import StickLogisticClassifier

# a checkpoint after every sweep, however fast they are
pasb.engines.threads.ThreadEngine.slice_seconds = 0.0
pasb.sampling.run.CHECKPOINT_SECONDS = 0.0

def kill(info):
    if info.chain == 1 and info.sweep == {sweep}:
        os.kill(os.getpid(), signal.SIGKILL)

table = np.load(sys.argv[1])
StickLogisticClassifier(
    n_chains=2, n_warmup={n_warmup}, n_draws={n_draws}, n_swaps=10, n_jobs=2, random_state=5,
    checkpoint=sys.argv[2], callbacks=[kill],
).fit(table["X"], table["Y"])
"""


@pytest.mark.usefixtures("often")
class TestCheckpoints:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("sweep", [3, N_WARMUP, N_WARMUP + 1, N_WARMUP + 11])
    def test_stopped_by_a_callback_and_resumed(self, whole, tmp_path, n_jobs, sweep):
        stop = [lambda info: info.sweep >= sweep]
        part = fit(checkpoint=tmp_path, n_jobs=n_jobs, callbacks=stop)
        assert part.draws_.interrupted
        resumed = fit(checkpoint=tmp_path, n_jobs=n_jobs)
        assert not resumed.draws_.interrupted
        assert_same_draws(resumed, whole)
        accepted = [model.draws_.statistics["swap_accepted"] for model in (resumed, whole)]
        np.testing.assert_array_equal(*accepted)

    def test_stopped_many_times(self, whole, tmp_path):
        for sweep in range(5, N_WARMUP + N_DRAWS, 9):
            fit(checkpoint=tmp_path, callbacks=[lambda info, sweep=sweep: info.sweep >= sweep])
        assert_same_draws(fit(checkpoint=tmp_path), whole)

    @pytest.mark.parametrize("sweep", [5, N_WARMUP + 5])
    def test_interrupted_and_resumed(self, whole, tmp_path, sweep):
        # the sweeps are held back, so that the run cannot end before the interrupt is seen
        wait = [interrupt_at(sweep), lambda info: info.sweep >= sweep and time.sleep(0.05)]
        part = fit(checkpoint=tmp_path, callbacks=wait, n_jobs=2)
        assert part.draws_.interrupted
        assert_same_draws(fit(checkpoint=tmp_path), whole)

    def test_killed_and_resumed(self, whole, tmp_path):
        np.savez(tmp_path / "data.npz", X=X, Y=Y)
        script = KILLED.format(sweep=N_WARMUP + 13, n_warmup=N_WARMUP, n_draws=N_DRAWS)
        command = [sys.executable, "-c", script, tmp_path / "data.npz", tmp_path / "run"]
        killed = subprocess.run(command, check=False, timeout=120)
        assert killed.returncode == -signal.SIGKILL
        swept = []
        model = fit(
            checkpoint=tmp_path / "run",
            callbacks=[lambda info: swept.append((info.chain, info.sweep)) or False],
        )
        assert_same_draws(model, whole)
        assert min(sweep for chain, sweep in swept if chain == 1) > N_WARMUP  # it did resume

    def test_a_finished_run_returns_at_once(self, whole, tmp_path):
        fit(checkpoint=tmp_path)
        swept = []
        again = fit(checkpoint=tmp_path, callbacks=[swept.append])
        assert swept == []
        assert_same_draws(again, whole)

    def test_more_draws_go_on_beyond_the_end(self, tmp_path):
        fit(checkpoint=tmp_path)
        longer = fit(checkpoint=tmp_path, n_draws=N_DRAWS + 15)
        assert_same_draws(longer, fit(n_draws=N_DRAWS + 15))

    def test_fewer_draws_are_the_first_ones(self, whole, tmp_path):
        fit(checkpoint=tmp_path)
        shorter = fit(checkpoint=tmp_path, n_draws=N_DRAWS - 10)
        assert shorter.draws_.n_draws == N_DRAWS - 10
        assert_same_draws(shorter, whole, n=N_DRAWS - 10)
        assert_same_draws(fit(checkpoint=tmp_path), whole)

    @pytest.mark.parametrize("thin", [2, 3])
    def test_with_thinning(self, tmp_path, thin):
        settings = {"thin": thin, "n_draws": 10}
        fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == N_WARMUP + 7], **settings)
        assert_same_draws(fit(checkpoint=tmp_path, **settings), fit(**settings))

    @pytest.mark.parametrize(
        "changes",
        [{"scheme": "paper"}, {"sticks": "augmented"}, {"order": [2, 0, 1]}, {"order": "swap"}],
    )
    def test_every_scheme(self, tmp_path, changes):
        fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == 25], **changes)
        assert_same_draws(fit(checkpoint=tmp_path, **changes), fit(**changes))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("random_state", 6),
            ("n_warmup", N_WARMUP + 1),
            ("thin", 2),
            ("n_chains", 3),
            ("precision", 2.0),
            ("precision_rate", 3.0),
            ("scheme", "paper"),
            ("sticks", "augmented"),
            ("order", [0, 1, 2]),
            ("order", "swap"),
            ("n_swaps", 11),
        ],
    )
    def test_other_settings_are_refused(self, tmp_path, name, value):
        fit(checkpoint=tmp_path)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(CheckpointError, match=name.removeprefix("precision_")):
            fit(checkpoint=tmp_path, **{name: value})
        assert sorted(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize("what", ["X", "y", "weights", "scale"])
    def test_other_data_is_refused(self, tmp_path, what):
        fit(checkpoint=tmp_path)
        table, labels, weights, changes = X.copy(), Y.copy(), None, {}
        if what == "X":
            table[0, 0] += 1e-9
        elif what == "y":
            labels[0] = 1
        elif what == "weights":
            weights = np.where(np.arange(60) == 3, 2.0, 1.0)
        else:
            changes["scale"] = None
        with pytest.raises(CheckpointError, match="data"):
            classifier(checkpoint=tmp_path, **changes).fit(table, labels, sample_weight=weights)

    def test_threads_progress_and_callbacks_do_not_matter(self, whole, tmp_path):
        fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == 30])
        model = fit(checkpoint=tmp_path, n_jobs=2, progress=False)
        assert_same_draws(model, whole)

    def test_without_a_random_state_the_stored_seed_is_used(self, tmp_path):
        stop = [lambda info: info.sweep == N_WARMUP + 10]
        part = fit(checkpoint=tmp_path, random_state=None, callbacks=stop)
        resumed = fit(checkpoint=tmp_path, random_state=None)
        assert_same_draws(part, resumed, n=part.draws_.n_draws)
        assert_same_draws(resumed, fit(checkpoint=tmp_path, random_state=None))

    def test_the_folder_may_be_given_as_text(self, whole, tmp_path):
        assert_same_draws(fit(checkpoint=str(tmp_path / "new" / "run")), whole)
        assert (tmp_path / "new" / "run" / "run.pasb").exists()

    def test_failing_writes_warn_once(self, whole, tmp_path, monkeypatch):
        def append(*args):
            raise CheckpointError("the disk is full.")

        monkeypatch.setattr(Checkpoint, "append", append)
        with pytest.warns(UserWarning, match="disk is full") as caught:
            model = fit(checkpoint=tmp_path)
        told = [str(w.message) for w in caught if "disk is full" in str(w.message)]
        assert len(told) == 1
        assert "Sampling continues" in told[0]
        assert_same_draws(model, whole)

    def test_no_draw_is_lost_when_some_writes_fail(self, whole, tmp_path, monkeypatch):
        append, calls = Checkpoint.append, []

        def sometimes(*args):
            calls.append(1)
            if len(calls) % 3:
                raise CheckpointError("no room.")
            append(*args)

        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            patch.setattr(Checkpoint, "append", sometimes)
            fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == N_WARMUP + 20])
        assert_same_draws(fit(checkpoint=tmp_path), whole)


class TestProgress:
    def test_shown(self, capsys):
        fit(progress=True)
        shown = capsys.readouterr()
        assert "chain 1" in shown.err
        assert "chain 2" in shown.err
        assert f"{N_WARMUP + N_DRAWS}/{N_WARMUP + N_DRAWS}" in shown.err
        assert shown.out == ""

    @pytest.mark.parametrize("progress", [False, "auto"])
    def test_not_shown(self, capsys, progress):
        fit(progress=progress)
        shown = capsys.readouterr()
        assert shown.err == shown.out == ""

    def test_auto_looks_at_the_terminal(self, monkeypatch, capsys):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        fit(progress="auto")
        assert "chain 1" in capsys.readouterr().err

    def test_without_a_stderr(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", None)
        fit(progress="auto")

    def test_stopped_run(self, capsys):
        fit(progress=True, callbacks=[lambda info: info.sweep == 5])
        assert "warm-up" in capsys.readouterr().err
