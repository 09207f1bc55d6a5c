"""The numbers that the paper printed.

Q. Zhang and M. Zhou, "Permuted and Augmented Stick-Breaking Bayesian Multinomial Regression",
JMLR 18(204):1-33, 2018: Table 1 (error rates), Table 4 (error rates and sizes of the draw
with the highest likelihood) and Tables 2 and 3 (effective sample sizes).
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def error_rates() -> pd.DataFrame:
    """Error rates in percent: a row a data set, a column a model."""
    return _read("error_rates.csv").set_index("dataset")


def best_draw_error_rates() -> pd.DataFrame:
    """Error rates in percent and sizes of the best draw, by data set and model."""
    return _read("best_draw_error_rates.csv").set_index(["dataset", "model"])


def effective_sample_sizes() -> pd.DataFrame:
    """Quantiles of the effective sample sizes of probabilities, by data set and part."""
    return _read("ess.csv").set_index(["dataset", "quantile", "part"])


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(__file__).parent / "published_tables" / name)
