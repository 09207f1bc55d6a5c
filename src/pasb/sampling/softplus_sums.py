"""Who answers the requests of softplus sticks (`pasb.binary.softplus_requests`)."""

from __future__ import annotations

from functools import partial

from pasb.binary.softplus_requests import answer_size
from pasb.numerics.asking import Ask
from pasb.sampling.row_sums import RowSums


def softplus_ask(row_sums: RowSums) -> Ask:
    """Answers requests by sums over the rows of all parts."""
    return partial(row_sums.in_turns, size_of=answer_size, answer=row_sums.one_softplus_pass)
