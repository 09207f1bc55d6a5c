"""Many softplus chains as one batch on a GPU, their state resident there.

Given the orders, all sticks of all chains are independent, and so are the experts of a stick
once its latents are drawn. So a sweep is a few launches over all of them: predictors by one
matrix product, latents, and for each layer Polya-Gamma variables, all weighted Gram matrices as
one product with the table of column products, and all draws of coefficients.

Nothing is allocated in a sweep, the kernels between two matrix products are replayed as graphs,
and the host waits only for the sums of log-probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import ABSENT, IMPUTED, Keys
from pasb.binary.softplus import Softplus
from pasb.engines import softplus_centre as centre
from pasb.engines import softplus_reflections as reflections
from pasb.engines import softplus_rows as row_kernels
from pasb.engines.device import (
    MANY_THREADS,
    THREADS,
    Launcher,
    array_module,
    free_bytes,
    to_host,
    view,
)
from pasb.errors import EngineError
from pasb.orders import OrderTable, swap_moves
from pasb.rows import Rows, unblocked
from pasb.sweep import Problem

STATE = ("coef", "weight", "active", "precision", "rate", "mass", "scale")
STACKS = 64  # QR decompositions at the same time
STACK_BYTES = 2**30  # for all of them
MANY_COLUMNS = 64  # from here on a Cholesky decomposition is shared by more threads
SHARE = 0.9  # of the free memory
MANY_SWAPS = 10_000  # a sweep, of all chains: a millisecond; from here on in threads


class Place(NamedTuple):
    """A chain of a batch: what it samples, and the keys of its random numbers."""

    problem: Problem
    seed: int
    chain: int


class SoftplusBatch:
    """The state of several chains, and their sweeps.

    Parameters
    ----------
    places : sequence of Place
        Chains of one scheme and one binary model, but for the prior of the rates; of tables
        with the same number of categories. Chains of the same table stand together, and all
        tables have as many.
    fits_reference : bool, default=False
        Fit the reference category too, to its one-against-the-rest labels, as the printed
        algorithm does.
    """

    def __init__(self, places: Sequence[Place], *, fits_reference: bool = False):
        self.xp = array_module()
        self.places, problem = list(places), places[0].problem
        if not isinstance(problem.model, Softplus) or problem.model.prune:
            raise EngineError("engine='cuda' runs softplus models, without pruning; use 'cpu'")
        model = self.model = problem.model
        self.tables = _tables(self.places)
        rows = self.tables[0]
        self.fits_reference = fits_reference
        self.n_chains, self.n_categories = len(self.places), rows.n_categories
        self.n_experts, self.n_layers = int(model.n_experts), int(model.n_layers)
        self.n_rows = max(table.n_rows for table in self.tables)
        self.n_columns = max(table.n_columns for table in self.tables)
        self.n_sticks, self.n_slots = self._sizes()
        self.n_problems = self.n_chains * self.n_sticks
        self.n_vectors = self.n_problems * self.n_experts
        self.infers = np.array([place.problem.fixed_order is None for place in self.places])
        n_swaps = self.infers.sum() * problem.n_swaps
        # while the host moves orders the GPU waits
        self._of_each_chain: Callable[..., Any] = (
            map if n_swaps < MANY_SWAPS else ThreadPoolExecutor().map
        )
        self._check_memory()
        self.sized = row_kernels.of_size(self.n_experts, self.n_layers)
        self.arrays: dict[str, Any] = {}
        self.views: dict[str, Any] = {}
        self.launcher = Launcher(self.views)
        self._launch, self._play = self.launcher.launch, self.launcher.play
        with self.launcher.stream:
            self._prepare()

    def _prepare(self) -> None:
        model = self.model
        self._put_table()
        hypers = [model.mass_shape, model.mass_rate, model.scale_shape, model.scale_rate]
        self._put("hypers", np.array(hypers, dtype=np.float64))
        step = self.n_chains // len(self.tables)
        models = [place.problem.model for place in self.places[::step]]
        self._put("rate_prior", np.array([own.rate_prior for own in models]))
        self._allocate()

    def _sizes(self) -> tuple[int, int]:
        """Sticks of a chain, and categories whose parameters are part of its state."""
        return self.n_categories - (not self.fits_reference), self.n_categories

    @property
    def _bytes_of_a_chain(self) -> int:
        experts, n = self.n_sticks * self.n_experts, self.n_columns
        by_row = experts * (4 * 8 + 1 + 2 * 8 * self.n_layers)
        sums = self.n_slots * self.n_experts * self.n_layers
        numbers = sums * (self.n_rows + 4 * n) + experts * (3 * n * n // 2 + 5 * n)
        return by_row * self.n_rows + 8 * numbers

    def _check_memory(self) -> None:
        need, free = self._bytes_of_a_chain, int(SHARE * free_bytes(self.xp))
        n = self.n_columns
        fixed = 4 * len(self.tables) * self.n_rows * n * (n + 3) + self._n_stacks * self._stack
        if fixed + need * self.n_chains > free:
            most = max(0, (free - fixed) // need)
            raise EngineError(
                f"{self.n_chains} chains need {(fixed + need * self.n_chains) / 2**30:.1f} GiB of "
                f"GPU memory and {free / 2**30:.1f} are free: {most} chains fit"
            )

    @property
    def _stack(self) -> int:
        return 8 * (self.n_columns + 1) * (self.n_rows + self.n_columns)

    @property
    def _n_stacks(self) -> int:
        return int(np.clip(STACK_BYTES // self._stack, 1, min(STACKS, self.n_vectors)))

    def _put(self, name: str, values: Any) -> None:
        """Have an array on the device, and what kernels take."""
        if name in self.arrays:
            self.arrays[name][...] = self.xp.asarray(values)
        else:
            self.arrays[name] = self.xp.asarray(values)
            self.views[name] = view(self.arrays[name])

    def _put_table(self) -> None:
        shape = (len(self.tables), self.n_columns, self.n_rows)
        table = np.zeros(shape)
        category = np.full((len(self.tables), self.n_rows), self.n_categories, dtype=np.int32)
        for g, rows in enumerate(self.tables):
            own = unblocked(rows.blocks, rows.n_rows, rows.n_columns)
            table[g, : rows.n_columns, : rows.n_rows] = own.T
            category[g, : rows.n_rows] = rows.categories
        self._put("table", table)
        self._put("category", category)
        self._put("widths", np.array([rows.n_columns for rows in self.tables]))
        self._put("bounds", np.stack([rows.bounds for rows in self.tables]))
        a, b = np.tril_indices(self.n_columns)
        device = self.arrays["table"]
        # by rows, as the matrix products want them
        self._put("by_row", self.xp.ascontiguousarray(device.transpose(0, 2, 1)))
        by_row = self.arrays["by_row"]
        self._put("products", by_row[:, :, a] * by_row[:, :, b])

    def _allocate(self) -> None:
        xp, n, t, rows = self.xp, self.n_columns, self.n_layers, self.n_rows
        v, slots = self.n_vectors, self.n_chains * self.n_slots
        shapes = {
            "psi": (t, v, rows),
            "theta": (t, v, rows),
            "log_exposure": (v, rows),
            "weights": (v, rows),
            "light": (v, rows),
            "shares": (v, rows),
            "own_coef": (t, v, n),
            "own_weight": (v, 1),
            "gram": (v, n * (n + 1) // 2),
            "linear": (v, n),
            "factors": (v, n, n),
            "scales": (v, n),
            "works": (v, n),
            "stacks": (self._n_stacks, n + 1, rows + n),
            "n_active": (self.n_problems, self.n_experts),
            "exposure": (self.n_problems, self.n_experts),
            "all_psi": (slots, self.n_experts, t, rows),
            "sums": (2, slots, self.n_categories),
        }
        for name, shape in shapes.items():
            self._put(name, xp.zeros(shape))
        self._put("row_active", xp.zeros((v, rows), dtype=np.int8))
        self._put("failed", xp.zeros(v, dtype=np.int32))
        self._put("some_steep", xp.zeros(v, dtype=np.int32))
        self._put("sweep", xp.zeros(1, dtype=np.int64))
        self._put("guards", xp.zeros(2, dtype=np.int64))
        for name in ("psi", "theta", "own_coef"):  # layer by layer
            for layer in range(t):
                self.views[f"{name} {layer}"] = view(self.arrays[name][layer])

    def start(
        self, orders: Sequence[NDArray[np.int64]], parameters: Sequence[dict[str, NDArray]]
    ) -> None:
        """Take over each chain's order and parameters."""
        self.orders = np.array(orders)
        with self.launcher.stream:
            for name in STATE:
                self._put(name, np.concatenate([self._wide(name, own[name]) for own in parameters]))
            self._put_orders()

    def _wide(self, name: str, values: NDArray) -> NDArray:
        """Parameters with as many columns as the widest table; what is added is not used."""
        if name not in ("coef", "precision"):
            return values
        missing = self.n_columns - values.shape[-1]
        widths = [(0, 0)] * (values.ndim - 1) + [(0, missing)]
        return np.pad(values, widths, constant_values=1.0)

    def _put_orders(self) -> None:
        """What follows from the orders: the slots and the parts of the categories."""
        s, sticks = self.n_categories, np.arange(self.n_sticks)[:, None]
        position = np.argsort(self.orders, axis=1)[:, None]  # chains, 1, categories
        first = self.places[0].problem
        labels = np.array([place.problem.labels for place in self.places])[:, :, None, None]
        before: Any = IMPUTED if first.augmented else ABSENT
        # the printed algorithm tells the reference from all others
        early = np.where(sticks < s - 1, before, labels[:, 1])
        parts = np.where(position < sticks, early, labels[:, 1])
        parts = np.where(position == sticks, labels[:, 0], parts)
        padded = np.full((*parts.shape[:2], s + 1), ABSENT, dtype=np.int8)
        padded[:, :, :s] = parts
        chain = np.arange(self.n_chains)[:, None] * s
        self._put("parts", padded.reshape(-1, s + 1))
        self._put("slots", (chain + self.orders[:, : self.n_sticks]).ravel())
        self._put("references", np.where(self.infers, chain[:, 0] + self.orders[:, -1], -1))
        if "names" not in self.arrays:
            keys = np.array([(place.seed, place.chain) for place in self.places])
            names = np.empty((self.n_chains, s, 3), dtype=np.int64)
            names[:, :, :2] = keys[:, None]
            names[:, :, 2] = np.arange(s)
            self._put("names", names[:, : self.n_sticks].reshape(-1, 3).copy())
            self._put("reference_names", names[:, -1].copy())

    def _by_table(self, name: str, layer: int | None = None) -> Any:
        """An array with a first axis for the tables, for matrix products."""
        array = self.arrays[name] if layer is None else self.arrays[name][layer]
        return array.reshape(len(self.tables), -1, array.shape[-1])

    def _predict(self, layer: int) -> None:
        out = self._by_table("psi", layer)
        self.xp.matmul(self._by_table("own_coef", layer), self.arrays["table"], out=out)

    def sweep(self, number: int) -> NDArray[np.float64]:
        """One sweep of all chains; their log-likelihoods."""
        with self.launcher.stream:
            self.arrays["sweep"].fill(number)
            self._update_sticks()
            move = partial(self._move_order, number, *self._tabulate())
            self.swaps_accepted = np.zeros(self.n_chains, dtype=np.int64)
            out = np.array(list(self._of_each_chain(move, range(self.n_chains))))
            if self.swaps_accepted.any():
                self._put_orders()
        return out

    def _move_order(
        self, number: int, success: NDArray[np.float64], failure: NDArray[np.float64], c: int
    ) -> float:
        """Swaps in the order of one chain; its log-likelihood."""
        problem, seed, chain = self.places[c]
        table = OrderTable.of(success[c], failure[c], problem.direction)
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
            xp.matmul(self._by_table("weights"), arrays["products"], out=self._by_table("gram"))
            xp.matmul(self._by_table("shares"), arrays["by_row"], out=self._by_table("linear"))
            self._play(f"coefficients {layer}", partial(self._draw_coefficients, layer))
            xp.matmul(self._by_table("light"), arrays["products"], out=self._by_table("gram"))
            self._play("light shares", partial(self._lighten, "shares"))
            xp.matmul(self._by_table("light"), arrays["by_row"], out=self._by_table("linear"))
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
            *("psi", "own_weight", "names", "parts", "category", "sweep"),
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
            *("names", "parts", "category", "sweep", "weights", "shares"),
            *("some_steep", "guards"),
        )

    def _add_exposure(self, layer: int) -> None:
        arrays = (f"psi {layer}", "parts", "category", "log_exposure")
        grid = (self._row_blocks, self.n_vectors)
        self._launch(row_kernels.add_exposure, grid, THREADS, *arrays)

    def _draw_coefficients(self, layer: int) -> None:
        """Coefficients of one layer of all experts of all sticks, where Cholesky does it."""
        self._launch(
            centre.draw_coefficients,
            self.n_vectors,
            THREADS if self.n_columns < MANY_COLUMNS else MANY_THREADS,
            *("gram", "linear", "precision", layer, "slots", "names", "sweep"),
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
            *("slots", "names", "sweep", "stacks", "factors", "scales", "works"),
            *(f"own_coef {layer}", "coef", "failed", "guards"),
        )

    def _draw_hyperparameters(self) -> None:
        """What is left once all layers are done; then the references of the chains' orders."""
        self._add_exposure(self.n_layers - 1)
        self._launch(
            row_kernels.count_active,
            self.n_vectors,
            THREADS,
            *("row_active", "log_exposure", "parts", "category", "n_active", "exposure"),
        )
        self._launch(
            centre.draw_gamma_process,
            self.n_problems,
            THREADS,
            *("n_active", "exposure", "hypers", "slots", "names", "sweep"),
            *("weight", "active", "mass", "scale"),
        )
        ard, shape = self.model.precision == "ard", float(self.model.shape)
        if ard:
            self._launch(
                centre.draw_precisions,
                (self.n_vectors, self.n_layers),
                THREADS,
                *(shape, "rate_prior", "widths", "slots", "names", "sweep"),
                *("coef", "precision", "rate"),
            )
        if self.infers.any() and not self.fits_reference:
            self._launch(
                centre.draw_references,
                self.n_chains,
                THREADS,
                *("hypers", ard, shape, "rate_prior", "widths", "references"),
                *(
                    "reference_names",
                    "sweep",
                    "coef",
                    "weight",
                    "active",
                    "precision",
                    "rate",
                    "mass",
                    "scale",
                ),
            )

    def _tabulate(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of log-probabilities, (chains, slots, categories)."""
        out = self._by_table("all_psi")
        self.xp.matmul(self._by_table("coef"), self.arrays["table"], out=out)
        self._play("sums", self._sum)
        shape = (2, self.n_chains, self.n_slots, self.n_categories)
        success, failure = to_host(self.arrays["sums"]).reshape(shape).copy()
        return success, failure

    def _sum(self) -> None:
        grid = (self.n_chains * self.n_slots, self.n_categories)
        self._launch(self.sized.log_sums, grid, THREADS, "all_psi", "weight", "bounds", "sums")

    def take_guards(self) -> dict[str, int]:
        """How often each numerical guard fired since the last call, in all chains together."""
        with self.launcher.stream:
            qr, frozen = map(int, to_host(self.arrays["guards"]))
            self.arrays["guards"].fill(0)
        return {"qr_fallbacks": qr, "frozen_rows": frozen}

    def parameters(self, names: Sequence[str] = STATE) -> dict[str, NDArray[np.float64]]:
        """Parameters on the host, with the chains on the first axis.

        Of tables with fewer columns than others, the first columns count.
        """
        out = {}
        with self.launcher.stream:
            for name in names:
                values = to_host(self.arrays[name])
                out[name] = values.reshape(self.n_chains, -1, *values.shape[1:]).copy()
        return out


def _tables(places: Sequence[Place]) -> list[Rows]:
    """The tables of a batch, each once."""
    tables: dict[int, Rows] = {}
    owners = []
    for place in places:
        rows = place.problem.rows
        tables[id(rows)] = rows
        owners.append(list(tables).index(id(rows)))
    counts = np.bincount(owners)
    if (np.diff(owners) < 0).any() or (counts != counts[0]).any():
        raise ValueError("chains of a table must stand together, and every table have as many")
    return list(tables.values())
