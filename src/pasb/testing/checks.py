"""Checks of a binary model other than the joint-distribution tests.

Each takes a model, a seed and a level. It returns a line about what it did, or raises a
`ConformityError` that says what is wrong. The level matters to random checks only.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, ks_2samp

from pasb.binary.binary_model import BinaryModel, Keys, Parameters
from pasb.moves.move import State
from pasb.numerics.rows import BLOCK, Rows, blocked
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import ABSENT, FAILURE, SUCCESS, simulate_categories
from pasb.testing.findings import ConformityError

FARTHEST = 1e3  # size of the largest covariates; standardised ones stay far below


def check_interface(model: BinaryModel, *, seed: int = 0, **_) -> str:
    """Names and shapes of the parameters agree wherever they appear.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_interface(Logistic())
    'parameters coef, precision; kept coef'
    """
    model.check()
    rng = np.random.default_rng(seed)
    for n_columns in (1, 2, 5):
        prior = model.simulate(n_columns, rng)
        start = model.sampler(_small_rows(n_columns, rng)).start(Keys(seed, 0, 0))
        expected = {name: np.shape(values) for name, values in prior.items()}
        found = {name: values.shape[1:] for name, values in start.items()}
        if found != expected:
            raise ConformityError(
                "check_interface",
                model,
                f"starts with the parameters {found} but simulates {expected}",
            )
        kept = model.shapes(n_columns)
        if set(kept) != set(model.kept) or any(expected.get(k) != v for k, v in kept.items()):
            raise ConformityError(
                "check_interface", model, f"keeps {kept} but simulates {expected}"
            )
        for name, values in start.items():
            if values.dtype != np.float64 or not np.isfinite(values).all():
                raise ConformityError(
                    "check_interface", model, f"starts with {name!r} not finite, or not float64"
                )
    return f"parameters {', '.join(expected)}; kept {', '.join(kept)}"


def check_log_probabilities(
    model: BinaryModel, *, seed: int = 0, thorough: bool = False, **_
) -> str:
    """The logs are finite, belong together, and sum up to `log_sums`.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_log_probabilities(Logistic())
    '256 rows, |x| up to 1000'
    """
    name = "check_log_probabilities"
    rng = np.random.default_rng(seed)
    n_rows, n_columns, n_draws = 256, 3, 100 if thorough else 20
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, n_columns - 1))])
    X[:, 1] *= np.geomspace(1e-3, FARTHEST, n_rows)
    parameters = _stack([[model.simulate(n_columns, rng)] * 2 for _ in range(n_draws)])
    logs = model.log_probabilities(parameters, blocked(X))
    for log, what in zip(logs, ("success", "failure"), strict=True):
        if log.shape != (n_draws, 2, BLOCK):
            raise ConformityError(name, model, f"gives logs of the shape {log.shape}")
        if not np.isfinite(log).all():
            d, s, i = np.argwhere(~np.isfinite(log))[0]
            raise ConformityError(
                name,
                model,
                f"gives log-probabilities of {what} that are not finite, such as {log[d, s, i]} "
                f"for a row whose largest covariate is {np.abs(X[i]).max():.3g}",
            )
    total = np.logaddexp(*logs)
    if np.abs(total).max() > 1e-9:
        raise ConformityError(
            name,
            model,
            "has probabilities of success and failure that do not sum to one but to "
            f"{np.exp(total.flat[np.abs(total).argmax()]):.6g}",
        )
    few = model.log_probabilities(parameters, blocked(X[:3]))
    if not all(np.allclose(a[..., :3], b[..., :3], 1e-12) for a, b in zip(logs, few, strict=True)):
        raise ConformityError(name, model, "gives a row another result when it is alone")
    rows = Rows.of(X, rng.integers(2, size=n_rows), 2)
    first = {k: v[0] for k, v in _stack([[model.simulate(n_columns, rng)] * 2]).items()}
    sums = np.zeros((2, 2, 2))
    model.sampler(rows).log_sums(first, *sums)
    again = model.log_probabilities({k: v[None] for k, v in first.items()}, rows.blocks)
    for s in range(2):
        part = slice(rows.bounds[s], rows.bounds[s + 1])
        for found, log in zip(sums, again, strict=True):
            if not np.allclose(found[:, s], log[0, :, part].sum(axis=1), 1e-9):
                raise ConformityError(
                    name, model, "has log_sums that are not sums of log_probabilities"
                )
    return f"{n_rows} rows, |x| up to {FARTHEST:.0f}"


def check_reproducibility(model: BinaryModel, *, seed: int = 0, **_) -> str:
    """A chain is a function of its keys, and continues from a checkpoint as if never stopped.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_reproducibility(Logistic())
    'six sweeps, stopped and resumed after three'
    """
    name = "check_reproducibility"
    rng = np.random.default_rng(seed)
    problem = Problem(_small_rows(2, rng), model, augmented=True, n_swaps=5)
    whole = _chain(problem, seed, 0, 6)
    np.random.random()  # noqa: NPY002 - a model that draws from NumPy's global state shows here
    if not _same(whole, _chain(problem, seed, 0, 6)):
        raise ConformityError(name, model, "gives other draws when run again with the same keys")
    if not _same(whole, _chain(problem, seed, 0, 6, stop_at=3)):
        raise ConformityError(
            name, model, "gives other draws after a stop: its parameters are not its whole state"
        )
    if _same(whole, _chain(problem, seed, 1, 6)):
        raise ConformityError(name, model, "gives the same draws in two chains")
    return "six sweeps, stopped and resumed after three"


def check_edge_cases(model: BinaryModel, *, seed: int = 0, thorough: bool = False, **_) -> str:
    """Updates stay finite without rows, with one row, one label only, and separated labels.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_edge_cases(Logistic()).split(", ")[:3]
    ['no rows', 'all successes', 'all failures']
    """
    rng = np.random.default_rng(seed)
    n = 300 if thorough else 60
    x = np.linspace(-3, 3, 40)
    table = np.column_stack([np.ones(40), x])
    separated = Rows.of(table, (x > 0).astype(np.int64), 2)
    single = Rows.of(table[:1], np.zeros(1, dtype=np.int64), 2)
    cases = {
        "no rows": (separated, (ABSENT, ABSENT)),
        "all successes": (separated, (SUCCESS, SUCCESS)),
        "all failures": (separated, (FAILURE, FAILURE)),
        "separated labels": (separated, (SUCCESS, FAILURE)),
        "one row": (single, (SUCCESS, ABSENT)),
        "one huge row": (
            Rows.of(table[:1] * 1e3, np.zeros(1, dtype=np.int64), 2),
            (FAILURE, ABSENT),
        ),
    }
    for case, (rows, parts) in cases.items():
        sampler = model.sampler(rows)
        parameters = _stack([[model.simulate(2, rng), model.simulate(2, rng)]])
        parameters = {name: values[0] for name, values in parameters.items()}
        sampler.resume(parameters)
        sums = np.zeros((2, 2, 2))
        for sweep in range(n):
            keys = Keys(seed, 0, sweep)
            sampler.update(parameters, 0, 0, np.array(parts, dtype=np.int8), keys)
            sampler.log_sums(parameters, *sums)
            wrong = [k for k, v in parameters.items() if not np.isfinite(v).all()]
            if wrong or not np.isfinite(sums).all():
                raise ConformityError(
                    "check_edge_cases",
                    model,
                    f"with {case} reaches {wrong[0] if wrong else 'log_sums'} not finite",
                )
    return ", ".join(cases)


def check_prior(
    model: BinaryModel, *, seed: int = 0, level: float = 1e-6, thorough: bool = False
) -> str:
    """`simulate` and the sampler's `draw_prior` draw from the same distribution.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_prior(Logistic()).split(",")[0]
    '6000 draws each'
    """
    n = 30_000 if thorough else 6000
    rng = np.random.default_rng(seed)
    sampler = model.sampler(_small_rows(2, rng))
    parameters = sampler.start(Keys(seed, 0, 0))
    drawn, simulated = [], []
    for sweep in range(n):
        sampler.draw_prior(parameters, 1, 0, Keys(seed, 0, sweep + 1))
        drawn.append(_flat({k: v[1] for k, v in parameters.items()}))
        simulated.append(_flat(model.simulate(2, rng)))
    first, second = np.array(drawn), np.array(simulated)
    # products of neighbours show a dependence that the entries alone do not
    first = np.column_stack([first, first[:, 1:] * first[:, :-1]])
    second = np.column_stack([second, second[:, 1:] * second[:, :-1]])
    least = min(
        ks_2samp(a, b, method="asymp").pvalue for a, b in zip(first.T, second.T, strict=True)
    )
    if least < level / first.shape[1]:
        raise ConformityError(
            "check_prior",
            model,
            f"draws other parameters by draw_prior than by simulate (p = {least:.1e})",
        )
    return f"{n} draws each, smallest p = {least:.2g}"


def check_recovery(
    model: BinaryModel, *, seed: int = 0, level: float = 1e-6, thorough: bool = False
) -> str:
    """Probabilities that rows were simulated with are found again, and found precisely.

    Examples
    --------
    >>> from pasb import Logistic
    >>> check_recovery(Logistic()).split(",")[0]
    '5 data sets'
    """
    n_data_sets, n_rows, n_warmup, n_draws = 10 if thorough else 5, 300, 300, 300
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 2))])
    limit = 1.5 * chi2.isf(level / n_data_sets, 1)
    worst, variances, spread = 0.0, [], []
    for k in range(n_data_sets):
        true = _stack([[model.simulate(3, rng), model.simulate(3, rng)]])
        both = model.log_probabilities(true, blocked(X))
        success, failure = (log[0, :, :n_rows] for log in both)
        order = np.array([0, 1])
        y = simulate_categories(success, failure, order, rng=rng)
        truth = np.exp(success[0])
        spread.append(truth)
        sweeper = Sweeper(Problem(Rows.of(X, y, 2), model, fixed_order=order))
        state = sweeper.start(Keys(seed, k, 0))
        draws = []
        for sweep in range(1, n_warmup + n_draws + 1):
            sweeper.sweep(state, Keys(seed, k, sweep))
            if sweep > n_warmup:
                draws.append({name: v.copy() for name, v in state.parameters.items()})
        kept = {name: np.array([d[name] for d in draws]) for name in draws[0]}
        p = np.exp(model.log_probabilities(kept, blocked(X))[0][:, 0, :n_rows])
        variance = p.var(axis=0).mean()
        error = np.mean((p.mean(axis=0) - truth) ** 2)
        variances.append(variance)
        worst = max(worst, error / (variance + 1e-12))
        if error > limit * (variance + 1e-9):
            raise ConformityError(
                "check_recovery",
                model,
                f"finds probabilities with a mean squared error of {error:.2g}, where its "
                f"posterior variance is {variance:.2g}",
            )
    prior_variance = np.var(np.array(spread), axis=0).mean()
    if np.mean(variances) > 0.5 * prior_variance > 0.01:
        raise ConformityError(
            "check_recovery",
            model,
            f"has learned little from {n_rows} rows: the variance of the probabilities is "
            f"{np.mean(variances):.2g} in the posterior and {prior_variance:.2g} in the prior",
        )
    return f"{n_data_sets} data sets, squared error up to {worst:.1f} posterior variances"


def _small_rows(n_columns: int, rng: np.random.Generator) -> Rows:
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 4))])[:, :n_columns]
    return Rows.of(X, np.arange(12) % 3, 3)


def _chain(problem: Problem, seed: int, chain: int, n_sweeps: int, stop_at: int = -1) -> State:
    """A state after some sweeps; at `stop_at` only its parameters and order survive."""
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(seed, chain, 0))
    for sweep in range(1, n_sweeps + 1):
        if sweep == stop_at:
            copies = {name: values.copy() for name, values in state.parameters.items()}
            state = State(state.order.copy(), copies)
            sweeper = Sweeper(problem)
            sweeper.resume(state)
        sweeper.sweep(state, Keys(seed, chain, sweep))
    return state


def _same(a: State, b: State) -> bool:
    return bool((a.order == b.order).all()) and all(
        np.array_equal(values, b.parameters[name]) for name, values in a.parameters.items()
    )


def _stack(draws: list[list[Parameters]]) -> Parameters:
    """Dictionaries of draws and categories as arrays with these two axes in front."""
    return {
        name: np.array([[one[name] for one in draw] for draw in draws], dtype=np.float64)
        for name in draws[0][0]
    }


def _flat(parameters: Parameters) -> np.ndarray:
    return np.concatenate([np.ravel(values) for values in parameters.values()])
