"""The models of the paper's tables, with the settings of its experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pasb
from pasb.errors import EngineError
from reproduction import peers

MOST_DRAWS = 500  # kept of each chain; more only take memory


class Budget(NamedTuple):
    """How long the models run.

    Attributes
    ----------
    share : float
        Of the paper's sweeps.
    grid_step : int
        Distance between the values that are taken from the support vector machine's grids.
    most_rows : int or None
        Training and test rows to use at most.
    """

    share: float
    grid_step: int
    most_rows: int | None = None


#: the smallest first
BUDGETS = {
    "smoke": Budget(0.002, 10, 70),
    "quick": Budget(0.1, 4),
    "paper": Budget(1.0, 1),
}
#: the priors of the paper, its scaling of covariates and its algorithm as printed
PRINTED: dict[str, Any] = {"scheme": "paper", "sticks": "augmented", "scale": "range"}
LOGISTIC_PRIOR: dict[str, Any] = {"precision_shape": 1e-3, "precision_rate": 1e-3}
SOFTPLUS_PRIOR: dict[str, Any] = {"precision_shape": 1e-6, "precision_rate": (1.0, 1.0)}


class Run(NamedTuple):
    """What a model is made for: how long, which algorithm, and which random numbers.

    Attributes
    ----------
    budget : str
        One of `BUDGETS`.
    scheme : {"exact", "paper"}
        Our defaults, or the algorithm, the priors and the scaling of covariates that the
        paper prints.
    seed : int
    n_jobs : int
    checkpoint : path or None
    callbacks : list of functions
    engine : {"cpu", "cuda"}
        For the models that know it.
    prior : {"paper", "ours"}
        What "paper" does beside its algorithm. Its priors are nearly improper: now and then
        coefficients diverge until numbers are not finite.
    """

    budget: str = "paper"
    scheme: str = "exact"
    seed: int = 0
    n_jobs: int = 1
    checkpoint: Any = None
    callbacks: Any = None
    engine: str = "cpu"
    prior: str = "paper"

    def sweeps(self, n_sweeps: int, least: int = 2) -> int:
        """The share of the paper's sweeps that the budget allows."""
        return max(least, round(n_sweeps * BUDGETS[self.budget].share))

    def schedule(self, n_sweeps: int, n_warmup: int) -> dict[str, Any]:
        """Sweeps, random numbers and threads of any of the chains."""
        n_kept = self.sweeps(n_sweeps - n_warmup)
        thin = max(1, n_kept // MOST_DRAWS)
        return {
            "n_chains": 1,
            "n_warmup": self.sweeps(n_warmup),
            "n_draws": n_kept // thin,
            "thin": thin,
            "random_state": self.seed,
            "n_jobs": self.n_jobs,
        }

    def settings(self, n_sweeps: int, n_warmup: int, prior: dict[str, Any]) -> dict[str, Any]:
        """Parameters of a stick-breaking classifier; `prior` is the paper's."""
        hasty = {"order": "swap"} if self.budget == "smoke" else {}  # evidences take long
        return {
            **self.schedule(n_sweeps, n_warmup),
            "progress": False,
            "checkpoint": self.checkpoint,
            "callbacks": self.callbacks,
            **hasty,
            **(PRINTED if self.scheme == "paper" else {}),
            **(prior if (self.scheme, self.prior) == ("paper", "paper") else {}),
        }

    def on_engine(self, model: Any) -> Any:
        """The model, told to use the engine; an error if it does not know any."""
        if self.engine == "cpu":
            return model
        if "engine" not in model.get_params():
            raise EngineError(
                f"{type(model).__name__} has no engine {self.engine!r} in this version of pasb: "
                "use --engine cpu"
            )
        return model.set_params(engine=self.engine)


# the paper's numbers of sweeps are those of Gibbs updates
GIBBS = {"moves": "gibbs"}


def softplus(run: Run, n_experts: int, n_layers: int, **others: Any) -> Any:
    """A softplus classifier, as the paper runs it."""
    settings = {**run.settings(10_000, 5_000, SOFTPLUS_PRIOR), **GIBBS, **others}
    model = pasb.SoftplusClassifier(n_experts=n_experts, n_layers=n_layers, **settings)
    return run.on_engine(model)


def stacked(run: Run, **others: Any) -> Any:
    """A softplus classifier on the hyperplanes of another one, as the paper runs it."""
    settings = {**run.settings(10_000, 5_000, SOFTPLUS_PRIOR), **GIBBS, **others}
    sweeps = run.sweeps(3_000, least=4)
    return run.on_engine(pasb.StackedSoftplusClassifier(stack_sweeps=sweeps, **settings))


def robit(run: Run, df: float = 6) -> Any:
    """A robit classifier, as the paper runs it."""
    return pasb.StickRobitClassifier(df=df, **run.settings(8_000, 5_000, LOGISTIC_PRIOR))


def logistic(run: Run) -> Any:
    """A logistic classifier; the paper does not say how long it ran for its Table 1."""
    return pasb.StickLogisticClassifier(**run.settings(10_000, 5_000, LOGISTIC_PRIOR))


def bayesian_logit(run: Run) -> Any:
    """The softmax regression whose mixing the paper compares with."""
    printed = {**LOGISTIC_PRIOR, "scale": "range"} if run.scheme == "paper" else {}
    return peers.BayesianMultinomialLogit(**run.schedule(10_000, 5_000), **printed)


def _svm(run: Run) -> Any:
    width: dict[str, Any] = {"width": 0.5} if run.budget == "smoke" else {}
    return pasb.StickSVMClassifier(**width, **run.settings(1_000, 500, {}))


def _l2_logit(run: Run) -> Any:
    model = peers.l2_multinomial_logit(random_state=run.seed)
    if run.budget == "smoke":
        model.set_params(param_grid={"estimator__C": [0.25, 8.0]}, cv=2)
    return model


def _rbf_svm(run: Run) -> Any:
    model = peers.rbf_svm(step=BUDGETS[run.budget].grid_step, random_state=run.seed)
    return model.set_params(cv=2) if run.budget == "smoke" else model


def _hyperplanes(run: Run) -> Any:
    model = peers.AdaptiveMultiHyperplaneCV(random_state=run.seed)
    if run.budget != "smoke":  # the whole grid takes seconds, and a part of it finds nothing
        return model
    return model.set_params(regularizations=(1e-5, 1e-4), epochs=(5, 10))


#: the columns of the paper's Table 1, and behind them the Bayesian softmax regression
MODELS: dict[str, Callable[[Run], Any]] = {
    "pasb_mlr": logistic,
    "pasb_robit_k6": robit,
    "pasb_msvm": _svm,
    "msr_k1_t1": lambda run: softplus(run, 1, 1),
    "msr_k1_t3": lambda run: softplus(run, 1, 3),
    "msr_k5_t1": lambda run: softplus(run, 5, 1),
    "msr_k5_t3": lambda run: softplus(run, 5, 3),
    "dt_msr": stacked,
    "l2_mlr": _l2_logit,
    "svm": _rbf_svm,
    "amm": _hyperplanes,
    "bayes_mlr": bayesian_logit,
}
#: what the paper calls them
TITLES = {
    "pasb_mlr": "paSB-MLR",
    "pasb_robit_k6": "paSB-robit",
    "pasb_msvm": "paSB-MSVM",
    "msr_k1_t1": "MSR, K=1, T=1",
    "msr_k1_t3": "MSR, K=1, T=3",
    "msr_k5_t1": "MSR, K=5, T=1",
    "msr_k5_t3": "MSR, K=5, T=3",
    "dt_msr": "DT-MSR",
    "l2_mlr": "L2-MLR",
    "svm": "SVM",
    "amm": "AMM",
    "bayes_mlr": "Bayes MLR",
}
#: those that want covariates of one range
SCALED = ("l2_mlr", "svm", "amm")
#: those that the two schemes do not concern
WITHOUT_SCHEME = SCALED
