"""Drawings that several experiments share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasb.plots import style
from reproduction.paper.compare import SCHEMES
from reproduction.paper.table_models import TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOK = {"paper": ("s", 2), "exact": ("o", 0)}  # marker and colour of each scheme
INKS = {"blue": "#2F6DB5", "black": "#222222", "gray": "#9A9A9A"}


def dumbbells(frame: pd.DataFrame, column: str, printed: pd.DataFrame, label: str) -> Figure:
    """A panel a data set: our means of each model beside the paper's number.

    Parameters
    ----------
    frame : data frame
        Finished cells.
    column : str
        What to show of them.
    printed : data frame
        The paper's numbers: a row a data set, a column a model.
    label : str
    """
    sets = [name for name in printed.index if name in set(frame["dataset"])]
    n_rows = -(-len(sets) // 3)
    figure = style.new_figure(10.5, 0.8 + 2.7 * n_rows)
    axes = figure.subplots(n_rows, min(3, len(sets)), squeeze=False, sharey=True)
    models = [model for model in TITLES if model in printed.columns]
    heights = {model: -number for number, model in enumerate(models)}
    means = frame.groupby(["dataset", "model", "scheme"])[column].mean()
    for ax, dataset in zip(axes.flat, sets, strict=False):
        ax.scatter(
            [printed.loc[dataset, model] for model in models],
            list(heights.values()),
            s=70,
            facecolors="none",
            edgecolors=style.SOFT,
            linewidths=1.4,
            label="paper",
        )
        for scheme, title in SCHEMES.items():
            marker, colour = LOOK[scheme]
            points = [
                (value, heights[model])
                for model in models
                for value in [
                    means.get((dataset, model, scheme), means.get((dataset, model, "any")))
                ]
                if value is not None and value == value
            ]
            if points:
                x, y = zip(*points, strict=True)
                ax.scatter(x, y, s=20, marker=marker, color=style.COLOURS[colour], label=title)
        ax.set_yticks(list(heights.values()), [TITLES[model] for model in models])
        low, high = ax.get_xlim()
        ax.set_xlim(min(0.0, low), high + 0.04 * (high - low))
        style.tidy(ax, grid="both")
        style.title(ax, dataset)
    for ax in list(axes.flat)[len(sets) :]:
        ax.set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper right", ncols=3, frameon=False, fontsize=style.LABEL
    )
    figure.supxlabel(label, fontsize=style.LABEL, color=style.INK)
    return figure


def planes(
    rows: Sequence[dict[str, Any]],
    X: NDArray[np.float64],
    y: NDArray,
    classes: Sequence[str],
    names: tuple[str, str],
    inks: Sequence[str] = ("blue", "black", "gray"),
) -> Figure:
    """A row a model: log-likelihood by sweep, then a map of the probability of each class.

    Parameters
    ----------
    rows : sequence of dict
        With the keys ``title``, ``trace`` (see `reproduction.paper.plane`) and ``map``.
    X, y : arrays
        Points to show on the maps.
    classes : sequence of str
        In the order of the maps.
    names : pair of str
        Of the two covariates.
    inks : sequence of str
        Colours of the classes, as the paper calls them.
    """
    n_classes = len(classes)
    figure = style.new_figure(2.6 * (1 + n_classes) + 0.6, 0.5 + 2.15 * len(rows))
    axes = figure.subplots(
        len(rows), 1 + n_classes, squeeze=False, width_ratios=[1.25, *[1] * n_classes]
    )
    image = None
    for height, (line, row) in enumerate(zip(axes, rows, strict=True)):
        trace = row["trace"]
        line[0].plot(trace["sweep"], trace["log_likelihood"], color=style.INK, linewidth=0.8)
        low = np.quantile(trace["log_likelihood"], 0.05)
        high = max(trace["log_likelihood"])
        line[0].set_ylim(low - 0.6 * (high - low) - 1, high + 0.1 * (high - low) + 1)
        style.tidy(line[0], grid="y")
        style.title(line[0], row["title"], row.get("detail", ""))
        for number, ax in enumerate(line[1:]):
            image = _heat(ax, row["map"], number)
            for category, label in enumerate(classes):
                mine = y == label
                ax.scatter(
                    X[mine, 0],
                    X[mine, 1],
                    s=float(np.clip(1200 / len(y), 2, 10)),
                    color=INKS[inks[category]],
                    edgecolors="white",
                    linewidths=0.25,
                )
            style.tidy(ax)
            if height == 0:
                style.title(ax, f"P({classes[number]})", inks[number])
    axes[-1, 0].set_xlabel("sweep", fontsize=style.LABEL, color=style.INK)
    for ax in axes[-1, 1:]:
        ax.set_xlabel(names[0], fontsize=style.LABEL, color=style.INK)
    for trace_ax, map_ax in axes[:, :2]:
        trace_ax.set_ylabel("log-likelihood", fontsize=style.LABEL, color=style.INK)
        map_ax.set_ylabel(names[1], fontsize=style.LABEL, color=style.INK)
    if image is not None:
        bar = figure.colorbar(image, ax=axes[:, 1:].ravel().tolist(), shrink=0.6, pad=0.01)
        bar.ax.tick_params(labelsize=style.SMALL)
    return figure


def _heat(ax: Any, surface: dict[str, Any], number: int) -> Any:
    across, up = surface["x"], surface["y"]
    values = np.array(surface["probability"]).reshape(len(up), len(across), -1)
    return ax.imshow(
        values[..., number],
        origin="lower",
        extent=(across[0], across[-1], up[0], up[-1]),
        aspect="auto",
        cmap="YlOrRd",
        vmin=0,
        vmax=1,
        interpolation="bilinear",
    )
