"""Coefficients with credible intervals, one panel a stick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.plots import canvas, style
from pasb.plots.lettering import use_fonts
from pasb.plots.subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

LONGEST = 30  # letters of the classes behind a stick: what a panel has room for
_UNITS = {"standard": "standard deviation", "range": "half range", None: "unit"}


def coefficients(
    model: Any,
    *,
    interval: float = 0.9,
    top: int = 15,
    sticks: int = 6,
    figure: Figure | SubFigure | None = None,
    ax: Any = None,
) -> Figure | SubFigure:
    """Draw the coefficients of each stick, with 50% and wider intervals.

    They belong to the most probable order (of the first direction, where there are two), and
    to covariates in the unit inside the model (with ``scale="standard"``, the standard
    deviation), so that their sizes can be compared. Coefficients whose wide interval excludes
    zero carry the colour of their class, the others are grey. All panels have one scale. What is
    left out, sticks or covariates, is said below the last one, and so is the number of draws that
    have this order where it is less than half of them.

    Parameters
    ----------
    model : fitted classifier, or fitted pipeline that ends in one
    interval : float, default=0.9
        Probability of the wide interval.
    top : int, default=15
        Show only the covariates with the largest coefficients.
    sticks : int, default=6
        Show only the first sticks.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.
    ax : array of Axes, optional
        Where to draw instead: one for each stick.

    Returns
    -------
    Figure or SubFigure

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, plots
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> figure = plots.coefficients(model, top=3)
    >>> len(figure.axes)  # a panel for each stick
    2
    """
    subject = Subject.of(model)
    model = subject.classifier
    if not 0 < interval < 1:
        raise ValueError(f"interval must lie between 0 and 1, not {interval!r}")
    order, values = _inner_coefficients(model)
    n_sticks = min(sticks, len(order) - 1)
    size = np.abs(values[:, :n_sticks].mean(axis=0)).max(axis=0)
    chosen = np.argsort(-size, kind="stable")[:top]
    size = 2.4 + 2.6 * n_sticks, 1.4 + 0.27 * len(chosen)
    figure, axes = canvas.panels(ax, figure, (1, n_sticks), size, sharex=True, sharey=True)
    for stick, own in enumerate(axes[0]):
        _stick(own, model, order, stick, values[:, stick, chosen], interval)
    low = min(own.get_xlim()[0] for own in axes[0])
    high = max(own.get_xlim()[1] for own in axes[0])
    for own in axes[0]:  # one scale, on axes that were given too
        own.set_xlim(low, high)
    _name_rows(axes[0, 0], subject.feature_names(), chosen)
    left = [(len(order) - 1 - n_sticks, "stick"), (values.shape[2] - len(chosen), "covariate")]
    words = [f"{n} more {name}{'s' if n > 1 else ''}" for n, name in left if n > 0]
    notes = [f"{' and '.join(words)} left out"] if words else []
    draws, direction = model.draws_, model.fitted_.directions[0]
    every = len(draws.of_direction(direction)) * draws.n_draws
    if 2 * len(values) < every:
        notes.insert(0, f"{len(values):,} of {every:,} draws have this order")
    if notes:
        last = axes[0, -1]
        last.set_xlabel("\n".join([last.get_xlabel(), *notes]))
    use_fonts(*axes[0])
    return figure


def stick_coefficients(
    model: Any, ax: Axes, *, stick: int = 1, interval: float = 0.9, top: int = 10
) -> Axes:
    """Draw the largest coefficients of one stick, counted from 1."""
    order, values = _inner_coefficients(model)
    chosen = np.argsort(-np.abs(values[:, stick - 1].mean(axis=0)), kind="stable")[:top]
    _stick(ax, model, order, stick - 1, values[:, stick - 1, chosen], interval)
    _name_rows(ax, model.fitted_.feature_names, chosen)
    return ax


def _inner_coefficients(model: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The most probable order, and (draw, stick, covariate) slopes of the draws in it."""
    fitted = model.fitted_
    fitted.check_has_coefficients("plots.coefficients")
    direction = fitted.directions[0]
    order = fitted.top_order(direction)
    in_order = fitted.in_order(order, direction)
    return order, fitted.draws.parameters["coef"][in_order][:, order[:-1], 1:]


def _name_rows(ax: Axes, names: list[str], chosen: NDArray[np.int64]) -> None:
    ax.set_yticks(range(len(chosen)), style.pretty([names[k] for k in chosen]))
    ax.set_ylim(len(chosen) - 0.4, -0.6)


def _stick(
    ax: Axes,
    model: Any,
    order: NDArray[np.int64],
    stick: int,
    values: NDArray[np.float64],
    interval: float,
) -> None:
    category = order[stick]
    _panel(ax, values, interval, style.colours(len(order))[category])
    names, behind = style.shortened(model.classes_, 16), order[stick + 1 :]
    rest = " or ".join(names[k] for k in behind)
    if len(rest) > LONGEST and len(behind) > 1:
        rest = f"the {len(behind)} classes behind"
    style.title(ax, f"Stick {stick + 1}: {names[category]}", f"against {rest}")
    unit = _UNITS.get(model.scale, "unit")
    ax.set_xlabel(f"log-odds per {unit}", fontsize=style.SMALL, color=style.INK)


def _panel(ax: Axes, values: NDArray[np.float64], interval: float, colour: Any) -> None:
    tails = (0.5 - interval / 2, 0.25, 0.75, 0.5 + interval / 2)
    low, lower, upper, high = np.quantile(values, tails, axis=0)
    ax.axvline(0, color=style.SOFT, linewidth=0.8)
    clear = (low > 0) | (high < 0)
    for mask, shade in ((~clear, "#A6A6A6"), (clear, colour)):
        places = np.flatnonzero(mask)
        ax.hlines(places, low[mask], high[mask], color=shade, linewidth=1.3)
        ax.hlines(places, lower[mask], upper[mask], color=shade, linewidth=3.6)
        ax.scatter(
            values.mean(axis=0)[mask],
            places,
            s=20,
            color="white",
            edgecolors=shade,
            linewidths=1.4,
            zorder=3,
        )
    style.tidy(ax, grid="x")
    ax.locator_params(axis="x", nbins=6)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
