"""Binary regressions that become multinomial ones: one model a file, all alike."""

from pasb.binary.base import BinaryModel, BinarySampler
from pasb.binary.custom import CustomBinary
from pasb.binary.logistic import Logistic
from pasb.binary.robit import Robit
from pasb.binary.softplus import Softplus

__all__ = ["BinaryModel", "BinarySampler", "CustomBinary", "Logistic", "Robit", "Softplus"]
