"""Python of the long pages is run with short fits: its lines have to run, not its chains to agree.

The build runs it, and so do the tests, with README.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

from empty_folder import empty_folder

from pasb.classifiers.run_length import RunLength

BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
# the guide's long run
LONG, SHORT = "n_draws=100_000, thin=10", "n_draws=50, n_warmup=50"
N_SWEEPS = 150  # of warm-up, and draws, of fits of the usual length
PAGES = ("guide.md", "choice.md", "ensembles.md", "binary_models.md", "architecture.md")


def blocks(text: str) -> list[str]:
    """The Python of a page."""
    return BLOCK.findall(text)


def run(text: str, name: str) -> None:
    """Run the Python of a page from top to bottom, in an empty folder; raise what it raises."""
    names: dict[str, Any] = {"__name__": "page"}
    with short_fits(), empty_folder(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks(text):
            if "pasb.fit(" in block and find_spec("formulaic") is None:
                continue  # an extra that is not installed
            exec(compile(block.replace(LONG, SHORT), name, "exec"), names)


@contextlib.contextmanager
def short_fits() -> Iterator[None]:
    """Fits of the default length are shorter."""
    usual = RunLength._schedule

    def schedule(self: Any, seed: int) -> Any:
        made = usual(self, seed)
        if self.n_draws != "auto":
            return made
        return replace(made, n_warmup=N_SWEEPS, n_draws=N_SWEEPS, longest=1)

    with patch.object(RunLength, "_schedule", schedule):
        yield
