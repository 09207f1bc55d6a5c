"""Every scalar sampler on a real GPU against the CPU: same keys, same draws.

``python benchmarks/cuda_variates.py`` on a machine with an NVIDIA GPU and numba-cuda. A
kernel calls the samplers that the CPU compiles, from the same source. A draw may differ
where the two machines' exp or log round differently and a rejection flips: the share of
such draws is printed, and the mean of both shows that nothing is lost by it.
"""

from __future__ import annotations

import json
from time import perf_counter

import numpy as np

if not hasattr(np, "row_stack"):  # some releases of numba-cuda still ask for it
    np.row_stack = np.vstack  # noqa: NPY201

from numba import cuda, njit

from pasb.variates import scalar

N = 2**20
DISTRIBUTIONS = {
    "uniform": (scalar.uniform, 0),
    "normal": (scalar.normal, 0),
    "exponential": (scalar.exponential, 0),
    "gamma(h)": (scalar.gamma, 1),
    "log_gamma(h)": (scalar.log_gamma, 1),
    "polya_gamma(h, c)": (scalar.polya_gamma, 2),
    "inverse_gaussian(h, |c|)": (scalar.inverse_gaussian, 2),
    "poisson(h)": (scalar.poisson, 1),
    "zero_truncated_poisson(h)": (scalar.zero_truncated_poisson, 1),
    "crt(100, h)": (scalar.crt, -1),
    "binomial(50, p)": (scalar.binomial, -2),
    "truncated_normal(c, inf)": (scalar.truncated_normal, -3),
    "truncated_t(5, c, inf)": (scalar.truncated_t, -4),
}


def bound(distribution, arguments: int):
    """The sampler as a function of (stream, h, c)."""
    if arguments == 0:
        return lambda stream, h, c: distribution(stream)
    if arguments == 1:
        return lambda stream, h, c: distribution(stream, h)
    if arguments == 2:
        return lambda stream, h, c: distribution(stream, h, abs(c) + 1e-3)
    if arguments == -1:
        return lambda stream, h, c: distribution(stream, 100, h)
    if arguments == -2:
        return lambda stream, h, c: distribution(stream, 50, 0.3)
    if arguments == -3:
        return lambda stream, h, c: distribution(stream, c, np.inf)
    return lambda stream, h, c: distribution(stream, 5.0, c, np.inf)


def compare(name: str, h, c) -> dict[str, float]:
    sampler = njit(bound(*DISTRIBUTIONS[name]))
    key = np.uint64(scalar.stream_key(1, 0, 0, 0, 0, 0))

    @njit
    def on_cpu(h, c, key, out):
        for i in range(h.size):
            out[i], _ = sampler(scalar.open_stream(key, i), h[i], c[i])

    @cuda.jit
    def on_gpu(h, c, key, out):
        i = cuda.grid(1)
        if i < h.size:
            out[i], _ = sampler(scalar.open_stream(key, i), h[i], c[i])

    cpu, gpu = np.empty(N), cuda.device_array(N)
    device_h, device_c = cuda.to_device(h), cuda.to_device(c)
    grid = (N // 128, 128)
    on_cpu(h, c, key, cpu)
    on_gpu[grid](device_h, device_c, key, gpu)
    times: dict[str, list[float]] = {"cpu": [], "gpu": []}
    for _ in range(5):
        began = perf_counter()
        on_cpu(h, c, key, cpu)
        times["cpu"].append(perf_counter() - began)
        cuda.synchronize()
        began = perf_counter()
        on_gpu[grid](device_h, device_c, key, gpu)
        cuda.synchronize()
        times["gpu"].append(perf_counter() - began)
    there = gpu.copy_to_host()
    close = np.abs(there - cpu) <= 1e-9 * np.maximum(np.abs(cpu), 1e-290)
    return {
        "share equal to 1e-9": float(close.mean()),
        "mean, CPU": float(cpu.mean()),
        "mean, GPU": float(there.mean()),
        "ns, CPU": min(times["cpu"]) / N * 1e9,
        "ns, GPU": min(times["gpu"]) / N * 1e9,
    }


def measure() -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(0)
    h, c = np.exp(rng.uniform(-12, 3, N)), rng.normal(0, 3, N)
    return {name: compare(name, h, c) for name in DISTRIBUTIONS}


if __name__ == "__main__":
    if not cuda.is_available():
        raise SystemExit("no CUDA device here")
    results = measure()
    for name, figures in results.items():
        print(f"{name:28}", "  ".join(f"{k} {v:.6g}" for k, v in figures.items()), flush=True)
    print(json.dumps(results))
