"""Fit a model, with our prior where the paper's breaks down."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.paper.table_models import Run


def fitted_model(
    run: Run, make: Callable[[Run], Any], X: NDArray[np.float64], y: NDArray
) -> tuple[Any, str]:
    """Make and fit a model.

    Under the printed algorithm with the paper's nearly improper priors, coefficients can run
    away until numbers are not finite. Then the model is fitted again, by the printed algorithm
    with our prior.

    Returns
    -------
    model, prior
        The second is "ours" where the paper's prior broke down, or was not asked for.
    """
    try:
        model = make(run)
        return model.fit(X, y), run.prior if run.scheme == "paper" else "ours"
    except (ArithmeticError, np.linalg.LinAlgError):
        if run.scheme != "paper" or run.prior == "ours":
            raise
    if run.checkpoint is not None:
        shutil.rmtree(run.checkpoint, ignore_errors=True)
    return fitted_model(run._replace(prior="ours"), make, X, y)
