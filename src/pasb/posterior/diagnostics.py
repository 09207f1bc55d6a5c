"""R-hat and effective sample size, many quantities at once.

Rank-normalised split R-hat and bulk effective sample size as in Vehtari, Gelman,
Simpson, Carpenter and Bürkner (2021). arviz-stats gives the same numbers, and a test compares
them. It is not used here because it takes one quantity after another, each ranked twice: for
the 72 quantities of an iris fit it takes 1.8 times as long (162 against 92 ms, where the whole
fit takes 350 ms), and its import costs a first fit another 140 ms, or 220 ms where arviz-base is
installed. `benchmarks/diagnostics.py` measures this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from pasb.posterior.chain_error import ChainError

HEAD = ("R-hat", "ESS", "standard error")
NUMBERS_AT_ONCE = 2**14  # ranks, scores and spectra take ten times as much


def split_rhat(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank-normalised split R-hat of (chain, draw, quantity) draws.

    NaN for fewer than four draws a chain, and for a single chain, as in ArviZ; 1 for a quantity
    that does not vary.
    """
    return rhat_and_ess(draws)[0]


def bulk_ess(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bulk effective sample size of (chain, draw, quantity) draws, over all chains.

    NaN for fewer than four draws a chain; all draws for a quantity that does not vary.
    """
    return rhat_and_ess(draws)[1]


def rhat_and_ess(
    draws: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both for every quantity; the ranks, which take most of the time, serve both.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws, n_quantities)

    Returns
    -------
    rhat, ess : arrays of shape (n_quantities,)
    """
    n_chains, n_draws, n_quantities = draws.shape
    rhat, ess = np.full((2, n_quantities), np.nan)
    if n_draws < 4:
        return rhat, ess
    step = max(1, NUMBERS_AT_ONCE // (n_chains * n_draws))
    for start in range(0, n_quantities, step):
        some = slice(start, start + step)
        halves = _halves(draws[:, :, some])
        constant = np.ptp(halves, axis=(0, 1)) == 0
        scores = _normal_scores(halves)
        folded = np.abs(halves - np.median(halves, axis=(0, 1)))
        # chains that are constant, each at another value, have nothing left when folded
        if n_chains > 1:  # one chain has nobody to disagree with
            larger = np.fmax(_rhat(scores), _rhat(_normal_scores(folded)))
            rhat[some] = np.where(constant, 1.0, larger)
        ess[some] = np.where(constant, float(n_chains * n_draws), _ess(scores))
    return rhat, ess


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """How far the chains can be trusted.

    Attributes
    ----------
    rhat_probability, ess_probability : array of shape (n_rows, n_categories)
        For the class probabilities of some training rows.
    rhat_log_likelihood, ess_log_likelihood : float
    error : ChainError
        How well the posterior means of these probabilities are known, from the spread between
        chains; `se_probability` and `usual_error` are taken from it.
    by_direction : dict of Diagnostics
        Where chains break sticks in both directions, which are different models: the
        diagnostics of each. R-hat and effective sample size above are then the worse of the
        two, and the error is that of the average of both.
    """

    rhat_probability: NDArray[np.float64]
    ess_probability: NDArray[np.float64]
    rhat_log_likelihood: float
    ess_log_likelihood: float
    error: ChainError
    by_direction: dict[str, Diagnostics] = field(default_factory=dict)

    @classmethod
    def of(
        cls, probabilities: NDArray[np.float64], log_likelihood: NDArray[np.float64]
    ) -> Diagnostics:
        """From (chain, draw, row, category) probabilities and (chain, draw) likelihoods."""
        n_chains, n_draws, *quantities = probabilities.shape
        rhat, ess = rhat_and_ess(probabilities.reshape(n_chains, n_draws, -1))
        rhat_likelihood, ess_likelihood = rhat_and_ess(log_likelihood[:, :, None])
        return cls(
            rhat.reshape(quantities),
            ess.reshape(quantities),
            float(rhat_likelihood[0]),
            float(ess_likelihood[0]),
            ChainError.of(probabilities.mean(axis=1)),
        )

    @classmethod
    def worst_of(cls, by_direction: dict[str, Diagnostics]) -> Diagnostics:
        """The worse of the diagnostics of several directions, quantity by quantity."""
        each = list(by_direction.values())
        return cls(
            np.max([one.rhat_probability for one in each], axis=0),
            np.min([one.ess_probability for one in each], axis=0),
            float(np.max([one.rhat_log_likelihood for one in each])),
            float(np.min([one.ess_log_likelihood for one in each])),
            ChainError.of_average([one.error for one in each]),
            by_direction,
        )

    def arrays(self, prefix: str = "diagnostics") -> dict[str, NDArray[np.float64]]:
        """Arrays for a file, by name; `from_arrays` reads them."""
        likelihood = np.array([self.rhat_log_likelihood, self.ess_log_likelihood])
        own = {
            "rhat": self.rhat_probability,
            "ess": self.ess_probability,
            "log_likelihood": likelihood,
            "se": self.error.se,
            "df": self.error.df,
        }
        out = {f"{prefix}_{name}": values for name, values in own.items()}
        for direction, one in self.by_direction.items():
            out |= one.arrays(f"{prefix}_{direction}")
        return out

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray],
        shape: tuple[int, int],
        directions: Sequence[str] = (),
        prefix: str = "diagnostics",
    ) -> Diagnostics:
        """From a file, of so many rows and categories; ValueError where that makes no sense."""
        names = ("rhat", "ess", "se", "df", "log_likelihood")
        rhat, ess, se, df, likelihood = (arrays[f"{prefix}_{name}"] for name in names)
        shapes = [values.shape for values in (rhat, ess, se, df)]
        if shapes != [shape] * 4 or likelihood.shape != (2,):
            raise ValueError("the diagnostics do not fit the watched rows")
        if any(arrays[f"{prefix}_{name}"].dtype != np.float64 for name in names):
            raise ValueError("the diagnostics are not numbers")
        each = {name: cls.from_arrays(arrays, shape, (), f"{prefix}_{name}") for name in directions}
        rhat_likelihood, ess_likelihood = map(float, likelihood)
        return cls(rhat, ess, rhat_likelihood, ess_likelihood, ChainError(se, df), each)

    def table(self) -> list[tuple[str, float, float, float]]:
        """Lines of quantity, worst R-hat, smallest effective sample size, standard error.

        The standard error, of averaged probabilities, is `usual_error`; NaN where there is none.
        """
        lines = []
        for name, one in (self.by_direction or {"": self}).items():
            end = f", {name} sticks" if name else ""
            log_likelihood = (one.rhat_log_likelihood, one.ess_log_likelihood, np.nan)
            lines.append((f"log-likelihood{end}", *log_likelihood))
            probability = (one.rhat_probability, one.ess_probability)
            worst = float(np.max(probability[0])), float(np.min(probability[1]))
            n_rows = len(probability[0])
            lines.append((f"probabilities of {n_rows} rows{end}", *worst, one.usual_error))
        if self.by_direction:
            lines.append(("average of both", np.nan, np.nan, self.usual_error))
        return lines

    def __repr__(self) -> str:
        shown = [(name, *_cells(numbers)) for name, *numbers in self.table()]
        width = max(len(line[0]) for line in shown)
        head = f"{'':{width}}  {HEAD[0]:>6}  {HEAD[1]:>7}  {HEAD[2]:>14}"
        lines = [f"{name:{width}}  {a:>6}  {b:>7}  {c:>14}" for name, a, b, c in shown]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in ("", *HEAD))
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{name}</th>'
            + "".join(f"<td>{cell}</td>" for cell in _cells(numbers))
            + "</tr>"
            for name, *numbers in self.table()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat of all."""
        return float(max(np.max(self.rhat_probability), self.rhat_log_likelihood))

    @property
    def worst_ess(self) -> float:
        """The smallest effective sample size of all."""
        return float(min(np.min(self.ess_probability), self.ess_log_likelihood))

    @property
    def se_probability(self) -> NDArray[np.float64]:
        """Standard error of the posterior mean of each probability, (row, category).

        The standard deviation of the chains' own means over the square root of their number. It
        holds whether or not chains move between modes. NaN for one chain.
        """
        return self.error.se

    @property
    def usual_error(self) -> float:
        """What the standard error is at most in 95 % of the rows, made larger for few chains."""
        return self.error.usual()

    @property
    def worst_error(self) -> float:
        """The largest standard error of all rows, made larger for few chains."""
        return float(np.max(self.error.of_rows()))


def _cells(numbers: Sequence[float]) -> list[str]:
    """R-hat, effective sample size and error as text; empty where there is none."""
    forms = (".3f", ",.0f", ".4f")
    return [
        "" if np.isnan(value) else format(value, form)
        for value, form in zip(numbers, forms, strict=True)
    ]


def _halves(draws):
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws):
    n = draws.shape[0] * draws.shape[1]
    ranks = rankdata(draws.reshape(n, -1), axis=0)
    return ndtri((ranks - 0.375) / (n + 0.25)).reshape(draws.shape)


def _rhat(z):
    n = z.shape[1]
    within = z.var(axis=1, ddof=1).mean(axis=0)
    between = n * z.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def _autocovariance(z):
    n = z.shape[1]
    z = z - z.mean(axis=1, keepdims=True)
    spectrum = rfft(z, next_fast_len(2 * n), axis=1)
    return irfft(np.abs(spectrum) ** 2, next_fast_len(2 * n), axis=1)[:, :n] / n


def _ess(z):
    n_chains, n, n_quantities = z.shape
    autocovariance = _autocovariance(z)
    chain_variance = autocovariance[:, 0] * n / (n - 1)
    within = chain_variance.mean(axis=0)
    total = within * (n - 1) / n
    if n_chains > 1:
        total = total + z.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - autocovariance.mean(axis=0)) / total
    rho[0] = 1.0
    # Geyer: sums of neighbouring pairs, while positive, made monotone
    pairs = rho[: n - n % 2].reshape(-1, 2, n_quantities).sum(axis=1)
    pairs = pairs[: max(1, (n - 3) // 2 + 1)]
    length = np.minimum(np.cumprod(pairs > 0, axis=0).sum(axis=0), len(pairs) - 1)
    monotone = np.minimum.accumulate(pairs, axis=0)
    counted = np.arange(len(pairs))[:, None] < length
    tau = -1 + 2 * np.sum(np.where(counted, monotone, 0.0), axis=0)
    # of the next pair (not positive, or the last one) the even term still counts
    even = np.take_along_axis(rho, 2 * length[None], axis=0)[0]
    last = np.take_along_axis(pairs, length[None], axis=0)[0]
    tau += np.where((even > 0) | (last > 0), even, 0.0)
    size = n_chains * n
    tau = np.maximum(tau, 1 / np.log10(size))
    return np.where(np.isfinite(tau), size / tau, np.nan)
