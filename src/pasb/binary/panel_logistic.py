"""Choice sticks of persons who choose several times.

    eta of category c = x'b_c + z_c'g_c + z_c'g + u_pc,
    u_pc ~ N(0, sigma_c^2),  sigma_c ~ half-t(df, scale),

with u_pc the intercept of person p at the stick of category c; the rest is that of
`pasb.binary.choice_logistic`. The number of the person is the last column, whose coefficient is
zero.

Given Polya-Gamma latents w and k = weight (label - 1/2), coefficients and intercepts are jointly
normal, and the intercepts of two persons do not interact but through the coefficients. So the
coefficients are drawn with all intercepts integrated out: with W_p, M_p and r_p the sums over
the rows of a person of w, w x and k, and D_p = W_p + 1 / sigma^2,

    X'WX loses sum_p M_p M_p' / D_p,   X'k loses sum_p M_p r_p / D_p,
    u_p given the coefficients b is normal with mean (r_p - M_p'b) / D_p and precision D_p.

The deviation sigma moves twice, given the same latents (interweaving; Yu and Meng 2011): given u,
and given z = u / sigma, where it is one more regression coefficient and takes u with it. Either
way the half-t prior is a mixture whose variable is drawn first: of inverse gammas (Huang and Wand
2013), or of normals, whose sign z takes over.

A person whom the fit did not know has a negative number in the last column. His intercept in a
draw is sigma_c times a standard normal that follows from that number and from `fresh`, a uniform
number that every draw has for every category: the same in every prediction, independent between
persons, draws and categories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import ndtri

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.choice_logistic import ChoiceLogistic, ChoiceSampler
from pasb.binary.linear import positive
from pasb.binary.linear_kernels import LATENTS, present_predictors
from pasb.binary.logistic_kernels import draw_latents, sum_logs_of
from pasb.numerics.rows import Rows, linear_predictors, padded, unblocked, weighted_gram

PERSONS = np.int64(23)  # purpose of the stream
LEAST_DEVIATION = 1e-100  # its square is not zero

# mypy: disable-error-code="call-arg"


class PanelLogistic(ChoiceLogistic):
    """Bayesian logistic regression with covariates of alternatives and intercepts of persons.

    Parameters
    ----------
    n_alternatives, generic, precision, shape, rate, priors
        As for `ChoiceLogistic`.
    n_persons : int, default=1
    person_scale, person_df : float, default=2.0, 4.0
        The half-t prior of the standard deviation between persons, for each category.
    """

    kept = ("coef", "effect", "deviation", "fresh")
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "coef": ("column",),
        "effect": ("person",),
        "deviation": (),
        "fresh": (),
    }

    def __init__(
        self,
        *,
        n_alternatives: int = 2,
        generic: tuple[bool, ...] = (),
        precision: float | str = "ard",
        shape: float = 2.0,
        rate: float = 8.0,
        priors: Sequence[Sequence[Any]] | None = None,
        n_persons: int = 1,
        person_scale: float = 2.0,
        person_df: float = 4.0,
    ):
        super().__init__(
            n_alternatives=n_alternatives,
            generic=generic,
            precision=precision,
            shape=shape,
            rate=rate,
            priors=priors,
        )
        self.n_persons = n_persons
        self.person_scale = person_scale
        self.person_df = person_df

    def check(self) -> None:  # noqa: D102
        super().check()
        for name in ("person_scale", "person_df"):
            if not positive(getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, not {getattr(self, name)!r}")

    def n_chooser(self, n_columns: int) -> int:  # noqa: D102
        return super().n_chooser(n_columns) - 1

    def shapes(self, n_columns: int) -> dict[str, tuple[int, ...]]:  # noqa: D102
        own = {"effect": (self.n_persons,), "deviation": (), "fresh": ()}
        return super().shapes(n_columns) | own

    def sampler(self, rows: Rows) -> PanelSampler:  # type: ignore[override]  # noqa: D102
        return PanelSampler(self, rows)

    def simulate_categories(  # noqa: D102
        self, n_columns: int, n_categories: int, rng: np.random.Generator
    ) -> Parameters:
        drawn = super().simulate_categories(n_columns, n_categories, rng)
        deviation = self.person_scale * np.abs(rng.standard_t(self.person_df, n_categories))
        effect = deviation[:, None] * rng.standard_normal((n_categories, self.n_persons))
        fresh = rng.random(n_categories)
        return drawn | {"effect": effect, "deviation": deviation, "fresh": fresh}

    def side_by_side(self, parameters: Mapping[str, NDArray]) -> None:  # type: ignore[override]
        """Kernels for many draws at once know no persons."""

    def predictors(  # noqa: D102
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        eta = super().predictors(parameters, blocks)
        numbers = blocks[:, parameters["coef"].shape[-1] - 1].ravel()
        eta += intercepts(parameters, numbers).reshape(eta.shape)
        return eta


def intercepts(
    parameters: Mapping[str, NDArray], numbers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Intercepts (draws, categories, rows) of the persons with these numbers."""
    effect = parameters["effect"]
    known = numbers >= 0
    out = np.empty((*effect.shape[:2], len(numbers)))
    out[..., known] = effect[..., numbers[known].astype(np.int64)]
    if not known.all():
        who, place = np.unique(numbers[~known], return_inverse=True)
        drawn = parameters["deviation"][..., None] * normals_of(parameters["fresh"], who)
        out[..., ~known] = drawn[..., place]
    return out


def normals_of(fresh: NDArray[np.float64], who: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normals (..., persons) of unknown persons, from numbers in [0, 1) of each draw."""
    bits = (fresh * 2.0**53).astype(np.uint64)[..., None]
    person = (-who).astype(np.uint64)
    mixed = _mix(_mix(bits) ^ _mix(person * np.uint64(2) + np.uint64(1)))
    return ndtri(((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014); wraps around."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class PersonSums(NamedTuple):
    """Sums over the rows of each person on a stick: of w, of w x, and of k."""

    weight: NDArray[np.float64]
    moment: NDArray[np.float64]
    linear: NDArray[np.float64]


class PanelSampler(ChoiceSampler):
    """Joint updates of the coefficients and intercepts of all categories."""

    model: PanelLogistic

    def __init__(self, model: PanelLogistic, rows: Rows):
        super().__init__(model, rows)
        n = rows.n_rows
        self.person = unblocked(rows.blocks, n, rows.n_columns)[:, -1].astype(np.int64)
        entries = np.ones(n), (self.person, np.arange(n))
        self.by_person = csr_matrix(entries, shape=(model.n_persons, n))
        self.tables = [unblocked(part.rows.blocks, n, part.rows.n_columns) for part in self.parts]
        self._sums_of: dict[int, PersonSums] = {}

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        n = self.rows.n_categories
        rng = np.random.default_rng(keys.at(n, purpose=PERSONS))
        deviation = self.model.person_scale * rng.uniform(0.25, 1, n)
        effect = deviation[:, None] * rng.standard_normal((n, self.model.n_persons))
        own = {"effect": effect, "deviation": deviation, "fresh": rng.random(n)}
        return super().start(keys) | own

    def _row_sums(self, parameters, category, stick, roles, keys):
        """X'WX and X'k with the intercepts integrated out, and what these then need."""
        part, n_rows = self.parts[category], self.rows.n_rows
        blocks, weights, bounds = part.weighted_rows
        coef = parameters["coef"][category, self.columns[category]]
        n = len(coef)
        with part.space() as space:
            latents, linear_weights, used, scratch, gram, linear, _, _, padded_coef = space.work
            padded_coef[:n] = coef
            present_predictors(blocks, bounds, roles, padded_coef, latents)
            latents[:n_rows] += parameters["effect"][category, self.person]
            key = keys.at(stick, purpose=LATENTS)
            draw_latents(weights, bounds, roles, key, latents, linear_weights, used)
            weighted_gram(blocks, latents, linear_weights, used, scratch, gram, linear)
            w, k = latents[:n_rows], linear_weights[:n_rows]
            moment = self.by_person @ (w[:, None] * self.tables[category])
            sums = PersonSums(self.by_person @ w, moment, self.by_person @ k)
            lower, along = np.tril(gram[:n, :n]), linear[:n].copy()
        self._sums_of[category] = sums
        seen = moment / self._precision(parameters, category)[:, None]
        reduced = lower + np.tril(lower, -1).T - seen.T @ moment
        return reduced, along - seen.T @ sums.linear

    def _precision(self, parameters: Parameters, category: int) -> NDArray[np.float64]:
        """Conditional precisions of the intercepts."""
        return self._sums_of[category].weight + parameters["deviation"][category] ** -2.0

    def _draw(self, parameters, category, stick, normal, keys) -> None:
        """Also the intercepts, and their deviation."""
        super()._draw(parameters, category, stick, normal, keys)
        rng = np.random.default_rng(keys.at(stick, purpose=PERSONS))
        sums = self._sums_of[category]
        left = sums.linear - sums.moment @ parameters["coef"][category, self.columns[category]]
        precision = self._precision(parameters, category)
        effect = left / precision + rng.standard_normal(len(left)) / np.sqrt(precision)
        deviation = self.deviation_given(effect, float(parameters["deviation"][category]), rng)
        factor = self.deviation_along(effect / deviation, deviation, sums.weight, left, rng)
        parameters["effect"][category] = effect / deviation * factor
        parameters["deviation"][category] = abs(factor)
        parameters["fresh"][category] = rng.random()

    def deviation_given(
        self, effect: NDArray[np.float64], deviation: float, rng: np.random.Generator
    ) -> float:
        """The deviation between persons given their intercepts."""
        df, scale = self.model.person_df, self.model.person_scale
        rate = scale**-2.0 + df / deviation**2  # 1 / a ~ Gamma, and sigma^2 ~ InverseGamma given a
        inverse = rng.gamma((df + 1) / 2) / rate
        squared = (df * inverse + effect @ effect / 2) / rng.gamma((df + len(effect)) / 2)
        return max(float(np.sqrt(squared)), LEAST_DEVIATION)

    def deviation_along(
        self,
        standard: NDArray[np.float64],
        deviation: float,
        weight: NDArray[np.float64],
        left: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> float:
        """The factor of standardised intercepts, of either sign, given the latents."""
        df, scale = self.model.person_df, self.model.person_scale
        mixing = rng.gamma((df + 1) / 2) / ((df + (deviation / scale) ** 2) / 2)
        precision = mixing / scale**2 + standard**2 @ weight
        drawn = standard @ left / precision + rng.standard_normal() / np.sqrt(precision)
        return float(drawn) if abs(drawn) > LEAST_DEVIATION else LEAST_DEVIATION

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        super().draw_prior(parameters, category, stick, keys)
        rng = np.random.default_rng(keys.at(stick, purpose=PERSONS))
        model = self.model
        deviation = model.person_scale * abs(rng.standard_t(model.person_df))
        parameters["deviation"][category] = deviation
        parameters["effect"][category] = deviation * rng.standard_normal(model.n_persons)
        parameters["fresh"][category] = rng.random()

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        for c, (part, columns) in enumerate(zip(self.parts, self.columns, strict=True)):
            blocks, weights, bounds = part.weighted_rows
            coef = padded(parameters["coef"][c : c + 1, columns], blocks.shape[1])
            with part.space() as space:
                eta = space.pair[0]
                linear_predictors(blocks, coef, eta[None])
                eta[: self.rows.n_rows] += parameters["effect"][c, self.person]
                sum_logs_of(eta, weights, bounds, success[c], failure[c])
