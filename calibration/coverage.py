"""Coverage of credible intervals of class probabilities and marginal effects.

Order and coefficients are drawn from the prior and labels from the model, a classifier is fitted
as users do it, and the true values are held against its central credible intervals. Averaged
over the prior, an interval of 90 % holds the truth in 90 % of the data sets. Data sets that lack a
class are drawn again: that depends on the labels alone, which the posterior knows.

The marginal effect of a covariate on a class is the mean, over the rows, of the change of its
probability when the covariate grows by one standard deviation (a binary one: from 0 to 1), or of
its slope. Those of a fitted model are `pasb.effects`' own, with which the truth is compared.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import binomtest

from calibration.scenarios import logistic, own_probit, probit, robit, softplus_1_1, softplus_2_2
from pasb import StickBreakingClassifier, effects
from pasb.binary.binary_model import BinaryModel
from pasb.numerics.rows import blocked
from pasb.sticks import Direction, accept_reject, log_probabilities, simulate_categories

N_ROWS, N_CATEGORIES = 60, 3
LEVELS = (0.5, 0.8, 0.9, 0.95)
LIMIT = 5e-8  # a p-value below fails; there are 432
PLACES = np.array([[-1.0, 0.0], [0.0, 1.0], [1.2, 0.0]])
_x = np.linspace(-1.7, 1.7, N_ROWS)
COVARIATES = np.column_stack([_x, np.arange(N_ROWS) % 3 == 0]).astype(float)
TABLES = [  # with the covariate lower and higher, for each of the two
    (COVARIATES, COVARIATES + np.array([_x.std(), 0.0])),
    (COVARIATES * [1.0, 0.0], COVARIATES * [1.0, 0.0] + np.array([0.0, 1.0])),
]


class Case(NamedTuple):
    """A model, a direction, and how long its chains are."""

    model: Callable[[], BinaryModel]
    direction: Direction
    n_replicates: int
    n_draws: int
    thin: int


CASES = {
    "logistic": Case(logistic, "forward", 250, 500, 1),
    "robit, 6 df": Case(robit, "forward", 100, 400, 1),
    "probit, reverse": Case(probit, "reverse", 100, 400, 1),
    "softplus, K = T = 1": Case(softplus_1_1, "forward", 80, 500, 2),
    "softplus, K = T = 2, reverse": Case(softplus_2_2, "reverse", 80, 500, 2),
    "a user's probit": Case(own_probit, "forward", 50, 500, 2),
}
N_PROBABILITIES = len(PLACES) * N_CATEGORIES


def true_values(proba: Callable[[NDArray], NDArray]) -> NDArray[np.float64]:
    """Probabilities and effects from a function that returns (rows, classes)."""
    changes = [(proba(high) - proba(low)).mean(axis=0) for low, high in TABLES]
    step = np.array([1e-5, 0.0])
    slope = (proba(COVARIATES + step) - proba(COVARIATES - step)).mean(axis=0) / 2e-5
    return np.concatenate([proba(PLACES).ravel(), *changes, slope])


def drawn_values(classifier: StickBreakingClassifier) -> NDArray[np.float64]:
    """The same of every draw, (draws, quantities)."""
    at_places = classifier.sample_proba(PLACES)
    changes = effects.avg_comparisons(
        classifier, COVARIATES, {"x0": _x.std(), "x1": [0, 1]}, draws=True
    )
    slope = effects.avg_slopes(classifier, COVARIATES, "x0", draws=True)
    flat = [at_places, changes.values, slope.values]
    return np.concatenate([part.reshape(len(at_places), -1) for part in flat], axis=1)


def replicate(name: str, number: int) -> NDArray[np.bool_]:
    """Whether each interval holds the truth, (levels, quantities)."""
    case = CASES[name]
    model = case.model()
    rng = np.random.default_rng([zlib.crc32(name.encode()), number])
    while True:
        order = rng.permutation(N_CATEGORIES)
        each = [model.simulate(3, rng) for _ in range(N_CATEGORIES)]
        kept = {key: np.array([one[key] for one in each])[None] for key in model.kept}

        def logs(table, kept=kept):
            design = np.column_stack([np.ones(len(table)), table])
            both = model.log_probabilities(kept, blocked(design))
            return tuple(log[0, :, : len(table)] for log in both)

        y = simulate_categories(*logs(COVARIATES), order, case.direction, rng=rng)
        if len(np.unique(y)) == N_CATEGORIES:
            break

    def true_proba(table, logs=logs, order=order):
        accept, reject = accept_reject(*logs(table), case.direction)
        return np.exp(log_probabilities(accept, reject, order)).T

    classifier = StickBreakingClassifier(
        binary=model,
        direction=case.direction,
        scale=None,
        n_chains=2,
        n_warmup=300,
        n_draws=case.n_draws,
        thin=case.thin,
        n_jobs=1,
        progress=False,
        random_state=number,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to draw more: hundreds of short runs
        classifier.fit(COVARIATES, y)
    truth, draws = true_values(true_proba), drawn_values(classifier)
    tails = [(1 - level) / 2 for level in LEVELS]
    low, high = (
        np.quantile(draws, tails, axis=0),
        np.quantile(draws, [1 - t for t in tails], axis=0),
    )
    return (low <= truth) & (truth <= high)


def run(scale: float, jobs: int, say: Callable[[str], None]) -> dict:
    """All cases: shares of intervals that hold the truth, and the least p-value."""
    out = []
    for name, case in CASES.items():
        n = max(40, round(scale * case.n_replicates))
        hits = np.array(Parallel(n_jobs=jobs)(delayed(replicate)(name, k) for k in range(n)))
        p = [
            binomtest(int(hits[:, a, j].sum()), n, level).pvalue
            for a, level in enumerate(LEVELS)
            for j in range(hits.shape[2])
        ]
        groups = {
            "probabilities": slice(0, N_PROBABILITIES),
            "effects": slice(N_PROBABILITIES, None),
        }
        one = {"name": name, "n_replicates": n, "least_p": min(p), "n_tests": len(p)}
        for group, part in groups.items():
            share = hits[:, :, part].mean(axis=2)  # of each replicate, whose intervals go together
            one[group] = share.mean(axis=0).tolist()
            one[f"{group}_error"] = (share.std(axis=0, ddof=1) / np.sqrt(n)).tolist()
        out.append(one)
        shares = " ".join(f"{v:.3f}" for v in one["probabilities"] + one["effects"])
        say(f"{name}: {n} replicates, coverage {shares}, least p {min(p):.2g}")
    least = min(one["least_p"] for one in out)
    return {
        "cases": out,
        "levels": LEVELS,
        "limit": LIMIT,
        "least_p": least,
        "n_tests": sum(one["n_tests"] for one in out),
        "passed": bool(least >= LIMIT),
    }
