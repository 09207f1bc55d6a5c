"""Evidences under a t prior: against columns that say nothing, and importance sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_t
from scipy.stats import t as student

from pasb.binary import Logistic
from pasb.evidences.prior_tails import missing_tails
from pasb.numerics.rows import Rows
from pasb.sticks import FAILURE, SUCCESS

ROLES = np.array([FAILURE, SUCCESS], dtype=np.int8)


def stick(X, y, **prior):
    model = Logistic(**prior)
    sampler = model.sampler(Rows.of(np.column_stack([np.ones(len(X)), X]), y, 2))
    return sampler.approximate(ROLES, None), model.prior


def test_columns_that_say_nothing_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(np.int64)
    empty = np.column_stack([X, np.zeros((40, 9))])
    evidences, corrected = [], []
    for table in (X, empty):
        found, prior = stick(table, y, rate=8.0)
        evidences.append(found.log_evidence)
        corrected.append(found.log_evidence + missing_tails(found, prior))
    assert evidences[0] - evidences[1] == pytest.approx(9 * 0.17, abs=0.05)
    assert corrected[1] == pytest.approx(corrected[0], abs=1e-6)


def test_normal_priors_need_nothing(seed):
    rng = np.random.default_rng(seed)
    found, prior = stick(rng.normal(size=(20, 2)), np.arange(20) % 2, precision=0.5)
    assert missing_tails(found, prior) == 0


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize(("n_rows", "rate"), [(30, 8.0), (30, 0.5), (100, 8.0), (100, 128.0)])
def test_importance_sampling(n_rows, rate, seed):
    """Nearer to the truth than without, and near it: what is left is the likelihood's skew."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    y = (X[:, 0] + rng.logistic(size=n_rows) > 0).astype(np.int64)
    found, prior = stick(X, y, rate=rate)
    design = np.column_stack([np.ones(n_rows), X])
    mode = found.mode
    eta = design @ mode
    p = 1 / (1 + np.exp(-eta))
    precision = (design.T * (p * (1 - p))) @ design + np.diag(prior.precision_at(mode))
    proposal = multivariate_t(mode, np.linalg.inv(precision), df=4, seed=rng)
    b = proposal.rvs(100_000)
    logs = b @ design.T
    likelihood = (np.where(y == 1, 0, -logs) - np.logaddexp(0, -logs)).sum(axis=1)
    before = student(4, scale=np.sqrt(rate / 2)).logpdf(b).sum(axis=1)
    weights = likelihood + before - proposal.logpdf(b)
    truth = logsumexp(weights) - np.log(len(b))
    error = np.exp(weights - weights.max()).std() / np.exp(weights - weights.max()).mean()
    assert error / np.sqrt(len(b)) < 0.02
    corrected = found.log_evidence + missing_tails(found, prior)
    assert abs(corrected - truth) < abs(found.log_evidence - truth) + 0.1
    assert abs(corrected - truth) < 15 / n_rows + 0.05
