"""Draws that do not fit into memory are refused, and absurd numbers of anything."""

from __future__ import annotations

import numpy as np
import pytest

import pasb
from pasb.sampling import draws

X, Y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3


@pytest.mark.parametrize(
    ("kind", "settings", "limit"),
    [
        (pasb.StickLogisticClassifier, {"n_draws": 10**12}, "1000000000"),
        (pasb.StickLogisticClassifier, {"n_warmup": 10**12}, "1000000000"),
        (pasb.StickLogisticClassifier, {"thin": 10**12}, "1000000000"),
        (pasb.StickLogisticClassifier, {"n_swaps": 10**12}, "1000000000"),
        (pasb.StickLogisticClassifier, {"n_chains": 10**9}, "10000"),
        (pasb.StickLogisticClassifier, {"n_jobs": 10**6}, "1024"),
        (pasb.StickSVMClassifier, {"n_jobs": 10**6}, "1024"),
        (pasb.SoftplusClassifier, {"n_experts": 10**6}, "1000"),
        (pasb.SoftplusClassifier, {"n_layers": 10**6}, "1000"),
        (pasb.StackedSoftplusClassifier, {"n_stacks": 10**6}, "1000"),
        (pasb.StackedSoftplusClassifier, {"last_layers": 10**6}, "1000"),
        (pasb.StackedSoftplusClassifier, {"stack_sweeps": 10**12}, "1000000000"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_absurd_settings_are_refused_with_the_limit(kind, settings, limit, monkeypatch):
    def no_work(self, rows):
        raise AssertionError("work began")

    monkeypatch.setattr(kind, "_fit_prior", no_work)
    ((name, value),) = settings.items()
    with pytest.raises(ValueError, match=rf"{name}.*{limit}\b.*{value}"):
        kind(**settings).fit(X, Y)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (pasb.StickLogisticClassifier, {"n_draws": 10**9}),
        (pasb.StickRobitClassifier, {"n_draws": 10**8, "n_chains": 10_000}),
        (pasb.SoftplusClassifier, {"n_experts": 1000, "n_layers": 1000, "n_draws": 10**6}),
    ],
)
def test_draws_that_do_not_fit_are_refused_before_any_work(kind, settings, monkeypatch):
    def no_work(self, rows):
        raise AssertionError("work began")

    monkeypatch.setattr(kind, "_fit_prior", no_work)
    with pytest.raises(ValueError, match=r"n_draws=\d+ would take .* GiB .* this machine has .*"):
        kind(**settings).fit(X, Y)


def test_the_limit_is_the_memory_of_the_machine(monkeypatch):
    model = pasb.Logistic()
    of_a_draw = 8 * 2 * (3 * (sum(np.prod(s) for s in model.shapes(4).values()) + 1) + 1)
    monkeypatch.setattr(draws, "memory", lambda: 100 * of_a_draw)
    draws.check_room(model, 4, 3, 2, 100)
    with pytest.raises(ValueError, match="at most 100 draws of each fit"):
        draws.check_room(model, 4, 3, 2, 101)


def test_a_machine_that_does_not_tell(monkeypatch):
    monkeypatch.setattr(draws, "memory", lambda: None)
    draws.check_room(pasb.Logistic(), 4, 3, 2, 10**15)


def test_memory_of_this_machine():
    found = draws.memory()
    assert found is None or 2**28 < found < 2**50
