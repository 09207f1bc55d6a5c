"""The order of the classes by out-of-fold likelihood.

All sticks share the folds, so the out-of-fold log-likelihood of an order is the sum of those of its
sticks, as its evidence is in a Bayesian model. So the same searches find the best order.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from pasb.classifiers.stick_ensemble_fits import Fold, StickFits
from pasb.evidences.evidences import Evidences
from pasb.orders.lattice import Lattice
from pasb.orders.walk import walk
from pasb.sticks import Roles

MOST_LATTICE = 12  # classes; S 2^(S-1) sticks
USUAL_LATTICE = 8  # classes, of which all orders are compared unless the user sets a limit
USUAL_FITS = 1000  # of a walk
USUAL_FOLDS = 5


def folds_of(cv: Any, fits: StickFits, to_splitter: dict[str, Any]) -> list[Fold]:
    """The folds of a splitter, or so many of equal size among the rows that have a weight."""
    if cv is not None and not isinstance(cv, Integral):
        splitter = check_cv(cv, fits.categories, classifier=True)
        return [Fold(*pair) for pair in splitter.split(fits.X, fits.categories, **to_splitter)]
    n_folds, used = USUAL_FOLDS if cv is None else int(cv), np.flatnonzero(fits.weights > 0)
    rng = np.random.default_rng([fits.seed, 0])
    folds = dealt(fits.categories[used], min(n_folds, max(2, len(used))), rng)
    return [Fold(used[fold.train], used[fold.test]) for fold in folds]


def dealt(categories: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Folds with equal parts of each category, up to a row; categories may have a single row."""
    shuffled = rng.permutation(len(categories))
    by_category = shuffled[np.argsort(categories[shuffled], kind="stable")]
    fold_of = np.empty(len(categories), dtype=np.int64)
    fold_of[by_category] = np.arange(len(categories)) % n_folds
    return [
        Fold(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds)
    ]


class OutOfFold(Evidences):
    """Out-of-fold log-likelihoods of sticks, each found once.

    On a last stick the two categories are interchangeable, so these are fitted in one order only.

    Parameters
    ----------
    fits : StickFits
    folds : list of Fold
    parallel : sklearn.utils.parallel.Parallel
        Runs the folds of a stick, or all fits of the lattice, side by side.
    """

    def __init__(self, fits: StickFits, folds: list[Fold], parallel: Parallel):
        counts = np.bincount(fits.categories, fits.weights, minlength=len(fits.classes))
        super().__init__(counts.astype(np.float64), Roles.of("forward"))
        self.fits, self.folds, self.parallel = fits, folds, parallel
        self.values: dict[tuple[int, int], float] = {}
        self._config = get_config()  # scikit-learn's; other threads do not have it
        self.n_fits = self.n_shares = 0

    def log_evidence(self, category: int, later: int) -> float:
        """Out-of-fold log-likelihood of a category with the set `later` behind it."""
        stick = canonical(category, later)
        if stick not in self.values:
            self._find([stick])
        return self.values[stick]

    def lattice(self) -> Lattice:
        """Those of all sticks."""
        n = self.n_categories
        pairs = ((c, later) for later in range(1, 2**n) for c in range(n) if not later >> c & 1)
        self._find(sorted({canonical(*pair) for pair in pairs} - set(self.values)))
        return Lattice.of(n, self.log_evidence)

    def best_order(self, search: str, max_fits: int | str) -> NDArray[np.int64]:
        """The order with the largest out-of-fold likelihood, as far as the search goes."""
        n, n_folds = self.n_categories, len(self.folds)
        most_sticks = (USUAL_FITS if isinstance(max_fits, str) else max_fits) // n_folds
        if search == "lattice" and n > MOST_LATTICE:
            raise ValueError(
                f"search='lattice' compares all orders of up to {MOST_LATTICE} classes, and y has "
                f"{n}: {lattice_sticks(n) * n_folds:,} fits. Use search='walk'"
            )
        if search == "auto":
            few = n <= MOST_LATTICE and lattice_sticks(n) <= most_sticks
            if isinstance(max_fits, str):
                few = n <= USUAL_LATTICE
            search = "lattice" if few else "walk"
        if search == "lattice":
            return self.lattice().best_orders(1, tied=True)[0]
        if search == "peel":
            order = self.peeled()
        else:
            peels = peeled_sticks(n) <= most_sticks
            order = self.walked(self.peeled() if peels else self.by_separation(), most_sticks)
        order[-2:] = np.sort(order[-2:])
        return order

    def walked(self, start: NDArray[np.int64], most_sticks: int) -> NDArray[np.int64]:
        """Walk from an order to a better one, with at most so many sticks in all."""
        left = most_sticks - len(self.values) - self.n_categories  # those of the order it ends at
        if left <= 0:
            return start
        rng = np.random.default_rng([self.fits.seed, 1])
        return walk(start, self.log_evidence, rng, left)

    def _find(self, sticks: list[tuple[int, int]]) -> None:
        tasks = [(*stick, k, fold) for stick in sticks for k, fold in enumerate(self.folds)]
        with config_context(**self._config):
            scores = list(self.parallel(delayed(self.fits.score)(*task) for task in tasks))
        for j, stick in enumerate(sticks):
            own = scores[j * len(self.folds) : (j + 1) * len(self.folds)]
            self.values[stick] = sum(value for value, _ in own)
            self.n_fits += sum(real for _, real in own)
            self.n_shares += sum(not real for _, real in own)


def canonical(category: int, later: int) -> tuple[int, int]:
    """The same stick, or of the two last sticks of a pair of categories that of the smaller one."""
    other = later.bit_length() - 1
    if later == 1 << other and other < category:
        return other, 1 << category
    return category, later


def lattice_sticks(n_categories: int) -> int:
    """How many sticks the lattice has, those of two categories counted once."""
    n = n_categories
    return n * (2 ** (n - 1) - 1) - n * (n - 1) // 2


def peeled_sticks(n_categories: int) -> int:
    """How many sticks peeling looks at."""
    return n_categories * (n_categories + 1) // 2 - 2
