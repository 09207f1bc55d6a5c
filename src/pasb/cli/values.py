"""What options can be that take one of a few words."""

from __future__ import annotations

from enum import StrEnum


class Model(StrEnum):
    """What sits on the sticks."""

    logistic = "logistic"
    robit = "robit"
    svm = "svm"
    softplus = "softplus"
    stacked = "stacked"


class Scheme(StrEnum):
    """How orders are sampled."""

    exact = "exact"
    paper = "paper"


class Scale(StrEnum):
    """How covariates are scaled inside the model."""

    standard = "standard"
    range = "range"
    none = "none"


class Missing(StrEnum):
    """What becomes of gaps."""

    indicator = "indicator"
    drop = "drop"
    error = "error"


class Decimal(StrEnum):
    """The sign before the fraction of a number."""

    auto = "auto"
    point = "."
    comma = ","


class ClassWeight(StrEnum):
    """Weights of the classes."""

    balanced = "balanced"


class Storage(StrEnum):
    """In which covariates are kept, where rows are in blocks."""

    float64 = "float64"
    float32 = "float32"
