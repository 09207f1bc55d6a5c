"""Choices that are made along the sticks, and a model of them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from pasb.choice import ChoiceData, StickChoiceClassifier

MODES = ["bus", "car", "train"]
PRICE, TIME = -0.8, -0.4  # true generic coefficients
START = {"bus": 1.0, "train": 2.0}  # and intercepts; the order is train, bus, car


def simulated(n, seed, available_share=0.8):
    rng = np.random.default_rng(seed)
    price, time = rng.uniform(1, 5, (2, n, 3))
    available = rng.random((n, 3)) < available_share
    available[np.arange(n), rng.integers(3, size=n)] = True
    old = rng.integers(2, size=n)
    mode = np.empty(n, dtype="<U5")
    for i in range(n):
        has = [m for m in ("train", "bus", "car") if available[i, MODES.index(m)]]
        for m in has:
            k = MODES.index(m)
            if m == has[-1]:
                mode[i] = m
                break
            eta = START[m] + 0.5 * old[i] + PRICE * price[i, k] + TIME * time[i, k]
            if rng.random() < 1 / (1 + np.exp(-eta - 1.0)):
                mode[i] = m
                break
    frame = pd.DataFrame({"mode": mode, "old": old})
    for k, m in enumerate(MODES):
        frame[f"price_{m}"], frame[f"time_{m}"] = price[:, k], time[:, k]
        frame[f"{m}_av"] = available[:, k]
    return ChoiceData.from_wide(
        frame,
        choice="mode",
        alternatives=MODES,
        covariates=["price", "time"],
        chooser=["old"],
        availability="{alternative}_av",
    )


def fitted(data):
    """A model of them; too few draws to be good, but enough for tests."""
    settings = {"n_chains": 2, "n_warmup": 150, "n_draws": 150, "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StickChoiceClassifier(**settings, progress=False).fit(data)
