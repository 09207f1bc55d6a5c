"""The paper's experiments and the methods it compares with; not part of the installed package.

``paper/`` has the tables and figures, ``peers/`` the other methods, ``cells/`` the finished
results and ``data/`` a table that the package does not bundle. ``python -m reproduction`` is the
command.
"""

from __future__ import annotations
