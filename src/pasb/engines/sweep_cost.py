"""What a sweep takes on a usual core, and a search before the first, by model and table.

Seconds of one core, right within a factor of two or three (`benchmarks/sweep_cost.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from pasb.binary.binary_model import BinaryModel
from pasb.binary.linear import LinearModel
from pasb.binary.robit import Robit
from pasb.binary.row_requests import LOGS, TRIANGLE
from pasb.binary.softplus import Softplus
from pasb.binary.support_vector import SupportVector
from pasb.binary.support_vector_fit import MOST_COLUMNS as FEW_COLUMNS
from pasb.evidences.asked_sticks import MOST_STICKS, n_searched
from pasb.evidences.penalised import MOST_ROWS as FEW_ROWS
from pasb.sampling.problem import Problem

PRODUCT = 1e-10  # seconds for a product
GRADIENT, UNIT, UNIT_AND_COLUMN = 25e-9, 3.9e-9, 0.13e-9  # of a row; units: experts x layers
GRADIENTS = 35  # of a stick in a sweep: the usual length of a trajectory
FIT_STEPS = 25  # gradients of a penalised fit, if it saw all rows
ROW_LOGISTIC, ROW_ROBIT = 8e-9, 36e-9  # of a row on a stick, in a sweep in memory
ROW_AND_COLUMN = 0.8e-9
NEWTON_STEPS = 27  # of an approximation in memory, with corrections
ROW_AND_BASE, ROW_HINGE = 2.5e-9, 60e-9  # of a support vector machine: by columns, and of a latent


class Size(NamedTuple):
    """Of a table: rows, columns with the constant, classes."""

    n_rows: int
    n_columns: int
    n_classes: int

    @property
    def on_sticks(self) -> float:
        """Rows on all sticks together, if classes are equally large."""
        n = self.n_classes
        return self.n_rows * (n - 1) * (n + 2) / (2 * n)


def newton_seconds(n_columns: int) -> float:
    """Of a Newton step of a linear stick, for a row."""
    return (2 * n_columns + LOGS + TRIANGLE * n_columns**2) * PRODUCT


def gradient_seconds(model: Softplus, n_columns: int) -> float:
    """Of a gradient of a softplus stick, for a row."""
    units = model.n_experts * model.n_layers
    return GRADIENT + units * (UNIT + UNIT_AND_COLUMN * n_columns)


def softplus_seconds(model: Softplus, size: Size) -> float:
    """Of a sweep of a chain of softplus sticks: trajectories, and the order table."""
    return size.on_sticks * (GRADIENTS + 1) * gradient_seconds(model, size.n_columns)


def support_vector_seconds(model: SupportVector, size: Size) -> float:
    """Of a sweep of a chain of support vector machines: column by column, or all at once."""
    p = size.n_columns
    row = newton_seconds(p) if model.inclusion is None else ROW_AND_BASE * p
    return size.on_sticks * (ROW_HINGE + row)


def search_seconds(model: BinaryModel, size: Size) -> float:
    """Of a search of orders on so many rows in memory."""
    n = n_searched(size.n_classes)
    if isinstance(model, Softplus):
        return n * size.n_rows * FIT_STEPS * gradient_seconds(model, size.n_columns)
    if isinstance(model, SupportVector):
        few = min(size.n_rows, FEW_ROWS) * newton_seconds(min(size.n_columns, FEW_COLUMNS))
        return n * NEWTON_STEPS * few
    return min(n, MOST_STICKS) * size.n_rows * NEWTON_STEPS * newton_seconds(size.n_columns)


def sweep_in_memory(problem: Problem) -> float | None:
    """Of a sweep of a chain with rows in memory; None where nothing is known of its moves."""
    rows, model = problem.rows, problem.model
    if problem.scheme == "paper" or problem.augmented:
        return None
    size = Size(rows.n_rows, rows.n_columns, rows.n_categories)
    if isinstance(model, Softplus):
        return softplus_seconds(model, size) if model.moves == "mixed" else None
    if isinstance(model, SupportVector):
        return support_vector_seconds(model, size)
    if isinstance(model, LinearModel):
        row = ROW_ROBIT if isinstance(model, Robit) else ROW_LOGISTIC
        return size.on_sticks * (row + ROW_AND_COLUMN * size.n_columns)
    return None
