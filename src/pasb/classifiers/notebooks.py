"""Classifiers in notebooks: scikit-learn's picture, and a line on the state of the fit."""

from __future__ import annotations

import html

from sklearn.base import BaseEstimator


class NotebookEstimator(BaseEstimator):
    """An estimator that says below its picture whether it is fitted and how good its draws are."""

    def state_in_words(self) -> str:
        """The line."""
        raise NotImplementedError

    def _html_repr(self) -> str:  # scikit-learn 1.7 and later
        return self._with_state(super()._html_repr())

    def _repr_html_inner(self) -> str:
        shown = super()._repr_html_inner()
        return shown if hasattr(BaseEstimator, "_html_repr") else self._with_state(shown)

    def _with_state(self, shown: str) -> str:
        line = html.escape(self.state_in_words())
        return f'<div>{shown}<p class="pasb-state" style="margin:.4em 0 0">{line}</p></div>'
