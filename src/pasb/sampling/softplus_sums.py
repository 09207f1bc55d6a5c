"""Who answers the requests of softplus sticks (`pasb.binary.softplus_requests`)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pasb.binary.softplus_requests import SoftplusAnswer, SoftplusRequest, answer_size, answered
from pasb.covariates.parts import Part
from pasb.numerics.asking import Ask
from pasb.sampling.row_sums import RowSums


def softplus_ask(row_sums: RowSums) -> Ask:
    """Answers requests by sums over the rows of all parts."""
    return partial(row_sums.in_turns, size_of=answer_size, answer=partial(_one_pass, row_sums))


def _one_pass(row_sums: RowSums, requests: list[SoftplusRequest]) -> list[SoftplusAnswer]:
    return row_sums.added_up(answer_of_part, requests)


def answer_of_part(part: Part, first_row: int, requests: list[Any]) -> list[SoftplusAnswer]:
    """The share of a part in the answers."""
    return answered(part.rows(), first_row + part.source.astype(np.int64), requests)
