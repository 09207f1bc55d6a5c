"""
The prior, and what it does
===========================

By default the scale of coefficients is learned. With few rows it matters; a fixed precision shows
how.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from pasb import StickLogisticClassifier, datasets

part = datasets.load("vehicle").partition(0)
few = slice(0, 80)
precisions = (0.001, 0.01, 0.1, 1.0, 10.0)
settings = {"n_warmup": 300, "n_draws": 300, "n_chains": 2, "random_state": 1}


def loss(precision):
    """Log loss of test rows."""
    model = StickLogisticClassifier(precision=precision, **settings)
    model.fit(part.X_train[few], part.y_train[few])
    return log_loss(part.y_test, model.predict_proba(part.X_test))


fig, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
ax.semilogx(precisions, [loss(p) for p in precisions], "o-", label="fixed precision")
ax.axhline(loss("ard"), color="#D55E00", label='learned, precision="ard"')
ax.set(xlabel="prior precision of coefficients", ylabel="log loss of test rows")
ax.set_ylim(0, None)
ax.legend(frameon=False)
print(
    f"80 training rows, {part.X_train.shape[1]} covariates, {len(np.unique(part.y_train))} classes"
)
