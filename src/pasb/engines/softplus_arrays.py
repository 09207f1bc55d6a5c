"""What a batch of softplus chains has on a GPU: tables, state and work space.

All of it is allocated before the first sweep, or refused with the number of chains that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus import Softplus
from pasb.binary.softplus_prior import MEAN_RATE_PRIOR
from pasb.engines.device import Launcher, array_module, free_bytes, to_host, view
from pasb.errors import EngineError
from pasb.numerics.rows import Rows, unblocked
from pasb.sampling.problem import Problem

STATE = ("coef", "weight", "active", "precision", "rate", "mass", "inverse_scale")
STACKS = 64  # QR decompositions at the same time
STACK_BYTES = 2**30  # for all of them
SHARE = 0.9  # of the free memory


class BatchChain(NamedTuple):
    """A chain of a batch: what it samples, and the keys of its random numbers."""

    problem: Problem
    seed: int
    chain: int


class SoftplusArrays:
    """Arrays of several chains on the device, and the views of them that kernels take.

    Parameters
    ----------
    members : sequence of BatchChain
        Chains of one scheme and one binary model, but for the prior of the rates; of tables
        with as many categories and groups of rows. Chains of the same table stand together, and
        all tables have as many.
    fits_reference : bool, default=False
        Whether the reference category has a stick too.
    """

    def __init__(self, members: Sequence[BatchChain], *, fits_reference: bool = False):
        self.xp = array_module()
        self.members, model = list(members), members[0].problem.model
        if not isinstance(model, Softplus) or model.prune:
            raise EngineError("engine='cuda' runs softplus models without pruning; use 'cpu'")
        self.model = model
        self.state_names = (*STATE, *(("mean_rate",) if model.shares_rate else ()))
        self.tables = _tables(self.members)
        self.fits_reference = fits_reference
        self.n_chains, self.n_categories = len(self.members), self.tables[0].n_categories
        self.n_groups = self.tables[0].n_groups
        self.n_experts, self.n_layers = int(model.n_experts), int(model.n_layers)
        self.n_rows = max(table.n_rows for table in self.tables)
        self.n_columns = max(table.n_columns for table in self.tables)
        self.n_sticks, self.n_slots = self._sizes()
        self.n_problems = self.n_chains * self.n_sticks
        self.n_vectors = self.n_problems * self.n_experts
        self._check_memory()
        self.arrays: dict[str, Any] = {}
        self.views: dict[str, Any] = {}
        self.launcher = Launcher(self.views)
        with self.launcher.stream:
            self._prepare()

    def _prepare(self) -> None:
        self._put_table()
        self.put("hypers", np.array(self.hypers))
        models = [member.problem.model for member in self.members]
        self.put("rate_prior", np.array([own.rate_prior for own in models]))
        self.put("mean_rate_prior", np.array(MEAN_RATE_PRIOR))
        self._allocate()

    @property
    def hypers(self) -> list[float]:
        """Shapes and rates of the priors of gamma_0 and c_0."""
        model = self.model
        own = (
            model.mass_shape,
            model.mass_rate,
            model.inverse_scale_shape,
            model.inverse_scale_rate,
        )
        return [float(value) for value in own]

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

    def _bytes_of_moves(self) -> tuple[int, int]:
        """What moves beside the update need, in all and for a chain."""
        return 0, 0

    def _check_memory(self) -> None:
        fixed, need = self._bytes_of_moves()
        need, free = need + self._bytes_of_a_chain, int(SHARE * free_bytes(self.xp))
        n = self.n_columns
        fixed += 4 * len(self.tables) * self.n_rows * n * (n + 3) + self._n_stacks * self._stack
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

    def put(self, name: str, values: Any) -> None:
        """Have an array on the device, and what kernels take."""
        if name in self.arrays:
            self.arrays[name][...] = self.xp.asarray(values)
        else:
            self.arrays[name] = self.xp.asarray(values)
            self.views[name] = view(self.arrays[name])

    def _put_table(self) -> None:
        shape = (len(self.tables), self.n_columns, self.n_rows)
        table = np.zeros(shape)
        category = np.full((len(self.tables), self.n_rows), self.n_groups, dtype=np.int32)
        for g, rows in enumerate(self.tables):
            own = unblocked(rows.blocks, rows.n_rows, rows.n_columns)
            table[g, : rows.n_columns, : rows.n_rows] = own.T
            category[g, : rows.n_rows] = rows.group_of_rows
        self.put("table", table)
        self.put("category", category)
        self.put("widths", np.array([rows.n_columns for rows in self.tables]))
        self.put("bounds", np.stack([rows.bounds for rows in self.tables]))
        a, b = np.tril_indices(self.n_columns)
        device = self.arrays["table"]
        # by rows, as the matrix products want them
        self.put("by_row", self.xp.ascontiguousarray(device.transpose(0, 2, 1)))
        by_row = self.arrays["by_row"]
        self.put("products", by_row[:, :, a] * by_row[:, :, b])

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
            "sums": (2, slots, self.n_groups),
        }
        for name, shape in shapes.items():
            self.put(name, xp.zeros(shape))
        self.put("row_active", xp.zeros((v, rows), dtype=np.int8))
        self.put("failed", xp.zeros(v, dtype=np.int32))
        self.put("some_steep", xp.zeros(v, dtype=np.int32))
        self.put("sweep", xp.zeros(1, dtype=np.int64))
        self.put("guards", xp.zeros((self.n_chains, 3), dtype=np.int64))
        for name in ("psi", "theta", "own_coef"):  # layer by layer
            for layer in range(t):
                self.views[f"{name} {layer}"] = view(self.arrays[name][layer])

    def _wide(self, name: str, values: NDArray) -> NDArray:
        """Parameters with as many columns as the widest table; what is added is not used."""
        if name not in ("coef", "precision"):
            return values
        missing = self.n_columns - values.shape[-1]
        widths = [(0, 0)] * (values.ndim - 1) + [(0, missing)]
        return np.pad(values, widths, constant_values=1.0)

    def by_table(self, name: str, layer: int | None = None) -> Any:
        """An array with a first axis for the tables, for matrix products."""
        array = self.arrays[name] if layer is None else self.arrays[name][layer]
        return array.reshape(len(self.tables), -1, array.shape[-1])

    def parameters(self, names: Sequence[str] = ()) -> dict[str, NDArray[np.float64]]:
        """Parameters on the host, all or some, with the chains on the first axis.

        Of tables with fewer columns than others, the first columns count.
        """
        out = {}
        with self.launcher.stream:
            for name in names or self.state_names:
                values = to_host(self.arrays[name])
                out[name] = values.reshape(self.n_chains, -1, *values.shape[1:]).copy()
        return out


def _tables(members: Sequence[BatchChain]) -> list[Rows]:
    """The tables of a batch, each once."""
    tables: dict[int, Rows] = {}
    owners = []
    for member in members:
        rows = member.problem.rows
        tables[id(rows)] = rows
        owners.append(list(tables).index(id(rows)))
    counts = np.bincount(owners)
    if (np.diff(owners) < 0).any() or (counts != counts[0]).any():
        raise ValueError("chains of a table must stand together, and every table have as many")
    return list(tables.values())
