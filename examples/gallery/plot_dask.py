"""
Rows on a Dask cluster, and a worker that dies
==============================================

Logistic, robit and softplus models can leave their rows on a cluster. Workers load blocks of rows
and send sums, so the draws do not depend on the number of workers, nor on one that is killed on
the way. Logistic and robit fits take few round trips, softplus fits one for each gradient.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client

from pasb import StickLogisticClassifier

rng = np.random.default_rng(1)
X = rng.normal(size=(20_000, 3))
scores = X @ rng.normal(size=(3, 4)) + rng.gumbel(size=(20_000, 4))
trees = pd.DataFrame(X, columns=["height", "girth", "slope"])
trees["tree"] = np.array(["ash", "birch", "cedar", "elm"])[scores.argmax(axis=1)]

folder = Path(tempfile.mkdtemp())
for k, part in enumerate(np.array_split(np.arange(len(trees)), 4)):
    trees.iloc[part].to_parquet(folder / f"{k}.parquet")

# %%
# A cluster of a scheduler and two workers, as one would start them in a shell.

file = str(folder / "scheduler.json")
dask = [sys.executable, "-m", "dask"]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
address = ["--scheduler-file", file, "--no-dashboard"]
started = [
    subprocess.Popen([*dask, "scheduler", *address, "--port", "0"], **quiet),
    subprocess.Popen([*dask, "worker", *address, "--nworkers", "2", "--nthreads", "1"], **quiet),
]
client = Client(scheduler_file=file)
client.wait_for_workers(2)

# %%
# A fit without a cluster goes through the files block by block; with one, the workers read them.
# Here a worker is killed in the middle of the run. Another one is started in its place and makes
# its blocks again.

settings = {"n_chains": 2, "n_warmup": 32, "n_draws": 128, "random_state": 1, "progress": False}
rows = str(folder / "*.parquet")
alone = StickLogisticClassifier(engine="blocks", **settings).fit(rows, "tree")
killed = []


def kill_a_worker(info):
    """Called between two slices of the run; returning True would stop it."""
    if not killed and info.sweep >= 60:
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)


model = StickLogisticClassifier(engine=client, callbacks=[kill_a_worker], **settings)
model.fit(rows, "tree")
client.close()
for process in reversed(started):
    process.terminate()
    process.wait()

same = np.array_equal(alone.draws_.parameters["coef"], model.draws_.parameters["coef"])
print(f"workers killed: {len(killed)}; the same draws as without a cluster: {same}")

# %%
# Predictions are lazy: a Dask array with the partitions of the files.

model.predict_proba(rows)

# %%
fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
for name, fitted, style in (("this process", alone, "-"), ("cluster, a worker killed", model, ":")):
    ax.plot(
        fitted.draws_.log_likelihood[0], style, linewidth=1.5 + 1.5 * (style == ":"), label=name
    )
ax.set(xlabel="draw of the first chain", ylabel="log-likelihood")
ax.ticklabel_format(axis="y", useOffset=False)
ax.legend(frameon=False, fontsize=9)
