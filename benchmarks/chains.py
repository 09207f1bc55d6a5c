"""How many chains a softplus model needs: test log loss, and the error of its probabilities.

``python benchmarks/chains.py [SET ...]`` fits one model of 16 chains of each direction to a set and
averages 1, 2, 4, 8 and all of them, over as many groups of chains as there are. The error is that
of `diagnostics_.usual_error`, of all test rows. ``python benchmarks/chains.py RESULT.json`` draws
the curves of a result into docs/images/chains.png.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss

from pasb import SoftplusClassifier, datasets
from pasb.posterior.chain_error import ChainError
from report import write

SETS = ("iris", "wine", "glass", "vehicle")
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "chains.png"


def means_of_chains(model: SoftplusClassifier, X: np.ndarray) -> list[np.ndarray]:
    """Posterior means of each chain (chain, row, class), by direction."""
    fitted = model.fitted_
    inner = fitted.inner_rows(X)[:]
    each = [
        replace(fitted, draws=fitted.draws.of_chain(k)).predictor().mean(inner)
        for k in range(fitted.draws.n_chains)
    ]
    return [np.array(each)[fitted.draws.of_direction(name)] for name in fitted.directions]


def of_set(
    name: str, n_chains: int, n_warmup: int | str, n_draws: int | str
) -> dict[str, dict[str, float]]:
    part = datasets.load(name).partition(0)
    model = SoftplusClassifier(
        n_chains=n_chains, n_warmup=n_warmup, n_draws=n_draws, random_state=0, progress=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(part.X_train, part.y_train)
    return curve(means_of_chains(model, part.X_test), part.y_test, model.classes_)


def curve(means: list[np.ndarray], y: np.ndarray, classes: np.ndarray) -> dict:
    """Log loss and error by the number of chains of each direction, averaged over groups."""
    figures, n_chains = {}, len(means[0])
    sizes = [2**k for k in range(n_chains.bit_length()) if 2**k <= n_chains]
    for size in sizes:
        groups = [[own[k : k + size] for own in means] for k in range(0, n_chains - size + 1, size)]
        losses = [
            log_loss(y, np.mean([own.mean(axis=0) for own in group], axis=0), labels=classes)
            for group in groups
        ]
        figures[f"{size} of each"] = {
            "groups": len(groups),
            "log loss": float(np.mean(losses)),
            "lowest": float(np.min(losses)),
            "highest": float(np.max(losses)),
        }
        if size > 1:
            errors = [
                ChainError.of_average([ChainError.of(own) for own in group]).usual()
                for group in groups
            ]
            figures[f"{size} of each"]["error"] = float(np.mean(errors))
    return figures


def draw(result: dict, path: Path = PICTURE) -> None:
    """The curves of a result as a picture: log loss on the left, the error on the right."""
    from pasb.plots import style

    figure = style.new_figure(8.0, 3.4)
    left, right = figure.subplots(1, 2)
    names = [name for name in SETS if "1 of each" in result.get(name, {})]
    for name, colour in zip(names, style.colours(len(names)), strict=True):
        rows = {int(key.split()[0]): row for key, row in result[name].items()}
        sizes = sorted(rows)
        final = rows[sizes[-1]]["log loss"]
        middle, low, high = (
            [rows[n][key] - final for n in sizes] for key in ("log loss", "lowest", "highest")
        )
        left.plot(sizes, middle, "o-", color=colour, label=name)
        left.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
        known = [n for n in sizes if "error" in rows[n]]
        right.plot(known, [rows[n]["error"] for n in known], "o-", color=colour, label=name)
    right.axhline(0.02, color=style.SOFT, linewidth=0.8, linestyle="--")
    right.set_yscale("log")
    titles = "Test log loss, above that of all chains", "Standard error, 95 % of rows"
    for ax, text in zip((left, right), titles, strict=True):
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:.0f}")
        ax.set_xlabel("chains of each direction")
        style.tidy(ax, grid="y")
        style.title(ax, text)
    left.legend(frameon=False)
    figure.savefig(path, dpi=130)
    print(f"drawn to {path}")


def length(text: str) -> int | str:
    """Sweeps or draws, as `SoftplusClassifier` takes them."""
    return text if text == "auto" else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SET or RESULT.json", help=", ".join(SETS))
    parser.add_argument("--chains", type=int, default=16, help="of each direction")
    parser.add_argument("--warmup", type=length, default="auto")
    parser.add_argument("--draws", type=length, default="auto")
    parser.add_argument("--to", metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    if given.names and given.names[0].endswith(".json"):
        draw(json.loads(Path(given.names[0]).read_text()))
        return
    settings = {"n_chains": given.chains, "n_warmup": given.warmup, "n_draws": given.draws}
    parts = {name: partial(of_set, name, **settings) for name in SETS}
    write(parts, given.names or list(parts), "chains-", given.to)


if __name__ == "__main__":
    main()
