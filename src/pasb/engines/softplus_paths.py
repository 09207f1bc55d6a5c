"""Trajectories of all sticks of a batch of softplus chains on a GPU.

The move `pasb.moves.softplus_trajectory` for all pairs of chain and stick. A step of all of them is
two matrix products with the table and two graphs of kernels. The pairs with the most steps go
first, as many at a time as keep the GPU busy, so that few stand still while others move; that also
bounds the memory.

What is learned in the warm-up is the CPU's record, kept on the host and changed by the CPU's code.
The device only tells how well trajectories were followed, and where they led when that is gathered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.engines import cuda_centre as centre
from pasb.engines import cuda_gradient, cuda_paths
from pasb.engines.device import LANES, MANY_THREADS, THREADS, product, to_host
from pasb.engines.path_metric import PathMetrics, own_coordinates
from pasb.engines.path_sizes import PathSizes
from pasb.engines.softplus_arrays import SoftplusArrays
from pasb.moves.softplus_trajectory import LENGTH, MOST_STEPS
from pasb.numerics.adaptation import (
    adapt,
    begin,
    gathering_sweeps,
    positions_in_use,
    step_of,
    window_ends,
)
from pasb.numerics.compiled import kernel
from pasb.sticks import ABSENT, roles_of_sticks
from pasb.variates.scalar import open_stream, stream_key, uniform

# mypy: disable-error-code="call-arg"


@kernel
def draw_decisions(names, sweep, length, steps, n_steps, chances):
    """How many steps each trajectory makes, and the uniform variables that accept it or not.

    `names` (pairs, 3) are seeds, chains and sticks, `sweep` is a number, `length` that of a
    trajectory on average; `steps`, `n_steps` and `chances` (pairs) are the lengths of steps, how
    many they are, and the uniform variables.
    """
    zero = np.int64(0)
    for p in range(steps.shape[0]):
        key = stream_key(names[p, 0], names[p, 1], sweep, names[p, 2], zero, zero)
        u, stream = uniform(open_stream(key, zero))
        n_steps[p] = min(math.ceil(2.0 * u * length / steps[p]), MOST_STEPS)
        chances[p], _ = uniform(stream)


class PathError(ValueError):
    """A chain whose trajectories have no metric."""

    def __init__(self, chain: int, what: str):
        super().__init__(what)
        self.chain = chain  # its number in the batch


class SoftplusPaths:
    """Trajectories of the sticks of a batch, and what they have learned.

    Parameters
    ----------
    batch : SoftplusArrays
        Whose state they change.
    sizes : PathSizes
    n_warmup : int
        Sweeps in which step and metric are adapted.
    """

    def __init__(self, batch: SoftplusArrays, sizes: PathSizes, n_warmup: int):
        self.batch, self.sizes, self.n_warmup = batch, sizes, n_warmup
        self.ends = window_ends(n_warmup)
        self.gathering = gathering_sweeps(self.ends)
        self.records: list[NDArray[np.float64]] = []  # of every chain, one row a category
        model = batch.model
        self.ard = model.precision == "ard"
        self.shape = float(model.shape) if self.ard else float(model.precision)
        self.hypers = np.array(batch.hypers)
        self._launch, self._play = batch.launcher.launch, batch.launcher.play
        self.sized = cuda_gradient.of_size(sizes.n_experts, sizes.n_layers)
        with batch.launcher.stream:
            self._allocate()
            self.metrics = PathMetrics(batch, sizes, self.sized.row_information)

    def _allocate(self) -> None:
        batch, sizes, xp = self.batch, self.sizes, self.batch.xp
        pairs, places, n = sizes.n_pairs, sizes.n_places, sizes.n
        shapes = {
            "position": (pairs, n),
            "outcome": (pairs, 4),
            "steps": (pairs,),
            "chances": (pairs,),
            "place": (places, n),
            "place_coef": (places, sizes.n_coef),
            "momentum": (places, n),
            "force": (places, n),
            "gradient": (places, n),
            "path_psi": (places * sizes.n_vectors, sizes.n_rows),
            "grad_coef": (places * sizes.n_vectors, sizes.n_columns),
            "parts": (places, sizes.row_blocks, 1 + sizes.n_experts),
            "terms": (places, sizes.n_vectors + 2),
            "energy": (places,),
            "error": (places,),
            "no_rates": (batch.n_chains, 2),
        }
        for name, shape in shapes.items():
            batch.put(name, xp.zeros(shape))
        batch.put("n_steps", xp.zeros(pairs, dtype=np.int64))
        batch.put("members", xp.full(places, -1, dtype=np.int64))
        batch.put("running", xp.zeros(places, dtype=np.int32))
        batch.put("taken", xp.zeros(places, dtype=np.int64))
        batch.put("no_guards", xp.zeros((batch.n_chains, 3), dtype=np.int64))
        coef = batch.arrays["place_coef"].reshape(sizes.n_tables, -1, sizes.n_columns)
        psi, grad = batch.by_table("path_psi"), batch.by_table("grad_coef")
        self._predict = product(xp, coef, batch.arrays["table"], psi)
        self._add_up = product(xp, psi, batch.arrays["by_row"], grad)

    def start(self, records: Sequence[NDArray[np.float64]]) -> None:
        """Take over what every chain has learned."""
        self.records = [own.copy() for own in records]
        # how often the positions in use have changed since then
        self.versions = np.zeros((len(records), self.batch.n_categories), dtype=np.int64)
        self.metrics.forget()

    def put_orders(self, orders: NDArray[np.int64]) -> None:
        """What follows from the orders: slots, roles and keys of the pairs."""
        batch, n_sticks, s = self.batch, self.sizes.n_sticks, self.batch.n_categories
        width = batch.n_groups + 1
        roles = np.full((batch.n_chains, n_sticks, width), ABSENT, dtype=np.int8)
        names = np.empty((batch.n_chains, n_sticks, 3), dtype=np.int64)
        for c, (problem, seed, chain) in enumerate(batch.members):
            # rows that stopped before take no part, imputed or not
            roles_of_sticks(orders[c], *problem.roles._replace(before=ABSENT), roles[c])
            names[c, :, 0], names[c, :, 1] = seed, chain
        # sticks of the other moves are numbered up to the number of categories
        names[:, :, 2] = np.arange(n_sticks) + 2 * s
        self.roles, self.names = roles.reshape(-1, width), names.reshape(-1, 3)
        self.categories = orders[:, :n_sticks].copy()
        slots = np.arange(batch.n_chains)[:, None] * s + self.categories
        batch.put("path_roles", self.roles)
        batch.put("path_names", self.names)
        batch.put("path_slots", slots.ravel())

    def sweep(self, number: int) -> None:
        """One trajectory of every pair, and new precisions."""
        batch = self.batch
        adapts = 0 < number <= self.n_warmup
        self._play("look", self._look)
        if adapts:
            self._begin()
        self._renew_metrics()
        steps = np.array([step_of(record, adapts) for record in self._records()])
        n_steps, chances = np.empty(len(steps), dtype=np.int64), np.empty(len(steps))
        draw_decisions(self.names, number, LENGTH, steps, n_steps, chances)
        batch.put("chances", chances)
        batch.put("steps", steps)
        batch.put("n_steps", n_steps)
        for members in self._rounds(n_steps):
            batch.put("members", members)
            self._follow(int(n_steps[members[members >= 0]].max()))
        self._play("take", self._take)

    def _records(self) -> list[NDArray[np.float64]]:
        """Those of all pairs."""
        each = zip(self.records, self.categories.tolist(), strict=True)
        return [own[category] for own, categories in each for category in categories]

    def _width(self, pair: int) -> int:
        """Columns of the table of a pair."""
        sizes = self.sizes
        return self.batch.tables[pair // (sizes.n_pairs // sizes.n_tables)].n_columns

    def _positions(self) -> list[NDArray[np.float64]]:
        """Those of all pairs, each as wide as its table."""
        found = to_host(self.batch.arrays["position"])
        return [
            position[own_coordinates(self.sizes, self._width(pair))]
            for pair, position in enumerate(found)
        ]

    def _begin(self) -> None:
        """Take the first metric of a category's warm-up where it is."""
        records = self._records()
        new = [len(positions_in_use(record)) == 0 for record in records]
        if any(new):
            for record, position, is_new in zip(records, self._positions(), new, strict=True):
                if is_new:
                    begin(record, position)
            self._count_version(np.array(new))

    def _count_version(self, pairs: NDArray[np.bool_]) -> None:
        """Other positions are in use for these pairs."""
        chains = np.arange(len(self.categories))[:, None]
        self.versions[chains, self.categories] += pairs.reshape(self.categories.shape)

    def _renew_metrics(self) -> None:
        for pair, record in enumerate(self._records()):
            chain, stick = divmod(pair, self.sizes.n_sticks)
            category = self.categories[chain, stick]
            made_from = category, self.versions[chain, category], self.roles[pair].tobytes()
            if self.metrics.made_from[pair] != made_from:
                model = self.batch.members[chain].problem.model
                prior = (self.ard, self.shape, model.rate_prior, self.hypers)
                positions, width = positions_in_use(record), self._width(pair)
                try:
                    self.metrics.renew(pair, made_from, prior, positions, width)
                except np.linalg.LinAlgError as error:
                    raise PathError(chain, str(error)) from error

    def _rounds(self, n_steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Who is worked at together: pairs of every table with about as many steps."""
        sizes = self.sizes
        by_table = n_steps.reshape(sizes.n_tables, -1)
        n = by_table.shape[1]
        longest_first = np.argsort(-by_table, axis=1, kind="stable")
        longest_first += n * np.arange(sizes.n_tables)[:, None]
        out = []
        for first in range(0, n, sizes.places_of_a_table):
            members = np.full((sizes.n_tables, sizes.places_of_a_table), -1, dtype=np.int64)
            few = longest_first[:, first : first + sizes.places_of_a_table]
            members[:, : few.shape[1]] = few
            out.append(members.ravel())
        return out

    def _follow(self, most_steps: int) -> None:
        """The trajectories of all members; each ends after its own number of steps."""
        self._play("enter", self._enter)
        self._differentiate()
        self._play("first step", partial(self._step, first=1))
        for _ in range(most_steps):
            self._differentiate()
            self._play("step", partial(self._step, first=0))
        self._play("land", self._land)

    def _differentiate(self) -> None:
        """The gradients of log-likelihoods at all places."""
        self._predict()
        self._play("row gradients", self._row_gradients)
        self._add_up()

    def _row_gradients(self) -> None:
        self._launch(
            self.sized.row_gradients,
            (self.sizes.row_blocks, self.sizes.n_places),
            THREADS,
            *("path_psi", "place", "members", "running", "path_roles", "category", "parts"),
        )

    def _step(self, first: int) -> None:
        """What comes between two gradients: the end of a step, and the beginning of the next."""
        sizes, n_places = self.sizes, self.sizes.n_places
        self._launch(
            cuda_gradient.add_prior,
            (sizes.n_vectors + 1, n_places),
            THREADS,
            *(self.ard, self.shape, "rate_prior", "hypers", "widths", "members", sizes.n_sticks),
            *("running", "place", "grad_coef", "parts", "gradient", "terms"),
        )
        metric = ("path_factors", "path_rest", "steps")
        self._launch(
            cuda_paths.kick,
            (-(-sizes.n // LANES), n_places),
            MANY_THREADS,
            *(first, "members", "running", *metric, "gradient", "momentum", "force"),
        )
        self._launch(
            cuda_paths.judge,
            n_places,
            THREADS,
            *(first, "members", "running", "n_steps", "terms", "momentum"),
            *("taken", "energy", "error", "outcome"),
        )
        self._launch(
            cuda_paths.drift,
            (-(-sizes.n // (MANY_THREADS // LANES)), n_places),
            MANY_THREADS,
            *("members", "running", *metric, "momentum", "force", "place", "place_coef"),
        )

    def _by_coordinate(self, n: int) -> tuple[int, int]:
        return -(-self.sizes.n // THREADS), n

    def _look(self) -> None:
        self._launch(
            cuda_paths.look,
            self._by_coordinate(self.sizes.n_pairs),
            THREADS,
            *(
                "path_slots",
                "widths",
                "coef",
                "weight",
                "rate",
                "mass",
                "inverse_scale",
                "position",
            ),
        )

    def _enter(self) -> None:
        self._launch(
            cuda_paths.enter,
            self._by_coordinate(self.sizes.n_places),
            THREADS,
            *("members", "position", "path_names", "sweep", "widths", self.sizes.n_columns),
            *("place", "place_coef", "momentum", "running", "taken"),
        )

    def _land(self) -> None:
        self._launch(
            cuda_paths.land,
            self.sizes.n_places,
            THREADS,
            *("members", "chances", "taken", "error", "place", "position", "outcome"),
        )

    def _take(self) -> None:
        self._launch(
            cuda_paths.take,
            self._by_coordinate(self.sizes.n_pairs),
            THREADS,
            *("path_slots", "widths", "rate_prior", "position"),
            *("coef", "weight", "rate", "mass", "inverse_scale"),
        )
        if self.ard:  # rates are part of the position
            self._launch(
                centre.draw_precisions,
                (self.sizes.n_pairs * self.sizes.n_experts, self.sizes.n_layers),
                THREADS,
                *(self.shape, "no_rates", "widths", "path_slots", "path_names", "sweep"),
                *("coef", "precision", "rate", "no_guards"),
            )

    def finish(self, number: int) -> NDArray[np.int64]:
        """Learn from the trajectories of a sweep.

        Returns
        -------
        array of shape (n_chains, 4)
            What `pasb.moves.softplus_trajectory.STATISTICS` names.
        """
        outcome = to_host(self.batch.arrays["outcome"])
        if 0 < number <= self.n_warmup:
            gathers, ends = number in self.gathering, number in self.ends
            records = self._records()
            positions = self._positions() if gathers else records  # else nobody looks at them
            for record, position, own in zip(records, positions, outcome, strict=True):
                if own[cuda_paths.GRADIENTS] > 0:
                    acceptance = float(own[cuda_paths.ACCEPTANCE])
                    adapt(record, position, acceptance, gathers, ends)
            if ends:
                self._count_version(outcome[:, cuda_paths.GRADIENTS] > 0)
        columns = [cuda_paths.MOVED, cuda_paths.GRADIENTS, cuda_paths.DIVERGED]
        counts = np.column_stack([np.ones(len(outcome)), outcome[:, columns]])
        shape = (self.batch.n_chains, -1, counts.shape[1])
        return counts.reshape(shape).sum(axis=1).astype(np.int64)
