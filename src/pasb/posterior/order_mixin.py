"""What coefficients belong to: the posterior of the order, and tables and draws by order."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from pasb.errors import warn_user
from pasb.posterior.frames import by_direction, native_frame
from pasb.posterior.tails import tails_of

if TYPE_CHECKING:
    import xarray

    from pasb.posterior.fitted import Fitted


class OrderMixin:
    """The order of a fitted classifier, and what its sticks mean under it."""

    @property
    def fitted_(self) -> Fitted:
        """What was fitted."""
        raise NotImplementedError

    def summary(
        self,
        interval: float = 0.9,
        *,
        orders: str | int = "top",
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        availability: Any = None,
    ) -> Any:
        """Coefficients of each stick, as a data frame; of softplus sticks their experts.

        A coefficient belongs to a class against the set of classes behind it. Draws that have
        such a stick are put together whatever the rest of their orders, those without it are left
        out, and ``probability`` says how many have it. The reference class has no coefficients.
        Where several orders are probable and only one is shown, a warning says so; in pandas it is
        in ``attrs["orders"]`` too.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the credible interval from ``lower`` to ``upper``.
        orders : "top", "probable" or int, default="top"
            The sticks of the most probable order; of every order with a probability of at least
            0.05; or of so many orders, each with its ``order`` and ``order_probability``.
        X, y : array or data frame, array, optional
            Rows such as those of the fit. Each stick then has the share of ``rows`` that reach it,
            the shares of own and other ones of these it stops (``stopped_own``,
            ``stopped_others``), and ``log_evidence``: the log marginal likelihood of how it
            divides these rows, each counted once, under the prior that was used, as in
            `pasb.order_evidence`. It is NaN
            where it is not defined: for softplus sticks, under a horseshoe prior, for binary
            models without normal approximations or with more than 400 columns, and where the model
            was fitted with availability.
        availability : array or data frame of shape (n_rows, n_classes), optional
            Of these rows, as in `fit`. Rows without a choice on a stick do not reach it.

        Returns
        -------
        pandas or polars DataFrame, as `X` was in `fit`
            Columns ``stick, class, against, probability, feature, mean, sd, lower, upper, rhat,
            ess, prior``, with ``direction`` before them where there are two. Softplus sticks have
            ``quantity`` in the place of ``feature``: the number of "active experts", their
            "weight" in all, and the "mean rate" of the prior, which all sticks share.

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(
        ...     order=[0, 1, 2], n_warmup=200, n_draws=200, random_state=1
        ... ).fit(X, y)
        >>> table = model.summary(X=X, y=y).drop_duplicates("stick")
        >>> table[["class", "against", "log_evidence"]].round(0)
           class against  log_evidence
        0      0    1, 2          -4.0
        5      1       2         -19.0
        """
        from pasb.posterior.summaries import coefficient_table
        from pasb.posterior.words import several_orders

        fitted = self.fitted_
        frame = coefficient_table(fitted, tails_of(interval), orders, X, y, availability)
        told = several_orders(fitted)
        if told and hasattr(frame, "attrs"):
            frame.attrs["orders"] = told
        if told and orders == "top":
            warn_user(
                f"summary: {told} The table is about the most probable one alone; "
                "summary(orders='probable') has one for each, and pasb.effects do not depend on "
                "the order"
            )
        return frame

    def posterior_of_order(
        self, order: Sequence | None = None, *, direction: str | None = None
    ) -> xarray.DataTree:
        """The draws that have one order, as `posterior_` has all of them.

        No coefficient is NaN, so that ArviZ summarises and draws the tree as it is. It takes chains
        of equal length: those with few of these draws are left out, of the others the first ones
        are taken, so that most draws remain. ``draws_left_out`` in the groups' ``attrs`` says how
        many did not, ``order_probability`` how probable the order is, and ``draw_of_run`` in
        ``sample_stats`` which draws these are. They do not follow each other in the run, so
        effective sample sizes are rough.

        Parameters
        ----------
        order : sequence of class labels, optional
            First stick to last; the most probable order by default.
        direction : {"forward", "reverse"}, optional
            Where there are two; by default the first.

        Returns
        -------
        xarray.DataTree

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(n_warmup=200, n_draws=250, random_state=1).fit(X, y)
        >>> tree = model.posterior_of_order([0, 1, 2])
        >>> tree["posterior"]["coef"].isnull().any().item()
        False
        >>> tree["posterior"]["split"].values.tolist()
        ['0 | 1, 2', '1 | 2']
        """
        from pasb.posterior.one_order import tree_of_order

        return tree_of_order(self.fitted_, order, direction)

    def order_posterior(self, top: int | None = None) -> Any:
        """Posterior probabilities of the orders, as a data frame.

        Parameters
        ----------
        top : int, optional
            Only the most probable ones.

        Returns
        -------
        pandas or polars DataFrame, as `X` was in `fit`
            Columns ``order`` (classes from the first stick to the last, as in
            ``a > b > c / d``, where / is between two classes that share the last stick),
            ``probability``, and ``chains``, the number of chains that visited it; with
            ``direction`` before them where there are two, each with its own posterior.
        """
        fitted = self.fitted_
        if top is not None and not (isinstance(top, Integral) and top >= 1):
            raise ValueError(f"top must be a positive integer; got {top!r}")
        frames = []
        for direction in fitted.directions:
            orders, counts = fitted.orders_by_frequency(direction)
            frames.append(
                {
                    "order": [fitted.order_label(order) for order in orders[:top]],
                    "probability": counts[:top] / counts.sum(),
                    "chains": [fitted.n_visits(order, direction) for order in orders[:top]],
                }
            )
        return native_frame(by_direction(frames, fitted.directions), fitted.frame_library)

    def order_in_words(self, X=None, y=None, availability=None) -> str:
        """What the order says about the data: who is split off first, and how cleanly.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), optional
        y : array of shape (n_rows,), optional
            Rows by which the splits are judged, such as the training rows; by default the few
            that the model keeps to watch its chains.
        availability : array or data frame of shape (n_rows, n_classes), optional
            Of these rows, as in `fit`. Rows without a choice on a stick do not count there.

        Returns
        -------
        str

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(
        ...     order=[0, 1, 2], n_warmup=200, n_draws=200, random_state=1
        ... ).fit(X, y)
        >>> print(model.order_in_words(X, y))
        0 is split off first, cleanly (its stick stops ...% of its own rows and ...% of the
        others), and 1 and 2 are told apart last, ... (...% and ...%).
        """
        from pasb.posterior.words import order_in_words

        return order_in_words(self.fitted_, X, y, availability)
