"""What a table says of the parameters on a stick: coefficients, or what stands for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus import Softplus, active_experts
from pasb.posterior.fitted import Fitted

Parameters = dict[str, NDArray[np.float64]]


class Contents(NamedTuple):
    """What is on a stick.

    Attributes
    ----------
    title : {"feature", "quantity"}
    names : list of str
    values : callable
        From the parameters of a category, (draws, ...), to values (draws, names).
    """

    title: str
    names: list[str]
    values: Callable[[Parameters], NDArray[np.float64]]


def contents_of(fitted: Fitted) -> Contents:
    """Coefficients on the scale of X; of softplus sticks what does not depend on labels of experts.

    The coefficients of an expert mean nothing by themselves: experts change places.
    """
    binary = fitted.binary
    if isinstance(binary, Softplus):
        names = ["active experts", "weight", *(["mean rate"] if binary.shares_rate else [])]
        return Contents("quantity", names, _of_experts)
    if not fitted.has_coefficients:
        raise NotImplementedError(
            f"summary() needs a binary model with one coefficient vector for each stick; "
            f"{type(binary).__name__} has none. Its parameters are in posterior_, n_hyperplanes() "
            "counts what it uses, and pasb.effects tell what covariates do to class probabilities"
        )

    def of_coefficients(own: Parameters) -> NDArray[np.float64]:
        intercept, slopes = fitted.scaling.intercept_and_slopes(own["coef"])
        return np.concatenate([intercept[..., None], slopes], axis=-1)

    return Contents("feature", ["(intercept)", *fitted.feature_names], of_coefficients)


def _of_experts(own: Parameters) -> NDArray[np.float64]:
    columns = [active_experts(own), own["weight"].sum(axis=-1)]
    if "mean_rate" in own:
        columns.append(own["mean_rate"])
    return np.stack(columns, axis=-1).astype(np.float64)
