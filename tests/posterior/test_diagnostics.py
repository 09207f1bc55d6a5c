"""R-hat and effective sample size against ArviZ, and the advice that follows from them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from arviz_stats.base import array_stats

from pasb import StickLogisticClassifier
from pasb.errors import ConvergenceWarning
from pasb.posterior.diagnostics import Diagnostics, bulk_ess, split_rhat


def ar1(rng, shape, rho):
    """Chains of an autoregression with variance 1; the draw is the second axis."""
    x = rng.normal(size=shape)
    for t in range(1, shape[1]):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return x


class TestAgainstArviz:
    @pytest.mark.parametrize("n_chains", [1, 2, 4])
    @pytest.mark.parametrize("n_draws", [4, 7, 50, 401, 1000])
    @pytest.mark.parametrize("rho", [-0.5, 0.0, 0.7, 0.97])
    def test_autoregressions(self, n_chains, n_draws, rho, seed):
        x = ar1(np.random.default_rng(seed), (n_chains, n_draws, 20), rho)
        ess = [array_stats.ess(x[..., q], chain_axis=0, draw_axis=1) for q in range(20)]
        np.testing.assert_allclose(bulk_ess(x), ess, rtol=1e-8)
        if n_chains == 1:  # ArviZ gives none, though the halves can be compared
            assert np.isfinite(split_rhat(x)).all()
            return
        rhat = [array_stats.rhat(x[..., q], chain_axis=0, draw_axis=1) for q in range(20)]
        np.testing.assert_allclose(split_rhat(x), rhat, rtol=1e-10)

    def test_chains_that_disagree(self, seed):
        x = ar1(np.random.default_rng(seed), (4, 200, 2), 0.5)
        x[1] += 3
        x[2, :, 1] *= 5
        rhat = [array_stats.rhat(x[..., q], chain_axis=0, draw_axis=1) for q in range(2)]
        np.testing.assert_allclose(split_rhat(x), rhat, rtol=1e-10)
        assert (split_rhat(x) > 1.05).all()

    def test_ties(self, seed):
        x = np.random.default_rng(seed).integers(3, size=(2, 100, 2)).astype(float)
        rhat = [array_stats.rhat(x[..., q], chain_axis=0, draw_axis=1) for q in range(2)]
        ess = [array_stats.ess(x[..., q], chain_axis=0, draw_axis=1) for q in range(2)]
        np.testing.assert_allclose(split_rhat(x), rhat, rtol=1e-10)
        np.testing.assert_allclose(bulk_ess(x), ess, rtol=1e-8)


class TestCorners:
    def test_a_constant_is_converged(self):
        x = np.full((2, 50, 1), 3.0)
        assert split_rhat(x)[0] == 1
        assert bulk_ess(x)[0] == 100

    def test_chains_that_are_constant_but_differ_are_not(self):
        x = np.zeros((2, 50, 1))
        x[1] = 1
        assert split_rhat(x)[0] > 100
        assert bulk_ess(x)[0] < 10

    @pytest.mark.parametrize("n_draws", [1, 2, 3])
    def test_fewer_than_four_draws_say_nothing(self, n_draws):
        x = np.random.default_rng(0).normal(size=(2, n_draws, 2))
        assert np.isnan(split_rhat(x)).all()
        assert np.isnan(bulk_ess(x)).all()

    def test_no_warnings_from_numpy(self):
        x = np.zeros((2, 40, 3))
        x[1, :, 1] = 1
        x[:, :20, 2] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            split_rhat(x)
            bulk_ess(x)

    def test_worst_of_all(self):
        seen = Diagnostics(np.array([[1.0, 1.3]]), np.array([[50.0, 7.0]]), 1.1, 90.0)
        assert seen.worst_rhat == 1.3
        assert seen.worst_ess == 7.0
        assert replace(seen, rhat_log_likelihood=2.0).worst_rhat == 2.0
        assert replace(seen, ess_log_likelihood=2.0).worst_ess == 2.0


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

    def test_too_few_effective_draws(self, fitted):
        text = self.advice(fitted, **self.cycling(fitted))
        assert "effective sample size" in text
        assert "R-hat" not in text
        assert "Increase n_draws" in text

    def test_interrupted(self, fitted):
        text = self.advice(fitted, interrupted=True)
        assert "stopped after 40 draws of each chain" in text
        assert "checkpoint" in text

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
