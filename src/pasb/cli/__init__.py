"""The command line: ``pasb fit``, ``predict``, ``report``, ``summary``, ``export``, ``demo``.

Only the options live here. What the commands do is in the files beside this one, which
load when a command runs, so that ``pasb --help`` is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pasb import __version__
from pasb.cli.failures import reported
from pasb.cli.values import ClassWeight, Decimal, Missing, Model, Scale, Scheme, Storage

app = typer.Typer(
    help="Bayesian multinomial regression by permuted and augmented stick breaking.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Encoding = Annotated[
    str, typer.Option(help="Of a CSV file, e.g. latin-1 or cp1252.", show_default=True)
]
Columns = list[str] | None
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")]
Traceback = Annotated[bool, typer.Option("--traceback", hidden=True)]
ModelFile = Annotated[Path, typer.Argument(help="A model written by `pasb fit`.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pasb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def fit(
    table: Annotated[
        Path,
        typer.Argument(help="CSV, TSV (also .gz) or Parquet; a folder or 'pattern*' of Parquet."),
    ],
    target: Annotated[str, typer.Option(help="The column of class labels.")],
    out: Annotated[Path, typer.Option(help="Where to save the model, e.g. model.pasb.")],
    model: Annotated[
        Model,
        typer.Option(
            help="The binary model of each stick: logistic and robit are linear; svm (Gaussian "
            "kernel), softplus and stacked (softplus on softplus) are not."
        ),
    ] = Model.logistic,
    categorical: Annotated[
        Columns,
        typer.Option(metavar="COLUMN", help="A column of categories, e.g. codes; repeatable."),
    ] = None,
    numeric: Annotated[
        Columns, typer.Option(metavar="COLUMN", help="A column of numbers; repeatable.")
    ] = None,
    drop: Annotated[
        Columns, typer.Option(metavar="COLUMN", help="Leave out a column; repeatable.")
    ] = None,
    keep_id: Annotated[
        Columns,
        typer.Option(metavar="COLUMN", help="Use a column that looks like an id; repeatable."),
    ] = None,
    missing: Annotated[
        Missing,
        typer.Option(
            help="Gaps: fill them and add an indicator, drop their rows, or refuse the table."
        ),
    ] = Missing.indicator,
    encoding: Encoding = "utf-8",
    decimal: Annotated[
        Decimal, typer.Option(help="Decimal sign of a CSV file; by default as columns look.")
    ] = Decimal.auto,
    class_weight: Annotated[
        ClassWeight | None,
        typer.Option(help="balanced: all classes count the same (logistic, svm)."),
    ] = None,
    test: Annotated[
        float | None,
        typer.Option(metavar="FRACTION", help="Hold out this share of the rows to test on."),
    ] = None,
    experts: Annotated[
        int | None, typer.Option(min=1, help="Experts of a class (softplus, stacked); 5.")
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=1, help="Layers of an expert (softplus, stacked); 3.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="cpu; cuda for an NVIDIA GPU; blocks for Parquet larger than memory "
            "(not svm, stacked), the default there; dask, or the address of its scheduler."
        ),
    ] = None,
    storage: Annotated[
        Storage | None,
        typer.Option(help="Of covariates in blocks, cuda, dask: float32 takes half the room."),
    ] = None,
    chains: Annotated[
        int | None, typer.Option(min=1, help="Number of chains; 4, or 2 of each direction.")
    ] = None,
    warmup: Annotated[
        int | None, typer.Option(min=0, help="Sweeps of warm-up; by default as the model needs.")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Draws of each chain; by default as the model needs.")
    ] = None,
    thin: Annotated[int, typer.Option(min=1, help="Sweeps from one draw to the next.")] = 1,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="LIMITS",
            help='Stop once the draws are good enough, e.g. "rhat=1.01,ess=400"; --draws is then '
            "the most of each chain.",
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop after this time, with the draws made so far."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed gives the same draws and --test rows.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Chains at the same time; one on every core by default.")
    ] = None,
    order: Annotated[
        str, typer.Option(help='"infer", or all classes from the first stick to the last: "a,b,c".')
    ] = "infer",
    scheme: Annotated[
        Scheme, typer.Option(help="Sample orders exactly, or as the paper's algorithm does.")
    ] = Scheme.exact,
    scale: Annotated[
        Scale | None,
        typer.Option(help="Scale covariates inside: variance 1 (default), range [-1, 1], or not."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help='Prior precision of coefficients: "ard" (learnt) or a number.'),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to save to while sampling, and to resume from.")
    ] = None,
    progress: Annotated[
        bool | None,
        typer.Option("--progress/--no-progress", help="By default where a fit takes long."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page about the model too, best with --test: report.html."),
    ] = None,
    force: Force = False,
    traceback: Traceback = False,
) -> None:
    """Fit a model to a table, print what it found, and save it.

    Ctrl-C ends the sampling early and keeps the draws made so far.
    """
    from pasb.cli.fitting import Settings, fit_table
    from pasb.cli.training_table import ColumnOptions

    settings = Settings(
        model=model.value,
        experts=experts,
        layers=layers,
        engine=engine,
        storage=None if storage is None else storage.value,
        chains=chains,
        warmup=warmup,
        draws=draws,
        thin=thin,
        until=until,
        max_seconds=max_seconds,
        seed=seed,
        jobs=jobs,
        order=order,
        scheme=scheme.value,
        scale=None if scale is None else scale.value,
        precision=precision,
        checkpoint=checkpoint,
        progress="auto" if progress is None else progress,
        class_weight=None if class_weight is None else class_weight.value,
    )
    columns = ColumnOptions(
        categorical=categorical or [],
        numeric=numeric or [],
        drop=drop or [],
        keep_id=keep_id or [],
        missing=missing.value,
        encoding=encoding,
        decimal=decimal.value,
    )
    with reported(traceback):
        fit_table(table, target, out, settings, columns, test, force, report)


@app.command()
def predict(
    model: ModelFile,
    table: Annotated[Path, typer.Argument(help="A file, or a folder or 'pattern*' of Parquet.")],
    out: Annotated[
        Path | None, typer.Option(help="CSV, TSV or Parquet to write; else a look is printed.")
    ] = None,
    interval: Annotated[float, typer.Option(help="Probability of the credible intervals.")] = 0.9,
    proba: Annotated[
        bool, typer.Option("--proba/--no-proba", help="With class probabilities and intervals.")
    ] = True,
    target: Annotated[
        str | None, typer.Option(help="Column of true labels: report error and log loss too.")
    ] = None,
    id: Annotated[
        Columns,
        typer.Option(
            metavar="COLUMN",
            help="Put a column of the table before the predictions; repeatable. By default the ids "
            "that the model left out.",
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    decimal: Annotated[
        Decimal, typer.Option(help="Decimal sign of a CSV file; by default as in the fit.")
    ] = Decimal.auto,
    best_draw: Annotated[
        bool,
        typer.Option("--best-draw", help="Fast: by the draw of the highest likelihood alone."),
    ] = False,
    force: Force = False,
    traceback: Traceback = False,
) -> None:
    """Predict the classes of new rows, with probabilities and credible intervals.

    Files of any length: rows are read, predicted and written some at a time.
    """
    from pasb.cli.predicting import PredictOptions, predict_table

    options = PredictOptions(
        interval=interval,
        proba=proba,
        target=target,
        ids=id or [],
        best_draw=best_draw,
        encoding=encoding,
        decimal=None if decimal is Decimal.auto else decimal.value,
    )
    with reported(traceback):
        predict_table(model, table, out, options, force)


@app.command()
def summary(
    model: ModelFile,
    everything: Annotated[bool, typer.Option("--all", help="Show every coefficient.")] = False,
    interval: Annotated[float, typer.Option(help="Probability of the credible intervals.")] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    traceback: Traceback = False,
) -> None:
    """Print what a saved model found: convergence, order and coefficients."""
    from pasb.cli.summarising import summarise_file

    with reported(traceback):
        summarise_file(model, everything, interval, as_json)


@app.command()
def report(
    model: ModelFile,
    data: Annotated[
        Path | None,
        typer.Option(help="Rows to look at, with their classes; best rows that were held out."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    target: Annotated[
        str | None,
        typer.Option(help="The column of class labels; found by itself where only one fits."),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            help="The rows of the fit: the logistic regression to compare with then learns from "
            "the same."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    interval: Annotated[float, typer.Option(help="Probability of the credible intervals.")] = 0.9,
    encoding: Encoding = "utf-8",
    force: Force = False,
    traceback: Traceback = False,
) -> None:
    """Write a page about a saved model: draws, order, effects, scores, rows worth a look."""
    from pasb.cli.reporting import report_file

    with reported(traceback):
        report_file(
            model,
            data,
            out,
            target=target,
            train=train,
            title=title,
            interval=interval,
            encoding=encoding,
            force=force,
        )


@app.command()
def export(
    model: ModelFile,
    out: Annotated[Path, typer.Argument(help="NetCDF (.nc) or Zarr (.zarr) to write.")],
    force: Force = False,
    traceback: Traceback = False,
) -> None:
    """Write the draws of a saved model to a file that ArviZ and xarray read."""
    from pasb.cli.summarising import export_file

    with reported(traceback):
        export_file(model, out, force)


@app.command("demo")
def run_demo(  # another name than the module `pasb.cli.demo`, which it would hide
    out: Annotated[Path, typer.Option(help="Folder for the report and the picture.")] = Path(
        "pasb-demo"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws, to see that it runs.")] = (
        False
    ),
    traceback: Traceback = False,
) -> None:
    """Answer a question beside other classifiers, explain the results, and write a report."""
    from pasb.cli.demo import run

    with reported(traceback):
        run(out, quick=quick)


def main() -> None:
    """Run the command line."""
    app()
