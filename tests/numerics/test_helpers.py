"""Threads that help: each task runs once, and what one raises arrives."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from pasb.numerics.helpers import Helpers, one_by_one


def test_tasks_lead_to_others_and_each_runs_once():
    done, lock = [], threading.Lock()

    def leaf(k):
        time.sleep(0.001)
        with lock:
            done.append(k)

    def branch(k):
        leaf(k)
        return [partial(leaf, 10 * k + j) for j in range(3)]

    expected = sorted([*range(1, 6), *(10 * k + j for k in range(1, 6) for j in range(3))])
    for n_free in (0, 1, 3):
        done.clear()
        with Helpers(n_free) as helpers:
            helpers.run([partial(branch, k) for k in range(1, 6)])
            assert sorted(done) == expected
    done.clear()
    one_by_one([partial(branch, 1)])
    assert done == [1, 10, 11, 12]


def test_what_a_task_raises_arrives_when_no_other_runs():
    running = []

    def slow():
        running.append(1)
        time.sleep(0.05)
        running.pop()

    def wrong():
        time.sleep(0.01)
        raise ZeroDivisionError("on purpose")

    with Helpers(2) as helpers:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError, match="on purpose"):
                helpers.run([slow, wrong, slow, slow, slow])
            assert not running
        helpers.run([slow, slow])  # and the threads are still there
