"""Which category sits on which stick: the table, the lattice, and searches; nothing of models."""

from pasb.orders.lattice import Lattice
from pasb.orders.table import OrderTable, enumerate_orders

__all__ = ["Lattice", "OrderTable", "enumerate_orders"]
