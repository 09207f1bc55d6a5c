"""What is calibrated: every binary model and construction under the exact scheme."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from calibration.replicates import Scenario
from pasb.binary import Logistic, Robit, Softplus
from pasb.binary.binary_model import BinaryModel
from pasb.binary.choice_logistic import ChoiceLogistic
from pasb.binary.panel_logistic import PanelLogistic

GUIDE = Path(__file__).parents[1] / "docs" / "binary_models.md"
PRIOR: dict[str, Any] = {"shape": 3.0, "rate": 3.0}  # coefficients: t, 6 df, scale 1
# weights that data can tell from zero; the default lets gamma_0 go to 1e-10, where chains of
# some hundred sweeps do not come back
PROCESS = {
    "mass_shape": 3.0,
    "mass_rate": 1.5,
    "inverse_scale_shape": 3.0,
    "inverse_scale_rate": 3.0,
}


@cache
def worked_examples() -> dict[str, type[BinaryModel]]:
    """The users' models that docs/binary_models.md defines, as they stand there."""
    names: dict[str, Any] = {"__name__": "worked_examples"}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL):
        if "(CustomBinary):" in block:
            exec(compile(block, str(GUIDE), "exec"), names)
    return {name: names[name] for name in ("Probit", "ComplementaryLogLog")}


def own_probit() -> BinaryModel:
    """The user's model with data augmentation."""
    return worked_examples()["Probit"](shape=3.0, rate=3.0)  # type: ignore[call-arg]


def own_cloglog() -> BinaryModel:
    """The user's model with slice sampling, which is not symmetric."""
    return worked_examples()["ComplementaryLogLog"](prior_sd=1.0, n_moves=1)  # type: ignore[call-arg]


def logistic() -> BinaryModel:
    """With proposals."""
    return Logistic(**PRIOR)


def logistic_gibbs() -> BinaryModel:
    """As in the paper."""
    return Logistic(moves="gibbs", **PRIOR)


def logistic_normal() -> BinaryModel:
    """Normal coefficients."""
    return Logistic(precision=1.0)


def choice() -> BinaryModel:
    """A generic and a specific covariate of alternatives."""
    return ChoiceLogistic(n_alternatives=3, generic=(True, False), **PRIOR)


def panel() -> BinaryModel:
    """The same for six persons."""
    own = {"n_persons": 6, "person_scale": 1.0}
    return PanelLogistic(n_alternatives=3, generic=(True, False), **PRIOR, **own)


def robit() -> BinaryModel:
    """Six degrees of freedom."""
    return Robit(df=6.0, **PRIOR)


def robit_gibbs() -> BinaryModel:
    """Without proposals."""
    return Robit(df=6.0, moves="gibbs", **PRIOR)


def probit() -> BinaryModel:
    """Infinite degrees of freedom."""
    return Robit(df=np.inf, **PRIOR)


def softplus_1_1() -> BinaryModel:
    """One expert, one layer."""
    return Softplus(n_experts=1, n_layers=1, **PRIOR, **PROCESS)


def softplus_2_2() -> BinaryModel:
    """Two experts of two layers."""
    return Softplus(n_experts=2, n_layers=2, **PRIOR, **PROCESS)


def softplus_default() -> BinaryModel:
    """As classifiers have it: trajectories, paths between orders, a sampled scale that moves."""
    return Softplus(n_experts=2, n_layers=2, shape=3.0, rate="shared", moves="mixed", **PROCESS)


def softplus_rates() -> BinaryModel:
    """With a prior of the rates, as in the paper but proper."""
    return Softplus(n_experts=2, n_layers=1, shape=3.0, rate=(3.0, 1.0), **PROCESS)


def _four(title: str, model, n_replicates: int, thin: int, thin_fixed: int) -> list[Scenario]:
    """Fixed and sampled order, forward and reverse, marginal and augmented sticks."""
    out = []
    for direction, augmented in (("forward", False), ("reverse", True)):
        sticks = "augmented" if augmented else "marginal"
        for fixed in (True, False):
            order = "fixed" if fixed else "sampled"
            out.append(
                Scenario(
                    f"{title}, {direction}, {sticks} sticks, {order} order",
                    model,
                    n_replicates,
                    thin_fixed if fixed else thin,
                    direction,  # type: ignore[arg-type]
                    augmented,
                    fixed,
                )
            )
    return out


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in [
        *_four("logistic", logistic, 600, 4, 3),
        Scenario(
            "logistic, forward, augmented sticks, sampled order", logistic, 600, 4, augmented=True
        ),
        Scenario("logistic, reverse, marginal sticks, sampled order", logistic, 600, 4, "reverse"),
        *_four("logistic by Gibbs", logistic_gibbs, 300, 25, 10),
        Scenario("logistic, normal coefficients, sampled order", logistic_normal, 600, 4),
        Scenario("logistic, random availability", logistic, 600, 4, patterns=True),
        Scenario(
            "logistic, random availability, reverse, fixed order",
            logistic,
            300,
            3,
            "reverse",
            fixed=True,
            patterns=True,
        ),
        Scenario("softplus, random availability", softplus_1_1, 200, 25, patterns=True),
        Scenario(
            "softplus by default moves, random availability",
            softplus_default,
            200,
            12,
            patterns=True,
        ),
        Scenario("choice, covariates of alternatives", choice, 300, 12, n_covariates=2),
        Scenario(
            "choice, covariates of alternatives, random availability",
            choice,
            300,
            12,
            patterns=True,
            n_covariates=2,
        ),
        Scenario("panel, fixed order", panel, 300, 12, fixed=True, n_covariates=2, n_persons=6),
        Scenario(
            "panel, random availability, fixed order",
            panel,
            300,
            12,
            fixed=True,
            patterns=True,
            n_covariates=2,
            n_persons=6,
        ),
        *_four("robit, 6 df", robit, 250, 4, 3),
        Scenario("robit, 6 df, by Gibbs, sampled order", robit_gibbs, 200, 30),
        *_four("probit", probit, 250, 4, 3),
        *_four("softplus, K = T = 1", softplus_1_1, 200, 25, 25),
        *_four("softplus, K = T = 2", softplus_2_2, 200, 25, 20),
        Scenario(
            "softplus, K = 2, T = 1, inferred rates, fixed order",
            softplus_rates,
            200,
            20,
            fixed=True,
        ),
        *_four("softplus by default moves, K = T = 2", softplus_default, 200, 12, 10),
        Scenario("a user's probit, fixed order", own_probit, 150, 20, fixed=True),
        Scenario(
            "a user's probit, reverse, augmented sticks, sampled order",
            own_probit,
            150,
            20,
            "reverse",
            augmented=True,
        ),
        Scenario("a user's complementary log-log, sampled order", own_cloglog, 150, 20),
        Scenario(
            "a user's complementary log-log, reverse, augmented sticks, fixed order",
            own_cloglog,
            150,
            8,
            "reverse",
            augmented=True,
            fixed=True,
        ),
    ]
}
