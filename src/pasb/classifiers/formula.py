"""Models written as formulas: ``species ~ bill * island + bs(mass, 4)``."""

from __future__ import annotations

import os
import warnings
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from pasb.classifiers.formula_tables import (
    check_has,
    check_levels,
    columns_of,
    kind_of,
    levels_of_columns,
    to_pandas,
)
from pasb.classifiers.logistic_classifier import StickLogisticClassifier
from pasb.classifiers.notebooks import NotebookEstimator
from pasb.classifiers.robit_classifier import StickRobitClassifier
from pasb.classifiers.saved_formulas import from_plain, spec_from_json
from pasb.classifiers.softplus_classifier import SoftplusClassifier
from pasb.classifiers.splines import bent_columns, context, warn_beyond
from pasb.classifiers.svm_classifier import StickSVMClassifier
from pasb.covariates.scaling import checked_ranges
from pasb.posterior.fitted import Fitted
from pasb.posterior.mixin import PosteriorMixin

if TYPE_CHECKING:
    import pandas as pd

    from pasb.posterior.loo import Loo

KINDS = ("number", "bool", "text")
MODELS = {
    "logistic": StickLogisticClassifier,
    "robit": StickRobitClassifier,
    "softplus": SoftplusClassifier,
    "svm": StickSVMClassifier,
}


def fit(formula: str, data: Any, model: Any = "logistic", **settings: Any) -> FormulaClassifier:
    """Fit a model that is written as a formula.

    Parameters
    ----------
    formula : str
        The class on the left, terms on the right, in the language of `formulaic`: ``a + b``,
        interactions ``a:b`` and ``a * b``, levels of numbers ``C(a)``, splines ``bs(a, df=4)``,
        ``poly(a, 2)``, functions such as ``log(a)``.
    data : data frame
        Of pandas or polars.
    model : {"logistic", "robit", "softplus", "svm"} or classifier, default="logistic"
    **settings
        Those of the classifier, such as ``random_state=1``.

    Returns
    -------
    FormulaClassifier
        Fitted. It takes data frames wherever a classifier takes `X`, and remembers levels and
        the knots of splines.

    Examples
    --------
    >>> import pasb
    >>> from sklearn.datasets import load_iris
    >>> data = load_iris(as_frame=True).frame
    >>> data.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width", "kind"]
    >>> model = pasb.fit("kind ~ petal_length * petal_width", data, random_state=1)
    >>> model.fitted_.feature_names
    ['petal_length', 'petal_width', 'petal_length:petal_width']
    >>> model.predict(data[:2])
    array([0, 0])
    """
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(f"model must be one of {', '.join(map(repr, MODELS))}; got {model!r}")
        if "prior" in settings and "prior" not in MODELS[model]().get_params():
            raise ValueError(
                f"prior: a {model} model has no coefficient for each term and stick; its prior "
                "has the settings precision, precision_shape and precision_rate"
            )
        model = MODELS[model](**settings)
    elif settings:
        model = clone(model).set_params(**settings)
    return FormulaClassifier(formula, model).fit(data)


class FormulaClassifier(PosteriorMixin, ClassifierMixin, NotebookEstimator):
    """A classifier whose covariates are the terms of a formula.

    Parameters
    ----------
    formula : str
        See `pasb.fit`.
    model : classifier
        One of pasb's; it is cloned.

    Attributes
    ----------
    model_ : classifier
        Fitted to the terms.
    covariates_ : list of str
        The columns that the formula needs.
    kinds_ : dict
        Whether each of them holds a "number", a "bool" or "text".
    classes_, order_, orders_, draws_, diagnostics_
        Those of `model_`.
    """

    def __init__(self, formula: str, model: Any):
        self.formula = formula
        self.model = model

    def fit(
        self, data: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> FormulaClassifier:
        """Work out the terms and fit the model to them.

        Parameters
        ----------
        data : data frame
        y : array of shape (n_rows,), optional
            Classes; by default the column on the left of the formula.
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        self
        """
        table, y, matrix = self._matrix(data, y)
        self._spec = matrix.model_spec
        self.covariates_ = columns_of(self._spec, table)
        self.kinds_ = {name: kind_of(table[name]) for name in self.covariates_}
        numbers = [name for name in self.covariates_ if self.kinds_[name] == "number"]
        ends = {name: np.asarray(table[name], dtype=np.float64) for name in numbers}
        self._ranges = {name: (own.min(), own.max()) for name, own in ends.items()}
        self._example = {name: table[name].iloc[0] for name in self.covariates_}
        self._take(clone(self.model).fit(_without_constant(matrix), y, sample_weight))
        self._library = "polars" if type(data).__module__.startswith("polars") else "pandas"
        return self

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a file: numbers and JSON, no pickle; levels and knots included.

        Parameters
        ----------
        path : path
            Read it back with `pasb.load`; ``pasb predict`` reads it too.

        Raises
        ------
        TypeError
            For a formula that holds other Python than arithmetic and the usual functions.
        """
        from pasb.classifiers.model_file import save

        check_is_fitted(self, "model_")
        save(self, path)

    def sample_prior_proba(
        self, data: Any, y: ArrayLike | None = None, n_draws: int = 500, random_state: Any = None
    ) -> NDArray[np.float64]:
        """Class probabilities of rows under draws from the prior, before any fit.

        Parameters
        ----------
        data : data frame
        y : array of shape (n_rows,), optional
            Classes; by default the column on the left of the formula.
        n_draws : int, default=500
        random_state : int, RandomState or None, default=None

        Returns
        -------
        array of shape (n_draws, n_rows, n_classes)
        """
        _, labels, matrix = self._matrix(data, y)
        X = _without_constant(matrix)
        return self.model.sample_prior_proba(X, labels, n_draws, random_state)

    def labels_of(self, data: Any) -> NDArray:
        """The column on the left of the formula.

        Parameters
        ----------
        data : data frame

        Returns
        -------
        array of shape (n_rows,)
        """
        target, _ = _sides(_formulaic(), self.formula)
        table = to_pandas(data)
        check_has(table, [target])
        return np.asarray(table[target])

    def loo(self, X: Any, y: ArrayLike | None = None, *args: Any, **options: Any) -> Loo:
        """As that of `model_`; by default `y` is the column on the left of the formula."""
        return super().loo(X, self.labels_of(X) if y is None else y, *args, **options)

    def posterior_with(self, X: Any, y: ArrayLike | None = None, **options: Any) -> Any:
        """As that of `model_`; by default `y` is the column on the left of the formula."""
        target, _ = _sides(_formulaic(), self.formula)
        if y is None and target in to_pandas(X).columns:
            y = self.labels_of(X)
        return super().posterior_with(X, y, **options)

    def best_draw(self) -> FormulaClassifier:
        """The draw with the highest training likelihood, as a model of its own."""
        check_is_fitted(self, "model_")
        best = copy(self)
        best._take(self.model_.best_draw())
        return best

    def in_terms(self, data: Any, y: ArrayLike | None = None) -> tuple[Any, pd.DataFrame, list]:
        """What a cross-validation fits: levels and knots come from all rows, not from a fold's.

        Parameters
        ----------
        data : data frame
        y : array of shape (n_rows,), optional

        Returns
        -------
        model : classifier
            Not fitted.
        terms : pandas.DataFrame
            What it takes.
        columns : list of str
            Those of `data` that the terms are made of.
        """
        table, _, matrix = self._matrix(data, y)
        return clone(self.model), _without_constant(matrix), columns_of(matrix.model_spec, table)

    @property
    def _saw_all_rows(self) -> bool:  # type: ignore[override]
        return self.model._saw_all_rows

    def _fit_again(
        self, X: Any, y: ArrayLike, weights: NDArray[np.float64], availability: Any = None
    ) -> Fitted:
        again = self.model_._fit_again(self.terms(X), y, weights, availability)
        return self._of_tables(again)

    def _take(self, model: Any) -> None:
        """Take over a fitted classifier."""
        self.model_ = model
        for name in ("classes_", "order_", "orders_", "draws_", "diagnostics_"):
            setattr(self, name, getattr(model, name))

    def _matrix(self, data: Any, y: ArrayLike | None) -> tuple[pd.DataFrame, ArrayLike, Any]:
        """The table, its classes, and the matrix of the terms."""
        formulaic = _formulaic()
        target, terms = _sides(formulaic, self.formula)
        table = to_pandas(data)
        check_has(table, sorted(map(str, terms.required_variables)))
        if y is None:
            check_has(table, [target])
            y = np.asarray(table[target])
        matrix = _materialised(terms, table)
        return table, y, matrix

    @property
    def fitted_(self) -> Fitted:
        """What was fitted, with the way from data frames to its columns."""
        check_is_fitted(self, "model_")
        return self._of_tables(self.model_.fitted_)

    def _of_tables(self, inside: Fitted) -> Fitted:
        """What was fitted to the terms, as a model of data frames."""
        return replace(
            inside,
            inner_rows=lambda data: inside.inner_rows(self.terms(data)),
            frame_library=self._library,
            ranges=self._ranges,
        )

    def terms(self, data: Any) -> pd.DataFrame:
        """The columns that the formula makes of a table, without the constant.

        Parameters
        ----------
        data : data frame

        Returns
        -------
        pandas.DataFrame
        """
        check_is_fitted(self, "model_")
        table = to_pandas(data)
        check_has(table, self.covariates_)
        warn_beyond(table, self._ranges, self.bent_)
        return self.terms_of(table)

    def terms_of(self, data: Any) -> pd.DataFrame:
        """`terms`, without a warning where splines continue beyond their knots."""
        table = to_pandas(data)
        check_levels(table, self.levels_)
        state = self._spec.encoder_state
        levels = [name for name in self.covariates_ if "categories" in state.get(name, (0, {}))[1]]
        plain = [name for name in levels if table[name].dtype.kind in "biuf"]
        if plain:  # levels that are numbers
            table = table.assign(**{name: table[name].astype("category") for name in plain})
        return _without_constant(_materialised(self._spec, table))

    @property
    def levels_(self) -> dict[str, list]:
        """Columns that have levels, numbers in ``C(...)`` too, and the levels of the fit."""
        return levels_of_columns(self._spec.encoder_state, self.covariates_)

    @property
    def bent_(self) -> list[str]:
        """The columns of numbers that enter a spline."""
        return bent_columns(self._spec.formula, list(self._ranges))


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError:
        raise ImportError("formulas need formulaic: pip install 'pasb[formula]'") from None
    return formulaic


def _sides(formulaic: Any, text: str) -> tuple[str, Any]:
    """The name of the class column, and the terms."""
    if not isinstance(text, str) or text.count("~") != 1:
        raise ValueError(f"formula must be of the form 'class ~ terms'; got {text!r}")
    left, right = (side.strip() for side in text.split("~"))
    target = left.strip("`")
    if not left or (not left.startswith("`") and not left.isidentifier()):
        raise ValueError(f"formula: the left side must be one column of classes; got {left!r}")
    try:
        terms = formulaic.Formula(right)
    except Exception as error:
        raise ValueError(f"formula: {right!r} cannot be read: {error}") from None
    if "1" not in [str(term) for term in terms]:
        raise ValueError(
            "formula: every stick has an intercept of its own; leave out '0 +' or '- 1'"
        )
    if len(list(terms)) < 2:
        raise ValueError("formula: the right side has no term")
    return target, terms


def _materialised(terms: Any, table: pd.DataFrame) -> Any:
    """The matrix of the terms; what went wrong is said in terms of the data."""
    formulaic = _formulaic()
    with warnings.catch_warnings():
        warnings.simplefilter("error", formulaic.errors.DataMismatchWarning)
        try:
            return terms.get_model_matrix(table, na_action="raise", context=context())
        except formulaic.errors.DataMismatchWarning as problem:
            raise ValueError(f"formula: a level that was not there in fit: {problem}") from None
        except Exception as error:
            raise ValueError(f"formula: {error}") from error


def rebuilt(stored: dict[str, Any], model: Any) -> FormulaClassifier:
    """A fitted classifier from what a file holds of its formula, and its model."""
    formulaic = _formulaic()
    text, kinds = stored["text"], stored["kinds"]
    if stored["library"] not in ("pandas", "polars") or not set(kinds.values()) <= set(KINDS):
        raise ValueError("the formula is incomplete")
    _, terms = _sides(formulaic, text)
    out = FormulaClassifier(text, clone(model))
    try:
        known = spec_from_json(stored, formulaic, terms)
    except Exception as error:
        raise ValueError(f"formula: {error}") from error
    out._spec = _materialised(*known).model_spec
    out.covariates_, out.kinds_, out._library = sorted(kinds), kinds, stored["library"]
    names = sorted(stored.get("ranges", {}))  # older files have none
    ends = checked_ranges([stored["ranges"][name] for name in names], len(names)) if names else ()
    out._ranges = dict(zip(names, ends, strict=True))
    out._example = {name: from_plain(value) for name, value in stored["example"].items()}
    names = [name for name in out._spec.column_names if name != "Intercept"]
    if names != list(model.feature_names_in_) or set(out._example) != set(kinds):
        raise ValueError("the formula does not fit the model")
    out._take(model)
    return out


def _without_constant(matrix: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(matrix).drop(columns="Intercept", errors="ignore").astype(np.float64)
