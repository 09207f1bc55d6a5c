"""The command ``python -m reproduction``: the tables and figures of the paper."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pasb.cli.failures import FAILED, reported
from reproduction.paper.packed_cells import COMMITTED

app = typer.Typer(
    help="Reproduce the tables and figures of the paper.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

FOLDER = Path("paper-results")


class Budget(StrEnum):
    """How long to run."""

    smoke = "smoke"
    quick = "quick"
    paper = "paper"


class Schemes(StrEnum):
    """Which algorithm."""

    paper = "paper"
    exact = "exact"
    both = "both"


class Engine(StrEnum):
    """Which machine."""

    cpu = "cpu"
    cuda = "cuda"


Folder = Annotated[Path, typer.Option(help="Where finished cells are kept.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Traceback = Annotated[bool, typer.Option("--traceback", hidden=True)]


@app.command("list")
def list_experiments(traceback: Traceback = False) -> None:
    """List the experiments, and about how long they take."""
    from rich.table import Table

    from pasb.cli.printing import console
    from reproduction.paper.experiment_runs import table_of_experiments

    with reported(traceback):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("name", "what", "smoke", "quick", "paper"):
            table.add_column(column, justify="left" if column in ("name", "what") else "right")
        for name, title, hours in table_of_experiments():
            times = [
                f"{3600 * h:.0f} s" if h < 0.02 else f"{60 * h:.0f} min" if h < 1 else f"{h:.1f} h"
                for h in hours.values()
            ]
            table.add_row(name, title, *times)
        console().print(table)
        console().print(
            "\nBoth schemes on one core; square101 and satimage-orders at budget paper on a GPU. "
            "best-draw and active-experts share the fits of error-rates, expert-weights those of "
            "square.",
            style="dim",
        )


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="One of `python -m reproduction list`, or all.")],
    budget: Annotated[
        Budget, typer.Option(help="The paper's sweeps, a tenth of them, or just to see it run.")
    ] = Budget.quick,
    scheme: Annotated[
        Schemes, typer.Option(help="The algorithm as printed, our defaults (exact), or both.")
    ] = Schemes.both,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    engine: Annotated[Engine, typer.Option(help="Where softplus models run.")] = Engine.cpu,
    deadline: Annotated[
        float | None,
        typer.Option(metavar="MINUTES", help="Stop in time; the same command continues later."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="Only cells with this in their names; several: with all of them."
        ),
    ] = None,
    folder: Folder = FOLDER,
    seed: Seed = 0,
    traceback: Traceback = False,
) -> None:
    """Run an experiment, and write its table (CSV) and figure (PNG) into the folder.

    Finished cells are kept: Ctrl-C loses nothing but what was running.
    """
    from reproduction.paper import experiment_runs

    with reported(traceback):
        names = experiment_runs.checked_names(name)
        schemes = ("paper", "exact") if scheme is Schemes.both else (scheme.value,)
        context = experiment_runs.context_of(folder, deadline, engine.value)
        cells = experiment_runs.cells_of(names, budget.value, schemes, seed, engine.value)
        for text in only or []:
            cells = [cell for cell in cells if text in cell.name]
        if only and not cells:
            texts = " and ".join(map(repr, only))
            raise ValueError(
                f"--only: no cell of {name} has {texts} in its name; "
                "`python -m reproduction list` has the experiments, and names look like "
                "vehicle-msr_k5_t3-0-quick-exact-0"
            )
        if experiment_runs.run(names, cells, context, jobs).n_failed:
            raise typer.Exit(FAILED)


@app.command()
def pack(
    folder: Folder = FOLDER,
    into: Annotated[Path, typer.Option(help="The committed cells.")] = COMMITTED,
    traceback: Traceback = False,
) -> None:
    """Add the finished cells of runs to the committed ones, from which the report is written."""
    from reproduction.paper.cells import pack as pack_cells
    from reproduction.paper.experiments import EXPERIMENTS

    with reported(traceback):
        for name in EXPERIMENTS:
            written = pack_cells(folder, name, into)
            if written is not None:
                typer.echo(written)


@app.command()
def report(
    folder: Annotated[
        Path, typer.Option(help="Where finished cells are; by default the committed ones.")
    ] = COMMITTED,
    out: Annotated[Path, typer.Option(help="The Markdown file.")] = Path("docs/paper.md"),
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Write the section of this experiment again, and keep the others."
        ),
    ] = None,
    seed: Seed = 0,
    traceback: Traceback = False,
) -> None:
    """Write the report: every number of the paper beside ours, from finished cells."""
    from reproduction.paper import experiment_runs
    from reproduction.paper.report_page import write_report

    with reported(traceback):
        names = [known for name in only or [] for known in experiment_runs.checked_names(name)]
        typer.echo(write_report(folder, out, seed, names))
