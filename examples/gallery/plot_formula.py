"""
Formulas
========

Interactions and splines in a line, as in R.
"""

import pasb
from pasb import plots

data = pasb.datasets.load("iris").frame().rename(columns={"class": "species"})
model = pasb.fit(
    "species ~ sepal_length * sepal_width + bs(petal_length, df=4)",
    data,
    n_warmup=500,
    n_draws=500,
    random_state=1,
)
print("\n".join(model.fitted_.feature_names))

# %%
# Effects are those of columns, not of terms: a flower with a longer petal moves along the spline.

plots.effects(model, data, "petal_length", by="sepal_width")
