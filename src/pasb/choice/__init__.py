"""What students of choices ask: shares, elasticities, diversion, willingness to pay, substitution.

Every answer is a tidy data frame with the posterior mean (``estimate``) and a credible interval
(``lower``, ``upper``) of a quantity, computed draw by draw. [Choices](../choice.md) has worked
examples.
"""

from __future__ import annotations

from pasb.choice.elasticities import elasticities
from pasb.choice.irrelevant import iia_test, probability_ratio
from pasb.choice.shares import diversion, share_changes, shares
from pasb.choice.worth import willingness_to_pay
from pasb.classifiers.choice_classifier import StickChoiceClassifier
from pasb.covariates.choice_data import ChoiceData

__all__ = [
    "ChoiceData",
    "StickChoiceClassifier",
    "diversion",
    "elasticities",
    "iia_test",
    "probability_ratio",
    "share_changes",
    "shares",
    "willingness_to_pay",
]
