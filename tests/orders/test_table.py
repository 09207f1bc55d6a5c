"""The order table against brute force: the likelihood of every order."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.orders import OrderTable, enumerate_orders
from pasb.sticks import log_probabilities


def random_table(n_categories, n_rows, rng):
    """Accept and reject logs of random rows, and the table they give."""
    success = rng.uniform(0.05, 0.95, (n_categories, n_rows))
    accept, reject = np.log(success), np.log1p(-success)
    y = rng.integers(n_categories, size=n_rows)
    sums = [
        np.array(
            [[logs[j, y == s].sum() for s in range(n_categories)] for j in range(n_categories)]
        )
        for logs in (accept, reject)
    ]
    return accept, reject, y, OrderTable(*sums, rng.normal(size=n_categories))


@pytest.mark.parametrize("n_categories", [2, 3, 5])
def test_table_gives_the_likelihood_of_every_order(n_categories, seed):
    accept, reject, y, table = random_table(n_categories, 50, np.random.default_rng(seed))
    for order in enumerate_orders(n_categories):
        rows = log_probabilities(accept, reject, order)[y, np.arange(50)]
        assert table.log_likelihood(order) == pytest.approx(rows.sum())
