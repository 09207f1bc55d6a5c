"""
Softplus models on a GPU
========================

``SoftplusClassifier(engine="cuda")`` runs all chains and sticks as one batch on an NVIDIA GPU,
with the draws of the CPU up to rounding; ``pasb fit --engine cuda`` does it from the command
line. Logistic and robit models take ``engine="cuda"`` too, and add up over rows there, which pays
for many rows: :doc:`/scale` has their figures. This page is built on machines without a GPU. So
the GPU's kernels run here in Numba's simulator, thread by thread, on a dozen rows, and the figures
of a real GPU are those of a committed benchmark.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pasb

program = """
import numpy as np
from pasb import SoftplusClassifier

X, y = np.random.default_rng(0).normal(size=(12, 1)), np.arange(12) % 3
settings = {"n_experts": 1, "n_layers": 1, "n_chains": 1, "n_warmup": 0, "n_draws": 4}
settings |= {"order": [2, 0, 1], "moves": "gibbs", "direction": "forward"}
settings |= {"random_state": 1, "progress": False}
for engine in ("cpu", "cuda"):
    model = SoftplusClassifier(engine=engine, **settings).fit(X, y)
    print(f"{engine:5}", model.draws_.log_likelihood[0])
"""
simulator = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONWARNINGS": "ignore"}
done = subprocess.run(
    [sys.executable, "-c", program], env=simulator, check=True, capture_output=True, text=True
)
print(done.stdout)

# %%
# What a GPU is good for: many chains. On satimage, 4435 rows with six classes, there are 720
# orders. Chains of every stick that an order can have, eight for each stick and direction, tell
# how well each order fits. ``python benchmarks/orders_gpu.py`` ran them on a machine with a GPU
# and wrote the file that is read here from a checkout.

folder = Path(pasb.__file__).parents[2] / "benchmarks" / "results"
found = json.loads((folder / "orders-gpu.json").read_text("utf-8"))
for direction in ("forward", "reverse"):
    own = found[direction]
    print(
        f"{direction}: {found['sweeps']} sweeps of {186 * found['chains']} chains of sticks took "
        f"{own['seconds']:.0f} s"
    )

# %%
# The order that a fit infers, among all of them. Forward it is the best one; in reverse 80 others
# do better on average, by at most 34, where chains of one order differ by 20 to 60.

fig, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained", sharex=True, sharey=True)
for ax, direction in zip(axes, ("forward", "reverse"), strict=True):
    own = found[direction]
    ax.hist(own["means"], bins=np.arange(-1260, -980, 10), color="#9FB4C7")
    ax.axvline(own["its mean"], color="#C0392B", linewidth=1.8)
    ax.set_title(
        f"{direction}: the inferred order is number "
        f"{own['rank by means of several chains']} of {len(own['means'])}",
        fontsize=10,
    )
    ax.set(xlabel="mean log-likelihood of an order", ylabel="orders" if ax is axes[0] else "")

# %%
# :doc:`Speed </speed>` has what fits take on a GPU, and where it does not pay; :doc:`/howto/gpu`
# how to use one.
