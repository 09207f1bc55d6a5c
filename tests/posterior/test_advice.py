"""What is said about draws, in each situation, and what to change."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from pasb import StickLogisticClassifier
from pasb.errors import ConvergenceWarning
from pasb.posterior.advice import advice_on
from pasb.posterior.limits import Limits


class TestAdvice:
    """The warning says what to change, in each situation."""

    @pytest.fixture
    def fitted(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 20)
        X = rng.normal(size=(60, 2)) + np.eye(3)[y][:, :2]
        model = StickLogisticClassifier(
            n_chains=2, n_warmup=20, n_draws=40, n_jobs=1, random_state=0, order=[0, 1, 2]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y)

    def advice(self, model, **changes):
        model.draws_ = replace(model.draws_, **changes)
        with pytest.warns(ConvergenceWarning) as caught:
            model._after_sampling()
        assert len(caught) == 1
        return str(caught[0].message)

    @staticmethod
    def cycling(model):
        """Chains that run through the same few draws again and again: R-hat is perfect."""
        draws = model.draws_
        cycle = np.arange(draws.n_draws) % 5
        return {
            "parameters": {"coef": draws.parameters["coef"][:1, cycle].repeat(2, axis=0)},
            "log_likelihood": draws.log_likelihood[:1, cycle].repeat(2, axis=0),
        }

    def test_chains_in_different_orders(self, fitted):
        order = fitted.draws_.order.copy()
        order[1] = [2, 1, 0]
        text = self.advice(fitted, order=order)
        assert "2 different orders" in text
        assert "order=model.orders_" in text
        assert "R-hat" in text

    def test_chains_apart_in_the_same_order(self, fitted):
        coef = fitted.draws_.parameters["coef"].copy()
        coef[1] += 2
        text = self.advice(fitted, parameters={"coef": coef})
        assert "R-hat" in text
        assert "Increase n_warmup" in text
        assert "n_chains" in text

    def test_too_few_effective_draws(self, fitted):
        text = self.advice(fitted, **self.cycling(fitted))
        assert "effective sample size" in text
        assert "R-hat" not in text
        assert "Increase n_draws" in text

    def test_interrupted(self, fitted):
        text = self.advice(fitted, ended="interrupted", n_asked=90)
        assert "stopped after 40 of 90 draws of each chain" in text
        assert "checkpoint" in text

    def test_interrupted_and_poor(self, fitted):
        text = self.advice(fitted, ended="interrupted", n_asked=90, **self.cycling(fitted))
        assert "can be used as it is" not in text
        assert "effective sample size" in text

    def test_interrupted_and_good(self, fitted):
        seen, draws = fitted.diagnostics_, replace(fitted.draws_, ended="interrupted")
        text = advice_on(draws, seen, Limits(rhat=1.99, ess=1.0))
        assert "The model can be used as it is. A run with a checkpoint can be continued." in text
        text = advice_on(draws, seen, Limits(rhat=1.99, ess=1.0), "some/folder")
        assert "The model can be used as it is. The same fit continues from the" in text
        assert "A run with a checkpoint" not in text

    def test_time_that_was_spent(self, fitted):
        text = self.advice(fitted, ended="time", n_asked=90, **self.cycling(fitted))
        assert "max_seconds" in text
        assert "after 40 of 90 draws of each chain" in text
        assert "checkpoint" in text
        assert "effective sample size" in text
        assert "Allow more time." in text

    def test_chains_in_modes_whose_average_is_known(self, fitted):
        """R-hat is as bad as it can be, and probabilities hardly differ."""
        coef = np.repeat(fitted.draws_.parameters["coef"][:1, :1], 40, axis=1).repeat(2, axis=0)
        coef[1] += 1e-4
        text = self.advice(fitted, parameters={"coef": coef})
        assert "The chains disagree: R-hat is up to" in text
        assert "different modes" in text
        assert "nevertheless known to ± 0.001" in text
        assert "More chains (n_chains)" in text
        assert "n_warmup" not in text
        assert fitted.convergence_in_words() == f"2 chains of 40 draws. {text}"

    def test_how_little_is_known_is_said(self, fitted):
        coef = fitted.draws_.parameters["coef"].copy()
        coef[1] += 2
        text = self.advice(fitted, parameters={"coef": coef})
        assert f"only known to ± {fitted.diagnostics_.usual_error:.3f}" in text

    def test_limits_of_the_user(self, fitted):
        """Stricter or looser than usual."""
        fitted.until = {"rhat": 1.0001, "ess": 1000}
        text = self.advice(fitted)
        assert "should be below 1.0001" in text
        assert "should be above 1000" in text
        assert "different modes" not in text
        fitted.until = {"rhat": 1.9, "ess": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted._after_sampling()
        assert "and they are good" in fitted.convergence_in_words()

    def test_too_few_to_judge(self, fitted):
        few = {name: getattr(fitted.draws_, name)[:, :3] for name in ("order", "log_likelihood")}
        coef = fitted.draws_.parameters["coef"][:, :3]
        text = self.advice(fitted, parameters={"coef": coef}, **few)
        assert "3 draws a chain are too few to judge: increase n_draws" in text

    @pytest.mark.statistical(level=1e-7)
    def test_good_draws_are_silent(self, seed):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 1)), np.repeat([0, 1], 30)
        model = StickLogisticClassifier(n_jobs=1, n_draws=1500, random_state=seed, precision=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, y)
        assert model.diagnostics_.worst_rhat < 1.05
        assert model.diagnostics_.worst_ess > 100

    def test_the_warning_points_at_the_call_of_fit(self):
        X, y = np.arange(8.0)[:, None], [0, 1] * 4
        with pytest.warns(ConvergenceWarning) as caught:
            StickLogisticClassifier(n_warmup=5, n_draws=3, n_chains=1, n_jobs=1).fit(X, y)
        assert caught[0].filename == __file__


def test_one_chain_has_no_rhat():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 2
    model = StickLogisticClassifier(
        n_chains=1, n_warmup=100, n_draws=2000, n_jobs=1, random_state=0, until={"ess": 150}
    ).fit(X, y)
    assert model.draws_.n_draws < 2000
    assert np.isnan(model.diagnostics_.worst_rhat)
    assert "R-hat needs two chains" in model.convergence_in_words()
