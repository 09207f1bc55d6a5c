"""What the paper's tables do not show: probabilities and times."""

from __future__ import annotations

import pandas as pd

from reproduction.paper.markdown import folded, number, table
from reproduction.paper.table_models import MODELS, TITLES

#: column, title, digits, what it is
SCORES = (
    ("log_loss", "Log loss", 3, "lower is better; the support vector and multi-hyperplane "
     "machines have no probabilities"),
    ("brier", "Brier score", 3, "sum of squares over classes, lower is better"),
    ("calibration_error", "Calibration error", 3, "expected, ten bins of the predicted class"),
    ("fit_seconds", "Seconds to fit", 1, "of one core, cross-validation included; not measured of "
     "fits that were stopped and resumed"),
    ("predict_seconds", "Seconds to predict", 3, "of one core, all test rows, all draws"),
)  # fmt: skip


def probabilities_and_times(frame: pd.DataFrame) -> str:
    """Log loss, Brier score, calibration error and times of every model and data set."""
    parts = ["### What the paper does not show"]
    parts.append(
        "Means over partitions. Where both were run, as printed / our defaults. Times are those "
        "of the budget that was run (see above), on a machine that had other work too."
    )
    for column, title, digits, note in SCORES:
        if column in frame:
            text = f"{title}: {note}."
            parts.append(folded(title, f"{text}\n\n{_wide(frame, column, digits)}"))
    return "\n\n".join(parts)


def _wide(frame: pd.DataFrame, column: str, digits: int) -> str:
    means = frame.groupby(["dataset", "model", "scheme"])[column].mean()
    models = [model for model in MODELS if model in set(frame["model"])]
    rows = []
    for dataset in dict.fromkeys(frame["dataset"]):
        row = [dataset]
        for model in models:
            keys = [(dataset, model, scheme) for scheme in ("paper", "exact", "any")]
            known = [number(means[key], digits) for key in keys if key in means]
            row.append(" / ".join(known) or "-")
        rows.append(row)
    return table(["data", *(TITLES[model] for model in models)], rows)
