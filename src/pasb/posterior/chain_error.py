"""How well averages over chains are known, from the spread between chains.

Chains of a posterior with many modes may each stay in a few of them. R-hat tells that, but not what
it means for predictions, which are averages over all chains. The chains' own averages are
independent and have the same distribution, whether or not a chain mixes, so their standard
deviation over the square root of their number is the standard error of their average.

Chains go to modes from random starts, and that decides the weight of a mode in the average. How
much weight the posterior gives to it, no spread between chains can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

SHARE = 0.95  # of the rows


class ChainError(NamedTuple):
    """Standard errors of averages over chains, and their degrees of freedom.

    Attributes
    ----------
    se : array
        One for each average; NaN for one chain.
    df : array
    """

    se: NDArray[np.float64]
    df: NDArray[np.float64]

    @classmethod
    def of(cls, means: NDArray[np.float64]) -> ChainError:
        """From the averages of each chain, an array of shape (n_chains, ...).

        NaN for one chain.

        Examples
        --------
        >>> ChainError.of(np.array([[0.2], [0.4], [0.6]])).se.round(3)
        array([0.115])
        """
        n_chains, *shape = means.shape
        df = np.full(shape, n_chains - 1.0)
        if n_chains == 1:
            return cls(np.full(shape, np.nan), df)
        return cls(means.std(axis=0, ddof=1) / np.sqrt(n_chains), df)

    @classmethod
    def of_average(cls, each: Sequence[ChainError]) -> ChainError:
        """Of the average of several models: degrees of freedom by Welch and Satterthwaite."""
        variances = np.array([one.se**2 for one in each])
        df = np.array([one.df for one in each])
        total = variances.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            welch = total**2 / (variances**2 / df).sum(axis=0)
        return cls(np.sqrt(total) / len(each), np.where(total == 0, df.sum(axis=0), welch))

    def of_rows(self) -> NDArray[np.float64]:
        """The error of each row, that of its worst class, made larger for few chains.

        The standard deviation of a few chains may be small by chance. The factor is a quantile of
        Student's t, 1.84 for 2 chains, 1.20 for 4, 1.08 for 8 and 1.03 for 16: plus and minus
        the error then make an interval of 68 % for any number of chains, as one standard error
        does for many.
        """
        return np.max(self.se * stdtrit(self.df, ndtr(1.0)), axis=1)

    def usual(self) -> float:
        """What the error is at most in 95 % of the rows."""
        return float(np.quantile(self.of_rows(), SHARE, method="inverted_cdf"))
