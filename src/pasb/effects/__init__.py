"""What covariates do to class probabilities: predictions, comparisons, slopes, odds ratios.

The vocabulary is that of *marginaleffects* and of Bambi's `interpret`. Every quantity is worked out
for every draw and then averaged, so intervals are credible intervals of that quantity.
"""

from __future__ import annotations

from pasb.effects.grid import datagrid
from pasb.effects.marginal import (
    avg_comparisons,
    avg_predictions,
    avg_slopes,
    comparisons,
    predictions,
    slopes,
)
from pasb.effects.odds import odds_ratios

__all__ = [
    "avg_comparisons",
    "avg_predictions",
    "avg_slopes",
    "comparisons",
    "datagrid",
    "odds_ratios",
    "predictions",
    "slopes",
]
