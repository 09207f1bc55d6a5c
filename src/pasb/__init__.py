"""Bayesian multinomial regression by permuted and augmented stick breaking.

The public names load on first use, so that ``import pasb`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.2.0"

_HOMES = {
    "AvailabilityScorer": "pasb.posterior.availability_scorer",
    "StickBreakingClassifier": "pasb.classifiers.general",
    "StickEnsembleClassifier": "pasb.classifiers.stick_ensemble",
    "StickLogisticClassifier": "pasb.classifiers.logistic_classifier",
    "StickRobitClassifier": "pasb.classifiers.robit_classifier",
    "StickSVMClassifier": "pasb.classifiers.svm_classifier",
    "SoftplusClassifier": "pasb.classifiers.softplus_classifier",
    "SoftplusFeatures": "pasb.classifiers.features",
    "StackedSoftplusClassifier": "pasb.classifiers.stacked",
    "ConvergenceWarning": "pasb.errors",
    "ModelReport": "pasb.report",
    "CustomBinary": "pasb.binary",
    "Horseshoe": "pasb.covariates.named_priors",
    "Logistic": "pasb.binary",
    "Normal": "pasb.covariates.named_priors",
    "Robit": "pasb.binary",
    "RowBlocks": "pasb.engines.row_blocks",
    "Softplus": "pasb.binary",
    "SupportVector": "pasb.binary",
    "StudentT": "pasb.covariates.named_priors",
    "TableEncoder": "pasb.covariates.table_encoder",
    "StackedPosterior": "pasb.posterior.stacked_posterior",
    "check_fit": "pasb.posterior.fit_check",
    "compare": "pasb.posterior.comparison",
    "fit": "pasb.classifiers.formula",
    "fit_together": "pasb.classifiers.together",
    "load": "pasb.classifiers.model_file",
    "order_evidence": "pasb.classifiers.order_evidence",
    "save": "pasb.classifiers.model_file",
}
_MODULES = (
    *("binary", "choice", "datasets", "effects", "errors", "orders", "plots", "sticks"),
    *("testing", "variates"),
)

__all__ = [
    "AvailabilityScorer",
    "ConvergenceWarning",
    "CustomBinary",
    "Horseshoe",
    "Logistic",
    "ModelReport",
    "Normal",
    "Robit",
    "RowBlocks",
    "Softplus",
    "SoftplusClassifier",
    "SoftplusFeatures",
    "StackedPosterior",
    "StackedSoftplusClassifier",
    "StickBreakingClassifier",
    "StickEnsembleClassifier",
    "StickLogisticClassifier",
    "StickRobitClassifier",
    "StickSVMClassifier",
    "StudentT",
    "SupportVector",
    "TableEncoder",
    "binary",
    "check_fit",
    "choice",
    "compare",
    "datasets",
    "effects",
    "errors",
    "fit",
    "fit_together",
    "load",
    "order_evidence",
    "orders",
    "plots",
    "save",
    "sticks",
    "testing",
    "variates",
]

if TYPE_CHECKING:
    from pasb.binary import CustomBinary, Logistic, Robit, Softplus, SupportVector
    from pasb.classifiers.features import SoftplusFeatures
    from pasb.classifiers.formula import fit
    from pasb.classifiers.general import StickBreakingClassifier
    from pasb.classifiers.logistic_classifier import StickLogisticClassifier
    from pasb.classifiers.model_file import load, save
    from pasb.classifiers.order_evidence import order_evidence
    from pasb.classifiers.robit_classifier import StickRobitClassifier
    from pasb.classifiers.softplus_classifier import SoftplusClassifier
    from pasb.classifiers.stacked import StackedSoftplusClassifier
    from pasb.classifiers.stick_ensemble import StickEnsembleClassifier
    from pasb.classifiers.svm_classifier import StickSVMClassifier
    from pasb.classifiers.together import fit_together
    from pasb.covariates.named_priors import Horseshoe, Normal, StudentT
    from pasb.covariates.table_encoder import TableEncoder
    from pasb.engines.row_blocks import RowBlocks
    from pasb.errors import ConvergenceWarning
    from pasb.posterior.availability_scorer import AvailabilityScorer
    from pasb.posterior.comparison import compare
    from pasb.posterior.fit_check import check_fit
    from pasb.posterior.stacked_posterior import StackedPosterior
    from pasb.report import ModelReport


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"pasb.{name}")
    raise AttributeError(f"module 'pasb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
