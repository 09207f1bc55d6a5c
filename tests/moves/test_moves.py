"""What every move promises: its docstring, its statistics, and what it leaves as it is."""

from __future__ import annotations

import inspect
import pkgutil
import re
import warnings
from importlib import import_module

import numpy as np
import pytest

import pasb.moves.move
from pasb import StickBreakingClassifier
from pasb.binary import Logistic, Softplus
from pasb.binary.binary_model import Keys
from pasb.binary.choice_logistic import ChoiceLogistic
from pasb.moves.draw_reference import DrawReference
from pasb.moves.fit_reference import FitReference
from pasb.moves.gibbs import Gibbs
from pasb.moves.mean_rate import MeanRate
from pasb.moves.move import Move, State, Tally
from pasb.moves.own_reference import OwnReference
from pasb.moves.pseudo_prior import PseudoPrior
from pasb.moves.refresh import Refresh
from pasb.moves.rescale import Rescale
from pasb.moves.shared_gibbs import SharedGibbs
from pasb.moves.shrinkage import Shrinkage
from pasb.moves.softplus_trajectory import SoftplusTrajectory
from pasb.moves.swap import Swap
from pasb.moves.tabulate import Tabulate
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import FULL_EVERY, Sweeper


def modules() -> list:
    found = pkgutil.iter_modules(pasb.moves.__path__)
    return [import_module(f"pasb.moves.{info.name}") for info in found]


def every_move() -> list[type[Move]]:
    return [
        kind
        for module in modules()
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, Move) and kind.__module__ == module.__name__
        if not inspect.isabstract(kind)
    ]


MOVES = every_move()
moves = pytest.mark.parametrize("kind", MOVES, ids=lambda kind: kind.__name__)

HORSESHOE = (("t", 4.0, 0.0, 2.0), *[("horseshoe", 1.0)] * 2)
# among them they run every move; what a classifier is given, and what a problem is
RUNS = {
    "inferred": ({}, {}),
    "printed": ({"scheme": "paper"}, {"scheme": "paper"}),
    "softplus": ({"binary": Softplus(n_experts=1, n_layers=1)},) * 2,
    "horseshoe": ({"binary": Logistic(priors=HORSESHOE)},) * 2,
    "choice": ({"binary": ChoiceLogistic(n_alternatives=3)},) * 2,
    "mixed": ({"binary": Softplus(n_experts=1, n_layers=1, moves="mixed", rate="shared")},) * 2,
}
KEEP_THE_ORDER = {
    SoftplusTrajectory,
    MeanRate,
    Rescale,
    Gibbs,
    SharedGibbs,
    Shrinkage,
    OwnReference,
    Tabulate,
    Refresh,
    PseudoPrior,
    DrawReference,
    FitReference,
}
KEEP_THE_PARAMETERS = {Swap, Tabulate}
ONLY_THE_REFERENCE = {PseudoPrior, DrawReference, FitReference, OwnReference}


def data():
    rng = np.random.default_rng(4)
    y = np.arange(45) % 3
    return rng.normal(size=(45, 2)) + np.eye(3)[y][:, :2], y


X, Y = data()


def sweepers():
    """One for each of the runs."""
    rows = Rows.of(np.column_stack([np.ones(len(X)), X]), Y, 3)
    for _, construction in RUNS.values():
        construction = dict(construction)
        model = construction.pop("binary", Logistic())
        problem = Problem(rows, model, **construction)
        yield Sweeper(problem, annealed=problem.annealed())


def moves_of(sweeper):
    compiled = [move for move in (sweeper.whitened, sweeper.whole_order) if move is not None]
    return [*sweeper.moves, *compiled]


def two_of_a_kind(kind):
    """The same move of two sweepers of one problem."""
    pair = [
        next(((own, move) for move in moves_of(own) if type(move) is kind), None)
        for _ in range(2)
        for own in sweepers()
    ]
    found = [own for own in pair if own is not None]
    return found[0], found[len(found) // 2]


def test_all_are_found():
    assert {"Gibbs", "Swap", "WholeOrder"} < {kind.__name__ for kind in MOVES}
    assert len(MOVES) >= 11


@moves
def test_the_docstring_says_what_it_does(kind):
    """What it changes, what it leaves invariant, when it applies, what it costs."""
    text = inspect.getmodule(kind).__doc__
    for word in (r"\bChanges\b", r"\binvariant\b", r"\b[Aa]pplies\b", r"\b[Cc]osts\b"):
        assert re.search(word, text), word
    assert kind.__doc__


@moves
def test_statistics_carry_the_name_of_the_move_and_are_in_the_docstring(kind):
    text = inspect.getmodule(kind).__doc__
    own = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
    statistics = kind.statistics
    if kind is Gibbs:
        statistics = tuple({name for model in (Logistic(), Softplus()) for name in counted(model)})
    assert ("Counts nothing." in " ".join(text.split())) == (statistics == ())
    assert set(kind.steps) <= {"stretch", *(module.__name__.split(".")[-1] for module in modules())}
    for name in statistics:
        assert f"`{name}`" in text, name
        begins = tuple(f"{step}_" for step in kind.steps or (own,))
        assert name.startswith(begins), name


def counted(model):
    return model.sampler(Rows.of(X, Y, 3)).statistics


def test_files_without_a_move_are_those_that_are_named():
    """A file holds one move, or is on the list in the docstring of `pasb.moves.move`."""
    text = pasb.moves.move.__doc__
    without = set()
    for module in modules():
        held = [kind.__name__ for kind in MOVES if kind.__module__ == module.__name__]
        assert len(held) <= 1, module.__name__
        if not held and module is not pasb.moves.move:
            without.add(module.__name__)
    assert without == set(re.findall(r"^- `([a-z_.]+)`", text, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def fitted():
    """A model of each run, and the sweepers of its chains."""
    out = []
    for settings, _ in RUNS.values():
        made = []

        class Remembered(Sweeper):
            def __init__(self, *args, made=made, **options):
                super().__init__(*args, **options)
                made.append(self)

        classifier = StickBreakingClassifier(
            n_chains=2, n_warmup=0, n_draws=3, n_jobs=1, random_state=1, progress=False, **settings
        )
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of short chains
            patch.setattr("pasb.engines.threads.Sweeper", Remembered)
            out.append((classifier.fit(X, Y), made))
    return out


@moves
def test_its_statistics_reach_the_posterior(kind, fitted):
    """Without a warm-up, all that was counted since the beginning is in the draws."""
    runs = [
        (model, own, move)
        for model, made in fitted
        for own in made
        for move in {id(m): m for sweep in range(1, 4) for m in own.moves_at(sweep)}.values()
        if type(move) is kind
    ]
    assert runs, f"{kind.__name__} runs nowhere"
    for model, own, move in runs:
        stats = model.posterior_["sample_stats"]
        assert len(move.counted) == len(move.statistics)
        assert move.counted.dtype == np.int64
        for name in move.statistics:
            assert isinstance(name, str)
            assert name.isidentifier()
            assert stats[name].dims == ("chain", "draw")
            chain = next(made for m, made in fitted if m is model).index(own)
            assert stats[name][chain].sum() == own.tally.of(name)
        assert (move.counted >= 0).all()
        proposed = [k for k, name in enumerate(move.statistics) if name.endswith("_proposed")]
        accepted = [k for k, name in enumerate(move.statistics) if name.endswith("_accepted")]
        for p, a in zip(proposed, accepted, strict=False):
            assert move.counted[a] <= move.counted[p]


@moves
def test_it_is_a_function_of_state_and_keys(kind):
    (first, one), (second, other) = two_of_a_kind(kind)
    state = first.start(Keys(3, 0, 0))
    again = State(state.order.copy(), {k: v.copy() for k, v in state.parameters.items()})
    second.resume(again)
    for sweep in range(2, 12):
        before = State(state.order.copy(), {k: v.copy() for k, v in state.parameters.items()})
        one(state, Keys(3, 0, sweep))
        other(again, Keys(3, 0, sweep))
        assert (state.order == again.order).all()
        assert sorted(state.order) == [0, 1, 2]
        for name, values in state.parameters.items():
            np.testing.assert_array_equal(values, again.parameters[name], err_msg=name)
            assert np.isfinite(values).all()
        assert (one.counted == other.counted).all()
        check_what_stays(kind, before, state)


def check_what_stays(kind, before, after):
    if kind in KEEP_THE_ORDER:
        assert (after.order == before.order).all()
    for name, values in after.parameters.items():
        if kind in KEEP_THE_PARAMETERS:
            np.testing.assert_array_equal(values, before.parameters[name])
        elif kind in ONLY_THE_REFERENCE:
            sticks = before.order[:-1]
            np.testing.assert_array_equal(values[sticks], before.parameters[name][sticks])


class Counting(Move):
    """Counts its calls, and twice as many."""

    statistics = ("called", "twice")

    def __call__(self, state, keys):
        self.counted += 1, 2


def test_moves_count_apart_and_add_up_under_a_name():
    one, other, silent = Counting(), Counting(), Tabulate.__new__(Tabulate)
    tally = Tally([one, silent, other])
    for move in (one, other, other):
        move(None, None)
    assert tally.names == ("called", "twice") * 2
    assert tally.total.tolist() == [1, 2, 2, 4]
    assert (tally.of("called"), tally.of("twice"), tally.of("never")) == (3, 6, 0)
    assert (tally.before == 0).all()


def test_full_sweeps_come_first_and_again():
    """A chain starts with a full sweep, for it may start anywhere."""
    own = next(sweepers())
    assert own.moves_at(1) == own.moves == own.moves_at(FULL_EVERY + 1)
    assert own.moves_at(3) == (own.whitened,)
