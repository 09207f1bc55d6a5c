"""
Choices: a more expensive train, and a line that is closed
==========================================================

Who takes the bus, the car or the train, what a higher price does to that, and where passengers go
when there is no train. Every alternative has a price and a time of its own, not everyone has a
car, and one price coefficient serves all alternatives. The 600 trips are generated: travellers
look at the train first, then at the bus.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pasb import choice, plots

rng = np.random.default_rng(1)
n, modes = 600, ["bus", "car", "train"]
price = {mode: rng.uniform(1, 6, n) for mode in modes}
time = {mode: rng.uniform(10, 60, n) for mode in modes}
has_car = rng.random(n) < 0.7


def takes(mode, start):
    """Who takes a mode once they look at it."""
    eta = start - 0.7 * price[mode] - 0.05 * time[mode]
    return rng.random(n) < 1 / (1 + np.exp(-eta))


train, bus = takes("train", 4.0), takes("bus", 3.5)
trips = pd.DataFrame({"mode": np.where(train, "train", np.where(bus | ~has_car, "bus", "car"))})
for mode in modes:
    trips[f"price_{mode}"], trips[f"time_{mode}"] = price[mode], time[mode]

data = choice.ChoiceData.from_wide(
    trips.assign(car_av=has_car),
    choice="mode",
    alternatives=modes,
    covariates=["price", "time"],
    availability={"car": "car_av"},
)
model = choice.StickChoiceClassifier(n_chains=2, n_warmup=400, n_draws=400, random_state=1)
model.fit(data)
model.generic_coefficients().round(2)  # the truth: -0.7 and -0.05

# %%
# Trains that cost a fifth more: how shares change.

expensive = choice.share_changes(model, data, data.changed("price", "train", factor=1.2))
plots.choices(expensive, label="change of the share when trains cost 20 % more")

# %%
# No trains at all: the share of their passengers that each of the others gets. Travellers without
# a car have the bus only, so it gets most of them. Where a multinomial logit would send
# passengers in proportion to shares, sticks ask the data.

fig, axes = plt.subplots(1, 2, figsize=(9.6, 2.4), layout="constrained")
plots.choices(choice.diversion(model, data, "train"), label="of former passengers", ax=axes[0])
plots.choices(choice.elasticities(model, data, "price"), label="elasticity", ax=axes[1])
axes[0].set_title("without trains", fontsize=10)
axes[1].set_title("1 % on a price", fontsize=10)

# %%
# What a minute is worth: minus the coefficient of time over that of the price (the truth: 0.07
# less for each minute more). The real tables of Swissmetro and others are on :doc:`a page of
# their own </choice_tables>`.

choice.willingness_to_pay(model, "time", price="price").round(3)
