"""Checkpoint folders that tests fill, damage and read."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from pasb.storage.checkpoint import Checkpoint, Saved

FINGERPRINT = {"seed": 7, "n_warmup": 100, "data_sha256": "ab" * 32, "model": {"kind": "logistic"}}


def draws_of(first: int, last: int) -> dict[str, np.ndarray]:
    numbers = np.arange(first, last)
    return {"beta": np.stack([numbers, -numbers], axis=1).astype(float), "order": numbers}


def state_of(sweep: int) -> dict[str, np.ndarray]:
    return {"beta": np.full(2, float(sweep)), "rng": np.array([sweep, 2**63], dtype=np.uint64)}


def fill(folder, segments: int = 4, warmup: int = 2, chain: int = 0) -> None:
    """Write warm-up and then segments of five draws each, ten sweeps apart."""
    with Checkpoint.open(folder, FINGERPRINT) as checkpoint:
        checkpoint.load(chain)
        for step in range(1, warmup + 1):
            checkpoint.append(chain, 10 * step, state_of(10 * step), draws_of(0, 0))
        for step in range(segments):
            sweep = 10 * (warmup + step + 1)
            checkpoint.append(chain, sweep, state_of(sweep), draws_of(5 * step, 5 * step + 5))


def load(folder, chain: int = 0) -> Saved | None:
    with Checkpoint.open(folder, FINGERPRINT) as checkpoint:
        return checkpoint.load(chain)


def quiet_load(folder, chain: int = 0) -> Saved | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(folder, chain)


def check(saved: Saved | None, sweep: int, n_draws: int) -> None:
    assert saved is not None
    assert saved.sweep == sweep
    for got, expected in [(saved.state, state_of(sweep)), (saved.draws, draws_of(0, n_draws))]:
        assert got.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(got[name], array, strict=True)


def names(folder, chain: int = 0) -> list[str]:
    return sorted(os.listdir(Path(folder, f"chain-{chain:04d}")))


def segment(folder, index: int, chain: int = 0) -> Path:
    return Path(folder, f"chain-{chain:04d}", f"{index:08d}.pasb")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[40] ^= 4  # inside the first array
    path.write_bytes(data)
