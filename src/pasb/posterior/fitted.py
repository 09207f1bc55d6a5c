"""What the layers above need of a fitted model: its draws, their names and their meaning.

A classifier builds a `Fitted` and offers it as ``model.fitted_``. Reports, plots, the tree of
draws and the command line read that object, never a classifier's private attributes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.covariates.availability import checked_availability
from pasb.covariates.scaling import Scaling
from pasb.covariates.short_labels import short_labels
from pasb.numerics.lazy_rows import Table
from pasb.numerics.rows import sorting
from pasb.posterior.diagnostics import Diagnostics, rhat_and_ess
from pasb.posterior.limits import Limits
from pasb.posterior.predict import Predictor
from pasb.sampling.draws import Draws
from pasb.sticks import Direction

MOST_WATCHED = 24  # rows
SHORTEST_NAME = 6  # letters of a class in a line of them
MOST_PREDICTORS = 4  # that are kept with draws
DRAWS_AT_ONCE = 512  # whose parameters diagnostics copy


class WatchedRows(NamedTuple):
    """The few training rows whose probabilities tell whether the chains agree.

    Attributes
    ----------
    row : integer array of shape (n_watched,)
        Their numbers in the training table.
    inner : array of shape (n_watched, n_columns)
        Their columns, as the binary model sees them.
    category : integer array of shape (n_watched,)
    available : boolean array of shape (n_watched, n_categories) or None
        What each of them could be; None where all rows could be anything.
    """

    row: NDArray[np.int64]
    inner: NDArray[np.float64]
    category: NDArray[np.int64]
    available: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls,
        inner: Table,
        categories: NDArray[np.int64],
        used: NDArray[np.bool_],
        available: NDArray[np.bool_] | None = None,
    ) -> WatchedRows:
        """Choose among the rows in use, spread evenly over the categories."""
        some = not used.all()
        source = sorting(categories[used] if some else categories)
        n = min(MOST_WATCHED, len(source))
        picked = source[np.unique(np.linspace(0, len(source) - 1, n).astype(np.int64))]
        row = np.flatnonzero(used)[picked] if some else picked
        own = None if available is None else available[row]
        return cls(row, inner[row], categories[row], own)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, as other layers see it.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    directions : tuple of {"forward", "reverse"}
    draws : Draws
    binary : BinaryModel
        The binary model of each stick.
    feature_names : list of str
        Names of what the scaling is for: the covariates and, in a stack, the responses of the
        hyperplanes below.
    scaling : Scaling
    columns : callable
        From a checked table of covariates to the binary model's columns, the constant first.
    inner_rows : callable
        The same from what a user passes as `X`; may be computed only for the rows asked for.
    columns_are_features : bool
        Whether each column but the constant is one of the covariates, scaled.
    watched : WatchedRows
    order_is_fixed : bool
        Whether the user fixed the order.
    frame_library : {"pandas", "polars"}
        The library of the data frames that reports return.
    n_threads : int
        Threads of a prediction.
    predictor_type : type
    limits : Limits
        How good the draws have to be.
    checkpoint : path, optional
        The folder of the run.
    ranges : dict
        From where to where covariates go in the rows of the fit, by name; older files know none.
    seed : int or None
        That of the fit; None where it is not known, as for a model from a file.
    """

    classes: NDArray
    directions: tuple[Direction, ...]
    draws: Draws
    binary: BinaryModel
    feature_names: list[str]
    scaling: Scaling
    columns: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    inner_rows: Callable[[ArrayLike], Table]
    columns_are_features: bool
    watched: WatchedRows
    order_is_fixed: bool
    frame_library: str
    n_threads: int
    predictor_type: type[Predictor] = Predictor
    limits: Limits = field(default_factory=Limits)
    checkpoint: str | os.PathLike | None = None
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    seed: int | None = None

    def predictor(self, n_draws: int | None = None) -> Predictor:
        """Probabilities from all draws, or from some, evenly spaced in every chain.

        It is kept with the draws, since what it prepares takes longer than predicting a row.
        """
        draws = self.draws
        if n_draws is not None:
            n_draws = _checked_number(n_draws, draws.n_chains * draws.n_draws)
        known, key = draws.memo, (self.predictor_type, n_draws)
        predictor = known.get(key)
        if predictor is None or not _alike(predictor.model, self.binary):
            chosen = slice(None) if n_draws is None else draws.spread(n_draws)
            predictor = self._predictor(slice(None), chosen)
            while len(known) >= MOST_PREDICTORS:  # several threads may be here
                known.pop(next(iter(known), None), None)
            known[key] = predictor
        return predictor

    def _predictor(self, chains: slice, chosen: Any = slice(None)) -> Predictor:
        """From some of the draws of some chains."""
        draws = self.draws

        def flat(values: NDArray) -> NDArray:
            own = values[chains]
            return own.reshape(-1, *own.shape[2:])[chosen]

        reverse = np.array(draws.directions)[chains] == "reverse"
        return self.predictor_type(
            model=self.binary,
            reverse=np.repeat(reverse, draws.n_draws)[chosen],
            parameters={name: flat(values) for name, values in draws.parameters.items()},
            orders=flat(draws.order),
        )

    def watched_probabilities(self) -> NDArray[np.float64]:
        """Probabilities of the watched rows, (chain, draw, row, category)."""
        draws, inner = self.draws, self.watched.inner
        available = self.watched.available
        if self.predictor_type is not Predictor:  # a device does all at once
            flat = self._predictor(slice(None)).samples(inner, available=available)
            return flat.reshape(draws.n_chains, draws.n_draws, *flat.shape[1:])
        out = np.empty((draws.n_chains, draws.n_draws, len(inner), len(self.classes)))
        for chain in range(draws.n_chains):
            for start in range(0, draws.n_draws, DRAWS_AT_ONCE):
                some = slice(start, start + DRAWS_AT_ONCE)
                predictor = self._predictor(slice(chain, chain + 1), some)
                # in one way, whatever their number: ranks tell draws apart by the last digit
                one = replace(predictor, least_draws=1)
                out[chain, some] = one.samples(inner, available=available)
        return out

    def good_enough(self) -> bool:
        """Whether R-hat and effective sample size in `diagnostics` are within the limits.

        Quick where they are not: it begins with what looks worst and ends with the first quantity
        outside. The draws may be views of those of a run; only a few are copied at a time.
        """
        draws, met = self.draws, self.limits.met
        by_direction = [draws.of_direction(name) for name in self.directions]
        for chains in by_direction:
            if not met(*rhat_and_ess(draws.log_likelihood[chains][:, :, None])):
                return False
        probabilities = replace(self, predictor_type=Predictor).watched_probabilities()
        return all(
            met(*rhat_and_ess(own[:, :, row]))
            for own in (probabilities[chains] for chains in by_direction)
            for row in _worst_first(own)
        )

    def diagnostics(self) -> Diagnostics:
        """R-hat, effective sample size and standard error of probabilities, and more."""
        probabilities, log_likelihood = self.watched_probabilities(), self.draws.log_likelihood
        if len(self.directions) == 1:
            return Diagnostics.of(probabilities, log_likelihood)
        chains = {name: self.draws.of_direction(name) for name in self.directions}
        return Diagnostics.worst_of(
            {
                name: Diagnostics.of(probabilities[own], log_likelihood[own])
                for name, own in chains.items()
            }
        )

    @property
    def last_two_tie(self) -> bool:
        """Whether the last two classes are interchangeable: they share the last stick.

        True of a symmetric binary model, unless the user fixed the order.
        """
        return self.binary.symmetric and not self.order_is_fixed

    def order_label(self, order: NDArray[np.int64], names: Sequence[object] | None = None) -> str:
        """Classes from the first stick to the last, as in ``a > b > c / d``, or other names."""
        shown: Any = self.classes if names is None else names
        labels = [str(shown[category]) for category in order]
        if self.last_two_tie:
            labels[-2:] = [" / ".join(labels[-2:])]
        return " > ".join(labels)

    def order_lines(self, orders: NDArray[np.int64], longest: int) -> list[str]:
        """Several orders, with class names as long as lines of `longest` letters have room for."""
        for most in range(longest, SHORTEST_NAME - 1, -1):
            names = short_labels(self.classes, most)
            lines = [self.order_label(order, names) for order in orders]
            if max(map(len, lines), default=0) <= longest:
                break
        return lines

    def orders_by_frequency(
        self, direction: Direction
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distinct orders of the draws of a direction, the most frequent first, and counts."""
        chains = self.draws.of_direction(direction)
        return _by_frequency(self.draws.order[chains].reshape(-1, len(self.classes)))

    def orders_of_classes(self) -> tuple[dict[Direction, NDArray], NDArray]:
        """The most frequent order of each direction as class labels; and that of the first."""
        orders = {name: self.classes[self.top_order(name)] for name in self.directions}
        return orders, orders[self.directions[0]]

    def top_order(self, direction: Direction) -> NDArray[np.int64]:
        """The most frequent order of a direction."""
        return self.orders_by_frequency(direction)[0][0]

    def in_order(self, order: NDArray[np.int64], direction: Direction) -> NDArray[np.bool_]:
        """Which draws are of a direction and have this order, (chain, draw)."""
        chosen = (self.draws.order == order).all(axis=2)
        return chosen & (np.array(self.draws.directions) == direction)[:, None]

    def n_visits(self, order: NDArray[np.int64], direction: Direction) -> int:
        """How many chains of a direction visited an order."""
        return int(self.in_order(order, direction).any(axis=1).sum())

    @property
    def has_coefficients(self) -> bool:
        """Whether each stick has one coefficient for each covariate."""
        return self.binary.axes.get("coef") == ("column",) and self.columns_are_features

    def opened(self, X: ArrayLike, availability: Any) -> tuple[Table, NDArray[np.bool_] | None]:
        """Rows, and what a user says of the classes they can choose; None where it is all."""
        inner = self.inner_rows(X)
        if availability is None:
            if self.watched.available is not None:
                warnings.warn(
                    "the model was fitted with availability, and every row is predicted as if it "
                    "could choose every class: pass availability= (True everywhere, if that is "
                    "meant)",
                    stacklevel=3,
                )
            return inner, None
        return inner, checked_availability(availability, self.classes, len(inner))

    def check_all_available(self, what: str) -> None:
        """Ask for availability that was not passed, where the model was fitted with it."""
        if self.watched.available is not None:
            raise ValueError(
                f"{what} would take everything for available, but the model was fitted with "
                "availability: pass availability=, what each row of X can choose (True everywhere, "
                "if it can choose anything)"
            )

    def check_has_coefficients(self, what: str) -> None:
        """Refuse what needs one coefficient vector for each stick."""
        if not self.has_coefficients:
            raise NotImplementedError(
                f"{what} needs a binary model with one coefficient vector for each stick; the "
                f"parameters of {type(self.binary).__name__} are in posterior_"
            )


def _checked_number(n_draws: Any, total: int) -> int:
    whole = isinstance(n_draws, Integral) and not isinstance(n_draws, bool)
    if not whole or not 1 <= n_draws <= total:
        raise ValueError(
            f"n_draws must be a positive integer up to {total}, the number of draws of all chains; "
            f"got {n_draws!r}"
        )
    return int(n_draws)


def _alike(one: BinaryModel, other: BinaryModel) -> bool:
    """Whether two binary models have the same hyperparameters; False where that is hard to tell."""
    if one is other:
        return True
    try:
        return type(one) is type(other) and vars(one) == vars(other)
    except ValueError:  # arrays among them
        return False


def _worst_first(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows of (chain, draw, row, category), those first whose means vary most between halves."""
    half = probabilities.shape[1] // 2
    means = [part.mean(axis=1) for part in (probabilities[:, :half], probabilities[:, half:])]
    total = np.maximum(probabilities.var(axis=(0, 1)), np.finfo(float).tiny)
    return np.argsort(-(np.concatenate(means).var(axis=0) / total).max(axis=1))


def _by_frequency(
    orders: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows, the most frequent first, and how often each occurs."""
    distinct, counts = np.unique(orders, axis=0, return_counts=True)
    ranking = np.argsort(-counts, kind="stable")
    return distinct[ranking], counts[ranking]
