"""
Robit sticks and outliers
=========================

A few mislabelled rows far from the boundary pull a logistic regression: it pays for each of them in
proportion to the distance. A robit stick, whose latent variable has heavy tails, takes them for
what they are.
"""

import matplotlib.pyplot as plt
import numpy as np

from pasb import StickLogisticClassifier, StickRobitClassifier, plots

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(centre, 0.6, size=(60, 2)) for centre in ((-2, 0), (0, 1.5), (2, 0))])
y = np.repeat(["left", "top", "right"], 60)
bad = rng.choice(60, 6, replace=False)
X[bad] = rng.normal((6, 0), 0.3, size=(6, 2))  # "left", but far on the right

settings = {"n_warmup": 500, "n_draws": 500, "random_state": 1}
logistic = StickLogisticClassifier(**settings).fit(X, y)
robit = StickRobitClassifier(df=1.0, **settings).fit(X, y)

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, name, model in zip(
    axes, ("Logistic", "Robit, 1 degree of freedom"), (logistic, robit), strict=True
):
    plots.probability_map(model, X, y, title=name, ax=ax)

# %%
# On clean rows from the same three groups the difference shows in the probabilities.

clean = np.vstack([rng.normal(c, 0.6, size=(300, 2)) for c in ((-2, 0), (0, 1.5), (2, 0))])
truth = np.repeat(["left", "top", "right"], 300)
for name, model in (("logistic", logistic), ("robit", robit)):
    proba = model.predict_proba(clean)
    given = proba[np.arange(900), np.searchsorted(model.classes_, truth)]
    print(
        f"{name:9}: error {1 - model.score(clean, truth):.1%}, log loss {-np.log(given).mean():.3f}"
    )
