"""A table for ensembles on sticks."""

from __future__ import annotations

import numpy as np


def clouds(n_classes=4, n=160, seed=0):
    """Clouds of different size on a circle, the first of them in the middle of the others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    angle = 2 * np.pi * y / (n_classes - 1)
    centre = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(y > 0, 2.0, 0.0)[:, None]
    return centre + rng.normal(size=(n, 2)) * (0.6 + 0.1 * y)[:, None], y
