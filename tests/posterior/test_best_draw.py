"""The best draw and the count of hyperplanes, for every model and in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tests.classifiers.two_directions import (
    BINARIES,
    DIRECTIONS,
    N_CHAINS,
    N_DRAWS,
    NEW,
    X,
    Y,
    assert_same_draws,
    fit,
)

import pasb
from pasb import (
    Logistic,
    Robit,
    Softplus,
    SoftplusClassifier,
    StackedSoftplusClassifier,
    StickBreakingClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture(scope="module", params=BINARIES, ids=lambda binary: type(binary).__name__)
def both(request):
    return fit(request.param)


@pytest.fixture(scope="module")
def logistic():
    return fit(BINARIES[0])


class TestBestDraw:
    @pytest.mark.parametrize("binary", BINARIES, ids=lambda binary: type(binary).__name__)
    @pytest.mark.parametrize("direction", ["both", "forward", "reverse"])
    def test_has_the_highest_likelihood_of_its_direction(self, binary, direction):
        model = fit(binary, direction)
        best, draws = model.best_draw(), model.draws_
        assert best.draws_.directions == model._directions
        assert best.draws_.order.shape == (len(model._directions), 1, 3)
        for k, name in enumerate(model._directions):
            mine = draws.of_direction(name)
            top = draws.log_likelihood[mine].max()
            assert best.draws_.log_likelihood[k, 0] == top
            chain, draw = np.argwhere(draws.log_likelihood == top)[0]
            assert chain in mine
            np.testing.assert_array_equal(best.draws_.order[k, 0], draws.order[chain, draw])
            np.testing.assert_array_equal(
                best.draws_.parameters["coef"][k, 0], draws.parameters["coef"][chain, draw]
            )

    def test_of_a_linear_model_predicts_as_the_draw_did(self, logistic):
        best, draws = logistic.best_draw(), logistic.draws_
        proba = logistic.sample_proba(NEW).reshape(2 * N_CHAINS, N_DRAWS, len(NEW), 3)
        picked = []
        for name in DIRECTIONS:
            mine = draws.of_direction(name)
            chain, draw = divmod(int(np.argmax(draws.log_likelihood[mine])), N_DRAWS)
            picked.append(proba[mine[chain], draw])
        np.testing.assert_allclose(best.predict_proba(NEW), np.mean(picked, axis=0), rtol=1e-12)

    def test_leaves_the_model_as_it_was(self, both):
        before, order = both.predict_proba(NEW), both.draws_.order
        best = both.best_draw()
        assert type(best) is type(both)
        assert best.draws_.order.shape[:2] == (2, 1)
        assert both.draws_.order is order
        np.testing.assert_array_equal(both.predict_proba(NEW), before)

    def test_is_silent(self, both, recwarn):
        best = both.best_draw()
        best.predict_proba(NEW)
        best.n_hyperplanes()
        best.order_posterior()
        assert not recwarn.list

    def test_of_itself(self, both):
        best = both.best_draw()
        assert_same_draws(best.best_draw(), best)

    def test_round_trip(self, both, tmp_path):
        best = both.best_draw()
        best.save(tmp_path / "best.pasb")
        both.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "best.pasb")
        assert_same_draws(again, best)
        np.testing.assert_array_equal(again.predict_proba(NEW), best.predict_proba(NEW))
        assert again.n_hyperplanes() == best.n_hyperplanes()
        sizes = [(tmp_path / f"{name}.pasb").stat().st_size for name in ("best", "model")]
        assert sizes[0] < 0.7 * sizes[1]

    def test_a_row_does_not_depend_on_the_others(self, both):
        best = both.best_draw()
        whole = best.predict_proba(NEW)
        np.testing.assert_array_equal(best.predict_proba(NEW[40:290]), whole[40:290])

    def test_unfitted(self):
        for ask in ("best_draw", "n_hyperplanes"):
            with pytest.raises(NotFittedError):
                getattr(StickBreakingClassifier(), ask)()


class TestNumberOfHyperplanes:
    @pytest.mark.parametrize("classifier", [StickLogisticClassifier, StickRobitClassifier])
    def test_of_linear_models(self, classifier):
        model = classifier(n_chains=1, n_warmup=5, n_draws=5, n_swaps=5, random_state=0).fit(X, Y)
        assert model.n_hyperplanes() == 2.0
        assert model.best_draw().n_hyperplanes() == 2.0

    @pytest.mark.parametrize("binary", [Logistic(), Robit()], ids=["Logistic", "Robit"])
    def test_of_both_directions_are_added_up(self, binary):
        assert fit(binary).n_hyperplanes() == 4.0
        assert fit(binary).best_draw().n_hyperplanes() == 4.0

    @pytest.mark.parametrize("scheme", ["exact", "paper"])
    def test_of_softplus_models(self, scheme):
        model = fit(Softplus(n_experts=3, n_layers=2), scheme=scheme)
        active, order = model.draws_.parameters["active"], model.draws_.order
        total = {name: [] for name in DIRECTIONS}
        for chain, draw in np.ndindex(order.shape[:2]):
            *sticks, _ = order[chain, draw]
            used = sum(int((active[chain, draw, category] > 0).sum()) for category in sticks)
            total[model.draws_.directions[chain]].append(2 * used)
        expected = np.mean(total["forward"]) + np.mean(total["reverse"])
        assert model.n_hyperplanes() == pytest.approx(expected)
        assert 2 * 2 * 2 <= expected <= 2 * 2 * 2 * 3

    @pytest.mark.parametrize("classifier", [SoftplusClassifier, StackedSoftplusClassifier])
    def test_of_a_best_draw_is_whole(self, classifier):
        small = {"n_experts": 2, "n_layers": 2, "n_warmup": 5, "n_draws": 5, "random_state": 0}
        if classifier is StackedSoftplusClassifier:
            small["stack_sweeps"] = 10
        number = classifier(**small).fit(X, Y).best_draw().n_hyperplanes()
        assert number == int(number) > 0
