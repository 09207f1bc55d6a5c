"""Figures as users of matplotlib expect them, in scripts and notebooks.

Import it only when something is drawn: it loads matplotlib.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine


class Picture(Figure):
    """A figure of pyplot that a notebook shows once.

    A notebook shows a figure that is the value of a cell, and at the end of the cell every figure
    that pyplot has. So this one leaves pyplot when it is shown as a value.
    """

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        pyplot.close(self)
        return {"image/png": _png(self)}


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def new_picture(width: float, height: float) -> Any:
    """An empty figure that ``plt.show()`` shows."""
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04)
    return pyplot.figure(figsize=(width, height), layout=layout, dpi=110, FigureClass=Picture)
