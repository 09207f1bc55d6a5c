"""The settings of every classifier agree with the one place that describes them."""

from __future__ import annotations

import inspect
import re

import joblib
import numpy as np
import pytest

import pasb
from pasb.choice import StickChoiceClassifier
from pasb.classifiers.choice_classifier import CHOICE_RUN
from pasb.classifiers.settings import NAMED_PRIORS, OTHER_DEFAULTS, PARTED, PRIOR, RUN, WEIGHTS
from pasb.numerics.helpers import cores

# the groups of settings that a classifier shares with others, the run last
GROUPS = {
    pasb.StickBreakingClassifier: (WEIGHTS, RUN),
    pasb.StickLogisticClassifier: (WEIGHTS, PRIOR, NAMED_PRIORS, PARTED, RUN),
    pasb.StickRobitClassifier: (PRIOR, NAMED_PRIORS, PARTED, RUN),
    pasb.StickSVMClassifier: (WEIGHTS, RUN),
    pasb.SoftplusClassifier: (RUN,),
    pasb.StackedSoftplusClassifier: (RUN,),
    StickChoiceClassifier: (PRIOR, CHOICE_RUN),
}
CLASSIFIERS = list(GROUPS)
# settings of the same name that mean something else there: of another prior, of another engine
OTHER_MEANING = {
    pasb.StickSVMClassifier: {*PRIOR, *PARTED},
    pasb.SoftplusClassifier: {*PRIOR, *PARTED},
    pasb.StackedSoftplusClassifier: {*PRIOR, *PARTED},
    StickChoiceClassifier: set(NAMED_PRIORS),
}
CASES = [
    (kind, name, setting)
    for kind, groups in GROUPS.items()
    for group in groups
    for name, setting in group.items()
]
IDS = [f"{kind.__name__}-{name}" for kind, name, _ in CASES]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_no_group_is_left_out(kind):
    """Every parameter that has the name of a shared setting is held to it."""
    shared = {name for group in (RUN, PRIOR, NAMED_PRIORS, PARTED, WEIGHTS) for name in group}
    held = {name for group in GROUPS[kind] for name in group}
    parameters = set(inspect.signature(kind).parameters)
    assert held <= parameters
    assert (shared & parameters) - held == OTHER_MEANING.get(kind, set())


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
    run = list(GROUPS[kind][-1])
    assert list(inspect.signature(kind).parameters)[-len(run) :] == run


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_settings_are_checked_without_a_table(kind):
    kind().check_settings()
    for wrong, message in (({"n_chains": 0}, "n_chains"), ({"n_jobs": 0}, "n_jobs must not be 0")):
        with pytest.raises(ValueError, match=message):
            kind(**wrong).check_settings()


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
