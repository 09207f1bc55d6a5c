"""The classifiers of the package by short names, with settings from a command line."""

from __future__ import annotations

import ast
import warnings

import pasb

STICK_MODELS: dict[str, tuple[str, dict]] = {
    "StickLogistic": ("StickLogisticClassifier", {}),
    "StickRobit": ("StickRobitClassifier", {}),
    "StickSVM-linear": ("StickSVMClassifier", {"kernel": "linear"}),
    "StickSVM": ("StickSVMClassifier", {}),
    "Softplus": ("SoftplusClassifier", {}),
    "StackedSoftplus": ("StackedSoftplusClassifier", {}),
}


def parsed(pairs: list[str]) -> dict:
    """Settings from ``name=value``; a value that is no Python literal is text."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SystemExit(f"a setting is name=value, not {pair!r}")
        try:
            settings[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            settings[name] = value
    return settings


def stick_model(name: str, settings: dict, seed: int, threads: int):
    """A classifier that is not fitted; ValueError for a setting that it does not have."""
    kind, own = STICK_MODELS[name]
    fixed = {"random_state": seed, "n_jobs": threads, "progress": False}
    return getattr(pasb, kind)(**own).set_params(**{**fixed, **settings})


def load_kernels(name: str, settings: dict) -> None:
    """Load the compiled code by a tiny fit, so that no fit that is timed does."""
    part = pasb.datasets.load("iris").partition(0)
    model = stick_model(name, settings, seed=0, threads=1)
    short: dict = {"n_warmup": 40, "n_draws": 8, "n_chains": 1, "stack_sweeps": 8}
    if name == "StickSVM":
        short["width"] = 0.25
    if not isinstance(settings.get("order", ""), str):  # one of other classes
        short["order"] = "infer"
    model.set_params(**{key: value for key, value in short.items() if key in model.get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(part.X_train[::2], part.y_train[::2]).predict_proba(part.X_test)
