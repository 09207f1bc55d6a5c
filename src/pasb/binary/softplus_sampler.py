"""One chain's sampler of a softplus model; `pasb.binary.softplus` derives the update."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.linear_kernels import standard_normals
from pasb.binary.precisions import GREATEST_PRECISION, PrecisionSampler
from pasb.binary.softplus_fit import SoftplusFits
from pasb.binary.softplus_kernels import COEFFICIENTS
from pasb.binary.softplus_link import link_space, log_sums_of, log_weights
from pasb.binary.softplus_prior import (
    ALL,
    LEAST_PRECISION,
    draw_from_prior,
    draw_precisions,
    draw_weights,
)
from pasb.binary.softplus_update import StickUpdate, reserve_spaces
from pasb.numerics.helpers import Task, one_by_one
from pasb.numerics.rows import Rows, padded

if TYPE_CHECKING:
    from pasb.binary.softplus import Softplus


PRUNED_AFTER = 100  # updates in a row without an active row
START_STEPS = 100  # of a penalised fit from which a chain starts
NO_WEIGHTS = (
    "sample_weight must be 0 or 1 for every row with a softplus model, and class_weight None"
)
START_LOG_WEIGHTS = (-8.0, 8.0)


class SoftplusSampler(PrecisionSampler):
    """Gibbs updates of coefficients, weights and hyperparameters of every category."""

    concurrent = True
    updates: type[StickUpdate] = StickUpdate
    precision_bounds = (LEAST_PRECISION, GREATEST_PRECISION)

    def __init__(self, model: Softplus, rows: Rows):
        if rows.given_weights is not None:
            # the power of a success probability has no such augmentation
            raise ValueError(NO_WEIGHTS)
        self.model = model
        self.rows = rows
        self.ard = model.precision == "ard"
        self.shape = float(model.shape)
        self.given_rate_prior = np.array(model.rate_prior)
        self.hypers = np.array(
            [
                model.mass_shape,
                model.mass_rate,
                model.inverse_scale_shape,
                model.inverse_scale_rate,
            ],
            dtype=float,
        )
        self.guards = {"bounded_precisions": 0, "qr_fallbacks": 0, "frozen_rows": 0}
        n, n_categories = rows.n_columns, rows.n_categories
        n_experts, n_layers = int(model.n_experts), int(model.n_layers)
        self.size = (n_experts, n_layers, n)
        self.n_vectors, self.breadth = n_experts * n_layers, n_experts
        # sums of log-probabilities, and the coefficients and weights they belong to
        self.sums = np.zeros((2, n_categories, rows.n_groups))
        self.summed_coef = np.full((n_categories, *self.size), np.nan)
        self.summed_weight = np.full((n_categories, n_experts), np.nan)

    def rate_prior(self, own: Parameters) -> NDArray[np.float64]:
        """Shape and rate of the prior of a category's rates; zeros where they are fixed."""
        if self.model.shares_rate:
            return np.array([1.0, 1 / own["mean_rate"]])
        return self.given_rate_prior

    def reserve(self, n_threads: int) -> None:  # noqa: D102
        reserve_spaces(self.rows, self.size, n_threads)

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        n_categories, (n_experts, n_layers, n) = self.rows.n_categories, self.size
        coef = np.empty((n_categories, n_experts * n_layers * n))
        for s in range(n_categories):
            standard_normals(keys.at(s, purpose=COEFFICIENTS), coef[s])
        full = (n_categories, *self.size)
        rate = self.model.first_rate
        precision = self.shape / rate if self.ard else float(self.model.precision)
        parameters = {
            "coef": coef.reshape(full) / np.sqrt(n),
            "weight": np.full((n_categories, n_experts), 1.0 / n_experts),
            "active": np.zeros((n_categories, n_experts)),
            "precision": np.full(full, precision),
            "rate": np.full(full[:-1], rate),
            "mass": np.ones((n_categories, 1)),
            "inverse_scale": np.ones((n_categories, 1)),
            "idle": np.zeros((n_categories, n_experts)),
        }
        if self.model.shares_rate:
            parameters["mean_rate"] = np.full(n_categories, rate)
        first = {name: values[0] for name, values in parameters.items()}
        for name, record in self.model.first_adaptation(first).items():
            parameters[name] = np.tile(record, (n_categories, 1))
        return parameters

    def start_stick(self, own: Parameters, roles: NDArray[np.int8]) -> None:
        """Move from a random start to a penalised fit of one stick, one of its many modes.

        Random starts differ by chain, and so do the modes they lead to: wider apart than draws of
        one chain are. The scale of the coefficients stays as it is, which keeps the fit out of the
        narrow end where all of them are zero.
        """
        n_experts, n_layers, _ = self.size
        penalty = self.shape / self.model.first_rate if self.ard else float(self.model.precision)
        fits = SoftplusFits(self.rows, n_experts, n_layers, penalty, START_STEPS)
        start = np.concatenate([own["coef"].ravel(), np.log(own["weight"])])
        _, found = fits.fit(roles, start)
        own["coef"][...] = found[:-n_experts].reshape(self.size)
        own["weight"][:] = np.exp(np.clip(found[-n_experts:], *START_LOG_WEIGHTS))

    def resume(self, parameters: Parameters) -> None:  # noqa: D102
        self.summed_coef[:] = np.nan

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> None:
        one_by_one(self.tasks(parameters, category, stick, roles, keys))

    def tasks(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> list[Task]:
        own = {name: values[category] for name, values in parameters.items()}
        return [self.updates(self, own, self._pruned(own), stick, roles, keys).begin]

    def finish(
        self,
        own: Parameters,
        off: NDArray[np.bool_],
        sums: NDArray[np.float64],
        keys: Keys,
        stick: int,
    ) -> None:
        """What an update of one category draws when all experts have new coefficients.

        `sums` are the active rows and the exposures of the experts.
        """
        own["active"][:], exposure = sums
        self._draw_weights(own, exposure, keys, stick)
        own["weight"][off] = 0.0
        own["idle"][:] = np.where(own["active"] > 0, 0.0, own["idle"] + 1.0)
        if self.ard:
            draw_precisions(
                own["coef"],
                ALL,
                self.shape,
                self.rate_prior(own),
                *keys,
                stick,
                own["precision"],
                own["rate"],
            )

    def _pruned(self, own: Parameters) -> NDArray[np.bool_]:
        """Which experts are turned off; one always stays."""
        off = (own["idle"] >= PRUNED_AFTER) & self.model.prune
        if off.all():
            off[np.argmax(own["weight"])] = False
        return off

    def _draw_weights(
        self, own: Parameters, exposure: NDArray[np.float64], keys: Keys, stick: int
    ) -> None:
        """gamma_0, weights and c_0 of one category."""
        hypers = own["weight"], own["mass"], own["inverse_scale"]
        draw_weights(own["active"], exposure, self.hypers, *keys, stick, *hypers)

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        own = {name: values[category] for name, values in parameters.items()}
        own["active"][:] = 0.0
        own["idle"][:] = 0.0
        drawn = ("coef", "weight", "precision", "rate", "mass", "inverse_scale")
        draw_from_prior(
            self.hypers,
            self.ard,
            self.shape,
            self.rate_prior(own),
            *keys,
            stick,
            *(own[name] for name in drawn),
        )

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        one_by_one(self.log_sum_tasks(parameters, success, failure))

    def log_sum_tasks(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> list[Task]:
        coef, weight = parameters["coef"], parameters["weight"]
        todo: list[Task] = []
        for s in range(self.rows.n_categories):
            same = np.array_equal(self.summed_coef[s], coef[s])
            if same and np.array_equal(self.summed_weight[s], weight[s]):
                success[s], failure[s] = self.sums[:, s]  # a reference that was not drawn again
            else:
                todo.append(partial(self._sum_logs, coef[s], weight[s], s, success[s], failure[s]))
        return todo

    def _sum_logs(
        self,
        coef: NDArray[np.float64],
        weight: NDArray[np.float64],
        s: int,
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        """Sums over the rows of each category under the parameters of category s."""
        rows = self.rows
        n_experts, n_layers, n = self.size
        flat = padded(coef.reshape(-1, n), rows.blocks.shape[1])
        kind = ("softplus", *self.size, "link")
        with rows.spaces.lent(kind, partial(link_space, n_experts, n_layers)) as work:
            log_sums_of(
                rows.blocks, rows.bounds, flat, log_weights(weight), *work, *self.sums[:, s]
            )
        success[:], failure[:] = self.sums[:, s]
        self.summed_coef[s], self.summed_weight[s] = coef, weight
