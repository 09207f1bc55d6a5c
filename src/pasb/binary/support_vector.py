"""Support vector machine as a binary regression, by data augmentation.

    pseudo-likelihood exp(-2 max(1 - b x'beta, 0)) of the label b in {-1, 1},
    beta_v = 0, or in with probability `inclusion` and then beta_v ~ N(0, 1 / alpha_v),
    alpha_v ~ Gamma(shape, rate) or fixed.

The hinge is a mixture of normals (Polson and Scott 2011): with u_i = b_i x_i'beta,
1/w_i ~ InverseGaussian(1 / |1 - u_i|, 1), and given w beta is normal with precision
diag(alpha) + X' diag(1/w) X and linear term X' (b (1 + 1/w)). Without `inclusion` beta is
drawn at once; with it, a column at a time.

The pseudo-likelihoods of the two labels do not sum to one. So, as in the paper, the
coefficients are drawn with the pseudo-likelihood, while prediction and the moves of the
order use the normalised probabilities of eq. (stick_prob1). These are two models: the chain
has no joint distribution of parameters and labels, and tests of calibration or of the joint
distribution do not apply. What is exact is each stick's update, which leaves the
pseudo-posterior invariant.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel, Keys, Parameters
from pasb.binary.linear import positive
from pasb.binary.linear_kernels import (
    COEFFICIENTS,
    LATENTS,
    PRECISIONS,
    STRETCH,
    standard_normals,
)
from pasb.binary.precisions import (
    GREATEST_PRECISION,
    LEAST_PRECISION,
    PrecisionSampler,
    within_bounds,
)
from pasb.binary.support_vector_fit import KernelFits
from pasb.binary.support_vector_kernels import (
    ARD,
    FIXED,
    SHARED,
    dense_step,
    draw_latents,
    draw_precisions,
    draw_prior,
    joint_step,
    spike_and_slab_step,
)
from pasb.binary.support_vector_link import log_success_and_failure, sparse_predictors, sum_logs
from pasb.binary.support_vector_stretch import stretch_with_precisions
from pasb.numerics.helpers import Task, one_by_one
from pasb.numerics.rows import BLOCK, TILE, Rows
from pasb.sticks import IMPUTED

N_STRETCHES = 4
AT_ONCE = 256  # columns; the coefficients that are drawn together
TOGETHER, CHOICE = np.int64(4), np.int64(5)  # purposes of the stream, after the others'

# mypy: disable-error-code="call-arg"


class SupportVector(BinaryModel):
    """Bayesian support vector machine of the given columns.

    Parameters
    ----------
    precision : "ard", "shared" or positive float, default="ard"
        Prior precision of the coefficients: a number for all of them, "shared" for one of
        each category with a gamma prior, "ard" (automatic relevance determination) for one
        of each column.
    shape, rate : float, default=2.0, 8.0
        The gamma prior of the precisions.
    inclusion : float between 0 and 1, or None, default=None
        Spike-and-slab prior: the probability that a column other than the constant is in;
        the coefficients of the others are zero. None means that all are in.

    Notes
    -----
    A row's weight is the power to which its pseudo-likelihood is raised.

    Examples
    --------
    >>> from pasb import StickBreakingClassifier, SupportVector
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickBreakingClassifier(
    ...     binary=SupportVector(), n_warmup=50, n_draws=50, random_state=1
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    has_fits = True
    kept = ("coef",)
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"coef": ("column",)}
    symmetric = True

    def __init__(
        self,
        *,
        precision: float | str = "ard",
        shape: float = 2.0,
        rate: float = 8.0,
        inclusion: float | None = None,
    ):
        self.precision = precision
        self.shape = shape
        self.rate = rate
        self.inclusion = inclusion

    def check(self) -> None:  # noqa: D102
        if not (self.precision in ("ard", "shared") or positive(self.precision)):
            raise ValueError(
                f"precision must be 'ard', 'shared' or a positive number, not {self.precision!r}"
            )
        for name in ("shape", "rate"):
            if not positive(getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, not {getattr(self, name)!r}")
        if self.inclusion is not None and not (
            positive(self.inclusion) and float(self.inclusion) < 1
        ):
            raise ValueError(
                f"inclusion must be a number between 0 and 1, or None, not {self.inclusion!r}"
            )

    def sampler(self, rows: Rows) -> SupportVectorSampler:  # noqa: D102
        return SupportVectorSampler(self, rows)

    def shapes(self, n_columns: int) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return {"coef": (n_columns,)}

    @property
    def precision_prior(self) -> tuple[np.int64, float, float, float]:
        """Kind, shape and rate of the prior of the precisions, and a value to start from."""
        if isinstance(self.precision, str):
            kind = ARD if self.precision == "ard" else SHARED
            return kind, float(self.shape), float(self.rate), self.shape / self.rate
        return FIXED, float(self.shape), float(self.rate), float(self.precision)

    def penalised_fits(self, rows: Rows) -> KernelFits:  # noqa: D102
        return KernelFits(rows)

    def simulate(self, n_columns: int, rng: np.random.Generator) -> Parameters:  # noqa: D102
        kind, shape, rate, value = self.precision_prior
        alpha = np.full(n_columns, value)
        if kind == ARD:
            alpha = np.clip(
                rng.gamma(shape, 1 / rate, n_columns), LEAST_PRECISION, GREATEST_PRECISION
            )
        elif kind == SHARED:
            alpha[:] = within_bounds(rng.gamma(shape, 1 / rate))
        coef = rng.standard_normal(n_columns) / np.sqrt(alpha)
        if self.inclusion is not None:
            coef[1:] *= rng.random(n_columns - 1) < self.inclusion
        return {"coef": coef, "precision": alpha}

    def log_probabilities(  # noqa: D102
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        coef = parameters["coef"]
        n_draws, n_categories, _ = coef.shape
        log_success, log_failure = np.empty((2, n_draws, n_categories, len(blocks) * BLOCK))
        for d, s in np.ndindex(n_draws, n_categories):
            sparse_predictors(blocks, np.ascontiguousarray(coef[d, s]), log_success[d, s])
            log_success_and_failure(log_success[d, s], log_failure[d, s])
        return log_success, log_failure


class SupportVectorSampler(PrecisionSampler):
    """Gibbs updates of the coefficients of every category.

    Linear predictors are kept together with the coefficients they were computed from, and
    computed again only where these have changed.
    """

    concurrent = True
    statistics = ("stretch_proposed", "stretch_accepted")

    def __init__(self, model: SupportVector, rows: Rows):
        self.rows = rows
        self.counted = np.zeros(len(self.statistics), dtype=np.int64)
        self.precision_prior = model.precision_prior
        self.inclusion = None if model.inclusion is None else float(model.inclusion)
        self.guards = {
            "bounded_precisions": 0,
            "cut_latents": 0,
            "qr_fallbacks": 0,
            "skipped_joint_draws": 0,
        }
        self.eta = np.zeros((rows.n_categories, len(rows.blocks) * BLOCK))
        self.eta_of = np.zeros((rows.n_categories, rows.n_columns))
        self.n_at_once = rows.n_columns
        if self.inclusion is not None:
            self.n_at_once = min(AT_ONCE, rows.n_columns)

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        shape = (self.rows.n_categories, self.rows.n_columns)
        coef = np.empty(shape)
        for s in range(shape[0]):
            standard_normals(keys.at(s, purpose=COEFFICIENTS), coef[s])
        coef /= np.sqrt(shape[1])
        if self.inclusion is not None:
            coef[:, 1:] = 0.0
        return {"coef": coef, "precision": np.full(shape, self.precision_prior[3])}

    def resume(self, parameters: Parameters) -> None:  # noqa: D102
        for category, coef in enumerate(parameters["coef"]):
            self._predictors(coef, category)

    def _predictors(self, coef: NDArray[np.float64], category: int) -> NDArray[np.float64]:
        if not np.array_equal(coef, self.eta_of[category]):
            sparse_predictors(self.rows.blocks, coef, self.eta[category])
            self.eta_of[category] = coef
        return self.eta[category]

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> None:
        kind = ("support vectors", self.n_at_once)
        with self.rows.spaces.lent(kind, partial(_space, self.rows, self.n_at_once)) as space:
            self._update(parameters, category, stick, roles, keys, *space)

    def _update(self, parameters, category, stick, roles, keys, latents, columns, work) -> None:
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        rows, (pull, linear_weights, used) = self.rows, latents
        eta = self._predictors(coef, category)
        if IMPUTED not in roles:  # labels are imputed by the other model
            key = keys.at(stick, purpose=STRETCH)
            task = (eta, (rows.weights, rows.bounds), roles, self.precision_prior[:3], N_STRETCHES)
            accepted = stretch_with_precisions(*task, key, coef, alpha)
            self.add_counts(N_STRETCHES, accepted)
            eta = self._predictors(coef, category)
        n_cut = draw_latents(
            eta, rows.weights, rows.bounds, roles, keys.at(stick, purpose=LATENTS), *latents
        )
        self.count("cut_latents", n_cut)
        key = keys.at(stick, purpose=COEFFICIENTS)
        if self.inclusion is None:
            step = dense_step(rows.blocks, latents, work, alpha, key, coef)
            self.count("qr_fallbacks", not step)
        else:
            odds = np.log(self.inclusion / (1 - self.inclusion))
            spike_and_slab_step(
                rows.blocks, pull, linear_weights, eta, used, alpha, odds, key, coef
            )
            both = keys.at(stick, purpose=CHOICE), keys.at(stick, purpose=TOGETHER)
            together = joint_step(rows.blocks, latents, alpha, both, columns, work, coef)
            self.count("skipped_joint_draws", not together)
        draw_precisions(coef, *self.precision_prior[:3], keys.at(stick, purpose=PRECISIONS), alpha)

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        inclusion = 1.0 if self.inclusion is None else self.inclusion
        draw_prior(
            inclusion,
            *self.precision_prior[:3],
            keys.at(stick, purpose=COEFFICIENTS),
            keys.at(stick, purpose=PRECISIONS),
            parameters["coef"][category],
            parameters["precision"][category],
        )

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        one_by_one(self.log_sum_tasks(parameters, success, failure))

    def log_sum_tasks(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> list[Task]:
        return [
            partial(self._sum_logs, coef, category, success[category], failure[category])
            for category, coef in enumerate(parameters["coef"])
        ]

    def _sum_logs(
        self,
        coef: NDArray[np.float64],
        category: int,
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        eta = self._predictors(coef, category)
        sum_logs(eta, self.rows.weights, self.rows.bounds, success, failure)


def _space(rows: Rows, n_at_once: int) -> tuple[tuple[NDArray, ...], ...]:
    """Latents; columns that are drawn together; what their normal draw needs."""
    n_blocks = len(rows.blocks)
    n_rows, n = n_blocks * BLOCK, -(-n_at_once // TILE) * TILE
    return (
        (np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_blocks, dtype=np.bool_)),
        (np.zeros(n_at_once, dtype=np.int64), np.zeros((n, BLOCK))),
        (np.zeros((n, BLOCK)), np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros((n, n))),
    )
