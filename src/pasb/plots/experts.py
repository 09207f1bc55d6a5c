"""Softplus sticks in the plane of two covariates: regions and the hyperplanes of experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.numerics.rows import blocked
from pasb.plots import canvas, style
from pasb.plots.lettering import use_fonts
from pasb.plots.maps import feature_number, others_in_words, spread_over
from pasb.plots.plane import Plane
from pasb.plots.subject import Subject
from pasb.sticks import Direction, accept_reject

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
MOST_POINTS = 600


def experts(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    features: tuple[int | str, int | str] = (0, 1),
    sticks: int = 6,
    direction: Direction | None = None,
    resolution: int = 120,
    figure: Figure | SubFigure | None = None,
    ax: Any = None,
) -> Figure | SubFigure:
    """Draw what each softplus stick takes, and the hyperplanes that enclose it.

    One panel a stick, of the draw with the highest likelihood. The shade is the probability that
    the stick takes a row that reaches it. Lines are where the linear predictor of an active
    expert is zero: a colour an expert, a dash a layer. Forward sticks take unions of what several
    experts cut off; within an expert, layers intersect.

    Parameters
    ----------
    model : fitted softplus classifier, or fitted pipeline that ends in one
    X : array or data frame of shape (n_rows, n_features)
        Rows to show as points; they also set the limits.
    y : array of shape (n_rows,), optional
        Their classes. With them each panel shows the rows of its class and of those behind it.
    features : pair of int or str, default=(0, 1)
        Numbers or names of the two covariates; the others are at their medians.
    sticks : int, default=6
        Show only the first sticks; the picture says how many are left out.
    direction : {"forward", "reverse"}, optional
        Where the model has two: by default the first.
    resolution : int, default=120
        Grid points along each side.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.
    ax : array of Axes, optional
        Where to draw instead: one for each stick.

    Returns
    -------
    Figure or SubFigure

    Examples
    --------
    >>> from pasb import SoftplusClassifier, plots
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SoftplusClassifier(
    ...     n_experts=2, n_layers=1, n_chains=1, n_warmup=20, n_draws=20, random_state=1,
    ...     direction="forward").fit(X[:, 2:], y)
    >>> figure = plots.experts(model, X[:, 2:], y, resolution=20)
    >>> len(figure.axes)  # a panel for each stick
    2
    """
    subject = Subject.of(model)
    model, names = subject.classifier, subject.input_names(X)
    fitted = model.fitted_
    if "layer" not in fitted.binary.axes.get("coef", ()) or not fitted.columns_are_features:
        raise TypeError(
            f"plots.experts needs a SoftplusClassifier, whose sticks have experts; "
            f"{type(model).__name__} has none that can be drawn"
        )
    direction = direction or fitted.directions[0]
    if direction not in fitted.directions:
        raise ValueError(f"direction must be one of {fitted.directions}, not {direction!r}")
    first, second = (feature_number(feature, names) for feature in features)
    points = Plane.of(X, first, second)
    across, up = spread_over(points.x, resolution), spread_over(points.y, resolution)
    grid = points.grid(np.tile(across, resolution), np.repeat(up, resolution))
    inner = fitted.inner_rows(subject.columns(grid))[:]
    chain, draw = _best(fitted, direction)
    order = fitted.draws.order[chain, draw]
    own = {name: values[chain, draw : draw + 1] for name, values in fitted.draws.parameters.items()}
    success, failure = fitted.binary.log_probabilities(own, blocked(inner))
    taken = np.exp(accept_reject(success, failure, direction)[0][0, :, : len(inner)])
    n_sticks = min(sticks, len(order) - 1)
    size = 2.4 + 3.3 * n_sticks, 4.0
    figure, axes = canvas.panels(ax, figure, (1, n_sticks), size, sharex=True, sharey=True)
    palette, labels = style.colours(len(order)), style.shortened(fitted.classes, 16)
    for stick, own_ax in enumerate(axes[0]):
        category = int(order[stick])
        region = taken[category].reshape(resolution, resolution)
        own_ax.contourf(
            across,
            up,
            region,
            levels=np.linspace(0, 1, 11),
            cmap=_shades(palette[category]),
            alpha=0.75,
        )
        own_ax.contour(across, up, region, levels=[0.5], colors=style.INK, linewidths=1.3)
        active = np.flatnonzero(own["active"][0, category] > 0)
        for k, expert in enumerate(active):
            for layer, vector in enumerate(own["coef"][0, category, expert]):
                predictor = (inner @ vector).reshape(resolution, resolution)
                if predictor.min() < 0 < predictor.max():
                    own_ax.contour(
                        across,
                        up,
                        predictor,
                        levels=[0.0],
                        colors=[style.OTHER_COLOURS[k % len(style.OTHER_COLOURS)]],
                        linestyles=[DASHES[layer % len(DASHES)]],
                        linewidths=1.0,
                    )
        if y is not None:
            _rows(own_ax, fitted.classes, palette, points, np.asarray(y), order[stick:])
        style.tidy(own_ax)
        n = len(active)
        others = "" if y is None else "; grey: classes behind"
        detail = f"{n} active expert{'s' if n != 1 else ''}{others}"
        style.title(own_ax, f"Stick {stick + 1}: {labels[category]}", detail)
    _dress(axes[0], names, points, len(order) - 1 - n_sticks)
    most = int((own["active"][0, order[:n_sticks]] > 0).sum(axis=1).max())
    _legend(axes[0, -1], most, own["coef"].shape[3])
    use_fonts(*axes[0])
    return figure


def _legend(ax: Any, n_experts: int, n_layers: int) -> None:
    """Which colour is which expert, which dash which layer."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=style.INK, linewidth=1.3, label="probability 1/2")]
    of = len(style.OTHER_COLOURS)  # from then on colours repeat
    for k, colour in enumerate(style.OTHER_COLOURS[:n_experts]):
        numbers = ", ".join(str(expert + 1) for expert in range(k, n_experts, of))
        lines.append(Line2D([], [], color=colour, label=f"expert {numbers}"))
    if n_layers > 1:
        for dash, own in enumerate(DASHES[:n_layers]):
            numbers = ", ".join(str(k + 1) for k in range(dash, n_layers, len(DASHES)))
            label = f"layer {numbers}"
            lines.append(Line2D([], [], color=style.SOFT, linestyle=own, label=label))
    ax.legend(
        handles=lines,
        fontsize=style.SMALL,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        handlelength=2.6,
    )


def _best(fitted: Any, direction: Direction) -> tuple[int, int]:
    """Chain and draw with the highest likelihood of a direction."""
    chains = fitted.draws.of_direction(direction)
    values = fitted.draws.log_likelihood[chains]
    chain, draw = np.unravel_index(int(np.argmax(values)), values.shape)
    return int(chains[chain]), int(draw)


def _shades(colour: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("taken", ["#FFFFFF", colour])


def _rows(
    ax: Any, classes: NDArray, palette: list[Any], points: Plane, y: NDArray, shown: NDArray
) -> None:
    """The rows that reach a stick if all before it were right: its class strong, others faint."""
    for place, category in enumerate(shown):
        mine = np.flatnonzero(y == classes[category])
        some = mine[
            np.unique(np.linspace(0, len(mine) - 1, min(len(mine), MOST_POINTS)).astype(int))
        ]
        ax.scatter(
            points.x[some],
            points.y[some],
            s=16 if place == 0 else 9,
            marker=style.marker(int(category)),
            color=palette[category] if place == 0 else style.SOFT,
            edgecolors="white",
            linewidths=0.4,
            alpha=1.0 if place == 0 else 0.55,
            zorder=3,
        )


def _dress(axes: NDArray, names: list[str], points: Plane, left_out: int) -> None:
    first, second = style.pretty([names[points.first], names[points.second]])
    axes[0].set_ylabel(second, fontsize=style.LABEL, color=style.INK)
    for k, ax in enumerate(axes):
        more = others_in_words(points, names) if k == 0 else ""
        if left_out > 0 and k == len(axes) - 1:
            more += f"\n{left_out} more stick{'s' if left_out > 1 else ''} left out"
        ax.set_xlabel(first + more, fontsize=style.LABEL, color=style.INK)
