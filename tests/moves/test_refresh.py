"""With many sticks, a sweep refreshes some of them, drawn evenly."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary.binary_model import Keys
from pasb.moves.refresh import MOST, Refresh


def test_few_sticks_are_all_refreshed():
    assert Refresh._chosen(MOST, Keys(0, 0, 1)) is None


@pytest.mark.statistical(level=3e-7)
def test_many_sticks_take_turns(seed):
    n, n_sweeps = 2 * MOST, 400
    counts = np.zeros(n)
    for sweep in range(n_sweeps):
        chosen = Refresh._chosen(n, Keys(seed, 0, sweep))
        assert len(chosen) == MOST
        counts[list(chosen)] += 1
    # binomial, of 400 with probability 1/2: six standard deviations for 128 of them
    assert np.abs(counts - n_sweeps / 2).max() < 6 * np.sqrt(n_sweeps / 4)
