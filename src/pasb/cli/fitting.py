"""What ``pasb fit`` and ``pasb summary`` do."""

from __future__ import annotations

import csv
import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

import pasb
from pasb.cli import printing
from pasb.cli.failures import NoDrawsError, UsageError, check_output
from pasb.cli.scores import scores_of
from pasb.covariates.tables import TableError, class_labels, covariates, need_column, read_table
from pasb.errors import ConvergenceWarning, TimeBudgetError
from pasb.posterior.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

_CLASSIFIERS = {
    "logistic": "StickLogisticClassifier",
    "robit": "StickRobitClassifier",
    "svm": "StickSVMClassifier",
    "softplus": "SoftplusClassifier",
    "stacked": "StackedSoftplusClassifier",
}


@dataclass(frozen=True)
class Settings:
    """The options of a fit, as given on the command line; None means the model's default."""

    model: str = "logistic"
    experts: int | None = None
    layers: int | None = None
    engine: str | None = None
    chains: int | None = None
    warmup: int | None = None
    draws: int | None = None
    thin: int = 1
    until: str | None = None
    max_seconds: float | None = None
    seed: int | None = None
    jobs: int | None = None
    order: str = "infer"
    scheme: str = "exact"
    scale: str | None = None
    precision: str | None = None
    checkpoint: Path | None = None
    progress: bool | str = "auto"

    def classifier(self, classes: NDArray) -> Any:
        """The classifier they ask for, not fitted yet."""
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise UsageError(f"--max-seconds must be positive, not {self.max_seconds:g}")
        model = getattr(pasb, _CLASSIFIERS[self.model])(
            thin=self.thin,
            until=_until(self.until),
            max_seconds=self.max_seconds,
            order=_order(self.order, classes),
            scheme=self.scheme,
            random_state=self.seed,
            n_jobs=self.jobs,
            progress=self.progress,
            checkpoint=self.checkpoint,
        )
        chosen = {
            "experts": ("n_experts", self.experts),
            "layers": ("n_layers", self.layers),
            "engine": ("engine", self.engine),
            "chains": ("n_chains", self.chains),
            "warmup": ("n_warmup", self.warmup),
            "draws": ("n_draws", self.draws),
            "precision": ("precision", _precision(self.precision)),
        }
        for option, (name, value) in chosen.items():
            if value is None:
                continue
            if name not in model.get_params():
                raise UsageError(f"--{option} does not belong to --model {self.model}")
            model.set_params(**{name: value})
        if self.scale is not None:
            model.set_params(scale=None if self.scale == "none" else self.scale)
        return model


def fit_table(
    path: Path,
    target: str,
    out: Path,
    settings: Settings,
    drop: Sequence[str],
    test: float | None,
    force: bool,
) -> None:
    """Fit a model to a file, print the summary and save the model."""
    check_output(out, force)
    if test is not None and not 0 < test < 1:
        raise UsageError(f"--test must lie between 0 and 1, not {test}; 0.3 holds out 30%")
    table = read_table(path, target)
    labels = class_labels(table, target, path)
    X = covariates(table, _columns(table, target, drop, path), path)
    train, held_out = _split(labels, test, settings.seed)
    model = settings.classifier(np.unique(labels[train]))

    console = printing.console()
    began = monotonic()
    notes = _fit(model, X.iloc[train], labels[train])
    seconds = monotonic() - began
    model.save(out)
    if model.draws_.ended == "warm-up":
        told = printing.as_options(model.convergence_in_words())
        raise NoDrawsError(f"{told} {out} is marked as not converged.")

    printing.heading(console, f"{path.name}: {target}")
    rows = [
        ("rows", f"{len(train):,}" + (f" and {len(held_out):,} held out" if test else "")),
        ("covariates", f"{X.shape[1]:,}"),
        ("classes", printing.class_counts(labels[train])),
        ("time", f"{seconds:.1f} s"),
    ]
    scored = scores_of(model, X.iloc[train], labels[train])
    part = f" (on {scored.n_rows:,} of the rows)" if scored.n_rows < len(train) else ""
    rows.append(("training", scored.words() + part))
    if test:
        tested = scores_of(model, X.iloc[held_out], labels[held_out])
        words = f"{tested.words()}, calibration error {tested.calibration:.3f}"
        rows.append(("held-out rows", words))
    printing.grid(console, rows)
    for text in notes:
        console.print(f"\n[bold yellow]Note:[/bold yellow] {escape(text)}")
    judged = X.iloc[train], labels[train]
    left_out, name = printing.model_report(console, model, rows=judged), escape(str(out))
    if left_out:
        console.print(f"[dim]{left_out} more: pasb summary {name} --all[/dim]")
    console.print(f"\nThe model is in [bold]{name}[/bold]. Next: pasb predict {name} new.csv")


def summarise_file(path: Path, everything: bool, interval: float) -> None:
    """Print the summary of a saved model."""
    if not 0 < interval < 1:
        raise UsageError(f"--interval must lie between 0 and 1, not {interval}")
    model = load_model(path)
    console = printing.console()
    printing.heading(console, path.name)
    names = model.fitted_.feature_names
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    printing.grid(
        console,
        [
            ("model", type(model).__name__),
            ("covariates", f"{len(names)}: {shown}"),
            ("classes", ", ".join(str(label) for label in model.classes_)),
        ],
    )
    left_out = printing.model_report(console, model, interval=interval, everything=everything)
    if left_out:
        console.print(f"[dim]{left_out} more: pasb summary {escape(str(path))} --all[/dim]")


def load_model(path: Path) -> Any:
    """Read a model; an error says what to do if there is none."""
    if not path.exists():
        raise UsageError(f"{path}: no such file; write a model with pasb fit ... --out {path}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the file that pasb fit wrote")
    return pasb.load(path)


def _fit(model: Any, X: pd.DataFrame, labels: NDArray) -> list[str]:
    """Fit, and return the warnings, except about convergence: the report covers it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, labels)
        except TimeBudgetError as error:
            raise TimeBudgetError(printing.as_options(str(error))) from error
    seen = [str(warning.message) for warning in caught if warning.category is UserWarning]
    return list(dict.fromkeys(seen))


def _columns(table: pd.DataFrame, target: str, drop: Sequence[str], path: Path) -> list[str]:
    """The covariates: all columns but the target and those to leave out."""
    for name in drop:
        need_column(table, name, path)
    columns = [name for name in table.columns if name != target and name not in drop]
    if not columns:
        raise TableError(f"{path} has no column but {target!r}; a model needs covariates")
    nameless = [name for name in columns if name.startswith("Unnamed: ")]
    if nameless:
        raise TableError(
            f"{path}: column {int(nameless[0].split()[1]) + 1} has no name (row numbers?).\n"
            f"Name it, or leave it out with --drop {nameless[0]!r}."
        )
    repeated = [name for name in columns if columns.count(name) > 1]
    if repeated:
        raise TableError(f"{path} has two columns named {repeated[0]!r}; rename one of them")
    return columns


def _split(
    labels: NDArray, test: float | None, seed: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training and held-out rows, with the same shares of every class if possible."""
    rows = np.arange(len(labels))
    if test is None:
        return rows, rows[:0]
    from sklearn.model_selection import train_test_split

    counts = np.unique(labels, return_counts=True)[1]
    n_test = int(np.ceil(test * len(rows)))
    enough = counts.min() > 1 and min(n_test, len(rows) - n_test) >= len(counts)
    train, held_out = train_test_split(
        rows, test_size=test, random_state=seed, stratify=labels if enough else None
    )
    if len(np.unique(labels[train])) < len(counts):
        raise UsageError("--test leaves a class without training rows; hold out fewer rows")
    return np.sort(train), np.sort(held_out)


def _precision(text: str | None) -> float | str | None:
    if text is None or text == "ard":
        return text
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 < value < np.inf:
        raise UsageError(f'--precision must be "ard" or a positive number, not {text!r}')
    return value


def _until(text: str | None) -> dict[str, float] | None:
    """Limits from text such as ``rhat=1.01,ess=400``."""
    if text is None:
        return None
    example = 'write for instance --until "rhat=1.01,ess=400"'
    limits: dict[str, float] = {}
    for part in text.replace(" ", ",").split(","):
        if not part:
            continue
        name, _, value = part.partition("=")
        try:
            limits[name.strip()] = float(value)
        except ValueError:
            raise UsageError(f"--until: {part!r} is no limit; {example}") from None
    if not limits:
        raise UsageError(f"--until names no limit; {example}")
    try:
        Limits.of(limits)
    except ValueError as error:
        why = str(error).split(", as in")[0].replace('["', " ").replace('"]', "")
        raise UsageError(f"--{why}; {example}") from None
    return limits


def _order(text: str, classes: NDArray) -> str | list:
    """Class labels, first stick to last, from text with commas."""
    if text == "infer":
        return text
    by_name = {str(label): label for label in classes.tolist()}
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    for name in names:
        if name not in by_name:
            close = difflib.get_close_matches(name, list(by_name), n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else "the classes are " + ", ".join(by_name)
            )
            raise UsageError(f"--order: {name!r} is not a class; {hint}")
    if sorted(names) != sorted(by_name):
        missing = [name for name in by_name if name not in names]
        trouble = f"{missing[0]!r} is missing" if missing else "one occurs twice"
        raise UsageError(f"--order must list every class once, first stick to last: {trouble}")
    return [by_name[name] for name in names]
