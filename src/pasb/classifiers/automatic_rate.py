"""Classifiers whose prior of the coefficients finds its own scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.classifiers.general import StickBreakingClassifier
from pasb.covariates.prior_scale import FIRST_RATE, prior_rate
from pasb.numerics.rows import Rows


class AutomaticRate(StickBreakingClassifier):
    """A classifier with the parameters `precision`, `precision_shape` and `precision_rate`."""

    precision: Any
    precision_shape: Any
    precision_rate: Any

    @property
    def _chooses(self) -> bool:
        """Whether the rate is left to the data; fixed precisions have none."""
        return isinstance(self.precision_rate, str) and self.precision == "ard"

    def _rate(self) -> Any:
        """The rate that was given or, once it is there, the one that was chosen."""
        if isinstance(self.precision_rate, str):
            return getattr(self, "precision_rate_", FIRST_RATE) if self._chooses else FIRST_RATE
        return self.precision_rate

    def _fit_prior(self, rows: Rows) -> None:
        if self._chooses:
            rate = self._suitable_rate(rows, float(self.precision_shape))
            self.precision_rate_ = rate / self._steepness() ** 2
        else:
            self.precision_rate_ = self._rate()

    def _suitable_rate(self, rows: Rows, shape: float) -> float:
        """The rate that suits a table."""
        return prior_rate(rows, shape)

    def _steepness(self) -> float:
        """Slope of the binary model's probability at 1/2, over that of a logistic one."""
        return 1.0

    def _learned(self) -> dict[str, NDArray]:
        learned = super()._learned()
        if self._chooses:
            learned["precision_rate"] = np.array([self.precision_rate_])
        return learned

    def _relearn(self, arrays: dict[str, NDArray]) -> None:
        super()._relearn(arrays)
        if not self._chooses:
            self.precision_rate_ = self._rate()
        else:
            rate = arrays["precision_rate"]
            if rate.shape != (1,) or rate.dtype != np.float64 or not 0 < rate[0] < np.inf:
                raise ValueError("the rate of the prior is impossible")
            self.precision_rate_ = float(rate[0])
