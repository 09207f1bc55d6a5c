"""How good draws have to be: limits of R-hat and of the effective sample size."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

EXAMPLE = '{"rhat": 1.01, "ess": 400}'


class Limits(NamedTuple):
    """What R-hat must not exceed, and what the effective sample size must reach."""

    rhat: float = 1.05
    ess: float = 100

    @classmethod
    def of(cls, until: Any) -> Limits:
        """From the argument `until` of a classifier; what it leaves out is as usual.

        Examples
        --------
        >>> Limits.of({"ess": 400})
        Limits(rhat=1.05, ess=400.0)
        """
        if until is None:
            return cls()
        if not isinstance(until, Mapping) or not until:
            raise ValueError(f"until must be None or a dictionary such as {EXAMPLE}; got {until!r}")
        for key, value in until.items():
            if key not in cls._fields:
                raise ValueError(
                    f'until has no key {key!r}: the keys are "rhat" and "ess", as in {EXAMPLE}'
                )
            number = isinstance(value, Real) and not isinstance(value, bool)
            if key == "rhat" and not (number and 1 < value < 2):
                raise ValueError(
                    f'until["rhat"] must be a number between 1 and 2, such as 1.01; got {value!r}'
                )
            if key == "ess" and not (number and 1 <= value < np.inf):
                raise ValueError(
                    f'until["ess"] must be a number of draws, such as 400; got {value!r}'
                )
        return cls(**{key: float(value) for key, value in until.items()})

    def met(self, rhat: NDArray[np.float64], ess: NDArray[np.float64]) -> bool:
        """Whether all these quantities are within the limits; a single chain has no R-hat."""
        return bool((~(rhat > self.rhat)).all() and (ess >= self.ess).all())
