"""Errors and warnings that users of pasb see."""

from __future__ import annotations


class PasbError(Exception):
    """The root of the errors that are pasb's own."""


class FileFormatError(PasbError, ValueError):
    """A file that is damaged, foreign, or written by an unknown version."""


class NewerFormatError(FileFormatError):
    """A sound file of a format that only a later pasb can read."""


class CheckpointError(PasbError, RuntimeError):
    """A checkpoint folder that cannot be used for this run."""


class EngineError(PasbError, RuntimeError):
    """A machine that cannot run what was asked of it."""


class DivergenceError(PasbError, ArithmeticError):
    """Parameters that ran away until numbers were not finite."""


class ConvergenceWarning(UserWarning):
    """The draws are too few, or the chains disagree."""
