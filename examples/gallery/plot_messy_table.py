"""
A table as it comes
===================

Text, gaps, decimal commas, yes and no, dates and ids. ``TableEncoder`` reads them, says what became
of each column, and stays in the pipeline for new rows.
"""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from pasb import ModelReport, StickLogisticClassifier, TableEncoder, plots

rng = np.random.default_rng(3)
species = rng.choice(["adelie", "chinstrap", "gentoo"], size=240, p=[0.45, 0.2, 0.35])
bill = {"adelie": 38.8, "chinstrap": 48.8, "gentoo": 47.5}
depth = {"adelie": 18.3, "chinstrap": 18.4, "gentoo": 15.0}
table = pd.DataFrame(
    {
        "id": [f"N{k}A{k % 7}" for k in range(240)],
        "bill": [f"{bill[s] + rng.normal(0, 2.8):.1f}".replace(".", ",") for s in species],
        "depth": [f"{depth[s] + rng.normal(0, 1.0):.1f}".replace(".", ",") for s in species],
        "island": [
            {"adelie": rng.choice(["Biscoe", "Dream", "Torgersen"]), "chinstrap": "Dream"}.get(
                s, "Biscoe"
            )
            for s in species
        ],
        "complete": rng.choice(["Yes", "No"], size=240),
        "found": [f"{rng.integers(1, 29)}.11.2008" for _ in species],
    }
)
table.loc[rng.random(240) < 0.05, "depth"] = "NA"
table.head(3)

# %%
encoder = TableEncoder().set_output(transform="pandas")
model = StickLogisticClassifier(n_warmup=500, n_draws=500, random_state=1)
pipe = make_pipeline(encoder, model).fit(table[:160], species[:160])
print("\n".join(encoder.report()))

# %%
# New rows go through the same pipeline. Points outside the bars would show where the model is
# wrong.

plots.predictive_check(pipe, table[160:], species[160:])

# %%
# And a report on the rows that were held out, as one page.

ModelReport(pipe, table[160:], species[160:], train=(table[:160], species[:160]))
