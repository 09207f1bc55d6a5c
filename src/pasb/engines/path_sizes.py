"""How large the arrays of trajectories on a GPU are."""

from __future__ import annotations

from typing import NamedTuple

from pasb.binary.softplus_metric import MOST_DENSE
from pasb.engines.device import THREADS
from pasb.numerics.adaptation import MOST_POSITIONS

AT_ONCE = 2**23  # predictors of sticks that are worked at together; more do not run faster
METRIC_AT_ONCE = 2**24  # slopes of rows by all coordinates


def is_dense(n_experts: int, n_layers: int, n_columns: int) -> bool:
    """Whether the metric of a stick is one matrix, as on the CPU."""
    return n_experts * (n_layers * n_columns + 1) <= MOST_DENSE


class PathSizes(NamedTuple):
    """Sizes that follow from those of a batch.

    Attributes
    ----------
    n_tables, n_rows, n_columns, n_experts, n_layers : int
        Of the batch; rows and columns of its largest table.
    n_sticks, n_pairs : int
        Sticks of a chain, without the reference, and of all chains.
    dense : bool
    """

    n_tables: int
    n_rows: int
    n_columns: int
    n_experts: int
    n_layers: int
    n_sticks: int
    n_pairs: int
    dense: bool

    @property
    def n_vectors(self) -> int:
        """Coefficient vectors of a stick."""
        return self.n_experts * self.n_layers

    @property
    def n_coef(self) -> int:
        """Coefficients of a stick."""
        return self.n_vectors * self.n_columns

    @property
    def n(self) -> int:
        """Coordinates of a position."""
        return self.n_coef + self.n_experts + self.n_vectors + 2

    @property
    def factors(self) -> tuple[int, int]:
        """Matrices of a metric, and the coordinates that each of them covers."""
        if self.dense:
            return 1, self.n_coef + self.n_experts
        return self.n_vectors, self.n_columns

    @property
    def row_blocks(self) -> int:
        """Blocks of threads that have all rows."""
        return -(-self.n_rows // THREADS)

    @property
    def places_of_a_table(self) -> int:
        """Sticks of one table that are worked at together."""
        most = AT_ONCE // (self.n_vectors * self.n_rows * self.n_tables)
        return max(1, min(most, self.n_pairs // self.n_tables))

    @property
    def n_places(self) -> int:
        """Sticks that are worked at together."""
        return self.n_tables * self.places_of_a_table

    @property
    def metric_rows(self) -> int:
        """Rows whose slopes are held in memory while a metric is made."""
        return max(1, min(self.n_rows, METRIC_AT_ONCE // (self.n_coef + self.n_experts)))

    @property
    def metric_positions(self) -> int:
        """Positions at which they are held there."""
        most = METRIC_AT_ONCE // ((self.n_coef + self.n_experts) * self.n_rows)
        return max(1, min(MOST_POSITIONS, most))

    @property
    def fixed_bytes(self) -> int:
        """Work space, whatever the number of chains."""
        predictors = (self.n_places + MOST_POSITIONS) * self.n_vectors * self.n_rows
        slopes = 2 * self.metric_rows * self.metric_positions * (self.n_coef + self.n_experts)
        slopes += MOST_POSITIONS * self.n_experts * self.n_rows
        n_blocks, m = self.factors
        return 8 * (predictors + slopes + 6 * n_blocks * m * m + 6 * self.n_places * self.n)

    @property
    def bytes_of_a_chain(self) -> int:
        """Metrics and positions."""
        n_blocks, m = self.factors
        return 8 * self.n_sticks * (n_blocks * m * m + 2 * self.n)
