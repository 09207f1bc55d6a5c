"""Whether probabilities mean what they say: the reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.plots import canvas, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 5  # rows in a bin below which its point is drawn faint


@dataclass(frozen=True, eq=False)
class Calibration:
    """Rows in bins of the probability of their predicted class.

    Attributes
    ----------
    edges : array of shape (n_bins + 1,)
    count : array of shape (n_bins,)
        Rows in each bin.
    confidence, accuracy : array of shape (n_bins,)
        Mean probability of the predicted class, and how often it was right; NaN in
        empty bins.
    error : float
        The expected calibration error: the mean gap between the two, weighted by rows.
    """

    edges: NDArray[np.float64]
    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    error: float

    @classmethod
    def of(
        cls, proba: NDArray[np.float64], y: ArrayLike, classes: NDArray, n_bins: int = 10
    ) -> Calibration:
        """From class probabilities of shape (n_rows, n_classes) and true classes."""
        best = proba.max(axis=1)
        right = classes[np.argmax(proba, axis=1)] == np.asarray(y)
        edges = np.linspace(0, 1, n_bins + 1)
        where = np.clip(np.digitize(best, edges) - 1, 0, n_bins - 1)
        count = np.bincount(where, minlength=n_bins)
        with np.errstate(invalid="ignore", divide="ignore"):
            confidence = np.bincount(where, best, n_bins) / count
            accuracy = np.bincount(where, right, n_bins) / count
        gap = np.nansum(np.abs(confidence - accuracy) * count) / len(best)
        return cls(edges, count, confidence, accuracy, float(gap))


def reliability(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_bins: int = 10,
    availability: Any = None,
    title: str = "Calibration",
    ax: Axes | None = None,
) -> Axes:
    """Draw how often predictions were right against how sure they were.

    Points on the diagonal are calibrated; below it the model was too sure. Bars show
    90% Wilson intervals of the frequencies, and the strip on top how many rows each bin
    holds; bins of a few rows are faint. Below the title is the expected calibration error (ECE).

    Parameters
    ----------
    model : fitted classifier
        Anything with `predict_proba` and `classes_`, pipelines included.
    X : array or data frame of shape (n_rows, n_features)
        Rows that the model was not fitted to.
    y : array of shape (n_rows,)
        Their classes.
    n_bins : int, default=10
        Bins of equal width.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes the rows can choose, for models that take it in `predict_proba`.
    title : str, default="Calibration"
        Of several pictures side by side, say, the name of the model.
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
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1)
    >>> model = model.fit(X[::2], y[::2])
    >>> ax = plots.reliability(model, X[1::2], y[1::2])
    >>> ax.get_ylabel()
    'share that was right'
    """
    for needed in ("predict_proba", "classes_"):
        if not hasattr(model, needed):
            raise TypeError(
                "model must be a fitted classifier, or a fitted pipeline that ends in one; "
                f"{type(model).__name__} has no {needed}"
            )
    ax = canvas.one_axes(ax, 4.6, 4.8)
    more = {} if availability is None else {"availability": availability}
    cal = Calibration.of(model.predict_proba(X, **more), y, model.classes_, n_bins)
    ax.plot([0, 1], [0, 1], color=style.SOFT, linewidth=1.0, linestyle=(0, (4, 3)))
    held = cal.count > 0
    lower, upper = wilson(cal.accuracy[held], cal.count[held])
    firm = np.where(cal.count[held] >= FEW, 1.0, 0.35)  # a few rows say little
    x, height = cal.confidence[held], cal.accuracy[held]
    shades = [(*style.rgb(style.COLOURS[:1])[0], alpha) for alpha in firm]
    ax.vlines(x, lower, upper, colors=shades, linewidth=1.6)
    ax.scatter(x, height, s=38, color=shades, edgecolors="white", linewidths=0.9, zorder=3)
    ax.plot(x[firm == 1], height[firm == 1], color=style.COLOURS[0], linewidth=1.2, alpha=0.8)
    chance = 1 / len(model.classes_)
    left = max(0.0, np.floor(10 * min(chance, float(np.nanmin(cal.confidence)))) / 10)
    ax.set_xlim(left, 1.015)
    ax.set_ylim(min(left, float(lower.min())) - 0.02, 1.03)
    ax.set_xlabel("probability of the predicted class", fontsize=style.LABEL, color=style.INK)
    ax.set_ylabel("share that was right", fontsize=style.LABEL, color=style.INK)
    style.tidy(ax, grid="both")
    strip = ax.inset_axes((0.0, 1.02, 1.0, 0.14), sharex=ax)
    strip.bar(
        cal.edges[:-1],
        cal.count,
        width=np.diff(cal.edges) * 0.92,
        align="edge",
        color=style.COLOURS[5],
        alpha=0.8,
    )
    style.tidy(strip)
    strip.spines["left"].set_visible(False)
    strip.tick_params(left=False, labelleft=False, labelbottom=False, bottom=False)
    style.title(
        strip,
        title,
        f"expected calibration error {cal.error:.3f} on {int(cal.count.sum()):,} rows",
    )
    return ax


def wilson(
    share: NDArray[np.float64], count: NDArray[np.int64], z: float = 1.645
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's interval of a frequency; it stays within 0 and 1 for small counts too."""
    extra = z * z / count
    centre = (share + extra / 2) / (1 + extra)
    half = z / (1 + extra) * np.sqrt(share * (1 - share) / count + extra / (4 * count))
    return centre - half, centre + half
