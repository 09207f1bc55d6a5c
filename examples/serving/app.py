"""A fitted model behind FastAPI.

    MODEL=vehicle.pasb uvicorn app:app

Endpoints are plain functions, so FastAPI runs each request in a thread of its own. Threads may
predict with one model at the same time, and compiled code does not hold Python's lock.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import pandas as pd
from fastapi import FastAPI, HTTPException, Query

import pasb

Rows = list[dict[str, float]]


def make_app(path: str | os.PathLike[str]) -> FastAPI:
    """An application that predicts with the model of a file."""
    model = pasb.load(path)
    model.set_params(n_jobs=1)  # the requests are the threads
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise ValueError(
            f"{path} was fitted to an array: fit a data frame, whose columns have names"
        )
    labels = model.classes_.tolist()
    # the first prediction prepares the draws; no request should wait for that
    model.predict_frame(pd.DataFrame([dict.fromkeys(names, 0.0)]))
    app = FastAPI(title="pasb", description=f"Predicts {', '.join(map(str, labels))}.")

    def table(rows: Rows) -> pd.DataFrame:
        if not rows:
            raise HTTPException(422, "send at least one row")
        for number, row in enumerate(rows, start=1):
            missing = [name for name in names if name not in row]
            if missing:
                raise HTTPException(422, f"row {number} has no {missing[0]!r}")
        return pd.DataFrame([[row[name] for name in names] for row in rows], columns=names)

    @app.get("/model")
    def describe() -> dict[str, Any]:
        """What the model needs and gives."""
        compactness = getattr(model, "compactness_", None)
        return {
            "columns": names,
            "classes": labels,
            "convergence": model.convergence_in_words(),
            "compactness": None if compactness is None else str(compactness),
        }

    @app.post("/predict")
    def predict(rows: Rows) -> list[dict[str, Any]]:
        """Posterior-mean class probabilities of each row, and the class with the largest."""
        try:
            proba = model.predict_proba(table(rows))
        except ValueError as error:  # such as a number that is not finite
            raise HTTPException(422, str(error)) from None
        return [
            {"prediction": labels[own.argmax()], "probabilities": own.tolist()} for own in proba
        ]

    @app.post("/intervals")
    def intervals(
        rows: Rows, interval: Annotated[float, Query(gt=0, lt=1)] = 0.9
    ) -> list[dict[str, Any]]:
        """The same with credible intervals."""
        try:
            frame = model.predict_frame(table(rows), interval=interval)
        except ValueError as error:
            raise HTTPException(422, str(error)) from None
        return frame.to_dict("records")

    return app


def __getattr__(name: str) -> FastAPI:
    """Make ``app`` when uvicorn asks for it, of the file that ``MODEL`` names."""
    if name != "app":
        raise AttributeError(name)
    if "MODEL" not in os.environ:
        raise RuntimeError(
            "set MODEL to the file of a fitted model: MODEL=model.pasb uvicorn app:app"
        )
    return make_app(os.environ["MODEL"])
