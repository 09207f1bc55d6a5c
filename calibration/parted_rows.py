"""Rows in memory as rows that are elsewhere: the same posterior by another engine."""

from __future__ import annotations

import numpy as np

from pasb.covariates.parts import Part
from pasb.numerics.rows import Rows, blocked, unblocked
from pasb.sampling.row_sums import LocalSums, PartedRows


def parted(rows: Rows, n_parts: int = 1) -> PartedRows:
    """The same rows in parts, of which every k-th row is one."""
    table = unblocked(rows.blocks, rows.n_rows, rows.n_columns)
    parts, sizes = [], [0]
    for k in range(n_parts):
        own = np.arange(k, rows.n_rows, n_parts)
        counts = np.bincount(rows.group_of_rows[own], minlength=rows.n_groups)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        source = np.arange(len(own), dtype=np.int32)
        parts.append(Part(blocked(table[own]), None, bounds, rows.n_columns, source))
        sizes.append(len(own))
    return PartedRows.over(LocalSums(parts, np.cumsum(sizes[:-1]), groups=rows.groups))
