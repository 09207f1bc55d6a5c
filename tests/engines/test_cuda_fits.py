"""Fits with ``engine="cuda"``: the CPU's draws, checkpoints, batches of several tables, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pasb import SoftplusClassifier, StackedSoftplusClassifier, fit_together, load
from pasb.binary.softplus import Softplus
from pasb.errors import DivergenceError, EngineError, TimeBudgetError
from pasb.numerics.rows import Rows
from pasb.posterior.predict import Predictor
from pasb.sampling.problem import Problem, Schedule

pytestmark = pytest.mark.filterwarnings("ignore")

X, Y = np.random.default_rng(0).normal(size=(9, 1)), np.arange(9) % 3
TINY = {"n_experts": 1, "n_layers": 1, "n_chains": 1, "n_warmup": 2, "n_draws": 2}
TINY |= {"random_state": 3, "progress": False, "moves": "gibbs"}
SHORT = {**TINY, "n_warmup": 0, "n_draws": 1, "order": [2, 0, 1]}


def assert_same(here, there):
    np.testing.assert_array_equal(here.draws_.order, there.draws_.order)
    for name, values in here.draws_.parameters.items():
        other = there.draws_.parameters[name]
        np.testing.assert_allclose(values, other, rtol=1e-9, atol=1e-12, err_msg=name)


def test_intervals_on_the_device():
    fitted = SoftplusClassifier(engine="cuda", **SHORT | {"n_draws": 3}).fit(X, Y).fitted_
    inner = fitted.columns(X)
    here = replace(fitted, predictor_type=Predictor, draws=fitted.draws.thinned(3)).predictor()
    for n in (1, 9):
        there = fitted.predictor().intervals(inner[:n], (0.1, 0.9))
        for own, other in zip(here.intervals(inner[:n], (0.1, 0.9)), there, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-9)


def test_draws_and_predictions_are_those_of_the_cpu():
    """Half of the warm-up with the freer swaps of the printed algorithm."""
    swaps = {**TINY, "order": "swap", "direction": "forward"}
    here = SoftplusClassifier(**swaps).fit(X, Y)
    there = SoftplusClassifier(engine="cuda", **swaps).fit(X, Y)
    assert_same(here, there)
    np.testing.assert_allclose(here.predict_proba(X), there.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(here.sample_proba(X), there.sample_proba(X), rtol=1e-9)
    for name, counts in there.draws_.statistics.items():
        np.testing.assert_array_equal(counts, here.draws_.statistics[name])


def test_a_run_that_was_stopped_resumes(tmp_path):
    fixed = {**TINY, "order": [1, 0, 2], "checkpoint": tmp_path / "run", "engine": "cuda"}
    seen = []

    def stop(info):
        seen.append(info.sweep)
        return info.sweep == 3

    stopped = SoftplusClassifier(callbacks=[stop], **fixed).fit(X, Y)
    assert stopped.draws_.interrupted
    assert stopped.draws_.n_draws == 1
    assert max(seen) == 3
    resumed = SoftplusClassifier(**fixed).fit(X, Y)
    here = SoftplusClassifier(**{**fixed, "checkpoint": None, "engine": "cpu"}).fit(X, Y)
    assert_same(here, resumed)
    resumed.save(tmp_path / "model.pasb")
    again = load(tmp_path / "model.pasb")
    np.testing.assert_allclose(again.predict_proba(X), here.predict_proba(X))


def test_a_run_continues_on_the_other_engine(tmp_path):
    settings = {**SHORT, "n_draws": 2, "direction": "forward", "checkpoint": tmp_path / "run"}
    stop = SoftplusClassifier(engine="cuda", callbacks=[lambda info: True], **settings)
    assert stop.fit(X, Y).draws_.n_draws == 1
    resumed = SoftplusClassifier(**settings).fit(X, Y)
    assert_same(SoftplusClassifier(**settings | {"checkpoint": None}).fit(X, Y), resumed)


def test_default_moves_are_those_of_the_cpu_and_resume(tmp_path, monkeypatch):
    """Trajectories of few, long steps; a run that is stopped in the warm-up continues bit by bit.

    Paths between orders, which small tables have on a CPU alone, are left out.
    """
    monkeypatch.setattr("pasb.evidences.annealed.MOST_CATEGORIES", 0)
    monkeypatch.setattr("pasb.numerics.adaptation.FIRST_STEP", 2.0)
    settings = {**TINY, "moves": "auto", "direction": "reverse"}
    here = SoftplusClassifier(**settings).fit(X, Y)
    there = SoftplusClassifier(engine="cuda", **settings).fit(X, Y)
    assert_same(here, there)
    assert there.draws_.statistics["softplus_trajectory_gradients"].min() > 0
    assert there.draws_.statistics.keys() == here.draws_.statistics.keys()
    for name, counts in there.draws_.statistics.items():
        np.testing.assert_array_equal(counts, here.draws_.statistics[name])
    settings |= {"engine": "cuda", "checkpoint": tmp_path / "run"}
    SoftplusClassifier(callbacks=[lambda info: info.sweep == 1], **settings).fit(X, Y)
    resumed = SoftplusClassifier(**settings).fit(X, Y)
    for name, values in there.draws_.parameters.items():
        np.testing.assert_array_equal(resumed.draws_.parameters[name], values)


def test_a_metric_that_does_not_exist_ends_the_run(monkeypatch):
    from pasb.engines.path_metric import PathMetrics

    monkeypatch.setattr("pasb.numerics.adaptation.FIRST_STEP", 2.0)

    def fail(*given):
        raise np.linalg.LinAlgError("no metric")

    monkeypatch.setattr(PathMetrics, "_factor", fail)
    with pytest.raises(DivergenceError, match=r"chain 0 diverged at sweep 1 \(no metric\)"):
        SoftplusClassifier(engine="cuda", **{**TINY, "moves": "mixed"}).fit(X, Y)


def test_time_that_is_spent_keeps_what_was_drawn(monkeypatch):
    """By a clock that advances with every sweep of a batch of two directions."""
    now = [0.0]
    monkeypatch.setattr(SoftplusClassifier, "_clock", staticmethod(lambda: now[0]))
    monkeypatch.setattr("pasb.sampling.budget.FEWEST_DRAWS", 1)
    settings = {**TINY, "order": [1, 0, 2], "engine": "cuda", "max_seconds": 2.5}

    def tick(info):
        now[0] = max(now[0], float(info.sweep))

    settings["callbacks"] = [tick]
    model = SoftplusClassifier(**settings).fit(X, Y)
    assert (model.draws_.ended, model.draws_.n_draws) == ("time", 1)
    assert model.draws_.order.shape[0] == 2
    here = SoftplusClassifier(**{**TINY, "order": [1, 0, 2], "n_draws": 1}).fit(X, Y)
    assert_same(here, model)
    now[0] = 0.0
    with pytest.raises(TimeBudgetError, match="after 1 of 2 sweeps of warm-up"):
        SoftplusClassifier(**{**settings, "max_seconds": 0.5}).fit(X, Y)


def test_draws_that_are_good_enough_end_the_run(monkeypatch):
    monkeypatch.setattr("pasb.sampling.lengthening.FIRST_MEETING", 1)
    fixed = {**TINY, "order": [1, 0, 2], "engine": "cuda", "direction": "forward"}
    seen = []

    def enough(self, draws):
        seen.append(draws.n_draws)
        return True

    monkeypatch.setattr(SoftplusClassifier, "_good_enough", enough)
    model = SoftplusClassifier(until={"ess": 100}, **fixed).fit(X, Y)
    assert seen == [1]
    assert (model.draws_.ended, model.draws_.n_draws) == ("until", 1)


def test_tables_of_different_lengths_share_a_batch():
    tables = [slice(0, 9), slice(0, 6)]
    models = [SoftplusClassifier(engine="cuda", **{**SHORT, "random_state": k}) for k in range(2)]
    fit_together(models, [X[own] for own in tables], [Y[own] for own in tables])
    for k, own in enumerate(tables):
        alone = SoftplusClassifier(**{**SHORT, "random_state": k}).fit(X[own], Y[own])
        assert_same(alone, models[k])


def test_guards_of_a_batch_belong_to_the_model_that_they_fired_in():
    """A prior with precisions below their bound, for the second of two tables."""
    wide = {**SHORT, "precision_rate": 1e14}
    models = [SoftplusClassifier(engine="cuda", **{**SHORT, "precision_rate": 8.0})]
    models += [SoftplusClassifier(engine="cuda", **wide)]
    fit_together(models, [X, X[:6]], [Y, Y[:6]])
    counts = [model.draws_.guards["bounded_precisions"] for model in models]
    alone = SoftplusClassifier(**wide).fit(X[:6], Y[:6]).draws_.guards["bounded_precisions"]
    assert counts[0] == 0
    assert counts[1] == alone > 0


def test_stacked_models():
    stacked = StackedSoftplusClassifier(engine="cuda", stack_sweeps=2, **SHORT)
    assert np.isfinite(stacked.fit(X, Y).predict_proba(X)).all()


def test_numbers_that_are_not_finite_end_the_run(monkeypatch):
    from pasb.engines.softplus_batch import SoftplusBatch

    right = SoftplusBatch.parameters

    def wrong(*names):
        return {name: values * np.inf for name, values in right(*names).items()}

    monkeypatch.setattr(SoftplusBatch, "parameters", wrong)
    with pytest.raises(DivergenceError, match=r"chain 0 .* is not finite"):
        SoftplusClassifier(engine="cuda", **SHORT).fit(X, Y)


def test_out_of_memory_says_what_fits(monkeypatch):
    from pasb.engines import softplus_arrays

    monkeypatch.setattr(softplus_arrays, "free_bytes", lambda xp: 300_000)
    many = SoftplusClassifier(engine="cuda", n_chains=500, order=[0, 1, 2])
    with pytest.raises(EngineError, match=r"1000 chains need .* chains fit"):
        many.fit(X, Y)


def test_the_printed_update_is_refused():
    from pasb.engines.cuda import CudaEngine

    rows = Rows.of(np.column_stack([np.ones(len(X)), X]), Y, 3)
    problem = Problem(rows, Softplus(), scheme="paper")
    with pytest.raises(EngineError, match=r"scheme='paper' needs engine='cpu'"):
        CudaEngine().chains([problem], Schedule(n_warmup=1, n_draws=1, thin=1, seed=0))
