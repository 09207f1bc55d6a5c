"""The experiments of the paper: its published numbers, its protocol, and ours beside them.

``experiments/`` has one file for each table and figure, all of the same shape: its independent
*cells*, how one is run, and the table, figure and section of the report that finished cells
give. `cell_runs` runs cells of any experiment and keeps them, `outputs` and `report_page` write.
"""

from __future__ import annotations
