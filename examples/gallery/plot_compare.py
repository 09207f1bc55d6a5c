"""
Which model is better?
======================

Leave-one-out predictions compare models without fitting each of them again for every row.
"""

import matplotlib.pyplot as plt

import pasb

data = pasb.datasets.load("square")
X, y = data.X[::2], data.y[::2]
short = {"n_warmup": 300, "n_draws": 300, "random_state": 1}
models = {
    "logistic": pasb.StickLogisticClassifier(**short).fit(X, y),
    "robit": pasb.StickRobitClassifier(**short).fit(X, y),
    "softplus": pasb.SoftplusClassifier(
        n_experts=3, n_layers=2, n_warmup=300, n_draws=100, n_chains=2, random_state=1
    ).fit(X, y),
}
table = pasb.compare(models, X, y)
table.round(2)

# %%
# Expected log predictive density; the softplus model is ahead by many standard errors, because the
# outer class surrounds the others. ``bad_k`` counts rows whose weights cannot be trusted: with so
# many, the figure of the softplus model is too good; here the difference is far larger than that.

fig, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
ax.errorbar(table["difference"], table["model"], xerr=table["difference_se"], fmt="o")
ax.axvline(0, color="0.6", linewidth=0.8)
ax.set(xlabel="log predictive density, less that of the best", ylim=(2.5, -0.5))
