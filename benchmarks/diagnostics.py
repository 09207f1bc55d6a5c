"""R-hat and effective sample size: `pasb.posterior.diagnostics` against arviz-stats.

As after a fit of iris with the default settings: 4 chains of 1000 draws, and the probabilities
of 3 classes in 24 rows, 72 quantities. Both see the same draws in one process. The import of
arviz-stats is timed in new processes that have already imported the classifier; "alone" hides
arviz-base, which arviz-stats imports together with xarray where it is installed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from time import perf_counter, thread_time

import numpy as np

SHAPE = (4, 1000, 72)
IMPORTING = """
from time import perf_counter as clock
import sys
from pasb import StickLogisticClassifier
if {alone}:
    sys.modules["arviz_base"] = None
began = clock()
from arviz_stats.base import array_stats
print(clock() - began)
"""


def fastest(
    function: Callable[[], object], clock: Callable[[], float] = thread_time, times: int = 7
) -> float:
    """Seconds of the fastest of some calls, after one that does not count."""
    function()
    best = np.inf
    for _ in range(times):
        began = clock()
        function()
        best = min(best, clock() - began)
    return best


def draws() -> np.ndarray:
    """Autoregressions, correlated as neighbouring draws of a chain are."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=SHAPE)
    for t in range(1, SHAPE[1]):
        x[:, t] = 0.7 * x[:, t - 1] + np.sqrt(1 - 0.7**2) * x[:, t]
    return x


def import_seconds(alone: bool, processes: int = 3) -> float:
    command = [sys.executable, "-c", IMPORTING.format(alone=alone)]
    return min(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(processes)
    )


def iris_fit_seconds() -> float:
    import warnings

    from sklearn.datasets import load_iris

    from pasb import StickLogisticClassifier

    X, y = load_iris(return_X_y=True)
    model = StickLogisticClassifier(random_state=1, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fastest(lambda: model.fit(X, y), perf_counter, times=3)


def measure() -> dict[str, float]:
    from arviz_stats.base import array_stats

    from pasb.posterior.diagnostics import rhat_and_ess

    x = draws()
    axes = {"chain_axis": 0, "draw_axis": 1}
    ours = fastest(lambda: rhat_and_ess(x))
    theirs = fastest(lambda: (array_stats.rhat(x, **axes), array_stats.ess(x, **axes)))
    rhat, ess = rhat_and_ess(x)
    differences = [
        np.abs(rhat / array_stats.rhat(x, **axes) - 1).max(),
        np.abs(ess / array_stats.ess(x, **axes) - 1).max(),
    ]
    fit = iris_fit_seconds()
    return {
        "pasb, ms": 1e3 * ours,
        "arviz-stats, ms": 1e3 * theirs,
        "arviz-stats / pasb": theirs / ours,
        "largest relative difference": max(differences),
        "iris fit, ms": 1e3 * fit,
        "iris fit with arviz-stats / with pasb": 1 + (theirs - ours) / fit,
        "import of arviz-stats alone, ms": 1e3 * import_seconds(True),
        "import of arviz-stats with arviz-base, ms": 1e3 * import_seconds(False),
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:45} {value:10.4g}")
