"""What the checks of a binary model found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class ConformityError(AssertionError):
    """A binary model that fails a check.

    Attributes
    ----------
    check : str
        The name of the function that failed; it can be called on its own.

    Examples
    --------
    >>> from pasb import Logistic
    >>> from pasb.testing import check_prior
    >>> class Wide(Logistic):
    ...     def simulate(self, n_columns, rng):
    ...         drawn = super().simulate(n_columns, rng)
    ...         return {**drawn, "coef": 2 * drawn["coef"]}
    >>> try:
    ...     check_prior(Wide())
    ... except ConformityError as error:
    ...     print(error.check)
    check_prior
    """

    def __init__(self, check: str, model: object, finding: str):
        self.check = check
        super().__init__(f"{check}: {type(model).__name__} {finding}")


class Line(NamedTuple):
    """One check that passed."""

    check: str
    detail: str
    seconds: float


@dataclass
class Report:
    """The checks that a binary model passed.

    Examples
    --------
    >>> report = Report("Probit")
    >>> report.add("check_prior", "6000 draws each", 0.25)
    >>> print(report)
    Probit passed 1 checks
    check_prior     0.2 s  6000 draws each
    """

    model: str
    lines: list[Line] = field(default_factory=list)

    def add(self, check: str, detail: str, seconds: float) -> None:
        """Note a check that passed."""
        self.lines.append(Line(check, detail, seconds))

    @property
    def seconds(self) -> float:
        """Time that all checks took."""
        return sum(line.seconds for line in self.lines)

    def __str__(self) -> str:
        width = max((len(line.check) for line in self.lines), default=0)
        rows = [f"{name:{width}}  {time:6.1f} s  {detail}" for name, detail, time in self.lines]
        return "\n".join([f"{self.model} passed {len(rows)} checks", *rows])
