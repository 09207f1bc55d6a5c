"""Class probabilities over the plane of two covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.plots import canvas, style
from pasb.plots.lettering import use_fonts
from pasb.plots.plane import Plane
from pasb.plots.subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_INSIDE = 8  # classes up to which the legend is within the picture
IN_LEGEND = 40.0  # size of its points, so that colours can be told apart


def probability_map(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    features: tuple[int | str, int | str] = (0, 1),
    resolution: int = 160,
    n_draws: int = 400,
    title: str = "Class probabilities",
    ax: Axes | None = None,
) -> Axes:
    """Colour the plane of two covariates by predicted class and its probability.

    The colour is that of the most probable class, the stronger the surer; lines mark
    where the predicted class changes. The other covariates, if any, are at their
    medians over `X`, columns of text at their most frequent value; the picture says so.

    Parameters
    ----------
    model : fitted classifier, or fitted pipeline that ends in one
        The plane of a pipeline is that of its input.
    X : array or data frame of shape (n_rows, n_features)
        Rows to show as points; they also set the limits.
    y : array of shape (n_rows,), optional
        Their classes; without them the points are left out.
    features : pair of int or str, default=(0, 1)
        Numbers or names of the two covariates.
    resolution : int, default=160
        Grid points along each side.
    n_draws : int, default=400
        Draws, evenly spaced, that the colours average over.
    title : str, default="Class probabilities"
        Of several maps side by side, say, the name of the model.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, plots
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> ax = plots.probability_map(model, X, y, features=(2, 3), resolution=20, n_draws=50)
    >>> ax.get_xlabel()  # the other two are at their medians
    'x2\\nat x0 = 5.8, x1 = 3'
    """
    subject = Subject.of(model)
    model, names = subject.classifier, subject.input_names(X)
    first, second = (feature_number(feature, names) for feature in features)
    points = Plane.of(X, first, second)
    labels = style.shortened(model.classes_)
    beside = style.legend_beside(labels)[1] if len(labels) > MOST_INSIDE else 0.0
    ax = canvas.one_axes(ax, 5.4 + beside, 4.6)
    across, up = spread_over(points.x, resolution), spread_over(points.y, resolution)
    grid = points.grid(np.tile(across, resolution), np.repeat(up, resolution))
    proba = _mean_proba(model, subject.columns(grid), n_draws)
    proba = proba.reshape(resolution, resolution, -1)

    palette = style.colours(len(model.classes_))
    ax.imshow(
        _blend(proba, style.rgb(palette)),
        origin="lower",
        extent=(across[0], across[-1], up[0], up[-1]),
        aspect="auto",
        interpolation="bilinear",
    )
    for category in np.unique(np.argmax(proba, axis=2)):
        others = np.delete(proba, category, axis=2).max(axis=2)
        margin = proba[:, :, category] - others
        if margin.min() < 0 < margin.max():
            ax.contour(across, up, margin, levels=[0.0], colors=style.INK, linewidths=0.9)
    if y is not None:
        mine = [np.asarray(y) == label for label in model.classes_]
        _points(ax, labels, palette, points, mine)
    else:
        _patches(ax, labels, palette, np.unique(np.argmax(proba, axis=2)))
    style.tidy(ax)
    first_name, second_name = style.pretty([names[first], names[second]])
    others = others_in_words(points, names)
    ax.set_xlabel(first_name + others, fontsize=style.LABEL, color=style.INK)
    ax.set_ylabel(second_name, fontsize=style.LABEL, color=style.INK)
    style.title(ax, title, "colour: predicted class, the stronger the surer")
    use_fonts(ax)
    return ax


def feature_number(feature: int | str, names: list[str]) -> int:
    """The number of a covariate that is named or numbered; ValueError if there is none."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"features: no covariate {feature!r}; there are {', '.join(names)}")
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(
            f"features: no covariate number {feature}; the model has {len(names)}, from number 0"
        )
    return int(feature)


def spread_over(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """`n` numbers from a little below the smallest value to a little above the largest."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, n)


def _mean_proba(model: Any, grid: Any, n_draws: int) -> NDArray[np.float64]:
    """Average over some of the draws: the colours need no more."""
    total = model.draws_.n_chains * model.draws_.n_draws
    every = np.ones((np.shape(grid)[0], len(model.classes_)), dtype=np.bool_)
    return model.predict_proba(grid, n_draws=min(n_draws, total), availability=every)


def _blend(proba: NDArray[np.float64], palette: NDArray[np.float64]) -> NDArray[np.float64]:
    """White where all classes are equally likely, the class's colour where it is sure."""
    chance = 1.0 / proba.shape[2]
    best = np.argmax(proba, axis=2)
    sure = (proba.max(axis=2) - chance) / (1.0 - chance)
    strength = (0.06 + 0.54 * np.clip(sure, 0, 1) ** 1.3)[..., None]
    return 1.0 - strength * (1.0 - palette[best])


def _points(
    ax: Axes,
    labels: list[str],
    palette: list[Any],
    points: Plane,
    rows: list[NDArray[np.bool_]],
) -> None:
    size = float(np.clip(3000 / len(points.x), 8, 26))
    for category, (label, mine) in enumerate(zip(labels, rows, strict=True)):
        ax.scatter(
            points.x[mine],
            points.y[mine],
            s=size,
            marker=style.marker(category),
            color=palette[category],
            edgecolors="white",
            linewidths=0.6 if size > 12 else 0.3,
            label=style.in_legend(label),
            zorder=3,
        )
    _legend(ax, labels, size)


def _patches(ax: Axes, labels: list[str], palette: list[Any], shown: NDArray[np.int64]) -> None:
    """Say which colour is which class where there are no points to do so."""
    for category in shown:
        label = style.in_legend(labels[category])
        ax.scatter([], [], s=IN_LEGEND, marker="s", color=palette[category], label=label)
    _legend(ax, [labels[category] for category in shown], IN_LEGEND)


def _legend(ax: Axes, labels: list[str], size: float) -> None:
    """Within the picture for a few classes, beside it for many; points large enough to see."""
    look: dict[str, Any] = {"fontsize": style.SMALL, "handletextpad": 0.3, "borderpad": 0.5}
    look["markerscale"] = (IN_LEGEND / size) ** 0.5
    if len(labels) <= MOST_INSIDE:
        ax.legend(loc="best", frameon=True, framealpha=0.9, edgecolor=style.FAINT, **look)
    else:
        columns, _ = style.legend_beside(labels)
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, ncols=columns, **look)


def others_in_words(points: Plane, names: list[str]) -> str:
    """What the covariates that are not drawn are set to, as a second line of a label."""
    values = list(points.typical.values())
    others = [k for k in range(len(values)) if k not in (points.first, points.second)]
    if not others:
        return ""
    if len(others) > 3:
        return f"\n{len(others)} other covariates at their medians or most frequent values"

    def text(value: Any) -> str:
        return f"{value:.3g}" if isinstance(value, float) else style.shortened([value], 14)[0]

    called = style.pretty([names[k] for k in others], 16)
    shown = [f"{name} = {text(values[k])}" for name, k in zip(called, others, strict=True)]
    return "\nat " + ", ".join(shown)
