"""The settings of every classifier agree with the one place that describes them."""

from __future__ import annotations

import inspect
import re

import joblib
import numpy as np
import pytest

import pasb
from pasb.classifiers.settings import OTHER_DEFAULTS, PRIOR, RUN, WEIGHTS
from pasb.numerics.helpers import cores

CLASSIFIERS = [
    pasb.StickBreakingClassifier,
    pasb.StickLogisticClassifier,
    pasb.StickRobitClassifier,
    pasb.StickSVMClassifier,
    pasb.SoftplusClassifier,
    pasb.StackedSoftplusClassifier,
]
WITH_PRIOR = [pasb.StickLogisticClassifier, pasb.StickRobitClassifier]
WITH_WEIGHTS = [
    pasb.StickLogisticClassifier,
    pasb.StickBreakingClassifier,
    pasb.StickSVMClassifier,
]
CASES = [(kind, name, RUN[name]) for kind in CLASSIFIERS for name in RUN]
CASES += [(kind, name, PRIOR[name]) for kind in WITH_PRIOR for name in PRIOR]
CASES += [(kind, name, WEIGHTS[name]) for kind in WITH_WEIGHTS for name in WEIGHTS]
IDS = [f"{kind.__name__}-{name}" for kind, name, _ in CASES]


@pytest.mark.parametrize(("kind", "name", "setting"), CASES, ids=IDS)
def test_signature_constraint_and_docstring(kind, name, setting):
    default = OTHER_DEFAULTS.get(kind.__name__, {}).get(name, setting.default)
    parameter = inspect.signature(kind).parameters[name]
    assert parameter.default == default
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert kind._parameter_constraints[name] == setting.constraint
    assert f"\n{setting.entry(name, default)}\n" in inspect.getdoc(kind)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, pasb.SoftplusFeatures])
def test_every_parameter_is_described_and_constrained(kind):
    parameters = list(inspect.signature(kind).parameters)
    assert set(kind._parameter_constraints) == set(parameters)
    section = inspect.getdoc(kind).split("Parameters\n")[1].split("Attributes\n")[0]
    entries = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, flags=re.MULTILINE)
    assert [name for entry in entries for name in entry.split(", ")] == parameters


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_settings_of_a_run_come_last_and_in_one_order(kind):
    assert list(inspect.signature(kind).parameters)[-len(RUN) :] == list(RUN)


class TestThreads:
    def test_as_in_scikit_learn(self):
        assert cores(None) == 1
        assert cores(3) == 3
        assert cores(-1) == joblib.cpu_count()
        assert cores(-10_000) == 1
        with joblib.parallel_config(backend="threading", n_jobs=3):
            assert cores(None) == 3
            assert cores(2) == 2

    @pytest.mark.parametrize("method", ["fit", "predict_proba"])
    def test_zero_is_refused(self, method):
        X, y = np.arange(8.0)[:, None], np.arange(8) % 2
        model = pasb.StickLogisticClassifier(n_chains=1, n_warmup=2, n_draws=4, random_state=0)
        with pytest.warns(pasb.ConvergenceWarning):
            model.fit(X, y)
        model.set_params(n_jobs=0)
        with pytest.raises(ValueError, match="n_jobs must not be 0"):
            model.fit(X, y) if method == "fit" else model.predict_proba(X)
