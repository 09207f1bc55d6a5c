"""What the logistic and the robit model share: one coefficient vector a stick.

Both have the same prior, the same start and the same way from coefficients to linear
predictors; they differ in the link and in the update.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Approximable, BinaryModel, Keys, Parameters
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.column_priors import (
    ColumnPriors,
    check_priors,
    draw_horseshoe,
    draw_shrinkage,
)
from pasb.binary.laplace import Laplace, laplace
from pasb.binary.linear_kernels import (
    COEFFICIENTS,
    PRECISIONS,
    STRETCH,
    LinearSpace,
    draw_precisions,
    standard_normals,
)
from pasb.binary.linear_sums import sum_logs
from pasb.binary.precisions import PrecisionSampler
from pasb.binary.scout import Scout, scout
from pasb.binary.side_by_side import exponentials_of, stick_predictors, vector_blocks
from pasb.binary.stretch import stretch
from pasb.numerics.helpers import Task, one_by_one
from pasb.numerics.rows import BLOCK, Rows, linear_predictors, padded

WIDE_FROM = 1024  # columns; below, a factor of the precision matrix costs little
SHRINKAGE = np.int64(17)  # purpose of the stream

# mypy: disable-error-code="call-arg"


class LinearModel(BinaryModel):
    """A symmetric link of a linear predictor, with normal or t distributed coefficients."""

    kept: tuple[str, ...] = ("coef",)
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"coef": ("column",)}

    precision: float | str
    shape: float
    rate: float
    moves: str
    priors: Sequence[Sequence[Any]] | None

    @abstractmethod
    def link(self, eta: NDArray[np.float64], log_failure: NDArray[np.float64]) -> None:
        """Turn linear predictors into log-probabilities; `eta` becomes that of success."""

    @property
    def uses_proposals(self) -> bool:  # type: ignore[override]  # noqa: D102
        return self.moves == "mixed"

    @property
    def symmetric(self) -> bool:  # type: ignore[override]  # noqa: D102
        return self.prior.symmetric

    @property
    def prior(self) -> CoefficientPrior | ColumnPriors:
        """The prior distribution of the coefficients, their precisions integrated out."""
        if self.priors is not None:
            return ColumnPriors.of(self.priors)
        return CoefficientPrior.of(self.precision, self.shape, self.rate)

    def check(self) -> None:  # noqa: D102
        if self.precision != "ard" and not positive(self.precision):
            raise ValueError(
                f"precision must be 'ard' or a positive number, not {self.precision!r}"
            )
        for name in ("shape", "rate"):
            if not positive(getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, not {getattr(self, name)!r}")
        if self.moves not in ("mixed", "gibbs"):
            raise ValueError(f"moves must be 'mixed' or 'gibbs', not {self.moves!r}")
        if self.priors is not None:
            check_priors(self.priors)

    def shapes(self, n_columns: int) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return {"coef": (n_columns,)}

    def simulate(self, n_columns: int, rng: np.random.Generator) -> Parameters:  # noqa: D102
        prior, more = self.prior, {}
        if isinstance(prior, ColumnPriors) and prior.shrinks:
            prior, shrinkage = prior.simulate_shrinkage(rng)
            more = {"rate": prior.rate, "shrinkage": shrinkage}
        alpha = prior.simulate(n_columns, rng)
        coef = rng.standard_normal(n_columns) / np.sqrt(alpha)
        if isinstance(prior, ColumnPriors):
            coef += prior.location
        return {"coef": coef, "precision": alpha, **more}

    def predictors(
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Linear predictors, (draws x categories, rows of `blocks`)."""
        coef = parameters["coef"]
        eta = np.empty((coef.shape[0] * coef.shape[1], len(blocks) * BLOCK))
        flat = padded(coef.reshape(-1, coef.shape[2]), blocks.shape[1])
        linear_predictors(blocks, flat, eta)
        return eta

    def log_probabilities(  # noqa: D102
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        eta = self.predictors(parameters, blocks)
        log_failure = np.empty_like(eta)
        self.link(eta, log_failure)
        shape = (*parameters["coef"].shape[:2], -1)
        return eta.reshape(shape), log_failure.reshape(shape)

    def side_by_side(self, parameters: Mapping[str, NDArray]) -> tuple[NDArray, ...]:  # noqa: D102
        return (vector_blocks(parameters["coef"]),)

    def stick_probabilities(  # noqa: D102
        self,
        layout: tuple[NDArray, ...],
        X: NDArray[np.float64],
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        stick_predictors(*layout, X, success)
        self.probabilities(success, failure)

    def probabilities(self, eta: NDArray[np.float64], failure: NDArray[np.float64]) -> None:
        """Turn linear predictors into probabilities; `eta` becomes that of success."""
        n = eta.shape[-1]
        self.link(eta.reshape(-1, n), failure.reshape(-1, n))
        exponentials_of(eta.ravel())
        exponentials_of(failure.ravel())


class LinearSampler(PrecisionSampler, Approximable):
    """Updates and normal approximations of the coefficients of every category."""

    concurrent = True
    statistics = ("stretch_proposed", "stretch_accepted")

    def __init__(self, model: LinearModel, rows: Rows, link: tuple[float, float, NDArray]):
        self.rows = rows
        self.link = link  # as compiled code is told of it
        self.weighted_rows = (rows.blocks, rows.weights, rows.bounds)
        self.prior: Any = model.prior  # CoefficientPrior or ColumnPriors
        self.symmetric = self.prior.symmetric
        # the wide draw knows no locations
        wide = rows.n_columns >= WIDE_FROM and rows.n_rows < rows.n_columns
        #: whether normal draws are made in the space of rows, by `pasb.binary.wide`
        self.is_wide = wide and isinstance(self.prior, CoefficientPrior)
        self.n_stretches = 2 if model.moves == "mixed" else 0
        self.guards = {"bounded_precisions": 0, "qr_fallbacks": 0, "skipped_whole_orders": 0}
        self.counted = np.zeros(len(self.statistics), dtype=np.int64)
        # as compiled code takes them; see `pasb.binary.linear_kernels`
        self.regression = self.weighted_rows, tuple(self.prior), self.link
        self.shrinks = isinstance(self.prior, ColumnPriors) and self.prior.shrinks
        self.rates = np.zeros((0, 0))  # where it does, those of each category
        if isinstance(self.prior, ColumnPriors):
            if len(self.prior.kind) != rows.n_columns:
                raise ValueError(
                    f"priors must hold a prior for each of the {rows.n_columns} columns, the "
                    f"constant first; there are {len(self.prior.kind)}"
                )
            if self.shrinks:
                self.rates = np.tile(self.prior.rate, (rows.n_categories, 1))

    def reserve(self, n_threads: int) -> None:  # noqa: D102
        self.rows.spaces.reserve("linear", n_threads, self._make_space)

    def space(self) -> AbstractContextManager[LinearSpace]:
        """Work space, lent for an update or until proposed coefficients are adopted or not."""
        return self.rows.spaces.lent("linear", self._make_space)

    def _make_space(self) -> LinearSpace:
        return LinearSpace.of(self.rows, squares=not self.is_wide)

    def regression_of(self, category: int) -> tuple:
        """Rows, prior and link, with the prior that the coefficients of a category now have."""
        if not self.shrinks:
            return self.regression
        prior = self.prior._replace(rate=self.rates[category])
        return self.weighted_rows, tuple(prior), self.link

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        shape = (self.rows.n_categories, self.rows.n_columns)
        coef = np.empty(shape)
        for s in range(shape[0]):
            standard_normals(keys.at(s, purpose=COEFFICIENTS), coef[s])
        coef /= np.sqrt(shape[1])
        parameters = {"coef": coef, "precision": np.tile(self.prior.start(shape[1]), (shape[0], 1))}
        if self.shrinks:
            ones = np.full((shape[0], 2), self.prior.horseshoe_scale**-2)
            parameters |= {"rate": self.rates.copy(), "shrinkage": ones}
        return parameters

    def resume(self, parameters: Parameters) -> None:  # noqa: D102
        if self.shrinks:
            self.rates[:] = parameters["rate"]

    def log_sum_tasks(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> list[Task]:
        coef = parameters["coef"]
        return [
            partial(self._sum_logs, coef[two], success[two], failure[two])
            for two in (slice(s, s + 2) for s in range(0, len(coef), 2))
        ]

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        one_by_one(self.log_sum_tasks(parameters, success, failure))

    def _sum_logs(
        self,
        coef: NDArray[np.float64],
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        """`log_sums` for one or two of the categories."""
        n, n_columns = coef.shape
        with self.space() as space:
            padded_coef = space.proposed[0]
            padded_coef[:n, :n_columns] = coef
            sum_logs(self.regression, padded_coef[:n], *space.pair, success, failure)

    def stretch_and_draw_precisions(
        self,
        regression: tuple,
        space: LinearSpace,
        roles: NDArray[np.int8],
        keys: Keys,
        stick: int,
        coef: NDArray[np.float64],
        alpha: NDArray[np.float64],
    ) -> None:
        """What comes after the Gibbs step of an update, in the same work space."""
        if self.n_stretches > 0:
            key = keys.at(stick, purpose=STRETCH)
            vectors = space.work[-1], space.pair[0]
            accepted = stretch(regression, *vectors, roles, self.n_stretches, key, coef)
            self.add_counts(self.n_stretches, accepted)
        draw_precisions(coef, regression[1], keys.at(stick, purpose=PRECISIONS), alpha)

    def draw_shrinkage(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:
        """Rates of a horseshoe given the coefficients and precisions of a category on a stick."""
        key, scale = keys.at(stick, purpose=SHRINKAGE), self.prior.horseshoe_scale
        own = [parameters[name][category] for name in ("rate", "precision", "shrinkage")]
        draw_shrinkage(parameters["coef"][category], self.prior.kind, scale, key, *own)
        self.rates[category] = parameters["rate"][category]

    def draw_horseshoe(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:
        """Rates of a horseshoe from their prior."""
        key, scale = keys.at(stick, purpose=SHRINKAGE), self.prior.horseshoe_scale
        own = [parameters[name][category] for name in ("rate", "shrinkage")]
        draw_horseshoe(self.prior.kind, scale, key, *own)
        self.rates[category] = parameters["rate"][category]

    def approximate(self, roles: NDArray[np.int8], start: NDArray[np.float64] | None) -> Laplace:  # noqa: D102
        return laplace(self.rows, roles, self.prior, self.link, start)

    def explore(self, roles: NDArray[np.int8], first: NDArray[np.float64]) -> Scout:  # noqa: D102
        return scout(self.rows, roles, self.prior, self.link, first)

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        standard_normals(keys.at(stick, purpose=COEFFICIENTS), coef)
        if self.shrinks:
            self.draw_horseshoe(parameters, category, stick, keys)
        # the conditional given no coefficient at all
        prior = type(self.prior)(*self.regression_of(category)[1])
        nothing = prior._replace(shape=prior.shape - 0.5)
        centre = prior.location if isinstance(prior, ColumnPriors) else np.zeros_like(coef)
        draw_precisions(centre, tuple(nothing), keys.at(stick, purpose=PRECISIONS), alpha)
        coef /= np.sqrt(alpha)
        coef += centre


def positive(value) -> bool:
    """Whether a hyperparameter is a positive, finite number."""
    return isinstance(value, Real) and 0 < float(value) < np.inf
