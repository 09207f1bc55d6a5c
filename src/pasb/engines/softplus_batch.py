"""Many softplus chains as one batch on a GPU, their state resident there.

Given the orders, all sticks of all chains are independent, and so are the experts of a stick
once its latents are drawn. So a sweep is a few launches over all of them: predictors by one
matrix product, latents, and for each layer Polya-Gamma variables, all weighted Gram matrices as
one product with the table of column products, and all draws of coefficients. Trajectories, where
a model has them, come before that (`pasb.engines.softplus_paths`).

Nothing is allocated in a sweep, the kernels between two matrix products are replayed as graphs,
and the host waits only for the sums of log-probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.engines import cuda_centre as centre
from pasb.engines import cuda_reflections as reflections
from pasb.engines import cuda_rows as row_kernels
from pasb.engines.device import MANY_THREADS, THREADS, to_host
from pasb.engines.path_sizes import PathSizes, is_dense
from pasb.engines.softplus_arrays import BatchChain, SoftplusArrays
from pasb.engines.softplus_paths import SoftplusPaths
from pasb.moves.softplus_trajectory import STATISTICS
from pasb.moves.swap import swap_moves
from pasb.orders import OrderTable
from pasb.sticks import ABSENT, roles_of_sticks

MANY_COLUMNS = 64  # from here on a Cholesky decomposition is shared by more threads
GUARDS = ("qr_fallbacks", "frozen_rows", "bounded_precisions")  # as kernels number them
MANY_SWAPS = 10_000  # a sweep, of all chains: a millisecond; from here on in threads


class SoftplusBatch(SoftplusArrays):
    """The state of several chains, and their sweeps.

    Parameters
    ----------
    members : sequence of BatchChain
        As in `SoftplusArrays`.
    fits_reference : bool, default=False
        Fit the reference category too, to its one-against-the-rest labels, as the printed
        algorithm does.
    n_warmup : int, optional
        Follow trajectories before the updates of a sweep, and adapt them in so many sweeps; by
        default there are only updates.
    """

    def __init__(
        self,
        members: Sequence[BatchChain],
        *,
        fits_reference: bool = False,
        n_warmup: int | None = None,
    ):
        self.n_warmup = n_warmup
        super().__init__(members, fits_reference=fits_reference)
        self.infers = np.array([member.problem.fixed_order is None for member in self.members])
        n_swaps = self.infers.sum() * self.members[0].problem.n_swaps
        # while the host moves orders the GPU waits
        self._of_each_chain: Callable[..., Any] = (
            map if n_swaps < MANY_SWAPS else ThreadPoolExecutor().map
        )
        self.sized = row_kernels.of_size(self.n_experts, self.n_layers)
        self._launch, self._play = self.launcher.launch, self.launcher.play
        self.paths: SoftplusPaths | None = None
        if n_warmup is not None:
            self.paths = SoftplusPaths(self, self._path_sizes(), n_warmup)
        # of the last sweep, as `pasb.moves.softplus_trajectory.STATISTICS` names them
        self.path_counts = np.zeros((self.n_chains, len(STATISTICS)), dtype=np.int64)

    def _path_sizes(self) -> PathSizes:
        size = self.n_experts, self.n_layers
        dense = {is_dense(*size, table.n_columns) for table in self.tables}
        if len(dense) > 1:
            raise ValueError("trajectories of tables in one batch must have metrics of one kind")
        n_sticks = self.n_categories - 1
        table = len(self.tables), self.n_rows, self.n_columns
        return PathSizes(*table, *size, n_sticks, self.n_chains * n_sticks, dense.pop())

    def _bytes_of_moves(self) -> tuple[int, int]:
        if self.n_warmup is None:
            return 0, 0
        sizes = self._path_sizes()
        return sizes.fixed_bytes, sizes.bytes_of_a_chain

    def start(
        self, orders: Sequence[NDArray[np.int64]], parameters: Sequence[dict[str, NDArray]]
    ) -> None:
        """Take over each chain's order and parameters."""
        self.orders = np.array(orders)
        with self.launcher.stream:
            for name in self.state_names:
                self.put(name, np.concatenate([self._wide(name, own[name]) for own in parameters]))
            if self.model.shares_rate:
                means = np.array([own["mean_rate"][0] for own in parameters])
                self.put("rate_prior", np.column_stack([np.ones(self.n_chains), 1 / means]))
            if self.paths is not None:
                self.paths.start([own["adaptation"] for own in parameters])
            self._put_orders()

    def _put_orders(self) -> None:
        """What follows from the orders: the slots and the roles of the categories."""
        s, n_groups = self.n_categories, self.n_groups
        roles = np.full((self.n_chains, self.n_sticks, n_groups + 1), ABSENT, dtype=np.int8)
        for c, member in enumerate(self.members):
            roles_of_sticks(self.orders[c], *member.problem.roles, roles[c])
        chain = np.arange(self.n_chains)[:, None] * s
        self.put("roles", roles.reshape(-1, n_groups + 1))
        self.put("slots", (chain + self.orders[:, : self.n_sticks]).ravel())
        self.put("references", np.where(self.infers, chain[:, 0] + self.orders[:, -1], -1))
        if "stick_keys" not in self.arrays:
            keys = np.array([(member.seed, member.chain) for member in self.members])
            stick_keys = np.empty((self.n_chains, s, 3), dtype=np.int64)
            stick_keys[:, :, :2] = keys[:, None]
            stick_keys[:, :, 2] = np.arange(s)
            self.put("stick_keys", stick_keys[:, : self.n_sticks].reshape(-1, 3).copy())
            self.put("reference_keys", stick_keys[:, -1].copy())
        if self.paths is not None:
            self.paths.put_orders(self.orders)

    def _predict(self, layer: int) -> None:
        out = self.by_table("psi", layer)
        self.xp.matmul(self.by_table("own_coef", layer), self.arrays["table"], out=out)

    def sweep(self, number: int) -> NDArray[np.float64]:
        """One sweep of all chains; their log-likelihoods."""
        with self.launcher.stream:
            self.arrays["sweep"].fill(number)
            if self.paths is not None:
                self.paths.sweep(number)
            self._update_sticks()
            move = partial(self._move_order, number, *self._tabulate())
            if self.paths is not None:
                self.path_counts = self.paths.finish(number)
            self.swaps_accepted = np.zeros(self.n_chains, dtype=np.int64)
            out = np.array(list(self._of_each_chain(move, range(self.n_chains))))
            if self.swaps_accepted.any():
                self._put_orders()
        return out

    def _move_order(
        self, number: int, success: NDArray[np.float64], failure: NDArray[np.float64], c: int
    ) -> float:
        """Swaps in the order of one chain; its log-likelihood."""
        problem, seed, chain = self.members[c]
        table = OrderTable.of(success[c], failure[c], problem.direction, problem.rows.groups)
        order = self.orders[c]
        if self.infers[c]:  # the pseudo-prior is the prior: no term for the reference
            key = Keys(seed, chain, number).at(self.n_categories)
            self.swaps_accepted[c] = swap_moves(*table, order, problem.n_swaps, key)
        return table.log_likelihood(order)

    def _update_sticks(self) -> None:
        xp, arrays = self.xp, self.arrays
        self._play("gather", self._gather)
        for layer in range(self.n_layers):
            self._predict(layer)
        self._play("latents", self._draw_latents)
        for layer in range(self.n_layers):
            self._play(f"weights {layer}", partial(self._draw_row_weights, layer))
            xp.matmul(self.by_table("weights"), arrays["products"], out=self.by_table("gram"))
            xp.matmul(self.by_table("shares"), arrays["by_row"], out=self.by_table("linear"))
            self._play(f"coefficients {layer}", partial(self._draw_coefficients, layer))
            xp.matmul(self.by_table("light"), arrays["products"], out=self.by_table("gram"))
            self._play("light shares", partial(self._lighten, "shares"))
            xp.matmul(self.by_table("light"), arrays["by_row"], out=self.by_table("linear"))
            self._play(f"rest {layer}", partial(self._draw_rest, layer))
            self._predict(layer)
        self._play("hyperparameters", self._draw_hyperparameters)

    def _gather(self) -> None:
        n_blocks = -(-self.n_vectors * self.n_layers * self.n_columns // THREADS)
        arrays = ("slots", "coef", "weight", "own_coef", "own_weight")
        self._launch(row_kernels.gather, n_blocks, THREADS, *arrays)

    def _draw_latents(self) -> None:
        self._launch(
            self.sized.latents,
            (self._row_blocks, self.n_problems),
            THREADS,
            *("psi", "own_weight", "stick_keys", "roles", "category", "sweep"),
            *("row_active", "log_exposure", "theta"),
        )

    @property
    def _row_blocks(self) -> int:
        return -(-self.n_rows // THREADS)

    def _draw_row_weights(self, layer: int) -> None:
        """Exposures under the coefficients of the layer below, and Polya-Gamma variables."""
        if layer > 0:
            self._add_exposure(layer - 1)
        shape = f"theta {layer + 1}" if layer + 1 < self.n_layers else "own_weight"
        self._launch(
            row_kernels.polya_gammas,
            (self._row_blocks, self.n_vectors),
            THREADS,
            *(f"psi {layer}", "log_exposure", "row_active", shape, layer),
            *("stick_keys", "roles", "category", "sweep", "weights", "shares"),
            *("some_steep", "guards"),
        )

    def _add_exposure(self, layer: int) -> None:
        arrays = (f"psi {layer}", "roles", "category", "log_exposure")
        grid = (self._row_blocks, self.n_vectors)
        self._launch(row_kernels.add_exposure, grid, THREADS, *arrays)

    def _draw_coefficients(self, layer: int) -> None:
        """Coefficients of one layer of all experts of all sticks, where Cholesky does it."""
        self._launch(
            centre.draw_coefficients,
            self.n_vectors,
            THREADS if self.n_columns < MANY_COLUMNS else MANY_THREADS,
            *("gram", "linear", "precision", layer, "slots", "stick_keys", "sweep"),
            *("factors", "scales", "works", f"own_coef {layer}", "coef", "some_steep", "failed"),
        )
        self._lighten("weights")

    def _lighten(self, values: str) -> None:
        """Weights or shares of failed vectors, without those of heavy rows."""
        grid = (self._row_blocks, self.n_vectors)
        arrays = (values, "weights", "shares", "failed", "light")
        self._launch(reflections.lighten, grid, THREADS, *arrays)

    def _draw_rest(self, layer: int) -> None:
        """Those where it does not; `gram` and `linear` are now those of the light rows."""
        self._launch(
            reflections.draw_by_reflections,
            self._n_stacks,
            MANY_THREADS,
            *("table", "weights", "shares", "gram", "linear", "precision", layer),
            *("slots", "stick_keys", "sweep", "stacks", "factors", "scales", "works"),
            *(f"own_coef {layer}", "coef", "failed", "guards"),
        )

    def _draw_hyperparameters(self) -> None:
        """What is left once all layers are done; then the references of the chains' orders."""
        self._add_exposure(self.n_layers - 1)
        self._launch(
            row_kernels.count_active,
            self.n_vectors,
            THREADS,
            *("row_active", "log_exposure", "roles", "category", "n_active", "exposure"),
        )
        self._launch(
            centre.draw_gamma_process,
            self.n_problems,
            THREADS,
            *("n_active", "exposure", "hypers", "slots", "stick_keys", "sweep"),
            *("weight", "active", "mass", "inverse_scale"),
        )
        ard, shape = self.model.precision == "ard", float(self.model.shape)
        if ard:
            self._launch(
                centre.draw_precisions,
                (self.n_vectors, self.n_layers),
                THREADS,
                *(shape, "rate_prior", "widths", "slots", "stick_keys", "sweep"),
                *("coef", "precision", "rate", "guards"),
            )
        if self.model.shares_rate:
            self._launch(
                centre.draw_mean_rates,
                -(-self.n_chains // THREADS),
                THREADS,
                *("mean_rate_prior", "slots", "stick_keys", "sweep"),
                *("rate", "mean_rate", "rate_prior"),
            )
        if self.infers.any() and not self.fits_reference:
            self._launch(
                centre.draw_references,
                self.n_chains,
                THREADS,
                *("hypers", ard, shape, "rate_prior", "widths", "references"),
                *(
                    "reference_keys",
                    "sweep",
                    "coef",
                    "weight",
                    "active",
                    "precision",
                    "rate",
                    "mass",
                    "inverse_scale",
                ),
            )

    def _tabulate(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of log-probabilities, (chains, slots, categories)."""
        out = self.by_table("all_psi")
        self.xp.matmul(self.by_table("coef"), self.arrays["table"], out=out)
        self._play("sums", self._sum)
        shape = (2, self.n_chains, self.n_slots, self.n_groups)
        success, failure = to_host(self.arrays["sums"]).reshape(shape).copy()
        return success, failure

    def _sum(self) -> None:
        grid = (self.n_chains * self.n_slots, self.n_groups)
        self._launch(self.sized.log_sums, grid, THREADS, "all_psi", "weight", "bounds", "sums")

    @property
    def learned(self) -> list[NDArray[np.float64]]:
        """What trajectories have learned, one array a chain; nothing where there are none."""
        return [] if self.paths is None else self.paths.records

    def take_guards(self) -> list[dict[str, int]]:
        """How often each numerical guard fired since the last call, chain by chain."""
        with self.launcher.stream:
            counts = to_host(self.arrays["guards"]).copy()
            self.arrays["guards"].fill(0)
        return [dict(zip(GUARDS, own, strict=True)) for own in counts.tolist()]
