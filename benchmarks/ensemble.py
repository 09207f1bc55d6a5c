"""Scikit-learn learners on sticks, beside their other ways to many classes, on a dozen tables.

``python benchmarks/ensemble.py [TABLE ...] [--partitions N] [--to FILE]`` fits each learner of
`ensemble_learners.py` in four ways: as it handles many classes by itself, one class against the
rest (normalised), one against one (coupled, Wu, Lin and Weng 2004), and on sticks. ``--searches``
compares searches for the order instead. ``python benchmarks/ensemble.py summary FILE ...`` reads
finished files and tells where sticks help: ratios of log losses and differences of errors, by
learner and by number of classes.

Tables are subsampled, so that a run takes minutes on one core: at most 500 rows to learn from
and 1000 to test with. Classes with fewer than eight rows to learn from are left out.
Log loss is that of probabilities of at least 1e-6, because naive Bayes and trees can be certain and
wrong. Seconds are those of the processor, one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from functools import partial
from pathlib import Path
from time import process_time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import numpy as np
import tables
from ensemble_learners import LEARNERS, SEARCHES, WAYS
from scores import error_rate, log_loss

from report import show, write

SETS = (
    "balance",
    "contraceptive",
    "newthyroid",
    "wine",
    "vehicle",
    "car",
    "cleveland",
    "glass",
    "page_blocks",
    "segment",
    "vowel",
    "satimage",
    "yeast",
)
FEW_CLASSES = ("vehicle", "car", "cleveland", "glass", "page_blocks", "segment", "satimage")
N_TRAIN, N_TEST, FEWEST, LEAST = 500, 1000, 8, 1e-6


def partition(name: str, number: int) -> tables.Part:
    """Rows to learn from and to test with, of all rows of a table."""
    whole = tables.load(name)
    X = np.concatenate([whole.X_train, whole.X_test])
    y = np.concatenate([whole.y_train, whole.y_test])
    share = min(tables.SHARE, N_TRAIN / len(y))
    many = np.bincount(y)[y] * share >= FEWEST
    X, y = X[many], y[many]
    share = min(tables.SHARE, N_TRAIN / len(y))
    return tables.divided(X, y, tables.stratified(y, share, f"ensemble {name}", number), N_TEST)


def of_fit(learner: str, way: str, part: tables.Part) -> dict[str, float]:
    estimator = LEARNERS[learner](part.X_train.shape[1])
    began = process_time()
    model = (WAYS | SEARCHES)[way](estimator).fit(part.X_train, part.y_train)
    fitted = process_time()
    p = model.predict_proba(part.X_test)
    return {
        "error %": 100 * error_rate(p, part.y_test),
        "log loss": log_loss(np.clip(p, LEAST, None), part.y_test),
        "seconds": fitted - began,
        "seconds of prediction": process_time() - fitted,
        "binary fits": float(getattr(model, "n_fits_", np.nan)),
        "out-of-fold loss": float(getattr(model, "log_loss_", np.nan)),
    }


def of_set(name: str, learners: list[str], ways: list[str], n_partitions: int) -> dict[str, dict]:
    parts = [partition(name, k) for k in range(n_partitions)]
    warnings.simplefilter("ignore")
    figures: dict[str, dict] = {
        "table": {
            "classes": parts[0].n_classes,
            "rows": len(parts[0].y_train),
            "test rows": len(parts[0].y_test),
            "columns": parts[0].X_train.shape[1],
            "partitions": n_partitions,
        }
    }
    for learner in learners:
        for way in ways:
            found = [of_fit(learner, way, part) for part in parts]
            figures[f"{learner}, {way}"] = {
                key: float(np.mean([one[key] for one in found])) for key in found[0]
            }
    return figures


def summary(paths: list[str]) -> None:
    """Sticks (or walks, among searches) beside other ways, by learner and number of classes."""
    results: dict = {}
    for path in paths:
        results |= json.loads(Path(path).read_text())
    sets = [name for name in SETS if "table" in results.get(name, {})]
    ways = [way for way in (WAYS | SEARCHES) if f"logistic, {way}" in results[sets[0]]]
    ours = "sticks" if "sticks" in ways else "walk"
    few = [name for name in sets if results[name]["table"]["classes"] <= 5]
    many = [name for name in sets if name not in few]
    for learner in [learner for learner in LEARNERS if f"{learner}, {ours}" in results[sets[0]]]:
        figures = {}
        for way in [way for way in ways if way != ours]:
            line = {}
            for what, own in (("", sets), (", up to 5 classes", few), (", more", many)):
                pairs = [
                    (results[name][f"{learner}, {ours}"], results[name][f"{learner}, {way}"])
                    for name in own
                ]
                if pairs:
                    line |= compared(pairs, what)
            figures[f"{ours} / {way}"] = line
        show(learner, figures)


def compared(pairs: list[tuple[dict, dict]], what: str) -> dict[str, str]:
    ratios = np.array([a["log loss"] / b["log loss"] for a, b in pairs])
    differences = np.array([a["error %"] - b["error %"] for a, b in pairs])
    found = {
        f"log loss, ratio{what}": f"{np.exp(np.log(ratios).mean()):.3f}",
        f"lower{what}": f"{(ratios < 1).sum()} of {len(pairs)}",
        f"error, points{what}": f"{differences.mean():+.2f}",
    }
    if not what:
        times = [a["seconds"] / max(b["seconds"], 1e-3) for a, b in pairs]
        found["time, ratio"] = f"{np.exp(np.log(times).mean()):.0f}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TABLE", help=", ".join(SETS))
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--searches", action="store_true", help="for the order, up to 7 classes")
    parser.add_argument("--to", metavar="FILE", help="benchmarks/results without it")
    given = parser.parse_args()
    if given.names[:1] == ["summary"]:
        summary(given.names[1:])
        return
    ways = list(SEARCHES if given.searches else WAYS)
    parts = {name: partial(of_set, name, given.learners, ways, given.partitions) for name in SETS}
    chosen = given.names or [name for name in SETS if not given.searches or name in FEW_CLASSES]
    write(parts, chosen, "ensemble-", to=given.to)


if __name__ == "__main__":
    main()
