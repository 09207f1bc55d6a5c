"""
A small model for serving
=========================

4000 draws are more than a web service needs. ``compact`` keeps some of them and says what that
costs; ``examples/serving/app.py`` puts the file behind FastAPI.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pasb

data = pasb.datasets.load("vehicle")
part, X = data.partition(0), data.frame().drop(columns="class")
model = pasb.StickLogisticClassifier(random_state=1).fit(X.iloc[part.train], part.y_train)
small = model.compact(400, X.iloc[part.train])
print(small.compactness_)

# %%
# Probabilities of test rows, all draws against 400 of them.

folder = Path(tempfile.mkdtemp())
model.save(folder / "whole.pasb")
small.save(folder / "small.pasb")
sizes = [(folder / name).stat().st_size / 2**10 for name in ("whole.pasb", "small.pasb")]
whole, few = model.predict_proba(X.iloc[part.test]), small.predict_proba(X.iloc[part.test])
fig, ax = plt.subplots(figsize=(4.2, 4.2), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
ax.scatter(whole.ravel(), few.ravel(), s=6)
ax.set(
    xlabel=f"all 4000 draws ({sizes[0]:.0f} KiB)",
    ylabel=f"400 draws ({sizes[1]:.0f} KiB)",
    title=f"largest difference {np.abs(whole - few).max():.3f}",
)

# %%
# What a request would get: the class, and probabilities with intervals.

pasb.load(folder / "small.pasb").predict_frame(X.iloc[part.test[:2]]).round(3).transpose()
