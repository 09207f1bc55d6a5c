"""Sums of softplus sticks over parts on a GPU: those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import RowBlocks, SoftplusClassifier
from pasb.binary.softplus_requests import SlopeRequest, TableRequest
from pasb.covariates.parts import Part
from pasb.engines import cuda_softplus_sums, cuda_sums
from pasb.engines.cuda_sums import CudaSums
from pasb.engines.device import simulated
from pasb.numerics.rows import blocked
from pasb.sampling.row_sums import LocalSums
from pasb.sampling.softplus_sums import softplus_ask
from pasb.sticks import ABSENT, FAILURE, SUCCESS

N_ROWS = 10 if simulated() else 5000  # the simulator takes a millisecond for a group of threads
FIRST = np.array([0, 10**6])  # numbers of the first rows of the parts
ROLES = np.array([[SUCCESS, FAILURE, FAILURE], [ABSENT, SUCCESS, FAILURE]], dtype=np.int8)
SIZE = 2, 2, 3  # experts, layers, columns


def parts(dtype="float64"):
    """Two parts of three groups, the second without rows of one of them."""
    rng = np.random.default_rng(0)
    out = []
    for shares in ([0.5, 0.2, 0.3], [0.6, 0.0, 0.4]):
        counts = (N_ROWS * np.array(shares)).round().astype(int)
        n = counts.sum()
        X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        source = rng.permutation(n).astype(np.int32)
        out.append(Part(blocked(X).astype(dtype), None, bounds, 3, source))
    return out


def requests(seed=1):
    """In turns, so that answers have to be put in order."""
    rng = np.random.default_rng(seed)
    out = []
    for k, roles in enumerate(ROLES):
        own = 2 * rng.normal(size=SIZE), rng.normal(size=SIZE[0])
        out += [TableRequest(roles, *own, np.uint64(2**63 + k)), SlopeRequest(roles, *own)]
    return out


def answers(some, kind=CudaSums, asked=None):
    return softplus_ask(kind(some, FIRST))(requests() if asked is None else asked)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_are_those_of_the_cpu(dtype):
    some = parts(dtype)
    for one, other in zip(answers(some), answers(some, LocalSums), strict=True):
        assert type(one) is type(other)
        for name in one._fields:
            a, b = getattr(one, name), getattr(other, name)
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-9, err_msg=name)
    assert answers(some)[0].active.sum() > 0


@pytest.mark.parametrize(("name", "value"), [("free_bytes", lambda xp: 0), ("MOST_TERMS", 1)])
def test_less_room_gives_the_same_bits(monkeypatch, name, value):
    """Parts that are copied in every pass; one request at a time, which is one by itself."""
    some, few = parts(), requests()[1::2]
    expected = answers(some, asked=few)
    monkeypatch.setattr(cuda_sums if name == "free_bytes" else cuda_softplus_sums, name, value)
    for one, other in zip(answers(some, asked=few), expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(simulated(), reason="a fit takes the simulator many minutes")
@pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")
def test_a_fit():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.logistic(size=300) > 0).astype(int)
    short = {"n_experts": 2, "n_layers": 1, "n_chains": 1, "n_warmup": 3, "n_draws": 10}
    here = SoftplusClassifier(engine="blocks", random_state=3, **short).fit(X, y)
    there = SoftplusClassifier(engine=RowBlocks(device="cuda"), random_state=3, **short).fit(X, y)
    np.testing.assert_allclose(
        here.draws_.log_likelihood[0, 0], there.draws_.log_likelihood[0, 0], rtol=1e-4
    )
