"""
Calibration, beside scikit-learn
================================

Do probabilities mean what they say? Of rows that get 0.8, eight in ten should be right. With few
rows, an unregularised regression and boosting are too sure of themselves, a forest is not sure
enough. Averages over a posterior are close to the diagonal.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pasb import StickLogisticClassifier, datasets, plots

data = datasets.load("vehicle")
part = data.partition(0)
X, y = part.X_train[:200], part.y_train[:200]  # few rows: that is where it matters
models = {
    "pasb": StickLogisticClassifier(n_warmup=500, n_draws=500, random_state=1),
    "Logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(C=1e6, max_iter=5000)
    ),
    "Random forest": RandomForestClassifier(300, random_state=1),
    "Boosting": HistGradientBoostingClassifier(random_state=1),
}
fig, axes = plt.subplots(1, 4, figsize=(15, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    loss = log_loss(part.y_test, model.predict_proba(part.X_test))
    title = f"{name}: log loss {loss:.2f}"
    plots.reliability(model, part.X_test, part.y_test, title=title, ax=ax)
    ax.set(xlim=(0.2, 1.015), ylim=(0, 1.03))  # one scale
