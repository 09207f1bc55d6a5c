"""Binary regressions that become multinomial ones: one file a model, all alike."""

from pasb.binary.base import BinaryModel, BinarySampler
from pasb.binary.logistic import Logistic

__all__ = ["BinaryModel", "BinarySampler", "Logistic"]
