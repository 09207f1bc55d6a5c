"""How long a fit runs: numbers, "auto", and runs that continue until their draws are good."""

from __future__ import annotations

import numpy as np
import pytest

import pasb
from pasb import (
    SoftplusClassifier,
    StackedSoftplusClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
)
from pasb.classifiers import logistic_classifier
from pasb.classifiers.logistic_classifier import GOAL, AutomaticRate
from pasb.classifiers.run_length import Goal
from pasb.posterior.limits import Limits

LINEAR = pytest.mark.parametrize("kind", [StickLogisticClassifier, StickRobitClassifier])


def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    return X, np.arange(60) % 3


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Twenty draws, which are never good enough."""
    monkeypatch.setattr(AutomaticRate, "_usual_lengths", lambda _: (10, 20))
    monkeypatch.setattr(logistic_classifier, "GOAL", Goal(Limits(1.001, 1e6), 4))


@pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")
class TestLinear:
    @LINEAR
    def test_goes_on_up_to_a_limit(self, kind):
        model = kind(random_state=1).fit(*data())
        assert (model.draws_.n_draws, model.draws_.thin) == (20, 4)
        assert model.draws_.ended == "finished"
        longer = kind(random_state=1, n_warmup=10, n_draws=80).fit(*data())
        kept = longer.draws_.parameters["coef"][:, 3::4]
        np.testing.assert_array_equal(model.draws_.parameters["coef"], kept)

    @LINEAR
    def test_ends_when_the_draws_are_good(self, kind, monkeypatch):
        looked = []

        def met(limits, rhat, ess):
            looked.append((float(rhat), float(ess)))
            return len(looked) == 2

        monkeypatch.setattr(Limits, "met", met)
        model = kind(random_state=1).fit(*data())
        assert (model.draws_.n_draws, model.draws_.thin) == (20, 2)
        seen = model.diagnostics_
        assert looked[-1] == (seen.worst_rhat, seen.worst_ess)
        again = model.fitted_.diagnostics()
        np.testing.assert_allclose(seen.ess_probability, again.ess_probability)
        np.testing.assert_allclose(seen.rhat_probability, again.rhat_probability)

    def test_a_number_of_draws_is_what_it_is(self):
        model = StickLogisticClassifier(n_draws=20, random_state=1).fit(*data())
        assert (model.draws_.n_draws, model.draws_.thin) == (20, 1)

    def test_thinning_that_was_asked_for_comes_on_top(self):
        model = StickLogisticClassifier(thin=3, random_state=1).fit(*data())
        assert (model.draws_.n_draws, model.draws_.thin) == (20, 12)

    @pytest.mark.parametrize("settings", [{"scheme": "paper"}, {"order": "swap"}])
    def test_chains_that_may_never_converge_do_not_grow(self, settings):
        model = StickLogisticClassifier(random_state=1, **settings).fit(*data())
        assert model.draws_.thin == 1

    def test_until_is_the_goal_where_it_is_given(self):
        X, y = data()
        easy = StickLogisticClassifier(until={"rhat": 1.9, "ess": 1}, random_state=1).fit(X, y)
        assert (easy.draws_.n_draws, easy.draws_.thin) == (20, 1)
        hard = StickLogisticClassifier(until={"ess": 10**5}, random_state=1).fit(X, y)
        assert (hard.draws_.n_draws, hard.draws_.thin) == (20, 4)

    def test_a_resumed_fit_has_the_same_draws(self, tmp_path):
        X, y = data()
        whole = StickLogisticClassifier(random_state=1).fit(X, y)
        stop = [lambda info: info.sweep >= 55]
        settings = {"random_state": 1, "checkpoint": tmp_path}
        part = StickLogisticClassifier(callbacks=stop, **settings).fit(X, y)
        assert part.draws_.thin == 4
        resumed = StickLogisticClassifier(**settings).fit(X, y)
        coef = whole.draws_.parameters["coef"]
        np.testing.assert_array_equal(resumed.draws_.parameters["coef"], coef)
        for name, counts in whole.draws_.statistics.items():
            np.testing.assert_array_equal(resumed.draws_.statistics[name], counts)

    def test_a_file_keeps_how_far_draws_are_apart(self, tmp_path):
        model = StickLogisticClassifier(random_state=1).fit(*data())
        model.save(tmp_path / "model.pasb")
        assert pasb.load(tmp_path / "model.pasb").draws_.thin == 4


def test_the_usual_goal():
    assert (Limits(1.02, 400), 16) == GOAL
    softplus = SoftplusClassifier()
    for n_cells, longest in ((6_250, 32), (6_251, 8), (50_001, 4), (400_001, 2)):
        softplus._n_cells = n_cells
        assert softplus._usual_goal() == (Limits(1.05, 100), longest)
    assert SoftplusClassifier(moves="gibbs")._usual_goal() is None
    assert StackedSoftplusClassifier()._usual_goal() is None
