"""Persons who choose several times, as a classifier of choices sees them.

The number of the person is one more column of the table, the last one; see
`pasb.binary.panel_logistic`. Persons whom the fit did not know have negative numbers, which
follow from their labels.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.choice_data import ChoiceData
from pasb.numerics.rows import Rows
from pasb.posterior.diagnostics import rhat_and_ess
from pasb.posterior.fitted import Fitted
from pasb.posterior.frames import native_frame
from pasb.posterior.tails import tails_of

PERSON = "(person)"  # the column


class Panels:
    """What a classifier of choices does with persons."""

    persons_: NDArray | None
    person_scale: Any
    order: Any
    classes_: NDArray
    fitted_: Fitted
    _frame_library: str

    @property
    def _has_persons(self) -> bool:
        return getattr(self, "persons_", None) is not None

    def _person_settings(self) -> dict[str, Any]:
        assert self.persons_ is not None
        return {"n_persons": len(self.persons_), "person_scale": self.person_scale}

    def _learn_persons(self, data: ChoiceData) -> None:
        """Take over the persons of a fit, if there are any; complain where they cannot be used."""
        self.persons_ = None if data.person is None else np.unique(data.person)
        if self.persons_ is None:
            return
        if len(self.persons_) < 2:
            raise ValueError(
                f"all choices are those of person {self.persons_[0]}: how persons differ needs "
                "two at least; leave person= out"
            )
        if isinstance(self.order, str):
            raise ValueError(
                f"order={self.order!r} is not possible where choices have persons: fix it, for "
                "instance by StickChoiceClassifier().fit(data.without_persons()) and then "
                "order=list(model.order_)"
            )

    def table_of(self, data: ChoiceData) -> Any:
        """The columns of choices, those of persons last."""
        table = data.table()
        if not self._has_persons:
            return table
        assert self.persons_ is not None
        if data.person is None:
            raise ValueError(
                "the model knows persons, the choices do not: give person= when ChoiceData is "
                "made; labels that the fit did not have are new persons"
            )
        labels, which = np.unique(data.person, return_inverse=True)
        place = np.searchsorted(self.persons_, labels).clip(max=len(self.persons_) - 1)
        known = self.persons_[place] == labels
        numbers = np.array([_unknown(str(label)) for label in labels], dtype=np.float64)
        numbers[known] = place[known]
        return table.assign(**{PERSON: numbers[which]})

    def _fit_prior(self, rows: Rows) -> None:
        seen = np.ones(rows.n_columns, dtype=np.bool_)
        seen[-1] = not self._has_persons  # a number that says who it is has no scale
        super()._fit_prior(rows if seen.all() else rows.of_columns(seen))  # type: ignore[misc]

    def _learned(self) -> dict[str, NDArray]:
        learned = super()._learned()  # type: ignore[misc]
        if self._has_persons:
            assert self.persons_ is not None
            text = json.dumps(self.persons_.tolist()).encode()
            learned["persons"] = np.frombuffer(text, dtype=np.uint8)
        return learned

    def _relearn_persons(self, arrays: dict[str, NDArray]) -> None:
        self.persons_ = None
        if "persons" in arrays:
            labels = json.loads(arrays["persons"].tobytes())
            if not labels or not all(isinstance(label, str) for label in labels):
                raise ValueError("the persons are no labels")
            if labels != sorted(set(labels)):
                raise ValueError("the persons are not sorted")
            self.persons_ = np.array(labels, dtype=np.str_)

    def _refuse_persons(self, what: str) -> None:
        if self._has_persons:
            raise ValueError(f"{what} is not available for models with persons")

    def person_deviations(self, interval: float = 0.9) -> Any:
        """How much persons differ: the standard deviation of their intercepts.

        One for each alternative but the last of the order, on the scale of the linear predictor.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the credible interval.

        Returns
        -------
        pandas DataFrame
            Columns ``alternative, mean, sd, lower, upper, rhat, ess``.
        """
        sticks, draws = self._of_sticks("deviation")
        lower, upper = np.quantile(draws, tails_of(interval), axis=(0, 1))
        rhat, ess = rhat_and_ess(draws)
        columns = {
            "alternative": self.classes_[sticks].tolist(),
            "mean": draws.mean(axis=(0, 1)),
            "sd": draws.std(axis=(0, 1)),
            "lower": lower,
            "upper": upper,
            "rhat": rhat,
            "ess": ess,
        }
        return native_frame(columns, self._frame_library)

    def person_intercepts(self, interval: float = 0.9) -> Any:
        """The intercept of every person of the fit at every alternative but the last.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the credible interval.

        Returns
        -------
        pandas DataFrame
            Columns ``person, alternative, mean, sd, lower, upper``.
        """
        sticks, draws = self._of_sticks("effect")
        assert self.persons_ is not None
        draws = draws.reshape(-1, len(sticks), len(self.persons_))
        lower, upper = np.quantile(draws, tails_of(interval), axis=0)
        columns = {
            "person": np.tile(self.persons_, len(sticks)).tolist(),
            "alternative": np.repeat(self.classes_[sticks], len(self.persons_)).tolist(),
            "mean": draws.mean(axis=0).ravel(),
            "sd": draws.std(axis=0).ravel(),
            "lower": lower.ravel(),
            "upper": upper.ravel(),
        }
        return native_frame(columns, self._frame_library)

    def _of_sticks(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The categories on sticks, and a parameter of them, (chain, draw, stick, ...)."""
        draws = self.fitted_.draws
        if name not in draws.parameters:
            raise ValueError("the model knows no persons: give person= when ChoiceData is made")
        sticks = draws.order[0, 0, :-1]
        return sticks, draws.parameters[name][:, :, sticks]


def _unknown(label: str) -> float:
    """The negative number of an unknown person: 52 bits of a hash of the label."""
    digest = hashlib.blake2b(label.encode(), digest_size=8).digest()
    return -1.0 - float(int.from_bytes(digest, "big") >> 12)
