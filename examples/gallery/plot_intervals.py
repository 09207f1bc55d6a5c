"""
Intervals that matter
=====================

Two rows may both have a probability of 0.6, one known well and the other hardly at all. A credible
interval tells them apart: in the second case more data might decide, in the first they cannot.
"""

import matplotlib.pyplot as plt
import numpy as np

from pasb import StickLogisticClassifier, datasets

part = datasets.load("vehicle").partition(0)
model = StickLogisticClassifier(n_warmup=500, n_draws=500, random_state=1)
model.fit(part.X_train[:200], part.y_train[:200])
frame = model.predict_frame(part.X_test, interval=0.9)
frame.head(4).round(2)

# %%
# The width of the interval of P(opel) against its mean, in all test rows. Most rows are certain,
# and their intervals are narrow. In between, some are twice as wide as others.

mean = frame["p_opel"]
width = frame["p_opel_upper"] - frame["p_opel_lower"]
fig, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
ax.scatter(mean, width, s=16, color="#0072B2", edgecolors="white", linewidths=0.5)
between = np.flatnonzero((mean > 0.35) & (mean < 0.65))
narrowest, widest = between[np.argmin(width.iloc[between])], between[np.argmax(width.iloc[between])]
for row, height in ((narrowest, 0.15), (widest, 0.95)):
    ax.plot(mean[row], width[row], "o", color="#D55E00", markeredgecolor="white")
    ax.annotate(
        f"row {row + 1}: {frame['p_opel_lower'][row]:.2f} to {frame['p_opel_upper'][row]:.2f}",
        (mean[row], width[row]),
        xytext=(mean[row], height),
        ha="center",
        va="center",
        fontsize=9,
        arrowprops={"arrowstyle": "-", "color": "#D55E00", "shrinkB": 5},
    )
ax.set(xlabel="P(opel)", ylabel="width of its 90% interval", ylim=(0, 1.05))
