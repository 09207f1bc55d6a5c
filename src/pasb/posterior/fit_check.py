"""Where a model is wrong: predictions of held-out rows beside what was observed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline

from pasb.covariates.availability import checked_availability
from pasb.covariates.choice_data import refuse_choices
from pasb.covariates.frame_input import rows_of
from pasb.covariates.gaps import gaps_in
from pasb.posterior.frames import native_frame
from pasb.posterior.pipelines import unpiped
from pasb.posterior.rival_check import LINEAR, Splits, rivals_of

FEWEST_EXPECTED = 5.0  # rows of a class, and of the others, that a cell needs
MOST_LEVELS = 10
BEND = "a model that bends there: softplus, a spline or an interaction"
CLEAR = 0.01  # probability of a gap as large by chance, below which it is called one


@dataclass(frozen=True, eq=False, repr=False)
class FitCheck:
    """Observed and expected rows of each class, and whether predictions lean towards a rival.

    Attributes
    ----------
    cells : list of dict
        ``class, by, interval, rows, observed, expected, z``. Without the model's being wrong, z is
        standard normal, nearly.
    probability : array of shape (n_rows, n_classes)
        Of held-out rows.
    rivals : list of dict
        ``rival, gain, z, p_value``. `gain` is by how much its held-out log-probabilities are
        larger, all rows together. `z` is large where predictions lean towards it more than
        chance explains; that can show long before the rival predicts better.
    library : {"pandas", "polars"}
    """

    cells: list[dict[str, Any]]
    probability: NDArray[np.float64]
    rivals: list[dict[str, Any]] = field(default_factory=list)
    library: str = "pandas"

    @property
    def worst(self) -> dict[str, Any]:
        """The cell with the largest gap, in standard deviations."""
        return max(self.cells, key=lambda cell: abs(cell["z"]))

    @property
    def p_value(self) -> float:
        """How often something as clear would be found if the model were right, at most."""
        each = [self._p_of_cells, *(rival["p_value"] for rival in self.rivals)]
        return float(min(1.0, len(each) * min(each)))

    @property
    def _p_of_cells(self) -> float:
        return float(min(1.0, 2 * len(self.cells) * norm.sf(abs(self.worst["z"]))))

    def frame(self) -> Any:
        """All cells as a data frame, the largest gaps first."""
        ranked = sorted(self.cells, key=lambda cell: -abs(cell["z"]))
        return native_frame({name: [c[name] for c in ranked] for name in ranked[0]}, self.library)

    def in_words(self) -> str:
        """What was found, and what to do about it."""
        worst = self.worst
        gap = (
            f"{worst['observed']:.0f} of {worst['rows']} rows are {worst['class']} where "
            f"{worst['by']} in {worst['interval']}, and {worst['expected']:.0f} were expected "
            f"(z = {worst['z']:.1f})"
        )
        closest = max(self.rivals, key=lambda rival: rival["z"], default=None)
        if self.p_value >= CLEAR:
            rival = f"; {closest['rival']}: z = {closest['z']:.1f}" if closest else ""
            return (
                f"No gap found in held-out predictions of {len(self.probability)} rows, in "
                f"{len(self.cells)} cells and against {len(self.rivals)} other models; this does "
                f"not show that the intervals hold. What came closest: {gap}{rival}."
            )
        level = CLEAR / (1 + len(self.rivals))
        shown, remedy = [], BEND
        if self._p_of_cells < level:
            shown.append(gap)
        if closest and closest["p_value"] < level:
            better = "better" if closest["gain"] > 0 else "no better"
            shown.append(
                f"probabilities of held-out rows lean towards those of {closest['rival']} more "
                f"than chance explains (z = {closest['z']:.1f}; it predicts them {better}, by "
                f"{closest['gain']:+.1f} in log-probability)"
            )
            if closest["rival"] == LINEAR and len(shown) == 1:
                remedy = "another form of boundary: a softplus model, or that logit itself"
        return (
            f"The model is wrong in a way that shows: {'; and '.join(shown)}. Intervals of this "
            "model do not account for that, and get narrower with more rows all the same. Try "
            f"{remedy}; "
            "pasb.compare and held-out folds tell whether that helps."
        )

    def __repr__(self) -> str:
        return f"FitCheck({len(self.cells)} cells, p-value {self.p_value:.2g})"


def check_fit(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    n_folds: int = 5,
    n_bins: int = 5,
    random_state: Any = 0,
    availability: Any = None,
) -> FitCheck:
    """Look for what is wrong with a model in its predictions of held-out rows.

    The model is fitted again without each of several folds. In every interval of a class's
    predicted probability, and of every covariate, the rows of that class are counted and compared
    with the sum of their probabilities. And held-out predictions are compared with those of
    multinomial logits, without and with squares and products of the covariates: of a right model
    they lean towards neither. A model that misses a bend, an interaction or the form of a boundary
    shows, however well its chains have converged, if there are rows enough. Where nothing shows,
    intervals may still be too narrow.

    Parameters
    ----------
    model : classifier or pipeline
        Need not be fitted, and is not changed.
    X : array or data frame of shape (n_rows, n_features)
    y : array of shape (n_rows,), optional
        Models of formulas find it in `X`.
    n_folds : int, default=5
        Fits.
    n_bins : int, default=5
        Intervals with the same number of rows.
    random_state : int, RandomState or None, default=0
        For the folds.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes the rows could choose, as in `fit`. The multinomial logits know nothing of it:
        their probabilities are divided by their sum over what is available.

    Returns
    -------
    FitCheck

    Examples
    --------
    >>> import numpy as np, pasb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = (X[:, 0] ** 2 > rng.random(300) * 2).astype(int)  # bent: far from 0 on either side
    >>> straight = pasb.StickLogisticClassifier(n_warmup=100, n_draws=100, random_state=1)
    >>> check = pasb.check_fit(straight, X, y)
    >>> bool(check.p_value < 0.01), check.worst["by"]
    (True, 'x0')
    """
    refuse_choices(
        X,
        "check_fit takes",
        "compare shares(model, data, by=...) of pasb.choice with the observed ones, or ask "
        "model.loo(data)",
    )
    last = unpiped(model)[0]
    if y is None:
        if not hasattr(last, "formula"):
            raise ValueError("y is needed: the classes of the rows")
        y = last.labels_of(X)
    labels = np.asarray(y)
    if availability is None and hasattr(last, "draws_"):
        last.fitted_.check_all_available("check_fit")
    classes, category = np.unique(labels, return_inverse=True)
    available = checked_availability(availability, classes, len(labels), category)
    columns, library = _columns(X)
    if hasattr(model, "in_terms"):  # of a formula: levels and knots come from all rows
        model, X, used = model.in_terms(X, labels)
        columns = [(name, values) for name, values in columns if name in used]
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    splits = list(folds.split(np.zeros(len(labels)), labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of draws: what counts here is averaged
        if available is None:
            p = cross_val_predict(clone(model), X, labels, cv=splits, method="predict_proba")
        else:
            p = _held_out(model, X, labels, splits, available)
    cells = []
    for s, label in enumerate(classes):
        own, mine = p[:, s], labels == label
        for by, values in [("its probability", own), *columns]:
            for interval, rows in _bins(values, n_bins):
                cell = _cell(own[rows], mine[rows])
                if cell is not None:
                    cells.append({"class": str(label), "by": by, "interval": interval, **cell})
    if not cells:
        raise ValueError("there are too few rows for a check: no cell expects 5 rows of a class")
    return FitCheck(cells, p, rivals_of(X, labels, p, splits, available), library)


def _held_out(
    model: Any, X: Any, labels: NDArray, splits: Splits, available: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Predictions of held-out rows among what is available to them."""
    piped = isinstance(model, Pipeline)
    name = f"{model.steps[-1][0]}__availability" if piped else "availability"
    out = np.empty(available.shape)
    for train, test in splits:
        fold = clone(model).fit(rows_of(X, train), labels[train], **{name: available[train]})
        last, table = unpiped(fold, rows_of(X, test))
        out[test] = last.predict_proba(table, availability=available[test])
    return out


def _cell(p: NDArray[np.float64], mine: NDArray[np.bool_]) -> dict[str, Any] | None:
    expected = float(p.sum())
    if min(expected, len(p) - expected) < FEWEST_EXPECTED:
        return None
    spread = float(np.sqrt((p * (1 - p)).sum()))
    observed = int(mine.sum())
    z = (observed - expected) / max(spread, 1e-12)
    return {"rows": len(p), "observed": observed, "expected": expected, "z": z}


def _columns(X: Any) -> tuple[list[tuple[str, NDArray]], str]:
    """The covariates by name, and the library of data frames to answer with."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        library = "polars" if type(X).__module__.startswith("polars") else "pandas"
        return [(name, frame[name].to_numpy()) for name in frame.columns], library
    array = np.asarray(X)
    return [(f"x{v}", array[:, v]) for v in range(array.shape[1])], "pandas"


def _bins(values: NDArray, n_bins: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Levels, or intervals of numbers with about as many rows, gaps, and the rows in each."""
    gaps = gaps_in(values)
    missing = [("(missing)", gaps)] if gaps.any() else []
    there = values[~gaps]
    distinct = np.unique(there)
    if values.dtype.kind not in "iuf" or len(distinct) <= n_bins:
        some = distinct[:MOST_LEVELS].tolist()
        return [(str(level), values == level) for level in some] + missing
    edges = np.unique(np.quantile(there, np.linspace(0, 1, n_bins + 1)))
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    found = [
        (f"[{edges[k]:.3g}, {edges[k + 1]:.3g}]", (place == k) & ~gaps)
        for k in range(len(edges) - 1)
    ]
    return found + missing
