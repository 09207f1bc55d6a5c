"""`until` and `max_seconds` of every classifier, by clocks that nobody has to wait for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pasb
from pasb.classifiers.stick_classifier import StickClassifier
from pasb.errors import TimeBudgetError

FEW = {"n_chains": 2, "n_warmup": 10, "n_draws": 40, "n_jobs": 1, "random_state": 5}
SMALL = {"n_experts": 1, "n_layers": 1}
CLASSIFIERS = [
    (pasb.StickLogisticClassifier, {}),
    (pasb.StickBreakingClassifier, {"direction": "both"}),
    (pasb.StickRobitClassifier, {}),
    (pasb.StickSVMClassifier, {"width": 0.5}),
    (pasb.SoftplusClassifier, SMALL),
    (pasb.StackedSoftplusClassifier, {**SMALL, "stack_sweeps": 20}),
]
every = pytest.mark.parametrize(
    ("kind", "own"), CLASSIFIERS, ids=[kind.__name__ for kind, _ in CLASSIFIERS]
)


def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 2)) + np.eye(3)[y][:, :2], y


X, Y = data()


@pytest.fixture
def clock(monkeypatch):
    """The time that classifiers see."""
    now = [0.0]
    monkeypatch.setattr(StickClassifier, "_clock", staticmethod(lambda: now[0]))
    return now


def ends_at(clock, sweep, level=1):
    """A callback by which the time is over at a sweep of a level; each has its first sweep once."""
    seen = {"level": 0}

    def callback(info):
        seen["level"] += info.chain == 0 and info.sweep == 1
        if seen["level"] == level and info.sweep >= sweep:
            clock[0] += 1e6

    return [callback]


def fit(kind, own, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**(FEW | own | changes)).fit(X, Y)


def assert_same_draws(model, other, n):
    np.testing.assert_array_equal(model.draws_.order, other.draws_.order[:, :n])
    for name, values in model.draws_.parameters.items():
        np.testing.assert_array_equal(values, other.draws_.parameters[name][:, :n])


@every
class TestMaxSeconds:
    def test_keeps_what_was_drawn(self, kind, own, clock, tmp_path):
        level = own.get("stack_sweeps", 0) // 20 + 1
        model = kind(**FEW, **own, max_seconds=9, callbacks=ends_at(clock, 25, level))
        with pytest.warns(pasb.ConvergenceWarning, match=r"max_seconds.* after \d+ of 40 draws"):
            model.fit(X, Y)
        n = model.draws_.n_draws
        assert model.draws_.ended == "time"
        assert 15 <= n < 40
        assert np.isfinite(model.predict_proba(X)).all()
        assert_same_draws(model, fit(kind, own), n)
        model.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "model.pasb")
        assert (again.draws_.ended, again.draws_.n_asked) == ("time", 40)
        assert again.max_seconds == 9
        assert again.convergence_in_words() == model.convergence_in_words()

    def test_too_short_leaves_the_model_as_it_was(self, kind, own, clock):
        model = fit(kind, own)
        before = model.predict_proba(X)
        model.set_params(max_seconds=9, callbacks=ends_at(clock, 3))
        with pytest.raises(TimeBudgetError, match=r"max_seconds=9 is too short: .* warm-up"):
            model.fit(X, Y)
        np.testing.assert_array_equal(model.predict_proba(X), before)

    def test_time_enough(self, kind, own, clock):
        model = fit(kind, own, max_seconds=9)
        assert model.draws_.ended == "finished"
        assert_same_draws(model, fit(kind, own), 40)

    @pytest.mark.parametrize("value", [0, -1, "60", "1 h"])
    def test_no_time(self, kind, own, value):
        with pytest.raises(ValueError, match="max_seconds"):
            kind(**FEW, **own, max_seconds=value).fit(X, Y)

    def test_resumed(self, kind, own, clock, tmp_path):
        level = own.get("stack_sweeps", 0) // 20 + 1
        settings = {"max_seconds": 9, "checkpoint": tmp_path / "run"}
        with pytest.raises(TimeBudgetError, match="The same call continues from the checkpoint"):
            fit(kind, own, **settings, callbacks=ends_at(clock, 4, level))
        resumed = fit(kind, own, **settings)
        assert resumed.draws_.ended == "finished"
        assert_same_draws(resumed, fit(kind, own), 40)


@every
class TestStoppedInTheWarmup:
    def test_is_told_and_marked(self, kind, own, tmp_path):
        model = kind(**FEW, **own, callbacks=[lambda info: info.sweep >= 3])
        with pytest.warns(pasb.ConvergenceWarning, match="STOPPED IN THE WARM-UP") as caught:
            model.fit(X, Y)
        told = str(caught[-1].message)
        assert "do not use its predictions" in told
        assert "can be used as it is" not in told
        assert "A run with a checkpoint can be continued" in told
        assert model.draws_.ended == "warm-up"
        assert model.draws_.interrupted
        assert not model.converged_
        model.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "model.pasb")
        assert not again.converged_
        assert again.convergence_in_words() == told

    def test_with_a_checkpoint(self, kind, own, tmp_path):
        model = kind(**FEW, **own, checkpoint=tmp_path, callbacks=[lambda info: info.sweep >= 3])
        with pytest.warns(pasb.ConvergenceWarning, match="STOPPED IN THE WARM-UP") as caught:
            model.fit(X, Y)
        told = str(caught[-1].message)
        assert f"The same fit continues from the checkpoint in '{tmp_path}'" in told
        assert "A run with a checkpoint" not in told


class TestStacked:
    KIND, OWN = CLASSIFIERS[-1]

    def test_a_level_that_is_cut_leaves_time_for_the_next(self, clock, tmp_path):
        """It spends its share, a third of 9 s; the levels above have the rest."""
        spent = []

        def callback(info):
            if info.sweep == 1 and info.chain == 0:
                spent.append(clock[0])
            if len(spent) == 1 and info.sweep == 23:
                clock[0] = 3.5

        own = {**self.OWN, "n_stacks": 3, "stack_sweeps": 24, "checkpoint": tmp_path / "run"}
        whole = fit(self.KIND, {**own, "checkpoint": None})
        model = fit(self.KIND, own, max_seconds=9, callbacks=[callback])
        assert spent == [0.0, 3.5, 3.5]
        assert model.draws_.ended == "finished"
        # the levels above a level that is not finished are not those of the whole run
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["level-1"]
        assert_same_draws(fit(self.KIND, own), whole, 40)

    def test_a_share_that_is_too_short_says_whose_it_is(self, clock):
        def callback(info):
            clock[0] = 5.0

        with pytest.raises(TimeBudgetError, match="smaller stack_sweeps") as raised:
            fit(self.KIND, self.OWN, max_seconds=9, callbacks=[callback])
        assert str(raised.value).startswith("the share of level 1 of 2 in max_seconds=9 is too")

    def test_until_is_for_the_last_level(self, monkeypatch):
        monkeypatch.setattr("pasb.sampling.lengthening.FIRST_MEETING", 10)
        asked = []

        def enough(self, draws):
            asked.append(type(self).__name__)
            return True

        monkeypatch.setattr(StickClassifier, "_good_enough", enough)
        model = fit(self.KIND, self.OWN, until={"ess": 10})
        assert asked == ["StackedSoftplusClassifier"]
        assert (model.draws_.ended, model.draws_.n_draws) == ("until", 10)


def test_the_folds_of_a_kernel_width_are_not_cut(clock):
    own = {"width": "cv", "cv_widths": [0.1, 1.0]}
    model = fit(pasb.StickSVMClassifier, own, max_seconds=9, until={"ess": 1e6})
    assert len(model.cv_results_["param_width"]) == 2
    assert model.draws_.ended == "finished"


LONG = {**FEW, "n_warmup": 200, "n_draws": 5000}  # some thousand effective draws
UNTIL = {"rhat": 1.05, "ess": 200}


@pytest.fixture(scope="module")
def model():
    return fit(pasb.StickLogisticClassifier, {**LONG, "until": UNTIL})


class TestUntil:
    def test_the_draws_are_as_good_as_asked_for(self, model):
        assert model.draws_.ended == "until"
        assert 100 <= model.draws_.n_draws < 5000
        assert not model.draws_.interrupted
        assert model.diagnostics_.worst_rhat <= 1.05
        assert model.diagnostics_.worst_ess >= 200

    def test_and_no_warning_is_given(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pasb.StickLogisticClassifier(**LONG, until=UNTIL).fit(X, Y)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_threads_make_no_difference(self, model, n_jobs):
        other = fit(pasb.StickLogisticClassifier, LONG, until=UNTIL, n_jobs=n_jobs)
        assert other.draws_.n_draws == model.draws_.n_draws
        assert_same_draws(other, model, None)

    def test_they_are_the_first_of_a_longer_run(self, model):
        n = model.draws_.n_draws
        whole = fit(pasb.StickLogisticClassifier, LONG, n_draws=n)
        assert_same_draws(model, whole, n)

    def test_both_directions(self):
        settings = {**LONG, "direction": "both", "until": UNTIL}
        model = fit(pasb.StickBreakingClassifier, settings)
        assert model.draws_.ended == "until"
        for seen in model.diagnostics_.by_direction.values():
            assert seen.worst_ess >= 200

    def test_not_reached(self):
        model = pasb.StickLogisticClassifier(**{**FEW, "n_draws": 150}, until={"ess": 10_000})
        with pytest.warns(pasb.ConvergenceWarning, match="should be above 10000.*n_draws"):
            model.fit(X, Y)
        assert model.draws_.ended == "finished"
        assert model.draws_.n_draws == 150

    def test_resumed(self, model, tmp_path):
        settings = {**LONG, "until": UNTIL, "checkpoint": tmp_path}
        stop = [lambda info: info.sweep >= 250]
        assert fit(pasb.StickLogisticClassifier, settings, callbacks=stop).draws_.interrupted
        assert_same_draws(fit(pasb.StickLogisticClassifier, settings), model, None)

    def test_saved(self, model, tmp_path):
        model.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "model.pasb")
        assert again.until == UNTIL
        assert again.convergence_in_words() == model.convergence_in_words()

    def test_bad_ones_are_refused_before_anything_takes_time(self):
        with pytest.raises(ValueError, match="until must be None or a dictionary"):
            pasb.SoftplusClassifier(until=400).fit(X, Y)


@pytest.mark.parametrize("engine", ["cpu", "blocks"])
def test_time_is_looked_at_while_orders_are_searched(engine, monkeypatch):
    """With nine classes a search looks at hundreds of sticks before the first sweep."""
    looks = []
    clock = staticmethod(lambda: float(looks.append(1) or len(looks)))
    monkeypatch.setattr(StickClassifier, "_clock", clock)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 10)
    table = rng.normal(size=(9, 2))[y] + rng.normal(size=(90, 2))
    model = pasb.StickLogisticClassifier(**FEW, engine=engine, max_seconds=30)
    with pytest.raises(TimeBudgetError, match=r"max_seconds=30 is too short: .* first sweep"):
        model.fit(table, y)
    assert len(looks) < 40
