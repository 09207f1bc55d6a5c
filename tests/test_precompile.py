"""``python -m pasb.precompile``: what it compiles is what fits need, and it says what it does."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pasb import precompile

NOTHING = precompile.Done(0, 0.0)

# what fits, predictions and reports need beyond what was compiled, with other tables and settings
COVERED = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import pasb
from pasb import precompile
from pasb.sampling.compilation import compilation
import gc
from numba.core.dispatcher import Dispatcher

def compiled():
    return {
        (d.py_func.__module__, d.py_func.__qualname__, str(s))
        for d in gc.get_objects() if isinstance(d, Dispatcher)
        and d.py_func.__module__.startswith("pasb.")
        for s in d.signatures
    }

model = sys.argv[1]
precompile.precompile([model], n_processes=1)
before = compiled()
rng = np.random.default_rng(1)
settings = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "random_state": 1, "n_jobs": 2}
kinds = {
    "logistic": (pasb.StickLogisticClassifier, {}),
    "robit": (pasb.StickRobitClassifier, {}),
    "softplus": (pasb.SoftplusClassifier, {}),
    "svm": (pasb.StickSVMClassifier, {"cv_widths": [0.1, 1.0], "cv_folds": 2}),
    "stacked": (pasb.StackedSoftplusClassifier, {"stack_sweeps": 10}),
}
if model == "choice":
    import pandas as pd
    from pasb.choice import ChoiceData, StickChoiceClassifier
    n, names = 90, ["bus", "car", "train", "walk"]
    frame = pd.DataFrame({"mode": np.array(names)[np.arange(n) % 4], "who": np.arange(n) // 3})
    for name in names:
        frame[f"price_{name}"] = rng.normal(size=n)
        frame[f"{name}_here"] = (frame["mode"] == name) | (rng.random(n) < 0.7)
    def choices(**own):
        return ChoiceData.from_wide(
            frame, choice="mode", alternatives=names, covariates=["price"], **own)
    for data, order in (
        (choices(), "infer"),
        (choices(availability="{alternative}_here"), "infer"),
        (choices(availability="{alternative}_here"), names),
        (choices(availability="{alternative}_here", person="who"), names),
    ):
        fitted = StickChoiceClassifier(order=order, **settings).fit(data)
        fitted.predict_proba(data), fitted.predict_frame(data), fitted.posterior_
tables = ((2, 60, 3), (4, 90, 5)) if model in kinds else ()
for n_classes, n_rows, n_columns in tables:
    kind, own = kinds[model]
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns)) + y[:, None]
    weighs = model in ("logistic", "svm")
    weights = rng.uniform(0.5, 2, n_rows) if weighs else rng.integers(2, size=n_rows)
    fitted = kind(**settings, **own).fit(X, y, sample_weight=weights)
    fitted.predict_proba(X), fitted.sample_proba(X[:3]), fitted.order_in_words(), fitted.posterior_
print(json.dumps(sorted(map(list, compiled() - before))))
"""


@pytest.mark.parametrize(
    "model",
    [  # stacks are of softplus sticks, and robit is checked beside logistic when calibrating
        pytest.param(model, marks=pytest.mark.slow) if model in ("softplus", "robit") else model
        for model in precompile.MODELS
    ],
)
def test_fits_compile_nothing_more(model):
    done = subprocess.run(
        [sys.executable, "-c", COVERED, model], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_every_model_of_the_command_line_is_there():
    from pasb.cli import Model

    assert set(precompile.MODELS) == {model.value for model in Model} | {"choice"}
    assert {model for model, _ in precompile.FITS} == set(precompile.MODELS)
    for model, settings in (*precompile.FITS, *precompile.PAPER):
        precompile.classifier(model, settings).check_settings()


class TestCommand:
    def test_says_what_it_does(self, capsys, monkeypatch):
        asked = []

        def fit(model, settings):
            asked.append(model)
            return precompile.Done(3, 2.0) if "order" in settings else NOTHING

        monkeypatch.setattr(precompile, "fit", fit)
        assert precompile.main(["logistic", "robit", "--jobs", "1"]) == 0
        shown = capsys.readouterr()
        assert set(asked) == {"logistic", "robit"}
        assert shown.err.startswith("Compiling the kernels of logistic, robit ...\n")
        assert "logistic (order=[2, 0, 1]): 3 functions, 2 s" in shown.err
        assert "Compiled 3 functions in" in shown.err
        assert shown.out == ""

    def test_nothing_to_do(self, capsys, monkeypatch):
        monkeypatch.setattr(precompile, "fit", lambda *own: NOTHING)
        precompile.main(["--jobs", "1"])
        assert "All were compiled already." in capsys.readouterr().err

    def test_the_printed_algorithm_is_compiled_where_it_is_asked_for(self, monkeypatch):
        asked = []
        monkeypatch.setattr(precompile, "fit", lambda *own: (asked.append(own), NOTHING)[1])
        precompile.main(["svm", "--jobs", "1"])
        assert not any(settings.get("scheme") == "paper" for _, settings in asked)
        precompile.main(["svm", "--jobs", "1", "--paper"])
        assert any(settings.get("scheme") == "paper" for _, settings in asked)

    def test_code_that_cannot_be_kept_is_a_failure(self, capsys, monkeypatch):
        monkeypatch.setattr(precompile, "fit", lambda *own: precompile.Done(3, 1.0, False))
        assert precompile.main(["svm", "--jobs", "1"]) == 1
        assert "Error: compiled code cannot be kept" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [(["probit"], "'probit' is no model: choose from"), (["--jobs", "0"], "from 1 to 64")],
    )
    def test_bad_arguments(self, capsys, arguments, part):
        with pytest.raises(SystemExit) as raised:
            precompile.main(arguments)
        assert raised.value.code == 2
        assert part in capsys.readouterr().err

    def test_processes(self):
        """Two of them, from the cache that is there."""
        done = subprocess.run(
            [sys.executable, "-m", "pasb.precompile", "logistic", "--jobs", "2"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Compiling the kernels of logistic" in done.stderr
