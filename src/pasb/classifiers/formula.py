"""Models written as formulas: ``species ~ bill * island + bs(mass, 4)``."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from pasb.classifiers.logistic_classifier import StickLogisticClassifier
from pasb.classifiers.robit_classifier import StickRobitClassifier
from pasb.classifiers.softplus_classifier import SoftplusClassifier
from pasb.classifiers.svm_classifier import StickSVMClassifier
from pasb.posterior.fitted import Fitted
from pasb.posterior.mixin import PosteriorMixin

if TYPE_CHECKING:
    import pandas as pd

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
        model = MODELS[model](**settings)
    elif settings:
        model = clone(model).set_params(**settings)
    return FormulaClassifier(formula, model).fit(data)


class FormulaClassifier(PosteriorMixin, ClassifierMixin, BaseEstimator):
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
        formulaic = _formulaic()
        target, terms = _sides(formulaic, self.formula)
        table = _pandas(data)
        _need(table, sorted(map(str, terms.required_variables)))
        if y is None:
            _need(table, [target])
            y = np.asarray(table[target])
        matrix = _materialised(lambda: terms.get_model_matrix(table, na_action="raise"))
        self._spec = matrix.model_spec
        used = self._spec.variables_by_source.get("data", ())  # those within functions too
        self.covariates_ = sorted(map(str, used))
        self.model_ = clone(self.model).fit(_without_constant(matrix), y, sample_weight)
        for name in ("classes_", "order_", "orders_", "draws_", "diagnostics_"):
            setattr(self, name, getattr(self.model_, name))
        self._library = "polars" if type(data).__module__.startswith("polars") else "pandas"
        return self

    @property
    def fitted_(self) -> Fitted:
        """What was fitted, with the way from data frames to its columns."""
        check_is_fitted(self, "model_")
        inside = self.model_.fitted_
        return replace(
            inside,
            inner_rows=lambda data: inside.inner_rows(self.terms(data)),
            frame_library=self._library,
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
        table = _pandas(data)
        _need(table, self.covariates_)
        return _without_constant(
            _materialised(lambda: self._spec.get_model_matrix(table, na_action="raise"))
        )


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


def _materialised(make: Any) -> Any:
    """The matrix of the terms; what went wrong is said in terms of the data."""
    formulaic = _formulaic()
    with warnings.catch_warnings():
        warnings.simplefilter("error", formulaic.errors.DataMismatchWarning)
        try:
            return make()
        except formulaic.errors.DataMismatchWarning as problem:
            raise ValueError(f"formula: a level that was not there in fit: {problem}") from None
        except Exception as error:
            raise ValueError(f"formula: {error}") from error


def _without_constant(matrix: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(matrix).drop(columns="Intercept", errors="ignore").astype(np.float64)


def _pandas(data: Any) -> pd.DataFrame:
    """A data frame of any library as one of pandas."""
    import narwhals as nw
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"formulas need a data frame of pandas or polars, not {type(data).__name__}"
        )
    columns: dict[str, NDArray] = {name: frame[name].to_numpy() for name in frame.columns}
    return pd.DataFrame(columns)


def _need(table: pd.DataFrame, names: list[str]) -> None:
    for name in names:
        if name not in table.columns:
            shown = ", ".join(repr(str(column)) for column in list(table.columns)[:12])
            raise ValueError(f"formula: data has no column {name!r}; it has {shown}")
