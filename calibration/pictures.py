"""The pictures of the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calibration.uniformity import band, counts_up_to
from pasb.plots import style

COLUMNS = 3


def _panels(n: int, width: float = 3.1, height: float = 2.0):
    n_rows = -(-n // COLUMNS)
    figure = style.new_figure(width * COLUMNS, height * n_rows)
    axes = figure.subplots(n_rows, COLUMNS, squeeze=False, sharex=True, sharey=True).ravel()
    for ax in axes[n:]:
        ax.set_visible(False)
    return figure, axes[:n]


def _save(figure, path: Path, x: str, y: str) -> None:
    figure.supxlabel(x, fontsize=style.SMALL, color=style.INK)
    figure.supylabel(y, fontsize=style.SMALL, color=style.INK)
    figure.savefig(path, dpi=80, metadata={"Software": None})


def _wrapped(text: str, width: int = 42) -> str:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _difference(ranks, n_draws: int):
    """Empirical minus uniform distribution function, at every rank."""
    share = np.arange(1, n_draws + 1) / (n_draws + 1)
    return share, counts_up_to(np.asarray(ranks), n_draws) / len(ranks) - share


def _band(ax, n: int, n_draws: int) -> None:
    share = np.arange(1, n_draws + 1) / (n_draws + 1)
    low, high = band(0.05, n, n_draws)
    ax.fill_between(
        share, low / n - share, high / n - share, color=style.FAINT, linewidth=0, zorder=0
    )
    ax.axhline(0, color=style.SOFT, linewidth=0.8)


def _finish(ax, title: str) -> None:
    ax.set_title(_wrapped(title), fontsize=7.5, color=style.INK, loc="left")
    style.tidy(ax)
    ax.tick_params(labelsize=7)


def ecdf_differences(scenarios: list[dict], n_draws: int, path: Path) -> None:
    """One panel a scenario, one line a quantity, with the 95 % band of one line."""
    figure, axes = _panels(len(scenarios))
    for ax, one in zip(axes, scenarios, strict=True):
        ranks = np.array(one["ranks"])
        _band(ax, len(ranks), n_draws)
        for name, column in zip(one["quantities"], ranks.T, strict=True):
            colour = style.COLOURS[0]
            if name.startswith("p") and " at x" in name:
                colour = style.COLOURS[2]
            elif name.startswith(("position", "coef of")):
                colour = style.COLOURS[4]
            ax.plot(*_difference(column, n_draws), color=colour, linewidth=0.7, alpha=0.75)
        _finish(ax, f"{one['name']} ({len(ranks)})")
    _save(figure, path, "rank of the truth, as a share", "ECDF minus uniform")


def mistakes(results: list[dict], n_draws: int, path: Path) -> None:
    """The worst quantity of every mistake."""
    figure, axes = _panels(len(results))
    for ax, one in zip(axes, results, strict=True):
        ranks = one["sbc"]["ranks"]
        _band(ax, len(ranks), n_draws)
        colour = style.COLOURS[4] if one["sbc"]["fails"] else style.COLOURS[0]
        ax.plot(*_difference(ranks, n_draws), color=colour, linewidth=1.2)
        _finish(ax, f"{one['what']}: {one['sbc']['where']} ({len(ranks)})")
    _save(figure, path, "rank of the truth, as a share", "ECDF minus uniform")


def coverage(results: dict, path: Path) -> None:
    """Coverage against the level, with two standard errors."""
    figure, axes = _panels(len(results["cases"]), height=2.3)
    levels = np.array(results["levels"])
    for ax, one in zip(axes, results["cases"], strict=True):
        ax.axhline(0, color=style.SOFT, linewidth=0.8)
        for k, group in enumerate(("probabilities", "effects")):
            gap = np.array(one[group]) - levels
            error = 2 * np.array(one[f"{group}_error"])
            place = levels + 0.008 * (2 * k - 1)
            ax.errorbar(
                place,
                gap,
                error,
                fmt=style.marker(k),
                color=style.COLOURS[k],
                markersize=4,
                linewidth=1.2,
                label=group,
            )
        _finish(ax, f"{one['name']} ({one['n_replicates']})")
        ax.set_xticks(levels, [f"{v:.0%}" for v in levels])
    axes[0].legend(fontsize=7, frameon=False)
    _save(figure, path, "level of the interval", "coverage minus level")


def reliability(results: list[dict], names: list[str], path: Path) -> None:
    """Reliability diagrams: a panel a set, a line a model; bins of fewer than 5 rows left out."""
    sets = list(dict.fromkeys(one["data"] for one in results))
    figure, axes = _panels(len(sets), height=2.6)
    for ax, data in zip(axes, sets, strict=True):
        ax.plot([0, 1], [0, 1], color=style.SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
        for k, name in enumerate(names):
            own = [r for r in results if r["data"] == data and r["model"] == name]
            if not own:  # not run
                continue
            (one,) = own
            count = np.array(one["count"])
            held = count >= 5
            ax.plot(
                np.array(one["confidence"])[held] / count[held],
                np.array(one["right"])[held] / count[held],
                marker=style.marker(k),
                markersize=3.5,
                linewidth=1.0,
                color=style.COLOURS[k],
                label=name,
            )
        _finish(ax, f"{data} ({one['n_rows']} test rows)")
        ax.set_xlim(0.2, 1.02)
        ax.set_ylim(0.0, 1.03)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right", fontsize=8, frameon=False)
    _save(figure, path, "probability of the predicted class", "share that was right")
