"""Groups of rows that are alike on every stick: one category, one set of available categories.

Where every category is available to every row, a group is a category, and nothing needs to be said
about it: `NO_GROUPS`. Otherwise rows are sorted by group, and what sticks know of a row, its role
there, they know of its group. Compiled code takes the two arrays as a plain tuple.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Groups(NamedTuple):
    """The category of each group, and what was available to its rows.

    Attributes
    ----------
    category : integer array of shape (n_groups,)
        In rising order; empty where a group is a category.
    available : boolean array of shape (n_groups, n_categories)
    """

    category: NDArray[np.int64]
    available: NDArray[np.bool_]

    @property
    def given(self) -> bool:
        """Whether there are any, or a group is a category."""
        return len(self.category) > 0


NO_GROUPS = Groups(np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.bool_))


def by_category(
    of_groups: NDArray[np.int64], groups: Groups, n_categories: int
) -> NDArray[np.int64]:
    """Numbers of rows by category, from those by group."""
    if not groups.given:
        return of_groups
    out = np.zeros(n_categories, dtype=np.int64)
    np.add.at(out, groups.category, of_groups)
    return out


def numbered(
    y: NDArray[np.int64], available: NDArray[np.bool_], groups: Groups
) -> NDArray[np.int64]:
    """Which of some groups each row belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> groups = Groups(np.array([0, 1]), np.array([[True, False], [True, True]]))
    >>> numbered(np.array([1, 0]), np.array([[True, True], [True, False]]), groups)
    array([1, 0])
    """
    own, found = grouped(y, available)
    places = {one: g for g, one in enumerate(_names(groups))}
    return np.array([places[one] for one in _names(found)], dtype=np.int64)[own]


def _names(groups: Groups) -> list[tuple[int, bytes]]:
    packed = np.packbits(groups.available, axis=1)
    return [(s, own.tobytes()) for s, own in zip(groups.category.tolist(), packed, strict=True)]


def grouped(y: NDArray[np.int64], available: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Groups]:
    """The group of each row, and the groups, by category and pattern of availability."""
    packed = np.packbits(available, axis=1)
    _, first, pattern = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    n_patterns = len(first)
    codes, group = np.unique(y * n_patterns + pattern.ravel(), return_inverse=True)
    category, pattern = np.divmod(codes, n_patterns)
    own = np.ascontiguousarray(available[first[pattern]])
    return group.ravel(), Groups(category.astype(np.int64), own)
