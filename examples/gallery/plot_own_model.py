"""
Your own binary model on the sticks
===================================

Any binary regression becomes a multinomial one: write its link, its prior and one exact update of
its parameters. Here is probit regression by data augmentation, in plain NumPy, with a check.
"""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

import pasb
from pasb import plots


class Probit(pasb.CustomBinary):
    """Probit regression with a normal prior of variance 25."""

    def link(self, eta):
        """Logs of success and of failure."""
        return log_ndtr(eta), log_ndtr(-eta)

    def simulate(self, n_columns, rng):
        """Parameters from the prior."""
        return {"coef": 5 * rng.normal(size=n_columns)}

    def update(self, parameters, X, labels, rng):
        """Latent normals given the labels, then coefficients given the latents."""
        eta, sign = X @ parameters["coef"], 2 * labels - 1
        log_tail = log_ndtr(sign * eta) + np.log1p(-rng.random(len(X)))
        latent = eta - sign * ndtri_exp(log_tail)
        factor = np.linalg.cholesky(np.eye(X.shape[1]) / 25 + X.T @ X)
        whitened = np.linalg.solve(factor, X.T @ latent) + rng.normal(size=X.shape[1])
        return {"coef": np.linalg.solve(factor.T, whitened)}


data = pasb.datasets.load("iris")
X = data.frame()[["sepal_length", "petal_length"]]
settings = {"n_chains": 2, "n_warmup": 300, "n_draws": 300, "random_state": 1}
model = pasb.StickBreakingClassifier(binary=Probit(), **settings).fit(X, data.y)
print(model.order_in_words(X, data.y))
plots.probability_map(model, X, data.y)
