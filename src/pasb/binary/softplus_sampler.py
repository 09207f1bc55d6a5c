"""One chain's sampler of a softplus model; `pasb.binary.softplus` derives the update."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import BinarySampler, Keys, Parameters
from pasb.binary.logistic_kernels import normals
from pasb.binary.softplus_kernels import COEFFICIENTS, gibbs_step
from pasb.binary.softplus_link import log_link, log_weights, sum_by_category
from pasb.binary.softplus_prior import ALL, draw_from_prior, draw_precisions, draw_weights
from pasb.rows import BLOCK, Rows, padded

if TYPE_CHECKING:
    from pasb.binary.softplus import Softplus


PRUNED_AFTER = 100  # updates in a row without an active row


class SoftplusSampler(BinarySampler):
    """Gibbs updates of coefficients, weights and hyperparameters of every category."""

    def __init__(self, model: Softplus, rows: Rows):
        if np.any(rows.weights != 1):
            # the power of a success probability has no such augmentation
            raise ValueError("sample_weight must be 0 or 1 for every row with a softplus model")
        self.model = model
        self.rows = rows
        self.ard = model.precision == "ard"
        self.shape = float(model.shape)
        self.rate_prior = np.array(model.rate_prior)
        self.hypers = np.array(
            [model.mass_shape, model.mass_rate, model.scale_shape, model.scale_rate], dtype=float
        )
        self.guards = {"qr_fallbacks": 0, "frozen_rows": 0}
        n_blocks, n_padded, _ = rows.blocks.shape
        n_rows, n, n_categories = n_blocks * BLOCK, rows.n_columns, rows.n_categories
        n_experts, n_layers = int(model.n_experts), int(model.n_layers)
        self.size = (n_experts, n_layers, n)
        self.work = (
            np.zeros(n_rows, dtype=np.int8),
            np.zeros(n_blocks, dtype=np.bool_),
            np.zeros((n_blocks, n_experts, n_layers, BLOCK)),
            np.zeros((n_blocks, n_experts, n_layers, BLOCK)),
            np.zeros((n_blocks, n_experts, BLOCK), dtype=np.int8),
            np.zeros((n_blocks, n_experts, BLOCK)),
            np.zeros(n_rows),
            np.zeros(n_rows),
            np.zeros((n_padded, BLOCK)),
            np.zeros((n_padded, n_padded)),
            np.zeros(n_padded),
            np.zeros(n),
            np.zeros((n, n)),
            np.zeros((n_experts * n_layers, n_padded)),
        )
        self.scratch = np.zeros((n_experts, n_layers, BLOCK))
        self.logs = np.zeros((2, 1, n_rows))
        # sums of log-probabilities, and the coefficients and weights they belong to
        self.sums = np.zeros((2, n_categories, n_categories))
        self.summed_coef = np.full((n_categories, *self.size), np.nan)
        self.summed_weight = np.full((n_categories, n_experts), np.nan)

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        n_categories, (n_experts, n_layers, n) = self.rows.n_categories, self.size
        coef = np.empty((n_categories, n_experts * n_layers * n))
        for s in range(n_categories):
            normals(keys.at(s, layer=COEFFICIENTS), coef[s])
        full = (n_categories, *self.size)
        a, b = self.model.rate_prior
        rate = a / b if a > 0 else float(self.model.rate)  # type: ignore[arg-type]
        precision = self.shape / rate if self.ard else float(self.model.precision)
        return {
            "coef": coef.reshape(full) / np.sqrt(n),
            "weight": np.full((n_categories, n_experts), 1.0 / n_experts),
            "active": np.zeros((n_categories, n_experts)),
            "precision": np.full(full, precision),
            "rate": np.full(full[:-1], rate),
            "mass": np.ones((n_categories, 1)),
            "scale": np.ones((n_categories, 1)),
            "idle": np.zeros((n_categories, n_experts)),
        }

    def resume(self, parameters: Parameters) -> None:  # noqa: D102
        self.summed_coef[:] = np.nan

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, parts: NDArray[np.int8], keys: Keys
    ) -> None:
        own = {name: values[category] for name, values in parameters.items()}
        exposure = np.empty(self.size[0])
        off = self._pruned(own)
        n_qr, n_frozen = gibbs_step(
            self.rows.blocks,
            self.rows.bounds,
            parts,
            *self.work,
            off,
            own["weight"],
            own["precision"],
            *keys,
            stick,
            own["coef"],
            own["active"],
            exposure,
        )
        self.guards["qr_fallbacks"] += n_qr
        self.guards["frozen_rows"] += n_frozen
        self._draw_weights(own, exposure, keys, stick)
        own["weight"][off] = 0.0
        own["idle"][:] = np.where(own["active"] > 0, 0.0, own["idle"] + 1.0)
        if self.ard:
            draw_precisions(
                own["coef"],
                ALL,
                self.shape,
                self.rate_prior,
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
        hypers = own["weight"], own["mass"], own["scale"]
        draw_weights(own["active"], exposure, self.hypers, *keys, stick, *hypers)

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        own = {name: values[category] for name, values in parameters.items()}
        own["active"][:] = 0.0
        own["idle"][:] = 0.0
        drawn = ("coef", "weight", "precision", "rate", "mass", "scale")
        draw_from_prior(
            self.hypers,
            self.ard,
            self.shape,
            self.rate_prior,
            *keys,
            stick,
            *(own[name] for name in drawn),
        )

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        coef, weight = parameters["coef"], parameters["weight"]
        bounds = self.rows.bounds
        for s in range(self.rows.n_categories):
            same = np.array_equal(self.summed_coef[s], coef[s])
            if same and np.array_equal(self.summed_weight[s], weight[s]):
                continue  # a sweep asks twice, and changes only the reference in between
            flat = padded(coef[s].reshape(1, -1, self.size[2]), self.rows.blocks.shape[1])
            log_weight = log_weights(weight[s : s + 1])
            log_link(self.rows.blocks, flat, log_weight, self.scratch, *self.logs)
            for sums, logs in zip(self.sums, self.logs, strict=True):
                sum_by_category(logs[0], bounds, sums[s])
            self.summed_coef[s], self.summed_weight[s] = coef[s], weight[s]
        success[:], failure[:] = self.sums
