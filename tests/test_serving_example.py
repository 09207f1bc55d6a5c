"""The example of a model behind FastAPI, where that is installed."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pasb import StickLogisticClassifier

pytest.importorskip("fastapi", reason="the example needs: pip install fastapi uvicorn httpx")
pytest.importorskip("httpx", reason="the example needs: pip install fastapi uvicorn httpx")
FOLDER = Path(__file__).parents[1] / "examples" / "serving"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A model, its table, and a client of the application that serves it."""
    from fastapi.testclient import TestClient

    sys.path.insert(0, str(FOLDER))
    try:
        from app import make_app
    finally:
        sys.path.remove(str(FOLDER))
    rng = np.random.default_rng(0)
    y = np.array(["ash", "oak", "yew"])[np.arange(60) % 3]
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["height in m", "width"])
    X["width"] += 3 * (y == "oak")
    model = StickLogisticClassifier(n_draws=200, random_state=1, progress=False).fit(X, y)
    path = tmp_path_factory.mktemp("serving") / "trees.pasb"
    model.save(path)
    return model, X, TestClient(make_app(path))


def test_predictions(served):
    model, X, client = served
    answers = client.post("/predict", json=X.to_dict("records")).json()
    np.testing.assert_array_equal(
        [answer["probabilities"] for answer in answers], model.predict_proba(X)
    )
    assert [answer["prediction"] for answer in answers] == model.predict(X).tolist()


def test_intervals(served):
    model, X, client = served
    answers = client.post("/intervals?interval=0.5", json=X[:2].to_dict("records")).json()
    assert answers == model.predict_frame(X[:2], interval=0.5).to_dict("records")


def test_requests_at_the_same_time(served):
    model, X, client = served
    rows = X.to_dict("records")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda row: client.post("/predict", json=[row]).json()[0], rows))
    np.testing.assert_array_equal(
        [answer["probabilities"] for answer in answers], model.predict_proba(X)
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ([], "at least one row"),
        ([{"width": 1.0}], "row 1 has no 'height in m'"),
        ([{"height in m": "tall", "width": 1.0}], "valid number"),
    ],
)
def test_wrong_rows(served, body, words):
    answer = served[2].post("/predict", json=body)
    assert answer.status_code == 422
    assert words in answer.text


def test_what_the_model_needs(served):
    told = served[2].get("/model").json()
    assert told["columns"] == ["height in m", "width"]
    assert told["classes"] == ["ash", "oak", "yew"]
