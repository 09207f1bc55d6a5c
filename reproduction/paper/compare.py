"""Our error rates beside the published ones, with intervals and verdicts.

Errors are shares of test rows, so their noise is binomial; where partitions are random, the choice
of the training rows adds to it (`partition_spread`). That of a difference has two parts: the
paper's, over its test rows (those of all five partitions of iris, wine and glass, of one
partition of the other sets), and ours, over our partitions. Cells of the budget smoke are shown
and not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reproduction.paper.cells import ANY, SCHEMES
from reproduction.paper.costs import SHAPES
from reproduction.paper.markdown import anchor, number, table
from reproduction.paper.table_models import BUDGETS, MODELS, TITLES, WITHOUT_SCHEME
from reproduction.paper.updates import OURS

PUBLISHED_PARTITIONS = {"iris": 5, "wine": 5, "glass": 5}
LIMIT = 2.0  # standard errors
#: sections of method.md that have looked into a data set, or into one of its cells
EXPLAINED = {
    "glass": "Glass",
    "dna, dt_msr": "The stacked model on dna",
    "dna, amm": "The multi-hyperplane machine on dna",
    "segment, pasb_mlr": "Seeds as printed",
    **{f"waveform, {model}": "One order or all" for model in MODELS if model not in WITHOUT_SCHEME},
    **{f"satimage, {model}": "Satimage" for model in MODELS if model not in WITHOUT_SCHEME},
}
#: the same of the algorithm as printed, by model
EXPLAINED_AS_PRINTED = dict.fromkeys(("pasb_mlr", "pasb_robit_k6", "pasb_msvm"), "Seeds as printed")


def standard_error(percent: float, n: float) -> float:
    """Binomial standard error of an error rate in per cent; that of one error for none."""
    p = np.clip(percent / 100, 1 / n, 1 - 1 / n)
    return float(100 * np.sqrt(p * (1 - p) / n))


def against_published(
    frame: pd.DataFrame, column: str, printed: Mapping[tuple[str, str], float]
) -> pd.DataFrame:
    """A row for every published cell, whether we have it or not.

    Parameters
    ----------
    frame : data frame
        Finished cells: dataset, model, scheme, partition, budget, n_test and `column`.
    column : str
        An error rate in per cent.
    printed : mapping
        The paper's, by data set and model.

    Returns
    -------
    data frame
        Columns ``dataset, model, published, published_se, spread``, and for each of `SCHEMES` its
        mean over partitions, ``_se``, ``_z`` (difference in standard errors), ``_strict`` (the
        same in those of binomial noise alone), ``_low``, ``_high``, ``_n`` (partitions) and
        ``_budget``.
    """
    known = frame.dropna(subset=[column])
    groups: dict[Any, pd.DataFrame] = dict(list(known.groupby(["dataset", "model", "scheme"])))
    spreads = {name: partition_spread(own, column) for name, own in known.groupby("dataset")}
    rows = []
    for (dataset, model), value in printed.items():
        spread, n = spreads.get(dataset, 0.0), PUBLISHED_PARTITIONS.get(dataset, 1)
        binomial = standard_error(value, n * SHAPES[dataset][1])
        row: dict[str, Any] = {"dataset": dataset, "model": model, "published": value}
        row["published_se"] = float(np.hypot(binomial, spread / np.sqrt(n)))
        row["spread"] = spread
        for scheme in SCHEMES:
            part = groups.get((dataset, model, scheme), groups.get((dataset, model, ANY)))
            row |= _of_scheme(scheme, part, column, row, binomial)
        rows.append(row)
    return pd.DataFrame(rows)


def _of_scheme(
    scheme: str, part: pd.DataFrame | None, column: str, paper: dict[str, Any], binomial: float
) -> dict[str, object]:
    if part is None:
        return {f"{scheme}_{name}": np.nan for name in ("mean", "se", "z", "strict", "n")}
    mean = float(part[column].mean())
    own_binomial = standard_error(mean, float(part["n_test"].sum()))
    own = float(np.hypot(own_binomial, paper["spread"] / np.sqrt(len(part))))
    difference = mean - paper["published"]
    budgets = [name for name in BUDGETS if name in set(part["budget"])]
    judged = 1.0 if "smoke" not in budgets else float("nan")  # a few sweeps on a few rows
    return {
        f"{scheme}_mean": mean,
        f"{scheme}_se": own,
        f"{scheme}_z": judged * difference / np.hypot(own, paper["published_se"]),
        f"{scheme}_strict": judged * difference / np.hypot(own_binomial, binomial),
        f"{scheme}_low": float(part[column].min()),
        f"{scheme}_high": float(part[column].max()),
        f"{scheme}_n": len(part),
        f"{scheme}_fallbacks": int(((part["scheme"] == "paper") & (part["prior"] == "ours")).sum()),
        f"{scheme}_ours": int(((part["scheme"] == "paper") & (part["update"] == OURS)).sum()),
        f"{scheme}_budget": " and ".join(budgets),
    }


def verdict(z: float) -> str:
    """In a word."""
    if z != z:
        return "not judged"
    return "worse" if z > LIMIT else "better" if z < -LIMIT else "agrees"


def overview(cells: pd.DataFrame, what: str) -> str:
    """How many cells agree."""
    head = ["", "judged", f"better by more than {LIMIT:g} SE", f"within {LIMIT:g} SE", "worse"]
    head += [f"within {LIMIT:g} SE of binomial noise alone, or better"]
    rows = []
    for scheme, title in SCHEMES.items():
        z, strict = cells[f"{scheme}_z"], cells[f"{scheme}_strict"]
        run = z.notna()
        rows.append(
            [
                title,
                f"{run.sum()} of {len(cells)} {what}",
                (z < -LIMIT).sum(),
                (z.abs() <= LIMIT).sum(),
                (z > LIMIT).sum(),
                f"{(strict <= LIMIT).sum()} of {run.sum()}",
            ]
        )
    return table(head, rows)


def row_verdicts(cells: pd.DataFrame) -> str:
    """Each data set: the best of the paper's row against the best of ours."""
    rows = []
    for dataset, part in cells.groupby("dataset", sort=False):
        every: list[dict[Any, Any]] = part.to_dict("records")
        best = min(every, key=lambda cell: cell["published"])
        row = [dataset, f"{best['published']:.2f} ({TITLES[best['model']]})"]
        for scheme in SCHEMES:
            have = [cell for cell in every if cell[f"{scheme}_z"] == cell[f"{scheme}_z"]]
            if not have:
                row += ["-", "not judged"]
                continue
            ours = min(have, key=lambda cell: cell[f"{scheme}_mean"])
            mean, se = ours[f"{scheme}_mean"], ours[f"{scheme}_se"]
            z = (mean - best["published"]) / np.hypot(se, best["published_se"])
            held = sum(cell[f"{scheme}_z"] <= LIMIT for cell in have)
            word = "as good or better" if z <= LIMIT else "worse"
            if z > LIMIT and len(have) < len(every):
                word = f"open, {len(have)} of {len(every)} models run"
            row.append(f"{mean:.2f} ± {se:.2f} ({TITLES[ours['model']]})")
            row.append(f"{word}; {held} of {len(have)} cells hold")
        rows.append(row)
    head = ["data", "best of the paper's row"]
    head += [text for title in SCHEMES.values() for text in (f"best, {title}", "verdict")]
    return table(head, rows)


def detail(cells: pd.DataFrame) -> str:
    """Every cell, a table a data set.

    With a dagger where the paper's prior broke down, with two where a fit as printed is by our own
    update.
    """
    head = ["model", "paper"]
    for title in SCHEMES.values():
        head += [title, "verdict", "budget (partitions)"]
    parts = []
    for dataset, part in cells.groupby("dataset", sort=False):
        rows = []
        for _, cell in part.iterrows():
            row = [TITLES[cell["model"]], f"{cell['published']:.2f} ± {cell['published_se']:.2f}"]
            for scheme in SCHEMES:
                z = cell[f"{scheme}_z"]
                if not cell[f"{scheme}_n"] > 0:
                    row += ["-", "not run", "-"]
                    continue
                mark = " †" if cell[f"{scheme}_fallbacks"] > 0 else ""
                mark += " ‡" if cell[f"{scheme}_ours"] > 0 else ""
                row.append(f"{cell[f'{scheme}_mean']:.2f} ± {cell[f'{scheme}_se']:.2f}{mark}")
                row.append(verdict(z) + ("" if z != z else f" ({z:+.1f})"))
                row.append(f"{cell[f'{scheme}_budget']} ({cell[f'{scheme}_n']:.0f})")
            rows.append(row)
        parts.append(f"**{dataset}**\n\n{table(head, rows)}")
    broken = int(cells["paper_fallbacks"].fillna(0).sum()) if "paper_fallbacks" in cells else 0
    if broken:
        parts.append(
            f"† In {broken} fits coefficients diverged under the paper's nearly improper prior "
            "until numbers were not finite; these are by the printed algorithm with our prior."
        )
    if "paper_ours" in cells and cells["paper_ours"].fillna(0).sum():
        parts.append(
            "‡ By our own update of softplus regression (first arrivals); the other softplus cells "
            "as printed are by the printed one."
        )
    return "\n\n".join(parts)


def explanations(cells: pd.DataFrame, frame: pd.DataFrame, column: str) -> str:
    """What was measured of the cells outside their intervals."""
    lines = []
    for _, cell in cells.iterrows():
        for scheme, title in SCHEMES.items():
            z = cell[f"{scheme}_z"]
            if not abs(z) > LIMIT:
                continue
            name = f"{cell['dataset']}, {TITLES[cell['model']]}, {title}"
            lines.append(f"- {name} ({z:+.1f} SE): {_measured(cell, scheme, frame, column)}")
    if not lines:
        return ""
    return "### Cells outside their intervals, and what was measured of them\n\n" + "\n".join(lines)


def partition_spread(frame: pd.DataFrame, column: str) -> float:
    """Standard deviation between partitions beyond binomial noise, all models of a set together.

    It comes from the choice of the training rows, which binomial noise does not include. No
    value of the column is missing.
    """
    excess = []
    for _, part in frame.groupby(["model", "scheme"]):
        if len(part) > 1:
            noise = [
                standard_error(e, n) for e, n in zip(part[column], part["n_test"], strict=True)
            ]
            excess.append(part[column].var() - np.mean(np.square(noise)))
    return float(np.sqrt(max(0.0, np.mean(excess)))) if excess else 0.0


def _measured(cell: pd.Series, scheme: str, frame: pd.DataFrame, column: str) -> str:
    facts = [f"{cell[f'{scheme}_mean']:.2f} against {cell['published']:.2f}"]
    if cell[f"{scheme}_n"] > 1:
        low, high = cell[f"{scheme}_low"], cell[f"{scheme}_high"]
        inside = "within" if low <= cell["published"] <= high else "outside"
        facts.append(
            f"our partitions range from {low:.2f} to {high:.2f}, the paper's number is {inside}"
        )
    if cell["spread"] > 0:
        z = cell[f"{scheme}_strict"]
        facts.append(
            f"partitions spread by {cell['spread']:.2f}; by binomial noise alone {z:+.1f} SE"
        )
    other = "exact" if scheme == "paper" else "paper"
    own = frame[(frame["dataset"] == cell["dataset"]) & (frame["model"] == cell["model"])]
    if (own["scheme"] != ANY).any() and cell[f"{other}_mean"] == cell[f"{other}_mean"]:
        facts.append(f"{SCHEMES[other]}: {cell[f'{other}_mean']:.2f}")
    mine = own[own["scheme"].isin([scheme, ANY])]
    if mine["worst_rhat"].notna().any():
        facts.append(f"worst R-hat of the chain {number(mine['worst_rhat'].mean())}")
    if column == "best_draw_error":
        facts.append(f"all draws: {mine['error'].mean():.2f}")
    if "quick" in str(cell[f"{scheme}_budget"]):
        facts.append(f"budget {cell[f'{scheme}_budget']}, not the paper's sweeps")
    dataset, model = cell["dataset"], cell["model"]
    sections = [EXPLAINED.get(dataset), EXPLAINED.get(f"{dataset}, {model}")]
    if scheme == "paper":
        sections.append(EXPLAINED_AS_PRINTED.get(model))
    links = [f"[{name}](method.md#{anchor(name)})" for name in dict.fromkeys(sections) if name]
    if links:
        facts.append(f"see {' and '.join(links)}")
    return "; ".join(facts) + "."
