"""Class probabilities along a covariate, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.choice_data import ChoiceData
from pasb.covariates.gaps import numbers_in
from pasb.effects import predictions
from pasb.plots import canvas, style
from pasb.plots.lettering import use_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MOST_PANELS = 6


def effects(
    model: Any,
    X: Any,
    variable: str,
    *,
    by: str | None = None,
    classes: Any = None,
    interval: float = 0.9,
    n_points: int = 40,
    max_rows: int = 500,
    availability: Any = None,
    figure: Figure | SubFigure | None = None,
    ax: Any = None,
) -> Figure | SubFigure:
    """Draw class probabilities along a covariate, averaged over the other columns.

    Every row gets every value of the covariate in turn, and probabilities are averaged over the
    rows (partial dependence). Lines are posterior means, bands credible intervals of the average;
    a covariate with levels has points and bars. Ticks at the bottom show where there are rows.

    Parameters
    ----------
    model : fitted classifier, a pipeline that ends in one, or a StackedPosterior
    X : array or data frame of shape (n_rows, n_features), or ChoiceData
    variable : str
        A column of `X`.
    by : str, optional
        A second column: one panel for each of its levels, or for the 10, 50 and 90 % points of
        a column of numbers.
    classes : label or list of labels, optional
        Only these classes.
    interval : float, default=0.9
        Probability of the bands.
    n_points : int, default=40
        Values of the covariate.
    max_rows : int, default=500
        Average over so many rows, evenly spaced, where there are more.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes the rows can choose, whatever value they get.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.
    ax : Axes or array of Axes, optional
        Where to draw instead: one for each panel.

    Returns
    -------
    Figure or SubFigure

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, plots
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> figure = plots.effects(model, X, "petal width (cm)", n_points=10)
    >>> figure.axes[0].get_xlabel()
    'petal width (cm)'
    """
    from pasb.effects.altered_rows import one_or_more, table_of_choices
    from pasb.effects.members import members_of

    classes = None if classes is None else one_or_more(classes)
    if isinstance(X, ChoiceData):
        X, availability = table_of_choices(model, X, availability)
    # names and columns are those of every model
    rows = members_of(model, X, None, availability)[0].rows
    rows.check_columns([variable, *([by] if by else [])], "variable" if by is None else "by")
    if by == variable:
        raise ValueError(f"by must be another column than {variable!r}")
    values = _points(rows, variable, n_points)
    panels = _panels(rows, by)
    asked = {variable: values} | ({by: panels} if by else {})
    some = np.unique(np.linspace(0, len(rows) - 1, max_rows).astype(np.int64))
    if rows.is_numeric(variable):  # the whole range, of which the values are taken
        column = np.asarray(rows.column(variable), dtype=np.float64)
        some = np.union1d(some, [np.nanargmin(column), np.nanargmax(column)])
    found = predictions(
        model,
        _rows_of(X, some),
        variables=asked,
        by=True,
        classes=classes,
        interval=interval,
        availability=None if availability is None else _rows_of(availability, some),
    )
    columns = {name: np.array(found[name]) for name in ("class", "estimate", "lower", "upper")}
    shown = classes if classes is not None else rows.fitted.classes.tolist()
    places = [rows.fitted.classes.tolist().index(label) for label in shown]
    shape = (len(values), len(panels), len(shown))
    numbers = {k: columns[k].reshape(shape) for k in ("estimate", "lower", "upper")}
    names, levels = style.shortened(rows.fitted.classes, 18), _texts(panels)
    columns_beside, beside = style.legend_beside([names[k] for k in places])
    size = 0.6 + 3.4 * len(panels) + beside, 3.6
    figure, grid = canvas.panels(ax, figure, (1, len(panels)), size, sharey=True)
    axes = grid[0]
    palette = style.colours(len(rows.fitted.classes))
    for k, own in enumerate(axes):
        for c, place in enumerate(places):
            lines = [numbers[name][:, k, c] for name in ("estimate", "lower", "upper")]
            _draw(own, values, lines, names[place], palette[place], place, c - (len(shown) - 1) / 2)
        _dress(own, rows, variable, values)
        text = "All rows" if by is None else f"{style.pretty([by])[0]} = {levels[k]}"
        style.title(own, text, f"average over {len(some):,} rows" if k == 0 else " ")
    axes[0].set_ylabel("class probability", fontsize=style.LABEL, color=style.INK)
    axes[-1].legend(
        fontsize=style.SMALL,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns_beside,
    )
    use_fonts(*axes)
    return figure


def _points(rows: Any, variable: str, n_points: int) -> list[Any]:
    """The values at which probabilities are worked out."""
    from pasb.effects.contrasts import levels_of

    if not rows.is_numeric(variable):
        return levels_of(rows, variable)
    distinct = np.unique(numbers_in(variable, rows.column(variable)))
    if len(distinct) <= 3:
        return distinct.tolist()
    return np.linspace(distinct[0], distinct[-1], n_points).tolist()


def _panels(rows: Any, by: str | None) -> list[Any]:
    from pasb.effects.contrasts import levels_of

    if by is None:
        return [None]
    if not rows.is_numeric(by):
        levels = levels_of(rows, by)
    else:
        column = numbers_in(by, rows.column(by))
        distinct = np.unique(column)
        few = len(distinct) <= 3
        levels = (distinct if few else np.unique(np.quantile(column, (0.1, 0.5, 0.9)))).tolist()
    if len(levels) > MOST_PANELS:
        raise ValueError(f"by: {by!r} has {len(levels)} levels, more than {MOST_PANELS} panels")
    return levels


def _rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame[rows].to_native() if isinstance(frame, nw.DataFrame) else np.asarray(X)[rows]


def _draw(
    ax: Axes,
    values: list[Any],
    lines: list[NDArray],
    label: str,
    colour: Any,
    place: int,
    off: float,
) -> None:
    estimate, lower, upper = lines
    if len(values) > 3 and not isinstance(values[0], str):
        ax.fill_between(values, lower, upper, color=colour, alpha=0.22, linewidth=0)
        ax.plot(values, estimate, color=colour, linewidth=1.8, label=style.in_legend(label))
        return
    at = np.arange(len(values)) + 0.12 * off
    ax.vlines(at, lower, upper, color=colour, linewidth=1.6)
    ax.scatter(
        at,
        estimate,
        s=30,
        color="white",
        edgecolors=colour,
        marker=style.marker(place),
        zorder=3,
        label=style.in_legend(label),
    )


def _dress(ax: Axes, rows: Any, variable: str, values: list[Any]) -> None:
    if len(values) > 3 and not isinstance(values[0], str):
        column = numbers_in(variable, rows.column(variable))
        ticks = np.unique(np.quantile(column, np.linspace(0, 1, 60)))
        ax.plot(ticks, np.full(len(ticks), -0.015), "|", color=style.SOFT, markersize=5)
    else:
        ax.set_xticks(range(len(values)), _texts(values))
        ax.set_xlim(-0.5, len(values) - 0.5)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel(style.pretty([variable])[0], fontsize=style.LABEL, color=style.INK)
    style.tidy(ax, grid="y")


def _texts(values: list[Any]) -> list[str]:
    texts = [f"{value:g}" if isinstance(value, float) else value for value in values]
    return style.shortened(texts, 14)
