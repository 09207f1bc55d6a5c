"""Models whose reports are looked at: an ordinary one and one with hostile names."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from pasb import ModelReport, StickLogisticClassifier, TableEncoder, datasets

FEW = {"n_chains": 2, "n_warmup": 60, "n_draws": 60, "random_state": 1, "progress": False}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "&amp;\u202etxt.exe",
    "\x1b[31mred\x00",
]


@pytest.fixture(scope="package")
def iris():
    """A model of iris, its training rows and its held-out rows."""
    data = datasets.load("iris")
    part, X = data.partition(0), data.frame().drop(columns="class")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(**FEW).fit(X.iloc[part.train], part.y_train)
    return model, (X.iloc[part.train], part.y_train), (X.iloc[part.test], part.y_test)


@pytest.fixture(scope="package")
def report(iris):
    model, train, test = iris
    return model.report(*test, train=train)


@pytest.fixture(scope="package")
def letters():
    """A report of 26 classes, some of them with long names."""
    rng = np.random.default_rng(1)
    names = np.array(
        [f"letter {chr(97 + k)}" + " of a long name" * (k % 5 == 0) for k in range(26)]
    )
    category = np.repeat(np.arange(26), 12)
    X = rng.normal(size=(len(category), 3)) + category[:, None] * 0.4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(**FEW).fit(X, names[category])
        return model.report(X, names[category], compare=False)


@pytest.fixture(scope="package")
def hostile():
    """A report of a table whose labels, levels and columns would do harm."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=160),
            HOSTILE[1]: rng.choice([HOSTILE[2], "plain", "<b>bold</b>"], size=160),
            "{{7*7}}": rng.normal(size=160),
        }
    )
    y = np.array(HOSTILE)[(table[HOSTILE[0]] > 0).astype(int) * 2 + rng.integers(0, 2, 160)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(TableEncoder(), StickLogisticClassifier(**FEW)).fit(table, y)
        return ModelReport(model, table, y, title=HOSTILE[1])
