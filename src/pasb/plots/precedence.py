"""The posterior of the order: which class sits before which, and the likeliest orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.plots import canvas, style
from pasb.plots.lettering import readable, use_fonts
from pasb.plots.subject import Subject
from pasb.sticks import Direction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MOST_IN_A_LINE = 9  # classes up to which an order can be read in a line
LONGEST_LINE = 48  # letters of an order
MOST_SLANTED = 14  # names below the map of pairs; more would lie on one another
MOST_NUMBERS = 10  # classes up to which the cells carry numbers


def before_probabilities(model: Any, direction: Direction | None = None) -> NDArray[np.float64]:
    """P(class a sits on an earlier stick than class b), in the order of `classes_`.

    Parameters
    ----------
    model : fitted classifier
    direction : {"forward", "reverse"}, optional
        Where the model has two: by default the first.

    Returns
    -------
    array of shape (n_classes, n_classes)
        Row a, column b; the diagonal is NaN. Classes that share the last stick come before
        each other with probability 1/2.
    """
    fitted = model.fitted_
    n = len(fitted.classes)
    chains = fitted.draws.of_direction(direction or fitted.directions[0])
    position = np.argsort(fitted.draws.order[chains].reshape(-1, n), axis=1)
    before = (position[:, :, None] < position[:, None, :]).mean(axis=0)
    if fitted.last_two_tie:
        last = position >= n - 2
        before += 0.5 * (last[:, :, None] & last[:, None, :]).mean(axis=0)
        before -= np.mean((position == n - 2)[:, :, None] & (position == n - 1)[:, None, :], axis=0)
    np.fill_diagonal(before, np.nan)
    return before


def order_posterior(
    model: Any, *, top: int = 8, figure: Figure | SubFigure | None = None, ax: Any = None
) -> Figure | SubFigure:
    """Draw the posterior of the order in two panels.

    The left one shows for each pair of classes the probability that one sits before
    the other; the right one the most probable orders, and how many chains visited each. With more
    than nine classes an order is too long to read: the right one then shows on which sticks each
    class sits.

    Parameters
    ----------
    model : fitted classifier, or fitted pipeline that ends in one
    top : int, default=8
        How many orders to show.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.
    ax : array of Axes, optional
        Where to draw instead: two for each direction.

    Returns
    -------
    Figure or SubFigure

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, plots
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> which_first, orders = plots.order_posterior(model).axes
    >>> orders.get_title(loc="left")
    'The most probable orders'
    """
    model = Subject.of(model).classifier
    directions = model.fitted_.directions
    height = float(np.clip(2.2 + 0.3 * len(model.classes_), 3.6, 9.0))
    size, shape = (10.5, height * len(directions)), (len(directions), 2)
    figure, axes = canvas.panels(ax, figure, shape, size, width_ratios=(1, 1.25))
    for direction, (left, right) in zip(directions, axes, strict=True):
        order_matrix(model, left, direction)
        if len(model.classes_) <= MOST_IN_A_LINE:
            order_bars(model, right, top, direction)
        else:
            order_places(model, right, direction)
    if len(model.classes_) <= MOST_IN_A_LINE:
        longest = max(right.get_xlim()[1] for right in axes[:, 1])
        for right in axes[:, 1]:  # bars of both directions on one scale
            right.set_xlim(0, longest)
    use_fonts(*axes.ravel())
    return figure


def order_matrix(model: Any, ax: Axes, direction: Direction | None = None) -> Axes:
    """Draw the heat map of P(the row's class sits before the column's)."""
    before = before_probabilities(model, direction)
    n = len(before)
    ranking = np.argsort(-np.nansum(before, axis=1), kind="stable")
    shown = before[np.ix_(ranking, ranking)]
    names = style.shortened(model.classes_[ranking], 14)
    colour_map = style.shade(style.COLOURS[0])
    ax.imshow(np.ma.masked_invalid(shown), cmap=colour_map, vmin=0, vmax=1, aspect="auto")
    ax.set_facecolor("#F4F4F4")
    if n <= MOST_NUMBERS:
        for (a, b), value in np.ndenumerate(shown):
            if a != b:
                colour = "white" if value > 0.6 else style.INK
                size = style.LABEL if n <= 6 else style.SMALL - 1.5
                ax.text(b, a, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=size)
    ticks = range(n) if n <= 30 else range(0, n, n // 20 + 1)
    ax.set_xticks(list(ticks), [names[k] for k in ticks])
    ax.set_yticks(list(ticks), [names[k] for k in ticks])
    style.tidy(ax)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if n <= 30:
        ax.set_xticks(np.arange(n - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(n - 1) + 0.5, minor=True)
        ax.grid(True, which="minor", color="white", linewidth=2)
    ax.tick_params(which="both", length=0)
    if sum(map(len, names)) > 34:
        upright = len(ticks) > MOST_SLANTED
        ax.tick_params(axis="x", labelrotation=90 if upright else 40)
        for label in ax.get_xticklabels():
            label.set_verticalalignment("center" if upright else "top")
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    style.title(
        ax,
        _titled("Which class comes first", model, direction),
        "P(row's class sits before the column's)",
    )
    return ax


def order_bars(model: Any, ax: Axes, top: int = 8, direction: Direction | None = None) -> Axes:
    """Draw the most probable orders as bars."""
    fitted = model.fitted_
    direction = direction or fitted.directions[0]
    orders, counts = fitted.orders_by_frequency(direction)
    shares = counts / counts.sum()
    n_shown, n_chains = min(top, len(orders)), len(fitted.draws.of_direction(direction))
    for place in range(n_shown):
        visits = fitted.n_visits(orders[place], direction)
        ax.barh(place, shares[place], height=0.62, color=style.COLOURS[0])
        chains = f"{visits} of {n_chains} chains" if n_chains > 1 else ""
        ax.annotate(
            f"{shares[place]:.0%}   {chains}" if shares[place] >= 0.01 else f"<1%   {chains}",
            (shares[place], place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL,
            color=style.INK,
        )
    lines = fitted.order_lines(orders[:n_shown], LONGEST_LINE)
    ax.set_yticks(range(n_shown), [readable(style.one_line(line)) for line in lines])
    ax.set_ylim(max(n_shown, 5) - 0.4, -0.6)
    ax.set_xlim(0, max(0.25, float(shares[0])) * 1.5)
    style.tidy(ax)
    ax.tick_params(axis="y", length=0)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", length=0, labelbottom=False)
    rest = len(orders) - n_shown
    tied = ", / is a tie" if fitted.last_two_tie else ""
    detail = f"first stick to last{tied}; share of draws"
    if rest:
        detail += f"; {rest} more with {shares[n_shown:].sum():.0%}"
    style.title(ax, _titled("The most probable orders", model, direction), detail)
    return ax


def order_places(model: Any, ax: Axes, direction: Direction | None = None) -> Axes:
    """Draw on which stick each class sits: posterior median and 90% interval."""
    fitted = model.fitted_
    direction = direction or fitted.directions[0]
    n = len(fitted.classes)
    chains = fitted.draws.of_direction(direction)
    place = np.argsort(fitted.draws.order[chains].reshape(-1, n), axis=1) + 1
    low, mid, high = np.quantile(place, (0.05, 0.5, 0.95), axis=0)
    palette = style.colours(n)
    ranking = np.argsort(place.mean(axis=0), kind="stable")
    for line, k in enumerate(ranking):
        ax.hlines(line, low[k], high[k], color=palette[k], linewidth=2.2)
        ax.plot(mid[k], line, style.marker(int(k)), color=palette[k], markersize=5.5)
    ax.set_yticks(range(n), style.shortened(fitted.classes[ranking]))
    ax.set_ylim(n - 0.4, -0.6)
    ax.set_xlim(0.5, n + 0.5)
    ax.set_xlabel("stick", fontsize=style.LABEL, color=style.INK)
    style.tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    n_orders = len(fitted.orders_by_frequency(direction)[0])
    title = _titled("Where each class sits", model, direction)
    style.title(
        ax, title, f"median and 90% interval; {n_orders:,} different orders among the draws"
    )
    return ax


def _titled(text: str, model: Any, direction: Direction | None) -> str:
    """A title that names the direction where there are two."""
    return f"{text}, {direction}" if len(model.fitted_.directions) > 1 and direction else text
