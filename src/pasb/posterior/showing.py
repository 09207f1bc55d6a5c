"""How a fitted model shows itself: its report, and a line on its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from pasb import ModelReport


class ShowingMixin:
    """A report, and the state of the fit in a line."""

    def report(self, X: Any = None, y: ArrayLike | None = None, **options: Any) -> ModelReport:
        """A page about this model: draws, order, effects, scores, rows worth a look.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), optional
            Rows to look at, best those that the model was not fitted to.
        y : array of shape (n_rows,), optional
            Their classes.
        **options
            Those of `pasb.ModelReport`: `train`, `title`, `interval`, `max_rows`, `compare`,
            `row_numbers`, `availability`.

        Returns
        -------
        ModelReport
            Shown in notebooks; with `write_html`, `open` and `json`.

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
        >>> model.report(X, y, compare=False)  # .write_html("report.html") writes the page
        ModelReport(StickLogisticClassifier, 150 rows, error ...%)
        """
        from pasb import ModelReport  # of a layer above, which loads lazily

        return ModelReport(self, X, y, **options)

    def state_in_words(self) -> str:
        """Whether the model is fitted and how good its draws are, in one line.

        Returns
        -------
        str

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> StickLogisticClassifier().state_in_words()
        'Not fitted yet.'
        """
        model: Any = self
        if not hasattr(model, "draws_"):
            return "Not fitted yet."
        draws, seen = model.draws_, model.diagnostics_
        counts = getattr(model, "class_counts_", None)
        rows = "" if counts is None else f" to {int(counts.sum()):,} rows"
        verdict = "good enough" if model.converged_ else "not good enough yet"
        chains = "1 chain" if draws.n_chains == 1 else f"{draws.n_chains} chains"
        return (
            f"Fitted{rows}, {len(model.classes_)} classes: {chains} of {draws.n_draws:,} draws, "
            f"R-hat at most {seen.worst_rhat:.3f}, {verdict}."
        )
