"""How many files a fit passes through: what docs/architecture.md says, beside a trace."""

from __future__ import annotations

import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pasb
from pasb import datasets

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PACKAGE = str(Path(pasb.__file__).parent)
SLACK = 2  # files: the page need not follow every helper that comes or goes
KINDS = {"moves/gibbs.py": "a full sweep", "moves/whole_order.py": "a sweep with WholeOrder"}


class Trace:
    """Files of the package whose functions Python calls, and those that sweeps do."""

    def __init__(self):
        self.files, self.sweep, self.sweeps = set(), None, defaultdict(set)

    def __call__(self, frame, event, argument):
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGE) or event not in ("call", "return"):
            return
        name = path[len(PACKAGE) + 1 :].replace("\\", "/")
        around = (name, frame.f_code.co_name) == ("sampling/sweep.py", "sweep")
        if event == "return" and around:
            kind = next((KINDS[f] for f in KINDS if f in self.sweep), "any other sweep")
            self.sweeps[kind] |= self.sweep
            self.sweep = None
        if event == "call":
            self.files.add(name)
            if around:
                self.sweep = set()
            if self.sweep is not None:
                self.sweep.add(name)


@contextmanager
def traced() -> Iterator[Trace]:
    trace, before = Trace(), sys.getprofile()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    """The files by what is done; everything is compiled and in caches by then."""
    part = datasets.load("iris").partition(0)
    X, y = part.X_train, part.y_train
    settings = {"n_chains": 1, "n_jobs": 1, "random_state": 1, "progress": False}
    model = pasb.StickLogisticClassifier(n_warmup=200, **settings)
    model.fit(X, y).predict_proba(X)
    with traced() as fit:
        model.fit(X, y)
    with traced() as prediction:
        model.predict_proba(X)
    return {
        "a fit": fit.files,
        **fit.sweeps,
        "all kinds of sweep": set().union(*fit.sweeps.values()),
        "`predict_proba`": prediction.files,
    }


def test_numbers_of_files_on_the_page(found):
    """In the table: all files, and those that are not in `moves/`."""
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    said = {what.strip(): (int(n), int(without)) for what, n, without in rows}
    for what, files in found.items():
        n, without = len(files), sum(not name.startswith("moves/") for name in files)
        assert abs(said[what][0] - n) <= SLACK, f"{what}: {n} files, {sorted(files)}"
        assert abs(said[what][1] - without) <= SLACK, f"{what}: {without} without moves/"


WALKS = {"a fit": "## The walk of `fit`: logistic, CPU", "`predict_proba`": "### `predict_proba`"}


@pytest.mark.parametrize("what", WALKS)
def test_files_are_in_their_walk(found, what):
    """What a fit or a prediction passes through is named in its own walk, or nearly all."""
    text = PAGE.read_text("utf-8").split(WALKS[what] + "\n")[1]
    walk = re.split(r"^##", text, flags=re.MULTILINE)[0]
    missing = sorted(found[what] - set(re.findall(r"\b(?:[a-z_]+/)*[a-z_0-9]+\.py\b", walk)))
    assert len(missing) <= SLACK, f"name them in the walk of docs/architecture.md: {missing}"
