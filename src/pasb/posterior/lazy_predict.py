"""Probabilities of rows that are elsewhere: a Dask array that is computed chunk by chunk.

The model travels to the workers once; each chunk of rows is predicted where it is, and what comes
back has one chunk for each of them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.parquet_source import ParquetPiece, ParquetSource
from pasb.covariates.rows_elsewhere import is_dask


def lazy_proba(model: Any, X: Any, n_draws: int | None) -> Any:
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
        source = ParquetSource(X, None, names=None if names is None else list(names))
        work = dask.delayed(_of_piece)
        chunks: list[tuple[Any, float]] = [
            (work(sent, source.piece(k), n_draws), length)
            for k, length in enumerate(source.lengths())
        ]
    else:
        work = dask.delayed(_of_rows)
        if hasattr(X, "columns"):
            chunks = [(work(sent, part, n_draws), np.nan) for part in X.to_delayed()]
        else:
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            parts = X.to_delayed()[:, 0]
            chunks = [
                (work(sent, part, n_draws), n) for part, n in zip(parts, X.chunks[0], strict=True)
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


def _of_rows(model: Any, rows: Any, n_draws: int | None) -> NDArray[np.float64]:
    if not len(rows):
        return np.empty((0, len(model.classes_)))
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(rows, "columns"):
        missing = [name for name in names if name not in rows.columns]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}, which the model was fitted with")
        rows = rows[list(names)]
    return model.predict_proba(rows, n_draws)


def _of_piece(model: Any, piece: ParquetPiece, n_draws: int | None) -> NDArray[np.float64]:
    import pandas as pd

    return _of_rows(model, pd.DataFrame(piece.load().X, columns=list(piece.names)), n_draws)
