"""Coefficients with credible intervals, one panel a stick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pasb.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_UNITS = {"standard": "standard deviation", "range": "half range", None: "unit"}


def coefficients(
    model: Any,
    *,
    interval: float = 0.9,
    top: int = 15,
    sticks: int = 6,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the coefficients of each stick, with 50% and wider intervals.

    They belong to the most probable order, and to covariates in the unit inside the
    model (with ``scale="standard"``, the standard deviation), so that their sizes can be
    compared. Coefficients whose wide interval excludes zero carry the colour of their
    class, the others are grey.

    Parameters
    ----------
    model : fitted classifier
    interval : float, default=0.9
        Probability of the wide interval.
    top : int, default=15
        Show only the covariates with the largest coefficients.
    sticks : int, default=6
        Show only the first sticks.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Figure or SubFigure
    """
    style.check_fitted(model)
    if not 0 < interval < 1:
        raise ValueError(f"interval must lie between 0 and 1, not {interval!r}")
    order = model._orders_by_frequency()[0][0]
    n_sticks = min(sticks, len(order) - 1)
    in_order = (model.draws_.order == order).all(axis=2)
    values = model.draws_.parameters["coef"][in_order][:, order[:n_sticks], 1:]
    size = np.abs(values.mean(axis=0)).max(axis=0)
    chosen = np.argsort(-size, kind="stable")[:top]
    names = style.pretty([model._feature_names()[k] for k in chosen])
    if figure is None:
        figure = style.new_figure(2.4 + 2.6 * n_sticks, 1.4 + 0.27 * len(chosen))
    axes = figure.subplots(1, n_sticks, squeeze=False, sharey=True)[0]
    palette = style.colours(len(model.classes_))
    unit = _UNITS.get(model.scale, "unit")
    for stick, ax in enumerate(axes):
        category = order[stick]
        _panel(ax, values[:, stick, chosen], interval, palette[category])
        after = [str(model.classes_[k]) for k in order[stick + 1 :]]
        rest = " or ".join(after) if len(after) < 4 else f"the {len(after)} classes behind"
        style.title(
            ax, f"{stick + 1}. {style.shortened(model.classes_[category], 18)}", f"against {rest}"
        )
        ax.set_xlabel(f"log-odds per {unit}", fontsize=style.SMALL, color=style.INK)
    axes[0].set_yticks(range(len(chosen)), names)
    axes[0].set_ylim(len(chosen) - 0.4, -0.6)
    return figure


def _panel(ax: Axes, values: np.ndarray, interval: float, colour: Any) -> None:
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
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
