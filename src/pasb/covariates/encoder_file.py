"""A fitted table encoder as JSON, for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pasb.covariates.column_plans import NumberPlan, from_json, to_json
from pasb.covariates.table_encoder import TableEncoder
from pasb.covariates.tables import twice


def encoder_to_json(encoder: TableEncoder) -> dict[str, Any]:
    """All that a file holds of an encoder."""
    check_is_fitted(encoder, "plans_")
    parameters = {
        key: list(value) if isinstance(value, tuple | set | frozenset) else value
        for key, value in encoder.get_params().items()
    }
    return {
        "parameters": parameters,
        "has_names": hasattr(encoder, "feature_names_in_"),
        "plans": [to_json(plan) for plan in encoder.plans_],
        "remarks": [encoder.remarks_.get(plan.name, "") for plan in encoder.plans_],
    }


def encoder_from_json(stored: dict[str, Any]) -> TableEncoder:
    """An encoder from a file of unknown origin; ValueError for what is none."""
    if stored.keys() != {"parameters", "has_names", "plans", "remarks"}:
        raise ValueError("the encoder of the table is incomplete")
    encoder = TableEncoder(**stored["parameters"])
    encoder.choices()
    plans = [from_json(plan) for plan in stored["plans"]]
    names, remarks = [plan.name for plan in plans], stored["remarks"]
    if not isinstance(remarks, list) or len(remarks) != len(plans) or twice(names):
        raise ValueError("the columns of the table are not told apart")
    if not all(isinstance(remark, str) for remark in remarks):
        raise ValueError("the columns of the table are described in an impossible way")
    if stored["has_names"] is not True and names != [f"x{k}" for k in range(len(names))]:
        raise ValueError("the columns of an array have no names")
    encoder.plans_, encoder.n_features_in_ = plans, len(plans)
    encoder.remarks_ = dict(zip(names, remarks, strict=True))
    if stored["has_names"] is True:
        encoder.feature_names_in_ = np.array(names, dtype=object)
    return encoder


def encoder_of_numbers(names: Sequence[str]) -> TableEncoder:
    """An encoder that reads columns as plain numbers and refuses gaps in them."""
    encoder = TableEncoder(numeric=list(names), missing="error")
    encoder.plans_ = [NumberPlan(name, "point", 0.0, refuse_gaps=True) for name in names]
    encoder.remarks_, encoder.n_features_in_ = {}, len(encoder.plans_)
    encoder.feature_names_in_ = np.array(list(names), dtype=object)
    return encoder
