"""The experiments of the paper: its published numbers, its protocol, and ours beside them.

``experiments/`` has one file for each table and figure, all of the same shape: its independent
*cells*, how one is run, and the table, figure and section of the report that finished cells
give. `runner` runs cells of any experiment and keeps them, `outputs` and `report` write.
"""

from __future__ import annotations
