"""What a fitted model found, in words and tables for the terminal."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from pasb.covariates.visible import visible
from pasb.posterior.advice import ERROR_LIMIT, advice_on

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pasb.posterior.fitted import Fitted
    from pasb.sticks import Direction

MOST_COEFFICIENTS = 12
MOST_ORDERS = 5
MOST_CLASSES = 12

# what the classifiers say, in the words of the command line
_OPTIONS = {
    "n_warmup": "--warmup",
    "n_draws": "--draws",
    "n_chains": "--chains",
    "n_jobs": "--jobs",
    "n_experts": "--experts",
    "n_layers": "--layers",
    "max_seconds": "--max-seconds",
    "random_state": "--seed",
    "thin": "--thin",
}
_NAMED = re.compile(rf"(?<![\w-])({'|'.join(_OPTIONS)})(?:(=)(?=\d)|(?!\w))")
_OUT_OF_RANGE = re.compile(
    r"The '(--[a-z-]+)' parameter of \w+ must be .*?an int in the range \[(\d+), (\d+)\].* "
    r"Got (.+) instead\."
)
_PHRASES = {
    "with a checkpoint": "with --checkpoint",
    ", or set a smaller stack_sweeps": "",  # no option of the command line
}


def console() -> Console:
    """A console on the present standard output; piped output is not cut to 80 columns."""
    shown = Console(highlight=False)
    if not shown.is_terminal:
        shown = Console(highlight=False, width=100)
    shown.push_render_hook(_Visible())
    return shown


class _Visible(RenderHook):
    """Let no escape sequence of a label or name through to the terminal."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap what is to be printed."""
        return [_Cleaned(renderable) for renderable in renderables]


class _Cleaned:
    def __init__(self, renderable: ConsoleRenderable):
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def plain(text: str) -> str:
    """Text as it is to be printed: no markup, and control characters written out.

    Rich drops some of them, such as the bell, so that two labels would look the same.
    """
    return escape(visible(text))


def grid(console: Console, rows: list[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    table = Table.grid(padding=(0, 3))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(name, plain(value))
    console.print(table)


def heading(console: Console, text: str) -> None:
    """Print a bold line with space before it."""
    console.print(f"\n[bold]{plain(text)}[/bold]")


def class_counts(labels: NDArray) -> str:
    """The classes and how many rows each has."""
    classes, counts = np.unique(labels, return_counts=True)
    shown = [f"{label} ({count:,})" for label, count in zip(classes, counts, strict=True)]
    if len(shown) > MOST_CLASSES:
        shown = [*shown[:MOST_CLASSES], f"and {len(shown) - MOST_CLASSES} more"]
    return ", ".join(shown)


def convergence_rows(model: Any) -> list[tuple[str, str]]:
    """Number of draws, R-hat, effective sample size and error, with a verdict."""
    draws, seen, limits = model.draws_, model.diagnostics_, model.fitted_.limits
    rhat, ess, error = seen.worst_rhat, seen.worst_ess, seen.usual_error
    asked = f", of {draws.n_asked:,} at most" if draws.n_draws < draws.n_asked else ""
    rows = [("draws", f"{draws.n_chains} chains of {draws.n_draws:,}{asked}")]
    if np.isfinite(rhat):
        verdict = "good" if rhat <= limits.rhat else f"should be below {limits.rhat:g}"
        rows.append(("R-hat, the worst", f"{rhat:.3f} ({verdict})"))
    if np.isfinite(ess):
        verdict = "good" if ess >= limits.ess else f"should be above {limits.ess:g}"
        rows.append(("effective sample size, the worst", f"{ess:,.0f} ({verdict})"))
    if np.isfinite(error):
        verdict = "good" if error <= ERROR_LIMIT else f"should be below {ERROR_LIMIT}"
        rows.append(("error of probabilities, 95 % of rows", f"{error:.3f} ({verdict})"))
    if hasattr(model, "compactness_"):  # the figures above are those of all draws
        rows.append(("compact form", str(model.compactness_)))
    return rows


def as_options(text: str) -> str:
    """What classifiers say, in the words of the command line.

    Examples
    --------
    >>> as_options("n_draws=7 are too few (thin)")
    '--draws 7 are too few (--thin)'
    """
    text = _NAMED.sub(lambda found: _OPTIONS[found[1]] + (" " if found[2] else ""), text)
    for phrase, own in _PHRASES.items():
        text = text.replace(phrase, own)
    return _OUT_OF_RANGE.sub(r"\1 must lie between \2 and \3; got \4", text)


def notes(console: Console, texts: Iterable[str]) -> None:
    """Print what is worth knowing, a line for each text that is not empty."""
    for text in filter(None, texts):
        console.print(f"[bold yellow]Note:[/bold yellow] {plain(text)}")


def note(console: Console, model: Any) -> None:
    """Print what to change when the draws cannot be trusted yet."""
    fitted = model.fitted_
    advice = advice_on(model.draws_, model.diagnostics_, fitted.limits, fitted.checkpoint)
    if not advice:
        return
    advice = as_options(advice)
    if len(model.orders_) > 1:  # an option has one order for both directions
        advice = advice.replace("Fix the order (order=model.orders_), or run", "Run")
    else:
        order = ",".join(str(label) for label in model.order_)
        advice = advice.replace("(order=model.orders_)", f'(--order "{order}")')
    console.print(f"\n[bold yellow]Note:[/bold yellow] {plain(advice)}")


def order_tables(console: Console, model: Any) -> None:
    """Print the most probable orders of each direction."""
    fitted = model.fitted_
    for direction in fitted.directions:
        named = f", {direction} sticks" if len(fitted.directions) > 1 else ""
        if not fitted.order_is_fixed:
            heading(console, f"Order of the classes{named}, first stick to last")
            _order_table(console, fitted, direction)
        else:
            labels = " > ".join(map(str, model.orders_[direction]))
            heading(console, f"Order of the classes{named}, fixed: {labels}")


def _order_table(console: Console, fitted: Fitted, direction: Direction) -> None:
    orders, counts = fitted.orders_by_frequency(direction)
    n_chains = len(fitted.draws.of_direction(direction))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("probability", justify="right")
    table.add_column("chains", justify="right")
    table.add_column("order")
    for order, count in zip(orders[:MOST_ORDERS], counts, strict=False):
        table.add_row(
            f"{count / counts.sum():.3f}",
            f"{fitted.n_visits(order, direction)} of {n_chains}",
            plain(fitted.order_label(order)),
        )
    console.print(table)
    rest = len(orders) - MOST_ORDERS
    if rest > 0:
        share = counts[MOST_ORDERS:].sum() / counts.sum()
        console.print(f"[dim]{rest} more with {share:.3f} in all[/dim]")


def coefficient_table(
    console: Console, model: Any, *, interval: float = 0.9, most: int | None = MOST_COEFFICIENTS
) -> int:
    """Print the coefficients with the largest effect; return how many were left out.

    The effect is that of one unit inside the model, such as a standard deviation, so
    that covariates in different units can be compared.
    """
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of several orders: their table is printed
        frame = model.summary(interval)
    if not isinstance(frame, pd.DataFrame):
        frame = frame.to_pandas()
    fitted = model.fitted_
    spread = dict(zip(fitted.feature_names, fitted.scaling.spread, strict=True))
    effect = np.array([spread.get(name, 0.0) for name in frame["feature"]]) * frame["mean"]
    if most is not None and most < len(frame):
        frame = frame.loc[effect.abs().sort_values(ascending=False, kind="stable").index[:most]]
    percent = f"{interval:.0%}" if interval * 100 % 1 < 1e-9 else f"{interval:.1%}"
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("stick", justify="right")
    table.add_column("class")
    table.add_column("covariate")
    for name in ("mean", "sd", f"{percent} from", "to"):
        table.add_column(name, justify="right")
    for row in frame.itertuples(index=False):
        clear = row.lower > 0 or row.upper < 0
        table.add_row(
            str(row.stick),
            plain(str(row[1])),
            plain(str(row.feature)),
            *(_number(value) for value in (row.mean, row.sd, row.lower, row.upper)),
            style=None if clear else "dim",
        )
    console.print(table)
    return len(effect) - len(frame)


def expert_table(console: Console, model: Any, interval: float) -> None:
    """Print how many experts and hyperplanes each class uses."""
    import pandas as pd

    frame = model.active_experts(interval)
    if not isinstance(frame, pd.DataFrame):
        frame = frame.to_pandas()
    heading(console, f"Active experts, of {model.n_experts} for each class")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    directed = "direction" in frame
    for name in (["sticks"] if directed else []) + ["class"]:
        table.add_column(name)
    for name in ("experts", f"{interval:.0%} from", "to", "hyperplanes", "is the reference"):
        table.add_column(name, justify="right")
    for row in frame.to_dict("records"):
        counts = [row[name] for name in ("experts", "lower", "upper", "hyperplanes")]
        table.add_row(
            *([row["direction"]] if directed else []),
            plain(str(row["class"])),
            *("" if np.isnan(count) else f"{count:.3g}" for count in counts),
            f"{row['reference']:.0%}",
        )
    console.print(table)


def model_report(
    console: Console,
    model: Any,
    *,
    rows: tuple[Any, Any] = (None, None),
    interval: float = 0.9,
    everything: bool = False,
) -> int:
    """Print convergence, order and what the model uses; return how much was left out.

    That is coefficients where there is one vector for each stick, else numbers of experts or
    support vectors. `rows`, covariates and classes, are those by which splits are judged.
    """
    heading(console, "Convergence")
    grid(console, convergence_rows(model))
    note(console, model)
    order_tables(console, model)
    console.print(plain(f"In words: {model.order_in_words(*rows)}"))
    if hasattr(model, "active_experts"):
        expert_table(console, model, interval)
        return 0
    if not model.fitted_.has_coefficients:
        heading(console, f"Support vectors: {model.n_hyperplanes():,.0f}")
        return 0
    which = "Coefficients" if everything else "Largest coefficients"
    given = "the fixed order" if model.fitted_.order_is_fixed else "the most probable order"
    heading(console, f"{which} under {given}")
    return coefficient_table(
        console, model, interval=interval, most=None if everything else MOST_COEFFICIENTS
    )


def _number(value: float) -> str:
    """Three or four digits, without an exponent where possible."""
    return f"{value:.3g}" if 1e-4 <= abs(value) < 1e-2 else f"{value:.4g}"
