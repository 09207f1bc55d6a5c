"""Without a GPU."""

from __future__ import annotations

import pytest

from pasb.engines import device
from pasb.errors import EngineError


@pytest.mark.skipif(device.available(), reason="there is a GPU here, or the simulator")
def test_without_a_gpu_the_error_says_so():
    with pytest.raises(EngineError, match="use engine='cpu'"):
        device.array_module()
