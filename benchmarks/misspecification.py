"""How far intervals of a wrong model are off, and how often `pasb.check_fit` says so.

    python benchmarks/misspecification.py
    python benchmarks/misspecification.py --rows 1000 4000 --seeds 40

Logistic sticks are fitted to rows of logistic sticks (right), and of a multinomial logit (wrong, of
a similar form). A line for each truth and number of rows: how many 95 % intervals of the rows'
class probabilities hold the truth, on average and at the seed where fewest do, and at how many
seeds the p-value of the check is below 0.05 and below 0.01. For the right model that is the rate of
false alarms.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import pasb

N_CLASSES = 4
N_COVARIATES = 3


def softmax(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Class probabilities of a multinomial logit with normal coefficients."""
    eta = table @ rng.normal(size=(table.shape[1], N_CLASSES))
    p = np.exp(eta - eta.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def sticks(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Class probabilities of logistic sticks with normal coefficients, the order at random."""
    stop = 1 / (1 + np.exp(-table @ rng.normal(size=(table.shape[1], N_CLASSES - 1))))
    left = np.cumprod(np.column_stack([np.ones(len(table)), 1 - stop]), axis=1)
    p = np.column_stack([left[:, :-1] * stop, left[:, -1]])
    return p[:, rng.permutation(N_CLASSES)]


TRUTHS = {"logistic sticks": sticks, "multinomial logit": softmax}


def one(truth: str, n_rows: int, seed: int, chains: int) -> tuple[float, float]:
    """The share of intervals that hold the truth, and the p-value of the check."""
    rng = np.random.default_rng([seed, n_rows])
    while True:  # a truth in which every class has some rows
        X = rng.normal(size=(n_rows, N_COVARIATES))
        p = TRUTHS[truth](np.column_stack([np.ones(n_rows), X]), rng)
        y = (np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1)
        if np.bincount(y, minlength=N_CLASSES).min() >= 20:
            break
    model = pasb.StickLogisticClassifier(
        n_chains=chains, n_warmup=200, n_draws=250, random_state=seed, progress=False, n_jobs=1
    )
    low, high = np.quantile(model.fit(X, y).sample_proba(X), [0.025, 0.975], axis=0)
    return float(((low <= p) & (p <= high)).mean()), pasb.check_fit(model, X, y).p_value


def main() -> None:
    """Print a line for each truth and number of rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--truths", nargs="+", choices=list(TRUTHS), default=list(TRUTHS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for truth in options.truths:
        for n_rows in options.rows:
            found = [one(truth, n_rows, seed, options.chains) for seed in range(options.seeds)]
            cover, p = np.array(found).T
            print(
                f"{truth:18} {n_rows:6} rows: {cover.mean():.1%} of 95 % intervals hold the truth "
                f"(at worst {cover.min():.0%}); p below 0.05 at {(p < 0.05).sum()} of {len(p)} "
                f"seeds, below 0.01 at {(p < 0.01).sum()}",
                flush=True,
            )


if __name__ == "__main__":
    main()
