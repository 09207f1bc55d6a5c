"""Control characters are written out, other text stays."""

from __future__ import annotations

import pytest

from pasb.covariates.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Zürich 東京 🐧", "Zürich 東京 🐧"),
        ("two\nlines", "two\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("bell\x07", "bell\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("a\rb\x00", "a\\rb\\x00"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown
