"""Probabilities of rows that are elsewhere: a Dask array that is computed chunk by chunk.

The model travels to the workers once; each chunk of rows is predicted where it is, and what comes
back has one chunk for each of them. Errors of availability count rows within their chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.dask_source import available_beside, known_lengths
from pasb.covariates.parquet_source import ParquetPiece, ParquetSource
from pasb.covariates.part_availability import (
    Alternatives,
    by_class,
    checked_mapping,
    columns_of_classes,
    what_is_wrong,
)
from pasb.covariates.rows_elsewhere import is_dask
from pasb.covariates.table_sources import flags_beside


def lazy_proba(model: Any, X: Any, n_draws: int | None, availability: Any = None) -> Any:
    """`predict_proba` of a collection of Dask, or of Parquet files, as a Dask array."""
    try:
        import dask
        import dask.array as da
    except ImportError as error:
        raise ImportError(
            "predictions of files need Dask: pip install 'pasb[dask]'; `pasb predict` does without"
        ) from error
    n_classes = len(model.classes_)
    sent = dask.delayed(_to_send(model))
    if not is_dask(X):
        names = getattr(model, "feature_names_in_", None)
        chosen = None if names is None else list(names)
        source = ParquetSource(X, None, names=chosen, availability=availability)
        work, alternatives = dask.delayed(_of_piece), source.alternatives
        chunks: list[tuple[Any, float]] = [
            (work(sent, source.piece(k), n_draws, alternatives), length)
            for k, length in enumerate(source.lengths())
        ]
    else:
        has_names = hasattr(X, "columns")
        if has_names:
            parts, lengths = X.to_delayed(), [np.nan] * X.npartitions
            if isinstance(availability, Mapping):
                checked_mapping(availability, list(X.columns), "the Dask data frame")
        else:
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            parts, lengths = X.to_delayed()[:, 0], X.chunks[0]
        known = lengths if known_lengths(lengths) else None
        alternatives, said = available_beside(availability, len(parts), has_names, known)
        work = dask.delayed(_of_rows)
        chunks = [
            (work(sent, part, n_draws, own, alternatives), n)
            for part, n, own in zip(parts, lengths, said, strict=True)
        ]
    arrays = [da.from_delayed(one, (n, n_classes), dtype=np.float64) for one, n in chunks]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def lazy_labels(proba: Any, classes: NDArray) -> Any:
    """The class with the largest probability, chunk by chunk."""
    return proba.map_blocks(_labels, classes, drop_axis=1, dtype=classes.dtype)


def _labels(proba: NDArray[np.float64], classes: NDArray) -> NDArray:
    return classes[np.argmax(proba, axis=1)]


def _to_send(model: Any) -> Any:
    """What a worker needs of a model: one thread for each task, and nothing that is cached."""
    sent = copy(model)
    sent.n_jobs = 1
    sent.draws_ = replace(model.draws_)
    for name in ("callbacks", "checkpoint"):
        setattr(sent, name, None)
    return sent


def _of_rows(
    model: Any,
    rows: Any,
    n_draws: int | None,
    said: Any = None,
    alternatives: Alternatives = None,
) -> NDArray[np.float64]:
    """Probabilities of some rows; what is `said` of availability may be columns of theirs."""
    if not len(rows):
        return np.empty((0, len(model.classes_)))
    available = _available(flags_beside(rows, said), alternatives, model.classes_)
    if isinstance(said, list) and not hasattr(model, "feature_names_in_"):
        rows = rows.drop(columns=said)
    return _predicted(model, rows, n_draws, available)


def _predicted(model: Any, rows: Any, n_draws: int | None, available: Any) -> NDArray[np.float64]:
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(rows, "columns"):
        missing = [name for name in names if name not in rows.columns]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}, which the model was fitted with")
        rows = rows[list(names)]
    return model.predict_proba(rows, n_draws, available)


def _of_piece(
    model: Any, piece: ParquetPiece, n_draws: int | None, alternatives: Alternatives = None
) -> NDArray[np.float64]:
    import pandas as pd

    raw = piece.load()
    rows = pd.DataFrame(raw.X, columns=list(piece.names))
    available = _available(raw.flags, alternatives, model.classes_)
    return _predicted(model, rows, n_draws, available)


def _available(
    flags: NDArray[np.uint8] | None, alternatives: Alternatives, classes: NDArray
) -> NDArray[np.bool_] | None:
    """A table of rows and classes."""
    if flags is None:
        return None
    wrong = what_is_wrong(flags)
    if wrong:
        raise ValueError(wrong[0])
    columns = columns_of_classes(alternatives, flags.shape[1], classes)
    return by_class(flags == 1, columns)
