"""From the facts of a report to its pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from pasb.covariates.short_labels import short_labels
from pasb.report.drawings import Panel, colour, figure, gallery
from pasb.report.markup import Html, labels
from pasb.report.values_in_words import date_ticks

MOST_PANELS = 9


def traces(facts: dict[str, Any]) -> Html:
    """The least settled quantities, draw by draw."""
    shown = []
    names = labels(trace["name"] for trace in facts["traces"])
    for name, trace in zip(names, facts["traces"], strict=True):
        panel = Panel((1, max(2, facts["draws"])), tuple(trace["limits"]), height=150, left=52)
        panel.axes("draw")
        for k, values in enumerate(trace["chains"]):
            panel.curve(facts["draw"], values, f"var(--chain-{k % 8})", "trace")
        rhat = "no R-hat" if trace["rhat"] is None else f"R-hat {trace['rhat']:.3f}"
        description = f"Traces of {trace['name']} in {facts['chains']} chains; {rhat}"
        shown.append(figure(name, rhat, panel.svg(description)))
    return gallery(shown)


def places(order: dict[str, Any], classes: list[str]) -> Html:
    """Which class sits on which stick: the shade is the probability."""
    n = len(classes)
    longest = max(len(name) for name in classes)
    left = float(np.clip(6.2 * min(longest, 22) + 14, 60, 150))
    cell = float(np.clip(300 / n, 14, 46))
    width, high = left + n * cell + 12, float(np.clip(cell, 16, 30))
    panel = Panel((0, n), (0, n), height=n * high + 42, left=left, width=max(width, 240.0))
    names = short_labels(classes, 22)
    for line, c in enumerate(order["by_place"]):
        top = 8 + line * high
        panel.write(left - 8, top + high / 2 + 4, names[c], "label end", classes[c])
        for k in range(n):
            p = order["place"][c][k]
            at = left + k * cell
            panel.parts.append(
                f'<rect class="cell" x="{at + 1:.1f}" y="{top + 1:.1f}" width="{cell - 2:.1f}" '
                f'height="{high - 2:.1f}" rx="2"/><rect x="{at + 1:.1f}" y="{top + 1:.1f}" '
                f'width="{cell - 2:.1f}" height="{high - 2:.1f}" rx="2" '
                f'style="fill:{colour(c, n)};opacity:{p:.3f}"/>'
            )
            if p >= 0.005 and cell >= 26:
                ink = "on-colour" if p > 0.55 else "label"
                words = f"{p:.0%}" if p < 0.995 else "100%"
                panel.write(at + cell / 2, top + high / 2 + 3.5, words, f"{ink} small middle")
    step = 1 if cell >= 18 else 5
    for k in range(0, n, step):
        panel.write(left + (k + 0.5) * cell, n * high + 22, k + 1, "tick middle")
    panel.write(left + n * cell / 2, n * high + 37, "stick", "name middle")
    said = "; ".join(
        f"{classes[c]} is most probably on stick {int(np.argmax(order['place'][c])) + 1} "
        f"({max(order['place'][c]):.0%})"
        for c in order["by_place"][:12]
    )
    return panel.svg(f"Probability that each class sits on each stick. {said}")


def effects(facts: dict[str, Any], classes: list[str]) -> Html:
    """One panel a class, one scale for all: the average change of its probability."""
    terms = facts["terms"]
    size = np.array([term["estimate"] for term in terms])
    reach = max(float(np.abs([[t["lower"], t["upper"]] for t in terms]).max()), 0.02) * 1.08
    chosen = np.sort(np.argsort(-np.abs(size).max(axis=0), kind="stable")[:MOST_PANELS])
    shown = []
    names, called = labels(classes), short_labels((term["term"] for term in terms), 21)
    for c in chosen:
        panel = Panel(
            (-reach, reach), (len(terms) - 0.4, -0.6), height=38 + 21 * len(terms), left=138
        )
        panel.axes("change of probability", y_ticks=[])
        panel.line(panel.x(0), 8, panel.x(0), panel.height - panel.bottom, "axis")
        for k, term in enumerate(terms):
            low, high, mid = (term[name][c] for name in ("lower", "upper", "estimate"))
            clear = low > 0 or high < 0
            paint = colour(int(c), len(classes)) if clear else "var(--soft)"
            at = panel.y(k)
            panel.write(panel.left - 8, at + 4, called[k], "label end", term["term"])
            panel.parts.append(
                f'<line class="interval" style="stroke:{paint}" x1="{panel.x(low):.1f}" '
                f'y1="{at:.1f}" x2="{panel.x(high):.1f}" y2="{at:.1f}"/>'
            )
            panel.dot(mid, k, paint, hollow=not clear)
        strongest = int(np.argmax(np.abs(size[:, c])))
        said = (
            f"Average changes of the probability of {classes[c]}; the largest is "
            f"{size[strongest, c]:+.2f} by {terms[strongest]['term']}"
        )
        shown.append(figure(names[c], "", panel.svg(said)))
    return gallery(shown)


def curves(facts: dict[str, Any], classes: list[str]) -> Html:
    """Class probabilities along the leading covariates."""
    shown = []
    terms = [curve["term"] for curve in facts["curves"]]
    names = zip(labels(terms), short_labels(terms, 40), strict=True)
    for curve, (title, axis) in zip(facts["curves"], names, strict=True):
        values = curve["value"]
        panel = Panel((values[0], values[-1]), (0, 1), height=190)
        x_ticks, x_words = date_ticks(values[0], values[-1]) if curve["dates"] else (None, None)
        panel.axes(
            axis,
            "probability",
            x_ticks=x_ticks,
            x_words=x_words,
            y_ticks=[0, 0.25, 0.5, 0.75, 1],
        )
        reach = np.ptp(np.array(curve["estimate"]), axis=1)
        chosen = np.sort(np.argsort(-reach, kind="stable")[:8])
        for c in chosen:
            panel.band(values, curve["lower"][c], curve["upper"][c], colour(int(c), len(classes)))
        for c in chosen:
            panel.curve(values, curve["estimate"][c], colour(int(c), len(classes)), "curve")
        said = "; ".join(
            f"{classes[c]} from {curve['estimate'][c][0]:.2f} to {curve['estimate'][c][-1]:.2f}"
            for c in chosen
        )
        more = f"; {len(classes) - 8} flatter classes left out" if len(classes) > 8 else ""
        shown.append(
            figure(title, f"averaged over rows{more}", panel.svg(f"{curve['term']}: {said}"))
        )
    return gallery(shown)


def calibration(facts: dict[str, Any], classes: list[str]) -> Html:
    """Observed shares against probabilities, one panel a class."""
    rows = np.array([one["rows"] for one in facts["by_class"]])
    chosen = np.sort(np.argsort(-rows, kind="stable")[:MOST_PANELS])
    shown = []
    names = labels(classes)
    for c in chosen:
        one, paint = facts["by_class"][c], colour(int(c), len(classes))
        panel = Panel((0, 1), (0, 1), height=200)
        marks = [0, 0.25, 0.5, 0.75, 1]
        panel.axes("probability given", "share observed", x_ticks=marks, y_ticks=marks)
        panel.line(panel.x(0), panel.y(0), panel.x(1), panel.y(1), "diagonal")
        most = max(one["count"])
        for k, count in enumerate(one["count"]):
            x = panel.x(one["expected"][k])
            panel.parts.append(
                f'<line class="whisker" style="stroke:{paint}" x1="{x:.1f}" x2="{x:.1f}" '
                f'y1="{panel.y(one["lower"][k]):.1f}" y2="{panel.y(one["upper"][k]):.1f}"/>'
            )
            size = 2.5 + 3.5 * float(np.sqrt(count / most))
            panel.dot(one["expected"][k], one["observed"][k], paint, size=size)
        said = (
            f"Calibration of {classes[c]}: the mean gap between probability and share is "
            f"{one['calibration']:.3f}"
        )
        detail = f"mean gap {one['calibration']:.3f}, {one['rows']:,} rows"
        shown.append(figure(names[c], detail, panel.svg(said)))
    return gallery(shown)


def legend(classes: list[str]) -> Html:
    """Which colour is which class."""
    items = "".join(
        f'<li><span class="chip" style="background:{colour(k, len(classes))}"></span>{name}</li>'
        for k, name in enumerate(labels(classes, 30))
    )
    return Html(f'<ul class="legend" aria-label="Colours of the classes">{items}</ul>')
