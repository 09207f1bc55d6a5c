"""A classifier at the end of scikit-learn pipelines, and the steps before it."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline


def split_off_last(model: Any) -> tuple[Any, Pipeline | None]:
    """The last step of a pipeline and the steps before it, if any; another model as it is."""
    if not isinstance(model, Pipeline):
        return model, None
    return model.steps[-1][1], model[:-1] if len(model.steps) > 1 else None


def unpiped(model: Any, X: Any = None) -> tuple[Any, Any]:
    """The classifier at the end of pipelines, and the table that it sees of `X`."""
    while isinstance(model, Pipeline):
        model, before = split_off_last(model)
        if before is not None and X is not None:
            X = before.transform(X)
    return model, X
