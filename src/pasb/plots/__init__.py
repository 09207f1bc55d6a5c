"""Pictures of fitted models, with matplotlib alone.

Every function draws on the axes or figure it is given (``ax=``, ``figure=``), or on a new figure
of pyplot, and returns it: a notebook shows it, and so does ``plt.show()``. Save a picture with
``plots.trace(model).savefig("trace.png")`` or, for those that return axes,
``ax.figure.savefig(...)``. On a given figure none touches pyplot, so servers need not close
anything; none changes matplotlib's settings.

A model may be a fitted scikit-learn pipeline that ends in one of the classifiers. Labels may be in
any script: letters that no installed font has are written as code points, such as U+732B.

matplotlib is optional: ``pip install 'pasb[plots]'``.
"""

from __future__ import annotations

from pasb.plots.before_data import prior_predictive
from pasb.plots.calibration import reliability
from pasb.plots.choices import choices
from pasb.plots.dependence import effects
from pasb.plots.experts import experts
from pasb.plots.intervals import coefficients
from pasb.plots.maps import probability_map
from pasb.plots.precedence import order_posterior
from pasb.plots.replication import predictive_check
from pasb.plots.traces import trace

__all__ = [
    "choices",
    "coefficients",
    "effects",
    "experts",
    "order_posterior",
    "predictive_check",
    "prior_predictive",
    "probability_map",
    "reliability",
    "trace",
]
