"""
A kernel machine and its support vectors
========================================

Sticks may be support vector machines with a Gaussian kernel. Spike and slab priors decide which of
the rows serve as bases: those are the support vectors.
"""

import numpy as np

from pasb import StickSVMClassifier, datasets, plots

data = datasets.load("square")
model = StickSVMClassifier(width=1.0, n_warmup=300, n_draws=300, random_state=1)
model.fit(data.X, data.y)
print(
    f"{model.n_hyperplanes():.0f} support vectors on two sticks, on average over "
    f"the draws, of {len(data.y)} rows"
)
plots.probability_map(model, data.X, data.y)

# %%
# The hinge loss is no probability model, so these intervals are those of a pseudo-posterior. How
# far its probabilities can be relied on is a matter of measurement: here is the reliability diagram
# of rows that were not used for the fit.

again = datasets.make_square(seed=1)
ax = plots.reliability(model, again.X, again.y)
print(f"error on new rows: {np.mean(model.predict(again.X) != again.y):.1%}")
