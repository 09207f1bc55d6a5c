"""How the chains moved: log-likelihood and a few class probabilities, draw by draw."""

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

MOST_POINTS = 600  # of a line; more only hide one another


def trace(
    model: Any,
    *,
    n_probabilities: int = 3,
    figure: Figure | SubFigure | None = None,
    ax: Any = None,
) -> Figure | SubFigure:
    """Draw the log-likelihood and a few class probabilities by draw, a colour a chain.

    Chains that agree look like one band, and their densities on the right lie on one
    another. The probabilities shown are, among those that vary noticeably, the ones with
    the largest R-hat.

    Parameters
    ----------
    model : fitted classifier, or fitted pipeline that ends in one
    n_probabilities : int, default=3
        How many class probabilities to show.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.
    ax : array of Axes, optional
        Where to draw instead: two for each quantity.

    Returns
    -------
    Figure or SubFigure

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, plots
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> figure = plots.trace(model, n_probabilities=1)
    >>> len(figure.axes)  # lines and densities of the log-likelihood and a probability
    4
    """
    model = Subject.of(model).classifier
    draws, seen = model.draws_, model.diagnostics_
    panels: list[tuple[str, NDArray[np.float64], float]] = [
        ("Log-likelihood", draws.log_likelihood, seen.rhat_log_likelihood)
    ]
    if n_probabilities > 0:
        fitted = model.fitted_
        probabilities, rows = fitted.watched_probabilities(), fitted.watched.row
        chosen = least_settled(seen.rhat_probability, probabilities, n_probabilities)
        names = style.shortened(model.classes_)
        for row, category in chosen:
            panels.append(
                (
                    f"P({names[category]}), row {rows[row] + 1}",
                    probabilities[:, :, row, category],
                    float(seen.rhat_probability[row, category]),
                )
            )
    size = 9.0, 0.7 + 1.55 * len(panels)
    grid = {"width_ratios": (6, 1), "sharey": "row"}
    figure, axes = canvas.panels(ax, figure, (len(panels), 2), size, **grid)
    for (line_ax, density_ax), (name, values, rhat) in zip(axes, panels, strict=True):
        _lines(line_ax, values)
        _densities(density_ax, values)
        style.title(line_ax, name, f"R-hat {rhat:.2f}")
    for upper in axes[:-1, 0]:
        upper.tick_params(labelbottom=False)
    axes[-1, 0].set_xlabel("draw", fontsize=style.LABEL, color=style.INK)
    if draws.n_chains <= len(style.COLOURS):
        handles, labels = axes[0, 0].get_legend_handles_labels()
        legend = axes[0, 0].legend(
            handles,
            labels,
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=draws.n_chains,
            frameon=False,
            fontsize=style.SMALL,
            handlelength=1.0,
            columnspacing=1.2,
            borderaxespad=0.2,
        )
        for line in legend.get_lines():
            line.set_linewidth(2.5)
            line.set_alpha(1.0)
    use_fonts(*axes.ravel())
    return figure


def least_settled(
    rhat: NDArray[np.float64], probabilities: NDArray[np.float64], n: int
) -> list[tuple[int, int]]:
    """Rows with a large R-hat, and the class in each that has it; dull ones come last."""
    varies = probabilities.std(axis=(0, 1)) > 0.03
    filled = np.nan_to_num(rhat, nan=0.0) * np.where(varies, 1.0, 1e-3)
    rows = np.argsort(-filled.max(axis=1), kind="stable")[:n]
    return [(int(row), int(np.argmax(filled[row]))) for row in rows]


def _lines(ax: Axes, values: NDArray[np.float64]) -> None:
    n_chains, n_draws = values.shape
    shown = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MOST_POINTS)).astype(int))
    for chain, colour in enumerate(style.colours(n_chains)):
        ax.plot(
            shown + 1,
            values[chain, shown],
            color=colour,
            linewidth=0.7,
            alpha=0.75,
            label=f"chain {chain + 1}",
        )
    ax.set_xlim(1, max(n_draws, 2))
    ax.ticklabel_format(axis="y", style="plain", useOffset=False)  # an exponent covers the detail
    style.tidy(ax, grid="y")


def _densities(ax: Axes, values: NDArray[np.float64]) -> None:
    low, high = float(values.min()), float(values.max())
    if high <= low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, 31)
    for chain, colour in enumerate(style.colours(len(values))):
        height, _ = np.histogram(values[chain], bins=edges, density=True)
        smooth = np.convolve(height, [0.25, 0.5, 0.25], mode="same")
        ax.plot(smooth, (edges[:-1] + edges[1:]) / 2, color=colour, linewidth=1.2)
        ax.fill_betweenx((edges[:-1] + edges[1:]) / 2, 0, smooth, color=colour, alpha=0.12)
    style.tidy(ax)
    ax.spines["bottom"].set_visible(False)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(left=0)
    ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
