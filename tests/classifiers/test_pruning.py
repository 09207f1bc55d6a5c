"""Softplus models that turn off the experts that they do not need."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from tests.classifiers.small_softplus import LABELS, NEW, Y, assert_same_draws, fit

from pasb import Softplus
from pasb.binary import softplus_sampler
from pasb.numerics.rows import Rows

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
PATIENCE = 6


@pytest.fixture
def impatient(monkeypatch):
    """Experts are turned off after a few sweeps."""
    monkeypatch.setattr(softplus_sampler, "PRUNED_AFTER", PATIENCE)


class TestPruning:
    SETTINGS: ClassVar[dict] = {
        "n_experts": 6,
        "n_warmup": 0,
        "n_draws": 60,
        "order": LABELS,
        "moves": "gibbs",
        "prune": True,
    }

    def test_changes_nothing_before_an_expert_is_turned_off(self, monkeypatch):
        settings = self.SETTINGS | {"n_draws": 30}
        assert_same_draws(
            fit(**settings | {"prune": False}),
            fit(**{name: value for name, value in settings.items() if name != "prune"}),
        )
        assert_same_draws(fit(**settings), fit(**settings | {"prune": False}))
        monkeypatch.setattr(softplus_sampler, "PRUNED_AFTER", 10**9)
        long = self.SETTINGS | {"n_draws": 150, "n_chains": 1}
        assert_same_draws(fit(**long), fit(**long | {"prune": False}))

    @pytest.mark.usefixtures("impatient")
    def test_turns_idle_experts_off_for_good(self):
        draws = fit(**self.SETTINGS).draws_
        n_off = 0
        for chain in range(4):
            for category in (0, 1):
                active = draws.parameters["active"][chain, :, category] > 0
                weight = draws.parameters["weight"][chain, :, category]
                idle, off = np.zeros(6), np.zeros(6, dtype=bool)
                for sweep in range(draws.n_draws):
                    assert (idle >= PATIENCE)[off].all()
                    off = idle >= PATIENCE
                    assert not off.all()  # every class has rows, and they need an expert
                    assert (weight[sweep, off] == 0).all()
                    assert (weight[sweep, ~off] > 0).all()
                    assert not active[sweep, off].any()
                    idle = np.where(active[sweep], 0, idle + 1)
                n_off += off.sum()
        assert n_off > 4
        assert np.isfinite(draws.log_likelihood).all()

    @pytest.mark.usefixtures("impatient")
    def test_nothing_is_turned_off_unless_asked(self):
        assert (fit(**self.SETTINGS | {"prune": False}).draws_.parameters["weight"] > 0).all()
        assert (fit(**self.SETTINGS).draws_.parameters["weight"] == 0).any()

    def test_one_expert_always_stays(self):
        rows = Rows.of(np.ones((4, 1)), np.arange(4) % 2, 2)
        sampler = Softplus(n_experts=3, n_layers=1, prune=True).sampler(rows)
        weight = np.array([0.1, 0.7, 0.2])
        for idle, expected in [
            ([99, 100, 101], [False, True, True]),
            ([100, 100, 100], [True, False, True]),
            ([0, 0, 0], [False] * 3),
        ]:
            own = {"idle": np.array(idle, dtype=float), "weight": weight}
            assert sampler._pruned(own).tolist() == expected
        off = (
            Softplus(n_experts=3, n_layers=1).sampler(rows)._pruned(own | {"idle": np.full(3, 1e6)})
        )
        assert not off.any()

    @pytest.mark.usefixtures("impatient")
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_class_without_rows(self, direction):
        """No row ever needs its experts (forward), or all do (reverse)."""
        seen = []
        settings = self.SETTINGS | {"direction": direction}
        settings["callbacks"] = [lambda info: seen.append(info.log_likelihood)]
        model = fit(sample_weight=(Y != "ash").astype(float), **settings)
        assert len(seen) == 2 * 60
        assert np.isfinite(seen).all()
        assert np.isfinite(model.predict_proba(NEW)).all()
        left = (model.draws_.parameters["weight"][:, :, 0] > 0).sum(axis=2)
        assert (left >= 1).all()
        if direction == "forward":
            assert (left[:, -1] == 1).all()

    @pytest.mark.usefixtures("impatient")
    @pytest.mark.parametrize("order", [LABELS, "infer"], ids=["fixed", "inferred"])
    def test_survives_a_checkpoint(self, order, tmp_path):
        settings = self.SETTINGS | {"order": order}
        for sweep in (5, 9, 30):
            fit(checkpoint=tmp_path, callbacks=[lambda i, s=sweep: i.sweep == s], **settings)
        assert_same_draws(fit(checkpoint=tmp_path, **settings), fit(**settings))
