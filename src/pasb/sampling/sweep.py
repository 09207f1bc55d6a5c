"""One sweep: a list of moves, each of which leaves the posterior invariant.

The lists of `moves_of` are what runs, in this order. The state of a chain is an order and the
binary model's parameters. Two schemes:

``exact``
    The reference category's parameters are no part of the model; they are drawn from a
    pseudo-prior. So the chain has the posterior of order and coefficients as its stationary
    distribution.
``paper``
    As printed: the reference category is fitted to its one-against-the-rest labels and takes part
    in the swaps without a term for that fit. Kept to reproduce the paper's tables; the orders it
    visits do not have the posterior distribution. Softplus sticks have their printed update.

With *augmented* sticks the labels of rows that stopped earlier are imputed (section 3.1 of the
paper), with *marginal* sticks those rows are left out. The posterior is the same, marginal sticks
mix better and cost less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pasb.binary.binary_model import BinarySampler, Keys
from pasb.binary.choice_logistic import ChoiceSampler
from pasb.binary.linear import LinearSampler
from pasb.binary.panel_logistic import PanelSampler
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.evidences.annealed import AnnealedEvidences
from pasb.evidences.approximations import Approximations
from pasb.evidences.evidences import Evidences
from pasb.evidences.own_designs import OwnDesigns
from pasb.moves.draw_reference import DrawReference
from pasb.moves.fit_reference import FitReference
from pasb.moves.gibbs import Gibbs
from pasb.moves.independence import Independence
from pasb.moves.mean_rate import MeanRate
from pasb.moves.mirror import Mirror
from pasb.moves.move import Move, State, Tally
from pasb.moves.neighbours import Neighbours
from pasb.moves.own_neighbours import OwnNeighbours
from pasb.moves.own_reference import OwnReference
from pasb.moves.pseudo_prior import PseudoPrior
from pasb.moves.refresh import Refresh
from pasb.moves.rescale import Rescale
from pasb.moves.shared_gibbs import SharedGibbs
from pasb.moves.shrinkage import Shrinkage
from pasb.moves.softplus_neighbours import SoftplusNeighbours
from pasb.moves.softplus_trajectory import SoftplusTrajectory
from pasb.moves.swap import Swap
from pasb.moves.tabulate import Tabulate
from pasb.moves.whitened import Whitened
from pasb.moves.whole_order import WholeOrder
from pasb.numerics.helpers import Helpers, TaskRunner
from pasb.orders.table import OrderTable
from pasb.sampling.problem import Problem

SHARED_FROM = 2**17  # numbers in the table times vectors of coefficients; a sweep of some ms
FULL_EVERY = 32  # sweeps, where most are whitened
COLUMNS_AT_ONCE = 32  # with more, full sweeps are as much less often
WHOLE_EVERY, SELDOM = 4, 4  # sweeps, of whole orders; and how much less often in the warm-up


class Sweeper:
    """One chain's machinery: `start` a state, `sweep` it again and again.

    Parameters
    ----------
    problem : Problem
    approximations : Approximations, optional
        Shared by the chains of a run; made here if not given.
    surrogate : Evidences, optional
        For the starting order of models without normal approximations.
    settling : int
        Sweeps at the beginning that use the paper's freer swaps, where the order starts from a
        random one.
    helpers : Helpers, optional
        Threads that work along; by default there are none.
    n_warmup : int
        Sweeps at the beginning in which moves adapt themselves.
    annealed : AnnealedEvidences, optional
        Those of softplus sticks, which then move between orders by paths through the prior.

    Attributes
    ----------
    moves, settling_moves : list of Move
        What a sweep does, and what one does while the chain settles.
    whitened, whole_order : Move or None
        What takes the place of `moves` in most sweeps of logistic and robit chains whose
        approximations are all known, and what follows it now and then.
    tally : Tally
        What the moves counted.
    """

    def __init__(
        self,
        problem: Problem,
        approximations: Approximations | None = None,
        surrogate: Evidences | None = None,
        settling: int = 0,
        helpers: Helpers | None = None,
        n_warmup: int = 0,
        annealed: AnnealedEvidences | None = None,
    ):
        self.problem, self.n_warmup, self.annealed = problem, n_warmup, annealed
        self.sampler: BinarySampler = problem.sampler()
        self.helpers = helpers or Helpers()
        size = problem.rows.blocks.size * self.sampler.n_vectors
        shares = self.sampler.concurrent and size >= SHARED_FROM
        self.run = TaskRunner(self.helpers, shares)
        success, failure = np.zeros((2, problem.rows.n_categories, problem.rows.n_groups))
        groups = problem.rows.groups
        self.order_table = OrderTable.of(success, failure, problem.direction, groups)
        if problem.scheme == "exact":
            self.approximations = approximations or problem.approximations()
        else:
            self.approximations = None
        self.proposes = self.approximations is not None and problem.model.uses_proposals
        # where the order starts from
        if surrogate is None and isinstance(self.sampler, ChoiceSampler):
            surrogate = problem.surrogate()
        self.evidences = self.approximations if self.proposes else annealed or surrogate
        if not problem.searches:
            self.evidences = None
        self.settling = settling if problem.infers and self.evidences is None else 0
        self.moves, self.settling_moves = self.moves_of()
        self.whitened, self.whole_order = self._compiled_moves()
        rows = problem.rows
        self.full_every = FULL_EVERY * max(1, rows.n_columns // COLUMNS_AT_ONCE)
        self.compiled: tuple[Move, ...] = () if self.whitened is None else (self.whitened,)
        every = {id(move): move for move in (*self.moves, *self.settling_moves)}
        compiled = [move for move in (self.whitened, self.whole_order) if move is not None]
        self.tally = Tally([*every.values(), *compiled])

    def moves_of(self) -> tuple[list[Move], list[Move]]:
        """The moves of a sweep in the order in which they run; and those while it settles."""
        problem, sampler, run = self.problem, self.sampler, self.run
        order_table = self.order_table
        if isinstance(sampler, ChoiceSampler):
            return self._choice_moves(sampler)
        gibbs = Gibbs(sampler, problem.roles, run)  # section 3.2: one regression a stick
        self.tabulate = tabulate = Tabulate(sampler, order_table, problem.direction, run)
        sticks: list[Move] = [gibbs]
        rates: list[Move] = []
        if isinstance(sampler, SoftplusSampler):
            if sampler.model.moves == "mixed" and problem.scheme == "exact":
                settings = sampler, problem.roles, self.n_warmup, run, self.annealed
                sticks = [SoftplusTrajectory(*settings), gibbs]
            if sampler.model.shares_rate:
                rates = [MeanRate()]
            if self.annealed is not None:
                sticks = [SoftplusNeighbours(sampler, self.annealed, run), *sticks]
                if sampler.model.shares_rate:
                    rates = [MeanRate(), Rescale(sampler, problem.roles)]
        shrinks = isinstance(sampler, LinearSampler) and sampler.shrinks
        if isinstance(sampler, LinearSampler) and shrinks:
            rates = [Shrinkage(sampler, problem.infers)]
        if not problem.infers:
            fixed: list[Move] = [*sticks, *rates, tabulate]
            if self.proposes and not shrinks:
                fixed.append(Refresh(*self._proposals(), run))
            return fixed, fixed
        swap = Swap(order_table, problem.n_swaps)
        printed: list[Move] = []
        if problem.scheme == "paper" or self.settling:
            printed = [*sticks, FitReference(sampler, problem.roles), *rates, tabulate, swap]
        if problem.scheme == "paper":
            return printed, printed
        if self.approximations is None:
            return [*sticks, *rates, DrawReference(sampler), tabulate, swap], printed
        propose, approximations = self._proposals()
        pseudo_prior = PseudoPrior(propose, approximations, order_table)
        if shrinks and self.evidences is approximations and approximations.knows_all:
            approximations.known(None)  # now: a chain that resumes does not start from them
        if shrinks or not self.proposes:  # plain Gibbs sampling
            return [gibbs, *rates, tabulate, pseudo_prior, swap], printed
        refresh = Refresh(propose, approximations, run)
        if problem.swaps_only:
            return [gibbs, tabulate, refresh, pseudo_prior, swap], printed
        # where not all sticks are known, every proposal may cost two new approximations
        neighbours = Neighbours(propose, approximations, 1)
        if approximations.knows_all:
            known = approximations.known(None)
            assert known is not None
            assert known.sticks is not None
            pairs = known.gaussians, known.sticks.keys
            n_proposals = problem.rows.n_categories - 1
            neighbours = Neighbours(propose, approximations, n_proposals, pairs)
        mirror: list[Move] = [Mirror()] if problem.model.symmetric else []
        return [gibbs, *mirror, tabulate, refresh, neighbours, pseudo_prior, swap], printed

    def _choice_moves(self, sampler: ChoiceSampler) -> tuple[list[Move], list[Move]]:
        """The same for sticks that see covariates of their own alternative."""
        problem, order_table = self.problem, self.order_table
        gibbs = SharedGibbs(sampler, problem.roles)
        self.tabulate = Tabulate(sampler, order_table, problem.direction, self.run)
        if not problem.infers:
            return [gibbs, self.tabulate], [gibbs, self.tabulate]
        if isinstance(sampler, PanelSampler):
            raise ValueError("intercepts of persons need a fixed order")
        swap = Swap(order_table, problem.n_swaps)
        fit_reference = FitReference(sampler, problem.roles)
        printed: list[Move] = [gibbs, fit_reference, self.tabulate, swap]
        if problem.scheme == "paper":
            return printed, printed
        if not isinstance(self.evidences, OwnDesigns):  # plain swaps alone
            return [gibbs, DrawReference(sampler), self.tabulate, swap], printed
        own = sampler, self.evidences, order_table, problem.direction
        return [gibbs, self.tabulate, OwnNeighbours(*own), OwnReference(*own), swap], printed

    def _compiled_moves(self) -> tuple[Whitened | None, WholeOrder | None]:
        """Moves that need the approximations of all sticks, where these can be known."""
        problem, approximations = self.problem, self.approximations
        if approximations is None or not self.proposes:
            return None, None
        if problem.infers and problem.swaps_only:
            return None, None
        assert isinstance(self.sampler, LinearSampler)
        if self.sampler.shrinks:  # approximations do not know the rates of a chain
            return None, None
        known = approximations.known(problem.fixed_order)
        if known is None:
            return None, None
        forward = problem.direction == "forward"
        whitened = Whitened(self.sampler, self.order_table, known, forward, problem.infers)
        return whitened, WholeOrder(whitened) if problem.infers else None

    def _proposals(self) -> tuple[Independence, Approximations]:
        assert isinstance(self.sampler, LinearSampler)
        assert self.approximations is not None
        forward = self.problem.direction == "forward"
        return Independence(self.sampler, self.order_table, forward), self.approximations

    def moves_at(self, sweep: int) -> Sequence[Move]:
        """The moves of a sweep, counted from 1.

        Of logistic and robit chains whose approximations are known, most sweeps are *whitened*,
        one compiled call, and one in `full_every` is what other chains do in every sweep: its
        Gibbs steps do not depend on how good the approximations are, and the first sweep, which
        starts anywhere, is one of them. One sweep in four also draws the whole order; in the
        warm-up, which only needs a plausible one, one in sixteen.
        """
        if self.settling and sweep <= self.settling:
            return self.settling_moves
        if self.whitened is None or sweep % self.full_every == 1:
            return self.moves
        whole_every = WHOLE_EVERY * (SELDOM if sweep <= self.n_warmup else 1)
        if self.whole_order is not None and sweep % whole_every == 2:
            return self.whitened, self.whole_order
        return self.compiled

    def start(self, keys: Keys) -> State:
        """A state to start from: an order that the evidences favour, random coefficients.

        Moves that know better ones continue from there.
        """
        state = State(self.problem.first_order(self.evidences, keys), self.sampler.start(keys))
        for move in self.moves:
            move.start(state)
        self.resume(state)
        return state

    def resume(self, state: State) -> None:
        """Rebuild what follows from a state that was read from a checkpoint."""
        self.sampler.resume(state.parameters)
        self.tabulate(state)
        state.log_likelihood = self.order_table.log_likelihood(state.order)
        if self.whitened is not None:
            self.whitened.forget()

    def sweep(self, state: State, keys: Keys) -> None:
        """Advance `state` by one sweep, in place."""
        moves = self.moves_at(keys.sweep)
        for move in moves:
            move(state, keys)
        if not move.evaluates:
            state.log_likelihood = self.order_table.log_likelihood(state.order)
            if self.whitened is not None:
                self.whitened.forget()
            self.sampler.watch(state.parameters, state.order[:-1])
