"""Fit several models at once: their chains as one batch on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from numpy.typing import ArrayLike

from pasb.classifiers.refitting import undone_by_errors
from pasb.classifiers.softplus_classifier import SoftplusClassifier
from pasb.classifiers.stacked import StackedSoftplusClassifier
from pasb.classifiers.stick_classifier import StickClassifier
from pasb.engines import engine_of
from pasb.numerics.helpers import cores
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.progress import Progress
from pasb.sampling.run import sample_together

Model = TypeVar("Model", bound=StickClassifier)


def fit_together(
    models: Sequence[Model], tables: Sequence[ArrayLike], labels: Sequence[ArrayLike]
) -> list[Model]:
    """Fit each model to its own table, at the same time where they run on a GPU.

    A GPU that runs one chain is mostly idle, so several folds, partitions or fixed orders take
    little longer than one. Softplus and stacked models with ``engine="cuda"``, the same
    settings and tables with as many classes share a batch, unless they have checkpoints,
    callbacks, `until` or `max_seconds`; all others are fitted one after another. Runs of a batch
    have their usual length and do not continue while R-hat is high; but for that, the draws are
    those of separate fits, to rounding.

    Parameters
    ----------
    models : sequence of classifiers
    tables : sequence of arrays or data frames
        The covariates of each model.
    labels : sequence of arrays
        The classes of each model's rows.

    Returns
    -------
    list of classifiers
        The models, fitted.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, fit_together
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> halves = [slice(0, None, 2), slice(1, None, 2)]
    >>> models = [StickLogisticClassifier(n_draws=200, random_state=k) for k in range(2)]
    >>> models = fit_together(models, [X[k] for k in halves], [y[k] for k in halves])
    >>> [model.score(X, y) > 0.9 for model in models]
    [True, True]
    """
    if not len(models) == len(tables) == len(labels):
        raise ValueError(
            f"models, tables and labels must have equal length; got {len(models)}, {len(tables)} "
            f"and {len(labels)}"
        )
    fits = list(zip(models, tables, labels, strict=True))
    with undone_by_errors(*(model for model in models if _shares(model))):
        _fit(fits)
    return list(models)


def _fit(fits: list[tuple]) -> None:
    batches: dict[tuple, list[tuple[StickClassifier, list[Problem], Schedule]]] = {}
    _fit_below([fit for fit in fits if _shares(fit[0])])
    for model, X, y in fits:
        if not _shares(model):
            model.fit(X, y)
            continue
        model.check_settings()
        problems, schedule = model._prepare(X, y)
        batches.setdefault(_kind(model, problems[0]), []).append((model, problems, schedule))
    for batch in batches.values():
        first = batch[0][0]
        runs = [(problems, schedule) for _, problems, schedule in batch]
        engine = engine_of("cuda", cores(first.n_jobs))
        with Progress(first.progress):
            draws = sample_together(runs, engine)
        for (model, _, _), own in zip(batch, draws, strict=True):
            model._take(own)


def _fit_below(fits: list[tuple]) -> None:
    """Fit the lower levels of stacked models, those of the same level together."""
    stacks: dict[int, list[tuple]] = {}
    for model, X, y in fits:
        if isinstance(model, StackedSoftplusClassifier):
            model.check_settings()
            stacks.setdefault(int(model.n_stacks), []).append((model, *model._begin(X, y)))
    for n_stacks, own in stacks.items():
        for number in range(1, n_stacks):
            below = [model._level_model(number) for model, _, _ in own]
            tables = [model._stacked(table) for model, table, _ in own]
            fit_together(below, tables, [labels for _, _, labels in own])
            for (model, _, _), level in zip(own, below, strict=True):
                model._take_level(level)


def _shares(model: StickClassifier) -> bool:
    """Whether a model can be part of a batch."""
    return (
        isinstance(model, SoftplusClassifier)
        and model.engine == "cuda"
        and model.checkpoint is None
        and not model.callbacks
        and model.until is None
        and model.max_seconds is None
    )


def _kind(model: StickClassifier, problem: Problem) -> tuple:
    """What models of one batch have in common."""
    own = {"random_state", "order", "precision_rate"}
    settings = [(k, v) for k, v in sorted(model.get_params().items()) if k not in own]
    rows = problem.rows
    order = problem.fixed_order is None, problem.swaps_only
    return (type(model), *map(repr, settings), rows.n_categories, rows.n_groups, *order)
