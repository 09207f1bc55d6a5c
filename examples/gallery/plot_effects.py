"""
What covariates do
==================

Coefficients belong to sticks, and sticks to an order. Effects on class probabilities do not: they
mean the same in every draw, whatever its order and model.
"""

from pasb import StickLogisticClassifier, datasets, effects, plots

data = datasets.load("iris")
X = data.frame().drop(columns="class")
model = StickLogisticClassifier(n_warmup=500, n_draws=500, random_state=1).fit(X, data.y)
effects.avg_comparisons(model, X, {"petal_length": [4.0, 5.0]}).round(3)

# %%
# Probabilities along petal length, averaged over all flowers, for narrow, usual and wide petals.

plots.effects(model, X, "petal_length", by="petal_width")

# %%
# All covariates at once: probability per centimetre, with credible intervals.

effects.avg_slopes(model, X).round(3)
