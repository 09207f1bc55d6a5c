"""Predictions, comparisons and slopes of class probabilities, with credible intervals.

The words are those of the R and Python packages *marginaleffects*. All are functions of class
probabilities, whose meaning does not change with the order of the classes, so every draw counts,
and every model has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.effects.altered_rows import AlteredRows, Changes, check_known, one_or_more
from pasb.effects.chain_rule import average_slopes
from pasb.effects.contrasts import (
    contrasts_of,
    levels_of,
    profile_contrast,
)
from pasb.effects.extrapolation import span_of, warn_outside
from pasb.effects.question import Question
from pasb.effects.slope_evaluations import Kind, has_exact_slopes, of_kind, slopes_of
from pasb.effects.tidy import Between


def predictions(
    model: Any,
    X: Any,
    *,
    variables: Mapping[str, Any] | None = None,
    by: Any = None,
    classes: Any = None,
    between: Between | None = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
    draws: bool = False,
    availability: Any = None,
) -> Any:
    """Class probabilities of rows, or their averages, with credible intervals.

    Parameters
    ----------
    model : fitted classifier, a pipeline that ends in one, or a StackedPosterior
    X : array or data frame of shape (n_rows, n_features)
        Observed rows, or hypothetical ones such as `datagrid` makes.
    variables : dict, optional
        For some columns a list of values (or "all", the distinct ones): every row gets every
        combination of them, as if the whole table had it. With `by=True` these are averages over
        the rows for each combination, known as partial dependence.
    by : None, True, str, array, Series or list of these, default=None
        None: a result for each row. True: one average over all rows. Columns of `X`, which may be
        others than those of the fit, or labels of the rows: averages over the rows that agree.
    classes : label or list of labels, optional
        Only these classes.
    between : {"difference", "ratio"} or None, default=None
        Compare every class with every other one instead of taking each by itself.
    weights : array of shape (n_rows,), optional
        How much a row counts in an average.
    interval : float, default=0.9
        Probability of the credible interval from ``lower`` to ``upper``.
    n_draws : int, optional
        Use this many draws, evenly spaced over all chains, instead of all.
    draws : bool, default=False
        Return the draws of the averages as an `xarray.DataArray` instead of a table.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes the rows can choose, as in `model.predict_proba`. Others have probability 0.

    Returns
    -------
    pandas or polars DataFrame, as `X` was
        A line for each row or group, and class: ``estimate`` is the posterior mean, or of ratios
        the posterior median.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, effects
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> effects.predictions(model, X, by=True)[["class", "estimate"]].round(1)
       class  estimate
    0      0       0.3
    1      1       0.3
    2      2       0.3
    """
    asked = Question(
        model,
        X,
        by=by,
        weights=weights,
        classes=classes,
        between=between,
        interval=interval,
        n_draws=n_draws,
        draws=draws,
        availability=availability,
    )
    variants, keys = _settings(asked.rows, {} if variables is None else variables)
    evaluate = asked.of_variants(variants)
    return asked.report(evaluate, len(variants), lambda measures: measures, keys)


def comparisons(
    model: Any,
    X: Any,
    variables: Any = None,
    *,
    profile: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
    comparison: Literal["difference", "ratio"] = "difference",
    by: Any = None,
    classes: Any = None,
    between: Between | None = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
    draws: bool = False,
    availability: Any = None,
) -> Any:
    """How class probabilities change when covariates do, with credible intervals.

    Two versions of every row are compared that differ in one covariate and agree in all others.

    Parameters
    ----------
    model : fitted classifier, a pipeline that ends in one, or a StackedPosterior
    X : array or data frame of shape (n_rows, n_features)
    variables : str, list of str or dict, optional
        Which covariates change; all by default. As a dictionary, how:

        - a number is added to what the row has (1 by default);
        - ``[a, b]``: from a to b, for every row;
        - "sd", "2sd": by so many standard deviations around the mean; "iqr": between quartiles;
          "minmax": from the smallest value to the largest;
        - columns with levels: "reference" (the default: each level against the first one) or
          "pairwise". A column of two numbers counts as one with two levels.
    profile : pair of dict, optional
        Instead of one covariate at a time: from one set of values to another.
    comparison : {"difference", "ratio"}, default="difference"
        Of the two probabilities. In averages the ratio is that of averaged probabilities. The
        ``estimate`` of a ratio is its posterior median.
    by, classes, between, weights, interval, n_draws, draws, availability
        As in `predictions`.

    Returns
    -------
    pandas or polars DataFrame, as `X` was
        ``term`` (the covariate), ``contrast`` (from what to what), ``class``, and ``estimate``,
        ``lower``, ``upper``.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, effects
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> found = effects.avg_comparisons(model, X, {"petal width (cm)": [1.0, 2.0]}, classes=[2])
    >>> found[["term", "contrast", "class"]]
                   term contrast  class
    0  petal width (cm)    2 - 1      2
    >>> bool(found["lower"][0] > 0)  # a wider petal speaks for virginica
    True
    """
    if comparison not in ("difference", "ratio"):
        raise ValueError(f"comparison must be 'difference' or 'ratio', not {comparison!r}")
    asked = Question(
        model,
        X,
        by=by,
        weights=weights,
        classes=classes,
        between=between,
        interval=interval,
        n_draws=n_draws,
        draws=draws,
        availability=availability,
    )
    asked.are_ratios |= comparison == "ratio"
    if profile is not None and variables is not None:
        raise ValueError("pass variables or profile, not both")
    if profile is None:
        contrasts = contrasts_of(asked.rows, variables)
    else:
        contrasts = [profile_contrast(asked.rows, profile)]
    if not contrasts:
        raise ValueError("there is nothing to compare: the covariates do not vary")
    variants: list[Changes] = []
    for contrast in contrasts:  # the rows as they are serve many contrasts
        variants += [side for side in contrast[2:] if side not in variants]
    low = [variants.index(contrast.low) for contrast in contrasts]
    high = [variants.index(contrast.high) for contrast in contrasts]

    def combine(measures: NDArray[np.float64]) -> NDArray[np.float64]:
        if comparison == "difference":
            return measures[:, high] - measures[:, low]
        with np.errstate(divide="ignore", invalid="ignore"):
            return measures[:, high] / measures[:, low]

    keys = [{"term": contrast.term, "contrast": contrast.label} for contrast in contrasts]
    evaluate = asked.of_variants(variants)
    return asked.report(evaluate, len(variants), combine, keys)


def slopes(
    model: Any,
    X: Any,
    variables: Any = None,
    *,
    kind: Kind = "dydx",
    by: Any = None,
    classes: Any = None,
    between: Between | None = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
    draws: bool = False,
    availability: Any = None,
) -> Any:
    """Slopes of class probabilities along covariates, or elasticities, with credible intervals.

    Parameters
    ----------
    model : fitted classifier, a pipeline that ends in one, or a StackedPosterior
    X : array or data frame of shape (n_rows, n_features)
    variables : str or list of str, optional
        Columns of numbers; all of them by default.
    kind : {"dydx", "eyex", "eydx", "dyex"}, default="dydx"
        Probability per unit; elasticity (percent per percent); percent per unit; or probability
        per relative change.
    by, classes, between, weights, interval, n_draws, draws, availability
        As in `predictions`.

    Returns
    -------
    pandas or polars DataFrame, as `X` was
        ``term``, ``contrast`` (which is `kind`), ``class``, ``estimate``, ``lower``, ``upper``.

    Notes
    -----
    Linear and softplus models are differentiated by the chain rule: averages for all covariates
    then take little longer than one prediction. For other models, and behind a pipeline or a
    formula, slopes are central differences over 1e-4 of a covariate's range.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, effects
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> found = effects.avg_slopes(model, X, "petal width (cm)")
    >>> bool(abs(found["estimate"].sum()) < 1e-12)  # what one class gains, others lose
    True
    """
    if kind not in ("dydx", "eyex", "eydx", "dyex"):
        raise ValueError(f"kind must be 'dydx', 'eyex', 'eydx' or 'dyex', not {kind!r}")
    asked = Question(
        model,
        X,
        by=by,
        weights=weights,
        classes=classes,
        between=between,
        interval=interval,
        n_draws=n_draws,
        draws=draws,
        availability=availability,
    )
    rows, members = asked.rows, asked.members
    names = _columns_of_numbers(rows, variables)
    keys = [{"term": name, "contrast": kind} for name in names]
    if kind == "dydx" and asked.groups is not None and all(map(has_exact_slopes, members)):
        groups, n_threads = asked.groups, asked.fitted.n_threads
        each = [average_slopes(m.rows, m.predictor, names, groups, n_threads) for m in members]
        return asked.of_groups(np.concatenate(each, axis=1), keys)
    evaluate = asked.together([slopes_of(member, names) for member in members])
    columns = [np.asarray(rows.column(name), dtype=np.float64) for name in names]
    among = None if asked.groups is None or kind[:2] != "ey" else rows.available
    nothing = np.nan if among is None else 0.0  # what a class has that is not available

    def scaled(part: slice):
        for some, values in evaluate(part):
            yield some, of_kind(values, kind, [column[part] for column in columns], nothing)

    return asked.report(scaled, 1 + len(names), lambda measures: measures, keys, among)


def avg_predictions(model: Any, X: Any, *, by: Any = True, **options: Any) -> Any:
    """`predictions`, averaged over all rows or by groups.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, effects
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> effects.avg_predictions(model, X)[["class", "estimate"]].round(1)
       class  estimate
    0      0       0.3
    1      1       0.3
    2      2       0.3
    """
    return predictions(model, X, by=by, **options)


def avg_comparisons(
    model: Any, X: Any, variables: Any = None, *, by: Any = True, **options: Any
) -> Any:
    """`comparisons`, averaged over all rows or by groups.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, effects
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> wider = {"petal width (cm)": [1.0, 2.0]}
    >>> found = effects.avg_comparisons(model, X, wider, classes=[2])
    >>> bool(found["lower"][0] > 0)  # a wider petal speaks for virginica
    True
    """
    return comparisons(model, X, variables, by=by, **options)


def avg_slopes(model: Any, X: Any, variables: Any = None, *, by: Any = True, **options: Any) -> Any:
    """`slopes`, averaged over all rows or by groups.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, effects
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> found = effects.avg_slopes(model, X, "petal width (cm)", classes=[2])
    >>> bool(found["lower"][0] > 0)
    True
    """
    return slopes(model, X, variables, by=by, **options)


def _settings(
    rows: AlteredRows, variables: Mapping[str, Any]
) -> tuple[list[Changes], list[dict[str, Any]]]:
    """Every combination of values that all rows get, and their names in a table."""
    if not isinstance(variables, Mapping):
        named = [str(name) for name in one_or_more(variables)]
        example = named[0] if named and named[0] in rows.covariates else rows.covariates[0]
        raise TypeError(
            "variables must be a dictionary here, of columns and the values that all rows get, "
            f"such as {{{example!r}: [1, 2]}} or {{{example!r}: 'all'}}; got {variables!r}"
        )
    rows.check_columns(variables, "variables")
    choices = []
    for name, wanted in variables.items():
        if isinstance(wanted, str) and wanted == "all":
            wanted = levels_of(rows, name)
        several = isinstance(wanted, list | tuple | range | np.ndarray)
        values = np.asarray(wanted).tolist() if several else [wanted]
        if rows.is_numeric(name):
            warn_outside(name, values, span_of(rows, name))
        else:
            for value in values:
                check_known(value, levels_of(rows, name), "variables", f"a level of {name!r}")
        choices.append(values)
    found = [dict(zip(variables, values, strict=True)) for values in product(*choices)]
    return list(found), found


def _columns_of_numbers(rows: AlteredRows, variables: Any) -> list[str]:
    if variables is None:
        names = [name for name in rows.covariates if rows.is_numeric(name)]
    else:
        names = one_or_more(variables)
    rows.check_columns(names, "variables")
    for name in names:
        if not rows.is_numeric(name):
            raise ValueError(f"variables: {name!r} has levels, no slope; use comparisons")
    if not names:
        raise ValueError("X has no column of numbers, so there are no slopes; use comparisons")
    return names
