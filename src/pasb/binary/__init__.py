"""Binary regressions that become multinomial ones: one model a file, all alike.

A model loads on first use, so that a fit pays only for the one it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    "BinaryModel": "binary_model",
    "BinarySampler": "binary_model",
    "CustomBinary": "custom",
    "Logistic": "logistic",
    "Robit": "robit",
    "Softplus": "softplus",
    "SupportVector": "support_vector",
}

__all__ = [
    "BinaryModel",
    "BinarySampler",
    "CustomBinary",
    "Logistic",
    "Robit",
    "Softplus",
    "SupportVector",
]

if TYPE_CHECKING:
    from pasb.binary.binary_model import BinaryModel, BinarySampler
    from pasb.binary.custom import CustomBinary
    from pasb.binary.logistic import Logistic
    from pasb.binary.robit import Robit
    from pasb.binary.softplus import Softplus
    from pasb.binary.support_vector import SupportVector


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(f"pasb.binary.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pasb.binary' has no attribute {name!r}")
