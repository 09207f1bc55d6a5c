"""Models side by side by leave-one-out predictions, and the weights to average them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from pasb.covariates.choice_data import ChoiceData
from pasb.errors import warn_user
from pasb.posterior.frames import native_frame
from pasb.posterior.loo import Loo, remedy
from pasb.posterior.pipelines import unpiped

ENOUGH = 1e-9  # by how much the mean log density may be below its maximum
MOST_STEPS = 20_000


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    X: Any = None,
    y: Any = None,
    *,
    refit: bool | int = False,
    availability: Any = None,
) -> Any:
    """Compare models by how well they predict rows that they have not seen.

    Parameters
    ----------
    models : dict or list of fitted classifiers, or of results of their `loo`
        Fitted to the same rows. A pipeline counts as the classifier at its end; what its steps
        before learned of a row is not taken back.
    X, y : array or data frame, array
        The rows they were fitted to, if `models` are classifiers. `ChoiceData` needs no `y`, nor
        do models of formulas, which find it in the table.
    refit : bool or int, default=False
        Fit each model again without each row whose weights cannot be trusted, as in `loo`: True
        allows 20 fits of a model, a number so many.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes these rows could choose, as in `fit`, for all models.

    Returns
    -------
    pandas or polars DataFrame
        The best first. ``elpd`` is the expected log predictive density of all rows (larger is
        better), ``se`` its standard error; ``difference`` is to the best, ``difference_se`` the
        standard error of that, row by row; ``weight`` is the stacking weight, with which
        averaged predictions are best; ``p_loo`` the effective number of parameters; ``bad_k`` how
        many rows have importance weights that cannot be trusted, and ``reliable`` whether none
        has. A warning names the models that are not: their ``elpd`` is mostly too large, and with
        it their place in the table and their weight.

    Examples
    --------
    >>> import pasb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> short = {"n_warmup": 200, "n_draws": 250, "random_state": 1}
    >>> models = {
    ...     "logistic": pasb.StickLogisticClassifier(**short).fit(X, y),
    ...     "robit": pasb.StickRobitClassifier(**short).fit(X, y),
    ... }
    >>> table = pasb.compare(models, X, y)  # warns of rows that have bad weights
    >>> list(table.columns)
    ['model', 'elpd', 'se', 'difference', 'difference_se', 'weight', 'p_loo', 'bad_k', 'reliable']
    """
    named = named_models(models)
    results = {
        name: _loo_of(name, model, X, y, refit, availability) for name, model in named.items()
    }
    lengths = {name: len(loo.elpd_of_row) for name, loo in results.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"models must be compared on the same rows; they have {lengths}")
    rows = np.stack([loo.elpd_of_row for loo in results.values()], axis=1)
    counts = next(iter(results.values())).weights
    weights = stacking_weights(rows, counts)
    names = list(results)
    ranking = sorted(range(len(names)), key=lambda m: -results[names[m]].elpd)
    each = counts[:, None] * (rows - rows[:, [ranking[0]]])
    found = [results[names[m]] for m in ranking]
    _warn_of_bad({name: loo for name, loo in results.items() if len(loo.bad)}, len(rows))
    return native_frame(
        {
            "model": [names[m] for m in ranking],
            "elpd": [loo.elpd for loo in found],
            "se": [loo.se for loo in found],
            "difference": [float(each[:, m].sum()) for m in ranking],
            "difference_se": [float(np.sqrt(len(each) * np.var(each[:, m]))) for m in ranking],
            "weight": [float(weights[m]) for m in ranking],
            "p_loo": [loo.p_loo for loo in found],
            "bad_k": [len(loo.bad) for loo in found],
            "reliable": [len(loo.bad) == 0 for loo in found],
        },
        found[0].library,
    )


def stacking_weights(
    log_densities: NDArray[np.float64], counts: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Weights with which a mixture of predictive distributions is best (Yao et al. 2018).

    They maximise the mean over rows of ``log(sum_m w_m p_m)``, which is concave.

    Parameters
    ----------
    log_densities : array of shape (n_rows, n_models)
        Log-probability of what was observed, under each model fitted without it.
    counts : array of shape (n_rows,), optional
        How much a row counts.

    Returns
    -------
    array of shape (n_models,)
        Not negative; they add up to 1.
    """
    n_rows, n_models = log_densities.shape
    share = np.ones(n_rows) if counts is None else np.asarray(counts, dtype=np.float64)
    share = share / share.sum()
    density = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))  # at most 1
    if n_models == 1:
        return np.ones(1)

    def gradient(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return (share / (density @ weights)) @ density

    def negative(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        mixture = np.maximum(density @ weights, 1e-300)
        return float(-share @ np.log(mixture)), -((share / mixture) @ density)

    weights = np.full(n_models, 1 / n_models)
    for _ in range(20):  # each step of EM brings it nearer
        weights = weights * gradient(weights)
    answer = minimize(
        negative,
        weights,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * n_models,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    found = np.clip(answer.x, 0, None)
    if found.sum() > 0 and negative(found / found.sum())[0] < negative(weights)[0]:
        weights = np.maximum(found / found.sum(), 1e-12)
        weights /= weights.sum()
    for _ in range(MOST_STEPS):
        slope = gradient(weights)
        if slope.max() - 1 < ENOUGH:  # the gap to the maximum is at most this
            break
        weights = weights * slope
    weights = np.where(weights < 1e-7, 0.0, weights)
    return weights / weights.sum()


def named_models(models: Any) -> dict[str, Any]:
    """Models by name: a dictionary as it is, a list by the names of their classes."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        each = list(models)
        names = [type(unpiped(model)[0]).__name__ for model in each]
        twice = len(set(names)) < len(names)
        named = {
            f"{name} {k + 1}" if twice else name: model
            for k, (name, model) in enumerate(zip(names, each, strict=True))
        }
    if not named:
        raise ValueError("models is empty")
    return named


def _loo_of(name: str, model: Any, X: Any, y: Any, refit: bool | int, availability: Any) -> Loo:
    if isinstance(model, Loo):
        if availability is not None:
            raise ValueError(
                f"availability needs classifiers; {name!r} is a result of loo(..., availability=)"
            )
        if refit:
            raise ValueError(f"refit needs classifiers; {name!r} is a result of loo(..., refit=)")
        return model
    last, _ = unpiped(model)
    if not hasattr(last, "loo"):
        raise TypeError(
            f"{name!r} must be a fitted classifier of pasb, a pipeline that ends in one, or a "
            "result of its loo()"
        )
    if X is None or (y is None and not isinstance(X, ChoiceData) and not hasattr(last, "formula")):
        raise ValueError("X and y are needed: the rows that the models were fitted to")
    last, table = unpiped(model, X)
    try:
        return last.loo(table, y, refit=refit, warn=False, availability=availability)
    except ValueError as error:
        error.add_note(f"This is about {name!r}.")
        raise


def _warn_of_bad(unreliable: dict[str, Loo], n_rows: int) -> None:
    """Say of which models the table is not to be believed, and what to do."""
    if not unreliable:
        return
    each = ", ".join(f"{len(loo.bad)} of {name!r}" for name, loo in unreliable.items())
    most = max(len(loo.bad) for loo in unreliable.values())
    warn_user(
        f"compare: of {n_rows} rows, {each} have a Pareto k that is too large: elpd, rank and "
        f"weight of these models are not to be taken at face value. {remedy(most)}"
    )
