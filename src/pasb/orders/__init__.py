"""Which category sits on which stick: the order, and the moves that infer it."""

from pasb.orders.approximations import Approximations
from pasb.orders.evidences import Evidences
from pasb.orders.fitted import FittedEvidences
from pasb.orders.joint import JointMoves
from pasb.orders.lattice import Lattice
from pasb.orders.swap import swap_moves
from pasb.orders.table import OrderTable, enumerate_orders

__all__ = [
    "Approximations",
    "Evidences",
    "FittedEvidences",
    "JointMoves",
    "Lattice",
    "OrderTable",
    "enumerate_orders",
    "swap_moves",
]
