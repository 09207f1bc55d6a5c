"""A model from a file, taken apart: the encoder of its table, and the classifier."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

import pasb
from pasb.cli import printing
from pasb.cli.failures import UsageError
from pasb.covariates.table_encoder import TableEncoder
from pasb.errors import ConvergenceWarning


class ModelParts(NamedTuple):
    """What a model file holds.

    Attributes
    ----------
    encoder : TableEncoder or None
        None for a model of plain numbers.
    classifier : classifier
    """

    encoder: TableEncoder | None
    classifier: Any

    def note_of_stop(self) -> str:
        """What to say before its draws are used; empty unless it was stopped in its warm-up."""
        stopped = self.classifier.fitted_.draws.ended == "warm-up"
        return printing.as_options(self.classifier.convergence_in_words()) if stopped else ""


def load_parts(path: Path) -> ModelParts:
    """Read a model; an error says what to do if there is none.

    Commands say themselves how good its draws are, where `pasb.load` warns.
    """
    if not path.exists():
        raise UsageError(f"{path}: no such file; write a model with pasb fit ... --out {path}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the file that pasb fit wrote")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = pasb.load(path)
    return ModelParts(*model) if isinstance(model, Pipeline) else ModelParts(None, model)
