"""Many chains of support vector machines as one batch on a GPU, their state resident there.

Given the orders all sticks of all chains are independent, so that each step of the update is one
launch over all of them: stretches, latents, columns one by one, many columns together, precisions.
Linear predictors of all categories, which the order table and the next update need, are one matrix
product. Orders move on the host.

The table has a column for every base of a kernel, and columns are updated in turn, so it must fit
into the memory of the GPU as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.binary.linear_kernels import COEFFICIENTS
from pasb.binary.support_vector import AT_ONCE, N_STRETCHES, TOGETHER, SupportVector
from pasb.engines import cuda_hinge as kernels
from pasb.engines import cuda_together
from pasb.engines.device import (
    MANY_THREADS,
    THREADS,
    Launcher,
    array_module,
    free_bytes,
    to_host,
    view,
)
from pasb.engines.softplus_arrays import SHARE, BatchChain
from pasb.errors import EngineError
from pasb.moves.swap import swap_moves
from pasb.numerics.gaussian import draw_by_qr
from pasb.numerics.rows import BLOCK, unblocked
from pasb.orders.table import OrderTable
from pasb.sticks import ABSENT, roles_of_sticks

STATE = ("coef", "precision")
GUARDS = ("bounded_precisions", "cut_latents", "qr_fallbacks", "skipped_joint_draws")


class SupportVectorBatch:
    """The state of several chains of one table, and their sweeps.

    Parameters
    ----------
    members : sequence of BatchChain
        Chains of one problem but for a fixed order.
    fits_reference : bool, default=False
        Fit the reference category too, to its one-against-the-rest labels, as the printed
        algorithm does.

    Attributes
    ----------
    orders : array of shape (n_chains, n_categories)
    path_counts : array of shape (n_chains, 2)
        Stretches proposed and accepted in the last sweep.
    swaps_accepted : array of shape (n_chains,)
        In the last sweep.
    """

    learned: Sequence[NDArray[np.float64]] = ()

    def __init__(self, members: Sequence[BatchChain], *, fits_reference: bool = False):
        self.xp = array_module()
        self.members, model = list(members), members[0].problem.model
        assert isinstance(model, SupportVector)
        self.model, self.rows = model, members[0].problem.rows
        if any(member.problem.rows is not self.rows for member in members):
            raise ValueError("chains of support vector machines in one batch share a table")
        self.fits_reference = fits_reference
        self.n_chains, self.n_categories = len(self.members), self.rows.n_categories
        self.n_sticks = self.n_categories - (not fits_reference)
        self.n_pairs = self.n_chains * self.n_sticks
        self.n_slots = self.n_chains * self.n_categories
        self.n_rows, self.n_columns = self.rows.n_rows, self.rows.n_columns
        self.spikes = model.inclusion is not None
        self.n_at_once = min(AT_ONCE, self.n_columns) if self.spikes else self.n_columns
        self.infers = np.array([member.problem.fixed_order is None for member in self.members])
        self._check_memory()
        self.arrays: dict[str, Any] = {}
        self.views: dict[str, Any] = {}
        self.launcher = Launcher(self.views)
        self._launch, self._play = self.launcher.launch, self.launcher.play
        with self.launcher.stream:
            self._allocate()

    def _check_memory(self) -> None:
        p, rows, n = self.n_columns, self.n_rows, self.n_at_once
        free = int(SHARE * free_bytes(self.xp))
        by_pair = 16 * rows + 8 * (n * n + n * (n + 1) // 2) + 40 * n
        by_chain = self.n_sticks * by_pair + self.n_categories * 8 * (rows + 2 * p)
        if 8 * p * rows > free:
            raise EngineError(
                f"{rows:,} rows with {p:,} columns need {8 * p * rows / 2**30:.1f} GiB of GPU "
                f"memory and {free / 2**30:.1f} are free: {free // (8 * rows):,} columns would "
                "fit; n_bases is how many a kernel has"
            )
        if 8 * p * rows + self.n_chains * by_chain > free:
            most = max(0, (free - 8 * p * rows) // by_chain)
            raise EngineError(
                f"{self.n_chains} chains need "
                f"{(8 * p * rows + self.n_chains * by_chain) / 2**30:.1f} GiB of GPU memory and "
                f"{free / 2**30:.1f} are free: {most} chains fit"
            )

    def put(self, name: str, values: Any) -> None:
        """Have an array on the device, and what kernels take."""
        if name in self.arrays:
            self.arrays[name][...] = self.xp.asarray(values)
        else:
            self.arrays[name] = self.xp.asarray(values)
            self.views[name] = view(self.arrays[name])

    def _allocate(self) -> None:
        xp, pairs, slots, n = self.xp, self.n_pairs, self.n_slots, self.n_at_once
        table = unblocked(self.rows.blocks, self.n_rows, self.n_columns)
        self.put("table", np.ascontiguousarray(table.T))
        self.put("weights", self.rows.weights)
        self.put("group", self.rows.group_of_rows.astype(np.int32))
        self.put("bounds", self.rows.bounds)
        first = np.arange(0, n, cuda_together.TILE)
        tiles = [(a, b) for a in first.tolist() for b in first.tolist() if b <= a]
        self.put("tiles", np.array(tiles, dtype=np.int32))
        shapes = {
            "coef": (slots, self.n_columns),
            "precision": (slots, self.n_columns),
            "eta": (slots, self.n_rows),
            "pull": (pairs, self.n_rows),
            "residual": (pairs, self.n_rows),
            "gram": (pairs, n * (n + 1) // 2),
            "linear": (pairs, n),
            "scales": (pairs, n),
            "works": (pairs, n),
            "drawn": (pairs, n),
            "factors": (pairs, n, n),
            "sums": (2, slots, self.rows.n_groups),
        }
        for name, shape in shapes.items():
            self.put(name, xp.zeros(shape))
        self.put("chosen", xp.zeros((pairs, n), dtype=np.int64))
        self.put("n_chosen", xp.zeros(pairs, dtype=np.int64))
        self.put("failed", xp.zeros(pairs, dtype=np.int32))
        self.put("sweep", xp.zeros(1, dtype=np.int64))
        self.put("counts", xp.zeros((self.n_chains, 2), dtype=np.int64))
        self.put("guards", xp.zeros((self.n_chains, len(GUARDS)), dtype=np.int64))
        keys = np.array([(member.seed, member.chain) for member in self.members])
        stick_keys = np.empty((self.n_chains, self.n_categories, 3), dtype=np.int64)
        stick_keys[:, :, :2] = keys[:, None]
        stick_keys[:, :, 2] = np.arange(self.n_categories)
        self.put("stick_keys", stick_keys[:, : self.n_sticks].reshape(-1, 3).copy())
        self.put("reference_keys", stick_keys[:, -1].copy())

    def start(
        self, orders: Sequence[NDArray[np.int64]], parameters: Sequence[dict[str, NDArray]]
    ) -> None:
        """Take over each chain's order and parameters."""
        self.orders = np.array(orders)
        with self.launcher.stream:
            for name in STATE:
                self.put(name, np.concatenate([own[name] for own in parameters]))
            self._put_orders()
            self._predict()

    def _put_orders(self) -> None:
        s = self.n_categories
        roles = np.full((self.n_chains, self.n_sticks, self.rows.n_groups), ABSENT, dtype=np.int8)
        for c, member in enumerate(self.members):
            roles_of_sticks(self.orders[c], *member.problem.roles, roles[c])
        chain = np.arange(self.n_chains)[:, None] * s
        self.put("roles", roles.reshape(-1, self.rows.n_groups))
        self.put("slots", (chain + self.orders[:, : self.n_sticks]).ravel())
        self.put("references", np.where(self.infers, chain[:, 0] + self.orders[:, -1], -1))

    def _predict(self) -> None:
        self.xp.matmul(self.arrays["coef"], self.arrays["table"], out=self.arrays["eta"])

    def sweep(self, number: int) -> NDArray[np.float64]:
        """One sweep of all chains; their log-likelihoods."""
        with self.launcher.stream:
            self.arrays["sweep"].fill(number)
            self.arrays["counts"].fill(0)
            self._play("update", self._update)
            if not self.spikes:
                self._draw_what_failed()
            self._play("rest", self._draw_rest)
            self._predict()
            self._play("sums", self._sum)
            self.path_counts = to_host(self.arrays["counts"]).copy()
            shape = (2, self.n_chains, self.n_categories, self.rows.n_groups)
            success, failure = to_host(self.arrays["sums"]).reshape(shape)
            self.swaps_accepted = np.zeros(self.n_chains, dtype=np.int64)
            out = np.empty(self.n_chains)
            for c in range(self.n_chains):
                out[c] = self._move_order(number, success[c], failure[c], c)
            if self.swaps_accepted.any():
                self._put_orders()
        return out

    def _move_order(
        self, number: int, success: NDArray[np.float64], failure: NDArray[np.float64], c: int
    ) -> float:
        """Swaps in the order of one chain; its log-likelihood."""
        problem, seed, chain = self.members[c]
        table = OrderTable.of(success.copy(), failure.copy(), problem.direction, self.rows.groups)
        order = self.orders[c]
        if self.infers[c]:  # the pseudo-prior is the prior: no term for the reference
            key = Keys(seed, chain, number).at(self.n_categories)
            self.swaps_accepted[c] = swap_moves(*table, order, problem.n_swaps, key)
        return table.log_likelihood(order)

    def _update(self) -> None:
        """The coefficients of all sticks, in the order of `SupportVectorSampler`."""
        kind, shape, rate, _ = self.model.precision_prior
        prior, pairs = (int(kind), shape, rate), self.n_pairs
        named = "slots", "stick_keys", "sweep"
        self._launch(
            kernels.stretch,
            pairs,
            MANY_THREADS,
            *(*prior, N_STRETCHES, "weights", "group", "roles", *named),
            *("eta", "coef", "precision", "counts"),
        )
        by_row = (-(-self.n_rows // THREADS), pairs)
        task = ("weights", "group", "roles", *named, "eta", "pull", "residual", "guards")
        self._launch(kernels.latents, by_row, THREADS, *task)
        if self.model.inclusion is not None:
            inclusion = float(self.model.inclusion)
            odds = float(np.log(inclusion / (1 - inclusion)))
            state = "table", *named, "pull", "residual", "precision", "coef"
            self._launch(kernels.spike_and_slab, pairs, MANY_THREADS, odds, *state)
        choice = (not self.spikes, *named, "coef", "chosen", "n_chosen")
        self._launch(cuda_together.choose_columns, pairs, MANY_THREADS, *choice)
        tiles = (len(self.arrays["tiles"]), pairs)
        products = ("table", "tiles", "chosen", "n_chosen", "pull", "gram")
        self._launch(cuda_together.chosen_products, tiles, THREADS, *products)
        slopes = ("table", "chosen", "n_chosen", "residual", "linear")
        self._launch(cuda_together.chosen_slopes, (self.n_at_once, pairs), THREADS, *slopes)
        purpose = TOGETHER if self.spikes else COEFFICIENTS
        guard = GUARDS.index("skipped_joint_draws" if self.spikes else "qr_fallbacks")
        self._launch(
            cuda_together.draw_together,
            pairs,
            MANY_THREADS,
            *(int(purpose), guard, *named, "chosen", "n_chosen", "gram", "linear", "precision"),
            *("scales", "works", "factors", "drawn", "coef", "failed", "guards"),
        )

    def _draw_what_failed(self) -> None:
        """By a QR decomposition on the host, where Cholesky has failed; that is rare."""
        failed = np.flatnonzero(to_host(self.arrays["failed"]))
        if not len(failed):
            return
        slots, number = to_host(self.arrays["slots"]), int(to_host(self.arrays["sweep"])[0])
        n_padded, n = len(self.rows.blocks) * BLOCK, self.n_columns
        for pair in failed.tolist():
            slot, chain = int(slots[pair]), self.members[pair // self.n_sticks]
            pull, linear = np.zeros((2, n_padded))
            pull[: self.n_rows] = to_host(self.arrays["pull"][pair])
            linear[: self.n_rows] = to_host(self.arrays["residual"][pair])
            linear[: self.n_rows] += pull[: self.n_rows] * to_host(self.arrays["eta"][slot])
            alpha, coef = to_host(self.arrays["precision"][slot]).copy(), np.zeros(n)
            key = Keys(chain.seed, chain.chain, number).at(pair % self.n_sticks, 0, COEFFICIENTS)
            task = self.rows.blocks, pull, linear, alpha, np.zeros(n), key, np.zeros(n), coef
            draw_by_qr(*task)
            self.arrays["coef"][slot] = self.xp.asarray(coef)

    def _draw_rest(self) -> None:
        """Precisions; then the references of the chains' orders."""
        kind, shape, rate, _ = self.model.precision_prior
        prior = int(kind), shape, rate
        state = "slots", "stick_keys", "sweep", "coef", "precision", "guards"
        self._launch(kernels.draw_precisions, self.n_pairs, MANY_THREADS, *prior, *state)
        if self.infers.any() and not self.fits_reference:
            inclusion = 1.0 if self.model.inclusion is None else float(self.model.inclusion)
            places = "references", "reference_keys", "sweep", "coef", "precision"
            task = (inclusion, *prior, *places)
            self._launch(kernels.draw_references, self.n_chains, THREADS, *task)

    def _sum(self) -> None:
        grid = (self.n_slots, self.rows.n_groups)
        self._launch(kernels.log_sums, grid, MANY_THREADS, "eta", "weights", "bounds", "sums")

    def parameters(self, names: Sequence[str] = ()) -> dict[str, NDArray[np.float64]]:
        """Parameters on the host, all or some, with the chains on the first axis."""
        out = {}
        with self.launcher.stream:
            for name in names or STATE:
                values = to_host(self.arrays[name])
                out[name] = values.reshape(self.n_chains, -1, *values.shape[1:]).copy()
        return out

    def take_guards(self) -> list[dict[str, int]]:
        """How often each numerical guard fired since the last call, chain by chain."""
        with self.launcher.stream:
            counts = to_host(self.arrays["guards"]).copy()
            self.arrays["guards"].fill(0)
        return [dict(zip(GUARDS, own, strict=True)) for own in counts.tolist()]
