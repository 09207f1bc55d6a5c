"""Errors and warnings that users of pasb see."""

from __future__ import annotations

import inspect
import os
import warnings
from typing import TYPE_CHECKING

__all__ = [
    "CheckpointError",
    "ConvergenceWarning",
    "DivergenceError",
    "EngineError",
    "FileFormatError",
    "NewerFormatError",
    "PasbError",
    "TimeBudgetError",
]

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning as _OfScikitLearn

    class ConvergenceWarning(_OfScikitLearn):
        """The draws are too few, or the chains disagree."""


class PasbError(Exception):
    """The root of the errors that are pasb's own.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> import pasb
    >>> with NamedTemporaryFile(suffix=".pasb") as file:
    ...     try:
    ...         pasb.load(file.name)
    ...     except pasb.errors.PasbError as error:
    ...         print(type(error).__name__)
    FileFormatError
    """


class FileFormatError(PasbError, ValueError):
    """A file that is damaged, foreign, or written by an unknown version."""


class NewerFormatError(FileFormatError):
    """A sound file of a format that only a later pasb can read."""


class CheckpointError(PasbError, RuntimeError):
    """A checkpoint folder that cannot be used for this run."""


class EngineError(PasbError, RuntimeError):
    """A machine that cannot run what was asked of it."""


class TimeBudgetError(PasbError, RuntimeError):
    """Time that was spent before a run had draws enough for a model."""


class DivergenceError(PasbError, ArithmeticError):
    """Parameters that diverged until numbers were not finite."""


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point at the line that called pasb, however deep within it the reason is found."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and (
        frame.f_code.co_filename.startswith(_PACKAGE)
        or frame.f_globals.get("__name__") == "sklearn.base"  # goes around every fit
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


_PACKAGE = os.path.join(os.path.dirname(__file__), "")
_ABOUT_CONVERGENCE = """The draws are too few, or the chains disagree.

    Examples
    --------
    >>> import warnings
    >>> import pasb
    >>> model = pasb.StickLogisticClassifier(n_chains=2, n_warmup=5, n_draws=5, random_state=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", pasb.ConvergenceWarning)
    ...     model = model.fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"])
    >>> model.converged_
    False
    """
__test__ = {"ConvergenceWarning": _ABOUT_CONVERGENCE}  # a class that is made when it is asked for


def __getattr__(name: str):
    # a subclass of scikit-learn's warning, which is not imported before somebody asks for it
    if name != "ConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import ConvergenceWarning as of_scikit_learn

    body = {"__doc__": _ABOUT_CONVERGENCE, "__module__": __name__}
    return globals().setdefault(name, type(name, (of_scikit_learn,), body))
