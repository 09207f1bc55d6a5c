"""Which category sits on which stick: the order, and the moves that infer it."""

from pasb.orders.swap import swap_moves
from pasb.orders.table import OrderTable, enumerate_orders, order_log_likelihood

__all__ = ["OrderTable", "enumerate_orders", "order_log_likelihood", "swap_moves"]
