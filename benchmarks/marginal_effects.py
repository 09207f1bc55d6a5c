"""Average slopes of sticks beside those of statsmodels' multinomial logit, on a classic table.

    pip install statsmodels
    python benchmarks/marginal_effects.py

The American national election study of 1996, which comes with statsmodels: 944 voters, party
identification in three groups, by a step to the right on a scale of seven, years of age, and steps
of education and of income. Both columns are averages over the voters, with 95 % intervals, and the
last one says by how many of statsmodels' standard errors the two are apart. The line that is
furthest apart is then worked out under each order and under a flat prior, to see what it is due to.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np
import pandas as pd

import pasb
from pasb import effects

COVARIATES = ["selfLR", "age", "educ", "income"]
# seven answers from "strong Democrat" to "strong Republican"; leaners count as independents
PARTIES = np.array(["Democrat"] * 2 + ["Independent"] * 3 + ["Republican"] * 2)


def voters() -> tuple[pd.DataFrame, np.ndarray]:
    """Covariates and parties of the voters."""
    import statsmodels.api as sm

    table = sm.datasets.anes96.load_pandas().data
    return table[COVARIATES].astype(float), PARTIES[table["PID"].astype(int)]


def of_multinomial_logit(X: pd.DataFrame, y: np.ndarray) -> pd.DataFrame:
    """Average slopes with delta-method intervals: term, class, estimate, lower, upper."""
    import statsmodels.api as sm

    classes, codes = np.unique(y, return_inverse=True)
    found = sm.MNLogit(codes, sm.add_constant(X)).fit(disp=False).get_margeff()
    half = 1.959964 * found.margeff_se
    lines = []
    for (v, name), (c, label) in product(enumerate(X.columns), enumerate(classes)):
        mean, own = found.margeff[v, c], half[v, c]
        lines.append((name, label, mean, mean - own, mean + own))
    return pd.DataFrame(lines, columns=["term", "class", "estimate", "lower", "upper"])


def side_by_side(X: pd.DataFrame, y: np.ndarray, model) -> pd.DataFrame:
    """Both, and by how many of statsmodels' standard errors they differ."""
    theirs = of_multinomial_logit(X, y)
    ours = effects.avg_slopes(model, X, interval=0.95)
    table = theirs.merge(ours, on=["term", "class"], suffixes=("_mnlogit", "_pasb"), validate="1:1")
    se = (table["upper_mnlogit"] - table["lower_mnlogit"]) / (2 * 1.959964)
    table["apart"] = (table["estimate_pasb"] - table["estimate_mnlogit"]) / se
    return table


def as_markdown(table: pd.DataFrame) -> str:
    """The lines of the guide."""
    lines = ["| | class | statsmodels | pasb | apart |", "| --- | --- | --- | --- | --- |"]
    for row in table.itertuples():
        digits = 4 if row.term == "age" else 3
        cells = [
            f"{getattr(row, f'estimate_{which}'):.{digits}f} "
            f"({getattr(row, f'lower_{which}'):.{digits}f}, "
            f"{getattr(row, f'upper_{which}'):.{digits}f})"
            for which in ("mnlogit", "pasb")
        ]
        lines.append(f"| {row.term} | {row[2]} | {cells[0]} | {cells[1]} | {row.apart:+.1f} |")
    return "\n".join(lines)


def causes(X: pd.DataFrame, y: np.ndarray, settings: dict, term: str, label: str) -> pd.DataFrame:
    """One slope under every order and under a flat prior, and how well each predicts."""
    classes = np.unique(y).tolist()
    asked: dict[str, dict] = {"as it is": {}, "flat prior": {"precision": 1e-4}}
    for first in classes:
        rest = [other for other in classes if other != first]
        asked[f"{first} first, flat prior"] = {"order": [first, *rest], "precision": 1e-4}
    lines = []
    for name, changes in asked.items():
        model = pasb.StickLogisticClassifier(**settings, **changes).fit(X, y)
        found = effects.avg_slopes(model, X, term, classes=[label])
        lines.append((name, float(found["estimate"][0]), model.loo(X, y, warn=False).elpd))
    return pd.DataFrame(lines, columns=["sticks", f"slope of {term} on {label}", "elpd"])


def main() -> None:
    """Print the table and the posterior of the order."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = voters()
    settings = {"random_state": options.seed, "progress": False}
    model = pasb.StickLogisticClassifier(**settings).fit(X, y)
    print(f"{len(y)} voters: {pd.Series(y).value_counts().to_dict()}")
    print(model.order_posterior().round(2).to_string(), "\n")
    table = side_by_side(X, y, model)
    print(as_markdown(table), "\n")
    furthest = table.loc[table["apart"].abs().idxmax()]
    found = causes(X, y, settings, furthest["term"], furthest["class"])
    print(found.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
