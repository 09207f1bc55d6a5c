"""Where a picture is drawn: on axes or a figure that were given, or on a new figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def one_axes(ax: Axes | None, width: float, height: float) -> Any:
    """The axes that were given, or those of a new figure."""
    if ax is None:
        return _new_figure(width, height).add_subplot()
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax must be the Axes to draw on; got {type(ax).__name__}")
    return ax


def panels(
    ax: Any,
    figure: Any,
    shape: tuple[int, int],
    size: tuple[float, float],
    **grid: Any,
) -> tuple[Any, NDArray]:
    """A figure and an array of axes: given ones, or new ones on a given or a new figure.

    Parameters
    ----------
    ax : array of Axes or None
    figure : Figure, SubFigure or None
    shape : pair of int
        Rows and columns of panels.
    size : pair of float
        Of a new figure, in inches.
    **grid
        For `Figure.subplots`.
    """
    if ax is None:
        figure = _new_figure(*size) if figure is None else figure
        return figure, figure.subplots(*shape, squeeze=False, **grid)
    if figure is not None:
        raise TypeError("give ax or figure, not both")
    axes = np.ravel(np.array(ax, dtype=object))
    n = shape[0] * shape[1]
    if len(axes) != n or not all(hasattr(one, "plot") for one in axes):
        raise ValueError(
            f"ax must hold {n} Axes, {shape[0]} x {shape[1]}; got {len(axes)}. plt.subplots"
            f"{shape}[1] makes them, or leave ax out for a new figure"
        )
    return axes[0].figure, axes.reshape(shape)


def _new_figure(width: float, height: float) -> Any:
    style.new_figure(1, 1)  # for its ImportError
    from pasb.plots.picture import new_picture

    return new_picture(width, height)
