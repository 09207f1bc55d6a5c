"""Tests of significance that share out a test's level among their comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats


class Judge:
    """Collects p-values; the verdict holds them all to the test's level, by Bonferroni."""

    def __init__(self, level: float):
        self.level = level
        self.p_values: dict[str, float] = {}

    def add(self, label: str, p_value: float) -> None:
        assert label not in self.p_values
        assert np.isfinite(p_value), label
        self.p_values[label] = p_value

    def mean(self, label: str, draws: np.ndarray, mean: float, deviation: float) -> None:
        """Compare a mean with what it should be, by the central limit theorem."""
        z = (np.mean(draws) - mean) / (deviation / np.sqrt(len(draws)))
        self.add(f"mean of {label}", 2.0 * stats.norm.sf(abs(z)))

    def variance(self, label: str, draws: np.ndarray, mean: float, variance: float) -> None:
        """Compare the mean squared distance from the known mean with the variance."""
        squares = (np.asarray(draws, dtype=float) - mean) ** 2
        z = (squares.mean() - variance) / (squares.std() / np.sqrt(len(draws)))
        self.add(f"variance of {label}", 2.0 * stats.norm.sf(abs(z)))

    def distribution(self, label: str, draws: np.ndarray, cdf) -> None:
        """Kolmogorov-Smirnov."""
        assert not np.isnan(draws).any(), label
        self.add(f"distribution of {label}", stats.kstest(draws, cdf).pvalue)

    def distribution_at(self, label: str, draws: np.ndarray, points, values) -> None:
        """Largest error of the distribution function at given points.

        The bound of Dvoretzky, Kiefer and Wolfowitz holds for every sample size.
        """
        reached = np.searchsorted(np.sort(draws), points, side="right") / len(draws)
        error = np.abs(reached - values).max()
        p_value = 2.0 * np.exp(-2.0 * len(draws) * error**2)
        self.add(f"distribution of {label}", min(1.0, p_value))

    def counts(self, label: str, draws: np.ndarray, pmf) -> None:
        """Chi-square over the values of a count, thin ones taken together."""
        assert draws.min() >= 0, label
        values = np.arange(draws.max() + 2)
        expected = pmf(values) * len(draws)
        observed = np.bincount(draws, minlength=len(values)).astype(float)
        assert observed[expected == 0.0].sum() == 0.0, label
        groups = np.minimum(
            np.floor(np.cumsum(expected) / 25.0), np.floor((len(draws) - 1) / 25.0)
        ).astype(int)
        expected = np.bincount(groups, expected)
        observed = np.bincount(groups, observed)
        # What lies beyond the largest value seen goes to the last group.
        expected[-1] += len(draws) - expected.sum()
        while len(expected) > 1 and expected[-1] < 25.0:
            expected[-2] += expected[-1]
            observed[-2] += observed[-1]
            expected, observed = expected[:-1], observed[:-1]
        kept = expected > 0.0
        statistic = ((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        self.add(f"counts of {label}", stats.chi2.sf(statistic, max(1, kept.sum() - 1)))

    def verdict(self) -> None:
        limit = self.level / len(self.p_values)
        failed = {label: p for label, p in self.p_values.items() if p < limit}
        assert not failed, failed


@pytest.fixture
def judge(level) -> Judge:
    """A judge for the level that the test states."""
    return Judge(level)
