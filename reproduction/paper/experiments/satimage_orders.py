"""Figure 4: the log-likelihoods of all 720 orders of satimage.

Chains of fixed and of inferred orders are equally long, for the likelihood grows for as long as
they have not settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pasb import datasets
from pasb.sampling.problem import Problem
from reproduction.paper import costs
from reproduction.paper.cells import SCHEMES, Cell, Context, largest
from reproduction.paper.experiments.experiment import Experiment, Results
from reproduction.paper.markdown import number, table
from reproduction.paper.prior_fallback import fitted_model
from reproduction.paper.softplus_chains import rows_of, run_chains, softplus_model
from reproduction.paper.subset import some_rows
from reproduction.paper.table_models import BUDGETS, Run, softplus
from reproduction.paper.updates import engine_for, update_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIRECTIONS = {"forward": "aSB", "reverse": "arSB"}
#: the paper's inferred orders: log-likelihood, and how many fixed orders are above it
PAPER = {"forward": (-1203.82, 20), "reverse": (-1350.21, 97)}
ORDERS = list(permutations(range(6)))
SWEEPS, KEPT = 2_000, 1_000  # of each order; the paper does not say how many it took
#: chains with inferred orders in each direction; the paper has one
INFERRED = {"smoke": 1, "quick": 2, "paper": 5}
#: orders that run on a CPU; a GPU runs all of them at once
ON_CPU = {"smoke": 1, "quick": 12, "paper": len(ORDERS)}
#: seconds of a sweep on one H200: of all orders, of one chain with inferred orders
GPU_SWEEP, GPU_INFERRED = 0.16, 5e-3


class SatimageOrders(Experiment):
    """K = 5, T = 3 with every order fixed, in both directions, and with inferred orders."""

    name = "satimage-orders"
    title = "Figure 4: all 720 orders of satimage"
    for_gpu = True

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """On a GPU all orders of a direction are one cell, on a CPU each is one."""
        out = []
        for scheme in schemes:
            for direction in DIRECTIONS:
                out += [
                    Cell(self.name, (direction, "inferred", chain), budget, scheme, seed)
                    for chain in range(INFERRED[budget])
                ]
                if engine == "cuda":
                    out.append(Cell(self.name, (direction, "all"), budget, scheme, seed))
                    continue
                # spread over all of them, the same ones in every run
                chosen = np.random.default_rng(0).permutation(len(ORDERS))[: ON_CPU[budget]]
                out += [
                    Cell(self.name, (direction, _text(ORDERS[k])), budget, scheme, seed)
                    for k in sorted(chosen)
                ]
        return out

    def seconds(self, cell: Cell) -> float:
        """On a GPU a sweep of all orders takes about as long as six on a core."""
        if cell.budget == "smoke":
            return costs.SMOKE
        sweeps = SWEEPS * BUDGETS[cell.budget].share
        if cell.what[1] == "all":
            return sweeps * GPU_SWEEP * (1.7 if cell.scheme == "paper" else 1)
        if cell.what[1] == "inferred" and cell.budget == "paper":
            return sweeps * GPU_INFERRED
        return sweeps * costs.softplus_sweep(4435, 37, 6, 15, cell.scheme)

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """Mean log-likelihood over the second half of the sweeps."""
        direction, which = cell.what[:2]
        part = datasets.load("satimage").partition(0)
        X, y = some_rows(part.X_train, part.y_train, BUDGETS[cell.budget].most_rows)
        if which == "inferred":
            return _inferred(cell, context, X, y)
        rows, classes = rows_of(X, y, cell.scheme)
        model = softplus_model(rows, 5, 3, cell.scheme)
        orders = ORDERS if which == "all" else [tuple(int(c) for c in which)]
        if which == "all" and cell.budget == "smoke":
            orders = orders[:: len(orders) // 4]
        problems = [
            Problem(
                rows,
                model,
                direction,
                scheme="paper" if cell.scheme == "paper" else "exact",
                augmented=cell.scheme == "paper",
                fixed_order=np.array(order),
            )
            for order in orders
        ]
        run = Run(cell.budget)
        ended = run_chains(
            problems,
            [ORDERS.index(order) for order in orders],
            cell.seed,
            run.sweeps(SWEEPS, least=4),
            run.sweeps(KEPT),
            context,
            context.checkpoint(cell),
        )
        if ended is None:
            return None
        return {
            "engine": context.engine,
            "update": update_of(cell.scheme, context.engine),
            "classes": classes.tolist(),
            "orders": [_text(order) for order in orders],
            "log_likelihood": ended.log_likelihood,
        }

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """A row an order and direction."""
        return {"satimage-orders.csv": _frame(results)} if results else {}

    def figure(self, results: Results) -> Figure | None:
        """Two histograms, with lines at chains with inferred orders."""
        from pasb.plots import style

        if not results:
            return None
        frame = _frame(results)
        scheme = "exact" if "exact" in set(frame["scheme"]) else "paper"
        frame = frame[frame["scheme"] == scheme]
        figure = style.new_figure(8.4, 3.2)
        for ax, (direction, title) in zip(figure.subplots(1, 2), DIRECTIONS.items(), strict=True):
            own = frame[frame["direction"] == direction]
            fixed = _sound(own.loc[own["order"] != "inferred", "log_likelihood"])
            if len(fixed):
                bins = min(40, max(5, len(fixed) // 4))
                ax.hist(fixed, bins=bins, color=style.COLOURS[5], edgecolor="white", linewidth=0.4)
            inferred = own.loc[own["order"] == "inferred", "log_likelihood"]
            lines = [ax.axvline(v, color=style.COLOURS[0], linewidth=1.4) for v in inferred]
            if lines:
                label = f"inferred orders ({len(lines)})"
                ax.legend(lines[:1], [label], fontsize=style.SMALL, frameon=False, loc="upper left")
            style.tidy(ax, grid="y")
            style.title(ax, title, f"{len(fixed)} of {len(ORDERS)} orders")
            ax.set_xlabel("mean log-likelihood", fontsize=style.LABEL, color=style.INK)
        return figure

    def section(self, results: Results) -> str:
        """How many fixed orders lie above the inferred ones."""
        if not results:
            return "Not run yet."
        frame = _frame(results)
        rows = []
        for direction, title in DIRECTIONS.items():
            value, above = PAPER[direction]
            rows.append([title, "the paper", number(value), f"{above} of 720", "-", "-", "-", "-"])
            for scheme, name in SCHEMES.items():
                own = frame[(frame["direction"] == direction) & (frame["scheme"] == scheme)]
                every = own.loc[own["order"] != "inferred", "log_likelihood"]
                fixed = _sound(every)
                inferred = own.loc[own["order"] == "inferred", "log_likelihood"].sort_values()
                if own.empty:
                    continue
                over = [str((fixed > value).sum()) for value in inferred[::-1]]
                rows.append(
                    [
                        title,
                        name,
                        ", ".join(f"{value:.0f}" for value in inferred[::-1]) or "-",
                        f"{', '.join(over)} of {len(fixed)}" if over else "-",
                        f"{fixed.min():.0f} / {fixed.median():.0f} / {fixed.max():.0f}"
                        if len(fixed)
                        else "-",
                        number(_skewness(fixed.to_numpy())),
                        str(len(every) - len(fixed)),
                        " and ".join(dict.fromkeys(own["budget"])),
                    ]
                )
        text = (
            "The paper: both histograms are skewed to the left, that is, few orders are very poor, "
            "and sampling z escapes from those. Chains with inferred orders differ in their seed; "
            "the best is first. On a CPU the budget quick runs "
            f"{ON_CPU['quick']} of the 720 orders of each direction, the same ones every time; all "
            "of them need a GPU (`--engine cuda`). Chains that diverged, until numbers were not "
            "finite or a fair die predicted better, are counted and left out."
        )
        head = ["", "scheme", "inferred orders", "fixed orders above each"]
        head += ["fixed: lowest / median / highest", "skewness", "diverged", "budget"]
        return text + "\n\n" + table(head, rows)


def _inferred(cell: Cell, context: Context, X: Any, y: Any) -> dict[str, Any] | None:
    import shutil
    import warnings

    direction, _, chain = cell.what
    checkpoint, engine = context.checkpoint(cell), engine_for(cell.scheme, context.engine)
    run = Run(
        cell.budget, cell.scheme, cell.seed + chain, context.n_jobs, checkpoint, [context.over]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, prior = fitted_model(
            run._replace(engine=engine),
            lambda run: softplus(
                run, 5, 3, direction=direction, **run.schedule(SWEEPS, SWEEPS - KEPT)
            ),
            X,
            y,
        )
    if model.draws_.interrupted:
        return None
    shutil.rmtree(checkpoint, ignore_errors=True)
    return {
        "engine": engine,
        "update": update_of(cell.scheme, engine),
        "prior": prior,
        "classes": model.classes_.tolist(),
        "orders": ["inferred"],
        "log_likelihood": [float(model.draws_.log_likelihood.mean())],
        "order": _text(model.fitted_.top_order(direction)),
    }


def _sound(values: pd.Series) -> pd.Series:
    """Without those of chains that diverged: not finite, or worse than a fair die."""
    rows, _, _, categories = costs.SHAPES["satimage"]
    return values[values > -rows * np.log(categories)]


def _skewness(values: np.ndarray) -> float:
    spread = values.std() if len(values) > 2 else float("nan")
    return float(np.mean((values - values.mean()) ** 3) / spread**3) if spread > 0 else spread


def _text(order: Any) -> str:
    """An order as digits: the category on each stick, counted from 0."""
    return "".join(str(int(category)) for category in order)


def _frame(results: Results) -> pd.DataFrame:
    rows = [
        {
            "direction": result["what"][0],
            "scheme": result["scheme"],
            "order": order,
            "chain": result["what"][2] if order == "inferred" else 0,
            "log_likelihood": value,
            "budget": result["budget"],
            "engine": result["engine"],
            "seed": result["seed"],
            "version": result["version"],
        }
        for result in results
        for order, value in zip(result["orders"], result["log_likelihood"], strict=True)
    ]
    names = ["direction", "scheme", "order", "chain"]
    best = largest(rows, lambda row: tuple(row[name] for name in names))
    return pd.DataFrame(best).sort_values(names, ignore_index=True)
