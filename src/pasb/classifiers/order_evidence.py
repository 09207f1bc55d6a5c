"""The posterior of the order from evidences alone, without a chain."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.utils import check_random_state

from pasb.classifiers.logistic_classifier import StickLogisticClassifier
from pasb.covariates.availability import checked_availability
from pasb.covariates.checking import (
    checked_classes,
    checked_order,
    checked_table,
    checked_weights,
)
from pasb.evidences.corrected import N_IMPORTANCE, corrected_evidence, has_evidences
from pasb.evidences.evidences import members
from pasb.evidences.filling import evidence_lattice
from pasb.numerics.helpers import cores, one_blas_thread
from pasb.numerics.rows import Rows
from pasb.orders.lattice import Lattice
from pasb.posterior.frames import native_frame
from pasb.sampling.fingerprint import seed_of
from pasb.sampling.problem import MANY_COLUMNS, Problem

EXACT_LIMIT = 12  # classes; S 2^(S-1) fits, 24 576 for 12


def order_evidence(
    X: ArrayLike,
    y: ArrayLike,
    *,
    model: Any = None,
    sample_weight: ArrayLike | None = None,
    n_importance: int = N_IMPORTANCE,
    random_state: Any = None,
    availability: Any = None,
) -> OrderEvidence:
    """How well the data speak for each order of the classes.

    The evidence of an order is the product of the evidences of its sticks; all orders have the
    same prior probability. The sums over all orders are complete up to 12 classes; beyond, walkers
    search for the best order. Each stick's evidence is approximated; see the notes.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    model : classifier, optional
        Says which binary model, prior and scaling to use; it need not be fitted and is not
        changed. For a `FormulaClassifier`, `X` is the data frame. Logistic regression by default;
        robit and probit regression also have normal approximations.
    sample_weight : array of shape (n_rows,), optional
    n_importance : int, default=512
        Draws by which the normal approximation of a stick is corrected, where it may err by more
        than 0.02; an even number, or 0 for none.
    random_state : int, RandomState, Generator or None, default=None
        For the search beyond 12 classes.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes a row could choose, as in `fit`.

    Returns
    -------
    OrderEvidence

    Notes
    -----
    Prior precisions are integrated out, coefficient by coefficient: with a gamma prior on each
    precision ("ard", the default) a coefficient has a t prior.

    What is exact: the product over sticks, and up to 12 classes the sum over all orders. What is
    approximated: each stick. A normal distribution around its mode misses the skew of the
    likelihood, about 0.3 P^2 / N in a log-evidence with P columns and N rows, and the tails of t
    priors, up to 0.17 for each coefficient that the data say nothing of. Where that is much,
    importance sampling around the mode corrects both, up to its Monte Carlo error, which
    `n_importance` sets; elsewhere the tails are added by one-dimensional integrals.

    The rate of that prior is the classifier's; by default it is chosen by
    empirical Bayes. Where `precision` is a number, that number is used.

    Examples
    --------
    >>> import pasb
    >>> from sklearn.datasets import load_iris
    >>> data = load_iris(as_frame=True)
    >>> found = pasb.order_evidence(data.data, data.target_names[data.target])
    >>> found.order_posterior()[["order", "probability"]].round(2)
                                 order  probability
    0  setosa > versicolor / virginica          0.5
    1  virginica > setosa / versicolor          0.5
    2  versicolor > setosa / virginica          0.0
    >>> bool(found.probability(["setosa", "virginica", "versicolor"]) > 0.05)
    True
    >>> found.before().round(1)
    array([[nan, 0.8, 0.5],
           [0.2, nan, 0.3],
           [0.5, 0.7, nan]])
    """
    library = "polars" if type(X).__module__.startswith("polars") else "pandas"
    if hasattr(model, "in_terms"):  # of a formula
        model, X, _ = model.in_terms(X, y)
    model = StickLogisticClassifier() if model is None else clone(model)
    model._binary_model().check()
    table, labels = checked_table(model, X, y=y, reset=True)
    classes = checked_classes(labels)
    weights = checked_weights(sample_weight, table, model.class_weight, labels)
    categories = np.searchsorted(classes, labels)
    inner = model._fit_columns(table, categories, weights)
    used = weights > 0
    available = checked_availability(availability, classes, len(categories), categories)
    choices = None if available is None else available[used]
    rows = Rows.of(inner[used], categories[used], len(classes), weights[used], choices)
    model._fit_prior(rows)
    binary = model._binary_model()
    if not has_evidences(binary):
        raise ValueError(
            "order_evidence: a stick under a horseshoe prior has no normal approximation; fit the "
            "classifier and look at its order_posterior()"
        )
    with one_blas_thread():
        problem = Problem(rows, binary, model._directions[0])
        store = problem.approximations(cores(model.n_jobs))
        if store is None:
            raise ValueError(
                f"order_evidence needs a binary model with normal approximations (logistic, robit "
                f"or probit) and at most {MANY_COLUMNS} columns, not {type(binary).__name__} with "
                f"{rows.n_columns}: fit the classifier and look at its order_posterior()"
            )
        evidence_of = corrected_evidence(binary, rows, n_importance)
        lattice = None
        if len(classes) <= EXACT_LIMIT:
            lattice = evidence_lattice(store, evidence_of)
            lattice = lattice.with_ties() if binary.symmetric else lattice
            best = lattice.best_orders(1, tied=binary.symmetric)[0]
            value = lattice.log_probability(best) + lattice.log_evidence
        else:
            best = store.searched_order(seed_of(random_state))
            value = sum(
                evidence_of(store.sampler.approximate(roles, None), roles)
                for roles in (
                    store.roles(int(c), members(best[j + 1 :])) for j, c in enumerate(best[:-1])
                )
            )
            if binary.symmetric:
                best[-2:] = np.sort(best[-2:])
    return OrderEvidence(classes, classes[best], value, binary.symmetric, lattice, library)


@dataclass(frozen=True, repr=False)
class OrderEvidence:
    """What `order_evidence` found.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    order : array of shape (n_classes,)
        The best order, first stick to last.
    log_evidence_of_order : float
        Log of the probability of the labels given that order, each stick approximated.
    tied : bool
        Whether the last two classes are interchangeable, because the binary model is
        symmetric. Two orders that differ only in them then count as one.
    lattice : Lattice or None
        The evidences; None where there are more than 12 classes.
    """

    classes: NDArray
    order: NDArray
    log_evidence_of_order: float
    tied: bool
    lattice: Lattice | None
    frame_library: str = "pandas"

    def __repr__(self) -> str:
        return (
            f"OrderEvidence({self._label(self._categories(self.order))!r}, log-evidence "
            f"{self.log_evidence_of_order:.2f}, {'all orders' if self.complete else 'searched'})"
        )

    @property
    def complete(self) -> bool:
        """Whether the sums over all orders are complete; each stick is approximated."""
        return self.lattice is not None

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood: of the labels, averaged over all orders."""
        return self._complete().log_evidence - float(gammaln(len(self.classes) + 1))

    def probability(self, order: ArrayLike) -> float:
        """Posterior probability of an order of class labels, first stick to last."""
        logarithm = self._complete().log_probability(self._categories(order))
        return float(np.exp(logarithm) * (2 if self.tied else 1))

    def order_posterior(self, top: int = 10) -> Any:
        """The most probable orders, as a data frame.

        Parameters
        ----------
        top : int, default=10

        Returns
        -------
        pandas or polars DataFrame, as `X` was
            Columns ``order`` (as in ``a > b > c / d``, where / is between two classes that
            share the last stick), ``probability`` and ``log_evidence``.
        """
        if not (isinstance(top, Integral) and top >= 1):
            raise ValueError(f"top must be a positive integer; got {top!r}")
        lattice = self._complete()
        orders = lattice.best_orders(int(top), tied=self.tied)
        logs = np.array([lattice.log_probability(order) for order in orders])
        return native_frame(
            {
                "order": [self._label(order) for order in orders],
                "probability": [self.probability(self.classes[order]) for order in orders],
                "log_evidence": (logs + lattice.log_evidence).tolist(),
            },
            self.frame_library,
        )

    def sticks(self, order: ArrayLike | None = None) -> Any:
        """How well the data speak for each stick of an order, as a data frame.

        Parameters
        ----------
        order : sequence of class labels, optional
            First stick to last; the best order by default.

        Returns
        -------
        pandas or polars DataFrame, as `X` was
            Columns ``stick``, ``class``, ``against`` (the classes behind it) and ``log_evidence``,
            which add up to that of the order.
        """
        lattice = self._complete()
        chosen = self._categories(self.order if order is None else order)
        behind = [np.sort(chosen[stick + 1 :]) for stick in range(len(chosen) - 1)]
        return native_frame(
            {
                "stick": np.arange(1, len(chosen)),
                "class": self.classes[chosen[:-1]],
                "against": [", ".join(map(str, self.classes[later])) for later in behind],
                "log_evidence": [
                    float(lattice.sticks[c, members(later)])
                    for c, later in zip(chosen[:-1], behind, strict=True)
                ],
            },
            self.frame_library,
        )

    def before(self) -> NDArray[np.float64]:
        """P(class a sits on an earlier stick than class b), in the order of `classes`.

        Returns
        -------
        array of shape (n_classes, n_classes)
            Row a, column b; the diagonal is NaN. Classes that share the last stick come before
            each other with probability 1/2.
        """
        before = self._complete().before()
        np.fill_diagonal(before, np.nan)
        return before

    def before_frame(self) -> Any:
        """The same as `before`, as a data frame: a row for each ordered pair of classes.

        Returns
        -------
        pandas or polars DataFrame, as `X` was
            Columns ``first``, ``second`` and ``probability``, that of `first` sitting before
            `second`.
        """
        before = self.before()
        pairs = [pair for pair in np.ndindex(before.shape) if pair[0] != pair[1]]
        return native_frame(
            {
                "first": [self.classes[a] for a, _ in pairs],
                "second": [self.classes[b] for _, b in pairs],
                "probability": [float(before[pair]) for pair in pairs],
            },
            self.frame_library,
        )

    def draw(self, n_draws: int = 1, random_state: Any = None) -> NDArray:
        """Independent draws from the posterior of the order.

        Parameters
        ----------
        n_draws : int, default=1
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        array of shape (n_draws, n_classes)
            Class labels, first stick to last.
        """
        lattice, n = self._complete(), len(self.classes)
        generator = isinstance(random_state, np.random.Generator)
        rng = random_state if generator else check_random_state(random_state)
        uniforms = rng.random((n_draws, n))
        return self.classes[np.array([lattice.draw(row) for row in uniforms]).reshape(-1, n)]

    def _complete(self) -> Lattice:
        if self.lattice is None:
            raise ValueError(
                f"there are {len(self.classes)} classes, and sums over all orders are made for up "
                f"to {EXACT_LIMIT}: only order and log_evidence_of_order are known. A fitted "
                "classifier's order_posterior() tells which orders its chains visited."
            )
        return self.lattice

    def _categories(self, order: ArrayLike) -> NDArray[np.int64]:
        return checked_order(order, self.classes)

    def _label(self, order: NDArray[np.int64]) -> str:
        labels = [str(label) for label in self.classes[order]]
        if self.tied:
            labels[-2:] = [" / ".join(labels[-2:])]
        return " > ".join(labels)
