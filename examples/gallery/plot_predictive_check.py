"""
Where a model is wrong
======================

Chains that agree say nothing about whether the model fits. Rows that the model makes, beside rows
that were observed, do.
"""

from pasb import SoftplusClassifier, StickLogisticClassifier, datasets, plots

data, held_out = datasets.make_square(seed=0), datasets.make_square(seed=1)
straight = StickLogisticClassifier(n_warmup=300, n_draws=300, random_state=1)
straight.fit(data.X, data.y)
plots.predictive_check(straight, held_out.X, held_out.y, "x0")

# %%
# Class 1 surrounds the others; a straight cut cannot give it both ends of the covariate. A softplus
# stick can.

settings = {"n_warmup": 300, "n_draws": 100, "n_chains": 2, "random_state": 1}
bent = SoftplusClassifier(n_experts=4, n_layers=2, direction="forward", **settings)
plots.predictive_check(bent.fit(data.X, data.y), held_out.X, held_out.y, "x0")
