"""Sums over rows on a GPU, or in the simulator: those of the CPU, and fits from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pasb import StickLogisticClassifier, StickRobitClassifier
from pasb.binary import Logistic, Robit
from pasb.binary.row_requests import NEWTON, SLOPE, VALUE, Request
from pasb.covariates.parts import Part
from pasb.engines import cuda_sums
from pasb.engines.cuda_sums import CudaSums
from pasb.engines.device import simulated
from pasb.errors import EngineError
from pasb.numerics.rows import blocked
from pasb.sampling.row_sums import LocalSums, PartedRows
from pasb.sticks import ABSENT, FAILURE, IMPUTED, SUCCESS

# The simulator takes a millisecond for a group of threads.
N_ROWS, N_VECTORS = (30, 3) if simulated() else (5000, 40)
ROLES = [
    [SUCCESS, FAILURE, FAILURE],
    [ABSENT, SUCCESS, FAILURE],
    [FAILURE, ABSENT, SUCCESS],
    [SUCCESS, IMPUTED, FAILURE],
]


def parts(dtype="float64", weighted=True, seed=0):
    """Two parts of three categories, the second without rows of one of them."""
    rng = np.random.default_rng(seed)
    out = []
    for shares in ([0.5, 0.2, 0.3], [0.6, 0.0, 0.4]):
        counts = (N_ROWS * np.array(shares)).astype(int)
        n = counts.sum()
        X = np.column_stack([np.ones(n), rng.normal(size=(n, 4))])
        weights = rng.uniform(0.5, 2, size=n) if weighted else None
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        source = np.arange(n, dtype=np.int32)
        out.append(Part(blocked(X).astype(dtype), weights, bounds, 5, source))
    return out


def requests(n=2, seed=1, every=False):
    """All kinds for all roles; in the simulator fewer, as the products of columns take long."""
    rng = np.random.default_rng(seed)
    few = {VALUE: ROLES if every else ROLES[:1], SLOPE: ROLES[1:2], NEWTON: ROLES[3:]}
    return [
        Request(kind, np.array(roles, dtype=np.int8), rng.normal(size=(n, 5)) * 2)
        for kind in (VALUE, SLOPE, NEWTON)
        for roles in (few[kind] if simulated() else ROLES)
    ]


def link_of(model, some):
    rows = PartedRows.over(LocalSums(some, np.zeros(2, dtype=np.int64)))
    return model.sampler(rows).link


def sums_of(some, kind=CudaSums):
    return kind(some, np.zeros(len(some), dtype=np.int64))


@pytest.mark.parametrize(
    ("model", "dtype"),
    [(Logistic(), "float64"), (Robit(df=4.0), "float32")],
    ids=["logistic", "robit"],
)
def test_sums_are_those_of_the_cpu(model, dtype):
    some = parts(dtype, weighted=dtype == "float64")
    link = link_of(model, some)
    asked = requests(every=True)
    there, here = (sums_of(some, kind).ask(asked, link) for kind in (CudaSums, LocalSums))
    for request, one, other in zip(asked, there, here, strict=True):
        for name in one._fields:
            a, b = getattr(one, name), getattr(other, name)
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-8, err_msg=str(request.kind))


def test_an_answer_does_not_depend_on_its_neighbours():
    some = parts()
    link = link_of(Logistic(), some)
    sums, asked = sums_of(some), requests(n=N_VECTORS)
    for request, together in zip(asked, sums.ask(asked, link), strict=True):
        (alone,) = sums.ask([request._replace(coef=request.coef[2:3])], link)
        for name in alone._fields:
            np.testing.assert_array_equal(getattr(alone, name), getattr(together, name)[2:3])


@pytest.mark.parametrize(("name", "value"), [("free_bytes", lambda xp: 0), ("MOST_TERMS", 3000)])
def test_less_room_gives_the_same_bits(monkeypatch, name, value):
    some = parts()
    link = link_of(Logistic(), some)
    expected = sums_of(some).ask(requests(), link)
    monkeypatch.setattr(cuda_sums, name, value)
    small = sums_of(some)
    assert len(small.kept) == (0 if name == "free_bytes" else 2)
    for one, other in zip(small.ask(requests(), link), expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def table(n=80, seed=2):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"bill": rng.normal(size=n), "flipper": rng.normal(size=n)})
    chosen = (X["bill"] + rng.logistic(size=n) > 0).astype(int) + (X["flipper"] > 0.5)
    y = np.array(["a", "b", "c"])[chosen]
    return X, y


SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "random_state": 3}


def available_to(y, seed=4):
    own = np.random.default_rng(seed).random((len(y), 3)) < 0.6
    return own | (y[:, None] == ["a", "b", "c"])


@pytest.mark.parametrize("kind", [StickLogisticClassifier, StickRobitClassifier])
def test_rows_that_could_not_be_everything(kind, monkeypatch):
    """Sums by group of rows, in two parts of a table."""
    monkeypatch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 40)
    X, y = table()
    available = available_to(y)
    sums = {}
    for engine in ("cuda", "blocks"):
        problems, _ = kind(engine=engine, **SHORT)._prepare(X.to_numpy(), y, availability=available)
        sums[engine], problem = problems[0].rows.row_sums, problems[0]
    assert isinstance(sums["cuda"], CudaSums)
    assert problem.rows.n_groups > 6
    rng = np.random.default_rng(5)
    asked = [
        Request(form, problem.roles.on_stick(np.array([1, 2, 0]), stick), rng.normal(size=(2, 3)))
        for form, stick in ((VALUE, 0), (VALUE, 1), (SLOPE, 0), (NEWTON, 1))
    ]
    link = problem.sampler().link
    there, here = (sums[engine].ask(asked, link) for engine in ("cuda", "blocks"))
    for one, other in zip(there, here, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-8)


def test_too_many_groups_are_refused(monkeypatch):
    monkeypatch.setattr(cuda_sums, "MOST_GROUPS", 6)
    X, y = table()
    with pytest.raises(EngineError, match=r"rows fall into \d+ groups .* use engine='blocks'"):
        StickLogisticClassifier(engine="cuda", **SHORT).fit(X, y, availability=available_to(y))


@pytest.mark.parametrize("said", [False, True], ids=["all available", "availability"])
@pytest.mark.skipif(simulated(), reason="a fit takes the simulator many minutes")
@pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")
@pytest.mark.parametrize("kind", [StickLogisticClassifier, StickRobitClassifier])
def test_fits(kind, said):
    X, y = table()
    own = {"availability": available_to(y)} if said else {}
    order = ["a", "b", "c"]
    there = kind(engine="cuda", order=order, **SHORT).fit(X, y, **own)
    here = kind(engine="blocks", order=order, **SHORT).fit(X.to_numpy(), y, **own)
    assert list(there.feature_names_in_) == ["bill", "flipper"]
    np.testing.assert_allclose(
        there.predict_proba(X), here.predict_proba(X.to_numpy()), rtol=1e-6, atol=1e-8
    )
