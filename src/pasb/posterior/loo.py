"""Leave-one-out cross-validation without refits, and with them where weights are bad.

Importance sampling with Pareto-smoothed weights (Vehtari, Gelman and Gabry 2017). Rows are taken in
blocks, so that log-likelihoods of all draws and rows are never in memory together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from pasb.errors import warn_user
from pasb.posterior.fitted import Fitted
from pasb.posterior.frames import native_frame
from pasb.posterior.pareto import good_shape, smoothed
from pasb.posterior.pointwise import categories_of, check_has_likelihood, log_likelihoods

MOST_REFITS = 20  # that are made without asking for more


@dataclass(frozen=True, eq=False, repr=False)
class Loo:
    """Expected log predictive density of rows that the model has not seen.

    Attributes
    ----------
    elpd_of_row : array of shape (n_rows,)
        Log-probability of each row's class, given the other rows.
    log_density : array of shape (n_rows,)
        The same given all rows, this one too.
    pareto_k : array of shape (n_rows,)
        Below `good_k` the importance weights of a row can be trusted. NaN where the model was
        fitted again without the row.
    weights : array of shape (n_rows,)
        How much a row counts.
    good_k : float
    library : {"pandas", "polars"}
    relative_efficiency : float
        Effective draws over draws, with which weights were smoothed: what ArviZ calls `reff`.
    """

    elpd_of_row: NDArray[np.float64]
    log_density: NDArray[np.float64]
    pareto_k: NDArray[np.float64]
    weights: NDArray[np.float64]
    good_k: float
    library: str = "pandas"
    relative_efficiency: float = 1.0

    @property
    def elpd(self) -> float:
        """The sum over rows; larger is better."""
        return float(self.weights @ self.elpd_of_row)

    @property
    def se(self) -> float:
        """Standard error of `elpd`, as the rows are a sample."""
        each = self.weights * self.elpd_of_row
        return float(np.sqrt(len(each) * np.var(each)))

    @property
    def p_loo(self) -> float:
        """Effective number of parameters: what leaving a row out costs, over all rows."""
        return float(self.weights @ (self.log_density - self.elpd_of_row))

    @property
    def bad(self) -> NDArray[np.int64]:
        """Rows whose weights cannot be trusted."""
        return np.flatnonzero(self.pareto_k > self.good_k)

    @property
    def n_refits(self) -> int:
        """Rows without which the model was fitted again."""
        return int(np.isnan(self.pareto_k).sum())

    def frame(self) -> Any:
        """A line for each row, as a data frame: ``row, elpd, pareto_k``."""
        columns = {
            "row": np.arange(len(self.elpd_of_row)),
            "elpd": self.elpd_of_row,
            "pareto_k": self.pareto_k,
        }
        return native_frame(columns, self.library)

    def __repr__(self) -> str:
        text = (
            f"Loo(elpd {self.elpd:.1f}, se {self.se:.1f}, p_loo {self.p_loo:.1f}, "
            f"{len(self.elpd_of_row)} rows"
        )
        text += f", {len(self.bad)} with Pareto k above {self.good_k:.2f}" if len(self.bad) else ""
        return f"{text}, {self.n_refits} refits)" if self.n_refits else f"{text})"


def leave_one_out(
    fitted: Fitted,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    available: NDArray[np.bool_] | None = None,
) -> Loo:
    """Pareto-smoothed importance sampling; see `PosteriorMixin.loo`.

    Where there are two directions, each leaves the row out by itself, and their predictions are
    averaged as those of the model are.
    """
    check_has_likelihood(fitted, "loo()")
    inner = fitted.inner_rows(X)
    categories = categories_of(fitted, y, len(inner))
    weights = np.ones(len(inner))
    if sample_weight is not None:
        weights = np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), len(inner)).copy()
    found, efficiencies = [], []
    for direction in fitted.directions:
        chains = fitted.draws.of_direction(direction)
        own = replace(fitted, draws=fitted.draws.of_chains(slice(chains[0], chains[-1] + 1)))
        predictor = own.predictor()
        n_draws = len(predictor.orders)
        efficiency = _relative_efficiency(own)
        efficiencies.append(efficiency)
        left_out, kept, shape = np.empty((3, len(inner)))
        for rows, logs in log_likelihoods(predictor, inner, categories, available):
            log_weights, shape[rows] = smoothed(-logs * weights[rows], efficiency)
            left_out[rows] = logsumexp(log_weights + logs, axis=0)
            kept[rows] = logsumexp(logs, axis=0) - np.log(n_draws)
        found.append((left_out, kept, shape))
    left_out, kept = (
        logsumexp([one[k] for one in found], axis=0) - np.log(len(found)) for k in (0, 1)
    )
    shape = np.max([one[2] for one in found], axis=0)
    return Loo(
        left_out,
        kept,
        shape,
        weights,
        good_shape(n_draws),
        fitted.frame_library,
        float(np.mean(efficiencies)),
    )


def with_refits(
    loo: Loo,
    refit: Callable[[NDArray[np.float64]], Fitted],
    X: ArrayLike,
    y: ArrayLike,
    most: int = MOST_REFITS,
    available: NDArray[np.bool_] | None = None,
) -> Loo:
    """Fit again without each row whose weights are bad; `refit` takes row weights."""
    bad = loo.bad
    if len(bad) > most:
        raise ValueError(
            f"loo: {len(bad)} rows have a Pareto k above {loo.good_k:.2f}, and a fit for each "
            f"would take long; refit={len(bad)} does it. Cross-validation with "
            "ten folds needs fewer fits"
        )
    left_out, shape = loo.elpd_of_row.copy(), loo.pareto_k.copy()
    for row in bad:
        weights = loo.weights.copy()
        weights[row] = 0.0
        fitted = refit(weights)
        predictor, inner = fitted.predictor(), fitted.inner_rows(X)
        own = categories_of(fitted, y, len(inner))[row : row + 1]
        choices = None if available is None else available[row : row + 1]
        for _, logs in log_likelihoods(predictor, inner[row : row + 1], own, choices):
            left_out[row] = logsumexp(logs) - np.log(len(logs))
        shape[row] = np.nan
    return replace(loo, elpd_of_row=left_out, pareto_k=shape)


def warn_of_bad(loo: Loo) -> None:
    """Say so where weights of some rows cannot be trusted, and what to do."""
    if len(loo.bad):
        warn_user(
            f"loo: {len(loo.bad)} of {len(loo.pareto_k)} rows have a Pareto k above "
            f"{loo.good_k:.2f}; the model changes too much without them, and elpd is too large or "
            f"too noisy. {remedy(len(loo.bad))}"
        )


def remedy(n_bad: int) -> str:
    """What to do about so many rows whose weights cannot be trusted."""
    if n_bad <= MOST_REFITS:
        return "With refit=True the model is fitted again without each of them"
    return (
        "With so many, folds need fewer fits than refit=True: "
        "sklearn.model_selection.cross_val_score(model, X, y, scoring='neg_log_loss')"
    )


def _relative_efficiency(fitted: Fitted) -> float:
    """Effective draws over draws, from the log-likelihood of all rows; at most 1."""
    from pasb.posterior.diagnostics import bulk_ess

    likelihood = fitted.draws.log_likelihood
    share = float(bulk_ess(likelihood[:, :, None])[0]) / likelihood.size
    return min(1.0, share) if np.isfinite(share) and share > 0 else 1.0
