"""Work space is lent, to one at a time."""

from __future__ import annotations

import numpy as np

from pasb.numerics.work_space import WorkSpaces


def test_work_spaces_are_lent_to_one_at_a_time():
    spaces, made = WorkSpaces(), []

    def make():
        made.append(np.zeros(1))
        return made[-1]

    with spaces.lent("a", make) as first, spaces.lent("a", make) as second:
        assert first is not second
    with spaces.lent("a", make) as again, spaces.lent("b", make) as other:
        assert any(again is space for space in (first, second))
        assert other is made[2]
    assert len(made) == 3
