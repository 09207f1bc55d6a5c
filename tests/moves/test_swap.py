"""Swaps: their gain against the definition, and the orders they visit against the target."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from pasb.binary.binary_model import Keys
from pasb.moves.swap import swap_gain, swap_moves
from pasb.orders import OrderTable, enumerate_orders


def test_gain_of_a_swap_is_the_difference_of_the_targets(seed):
    rng = np.random.default_rng(seed)
    table = OrderTable(*rng.normal(size=(2, 6, 6)), rng.normal(size=6))

    def target(order):
        return table.log_likelihood(order) + table.reference[order[-1]]

    order = rng.permutation(6)
    for a in range(6):
        for b in range(a + 1, 6):
            swapped = order.copy()
            swapped[a], swapped[b] = order[b], order[a]
            gain = swap_gain(*table, order, a, b)
            assert gain == pytest.approx(target(swapped) - target(order))


@pytest.mark.statistical(level=1e-6)
def test_swaps_on_a_fixed_table_visit_orders_as_the_target_says(seed, level):
    rng = np.random.default_rng(seed)
    table = OrderTable(*rng.normal(size=(2, 4, 4)), rng.normal(size=4))
    orders = enumerate_orders(4)
    target = np.array([table.log_likelihood(o) + table.reference[o[-1]] for o in orders])
    expected = np.exp(target - target.max())
    expected /= expected.sum()
    n, order = 4000, np.arange(4)
    counts = dict.fromkeys(map(tuple, orders), 0)
    for sweep in range(n):
        swap_moves(*table, order, 60, Keys(seed, 0, sweep).at(4))
        counts[tuple(order)] += 1
    observed = np.array([counts[tuple(o)] for o in orders])
    # 60 proposals between two looks leave hardly any dependence: a chi-square test
    statistic = np.sum((observed - n * expected) ** 2 / (n * expected))
    assert statistic < chi2.isf(level, len(orders) - 1)
