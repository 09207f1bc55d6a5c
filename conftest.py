"""The false-failure budget of the suite, and seeds drawn from the tests' names.

Every test of random code carries ``@pytest.mark.statistical(level=...)``, the
probability that it fails although all is right. The levels of all collected tests
add up to at most `BUDGET`; no test is retried, and no seed is chosen.

A test of power, which asserts that a mistake is found or a score reached, may fail by chance as
well. It carries a level too, or a comment that says how far from its limit other seeds are: "no
level" stands where chance would need six standard deviations or more.
"""

from __future__ import annotations

import signal
import zlib
from importlib.util import find_spec

import pytest

BUDGET = 1e-4

# examples of formulas need an extra
collect_ignore = [] if find_spec("formulaic") else ["src/pasb/classifiers/formula.py"]


def pytest_configure(config):
    # a shell starts background jobs with SIGINT ignored, and tests of Ctrl-C would wait for ever
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(session, config, items):
    spent = 0.0
    for item in items:
        marker = item.get_closest_marker("statistical")
        if marker is not None:
            spent += marker.kwargs["level"]
    if spent > BUDGET:
        raise pytest.UsageError(
            f"the statistical tests may fail by chance with probability {spent:.2g}, "
            f"more than the budget of {BUDGET:.0e}: tighten their levels"
        )


@pytest.fixture
def seed(request) -> int:
    """A seed that follows from the name of the test, parameters included."""
    return zlib.crc32(request.node.name.encode())


@pytest.fixture
def level(request) -> float:
    """The level that the test states in its marker."""
    return request.node.get_closest_marker("statistical").kwargs["level"]
