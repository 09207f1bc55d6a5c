"""Pareto-smoothed importance sampling, many rows at once.

Vehtari, Simpson, Gelman, Yao and Gabry (2024). The largest weights are replaced by quantiles of a
generalised Pareto distribution fitted to them (Zhang and Stephens 2009); its shape k tells
whether the weights can be trusted. arviz-stats gives the same numbers, and a test compares them;
it takes one row after the other, and is no dependency.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

MANY = 225  # effective draws, beyond which the tail is less than a fifth of them
LEAST_TAIL = 5  # weights; with fewer no shape is estimated


def good_shape(n_draws: int) -> float:
    """The largest shape with which estimates from so many draws are reliable."""
    return min(1 - 1 / math.log10(max(n_draws, 2)), 0.7)


def smoothed(
    log_ratios: NDArray[np.float64], relative_efficiency: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smooth importance weights.

    Parameters
    ----------
    log_ratios : array of shape (n_draws, n_rows)
    relative_efficiency : float
        Effective draws over draws: with fewer, a longer tail is needed.

    Returns
    -------
    log_weights : array of shape (n_draws, n_rows)
        Those of a row add up to 1.
    shape : array of shape (n_rows,)
        The k of each row; infinite where there are too few draws to tell.
    """
    n_draws, n_rows = log_ratios.shape
    logs = log_ratios - log_ratios.max(axis=0)
    many = n_draws * relative_efficiency > MANY
    length = int(3 * math.sqrt(n_draws / relative_efficiency) if many else n_draws / 5)
    shape = np.full(n_rows, np.inf)
    if length >= LEAST_TAIL:
        order = np.argsort(logs, axis=0, kind="stable")[-length - 1 :]
        cutoff = np.take_along_axis(logs, order[:1], axis=0)
        cutoff = np.maximum(cutoff, math.log(np.finfo(float).tiny))
        tail = np.take_along_axis(logs, order[1:], axis=0)
        varies = tail[-1] > cutoff[0]
        shape[~varies] = -np.inf  # weights that are all the same could not be better
        if varies.any():
            excess = np.maximum(np.exp(tail[:, varies]) - np.exp(cutoff[:, varies]), 0.0)
            k, scale = fit_generalised_pareto(excess.T)
            shape[varies] = k
            place = (np.arange(length) + 0.5)[:, None] / length
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                quantile = np.where(
                    np.abs(k) < 1e-12, -np.log1p(-place), np.expm1(-k * np.log1p(-place)) / k
                )
                smooth = np.log(quantile * scale + np.exp(cutoff[:, varies]))
            usable = np.isfinite(k)
            new = np.where(usable, np.minimum(smooth, 0.0), tail[:, varies])
            own = np.flatnonzero(varies)
            logs[order[1:, own], own] = new
    return logs - logsumexp(logs, axis=0), shape


def fit_generalised_pareto(
    excess: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shape k and scale of generalised Pareto distributions, one for each row.

    Parameters
    ----------
    excess : array of shape (n_rows, n), ascending
        By how much the largest values exceed their threshold.

    Returns
    -------
    shape, scale : arrays of shape (n_rows,)
    """
    n = excess.shape[1]
    m = 30 + int(math.sqrt(n))
    largest = excess[:, -1:]
    quarter = excess[:, int(n / 4 + 0.5) - 1][:, None]
    quarter = np.maximum(quarter, np.finfo(float).tiny)
    grid = 1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))
    b = grid / (3 * quarter) + 1 / largest
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        k = np.stack([np.log1p(-b[:, [j]] * excess).mean(axis=1) for j in range(m)], axis=1)
        profile = n * (np.log(-b / k) - k - 1)
        weights = 1 / np.exp(profile[:, None, :] - profile[:, :, None]).sum(axis=2)
        weights = np.where(weights >= 10 * np.finfo(float).eps, weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        chosen = (np.where(weights > 0, b, 0.0) * weights).sum(axis=1)
        shape = np.log1p(-chosen[:, None] * excess).mean(axis=1)
        scale = -shape / chosen
    return (n * shape + 10 * 0.5) / (n + 10), scale
