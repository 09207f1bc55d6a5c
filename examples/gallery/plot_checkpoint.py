"""
Stop a run, and resume it
=========================

With ``checkpoint=`` a run saves its state while it goes. Stopped by Ctrl-C, by ``max_seconds`` or
by a power cut, the same call continues, and ends with the draws of a run that was never stopped,
bit by bit.
"""

import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from pasb import StickLogisticClassifier, datasets

data = datasets.load("iris")
folder = Path(tempfile.mkdtemp()) / "run"
settings = {"n_chains": 2, "n_warmup": 200, "n_draws": 400, "random_state": 1}


def stop_early(info):
    """Return True to stop, as Ctrl-C would."""
    return info.sweep >= 350


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the run says that it was stopped
    part = StickLogisticClassifier(checkpoint=folder, callbacks=[stop_early], **settings)
    part.fit(data.X, data.y)
print(f"stopped after {part.draws_.n_draws} of 400 draws: {part.draws_.ended}")

# %%
resumed = StickLogisticClassifier(checkpoint=folder, **settings).fit(data.X, data.y)
whole = StickLogisticClassifier(**settings).fit(data.X, data.y)
same = np.array_equal(resumed.draws_.log_likelihood, whole.draws_.log_likelihood)
print(f"resumed: {resumed.draws_.n_draws} draws; the same as without a stop: {same}")

# %%
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for chain in resumed.draws_.log_likelihood:
    ax.plot(chain, linewidth=0.7)
ax.axvline(part.draws_.n_draws, color="0.3", linestyle="--")
ax.set_title("the dashed line: stopped and resumed", fontsize=10)
ax.set(xlabel="draw", ylabel="log-likelihood")
