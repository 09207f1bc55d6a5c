"""Tables of choices: covariates of choosers and of alternatives, availability, and what was chosen.

Choice modellers have them in one of two formats. *Wide*: a row for each choice, with a column for
each covariate of each alternative. *Long*: a row for each alternative of each choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.covariates.choice_columns import (
    ChoiceColumns,
    alternative_values,
    check_alternatives,
    columns_by_pattern,
    distinct_alternatives,
    list_of_names,
    person_labels,
)

TEXT_OF_CHOOSERS = ". Turn text into numbers first, by pasb.TableEncoder or pandas.get_dummies"


@dataclass(frozen=True, eq=False)
class ChoiceData:
    """Choices among alternatives.

    Make one by `from_wide` or `from_long`.

    Attributes
    ----------
    alternatives : array of shape (n_alternatives,)
        Sorted labels.
    chooser : array of shape (n_choices, n_chooser)
        Covariates of choosers, or of choices.
    chooser_names : list of str
    values : array of shape (n_choices, n_alternatives, n_covariates)
        Covariates of alternatives; those of alternatives that are not available do not matter.
    covariates : list of str
        Names of the covariates of alternatives.
    available : boolean array of shape (n_choices, n_alternatives)
    choice : array of shape (n_choices,) or None
        The label of the alternative that was chosen, where that is known.
    person : array of str of shape (n_choices,) or None
        Who chose, where persons choose several times.

    Examples
    --------
    >>> import pandas as pd
    >>> trips = pd.DataFrame({
    ...     "mode": ["bus", "car", "car"], "income": [20.0, 50.0, 35.0],
    ...     "price_bus": [2.0, 2.5, 2.0], "price_car": [5.0, 4.0, 4.5], "has_car": [1, 1, 1],
    ... })
    >>> data = ChoiceData.from_wide(
    ...     trips, choice="mode", alternatives=["bus", "car"], covariates=["price"],
    ...     chooser=["income"], availability={"car": "has_car"},
    ... )
    >>> list(data.table().columns)
    ['income', 'price[bus]', 'price[car]']
    >>> data.changed("price", "car", factor=2).table()["price[car]"].tolist()
    [10.0, 8.0, 9.0]
    """

    alternatives: NDArray
    chooser: NDArray[np.float64]
    chooser_names: list[str]
    values: NDArray[np.float64]
    covariates: list[str]
    available: NDArray[np.bool_]
    choice: NDArray | None = None
    person: NDArray | None = None

    def __post_init__(self) -> None:
        if self.person is not None:
            object.__setattr__(self, "person", person_labels(self.person, len(self)))
        nothing = ~self.available.any(axis=1)
        if nothing.any():
            raise ValueError(
                f"nothing is available in choice {int(np.argmax(nothing)) + 1} ({nothing.sum():,} "
                f"of {len(self):,} choices): correct availability, or leave such choices out"
            )
        missing = ~np.isfinite(self.values) & self.available[:, :, None]
        if missing.any():
            row, alternative, covariate = (int(k) for k in np.argwhere(missing)[0])
            raise ValueError(
                f"{self.covariates[covariate]} of {self.alternatives[alternative]!s} is missing in "
                f"choice {row + 1}, where that alternative is available"
            )
        missing = ~np.isfinite(self.chooser)
        if missing.any():
            row, covariate = (int(k) for k in np.argwhere(missing)[0])
            raise ValueError(f"{self.chooser_names[covariate]} is missing in choice {row + 1}")
        if self.choice is not None:
            wrong = ~np.isin(self.choice, self.alternatives)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise ValueError(
                    f"choice {row + 1} is {self.choice[row]!s}, which is not among the "
                    f"alternatives: {', '.join(map(str, self.alternatives))}"
                )
            place = np.argmax(self.choice[:, None] == self.alternatives, axis=1)
            wrong = ~self.available[np.arange(len(self)), place]
            if wrong.any():
                row = int(np.argmax(wrong))
                raise ValueError(
                    f"choice {row + 1} is {self.choice[row]!s}, which is not available to it: "
                    f"correct choice or availability ({wrong.sum():,} of {len(self):,} choices)"
                )

    def __repr__(self) -> str:
        text = f"{len(self)} choices among {', '.join(map(str, self.alternatives))}"
        for what, names in (("alternatives", self.covariates), ("choosers", self.chooser_names)):
            text += f"; covariates of {what}: {', '.join(names) or 'none'}"
        if self.person is not None:
            text += f"; {len(np.unique(self.person))} persons"
        return f"ChoiceData({text})"

    def __len__(self) -> int:
        return len(self.available)

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        *,
        alternatives: Sequence,
        covariates: str | Sequence[str] | Mapping[str, Mapping] = (),
        chooser: str | Sequence[str] = (),
        choice: str | None = None,
        availability: Mapping | str | None = None,
        pattern: str = "{covariate}_{alternative}",
        person: str | None = None,
    ) -> ChoiceData:
        """From a table with a row for each choice.

        Parameters
        ----------
        frame : data frame
        alternatives : sequence of labels
        covariates : str, sequence of str, or dict of dicts
            Covariates of alternatives. Their columns are named by `pattern`, or listed for every
            alternative: ``{"price": {"bus": "fare", "car": "cost_car", "walk": 0}}``, where a
            number is what the alternative has in every choice.
        chooser : str or sequence of str
            Columns with covariates of the chooser, as numbers.
        choice : str, optional
            The column with the label of the chosen alternative.
        availability : dict or str, optional
            The column that says whether an alternative is available, for each alternative that is
            not always; or the pattern of these columns, such as ``"{alternative}_av"``.
        pattern : str, default="{covariate}_{alternative}"
        person : str, optional
            The column that says who chose, where persons choose several times.
        """
        labels, table = distinct_alternatives(alternatives), ChoiceColumns(frame)
        listed = covariates if isinstance(covariates, Mapping) else None
        names, own = list_of_names(covariates), list_of_names(chooser)
        if listed is None and len(names) > 1 and "{covariate}" not in pattern:
            raise ValueError(f"pattern must hold {{covariate}} to tell them apart; got {pattern!r}")
        values = np.empty((table.n_rows, len(labels), len(names)))
        for k, name in enumerate(names):
            of = pattern if listed is None else listed[name]
            values[:, :, k] = alternative_values(table, labels, name, of)
        if isinstance(availability, str):
            availability = columns_by_pattern(availability, labels, "availability")
        check_alternatives(availability or (), labels, "availability", every=False)
        available = np.ones(values.shape[:2], dtype=np.bool_)
        for label, column in (availability or {}).items():
            available[:, labels.tolist().index(label)] = table.flags(column)
        return cls(
            labels,
            table.columns(own, TEXT_OF_CHOOSERS),
            own,
            values,
            names,
            available,
            None if choice is None else table.labels(choice),
            None if person is None else table.raw(person),
        )

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        case: str,
        alternative: str,
        covariates: str | Sequence[str] = (),
        chooser: str | Sequence[str] = (),
        choice: str | None = None,
        availability: str | None = None,
        person: str | None = None,
    ) -> ChoiceData:
        """From a table with a row for each alternative of each choice.

        Parameters
        ----------
        frame : data frame
        case : str
            The column that tells choices apart; they stay in the order of their first rows.
        alternative : str
            The column with the label of the alternative. One that a choice does not list is not
            available to it.
        covariates : str or sequence of str
            Columns with covariates of alternatives.
        chooser : str or sequence of str
            Columns that are the same in all rows of a choice.
        choice : str, optional
            The column that is true or 1 in the row of the alternative that was chosen.
        availability : str, optional
            The column that is true or 1 where the alternative is available, in tables that list
            the others too.
        person : str, optional
            The column that says who chose, where persons choose several times.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({
        ...     "trip": [1, 1, 2, 2, 2], "mode": ["bus", "car", "bus", "car", "walk"],
        ...     "price": [2, 5, 2, 4, 0], "chosen": [1, 0, 0, 0, 1],
        ... })
        >>> data = ChoiceData.from_long(
        ...     rows, case="trip", alternative="mode", covariates=["price"], choice="chosen")
        >>> data.choice.tolist(), data.available.tolist()
        (['bus', 'walk'], [[True, True, False], [True, True, True]])
        """
        covariates, chooser = list_of_names(covariates), list_of_names(chooser)
        table = ChoiceColumns(frame)
        cases, of_alternative = table.labels(case), table.labels(alternative)
        _, first, number = np.unique(cases, return_index=True, return_inverse=True)
        place = np.argsort(np.argsort(first))[number]  # in the order of first rows
        labels, which = np.unique(of_alternative, return_inverse=True)
        n = len(first)
        rows_of = np.zeros((n, len(labels)), dtype=np.int64)
        np.add.at(rows_of, (place, which), 1)
        if (rows_of > 1).any():
            i, j = (int(k) for k in np.argwhere(rows_of > 1)[0])
            shown = cases[np.sort(first)[i]]
            raise ValueError(f"{case} {shown!s} has two rows for {labels[j]!s}")
        values = np.full((n, len(labels), len(covariates)), np.nan)
        values[place, which] = table.columns(covariates)
        own = table.columns(chooser, TEXT_OF_CHOOSERS)
        head = own[np.sort(first)]
        differs = ~((own == head[place]) | (np.isnan(own) & np.isnan(head[place])))
        if differs.any():
            i, j = (int(k) for k in np.argwhere(differs)[0])
            raise ValueError(
                f"{chooser[j]} differs between the rows of {case} {cases[i]!s}: it belongs to "
                "covariates, not to chooser"
            )
        chosen = None
        if choice is not None:
            flags = table.flags(
                choice,
                ". Where it holds the label of the chosen alternative, make it true or false: "
                f"frame[{choice!r}] == frame[{alternative!r}]",
            )
            counts = np.bincount(place, flags, n)
            if (counts != 1).any():
                i = int(np.argmax(counts != 1))
                shown, times = cases[np.sort(first)[i]], int(counts[i])
                raise ValueError(f"{case} {shown!s} has {times} chosen alternatives instead of 1")
            chosen = np.empty(n, dtype=labels.dtype)
            chosen[place[flags]] = of_alternative[flags]
        available = rows_of > 0
        if availability is not None:
            available[place, which] = table.flags(availability)
        who = None
        if person is not None:
            each = person_labels(table.raw(person), table.n_rows)
            who = each[np.sort(first)]
            if (each != who[place]).any():
                i = int(np.argmax(each != who[place]))
                raise ValueError(f"{person} differs between the rows of {case} {cases[i]!s}")
        return cls(labels, head, chooser, values, covariates, available, chosen, who)

    def table(self) -> Any:
        """Everything as one pandas data frame, with columns such as ``price[car]``.

        Covariates of alternatives that are not available are filled with an average, for they
        do not matter.
        """
        import pandas as pd

        columns = dict(zip(self.chooser_names, self.chooser.T, strict=True))
        for k, name in enumerate(self.covariates):
            own = self.values[:, :, k]
            mean = own[self.available].mean() if self.available.any() else 0.0
            filled = np.where(self.available, own, mean)
            for j, label in enumerate(self.alternatives):
                columns[f"{name}[{label!s}]"] = filled[:, j]
        return pd.DataFrame(columns)

    def number_of(self, alternative: Any) -> int:
        """The number of an alternative; a ValueError lists those there are."""
        found = np.flatnonzero(self.alternatives == alternative)
        if not len(found):
            listed = ", ".join(map(str, self.alternatives))
            raise ValueError(f"{alternative!r} is not among the alternatives: {listed}")
        return int(found[0])

    def covariate_number(self, covariate: str) -> int:
        """The number of a covariate of alternatives; a ValueError lists those there are."""
        if covariate not in self.covariates:
            listed = ", ".join(self.covariates) or "none"
            raise ValueError(
                f"{covariate!r} is no covariate of alternatives; those of the model: {listed}"
            )
        return self.covariates.index(covariate)

    def changed(
        self,
        covariate: str,
        alternative: Any = None,
        *,
        factor: float = 1.0,
        add: float = 0.0,
        value: float | ArrayLike | None = None,
    ) -> ChoiceData:
        """The same choices where a covariate of one alternative, or of all, is another one."""
        k = self.covariate_number(covariate)
        j: Any = slice(None) if alternative is None else self.number_of(alternative)
        values = self.values.copy()
        values[:, j, k] = values[:, j, k] * factor + add if value is None else value
        return replace(self, values=values)

    def without(self, *alternatives: Any) -> ChoiceData:
        """The same choices where some alternatives are not available; nothing is known as chosen.

        Choices that would have nothing left are an error that names the first.
        """
        available = self.available.copy()
        for alternative in alternatives:
            available[:, self.number_of(alternative)] = False
        nothing = ~available.any(axis=1)
        if nothing.any():
            raise ValueError(
                f"without {', '.join(map(str, alternatives))}, choice "
                f"{int(np.argmax(nothing)) + 1} has nothing left; take such choices out first"
            )
        return replace(self, available=available, choice=None)

    def take(self, rows: Any) -> ChoiceData:
        """Some of the choices: a mask, a slice or their numbers."""
        return replace(
            self,
            chooser=self.chooser[rows],
            values=self.values[rows],
            available=self.available[rows],
            choice=None if self.choice is None else self.choice[rows],
            person=None if self.person is None else self.person[rows],
        )

    def without_persons(self) -> ChoiceData:
        """The same choices, as if every one was somebody else's."""
        return replace(self, person=None)


def refuse_choices(X: Any, what: str, instead: str) -> None:
    """Raise a TypeError for choices where a table of rows is meant."""
    if isinstance(X, ChoiceData):
        raise TypeError(f"{what} no ChoiceData: {instead}")
