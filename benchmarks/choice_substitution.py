"""Fit, substitution and order of choice models: logits of Biogeme beside sticks, on classic tables.

``python benchmarks/choice_substitution.py [TABLE ...] [--models ...] [--to FILE]`` fits the rows
that `choice_peers.py` learns from, in its environment, and asks about the same rows:

- *fit*: log-likelihood of all choices; of sticks under posterior-mean probabilities, and its mean
  over draws.
- *own elasticity* of each alternative's share, to its cost (or price, or cost of installation);
  of sticks with a 90 % interval.
- *diversion*: where choices go when an alternative is withdrawn from choices that have another
  one. What other sticks see of it stays as it is. (A higher cost diverts nothing where a share
  does not fall, as that of the last alternative of an order of sticks.)
- *order*: the most probable orders of sticks, and the order in words.

All but intervals follow from probabilities that a model predicts for changed tables, so the same
few lines ask every model. Sticks that see all columns get availability in `fit`, not as columns.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from choice_logit import Logit
from choice_peers import ChoiceSticks
from choice_tables import TABLES, ChoiceTable

from pasb import StickLogisticClassifier
from pasb.choice import elasticities
from report import write

PRICES = {
    "swissmetro": "cost",
    "mode_canada": "cost",
    "heating": "installation",
    "fishing": "price",
}
STEP = 1e-3  # of the logarithm of a price
N_DRAWS = 200  # for predictions


class AllColumns:
    """Logistic sticks that see the attributes of all alternatives."""

    def __init__(self) -> None:
        self.model = StickLogisticClassifier(random_state=1, n_jobs=1, progress=False)

    def fit(self, table: ChoiceTable) -> AllColumns:
        wide = self._wide(table)
        self.columns = wide.columns[wide.nunique() > 1].tolist()
        chosen = np.array(table.alternatives)[table.chosen]
        self.model.fit(wide[self.columns], chosen, availability=table.available)
        return self

    def predict_proba(self, table: ChoiceTable) -> np.ndarray:
        p = self.model.predict_proba(self._wide(table)[self.columns], N_DRAWS, self._has(table))
        return p[:, [list(self.model.classes_).index(name) for name in table.alternatives]]

    def own_elasticities(self, table: ChoiceTable, price: str) -> pd.DataFrame:
        named = {name: f"{price} {name}" for name in table.alternatives}
        return elasticities(
            self.model,
            self._wide(table)[self.columns],
            columns={name: column for name, column in named.items() if column in self.columns},
            availability=self._has(table),
            n_draws=N_DRAWS,
        )

    def judged(self, table: ChoiceTable) -> str:
        wide, chosen = self._wide(table)[self.columns], np.array(table.alternatives)[table.chosen]
        return self.model.order_in_words(wide, chosen, self._has(table))

    def _has(self, table: ChoiceTable) -> np.ndarray:
        return table.available[list(self.model.classes_)].to_numpy()

    @staticmethod
    def _wide(table: ChoiceTable) -> pd.DataFrame:
        frames = [own.add_prefix(f"{name} ") for name, own in table.attributes.items()]
        return pd.concat([table.chooser, *frames], axis=1)


class OwnColumns(ChoiceSticks):
    """Sticks that see the attributes of their own alternative."""

    def predict_proba(self, table: ChoiceTable) -> np.ndarray:
        p = self.model.predict_proba(self._data(table), N_DRAWS)
        return p[:, [list(self.model.classes_).index(name) for name in table.alternatives]]

    def own_elasticities(self, table: ChoiceTable, price: str) -> pd.DataFrame:
        return elasticities(self.model, self._data(table), price, n_draws=N_DRAWS)

    def judged(self, table: ChoiceTable) -> str:
        return self.model.order_in_words(self._data(table))


MODELS: dict[str, Callable[[], Any]] = {
    "logit, generic": partial(Logit, full=False, nested=False),
    "nested, generic": partial(Logit, full=False, nested=True),
    "logit, full": partial(Logit, full=True, nested=False),
    "choice sticks, generic": partial(OwnColumns, full=False),
    "choice sticks, full": partial(OwnColumns, full=True),
    "logistic sticks, all columns": AllColumns,
}


def scaled(table: ChoiceTable, price: str, alternative: str, factor: float) -> ChoiceTable:
    """The same choices where one alternative costs more."""
    own = table.attributes[price]
    own = own.assign(**{alternative: own[alternative] * factor})
    return table._replace(attributes=table.attributes | {price: own})


def without(table: ChoiceTable, alternative: str) -> ChoiceTable:
    """The same choices without an alternative, but for those that have no other one."""
    gone = table.available[alternative] & (table.available.sum(axis=1) > 1)
    left = table.available[alternative] & ~gone
    return table._replace(available=table.available.assign(**{alternative: left}))


def one_below_the_other(tables: list[ChoiceTable]) -> ChoiceTable:
    """All rows in one table: a program that compiles for each prediction does it once."""

    def stacked(frames: list[pd.DataFrame]) -> pd.DataFrame:
        return pd.concat(frames, ignore_index=True)

    return tables[0]._replace(
        chooser=stacked([t.chooser for t in tables]),
        attributes={
            name: stacked([t.attributes[name] for t in tables]) for name in tables[0].attributes
        },
        available=stacked([t.available for t in tables]),
        chosen=np.concatenate([t.chosen for t in tables]),
        persons=np.concatenate([t.persons for t in tables]),
    )


def substitution(model: Any, table: ChoiceTable, price: str) -> dict[str, dict]:
    """Fit, own elasticities and diversion, from probabilities of changed tables."""
    names, n = table.alternatives, len(table.chosen)
    versions = [table]
    for name in names:
        versions += [scaled(table, price, name, float(np.exp(step))) for step in (STEP, -STEP)]
        versions.append(without(table, name))
    p = model.predict_proba(one_below_the_other(versions)).reshape(len(versions), n, len(names))
    own = np.log(np.maximum(p[0, np.arange(n), table.chosen], 1e-12))
    figures: dict[str, dict] = {"fit": {"log-likelihood": float(own.sum())}}
    elastic, withdrawn = {}, {}
    for k, name in enumerate(names):
        up, down, gone = p[1 + 3 * k : 4 + 3 * k]
        share = p[0, :, k].sum()
        elastic[name] = float((up - down)[:, k].sum() / (2 * STEP) / share)
        some = table.available[name].to_numpy() & (table.available.sum(axis=1) > 1).to_numpy()
        change = (gone - p[0])[some].sum(axis=0)
        for j, to in enumerate(names):
            if j != k:
                withdrawn[f"{name} to {to}"] = float(-change[j] / change[k])
    figures["own elasticity"] = elastic
    figures["diversion, withdrawn"] = withdrawn
    return figures


def of_sticks(model: Any, table: ChoiceTable, price: str) -> dict[str, dict]:
    """What draws add: intervals, and the order."""
    found = model.own_elasticities(table, price)
    own = found[found["kind"] == "own"]
    fitted = model.model.fitted_
    orders, counts = fitted.orders_by_frequency("forward")
    share = counts / counts.sum()
    labels = [" > ".join(fitted.classes[order]) for order in orders[:3]]
    return {
        "interval of own elasticity": {
            name: f"{low:.3f} to {high:.3f}"
            for name, low, high in zip(own["changed"], own["lower"], own["upper"], strict=True)
        },
        "order": dict(zip(labels, share[:3].tolist(), strict=True)),
        "in words": {"text": model.judged(table)},
        "draws": {
            "mean log-likelihood": float(fitted.draws.log_likelihood.mean()),
            "worst R-hat": model.model.diagnostics_.worst_rhat,
        },
    }


def of_model(name: str, model: str) -> dict[str, dict]:
    train, _ = TABLES[name]().divided()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MODELS[model]().fit(train)
        figures = substitution(fitted, train, PRICES[name])
        if not isinstance(fitted, Logit):
            figures |= of_sticks(fitted, train, PRICES[name])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--to", metavar="FILE", help="benchmarks/results without it")
    given = parser.parse_args()
    parts = {
        f"{name}: {model}": partial(of_model, name, model)
        for name in given.names or TABLES
        for model in given.models
    }
    write(parts, list(parts), "choice-substitution-", to=given.to)


if __name__ == "__main__":
    main()
