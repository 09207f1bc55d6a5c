"""What ``pasb fit`` does."""

from __future__ import annotations

import csv
import difflib
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

import pasb
from pasb.cli import printing
from pasb.cli.command_text import command_text, options_of
from pasb.cli.failures import NoDrawsError, UsageError
from pasb.cli.large_tables import BLOCKWISE, LargeTable, reads_in_blocks
from pasb.cli.saving import check_writable, refuse_elsewhere, same_file, save_somewhere
from pasb.cli.training_table import ColumnOptions, column_rows, training_table
from pasb.errors import ConvergenceWarning, TimeBudgetError
from pasb.posterior.limits import Limits
from pasb.report.scores import scores_of
from pasb.sampling.draws import check_room
from pasb.sampling.fingerprint import seed_of

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
    storage: str | None = None
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
    class_weight: str | None = None

    def check(self) -> None:
        """Refuse what is wrong with any table, before one is read."""
        model = replace(self, order="infer").classifier(np.zeros(0))
        try:
            model.check_settings()
        except ValueError as error:
            raise UsageError(printing.as_options(str(error))) from None
        try:
            check_room(pasb.Logistic(), 1, 2, model.n_chains, self.draws or 1)  # the least there is
        except ValueError as error:
            told = printing.as_options(str(error))
            raise UsageError(f"even with two classes and no covariate, {told}") from None

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
            "class-weight": ("class_weight", self.class_weight),
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
    columns: ColumnOptions,
    test: float | None,
    force: bool,
    report: Path | None = None,
) -> None:
    """Fit a model to a file, print the summary and save the model; write a report if asked."""
    check_writable(out, force, [path])
    if report is not None:
        if same_file(report, out):
            raise UsageError("--report and --out name the same file")
        check_writable(report, force, [path], "--report")
    if test is not None and not 0 < test < 1:
        raise UsageError(f"--test must lie between 0 and 1, not {test}; 0.3 holds out 30%")
    settings.check()
    if reads_in_blocks(path, settings.model, settings.engine):
        if report is not None:
            raise UsageError(
                "--report needs the rows in memory; write it afterwards, with pasb report and a "
                "table of fewer rows"
            )
        _fit_large(LargeTable(path, target, columns, test, settings.storage), out, settings)
        return
    if settings.storage is not None:
        raise UsageError(f"--storage is for Parquet with --engine {', '.join(BLOCKWISE)}")
    table, labels, notes, encoder, coded = training_table(path, target, columns)
    X: Any = coded
    if settings.seed is None and settings.checkpoint is None:  # which may hold a seed
        settings = replace(settings, seed=seed_of(None, None))
    train, held_out = _split(labels, test, settings.seed)
    if X is None or len(train) < len(table):
        encoder = columns.encoder(encoder.ids_)
        X = encoder.fit_transform(table.iloc[train])
    model = settings.classifier(np.unique(labels[train]))

    console = printing.console()
    printing.heading(console, f"{path.name}: {target}")
    printing.grid(
        console,
        [
            ("rows", f"{len(train):,}" + (f" and {len(held_out):,} held out" if test else "")),
            ("classes", printing.class_counts(labels[train])),
            *column_rows(encoder),
            *([("covariates", f"{X.shape[1]:,}")] if X.shape[1] else []),
        ],
    )
    for text in notes:
        console.print(printing.plain(text))
    began = monotonic()
    warned = _fit(model, X, labels[train])
    seconds = monotonic() - began
    kept = model if encoder.is_trivial else Pipeline([("encoder", encoder), ("classifier", model)])
    saved, reason = save_somewhere(kept, out)
    _refuse_no_draws(model, saved)
    scored = scores_of(model, X, labels[train])
    part = f" (on {scored.n_rows:,} of the rows)" if scored.n_rows < len(train) else ""
    rows = [("time", f"{seconds:.1f} s"), ("training", scored.words() + part)]
    if test:
        X_test, assumed = encoder.encode(table.iloc[held_out])
        warned += [f"In the held-out rows, {one.words()}." for one in assumed]
        tested = scores_of(model, pd.DataFrame(X_test, columns=X.columns), labels[held_out])
        words = f"{tested.words()}, calibration error {tested.calibration:.3f}"
        rows.append(("held-out rows", words))
    _report(console, model, rows, warned, (X, labels[train]), (saved, out, reason))
    if report is not None:
        seen = held_out if test else train
        chosen = {"target": target, "out": saved, "report": report, "test": test}
        chosen |= options_of(settings) | options_of(columns)
        command = command_text("fit", path, chosen)
        title = f"{target} in {path.name}"
        _write_report(
            console,
            kept,
            encoder,
            table=table,
            labels=labels,
            rows=seen,
            train=train,
            out=report,
            title=title,
            command=command,
        )


def _fit_large(table: LargeTable, out: Path, settings: Settings) -> None:
    """Fit a file that stays where it is, print the summary and save the model."""
    classes = table.classes() if settings.order != "infer" else np.zeros(0)
    model = settings.classifier(classes)
    console = printing.console()
    printing.heading(console, f"{table.path.name}: {table.target}")
    printing.grid(console, table.words())
    began = monotonic()
    warned = _fit(model, table, None)
    seconds = monotonic() - began
    saved, reason = save_somewhere(model, out)
    _refuse_no_draws(model, saved)
    few = table.few_rows()
    scored = scores_of(model, *few)
    rows = [("time", f"{seconds:.1f} s"), ("training", f"{scored.words()} (on the first rows)")]
    _report(console, model, rows, warned, few, (saved, out, reason))


def _refuse_no_draws(model: Any, saved: Path | None) -> None:
    if model.draws_.ended == "warm-up":
        told = printing.as_options(model.convergence_in_words())
        marked = f"{saved} is marked as not converged."
        raise NoDrawsError(f"{told} {'It could not be saved.' if saved is None else marked}")


def _report(
    console: Any,
    model: Any,
    rows: list[tuple[str, str]],
    warned: list[str],
    judged: tuple[Any, Any],
    where: tuple[Path | None, Path, str],
) -> None:
    """Print what a fit found, and where the model is."""
    saved, out, reason = where
    console.print()
    printing.grid(console, rows)
    for text in warned:
        console.print(f"\n[bold yellow]Note:[/bold yellow] {printing.plain(text)}")
    left_out, name = printing.model_report(console, model, rows=judged), printing.plain(str(saved))
    if left_out and saved is not None:
        console.print(f"[dim]{left_out} more: pasb summary {name} --all[/dim]")
    refuse_elsewhere(saved, out, reason, model.checkpoint)
    console.print(f"\nThe model is in [bold]{name}[/bold]. Next: pasb predict {name} new.csv")


def _write_report(
    console: Any,
    model: Any,
    encoder: Any,
    *,
    table: pd.DataFrame,
    labels: NDArray,
    rows: NDArray[np.int64],
    train: NDArray[np.int64],
    out: Path,
    title: str,
    command: str,
) -> None:
    """A page about the model, by the held-out rows where there are any."""
    from pasb.cli.reporting import told_of
    from pasb.report import ModelReport

    def taken(some: NDArray[np.int64]) -> Any:
        if isinstance(model, Pipeline):
            return table.iloc[some]
        return pd.DataFrame(encoder.encode(table.iloc[some])[0], columns=model.feature_names_in_)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of held-out rows: said above
        report = ModelReport(
            model,
            taken(rows),
            labels[rows],
            train=(taken(train), labels[train]),
            row_numbers=table.index.to_numpy()[rows] + 1,
            title=title,
            command=command,
        )
    report.write_html(out)
    told_of(console, report, out)


def _fit(model: Any, X: Any, labels: NDArray | None) -> list[str]:
    """Fit, and return the warnings, except about convergence: the report covers it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            X.fit(model) if isinstance(X, LargeTable) else model.fit(X, labels)
        except TimeBudgetError as error:
            raise TimeBudgetError(printing.as_options(str(error))) from error
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise UsageError(printing.as_options(str(error))) from error
    seen = [str(warning.message) for warning in caught if warning.category is UserWarning]
    return list(dict.fromkeys(seen))


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
