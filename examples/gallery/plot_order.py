"""
The order of the classes, and what it means
===========================================

Which class is split off first is inferred together with the coefficients. On vehicle silhouettes,
vans and buses are easily told from the rest; two cars are left for last.
"""

from pasb import StickLogisticClassifier, datasets, plots

part = datasets.load("vehicle").partition(0)
model = StickLogisticClassifier(n_warmup=500, n_draws=500, random_state=1)
model.fit(part.X_train, part.y_train)
print(model.order_in_words(part.X_train, part.y_train))

# %%
# The left panel has a probability for each pair of classes, the right one for whole orders. The
# last two classes share a stick, so their order makes no difference.

plots.order_posterior(model)

# %%
# ``order_posterior`` has the same as a table.

model.order_posterior(top=3)
