"""What the prior says before the data do: how sure it is, and which classes it expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from pasb.plots import canvas, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 20
SURE = 0.99


def prior_predictive(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    n_draws: int = 500,
    random_state: Any = 0,
    ax: Any = None,
    figure: Any = None,
) -> Figure:
    """Draw what a model predicts under draws from its prior.

    On the left how sure it is: the probability of the likeliest class, over rows and draws. Where
    most of it is next to 1, the prior says that classes are told apart almost without error,
    which is more than most people want to claim before they see data. On the right the share
    of rows that each class gets, draw by draw, with the share that it has in `y`.

    Parameters
    ----------
    model : classifier
        One of pasb's, fitted or not, or a pipeline that ends in one; it is not changed.
    X : array or data frame of shape (n_rows, n_features)
        For a `pasb.fit` model, its data frame.
    y : array of shape (n_rows,)
        They tell the classes, not more; a formula names them itself.
    n_draws : int, default=500
    random_state : int, RandomState or None, default=0
    ax : pair of Axes, optional
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import pasb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = pasb.StickLogisticClassifier(prior=pasb.Normal(0, 1))
    >>> figure = pasb.plots.prior_predictive(model, X, y)
    >>> len(figure.axes)
    2
    """
    table = X
    if isinstance(model, Pipeline):
        before, model = model[:-1], model.steps[-1][1]
        table = before.fit_transform(X, y) if len(before.steps) else X
    if not hasattr(model, "sample_prior_proba"):
        raise TypeError(
            "model must be a classifier of pasb, or a pipeline that ends in one; got "
            f"{type(model).__name__}"
        )
    if y is None and not hasattr(model, "formula"):
        raise ValueError("y must hold the class of each row: it tells which classes there are")
    p = model.sample_prior_proba(table, y, n_draws, random_state)
    target = model.formula.split("~")[0].strip().strip("`") if y is None else None
    labels = np.asarray(y if target is None else X[target])  # type: ignore[index]
    classes = np.unique(labels)
    size = 8.4, max(3.8, 1.2 + 0.2 * len(classes))
    figure, axes = canvas.panels(ax, figure, (1, 2), size)
    left, right = axes.ravel()
    _sureness(left, p)
    _shares(right, p, classes, labels)
    return figure


def _sureness(ax: Any, p: Any) -> None:
    best = p.max(axis=2).ravel()
    chance = 1 / p.shape[2]
    edges = np.linspace(chance, 1, BINS + 1)
    height = np.histogram(best, edges)[0] / len(best)
    ax.bar(
        edges[:-1],
        height,
        width=np.diff(edges) * 0.94,
        align="edge",
        color=style.COLOURS[0],
        alpha=0.85,
    )
    ax.set_xlabel("probability of the likeliest class", fontsize=style.LABEL, color=style.INK)
    ax.set_ylabel("share of rows and draws", fontsize=style.LABEL, color=style.INK)
    style.tidy(ax, grid="y")
    style.title(ax, "Before the data", f"above {SURE} in {np.mean(best > SURE):.0%} of them")


def _shares(ax: Any, p: Any, classes: Any, labels: Any) -> None:
    share = p.mean(axis=1)  # (draw, class)
    names = style.pretty(classes.tolist())
    place = np.arange(len(classes))
    shown = style.colours(len(classes))
    for s, colour in zip(place, shown, strict=True):
        low, quarter, middle, three, high = np.quantile(share[:, s], [0.05, 0.25, 0.5, 0.75, 0.95])
        ax.hlines(s, low, high, color=colour, linewidth=1.4)
        ax.hlines(s, quarter, three, color=colour, linewidth=5.0)
        ax.plot(middle, s, "o", color="white", markeredgecolor=colour, markersize=6, zorder=3)
        observed = float(np.mean(labels == classes[s]))
        ax.plot(observed, s, "|", color=style.INK, markersize=16, markeredgewidth=1.6, zorder=4)
    ax.set_yticks(place, names)
    ax.set_ylim(len(classes) - 0.5, -0.5)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("share of rows", fontsize=style.LABEL, color=style.INK)
    style.tidy(ax, grid="x")
    style.title(ax, "Classes", "50% and 90% of draws; | is the share in y")
