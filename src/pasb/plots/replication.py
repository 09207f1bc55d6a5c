"""Whether rows drawn from the model look like those observed: a posterior predictive check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.covariates.choice_data import ChoiceData
from pasb.plots import canvas, style
from pasb.plots.lettering import use_fonts
from pasb.plots.subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

MOST_PANELS = 9


def predictive_check(
    model: Any,
    X: Any,
    y: ArrayLike,
    by: str | int | None = None,
    *,
    n_bins: int = 6,
    n_draws: int = 300,
    interval: float = 0.9,
    random_state: int = 0,
    availability: Any = None,
    figure: Figure | SubFigure | None = None,
    ax: Any = None,
) -> Figure | SubFigure:
    """Draw shares of classes observed beside those of rows drawn from the model.

    Every posterior draw makes classes for all rows, so bars hold both what the model does not know
    and chance. Points outside many bars show where the model is wrong. Use rows that were held
    out: a model agrees with the rows it was fitted to.

    Parameters
    ----------
    model : fitted classifier, or fitted pipeline that ends in one
    X : array or data frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Classes of the rows.
    by : str or int, optional
        A column of numbers of `X`: its rows are put into bins of about equal numbers, one panel a
        class. Without it, shares in all rows.
    n_bins : int, default=6
    n_draws : int, default=300
        Draws from which classes are made.
    interval : float, default=0.9
        Probability of the bars.
    random_state : int, default=0
        Of the classes that are made.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes the rows can choose; a model that was fitted with it asks for it.
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
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> ax = plots.predictive_check(model, X, y, n_draws=50).axes[0]
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['0', '1', '2']
    """
    if not 0 < interval < 1:
        raise ValueError(f"interval must lie between 0 and 1, not {interval!r}")
    subject = Subject.of(model)
    classifier = subject.classifier
    classes, labels = classifier.fitted_.classes, np.asarray(y)
    truth = np.searchsorted(classes, labels)
    if not (classes[np.minimum(truth, len(classes) - 1)] == labels).all():
        raise ValueError("y must hold one of the model's classes for each row of X")
    draws = classifier.fitted_.draws
    n_draws = min(n_draws, draws.n_chains * draws.n_draws)
    if availability is None and not isinstance(X, ChoiceData):
        classifier.fitted_.check_all_available("predictive_check")
    proba = classifier.sample_proba(subject.columns(X), n_draws, availability)
    rng = np.random.default_rng(random_state)
    total = np.cumsum(proba, axis=2)
    if (proba == 0).any():  # the last one that a row can choose ends at 1, in spite of rounding
        total /= total[:, :, -1:]
    made = (rng.random((*proba.shape[:2], 1)) >= total).sum(axis=2)
    made = np.minimum(made, len(classes) - 1)
    tails = 0.5 - interval / 2, 0.5 + interval / 2
    palette = style.colours(len(classes))
    if by is None:
        figure, axes = canvas.panels(ax, figure, (1, 1), (max(4.8, 1.8 + 0.55 * len(classes)), 3.6))
        _all_rows(axes[0, 0], classes, palette, truth, made, tails)
        use_fonts(axes[0, 0])
        return figure
    bins, middle = _bins(X, subject, by, n_bins)
    frequent = np.argsort(-np.bincount(truth, minlength=len(classes)), kind="stable")
    chosen = np.sort(frequent[:MOST_PANELS])
    names = style.shortened(classes)
    columns = min(3, len(chosen))
    shape = -(-len(chosen) // columns), columns
    size = 1.0 + 3.0 * columns, 0.6 + 2.5 * shape[0]
    figure, axes = canvas.panels(ax, figure, shape, size, sharex=True, sharey=True)
    for unused in axes.ravel()[len(chosen) :]:
        unused.set_visible(False)
    for place, (own, k) in enumerate(zip(axes.ravel(), chosen, strict=False)):
        drawn = np.stack([(made[:, b] == k).mean(axis=1) for b in bins], axis=1)
        observed = np.array([(truth[b] == k).mean() for b in bins])
        _bars(own, np.array(middle), drawn, observed, palette[k], int(k), tails)
        detail = f"bars: model, {interval:.0%}; points: observed"  # as long as a panel is wide
        style.title(own, names[k], detail if place == 0 else " ")
    left_out = len(classes) - len(chosen)
    for column in axes.T:
        lowest = [own for own in column if own.get_visible()][-1]
        last = left_out and lowest is axes[-1, -1]
        more = f"\n{left_out} rarer classes left out" if last else ""
        lowest.set_xlabel(style.pretty([by])[0] + more, fontsize=style.LABEL, color=style.INK)
        lowest.tick_params(labelbottom=True)
    for own in axes[:, 0]:
        own.set_ylabel("share of rows", fontsize=style.LABEL, color=style.INK)
    use_fonts(*axes.ravel())
    return figure


def _all_rows(
    ax: Any,
    classes: NDArray,
    palette: list[Any],
    truth: NDArray[np.int64],
    made: NDArray[np.int64],
    tails: tuple[float, float],
) -> None:
    for k in range(len(classes)):
        drawn, observed = (made == k).mean(axis=1)[:, None], np.array([(truth == k).mean()])
        _bars(ax, np.array([float(k)]), drawn, observed, palette[k], k, tails)
    names = style.shortened(classes, 14)
    turn = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(classes)), names, **(turn if sum(map(len, names)) > 34 else {}))
    ax.set_xlim(-0.6, len(classes) - 0.4)
    ax.set_ylabel("share of rows", fontsize=style.LABEL, color=style.INK)
    detail = f"bars: {tails[1] - tails[0]:.0%} of what the model makes; points: observed"
    style.title(ax, "Rows the model makes", detail)


def _bars(
    ax: Any,
    x: NDArray[np.float64],
    drawn: NDArray[np.float64],
    observed: NDArray[np.float64],
    colour: Any,
    k: int,
    tails: tuple[float, float],
) -> None:
    low, high = np.quantile(drawn, tails, axis=0)
    ax.vlines(x, low, high, color=colour, linewidth=7, alpha=0.35)
    inside = (observed >= low) & (observed <= high)
    for mask, fill in ((inside, "white"), (~inside, colour)):
        ax.scatter(
            x[mask],
            observed[mask],
            s=28,
            marker=style.marker(k),
            color=fill,
            edgecolors=colour,
            linewidths=1.5,
            zorder=3,
        )
    style.tidy(ax, grid="y")


def _bins(
    X: Any, subject: Subject, by: str | int, n_bins: int
) -> tuple[list[NDArray[np.int64]], list[float]]:
    """Rows in each bin of a column, and the middle of the bin."""
    from pasb.plots.maps import feature_number
    from pasb.plots.plane import Plane

    number = feature_number(by, subject.input_names(X))
    values = Plane.of(X, number, number).x
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)))
    if len(edges) < 2:
        raise ValueError(f"by: {by!r} does not vary")
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    rows = [np.flatnonzero(place == k) for k in range(len(edges) - 1)]
    held = [own for own in rows if len(own)]
    return held, [float(np.median(values[own])) for own in held]
