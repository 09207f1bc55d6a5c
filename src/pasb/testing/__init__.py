"""Tests for binary models: pasb's own go through them, and so can yours.

>>> from pasb.binary import Logistic
>>> from pasb.testing import check_log_probabilities
>>> check_log_probabilities(Logistic())
'256 rows, |x| up to 1000'
"""

from __future__ import annotations

from time import perf_counter

from pasb.binary.binary_model import BinaryModel
from pasb.testing.checks import (
    check_edge_cases,
    check_interface,
    check_log_probabilities,
    check_prior,
    check_recovery,
    check_reproducibility,
)
from pasb.testing.findings import ConformityError, Report
from pasb.testing.joint_distribution import check_fixed_order, check_sampled_order

__all__ = [
    "ConformityError",
    "Report",
    "check_binary_model",
    "check_edge_cases",
    "check_fixed_order",
    "check_interface",
    "check_log_probabilities",
    "check_prior",
    "check_recovery",
    "check_reproducibility",
    "check_sampled_order",
]

# in order of cost: a mistake shows in the cheapest check that can see it
_EXACT = (check_interface, check_log_probabilities, check_reproducibility, check_edge_cases)
_STATISTICAL = (check_prior, check_recovery, check_fixed_order, check_sampled_order)


def check_binary_model(
    model: BinaryModel, *, seed: int = 0, level: float = 1e-6, thorough: bool = False
) -> Report:
    """Run every check of a binary model.

    At its heart are two joint-distribution tests: parameters drawn from the prior, with data
    drawn from the model, must have the same distribution after the model's update as before.
    A wrong factor anywhere in an update shows there.

    Parameters
    ----------
    model : BinaryModel
        An object, not a class.
    seed : int, default=0
        The same seed gives the same checks.
    level : float, default=1e-6
        The probability that a correct model fails, over all checks together.
    thorough : bool, default=False
        Take about five times as long, to see smaller errors.

    Returns
    -------
    Report
        What was done; ``print`` it.

    Raises
    ------
    ConformityError
        An AssertionError that names the check and says what was found.

    Examples
    --------
    >>> from pasb import Logistic
    >>> report = check_binary_model(Logistic(moves="gibbs"))
    >>> print(str(report).splitlines()[0])
    Logistic passed 8 checks
    """
    report = Report(type(model).__name__)
    for check in _EXACT + _STATISTICAL:
        started = perf_counter()
        share = level / len(_STATISTICAL)
        detail = check(model, seed=seed, level=share, thorough=thorough)
        report.add(check.__name__, detail, perf_counter() - started)
    return report
