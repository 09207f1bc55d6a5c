"""Lines that fit a model and make its report again, and what they cannot bring back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pasb.report.python_text import PythonText

CUT_SHORT = ("time", "interrupted", "warm-up")


class MadeAgain(NamedTuple):
    """How a report is made again.

    Attributes
    ----------
    lines : str
        A command, or Python.
    notes : list of str
        What is different when they run.
    """

    lines: str
    notes: list[str]

    @classmethod
    def of(
        cls, model: Any, classifier: Any, command: str | None, rows: list[str], options: dict
    ) -> MadeAgain:
        """From a fitted model.

        Parameters
        ----------
        model : classifier or pipeline
        classifier : classifier
            At its end.
        command : str or None
            What a user typed; None for Python.
        rows : list of str
            Names of the positional arguments of the report.
        options : dict
            Its other arguments, as Python text.
        """
        notes = []
        if classifier.fitted_.draws.ended in CUT_SHORT:
            notes.append("The run was stopped before its end; another run ends elsewhere.")
        if command is not None:
            return cls(command, notes)
        if hasattr(classifier, "compactness_"):
            notes.append("The model was made smaller after its fit, by compact().")
        seed = _seed(classifier)
        if seed is None:
            notes.append("The seed of the fit is not known, so other draws are made.")
        of_formula = hasattr(classifier, "model_")
        seeded = classifier.model if of_formula else classifier  # it has the settings
        text = PythonText({id(seeded): {"random_state": seed}})
        made = text.of(model)
        if text.unknown:
            named = ", ".join(dict.fromkeys(text.unknown))
            notes.append(f"Write your own values of {named} where there are dots.")
        arguments = ", ".join([*rows, *(f"{name}={value}" for name, value in options.items())])
        if hasattr(model, "report"):
            report = f"model.report({arguments})"
        else:
            report = f"pasb.ModelReport({', '.join(filter(None, ('model', arguments)))})"
        lines = [
            *(f"import {module}" for module in sorted({"pasb", *text.modules})),
            "",
            f"model = {made}",
            f"model.fit({_training(classifier)})",
            f"{report}.write_html('report.html')",
        ]
        return cls("\n".join(lines), notes)


def _training(classifier: Any) -> str:
    """What a fit was given."""
    if hasattr(classifier, "table_of"):  # choices, with what was chosen and what was available
        return "X_train"
    some = classifier.fitted_.watched.available is not None
    return "X_train, y_train" + (", availability=availability_train" if some else "")


def _seed(classifier: Any) -> int | None:
    """The seed of a fit; None where it is not known, as after a fit by a generator and a file."""
    inner = getattr(classifier, "model_", classifier)  # of a formula
    seed = classifier.fitted_.seed
    given = getattr(inner, "random_state", None) if seed is None else seed
    return int(given) if isinstance(given, int | np.integer) else None
