"""Are the draws the same, bit for bit, as before a change?

Write a table of hashes with the code as it is, change the code, and compare:

    python benchmarks/golden_draws.py write /tmp/before.json
    python benchmarks/golden_draws.py compare /tmp/before.json

`--only "iris|own"` takes those fits alone whose names match.

Every classifier, scheme, direction, order setting and stick setting is in the table, and what
else leads to another path through the code: few and many categories, fixed orders, weights,
fixed precisions, Gibbs moves alone, pruning, kernels, stacked models, a model of one's own. The
hashes hold on one machine: another processor may round vectorised sums in another way.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np

import pasb
from pasb import datasets

SHORT = {"n_chains": 2, "n_warmup": 50, "n_draws": 60, "random_state": 3, "progress": False}


class Cauchit(pasb.CustomBinary):
    """A model of one's own, with a random-walk update."""

    def link(self, eta):
        return np.log(0.5 + np.arctan(eta) / np.pi), np.log(0.5 - np.arctan(eta) / np.pi)

    def simulate(self, n_columns, rng):
        return {"coef": rng.standard_normal(n_columns)}

    def update(self, parameters, X, labels, rng):
        def log_posterior(coef):
            success, failure = self.link(X @ coef)
            return np.where(labels > 0, success, failure).sum() - 0.5 * coef @ coef

        coef = parameters["coef"]
        proposed = coef + 0.2 * rng.standard_normal(len(coef))
        gain = log_posterior(proposed) - log_posterior(coef)
        return {"coef": proposed if np.log(rng.random()) < gain else coef}


def table(name: str):
    """Covariates and classes of a small training table."""
    if name == "many":  # beyond the lattice of orders
        rng = np.random.default_rng(5)
        y = np.arange(240) % 10
        return rng.normal(size=(240, 4)) + np.c_[np.cos(y), np.sin(y), y / 5, 0 * y], y
    part = datasets.load(name).partition(0)
    return np.asarray(part.X_train)[:300], np.asarray(part.y_train)[:300]


def cases():
    """Name, model, table and weights of every fit."""
    softplus = {"n_experts": 2, "n_layers": 2}
    bases = {
        "logistic": (pasb.StickLogisticClassifier, {}),
        "robit": (pasb.StickRobitClassifier, {}),
        "softplus": (pasb.SoftplusClassifier, softplus),
        "svm": (pasb.StickSVMClassifier, {"width": 0.2, "n_bases": 40}),
    }
    for base, data in itertools.product(bases, ("iris", "vehicle", "many")):
        kind, own = bases[base]
        labels = np.unique(table(data)[1])
        orders = {"infer": "infer", "swap": "swap", "fixed": list(labels[::-1])}
        for scheme, sticks, order in itertools.product(
            ("exact", "paper"), ("marginal", "augmented"), orders
        ):
            if data == "many" and (sticks == "augmented") != (scheme == "paper"):
                continue
            settings = {"scheme": scheme, "sticks": sticks, "order": orders[order]}
            name = f"{base} {data} {scheme} {sticks} {order}"
            yield name, kind(**own, **settings, **SHORT), data, False
    for direction in ("forward", "reverse", "both"):
        general = pasb.StickBreakingClassifier(direction=direction, **SHORT)
        yield f"general {direction}", general, "vehicle", False
        own = pasb.StickBreakingClassifier(binary=Cauchit(), direction=direction, **SHORT)
        yield f"own {direction}", own, "iris", False
        model = pasb.SoftplusClassifier(direction=direction, **softplus, **SHORT)
        yield f"softplus {direction}", model, "vehicle", False
    for base in ("logistic", "svm"):
        kind, own = bases[base]
        yield f"{base} weighted", kind(**own, **SHORT), "vehicle", True
    for name, kind in (("logistic", pasb.Logistic), ("robit", pasb.Robit)):
        binary = kind(moves="gibbs", precision=0.5)
        model = pasb.StickBreakingClassifier(binary=binary, direction="reverse", **SHORT)
        yield f"{name} gibbs", model, "vehicle", False
    yield "robit probit", pasb.StickRobitClassifier(df=np.inf, **SHORT), "vehicle", False
    pruned = pasb.SoftplusClassifier(prune=True, **softplus, **SHORT)
    yield "softplus pruned", pruned, "iris", False
    paper = {"precision_shape": 1e-6, "precision_rate": (1, 1)}
    model = pasb.SoftplusClassifier(**softplus, **paper, **SHORT)
    yield "softplus paper's prior", model, "iris", False
    yield (
        "softplus fixed",
        pasb.SoftplusClassifier(precision=0.5, **softplus, **SHORT),
        "iris",
        False,
    )
    stacked = pasb.StackedSoftplusClassifier(stack_sweeps=60, **softplus, **SHORT)
    yield "stacked", stacked, "vehicle", False
    for own in (
        {"kernel": "linear"},
        {"inclusion": None, "kernel": "linear"},
        {"precision": "ard"},
    ):
        model = pasb.StickSVMClassifier(**{"width": 0.2, **own}, **SHORT)
        yield f"svm {own}", model, "iris", False
    thinned = pasb.StickLogisticClassifier(**{**SHORT, "thin": 3, "n_draws": 200, "n_chains": 4})
    yield "logistic thinned", thinned, "vehicle", False


def digest(model) -> str:
    """Hash of all draws and of the probabilities of the watched rows."""
    draws, out = model.draws_, hashlib.sha256()
    for name in sorted(draws.parameters):
        out.update(np.ascontiguousarray(draws.parameters[name]).tobytes())
    for array in (draws.order, draws.log_likelihood):
        out.update(np.ascontiguousarray(array).tobytes())
    return out.hexdigest()[:24]


def hashes(only: str) -> dict[str, str]:
    """Fit everything whose name matches `only`, a regular expression."""
    warnings.simplefilter("ignore")
    out = {}
    for name, model, data, weighted in cases():
        if not re.search(only, name):
            continue
        X, y = table(data)
        weights = {"sample_weight": np.arange(len(y)) % 3 + 0.5} if weighted else {}
        out[name] = digest(model.fit(X, y, **weights))
        print(out[name], name, flush=True)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="names of fits, a regular expression")
    arguments = parser.parse_args()
    found = hashes(arguments.only)
    if arguments.action == "write":
        arguments.file.write_text(json.dumps(found, indent=1))
        return 0
    before = json.loads(arguments.file.read_text())
    before = {name: before[name] for name in before if re.search(arguments.only, name)}
    other = [name for name in before if found.get(name) != before[name]]
    print(f"{len(before) - len(other)} of {len(before)} fits have the same draws")
    for name in other:
        print("  other draws:", name)
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
