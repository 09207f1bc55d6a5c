"""What ``pasb summary`` and ``pasb export`` do."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import typer

from pasb.cli import printing
from pasb.cli.failures import UsageError
from pasb.cli.model_parts import ModelParts, load_parts
from pasb.cli.saving import check_writable
from pasb.cli.training_table import column_rows

MOST_NAMES = 6


def summarise_file(path: Path, everything: bool, interval: float, as_json: bool) -> None:
    """Print the summary of a saved model."""
    if not 0 < interval < 1:
        raise UsageError(f"--interval must lie between 0 and 1, not {interval}")
    parts = load_parts(path)
    if as_json:
        typer.echo(json.dumps(summary_as_json(parts, interval), indent=2, allow_nan=False))
        return
    model, console = parts.classifier, printing.console()
    printing.heading(console, path.name)
    names = model.fitted_.feature_names
    rest = len(names) - MOST_NAMES
    shown = ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
    printing.grid(
        console,
        [
            ("model", type(model).__name__),
            *([] if parts.encoder is None else column_rows(parts.encoder)),
            ("covariates", f"{len(names)}: {shown}" if names else "none"),
            ("classes", ", ".join(str(label) for label in model.classes_)),
        ],
    )
    left_out = printing.model_report(console, model, interval=interval, everything=everything)
    if left_out:
        console.print(f"[dim]{left_out} more: pasb summary {printing.plain(str(path))} --all[/dim]")


def summary_as_json(parts: ModelParts, interval: float) -> dict[str, Any]:
    """What a model found, for programs; numbers that are not finite become null."""
    model = parts.classifier
    fitted, seen = model.fitted_, model.diagnostics_
    orders = {}
    for direction in fitted.directions:
        found, counts = fitted.orders_by_frequency(direction)
        orders[direction] = [
            {
                "order": fitted.classes[order].tolist(),
                "probability": float(n / counts.sum()),
                "chains": fitted.n_visits(order, direction),
            }
            for order, n in zip(found, counts, strict=True)
        ]
    content = {
        "model": type(model).__name__,
        "classes": model.classes_.tolist(),
        "covariates": list(fitted.feature_names),
        "columns": {} if parts.encoder is None else dict(parts.encoder.report_rows()),
        "convergence": {
            "chains": fitted.draws.n_chains,
            "draws": fitted.draws.n_draws,
            "ended": fitted.draws.ended,
            "rhat": seen.worst_rhat,
            "ess": seen.worst_ess,
            "usual_error": seen.usual_error,
            "in_words": model.convergence_in_words(),
        },
        "interval": interval,
        "orders": orders,
    }
    if fitted.has_coefficients:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of several orders: they are in the content
            content["coefficients"] = _records(model.summary(interval))
    elif hasattr(model, "active_experts"):
        content["active_experts"] = _records(model.active_experts(interval))
    else:
        content["support_vectors"] = model.n_hyperplanes()
    return _plain(content)


def export_file(path: Path, out: Path, force: bool) -> None:
    """Write the draws of a saved model to NetCDF or Zarr."""
    if out.suffix not in (".nc", ".zarr"):
        raise UsageError(f"{out}: the name must end in .nc (NetCDF) or .zarr, not {out.suffix!r}")
    if out.suffix == ".nc" or not out.exists():
        check_writable(out, force, [path])
    elif not force:
        raise UsageError(f"{out} exists already; overwrite it with --force or choose another name")
    parts, console = load_parts(path), printing.console()
    parts.classifier.export(out)
    console.print(f"The draws are in [bold]{printing.plain(str(out))}[/bold].")
    printing.notes(console, [parts.note_of_stop()])


def _records(frame: Any) -> list[dict[str, Any]]:
    return frame.to_dict("records") if hasattr(frame, "iloc") else frame.to_dicts()


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
