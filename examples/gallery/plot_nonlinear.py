"""
A nonlinear boundary
====================

A class that surrounds two others cannot be cut off by one hyperplane. A softplus stick takes unions
of regions that several hyperplanes enclose.
"""

from pasb import SoftplusClassifier, StickLogisticClassifier, datasets, plots

data = datasets.load("square")
settings = {"n_warmup": 300, "n_draws": 100, "n_chains": 1, "random_state": 1}
model = SoftplusClassifier(n_experts=4, n_layers=2, direction="forward", **settings)
model.fit(data.X, data.y)
plots.probability_map(model, data.X, data.y)

# %%
# Each stick with the experts it uses: where the linear predictors of its active experts are zero,
# a colour an expert and a dash a layer. The black line is where the stick takes half of the rows.

plots.experts(model, data.X, data.y)

# %%
# Logistic sticks on the same rows: one straight line a stick is not enough.

straight = StickLogisticClassifier(random_state=1).fit(data.X, data.y)
print(
    f"training error: softplus {1 - model.score(data.X, data.y):.1%}, "
    f"logistic {1 - straight.score(data.X, data.y):.1%}"
)
plots.probability_map(straight, data.X, data.y)
