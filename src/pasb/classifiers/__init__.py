"""scikit-learn classifiers, one a file, all made from `StickBreakingClassifier`."""

from pasb.classifiers.general import StickBreakingClassifier
from pasb.classifiers.logistic import StickLogisticClassifier
from pasb.classifiers.robit import StickRobitClassifier

__all__ = ["StickBreakingClassifier", "StickLogisticClassifier", "StickRobitClassifier"]
