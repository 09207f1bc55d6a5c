"""Stacked softplus models, and their step on its own: hyperplanes as further covariates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.classifiers.small_stacks import (
    LABELS,
    NEW,
    SMALL,
    X,
    Y,
    assert_same_draws,
    assert_same_model,
    fit,
)

import pasb
from pasb import SoftplusClassifier, StackedSoftplusClassifier
from pasb.errors import CheckpointError

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def responses(vectors, scaling, columns):
    """log(1 + exp(x'b)), from the definition."""
    inner = np.column_stack([np.ones(len(columns)), (columns - scaling.centre) / scaling.spread])
    return np.log1p(np.exp(inner @ vectors.T))


@pytest.fixture(scope="module", params=[1, 2, 3])
def stacked(request):
    return fit(n_stacks=request.param)


@pytest.fixture(scope="module")
def two():
    return fit()


class TestStack:
    def test_of_one_is_the_softplus_classifier(self):
        alone = SoftplusClassifier(**SMALL).fit(X, Y)
        model = fit(n_stacks=1, last_layers=5)
        assert_same_draws(model, alone)
        np.testing.assert_array_equal(model.predict_proba(NEW), alone.predict_proba(NEW))
        assert model.n_hyperplanes() == alone.n_hyperplanes()

    def test_columns_are_covariates_and_responses_of_the_level_below(self, stacked):
        columns = NEW
        for level in stacked._levels:
            columns = np.column_stack([NEW, responses(level.vectors, level.scaling, columns)])
        np.testing.assert_allclose(stacked._stacked(NEW), columns, rtol=1e-10)
        n_experts, last = 2, (2 if stacked.n_stacks == 1 else 1)
        coef = stacked.draws_.parameters["coef"]
        assert coef.shape == (4, 12, 3, n_experts, last, 1 + columns.shape[1])

    def test_hyperplanes_are_those_of_the_last_draws_of_the_level(self, two):
        level = two._levels[0]
        model = two._level_model(1)
        assert type(model) is SoftplusClassifier
        assert (model.n_chains, model.n_warmup, model.n_draws) == (2, 15, 15)
        model.set_params(order="infer").fit(X, Y)
        draws, expected = model.draws_, []
        for chain in range(4):
            for category in draws.order[chain, -1, :-1]:
                for expert in range(2):
                    if draws.parameters["active"][chain, -1, category, expert] > 0:
                        expected.extend(draws.parameters["coef"][chain, -1, category, expert])
        np.testing.assert_array_equal(level.vectors, expected)
        assert np.unique(level.tags[:, 4]).tolist() == [0, 1]

    def test_a_chain_sees_the_hyperplanes_of_its_own(self, stacked):
        coef = stacked.draws_.parameters["coef"]
        behind = coef[..., 3:].any(axis=(1, 2, 3, 4))
        assert (coef[..., :3].any(axis=(1, 2, 3, 4))).all()
        for chain in range(4):
            for level in stacked._levels[-1:]:
                np.testing.assert_array_equal(behind[chain], level.tags[:, 4] == chain % 2)

    @pytest.mark.parametrize("n_stacks", [2, 3])
    def test_a_chain_is_a_stack_of_its_own(self, n_stacks):
        settings = {"direction": "forward", "order": LABELS, "n_stacks": n_stacks}
        alone, both = (fit(n_chains=n, **settings) for n in (1, 2))
        seen = both._levels[-1].seen_by(0, 2)
        first = both.draws_.parameters["coef"][0]
        np.testing.assert_array_equal(first[..., seen], alone.draws_.parameters["coef"][0])
        np.testing.assert_array_equal(both.draws_.log_likelihood[0], alone.draws_.log_likelihood[0])

    def test_the_order_is_that_of_the_first_model(self, two):
        first = two._level_model(1).set_params(order="infer").fit(X, Y)
        for name, order in two.orders_.items():
            np.testing.assert_array_equal(order, first.orders_[name])
            chains = two.draws_.order[two.draws_.of_direction(name)]
            assert (LABELS[chains] == order).all()

    @pytest.mark.parametrize(
        "order", [["yew", "ash", "oak"], {"forward": LABELS, "reverse": LABELS[::-1]}], ids=str
    )
    def test_a_fixed_order_holds_on_all_levels(self, order):
        model = fit(order=order, n_stacks=3)
        expected = order if isinstance(order, dict) else dict.fromkeys(model.orders_, order)
        for name, own in expected.items():
            assert list(model.orders_[name]) == list(own)
            last = int(np.flatnonzero(own[-1] == LABELS)[0])
            number = ("forward", "reverse").index(name)
            for level in model._levels:
                categories = level.tags[level.tags[:, 0] == number, 1]
                assert set(categories) == set(range(3)) - {last}

    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_one_direction(self, direction):
        model = fit(direction=direction, n_stacks=3)
        assert model.order_.shape == (3,)
        number = ("forward", "reverse").index(direction)
        for level in model._levels:
            assert (level.tags[:, 0] == number).all()

    def test_number_of_hyperplanes_includes_the_levels(self, stacked):
        active, order = stacked.draws_.parameters["active"], stacked.draws_.order
        used = np.array(
            [
                [(active[c, d, order[c, d, :-1]] > 0).sum() for d in range(order.shape[1])]
                for c in range(4)
            ]
        )
        last = (2 if stacked.n_stacks == 1 else 1) * (used[:2].mean() + used[2:].mean())
        below = sum(len(level.vectors) for level in stacked._levels)
        assert stacked.n_hyperplanes() == pytest.approx(last + below)
        assert (below > 0) == (stacked.n_stacks > 1)

    def test_best_draw(self, stacked):
        best = stacked.best_draw()
        assert best.draws_.order.shape == (2, 1, 3)
        assert best.n_hyperplanes() == int(best.n_hyperplanes())
        assert (best.predict_proba(NEW) != stacked.predict_proba(NEW)).any()
        assert_same_model(best.best_draw(), best)
        for k, name in enumerate(("forward", "reverse")):
            top = stacked.draws_.log_likelihood[stacked.draws_.of_direction(name)].max()
            assert best.draws_.log_likelihood[k, 0] == top

    @pytest.mark.parametrize("n_stacks", [2, 3])
    def test_best_draw_keeps_the_hyperplanes_that_it_uses(self, n_stacks):
        model = fit(n_stacks=n_stacks, direction="forward", n_chains=3)
        best, draws = model.best_draw(), model.draws_
        chain, draw = np.unravel_index(np.argmax(draws.log_likelihood), (3, 12))
        for level, whole in zip(best._levels, model._levels, strict=True):
            assert (level.tags[:, 4] == chain).all()
            assert 0 < len(level.vectors) == (whole.tags[:, 4] == chain).sum()
        # without experts that the draw has no row for
        used = model.fitted_.binary.without_inactive(draws.parameters)
        model.draws_ = replace(draws, parameters=used)
        expected = model.sample_proba(NEW)[12 * chain + draw]
        np.testing.assert_allclose(best.predict_proba(NEW), expected, rtol=1e-10)

    def test_names_in_the_tree(self):
        frame = pd.DataFrame(X, columns=["height", "width"])
        model = fit(frame, n_stacks=3)
        names = list(model.posterior_["posterior"]["feature"].values)
        assert names[:2] == ["height", "width"]
        assert len(names) == model._n_columns - 1 == len(set(names))
        assert all(name.startswith("softplus ") for name in names[2:])

    def test_a_row_does_not_depend_on_the_others(self, stacked):
        whole = stacked.predict_proba(NEW)
        for rows in ([0], [299], [5, 3, 299], range(17, 290), range(256, 300)):
            rows = list(rows)
            np.testing.assert_array_equal(stacked.predict_proba(NEW[rows]), whole[rows])

    def test_the_same_seed_gives_the_same_model(self, two):
        assert_same_model(fit(n_jobs=2), two)
        assert (fit(random_state=1).predict_proba(NEW) != two.predict_proba(NEW)).any()

    def test_levels_have_seeds_of_their_own(self):
        model = fit(n_chains=1)
        seeds = {model._level_model(number).random_state for number in (1, 2, 3)} | {0}
        assert len(seeds) == 4

    def test_can_be_fitted_again_to_other_classes(self):
        model = fit(n_stacks=3, order=LABELS)
        model.set_params(order="infer").fit(X[:, ::-1], np.arange(60) % 4)
        assert model.predict_proba(NEW).shape == (300, 4)
        with pytest.raises(ValueError, match="'elm' is not a class"):
            model.set_params(order=["elm", "oak", "yew"]).fit(X, Y)

    def test_weights_of_zero_leave_rows_out(self):
        kept = np.arange(60) % 4 != 0
        assert_same_model(fit(sample_weight=kept.astype(float)), fit(X[kept], Y[kept]))

    def test_levels_do_not_warn(self):
        with pytest.warns(pasb.errors.ConvergenceWarning) as caught:
            fit(n_stacks=3)
        assert len(caught) == 1

    def test_clone(self):
        model = StackedSoftplusClassifier(n_stacks=3, last_layers=2, stack_sweeps=7, prune=True)
        copied = clone(model)
        assert copied.get_params() == model.get_params()

    @pytest.mark.parametrize(
        "bad",
        [
            {"n_stacks": 0},
            {"n_stacks": 1.5},
            {"last_layers": 0},
            {"last_layers": 2.5},
            {"stack_sweeps": 1},
            {"stack_sweeps": 10.5},
            {"n_experts": 0},
            {"n_layers": 0},
            {"precision_rate": (1,)},
            {"prune": "yes"},
        ],
        ids=str,
    )
    def test_bad_settings_are_named(self, bad):
        with pytest.raises(ValueError, match=rf"\b{next(iter(bad))}\b"):
            fit(**bad)

    def test_bad_input(self, two):
        with pytest.raises(ValueError, match="sample_weight must be 0 or 1"):
            fit(sample_weight=np.full(60, 0.5))
        with pytest.raises(ValueError, match="one class only"):
            fit(labels=np.full(60, "ash"))
        with pytest.raises(ValueError, match="3 features"):
            two.predict(np.zeros((4, 3)))
        with pytest.raises(NotFittedError):
            StackedSoftplusClassifier().predict(X)


class TestStop:
    def stop_in(self, level, sweep):
        """A callback that stops the run on a level; it counts the levels by their first sweeps."""
        seen = {"level": 0}

        def callback(info):
            if info.chain == 0 and info.sweep == 1:
                seen["level"] += 1
            return seen["level"] == level and info.sweep == sweep

        return [callback]

    @pytest.mark.parametrize(
        ("n_stacks", "moves"),
        [
            (1, "mixed"),
            (2, "gibbs"),
            (3, "gibbs"),
            pytest.param(3, "mixed", marks=pytest.mark.slow),
        ],
    )
    def test_resumed_on_every_level(self, n_stacks, moves, tmp_path):
        settings = {"n_stacks": n_stacks, "moves": moves}
        whole = fit(**settings)
        for level in range(1, n_stacks + 1):
            for sweep in (3, 18):
                folder = tmp_path / f"{level}-{sweep}"
                stop = self.stop_in(level, sweep)
                part = fit(checkpoint=folder, callbacks=stop, **settings)
                assert part.draws_.interrupted
                assert part.predict_proba(NEW).shape == (300, 3)
                names = sorted(path.name for path in folder.iterdir())
                assert names == [f"level-{number}" for number in range(1, level + 1)]
                resumed = fit(checkpoint=folder, **settings)
                assert not resumed.draws_.interrupted
                assert_same_model(resumed, whole)

    def test_finished_run_is_read_back(self, two, tmp_path):
        fit(checkpoint=tmp_path)
        swept = []
        again = fit(checkpoint=str(tmp_path), callbacks=[swept.append])
        assert swept == []
        assert_same_model(again, two)

    def test_longer_run(self, tmp_path):
        fit(checkpoint=tmp_path)
        assert_same_model(fit(checkpoint=tmp_path, n_draws=20), fit(n_draws=20))

    def test_without_a_random_state(self, tmp_path):
        settings = {"random_state": None, "checkpoint": tmp_path}
        part = fit(**settings, callbacks=self.stop_in(2, 15))
        resumed = fit(**settings)
        n = part.draws_.n_draws
        np.testing.assert_array_equal(part.draws_.order, resumed.draws_.order[:, :n])
        assert_same_model(fit(**settings), resumed)

    @pytest.mark.parametrize(
        ("name", "value"), [("n_experts", 3), ("last_layers", 2), ("direction", "forward")]
    )
    def test_other_settings_are_refused(self, name, value, tmp_path):
        fit(checkpoint=tmp_path)
        with pytest.raises(CheckpointError, match=name.removeprefix("last_")):
            fit(checkpoint=tmp_path, **{name: value})

    def test_stops_at_once_on_the_levels_above(self):
        seen = []

        def callback(info):
            seen.append(info.sweep)
            return info.sweep == 4

        model = fit(n_stacks=3, callbacks=[callback])
        assert model.draws_.interrupted
        assert len(seen) <= 2 * 4
        assert model.draws_.n_draws == 1
