"""The calibration suite itself, in small; `make calibrate` runs all of it.

A right sampler passes, a wrong one is caught, and the distribution of the test statistic is exact.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from calibration import coverage, geweke, reliability, report, sbc
from calibration.mistakes import MISTAKES, RIGHT, WRONG
from calibration.replicates import N_DRAWS, rank
from calibration.scenarios import SCENARIOS, worked_examples
from calibration.uniformity import band, counts_up_to, p_value, pointwise, stays_inside


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.3, 0.7])
def test_the_distribution_of_the_smallest_p_value_is_exact(gamma):
    n, n_draws = 5, 3
    inside = [
        pointwise(counts_up_to(np.array(ranks), n_draws), n).min() > gamma
        for ranks in product(range(n_draws + 1), repeat=n)
    ]
    assert stays_inside(gamma, n, n_draws) == pytest.approx(np.mean(inside), abs=1e-12)


def test_a_band_holds_what_it_says():
    n, n_draws = 200, 31
    low, high = band(0.05, n, n_draws)
    share = np.arange(1, n_draws + 1) / (n_draws + 1)
    assert (low <= np.ceil(n * share)).all()
    assert (high >= np.floor(n * share)).all()
    edge = pointwise(low - 1, n).max()
    assert 0.95 <= stays_inside(edge, n, n_draws) < 0.97


def test_even_ranks_pass_and_others_fail():
    even = np.tile(np.arange(32), 8)
    assert p_value(even, 31) > 0.999
    assert p_value(even // 2, 31) < 1e-11
    assert p_value(np.repeat([0, 31], 128), 31) < 1e-11


def test_ties_are_broken_evenly():
    # no level: one of three ranks is not seen in a hundred with probability 1e-17
    rng = np.random.default_rng(0)
    assert {rank(1.0, np.array([0.0, 1.0, 1.0, 2.0]), rng) for _ in range(100)} == {1, 2, 3}
    assert rank(3.0, np.zeros(5), rng) == 5


@pytest.mark.statistical(level=5e-7)
def test_the_logistic_model_passes(level):
    scenario = SCENARIOS["logistic, forward, marginal sticks, sampled order"]
    ranks = sbc.run_replicates(scenario, 50, jobs=1)
    assert ranks.values.shape == (50, len(ranks.names))
    assert ranks.values.min() >= 0
    assert ranks.values.max() <= N_DRAWS
    assert sbc.p_values(ranks.values).min() > level / len(ranks.names)


@pytest.mark.statistical(level=1e-6)
def test_an_update_in_steps_passes_and_a_wrong_factor_is_caught(level):
    right, wrong = RIGHT[0].scenario, WRONG[0].scenario
    assert geweke.deviation(right.model(), 400, right.seed, fixed=True).p > level
    # 14 standard errors with a spread of 1 over other seeds, where 5.6 are enough
    assert geweke.deviation(wrong.model(), 1600, wrong.seed, fixed=True).p < geweke.LIMIT
    # 1e-12 or less with three other seeds
    assert sbc.p_values(sbc.run_replicates(wrong, 60, jobs=1).values).min() < sbc.LIMIT


# 12 standard errors with a spread below 1 over other seeds, where 5.6 are enough
@pytest.mark.statistical(level=2e-7)
def test_a_wrong_order_of_hyperparameters_is_caught():
    scenario = MISTAKES["mistake: softplus: weights before the mass"].scenario
    worst = geweke.deviation(scenario.model(), 3000, scenario.seed, fixed=True)
    assert worst.p < geweke.LIMIT
    assert "mass" in worst.what or "weight" in worst.what


def test_users_models_are_those_of_the_guide():
    assert list(worked_examples()) == ["Probit", "ComplementaryLogLog"]


def test_coverage_counts_intervals_that_hold_the_truth():
    hits = coverage.replicate("logistic", 0)
    assert hits.shape == (len(coverage.LEVELS), coverage.N_PROBABILITIES + 9)
    assert (hits[1:] >= hits[:-1]).all()  # wider intervals hold more


def test_expected_calibration_error():
    sure = np.tile([0.9, 0.1], (200, 1))
    truth = np.zeros((200, 2), dtype=bool)
    truth[:100, 0] = truth[100:, 1] = True
    figures = reliability.figures([(sure[:80], truth[:80]), (sure[80:], truth[80:])])
    assert figures["ece"] == pytest.approx(0.4)
    assert figures["overconfidence"] == pytest.approx(0.4)
    assert figures["error"] == pytest.approx(0.5)
    assert figures["ece"] > figures["ece_by_chance"][1]


def test_the_report_says_whether_a_part_failed(tmp_path):
    name = "logistic, forward, marginal sticks, fixed order"
    one = sbc.run_one(SCENARIOS[name], 0.0, 1, lambda line: None)
    assert one["n_replicates"] == 50
    results = sbc.judged([one])
    assert results["passed"]
    assert not sbc.judged([{**one, "p": [1e-9]}])["passed"]
    report.write({"sbc": results}, tmp_path)
    assert name in (tmp_path / "calibration.md").read_text()
    assert (tmp_path / "calibration" / "sbc_logistic.png").stat().st_size > 5000
