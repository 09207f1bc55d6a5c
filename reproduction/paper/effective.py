"""Effective sample sizes of many series at once, as the R package mcmcse estimates them.

The paper used mcmcse and does not say which version. Up to version 1.1 its estimate was an
*initial sequence* of autocorrelations, from 1.2 on *batch means*. Batch means of independent
draws scatter around their number, by a quarter for 1000 draws; the paper's largest quantiles
all stay just below the number of draws, as only the initial sequence does. So that is the
estimator of the tables, and batch means are given beside it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft


def initial_sequence(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Effective sample sizes from autocorrelations, up to where their noise begins.

    ``n / (1 + 2 * sum of rho(h))``, the sum ending before sums of two neighbouring
    autocorrelations stop to fall or turn negative, and at lag ``10 log10(n)`` at the latest.

    Parameters
    ----------
    draws : array of shape (n_draws, n_series)

    Returns
    -------
    array of shape (n_series,)
        NaN for a series that does not vary.
    """
    n = len(draws)
    most = min(n - 1, int(10 * np.log10(n)))
    rho = _autocorrelations(draws, most)
    pairs = rho[:-1] + rho[1:]
    goes_on = (pairs[1:] > 0) & (pairs[:-1] >= pairs[1:])
    length = np.cumprod(goes_on, axis=0).sum(axis=0)  # lags that count
    lags = np.arange(1, most + 1)[:, None]
    tau = 1 + 2 * np.sum(np.where(lags <= length, rho[1:], 0.0), axis=0)
    return np.where(np.isnan(rho[0]), np.nan, n / tau)


def batch_means(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Effective sample sizes from the means of about sqrt(n) batches of about sqrt(n) draws.

    Parameters
    ----------
    draws : array of shape (n_draws, n_series)

    Returns
    -------
    array of shape (n_series,)
        NaN for a series that does not vary.
    """
    n = len(draws)
    size = int(np.sqrt(n))
    number = n // size
    means = draws[: number * size].reshape(number, size, -1).mean(axis=1)
    long_run = size * np.sum((means - draws.mean(axis=0)) ** 2, axis=0) / (number - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return n * draws.var(axis=0, ddof=1) / long_run


def _autocorrelations(draws: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """At lags 0 to `most`; NaN for a series that does not vary."""
    n = len(draws)
    centred = draws - draws.mean(axis=0)
    length = next_fast_len(n + most + 1)
    covariance = irfft(np.abs(rfft(centred, length, axis=0)) ** 2, length, axis=0)[: most + 1]
    still = np.ptp(draws, axis=0) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(still, np.nan, covariance / covariance[0])
