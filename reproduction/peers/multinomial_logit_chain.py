"""One chain of the softmax regression, and what a run keeps of its chains."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.linear_kernels import standard_normals
from pasb.numerics.rows import Rows, linear_predictors, padded
from pasb.variates.scalar import stream_key
from reproduction.peers.multinomial_logit_kernels import softmax_log_likelihood, softmax_sweep

START = 3  # purpose of the stream that the first coefficients are drawn from


@dataclass(frozen=True)
class SoftmaxDraws:
    """What a run kept, on the inner scale of the covariates.

    Attributes
    ----------
    coef, precision : arrays of shape (chains, draws, n_classes - 1, n_features + 1)
        Coefficients, the constant first, and their prior precisions. The last class is
        the reference, whose coefficients are zero.
    log_likelihood : array of shape (chains, draws)
    qr_fallbacks : int
        How often Cholesky failed and a QR decomposition took its place.
    """

    coef: NDArray[np.float64]
    precision: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    qr_fallbacks: int


def sample_chain(
    rows: Rows,
    prior: CoefficientPrior,
    schedule: tuple[int, int, int],
    stream: tuple[int, int],
    stopped: Event,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Run one chain.

    Parameters
    ----------
    rows : Rows
    prior : CoefficientPrior
    schedule : (n_warmup, n_draws, thin)
    stream : (seed, chain)
    stopped : threading.Event
        Set by another thread to end the run early.

    Returns
    -------
    coef, precision : arrays of shape (n_draws, n_categories - 1, n_columns)
    log_likelihood : array of shape (n_draws,)
    qr_fallbacks : int
    """
    n_warmup, n_draws, thin = schedule
    shape = (rows.n_categories - 1, rows.n_columns)
    coef = np.empty(shape)
    for s in range(shape[0]):
        standard_normals(np.uint64(stream_key(*stream, 0, s, 0, START)), coef[s])
    precision = np.full(shape, prior.shape / prior.rate)
    eta = np.empty((shape[0], rows.blocks.shape[0] * rows.blocks.shape[2]))
    linear_predictors(rows.blocks, padded(coef, rows.blocks.shape[1]), eta)
    table = (rows.blocks, rows.weights, rows.bounds)

    coefs, precisions = np.empty((n_draws, *shape)), np.empty((n_draws, *shape))
    log_likelihood = np.empty(n_draws)
    fallbacks = 0
    for sweep in range(1, n_warmup + n_draws * thin + 1):
        fallbacks += softmax_sweep(*table, *prior, *stream, sweep, coef, precision, eta)
        kept, rest = divmod(sweep - n_warmup, thin)
        if kept > 0 and rest == 0:
            coefs[kept - 1], precisions[kept - 1] = coef, precision
            log_likelihood[kept - 1] = softmax_log_likelihood(eta, *table[1:])
        if stopped.is_set():
            break
    return coefs, precisions, log_likelihood, fallbacks
