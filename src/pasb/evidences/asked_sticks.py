"""Normal approximations of sticks whose rows are elsewhere, from a few passes over them.

Which sticks matter is found on a sample of the rows, where a fit costs next to nothing
(`pasb.evidences.approximations`); its evidences are trusted little. Then Newton's method runs on
all rows, for all these sticks together, from the modes of the sample. Should the best order
by the new evidences have neighbours whose sticks are not among them, those follow, until it has
none. A stick that a chain needs later, because a swap led there, is approximated then, from the
same start: what is known of a stick is a function of the rows, whoever asked and when.

A stick is *easy* if proposals from its approximation are mostly accepted, which is judged by the
weights of some draws. With many rows of either label all are. Of the others it is found out how
many steps a trajectory needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.binary.asked_laplace import SHARE, climbed, draw_proposal, proposal_log_weight
from pasb.binary.asked_travel import Stick, enough_steps
from pasb.binary.bent_normal import unpacked
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.row_requests import VALUE, Request
from pasb.evidences.approximations import LATTICE_LIMIT, Approximations
from pasb.evidences.evidences import PEELED_EVIDENCES, members
from pasb.evidences.known import GENEROUS, LEAST_SHARE, TRUST
from pasb.numerics.asking import Asking, together
from pasb.orders.known_sticks import MOST_CATEGORIES, KnownSticks, sticks_of
from pasb.variates.scalar import stream_key

Pair = tuple[int, int]  # a category, and the set behind it as a bit mask

SAMPLE_ROWS, ROWS_OF_A_CLASS = 20_000, 100  # on which orders are searched; with many classes
WALKED = 4000  # sticks that walks look at beyond those of the first order, roughly
SAMPLE_TRUST = 0.1  # the power of evidences of a sample
MOST_STICKS = 256  # that are approximated before chains begin
MOST_ROUNDS = 20  # of neighbours of the best order
N_JUDGED, EASY = 16, 0.6  # draws by which a stick is judged, and their acceptance
FEW_STEPS = 2  # of a trajectory of an easy stick
JUDGE = np.int64(17)  # purpose of the stream
ZERO = np.int64(0)

# mypy: disable-error-code="call-arg"


class AskedSticks:
    """What is known of sticks, shared by the chains of a problem.

    Parameters
    ----------
    sample : Approximations
        Of a sample of the rows.
    prior : CoefficientPrior

    Attributes
    ----------
    known : KnownSticks or None
        The sticks of which whole orders are drawn; None for a fixed order, or too many classes.
    gaussians : array
        Their approximations, packed, one a row.
    shares : array
        Probabilities with which they take part when a whole order is drawn.
    complete : bool
        Whether these are all there can be.
    """

    def __init__(self, sample: Approximations, prior: CoefficientPrior):
        self.sample, self.prior = sample, prior
        self.known: KnownSticks | None = None
        self.gaussians, self.shares = np.zeros((0, 0)), np.zeros(0)
        self.complete = False
        self._packed: dict[Pair, NDArray[np.float64]] = {}
        self._steps: dict[Pair, int] = {}  # 0 for easy sticks
        self._roles: dict[Pair, NDArray[np.int8]] = {}

    def roles(self, pair: Pair) -> NDArray[np.int8]:
        """The role of each group of rows on a stick."""
        if pair not in self._roles:
            self._roles[pair] = self.sample.roles(*pair)
        return self._roles[pair]

    def packed(self, pair: Pair) -> NDArray[np.float64]:
        """The approximation of a stick that was asked for."""
        return self._packed[pair]

    def stick(self, pair: Pair) -> Stick:
        """A stick as trajectories take it."""
        return Stick(self.roles(pair), self.prior, self._packed[pair])

    def is_easy(self, pair: Pair) -> bool:
        """Whether independence proposals are enough for a stick that was judged."""
        return self._steps[pair] == 0

    def steps(self, pair: Pair) -> int:
        """Steps of a trajectory of a stick that was judged."""
        return self._steps[pair] or FEW_STEPS

    def explored(self, fixed_order: NDArray[np.int64] | None) -> Asking[None]:
        """Approximate the sticks that chains are likely to need."""
        if fixed_order is not None:
            yield from self.judged(sticks_of(fixed_order))
            return
        n = self.sample.n_categories
        yield from self.approximated([(s, self.sample.all_but(s)) for s in range(n)])
        if n > MOST_CATEGORIES:
            return
        found = self._plausible()
        for _ in range(MOST_ROUNDS):
            yield from self.approximated(found.pairs)
            best = self._best(found)
            new = [pair for pair in _around(best) if pair not in self._packed]
            found = KnownSticks.of([*found.pairs, *_around(best)])
            if not new:
                break
        yield from self.approximated(found.pairs)
        self.known = found
        self.gaussians = np.stack([self._packed[pair] for pair in found.pairs])
        self.complete = len(found.pairs) == n * (2 ** (n - 1) - 1)
        probability = found.probabilities(TRUST * self.gaussians[:, -1])
        self.shares = np.clip(GENEROUS * np.sqrt(probability), LEAST_SHARE, 1.0)
        yield from self.judged(sticks_of(self._best(found)))

    def first_order(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """An order to start from, drawn by the evidences; or the best that a search found."""
        if self.known is None:
            return self.sample.searched_order(0)
        return self.known.draw(self.gaussians[:, -1], uniforms)

    def approximated(self, pairs: list[Pair]) -> Asking[None]:
        """Make the approximations of some sticks, unless they are there."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._packed]
        starts = [unpacked(self.sample.gaussians((pair,))[0])[0] for pair in new]
        climbs = [
            climbed(self.roles(pair), self.prior, start)
            for pair, start in zip(new, starts, strict=True)
        ]
        found = yield from together(climbs)
        for pair, one in zip(new, found, strict=True):
            self._packed[pair] = one.packed

    def judged(self, pairs: list[Pair]) -> Asking[None]:
        """Approximate some sticks, and find out how they are best sampled."""
        yield from self.approximated(pairs)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._steps]
        if not new:
            return
        drawn = [self._draws(pair) for pair in new]
        answers = yield [
            Request(VALUE, self.roles(pair), coef) for pair, coef in zip(new, drawn, strict=True)
        ]
        hard = []
        for pair, coef, answer in zip(new, drawn, answers, strict=True):
            packed = self._packed[pair]
            weights = [proposal_log_weight(packed, one, tuple(self.prior)) for one in coef]
            if _acceptance(answer.sums.sum(axis=1) + np.array(weights)) >= EASY:
                self._steps[pair] = 0
            else:
                hard.append(pair)
        steps = yield from together([enough_steps(self.stick(pair)) for pair in hard])
        self._steps.update(zip(hard, steps, strict=True))

    def _draws(self, pair: Pair) -> NDArray[np.float64]:
        packed = self._packed[pair]
        out = np.empty((N_JUDGED, len(unpacked(packed)[0])))
        for i in range(N_JUDGED):
            key = stream_key(ZERO, ZERO, np.int64(i), np.int64(pair[0]), ZERO, JUDGE)
            draw_proposal(packed, SHARE, np.uint64(key), out[i])
        return out

    def _plausible(self) -> KnownSticks:
        """The sticks that the sample finds plausible."""
        found = self.sample.plausible()
        if len(found.pairs) <= MOST_STICKS:
            return found
        evidences = self.sample.gaussians(tuple(found.pairs))[:, -1]
        best = _best_order(found, evidences)
        return found.most_probable(SAMPLE_TRUST * evidences, MOST_STICKS, best)

    def _best(self, found: KnownSticks) -> NDArray[np.int64]:
        """The best order that is made of some sticks."""
        return _best_order(found, np.array([self._packed[pair][-1] for pair in found.pairs]))


def sample_rows(n_categories: int) -> int:
    """On how many rows orders are searched; fewer the more evidences a search looks at.

    Up to 8 classes it fills a lattice, beyond it peels (about half the square of the number of
    classes) and walks (up to 8000 evidences).
    """
    if n_categories <= LATTICE_LIMIT:
        return SAMPLE_ROWS
    few = SAMPLE_ROWS * LATTICE_LIMIT // n_categories
    return min(SAMPLE_ROWS, max(few, ROWS_OF_A_CLASS * n_categories))


def n_searched(n_categories: int) -> int:
    """How many sticks a search looks at, roughly."""
    if n_categories <= LATTICE_LIMIT:
        return n_categories * (2 ** (n_categories - 1) - 1)
    return min(n_categories**2 // 2, PEELED_EVIDENCES) + WALKED


def _best_order(sticks: KnownSticks, evidences: NDArray[np.float64]) -> NDArray[np.int64]:
    """The most probable order: from the smallest sets on, which stick splits them best."""
    n_sets = len(sticks.sets)
    value, by = np.full(n_sets, -np.inf), np.full(n_sets, -1)
    for r in range(n_sets):
        members_of = int(sticks.sets[r])
        if members_of & (members_of - 1) == 0:
            value[r] = 0.0
        for k in range(sticks.starts[r], sticks.starts[r + 1]):
            total = evidences[k] + value[sticks.lower[k]]
            if total > value[r]:
                value[r], by[r] = total, k
    order, r = [], n_sets - 1
    while by[r] >= 0:
        order.append(int(sticks.categories[by[r]]))
        r = int(sticks.lower[by[r]])
    order.append(int(sticks.sets[r]).bit_length() - 1)
    return np.array(order, dtype=np.int64)


def _around(order: NDArray[np.int64]) -> list[Pair]:
    """The sticks of an order, and of those in which two neighbours trade places."""
    out = sticks_of(order)
    for a in range(len(order) - 1):
        c, d = int(order[a]), int(order[a + 1])
        behind = members(order[a + 2 :])
        out.append((d, behind | 1 << c))
        if behind:
            out.append((c, behind))
    return out


def _acceptance(log_weights: NDArray[np.float64]) -> float:
    """Mean acceptance of independence proposals, from the weights of some."""
    if not np.isfinite(log_weights).all():
        return 0.0
    share = np.exp(log_weights - log_weights.max())
    ratio = np.minimum(1.0, np.exp(np.minimum(0.0, log_weights[None] - log_weights[:, None])))
    others = (ratio.sum(axis=1) - 1.0) / (len(share) - 1)
    return float(share @ others / share.sum())
