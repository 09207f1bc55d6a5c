"""What is told of a fit: where, when, and in which words."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import threading

import pytest
from numba import njit
from tests.sampling.small_runs import N_DRAWS, N_WARMUP, X, Y, fit

from pasb import SoftplusClassifier
from pasb.classifiers import stick_classifier
from pasb.sampling import progress as module
from pasb.sampling.compilation import compilation
from pasb.sampling.progress import COMPILING, NOT_KEPT, Progress, phase
from pasb.variates import code_cache

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture(autouse=True)
def as_usual(monkeypatch):
    """Nobody has asked for the records of the logger, and no other program has disabled it."""
    monkeypatch.setattr(module.log, "disabled", False)
    level = module.log.level
    module.log.setLevel(logging.NOTSET)
    yield
    module.log.setLevel(level)


def terminal(patch):
    patch.setattr(sys.stderr, "isatty", lambda: True)


@pytest.fixture
def at_once(monkeypatch):
    """The first line comes at once, and others all the time."""
    monkeypatch.setattr(module, "FIRST_LINE", 0.001)
    monkeypatch.setattr(module, "LAST_GAP", 0.001)


class TestLines:
    def test_every_phase_has_a_name(self, capsys):
        fit(progress=True)
        shown = capsys.readouterr()
        phases = re.findall(r"^pasb: ([a-z -]+)", shown.err, flags=re.MULTILINE)
        named = [name for name in phases if name not in ("compiled", "compiling kernels")]
        assert list(dict.fromkeys(named)) == [
            "choosing the prior",
            "searching orders",
            *(["warm-up"] if "warm-up" in named else []),  # a slice may hold all of it
            "draws",
        ]
        total = 2 * (N_WARMUP + N_DRAWS)
        assert f"draws: {total} of {total} sweeps (100%), log-likelihood -" in shown.err
        assert "nan" not in shown.err
        assert shown.out == ""

    def test_a_fixed_order_is_not_searched(self, capsys):
        fit(progress=True, order=[0, 1, 2])
        assert "searching" not in capsys.readouterr().err

    @pytest.mark.parametrize("progress", [False, "auto"])
    def test_short_fits_say_nothing(self, capsys, progress, monkeypatch):
        monkeypatch.setattr(module, "FIRST_LINE", 1000.0)
        fit()  # compiled by now
        capsys.readouterr()
        fit(progress=progress)
        shown = capsys.readouterr()
        assert shown.err == shown.out == ""

    @pytest.mark.usefixtures("at_once")
    def test_long_fits_tell_now_and_then(self, capsys):
        told = threading.Event()
        fit(progress="auto", callbacks=[lambda info: told.wait(0.01) and None])
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) > 3
        assert any(re.match(r"pasb: warm-up: \d+ of 100 sweeps", line) for line in lines)
        assert any(re.match(r"pasb: draws: \d+ of 100 sweeps", line) for line in lines)
        assert not any("nan" in line for line in lines)

    @pytest.mark.usefixtures("at_once")
    def test_the_end_has_a_name(self, capsys, monkeypatch):
        """After the sweeps, of a run that was out of time too, it was that of the search."""
        real = stick_classifier.advice_on
        told = threading.Event()

        def slowly(*arguments, **options):
            told.wait(0.1)
            return real(*arguments, **options)

        monkeypatch.setattr(stick_classifier, "advice_on", slowly)
        fit(progress="auto", callbacks=[lambda info: told.wait(0.01) and None])
        lines = capsys.readouterr().err.splitlines()
        last = max(k for k, line in enumerate(lines) if " sweeps (" in line)
        assert lines[last + 1 :] == ["pasb: checking convergence"]

    @pytest.mark.usefixtures("at_once")
    def test_false_says_nothing_however_long(self, capsys):
        told = threading.Event()
        fit(progress=False, callbacks=[lambda info: told.wait(0.005) and None])
        assert capsys.readouterr().err == ""

    def test_without_a_stderr(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", None)
        fit(progress="auto")
        fit(progress=True)

    def test_a_notebook_gets_lines(self, capsys, monkeypatch):
        """There standard error is no terminal, whatever rich thinks of it."""
        monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
        fit(progress=True)
        assert "pasb: draws: 100 of 100 sweeps" in capsys.readouterr().err

    def test_levels_of_a_stack_tell_for_themselves(self, capsys):
        with Progress(True):
            phase("outside")
            with Progress(True):
                phase("inside")
            with Progress(False):
                phase("silent")
        assert capsys.readouterr().err == "pasb: outside\npasb: inside\n"


class TestLog:
    def test_records(self, caplog):
        with caplog.at_level(logging.INFO, logger="pasb"):
            fit(progress=True)
        assert {record.name for record in caplog.records} == {"pasb"}
        assert "choosing the prior" in caplog.messages

    def test_who_reads_the_log_has_it_once(self, caplog, capsys):
        with caplog.at_level(logging.INFO, logger="pasb"):
            fit(progress=True)
        assert capsys.readouterr().err == ""

    def test_a_level_without_a_reader_changes_nothing(self, capsys, monkeypatch):
        monkeypatch.setattr(module.log, "propagate", False)
        module.log.setLevel(logging.INFO)
        fit(progress=True)
        assert "pasb: choosing the prior" in capsys.readouterr().err

    @pytest.mark.usefixtures("at_once")
    def test_the_log_does_not_need_progress(self, caplog):
        told = threading.Event()
        with caplog.at_level(logging.INFO, logger="pasb"):
            fit(progress=False, callbacks=[lambda info: told.wait(0.005) and None])
        assert any(text.startswith("draws: ") for text in caplog.messages)


class TestBars:
    def test_shown(self, capsys, monkeypatch):
        terminal(monkeypatch)
        fit(progress="auto")
        shown = capsys.readouterr()
        assert "chain 1" in shown.err
        assert "chain 2" in shown.err
        assert f"{N_WARMUP + N_DRAWS}/{N_WARMUP + N_DRAWS}" in shown.err
        assert "draws" in shown.err
        assert "nan" not in shown.err
        assert shown.out == ""

    def test_what_is_not_known_is_not_shown(self, capsys, monkeypatch):
        """A chain that did not begin has no likelihood; a fixed order has no swaps."""
        terminal(monkeypatch)

        def stop(info):
            return True

        fit(progress=True, callbacks=[stop], order=[0, 1, 2])
        shown = capsys.readouterr().err
        assert "chain 1" in shown
        assert "warm-up" in shown
        assert "nan" not in shown
        assert "swaps" not in shown

    def test_before_the_first_sweep(self):
        from rich.console import Console

        from pasb.sampling.progress_bars import Bars

        seen = []
        advance = module.Progress.of

        def of(self, chains):
            bars = Bars(Console(stderr=True), chains, self.present_phase)
            seen.append(bars.fields(chains[0]))
            bars.bar.stop()
            return advance(self, chains)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module.Progress, "of", of)
            fit(progress=False)
        assert seen[0] == {"chain": 1, "phase": "searching orders", "seen": ""}


class TestCompiling:
    @pytest.fixture
    def kernel(self):
        def shifted(x):
            return x + 1.5

        shifted.__module__ = "pasb.made_up"
        return njit(shifted)  # without a cache

    def test_is_told_at_once_and_once(self, capsys, kernel):
        with Progress("auto"):
            assert kernel(1.0) == 2.5
            assert kernel(1) == 2.5
        assert capsys.readouterr().err == f"pasb: {COMPILING}\n"

    def test_is_not_told_of_what_is_there(self, capsys, kernel):
        kernel(1.0)
        with Progress("auto"):
            kernel(1.0)
        assert capsys.readouterr().err == ""

    def test_functions_of_users_do_not_count(self, capsys):
        def shifted(x):
            return x + 2.5

        own, before = njit(shifted), compilation.n_functions
        with Progress("auto"):
            own(1.0)
        assert capsys.readouterr().err == ""
        assert compilation.n_functions == before

    def test_is_a_phase(self, kernel):
        seen = []
        with Progress(False) as shown:
            compilation.began.append(lambda: seen.append(shown.present_phase()))
            try:
                kernel(1.0)
            finally:
                compilation.began.pop()
            assert shown.present_phase() == "preparing"
        assert seen == ["compiling"]

    def test_takes_no_part_in_the_time_that_is_left(self, monkeypatch):
        monkeypatch.setattr(compilation, "seconds", compilation.seconds)
        now = module._sampling_clock()
        compilation.seconds += 3600.0
        assert now - module._sampling_clock() > 3500

    def test_code_that_cannot_be_kept_is_told_once(self, caplog, monkeypatch):
        monkeypatch.setattr(code_cache, "unsaved", {"kernel"})
        monkeypatch.setattr(module, "_told_not_kept", threading.Event())
        for _ in range(2):
            with Progress(False):
                pass
        assert caplog.messages == [NOT_KEPT]
        assert "NUMBA_CACHE_DIR" in NOT_KEPT


def test_a_script_sees_it_on_standard_error():
    script = (
        "import numpy as np, warnings; warnings.simplefilter('ignore');"
        "from pasb import StickLogisticClassifier as C;"
        "X = np.arange(40.0)[:, None]; y = np.arange(40) % 2;"
        "C(n_chains=1, n_warmup=3, n_draws=4, progress=True).fit(X, y)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "pasb: choosing the prior" in done.stderr
    assert "pasb: draws: 7 of 7 sweeps" in done.stderr
    assert done.stdout == ""


def test_both_directions_of_softplus(capsys):
    SoftplusClassifier(
        n_experts=1, n_layers=1, n_chains=1, n_warmup=2, n_draws=4, n_jobs=1, progress=True
    ).fit(X, Y)
    assert "pasb: draws: 12 of 12 sweeps" in capsys.readouterr().err
