"""What a person would use otherwise: logistic regression, its penalty by cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from pasb.plots.subject import Subject
from pasb.report.evaluated import Evaluated, categories, n_rows_of, rows_of, spaced
from pasb.report.scores import Scores

MOST_ROWS = 4000  # that it learns from
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
FEWEST = 3  # rows of each class
NEWTON = 400  # coefficients up to which whole Hessians are quicker
TINY = np.finfo(float).tiny


def rival_facts(evaluated: Evaluated, train: tuple[Any, ArrayLike] | None) -> dict[str, Any]:
    """Scores of a logistic regression on the same rows, and the difference.

    Parameters
    ----------
    evaluated : Evaluated
        Rows with known classes.
    train : pair of table and labels, optional
        What the model was fitted to. Without it the logistic regression learns from four fifths
        of the rows at a time and predicts the others.
    """
    assert evaluated.category is not None
    classes = evaluated.fitted.classes
    if train is not None:
        X, y = train
        some = spaced(n_rows_of(X), MOST_ROWS)
        category = categories(y, classes, n_rows_of(X))[some]
        learn = _numbers(evaluated.subject, evaluated.subject.columns(rows_of(X, some)))
        rows = np.arange(evaluated.n_rows)
        how = "train"
    else:
        rows = evaluated.some(MOST_ROWS)
        category = evaluated.category[rows]
        learn = _numbers(evaluated.subject, rows_of(evaluated.columns, rows))
        how = "folds"
    counts = np.bincount(category, minlength=len(classes))
    if (counts[counts > 0]).min() < FEWEST or (counts > 0).sum() < 2:
        return {"missing": f"some class has fewer than {FEWEST} rows to learn from"}
    folds = int(min(5, counts[counts > 0].min()))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # of iterations: a penalty that fits badly is not chosen
        model = _tuned(folds, learn.shape[1] * len(classes))
        if how == "train":
            model.fit(learn, category)
            test = _numbers(evaluated.subject, evaluated.columns)
            proba = _all_classes(model.predict_proba(test), model.classes_, len(classes))
        else:
            from sklearn.model_selection import StratifiedKFold

            proba = np.zeros((len(rows), len(classes)))
            for fit, left in StratifiedKFold(folds, shuffle=True, random_state=0).split(
                learn, category
            ):
                model.fit(learn[fit], category[fit])
                found = model.predict_proba(learn[left])
                proba[left] = _all_classes(found, model.classes_, len(classes))
    proba = evaluated.among_available(proba, rows)
    truth = evaluated.category[rows]
    theirs = Scores.of(proba, evaluated.labels[rows], classes)
    ours = Scores.of(evaluated.proba[rows], evaluated.labels[rows], classes)
    gain = _loss(proba, truth) - _loss(evaluated.proba[rows], truth)
    return {
        "how": how,
        "rows": len(rows),
        "learned_from": len(category),
        "ours": ours._asdict(),
        "theirs": theirs._asdict(),
        "gain": float(gain.mean()),
        "gain_se": float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else None,
    }


def _tuned(folds: int, n_coefficients: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    solver = "newton-cholesky" if n_coefficients <= NEWTON else "lbfgs"
    one = LogisticRegression(solver=solver, max_iter=300, tol=1e-3)
    softmax = make_pipeline(StandardScaler(), one)
    grid = {"logisticregression__C": list(PENALTIES)}
    return GridSearchCV(softmax, grid, scoring="neg_log_loss", cv=folds)


def _numbers(subject: Subject, columns: Any) -> NDArray[np.float64]:
    """What the classifier sees as dense numbers: the terms of a formula."""
    table = columns
    if hasattr(subject.classifier, "terms_of"):
        table = subject.classifier.terms_of(columns)
    elif hasattr(columns, "toarray"):
        table = columns.toarray()
    return np.asarray(table, dtype=np.float64)


def _all_classes(
    proba: NDArray[np.float64], known: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Probabilities with a column for every class, also those it has not seen."""
    out = np.zeros((len(proba), n))
    out[:, known] = proba
    return out


def _loss(proba: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    return -np.log(np.maximum(proba[np.arange(len(truth)), truth], TINY))
