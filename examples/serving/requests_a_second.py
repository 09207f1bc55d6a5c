"""How many requests of one row a second a server answers.

    python requests_a_second.py           # fits vehicle, starts uvicorn, asks it

Clients keep their connections open and ask again as soon as they have an answer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

import numpy as np

import pasb
from pasb import datasets

HERE = Path(__file__).parent


def ask(port: int, path: str, body: bytes, seconds: float, took: list[float]) -> None:
    """Ask again and again, and note how long each answer took."""
    connection = HTTPConnection("127.0.0.1", port)
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(content.decode())
        took.append(time.perf_counter() - start)


def processor_time(pid: int) -> float:
    """Seconds that a process has computed, which other programs beside it do not change."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server: int, port: int, path: str, body: bytes, n_clients: int, seconds: float) -> None:
    """Print the rate and latencies under some clients at the same time."""
    took: list[float] = []
    before = processor_time(server)
    threads = [Thread(target=ask, args=(port, path, body, seconds, took)) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    each = (processor_time(server) - before) / len(took)
    median, late = 1e3 * np.quantile(took, (0.5, 0.99))
    print(
        f"{path:11} {n_clients:2} clients: {len(took) / seconds:6.0f} requests a second, "
        f"median {median:.1f} ms, 99 % within {late:.1f} ms; {1e3 * each:.2f} ms of the server's "
        f"processor time each, {1 / each:.0f} a second and core",
        flush=True,
    )


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return once the server answers."""
    while server.poll() is None:
        try:
            connection = HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/model")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


def main() -> None:
    """Fit, serve, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--seconds", type=float, default=5)
    given = parser.parse_args()
    part = datasets.load("vehicle").partition(0)
    frame = datasets.load("vehicle").frame()
    names = list(frame.columns)[: part.X_train.shape[1]]
    import pandas as pd

    model = pasb.StickLogisticClassifier(random_state=1, progress=False)
    model.fit(pd.DataFrame(np.asarray(part.X_train), columns=names), part.y_train)
    row = dict(zip(names, np.asarray(part.X_test)[0].tolist(), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vehicle.pasb")
        model.save(path)
        options = ["--port", str(given.port), "--log-level", "warning"]
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "app:app", *options],
            cwd=HERE,
            env=os.environ | {"MODEL": str(path)},
        )
        try:
            wait_for(given.port, server)
            body = json.dumps([row]).encode()
            for endpoint in ("/predict", "/intervals"):
                for n_clients in (1, 4, 16):
                    measure(server.pid, given.port, endpoint, body, n_clients, given.seconds)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
