"""
A stacked model on the swiss roll
=================================

Two classes wound around each other. The hyperplanes that one softplus model found become covariates
of the next one, which bends its boundaries where the first did.
"""

import warnings

import matplotlib.pyplot as plt

from pasb import SoftplusClassifier, StackedSoftplusClassifier, datasets, plots

data = datasets.make_swiss_roll(400, seed=0)
short = {"n_warmup": 500, "n_draws": 60, "n_chains": 1, "random_state": 1, "direction": "forward"}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # one short chain of each is enough for a picture
    plain = SoftplusClassifier(n_experts=5, n_layers=1, **short).fit(data.X, data.y)
    stacked = StackedSoftplusClassifier(
        n_stacks=2, n_experts=8, n_layers=3, stack_sweeps=800, **short
    ).fit(data.X, data.y)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, name, model in zip(
    axes, ("One level, one layer", "Two levels"), (plain, stacked), strict=True
):
    title = f"{name}: {1 - model.score(data.X, data.y):.1%} errors"
    plots.probability_map(model, data.X, data.y, title=title, ax=ax)
