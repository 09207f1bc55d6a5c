"""What a fit is doing: bars in a terminal, lines elsewhere, and records of ``logging``.

A fit goes through named phases: choosing the prior, searching orders, warm-up, draws, checking
convergence; and compiling, at whatever moment a kernel is needed for the first time. In a terminal
there is one bar for each chain. Notebooks, scripts and logs get a line on standard error now and
then, so that a short fit says nothing. The lines are records of the logger ``pasb``; a program
that lets their level, INFO, through has them in its own log instead.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any

from pasb.sampling.compilation import compilation
from pasb.variates import code_cache

if TYPE_CHECKING:
    from pasb.sampling.chain import Chain

log = logging.getLogger("pasb")

FIRST_LINE, GROWTH, LAST_GAP = 5.0, 1.5, 60.0  # seconds to the first line, and between lines
AFTER = "checking convergence"  # the phase after the last sweep
COMPILING = (
    "compiling kernels, once after installation; `python -m pasb.precompile` does it beforehand"
)
NOT_KEPT = (
    "compiled code cannot be kept, because no folder for it is writable: every process compiles "
    "again. Set the environment variable NUMBA_CACHE_DIR to a folder that is writable"
)

_current: ContextVar[Progress | None] = ContextVar("pasb_progress", default=None)
_told_not_kept = threading.Event()


def phase(name: str) -> None:
    """Say what the present fit does from now on."""
    present = _current.get()
    if present is not None:
        present.begin(name)


def is_logged() -> bool:
    """Whether somebody reads the log, so that it takes the place of standard error."""
    return log.isEnabledFor(logging.INFO) and log.hasHandlers()


def present_progress() -> Progress:
    """That of the present fit; a silent one outside of fits."""
    return _current.get() or Progress(False)


class Progress:
    """The progress of one fit, as a context.

    Parameters
    ----------
    asked : bool or "auto"
        True tells every phase, "auto" those that take long, False none.
    """

    def __init__(self, asked: bool | str):
        self.asked = asked
        self.terminal = bool(asked) and sys.stderr is not None and sys.stderr.isatty()
        self.name = ""
        self.chains: list[Chain] = []
        self._n_at_start, self._began = 0, 0.0
        self._bars: Any = None
        self._status: Any = None
        self._ended = threading.Event()
        self._teller: threading.Thread | None = None
        self._told = ""
        self._compiled = compilation.n_functions, compilation.seconds  # before this fit
        self._n_inside = 0  # fits that are part of this one and tell for themselves

    def __enter__(self) -> Progress:
        self._around = _current.get()
        self._token = _current.set(self)
        if self.asked and self._around is not None:
            self._around._n_inside += 1
            self._around._close_status()
        compilation.began.append(self._compiles)
        if self.terminal:
            from rich.console import Console

            self._console = Console(stderr=True)
        elif self.asked or (self._around is None and is_logged()):
            self._teller = threading.Thread(target=self._tell_now_and_then, daemon=True)
            self._teller.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        if self._teller is not None:
            self._teller.join(1.0)  # so that nothing is told of a fit that is over
        self._close_status()
        _current.reset(self._token)
        if self.asked and self._around is not None:
            self._around._n_inside -= 1
        compilation.began.remove(self._compiles)
        n, seconds = compilation.n_functions, compilation.seconds
        if seconds - self._compiled[1] > 1 and self._around is None:
            taken = duration(seconds - self._compiled[1])
            self.tell(f"compiled {n - self._compiled[0]} functions in {taken}")
        if code_cache.unsaved and not _told_not_kept.is_set():
            _told_not_kept.set()
            log.warning(NOT_KEPT)

    def begin(self, name: str) -> None:
        """A phase begins."""
        self.name = name
        if self.terminal and not self.chains:
            if self._status is None:
                self._status = self._console.status(name)
                self._status.start()
            self._status.update(name)
        elif self.asked is True:
            self.tell()

    def tell(self, text: str | None = None) -> None:
        """Write a line where this fit is read, what it does by default."""
        text = text or self.line()
        if text == self._told:
            return
        self._told = text
        log.info(text)
        if self.asked and not is_logged() and sys.stderr is not None:
            print(f"pasb: {text}", file=sys.stderr, flush=True)

    def line(self) -> str:
        """What the fit does, in a line."""
        if compilation.depth > 0:
            return f"compiling, {compilation.n_functions - self._compiled[0]} functions so far"
        if not self.chains:
            return self.present_phase()
        done = sum(chain.n_done for chain in self.chains)
        total = sum(chain.length for chain in self.chains)
        text = f"{self.present_phase()}: {done} of {total} sweeps ({done / total:.0%})"
        known = [chain.state.log_likelihood for chain in self.chains if chain.state is not None]
        if known and all(value == value for value in known):
            text += f", log-likelihood {sum(known) / len(known):.1f}"
        made, elapsed = done - self._n_at_start, _sampling_clock() - self._began
        if made > 0 and done < total and elapsed > 1:
            text += f", about {duration((total - done) * elapsed / made)} left"
        return text

    def present_phase(self, chain: Chain | None = None) -> str:
        """The phase of the fit, or of one of its chains."""
        if compilation.depth > 0:
            return "compiling"
        chains = self.chains if chain is None else [chain]
        if not chains:
            return self.name or "preparing"
        if any(own.state is None for own in chains):
            searches = any(own.problem.searches for own in chains)
            return "searching orders" if searches else "preparing"
        return "warm-up" if any(own.n_done <= own.schedule.n_warmup for own in chains) else "draws"

    @contextmanager
    def of(self, chains: Sequence[Chain]) -> Iterator[Progress]:
        """Follow these chains."""
        self._close_status()
        self.chains = list(chains)
        self._n_at_start, self._began = sum(chain.n_done for chain in chains), _sampling_clock()
        if self.terminal:
            from pasb.sampling.progress_bars import Bars

            self._bars = Bars(self._console, self.chains, self.present_phase)
        try:
            yield self
        finally:
            if self._bars is not None:
                self._bars.close()
            elif self.asked is True:
                self.tell()
            self.name = AFTER  # before the chains go: another thread reads it
            self._bars, self.chains = None, []

    def show(self) -> None:
        """Show where the chains stand."""
        if self._bars is not None:
            self._bars.show()
        elif self.asked is True and self.present_phase() not in ("compiling", self.name):
            self.begin(self.present_phase())

    def _compiles(self) -> None:
        if self._n_inside == 0 and compilation.n_functions == self._compiled[0]:  # the first one
            self.tell(COMPILING)

    def _tell_now_and_then(self) -> None:
        wait = FIRST_LINE
        while not self._ended.wait(wait):
            if self._n_inside == 0:
                self.tell()
            wait = min(wait * GROWTH, LAST_GAP)

    def _close_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _sampling_clock() -> float:
    """The time without that of compiling, which tells nothing of what is to come."""
    return monotonic() - compilation.seconds


def duration(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> duration(8.2), duration(200), duration(9000)
    ('8 s', '3 min 20 s', '2 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
