"""Pictures of fitted models, with matplotlib alone.

Every function draws on the axes or figure it is given, or on a new one, and returns
it. None touches pyplot or matplotlib's settings, so they work in scripts, notebooks and
servers alike; save a picture with ``plots.trace(model).savefig("trace.png")`` or, for
those that return axes, ``ax.figure.savefig(...)``.

matplotlib is optional: ``pip install 'pasb[plots]'``.
"""

from __future__ import annotations

from pasb.plots.calibration import reliability
from pasb.plots.dependence import effects
from pasb.plots.intervals import coefficients
from pasb.plots.maps import probability_map
from pasb.plots.precedence import order_posterior
from pasb.plots.traces import trace

__all__ = [
    "coefficients",
    "effects",
    "order_posterior",
    "probability_map",
    "reliability",
    "trace",
]
