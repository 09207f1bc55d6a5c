"""The models of the paper's tables, with the settings of its experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pasb
from pasb import peers

MOST_DRAWS = 500  # kept of each chain; more only take memory


class Budget(NamedTuple):
    """How long the models run.

    Attributes
    ----------
    share : float
        Of the paper's sweeps.
    grid_step : int
        Take every so-manieth value of the grids of the peers' cross-validation.
    """

    share: float
    grid_step: int


BUDGETS = {"paper": Budget(1.0, 1), "quick": Budget(0.1, 4), "smoke": Budget(0.005, 10)}


class Run(NamedTuple):
    """What a model is made for: how long, which algorithm, and which random numbers.

    Attributes
    ----------
    budget : str
        One of `BUDGETS`.
    scheme : {"exact", "paper"}
        Our defaults, or the printed algorithm with the paper's scaling of covariates.
    seed : int
    n_jobs : int
    checkpoint : path or None
    callbacks : list of functions
    """

    budget: str = "paper"
    scheme: str = "exact"
    seed: int = 0
    n_jobs: int = 1
    checkpoint: Any = None
    callbacks: Any = None

    def settings(self, n_sweeps: int, n_warmup: int) -> dict[str, Any]:
        """Parameters of a stick-breaking classifier."""
        share = BUDGETS[self.budget].share
        n_warmup, n_kept = int(n_warmup * share), int((n_sweeps - n_warmup) * share)
        thin = max(1, n_kept // MOST_DRAWS)
        printed = {"scheme": "paper", "sticks": "augmented", "scale": "range"}
        return {
            "n_chains": 1,
            "n_warmup": n_warmup,
            "n_draws": max(2, n_kept // thin),
            "thin": thin,
            "random_state": self.seed,
            "n_jobs": self.n_jobs,
            "progress": False,
            "checkpoint": self.checkpoint,
            "callbacks": self.callbacks,
            **(printed if self.scheme == "paper" else {}),
        }


def _logistic(run: Run) -> Any:
    return pasb.StickLogisticClassifier(**run.settings(10_000, 5_000))


def _robit(run: Run) -> Any:
    return pasb.StickRobitClassifier(df=6, **run.settings(8_000, 5_000))


def _svm(run: Run) -> Any:
    return pasb.StickSVMClassifier(**run.settings(1_000, 500))


def _softplus(n_experts: int, n_layers: int) -> Callable[[Run], Any]:
    def make(run: Run) -> Any:
        return pasb.SoftplusClassifier(
            n_experts=n_experts, n_layers=n_layers, **run.settings(10_000, 5_000)
        )

    return make


def _stacked(run: Run) -> Any:
    share = BUDGETS[run.budget].share
    settings = run.settings(10_000, 5_000)
    return pasb.StackedSoftplusClassifier(stack_sweeps=max(4, int(3_000 * share)), **settings)


def _l2_logit(run: Run) -> Any:
    return peers.l2_multinomial_logit()


def _rbf_svm(run: Run) -> Any:
    return peers.rbf_svm(step=BUDGETS[run.budget].grid_step, random_state=run.seed)


def _hyperplanes(run: Run) -> Any:
    model = peers.AdaptiveMultiHyperplaneCV(random_state=run.seed)
    if run.budget == "paper":
        return model
    return model.set_params(regularizations=(1e-5, 1e-4), epochs=(5, 10))


#: the columns of the paper's Table 1
MODELS: dict[str, Callable[[Run], Any]] = {
    "pasb_mlr": _logistic,
    "pasb_robit_k6": _robit,
    "pasb_msvm": _svm,
    "msr_k1_t1": _softplus(1, 1),
    "msr_k1_t3": _softplus(1, 3),
    "msr_k5_t1": _softplus(5, 1),
    "msr_k5_t3": _softplus(5, 3),
    "dt_msr": _stacked,
    "l2_mlr": _l2_logit,
    "svm": _rbf_svm,
    "amm": _hyperplanes,
}
#: those that want covariates of one range
SCALED = ("l2_mlr", "svm", "amm")
