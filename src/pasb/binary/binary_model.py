"""What a binary model is: a prior, two log-probabilities and one exact update.

A `BinaryModel` holds hyperparameters and knows its probabilities; its `sampler`
holds the work space of one chain and updates the parameters of every category.
Parameters are a dictionary of arrays whose first axis is the category. The sweep
(`pasb.sampling.sweep`) decides which rows are successes, failures or absent on each stick, so
a binary model knows nothing of orders or directions.

An update is cut in two. Its *row half* is a function of a block of rows, the parameters and the
keys of the random numbers: it draws the latents of these rows and returns sums over them. Its
*centre half* is small, sees the sums and no rows, and draws the parameters. So an engine
(`pasb.sampling.engine`) is only the answer to where the rows are and who adds them up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from pasb.numerics.helpers import Task
from pasb.numerics.rows import Rows
from pasb.variates.scalar import stream_key

if TYPE_CHECKING:
    from pasb.binary.laplace import Laplace
    from pasb.binary.scout import Scout

Parameters = dict[str, NDArray]
Index = int | np.int64

_counting = Lock()


class Keys(NamedTuple):
    """Where a sweep finds its random numbers."""

    seed: int
    chain: int
    sweep: int

    def at(self, stick: Index, expert: Index = 0, purpose: Index = 0) -> np.uint64:
        """Key of the streams of one stick, expert and purpose; rows are told apart later."""
        # Numba hands back a Python int, which it would then take for a signed one
        return np.uint64(stream_key(self.seed, self.chain, self.sweep, stick, expert, purpose))


class BinarySampler(ABC):
    """One chain's sampler for the parameters of a binary model, all categories.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import Logistic
    >>> from pasb.numerics.rows import Rows
    >>> X = np.column_stack([np.ones(4), [0.0, 1.0, 2.0, 3.0]])
    >>> sampler = Logistic(precision=1.0).sampler(Rows.of(X, np.array([0, 0, 1, 1]), 2))
    >>> parameters = sampler.start(Keys(seed=0, chain=0, sweep=0))
    >>> parameters["coef"].shape  # categories, columns
    (2, 2)
    """

    #: how often each numerical guard fired
    guards: dict[str, int]

    #: names of what an update counts beside them, and where it does
    statistics: tuple[str, ...] = ()
    counted: NDArray[np.int64]

    #: whether several threads may update different categories at the same time
    concurrent: bool = False

    #: coefficient vectors of a category
    n_vectors: int = 1

    #: tasks of an update that can run at the same time
    breadth: int = 1

    @abstractmethod
    def start(self, keys: Keys) -> Parameters:
        """Parameters to start a chain from."""

    @abstractmethod
    def resume(self, parameters: Parameters) -> None:
        """Rebuild the work space that follows from parameters read from a checkpoint."""

    @abstractmethod
    def update(
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> None:
        """Update the parameters of one category given the roles of the rows, in place.

        ``roles[s]`` is the role of the rows of category s on this stick: `FAILURE`, `SUCCESS`,
        `ABSENT`, or `IMPUTED` (the label is drawn from the model); see `pasb.sticks`.
        """

    @abstractmethod
    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:
        """Draw the parameters of one category from the prior, in place."""

    @abstractmethod
    def log_sums(
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        """Sums of the log-probabilities over the rows of each category.

        ``success[j, s]`` becomes the weighted sum over the rows of s of the log-probability
        of success under the parameters of category j; likewise ``failure``.
        """

    def tasks(
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> list[Task]:
        """What `update` does, as tasks that may run beside those of other categories."""
        return [partial(self.update, parameters, category, stick, roles, keys)]

    def log_sum_tasks(
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> list[Task]:
        """What `log_sums` does, as tasks that may run side by side."""
        return [partial(self.log_sums, parameters, success, failure)]

    def reserve(self, n_threads: int) -> None:  # noqa: B027
        """Make work space for some threads, before they start.

        They would make it themselves; but a thread has a heap of its own, and what the
        preparation of the table left free in that of the caller would stay idle.
        """

    def watch(self, parameters: Parameters, categories: NDArray[np.int64]) -> None:  # noqa: B027
        """Count the guards that show in the parameters of the sticks, after a sweep."""

    def count(self, guard: str, times: int) -> None:
        """Count how often a guard fired; threads take turns."""
        if times:
            with _counting:
                self.guards[guard] += int(times)

    def add_counts(self, *times: int) -> None:
        """Add to what is counted under the names of `statistics`; threads take turns."""
        with _counting:
            for k, n in enumerate(times):
                self.counted[k] += n


class Approximable(ABC):
    """A sampler whose model has a coefficient vector with a nearly normal posterior.

    Moves propose coefficient vectors from normal approximations, on which the other parameters
    of a category then depend by their full conditional.
    """

    #: whether changing the sign of the coefficients trades success for failure, prior included
    symmetric: bool = True

    @abstractmethod
    def approximate(self, roles: NDArray[np.int8], start: NDArray[np.float64] | None) -> Laplace:
        """Normal approximation to the posterior of the coefficients given roles of the rows."""

    @abstractmethod
    def explore(self, roles: NDArray[np.int8], first: NDArray[np.float64]) -> Scout:
        """A better approximation than the `first` one, and what moves by it take."""


class PenalisedFits(ABC):
    """Penalised maximum-likelihood fits of a binary model, by which orders are compared."""

    @abstractmethod
    def random_start(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """A point to start a fit from."""

    @abstractmethod
    def fit(
        self, roles: NDArray[np.int8], start: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Penalised log-likelihood at a local maximum near `start`, and where it is.

        ``roles[s]`` says what the rows of category s are.
        """


class BinaryModel(BaseEstimator, ABC):
    """A binary regression with a Bernoulli likelihood, and its prior.

    Examples
    --------
    >>> from pasb import Logistic
    >>> model = Logistic(precision=1.0)
    >>> isinstance(model, BinaryModel)
    True
    >>> model.shapes(3)  # of what is kept of a category with three columns
    {'coef': (3,)}
    """

    #: the parameters that a kept draw holds, enough to compute probabilities
    kept: tuple[str, ...]

    #: names of the axes of a category's kept parameters; "column" stands for the covariates,
    #: the constant first
    axes: ClassVar[dict[str, tuple[str, ...]]] = {}

    #: whether changing the sign of ``coef`` trades success for failure, in model and prior
    symmetric: bool = False

    #: whether there are penalised fits, by which a starting order is chosen
    has_fits: bool = False

    #: whether the chain may propose coefficients from normal approximations
    uses_proposals: bool = False

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError that names the first impossible hyperparameter."""

    @abstractmethod
    def sampler(self, rows: Rows) -> BinarySampler:
        """Make the sampler of one chain."""

    def printed_sampler(self, rows: Rows) -> BinarySampler:
        """Make the sampler of a chain under ``scheme="paper"``, where that has its own update."""
        return self.sampler(rows)

    @abstractmethod
    def shapes(self, n_columns: int) -> dict[str, tuple[int, ...]]:
        """Shape of each kept parameter of one category."""

    @abstractmethod
    def log_probabilities(
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Logs of success and failure, (draws, categories, rows of `blocks`).

        `parameters` have the axes (draw, category, ...); `blocks` come from
        `pasb.numerics.rows.blocked`.
        """

    def side_by_side(self, parameters: Mapping[str, NDArray]) -> tuple[NDArray, ...] | None:
        """Parameters (draw, stick, ...) as `stick_probabilities` takes them.

        None where the model has no such way: predictions then go by `log_probabilities`.
        """
        return None

    def stick_probabilities(
        self,
        layout: tuple[NDArray, ...],
        X: NDArray[np.float64],
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        """Probabilities of success and failure into (sticks, rows, lanes) arrays.

        `layout` comes from `side_by_side`; `X` is (rows, padded columns).
        """
        raise NotImplementedError

    def penalised_fits(self, rows: Rows) -> PenalisedFits:
        """Fits of these rows, with a work space of their own; only where `has_fits`."""
        raise NotImplementedError

    def without_inactive(self, parameters: Mapping[str, NDArray]) -> Parameters:
        """Kept parameters, over any leading axes, with what is inactive turned off."""
        return dict(parameters)

    def without_negligible(
        self, parameters: Mapping[str, NDArray], X: NDArray[np.float64]
    ) -> Parameters:
        """Kept parameters (draw, category, ...) without parts that hardly matter to any row of `X`.

        What is left out must not matter much to training rows either.
        """
        return dict(parameters)

    def n_hyperplanes(self, parameters: Mapping[str, NDArray]) -> int:
        """Hyperplanes in use in one draw, by the categories that `parameters` hold."""
        return len(next(iter(parameters.values())))

    @abstractmethod
    def simulate(self, n_columns: int, rng: np.random.Generator) -> Parameters:
        """Draw one category's parameters from the prior."""

    def simulate_categories(
        self, n_columns: int, n_categories: int, rng: np.random.Generator
    ) -> Parameters:
        """Draw the parameters of all categories, which may have some in common."""
        return stacked([self.simulate(n_columns, rng) for _ in range(n_categories)])


def stacked(each: Sequence[Parameters]) -> Parameters:
    """Parameters of several categories as arrays whose first axis is the category."""
    return {name: np.array([own[name] for own in each], dtype=np.float64) for name in each[0]}
