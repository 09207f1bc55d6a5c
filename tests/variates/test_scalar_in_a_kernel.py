"""The samplers as plain code inside a CUDA kernel, in Numba's simulator.

With ``NUMBA_ENABLE_CUDASIM=1`` and ``NUMBA_DISABLE_JIT=1`` the kernel and every sampler
run as the Python functions that they are in the source: what a device would compile.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from pasb import variates
from pasb.variates.drawing import distribution_key

pytest.importorskip("numba.cuda")

N = 40
H = np.geomspace(1e-6, 50.0, N)
C = np.linspace(-8.0, 8.0, N)

KERNEL = """
import json
import sys
import warnings

import numpy as np
from numba import cuda

from pasb.variates import scalar

warnings.simplefilter("ignore")  # unsigned integers are meant to wrap around


@cuda.jit
def draw(key, h, c, out):
    i = cuda.grid(1)
    if i < h.size:
        out[0, i], _ = scalar.normal(scalar.open_stream(key[0], i))
        out[1, i], _ = scalar.gamma(scalar.open_stream(key[1], i), h[i])
        out[2, i], _ = scalar.polya_gamma(scalar.open_stream(key[2], i), h[i], c[i])
        out[3, i], _ = scalar.crt(scalar.open_stream(key[3], i), 200 * i, h[i])
        out[4, i], _ = scalar.zero_truncated_poisson(scalar.open_stream(key[4], i), h[i])
        out[5, i], _ = scalar.binomial(scalar.open_stream(key[5], i), 3 * i, 0.4)
        out[6, i], _ = scalar.truncated_normal(scalar.open_stream(key[6], i), c[i], c[i] + 9.0)
        out[7, i], _ = scalar.truncated_t(scalar.open_stream(key[7], i), 4.0, c[i], c[i] + 9.0)


given = json.load(sys.stdin)
key = np.array(given["key"], dtype=np.uint64)
h, c = np.array(given["h"]), np.array(given["c"])
out = np.empty((8, h.size))
draw[(h.size + 31) // 32, 32](key, h, c, out)
print(json.dumps(out.tolist()))
"""


def test_a_kernel_draws_what_the_cpu_draws():
    distributions = (
        "normal",
        "gamma",
        "polya_gamma",
        "crt",
        "zero_truncated_poisson",
        "binomial",
        "truncated_normal",
        "truncated_t",
    )
    keys = [int(distribution_key(distribution, 3)) for distribution in distributions]
    given = json.dumps({"key": keys, "h": H.tolist(), "c": C.tolist()})
    setting = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", KERNEL],
        input=given,
        env=setting,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    index = np.arange(N)
    on_cpu = [
        variates.normal(size=N, seed=3),
        variates.gamma(H, seed=3),
        variates.polya_gamma(H, C, seed=3),
        variates.crt(200 * index, H, seed=3),
        variates.zero_truncated_poisson(H, seed=3),
        variates.binomial(3 * index, 0.4, seed=3),
        variates.truncated_normal(C, C + 9.0, seed=3),
        variates.truncated_t(4.0, C, C + 9.0, seed=3),
    ]
    for distribution, simulated, drawn in zip(
        distributions, json.loads(run.stdout), on_cpu, strict=True
    ):
        assert simulated == pytest.approx(drawn, rel=1e-9), distribution
