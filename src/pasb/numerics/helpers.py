"""Threads that help a chain within a sweep, where there are more of them than chains.

Given the order the sticks are independent. So are the experts of a softplus model, given which
of them are active in which rows. So a sweep is cut into *tasks*, and whoever is free takes
the next one. What a task draws follows from its keys and not from who runs it or when, so
the draws do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import threadpool_limits

MOST_THREADS = 1024

# Does its part of a sweep, and says what can be done next.
Task = Callable[[], "Iterable[Task] | None"]


class Helpers:
    """A pool of threads for the chains of a run; a chain's own thread always works along.

    Parameters
    ----------
    n_free : int, default=0
        Threads that no chain has for itself. With none, tasks run one after the other.
    """

    def __init__(self, n_free: int = 0):
        self.n_free = n_free
        self._lock = threading.Lock()
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the threads."""
        with self._lock:
            self.n_free = 0
        for _ in self._threads:
            self._batches.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []

    def reset(self, n: int) -> None:
        """So many threads are free now, while no chain runs."""
        with self._lock:
            self.n_free = n

    def add(self, n: int = 1) -> None:
        """Add threads whose chain has ended: they help the others."""
        with self._lock:
            self.n_free += n

    def run(self, tasks: Sequence[Task], breadth: int = 1) -> None:
        """Run all tasks and those that they lead to, and then raise the first error.

        `breadth` is how many tasks that can run at the same time each of them leads to.
        """
        n = self._borrow(len(tasks) * breadth - 1)
        if n == 0:
            one_by_one(tasks)
            return
        batch = _Batch(tasks)
        for _ in range(n):
            self._batches.put(batch)
        try:
            batch.work()
            batch.finish()
        finally:
            self.add(n)

    def _borrow(self, most: int) -> int:
        if self.n_free <= 0 or most <= 0:
            return 0
        with self._lock:
            n = min(self.n_free, most)
            self.n_free -= n
            for _ in range(n - len(self._threads)):
                name = f"pasb-help-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._help, name=name, daemon=True))
                self._threads[-1].start()
            return n

    def _help(self) -> None:
        while (batch := self._batches.get()) is not None:
            batch.work()


def one_by_one(tasks: Iterable[Task]) -> None:
    """Run all tasks and what they lead to in this thread."""
    for task in tasks:
        one_by_one(task() or ())


class TaskRunner:
    """Runs the tasks of one chain, with the help of other threads where that is worth it.

    Parameters
    ----------
    helpers : Helpers
    shares : bool
        Whether a task takes long enough to be handed to another thread.
    """

    def __init__(self, helpers: Helpers, shares: bool):
        self.helpers, self.shares = helpers, shares

    def __call__(self, tasks: Sequence[Task], breadth: int = 1) -> None:
        """Run all tasks and what they lead to; `breadth` as in `Helpers.run`."""
        if self.shares:
            self.helpers.run(tasks, breadth)
        else:
            one_by_one(tasks)


class _Batch:
    """Tasks that are ready, and how many are running."""

    def __init__(self, tasks: Sequence[Task]):
        self.ready: deque[Task] = deque(tasks)
        self.n_running = 0
        self.error: BaseException | None = None
        self.change = threading.Condition()

    def work(self) -> None:
        """Run tasks until there are none and none can come."""
        while (task := self._next()) is not None:
            more: Any = ()
            error = None
            try:
                more = task() or ()
            except BaseException as raised:
                error = raised
            with self.change:
                self.n_running -= 1
                self.error = self.error or error
                # what is begun is finished first: it holds work space
                self.ready.extendleft(reversed(tuple(more)))
                self.change.notify_all()

    def _next(self) -> Task | None:
        with self.change:
            while not self.ready and self.n_running and self.error is None:
                self.change.wait()
            if not self.ready or self.error is not None:
                return None
            self.n_running += 1
            return self.ready.popleft()

    def finish(self) -> None:
        """Wait until no task is running, and raise what one of them raised."""
        with self.change:
            while self.n_running:
                self.change.wait()
        if self.error is not None:
            raise self.error


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limits: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread while any run samples.

    BLAS threads beside the chains' threads slow both down, and sums would depend on
    their number. The first run to enter sets the limit, the last to leave lifts it.
    """
    global _blas_users, _blas_limits
    with _blas_lock:
        _blas_users += 1
        if _blas_users == 1:
            _blas_limits = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0 and _blas_limits is not None:
                _blas_limits.restore_original_limits()
                _blas_limits = None


def cores(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` asks for, on the cores that this process may use."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give 1 or more, or -1 for every core")
    if n_jobs is None:
        return effective_n_jobs(None)  # 1, unless a joblib context says otherwise
    if n_jobs > MOST_THREADS:
        raise ValueError(f"n_jobs must be at most {MOST_THREADS} threads; got {n_jobs}")
    return n_jobs if n_jobs > 0 else max(1, _available() + 1 + n_jobs)


def _available() -> int:
    """Cores that this process may use, by its affinity now and its limits when first asked."""
    limit = _limit()
    return min(limit, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else limit


_limit = cache(cpu_count)  # reads files of the system, which takes longer than a prediction
