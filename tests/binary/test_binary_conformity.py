"""The models of the package pass the conformity suite."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import Logistic
from pasb.binary.robit import Robit
from pasb.testing import (
    check_binary_model,
    check_fixed_order,
    check_sampled_order,
)


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Logistic(), id="logistic"),
        pytest.param(Robit(), id="robit", marks=pytest.mark.slow),
    ],
)
def test_right_models_pass(model, seed, level):
    report = check_binary_model(model, seed=seed, level=level)
    assert len(report.lines) == 8
    assert "check_fixed_order" in str(report)
    assert report.seconds > 0


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Robit(df=np.inf, precision=0.5), id="probit", marks=pytest.mark.slow),
        pytest.param(Robit(df=1, moves="gibbs"), id="cauchit-gibbs"),
    ],
)
def test_right_updates_pass(model, seed, level):
    check_fixed_order(model, seed=seed, level=level)


@pytest.mark.statistical(level=1e-6)
def test_plain_swaps_pass(seed, level):
    check_sampled_order(Robit(df=1, moves="gibbs"), seed=seed, level=level)
