"""Tests of the GPU engine need a GPU, or Numba's simulator: ``NUMBA_ENABLE_CUDASIM=1 pytest``.

`make test` runs the files `test_cuda_*` a second time in the simulator.
"""

from __future__ import annotations

import pytest

from pasb.binary import softplus_posterior
from pasb.engines.device import available

needs_device = pytest.mark.skipif(
    not available(), reason="no GPU here: `make test` runs it in Numba's simulator"
)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name.startswith("test_cuda"):
            item.add_marker(needs_device)


@pytest.fixture(autouse=True)
def forces_of_a_gpu(request, monkeypatch):
    """A GPU follows trajectories in double precision: so that chains can be compared, a CPU too."""
    if request.path.name.startswith("test_cuda"):
        monkeypatch.setattr(softplus_posterior, "IN_SINGLE", False)
