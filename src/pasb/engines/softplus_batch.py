"""Many softplus chains as one batch on a GPU, their state resident there.

Given the orders, all sticks of all chains are independent, and so are the experts of a stick
once its latents are drawn. So a sweep is a few launches over all of them: predictors by one
matrix product, latents, and for each layer Polya-Gamma variables, all weighted Gram matrices as
one product with the table of column products, and all draws of coefficients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import ABSENT, IMPUTED, Keys
from pasb.binary.softplus import Softplus
from pasb.engines import softplus_kernels as kernels
from pasb.engines.device import THREADS, array_module, free_bytes, to_host
from pasb.errors import EngineError
from pasb.orders import OrderTable, swap_moves
from pasb.rows import unblocked
from pasb.sweep import Problem

PARAMETERS = ("coef", "weight", "active", "precision", "rate", "mass", "scale")


class SoftplusBatch:
    """The state of several chains, and their sweeps.

    Parameters
    ----------
    problems : list of Problem
        One for each chain, of the same rows and binary model.
    chains : list of int
        The numbers of the chains, which key their random numbers.
    seed : int
    """

    def __init__(self, problems: list[Problem], chains: list[int], seed: int):
        xp = self.xp = array_module()
        problem = problems[0]
        if not isinstance(problem.model, Softplus) or problem.model.prune:
            raise EngineError("engine='cuda' runs softplus models, without pruning; use 'cpu'")
        self.problems, self.model, self.seed = problems, problem.model, seed
        self.chain_numbers = np.array(chains)
        rows = problem.rows
        self.n_chains, self.n_categories = len(problems), rows.n_categories
        self.n_experts, self.n_layers = int(self.model.n_experts), int(self.model.n_layers)
        self.n_rows, self.n_columns = rows.n_rows, rows.n_columns
        # the printed algorithm fits the reference too
        self.n_sticks = self.n_categories - (problem.scheme == "exact")
        self._check_memory()
        table = unblocked(rows.blocks, rows.n_rows, rows.n_columns)
        self.table = xp.asarray(np.ascontiguousarray(table.T))
        a, b = np.tril_indices(self.n_columns)
        self.products = self.table.T[:, a] * self.table.T[:, b]
        self.category = xp.asarray(rows.categories.astype(np.int32))
        self.bounds = xp.asarray(rows.bounds)
        self.hypers = xp.asarray(
            np.array(
                [
                    self.model.mass_shape,
                    self.model.mass_rate,
                    self.model.scale_shape,
                    self.model.scale_rate,
                ],
                dtype=np.float64,
            )
        )
        self.rate_prior = xp.asarray(np.array(self.model.rate_prior))
        self.ard = self.model.precision == "ard"
        self.sized = kernels.of_size(self.n_experts, self.n_layers)
        self.n_fallbacks = 0
        self._allocate()

    def _bytes_of_a_chain(self) -> int:
        vectors = self.n_sticks * self.n_experts
        columns = self.n_columns * (self.n_columns + 1)
        large = vectors * self.n_rows * (2 * self.n_layers + 4)
        table = self.n_categories * self.n_experts * self.n_layers * self.n_rows
        return 8 * (large + table + vectors * 2 * columns)

    def _check_memory(self) -> None:
        need, free = self._bytes_of_a_chain(), int(0.9 * free_bytes(self.xp))
        fixed = 8 * self.n_rows * self.n_columns * (self.n_columns + 3)
        if fixed + need * self.n_chains > free:
            most = max(0, (free - fixed) // need)
            raise EngineError(
                f"{self.n_chains} chains need {(fixed + need * self.n_chains) / 2**30:.1f} GiB of "
                f"GPU memory and {free / 2**30:.1f} are free: {most} chains fit"
            )

    def _allocate(self) -> None:
        xp, n = self.xp, self.n_columns
        vectors = self.n_chains * self.n_sticks * self.n_experts
        self.theta = xp.zeros((self.n_layers, vectors, self.n_rows))
        self.active = xp.zeros((vectors, self.n_rows), dtype=np.int8)
        self.log_exposure, self.weights, self.shares = (
            xp.zeros((vectors, self.n_rows)) for _ in range(3)
        )
        self.factors = xp.zeros((vectors, n, n))
        self.scales, self.works = xp.zeros((vectors, n)), xp.zeros((vectors, n))
        self.failed = xp.zeros(vectors, dtype=np.int32)
        self.frozen = xp.zeros(1, dtype=np.int64)

    def start(self, orders: NDArray[np.int64], parameters: list[dict[str, NDArray]]) -> None:
        """Take over orders, (chains, categories), and each chain's parameters."""
        self.state = {
            name: self.xp.asarray(np.stack([own[name] for own in parameters]))
            for name in PARAMETERS
        }
        self.orders = np.array(orders)
        self._place()

    def _place(self) -> None:
        """What follows from the orders: the parts of the categories on each stick."""
        parts = np.empty((self.n_chains, self.n_sticks, self.n_categories), dtype=np.int8)
        for c, problem in enumerate(self.problems):
            stop, go_on = problem.labels
            before = IMPUTED if problem.augmented else ABSENT
            for j in range(self.n_sticks):
                order = self.orders[c]
                parts[c, j, order[:j]] = before if j < self.n_categories - 1 else go_on
                parts[c, j, order[j + 1 :]] = go_on
                parts[c, j, order[j]] = stop
        sticks = np.tile(np.arange(self.n_sticks), (self.n_chains, 1))
        names = np.stack(
            [np.full_like(sticks, self.seed), self.chain_numbers[:, None] + 0 * sticks, sticks],
            axis=2,
        )
        self.parts = self.xp.asarray(parts.reshape(-1, self.n_categories))
        self.names = self.xp.asarray(names.reshape(-1, 3))
        self.where = (
            self.xp.asarray(np.arange(self.n_chains)[:, None]),
            self.xp.asarray(self.orders[:, : self.n_sticks].copy()),
        )

    def sweep(self, number: int) -> NDArray[np.float64]:
        """One sweep of all chains; their log-likelihoods."""
        self._update_sticks(number)
        infers = self.problems[0].fixed_order is None
        if infers and self.problems[0].scheme == "exact":
            self._draw_references(number)
        success, failure = self._tabulate()
        out = np.empty(self.n_chains)
        self.swaps_accepted = np.zeros(self.n_chains, dtype=np.int64)
        for c, problem in enumerate(self.problems):
            table = OrderTable.of(success[c], failure[c], problem.direction)
            if infers:
                table.reference[:] = 0.0  # the pseudo-prior is the prior
                keys = Keys(self.seed, int(self.chain_numbers[c]), number)
                self.swaps_accepted[c] = swap_moves(
                    *table, self.orders[c], problem.n_swaps, keys.at(self.n_categories)
                )
            out[c] = table.log_likelihood(self.orders[c])
        if infers:
            self._place()
        return out

    def _update_sticks(self, number: int) -> None:
        xp, n_rows = self.xp, self.n_rows
        k, t, n = self.n_experts, self.n_layers, self.n_columns
        own = {name: values[self.where] for name, values in self.state.items()}
        n_problems = self.n_chains * self.n_sticks
        by_layer = [
            xp.ascontiguousarray(own[name].reshape(-1, t, n).transpose(1, 0, 2))
            for name in ("coef", "precision")
        ]
        coef, precision = by_layer
        weight = own["weight"].reshape(n_problems, k)
        psi = (coef.reshape(-1, n) @ self.table).reshape(t, -1, n_rows)
        blocks = -(-n_rows // THREADS)
        names, parts, category = self.names, self.parts, self.category
        self.sized.latents[(blocks, n_problems), THREADS](
            psi,
            weight,
            names,
            parts,
            category,
            number,
            self.active,
            self.log_exposure,
            self.theta,
        )
        every_row = (blocks, n_problems * k), THREADS
        for layer in range(t):
            shape = self.theta[layer + 1] if layer + 1 < t else weight.reshape(-1, 1)
            kernels.polya_gammas[every_row](
                psi[layer],
                self.log_exposure,
                self.active,
                shape,
                layer,
                names,
                parts,
                category,
                number,
                self.weights,
                self.shares,
                self.frozen,
            )
            self._draw_layer(layer, number, coef[layer], precision[layer])
            xp.matmul(coef[layer], self.table, out=psi[layer])
            kernels.add_exposure[every_row](psi[layer], parts, category, self.log_exposure)
        self._draw_hyperparameters(number, own, coef)

    def _draw_layer(self, layer: int, number: int, coef: Any, precision: Any) -> None:
        """Coefficients of one layer of all experts of all sticks."""
        gram = self.weights @ self.products
        linear = self.shares @ self.table.T
        n_vectors = len(linear)
        work = self.factors, self.scales, self.works
        kernels.draw_coefficients[n_vectors, THREADS](
            gram, linear, precision, layer, self.names, number, *work, coef, self.failed
        )
        which = self.xp.flatnonzero(self.failed)
        self.n_fallbacks += len(which)
        height = self.n_rows + self.n_columns
        at_once = max(1, 2**31 // (8 * height * self.n_columns))
        for first in range(0, len(which), at_once):
            some = which[first : first + at_once]
            stacks = self.xp.empty((len(some), self.n_columns, height))
            kernels.draw_by_reflections[len(some), THREADS](
                some,
                self.table,
                self.weights,
                linear,
                precision,
                layer,
                self.names,
                number,
                stacks,
                *work,
                coef,
            )

    def _draw_hyperparameters(self, number: int, own: dict[str, Any], coef: Any) -> None:
        xp, k, t, n = self.xp, self.n_experts, self.n_layers, self.n_columns
        n_problems = self.n_chains * self.n_sticks
        n_active, exposure = xp.zeros((n_problems, k)), xp.zeros((n_problems, k))
        kernels.count_active[n_problems * k, THREADS](
            self.active, self.log_exposure, self.parts, self.category, n_active, exposure
        )
        new = {
            "coef": xp.ascontiguousarray(coef.transpose(1, 0, 2)).reshape(n_problems, k, t, n),
            **{
                name: xp.ascontiguousarray(own[name].reshape(n_problems, *own[name].shape[2:]))
                for name in ("weight", "mass", "scale", "precision", "rate")
            },
        }
        kernels.draw_hyperparameters[-(-n_problems // THREADS), THREADS](
            n_active,
            exposure,
            self.hypers,
            self.ard,
            float(self.model.shape),
            self.rate_prior,
            self.names,
            number,
            *new.values(),
        )
        new["active"] = n_active
        for name, values in new.items():
            self.state[name][self.where] = values.reshape(
                self.n_chains, self.n_sticks, *values.shape[1:]
            )

    def _draw_references(self, number: int) -> None:
        """The reference's parameters of every chain from the prior."""
        xp, last = self.xp, self.n_categories - 1
        names = np.column_stack(
            [
                np.full(self.n_chains, self.seed),
                self.chain_numbers,
                np.full(self.n_chains, last),
            ]
        )
        where = xp.asarray(np.arange(self.n_chains)), xp.asarray(self.orders[:, -1].copy())
        drawn = ("coef", "weight", "precision", "rate", "mass", "scale")
        own = [xp.ascontiguousarray(self.state[name][where]) for name in drawn]
        kernels.draw_references[-(-self.n_chains // THREADS), THREADS](
            self.hypers,
            self.ard,
            float(self.model.shape),
            self.rate_prior,
            xp.asarray(names),
            number,
            *own,
        )
        for name, values in zip(drawn, own, strict=True):
            self.state[name][where] = values
        self.state["active"][where] = 0.0

    def _tabulate(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of log-probabilities, (chains, categories, categories)."""
        xp, s = self.xp, self.n_categories
        vectors = self.n_chains * s
        psi = (self.state["coef"].reshape(-1, self.n_columns) @ self.table).reshape(
            vectors, self.n_experts, self.n_layers, self.n_rows
        )
        success, failure = xp.zeros((vectors, s)), xp.zeros((vectors, s))
        self.sized.log_sums[(vectors, s), THREADS](
            psi, self.state["weight"].reshape(vectors, -1), self.bounds, success, failure
        )
        shape = (self.n_chains, s, s)
        return to_host(success).reshape(shape), to_host(failure).reshape(shape)

    @property
    def guards(self) -> dict[str, int]:
        """How often each numerical guard fired."""
        return {"qr_fallbacks": self.n_fallbacks, "frozen_rows": int(to_host(self.frozen)[0])}

    def kept(self, names: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
        """Parameters of all chains on the host."""
        return {name: to_host(self.state[name]).copy() for name in names}
