"""Sections of a report, each from its facts."""

from __future__ import annotations

from typing import Any

from pasb.report import pictures_of_facts as pictures
from pasb.report.drawings import colour, figure
from pasb.report.markup import (
    Html,
    details,
    labels,
    number,
    paragraph,
    percent,
    shortened,
    table,
    text,
)
from pasb.report.prior_facts import prior_lines

MOST_SHADED = 12  # classes up to which the table of precedence is shown
ONE_LINE = 24  # letters of a change that is not broken into lines


def _joined(*parts: str) -> Html:
    return Html("".join(parts))


def _pairs(rows: list[tuple[str, Any]]) -> Html:
    items = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in rows)
    return Html(f"<dl>{items}</dl>")


def model_section(facts: dict[str, Any]) -> Html:
    """What was fitted."""
    names, counts = facts["classes"], facts["training_rows"]
    classes = ", ".join(
        f"{name} ({counts[k]:,})" if counts else name for k, name in enumerate(labels(names))
    )
    covariates = ", ".join(labels(facts["covariates"]))
    rest = facts["n_covariates"] - len(facts["covariates"])
    settings = ", ".join(f"{name}={value}" for name, value in facts["settings"].items())
    priors = Html("<br>".join(str(text(line)) for line in prior_lines(facts["priors"])))
    rows = [
        ("model", facts["name"]),
        ("on each stick", facts["sticks"]),
        ("classes", Html(classes + (": rows of the fit in brackets" if counts else ""))),
        ("covariates", Html(covariates + (f" and {rest:,} more" if rest else "") or "none")),
        *[(kind, content) for kind, content in facts["columns"]],
        ("settings", settings or "the defaults"),
        *([("priors", priors)] if priors else []),
    ]
    if facts["before"] and not facts["columns"]:
        rows.insert(1, ("before it", ", ".join(facts["before"])))
    return _joined(
        paragraph(
            "The classes sit on sticks, one after the other. Each stick is a binary regression "
            "that takes its class or passes the row on; which class sits where is inferred "
            "together with the coefficients."
        ),
        _pairs(rows),
    )


def draw_section(facts: dict[str, Any]) -> Html:
    """Whether the chains agree."""
    good = facts["good"]
    rows = [
        ("R-hat, the worst", number(facts["rhat"], ".3f"), f"at most {facts['rhat_limit']:g}"),
        (
            "effective sample size, the smallest",
            number(facts["ess"], ",.0f"),
            f"at least {facts['ess_limit']:g}",
        ),
        (
            "standard error of averaged probabilities, 95 % of rows",
            number(facts["usual_error"], ".4f"),
            "at most 0.02",
        ),
    ]
    return _joined(
        paragraph(facts["in_words"], kind="verdict" if good else "verdict bad"),
        paragraph(facts["compact"], kind="note") if facts["compact"] else Html(""),
        table(
            "How good the draws are",
            ["quantity", "found", "wanted"],
            rows,
            numbers=[1],
        ),
        paragraph(
            "Below, the log-likelihood and the class probabilities that settled least, one colour "
            "a chain. Chains that agree look like one band."
        ),
        pictures.traces(facts),
    )


def order_section(facts: dict[str, Any], classes: list[str]) -> Html:
    """Who is split off first."""
    parts = [paragraph(facts["in_words"])]
    if facts["fixed"]:
        parts.append(paragraph("The order was fixed by the user, not inferred.", kind="note"))
    for one in facts["directions"]:
        named = f", {one['direction']} sticks" if len(facts["directions"]) > 1 else ""
        parts.append(
            figure(
                f"Which class sits on which stick{named}",
                "shade and figure: posterior probability",
                pictures.places(one, classes),
                wide=True,
            )
        )
        if facts["fixed"]:
            continue
        orders = map(shortened, one["orders"], one["lines"])
        rows = [
            [
                order,
                Html(f'<span class="bar" style="width:{90 * p:.0f}px"></span>{p:.1%}'),
                f"{visits} of {one['n_chains']}",
            ]
            for order, p, visits in zip(orders, one["probability"], one["chains"], strict=True)
        ]
        caption = f"The most probable orders{named}, first stick to last"
        parts.append(table(caption, ["order", "probability", "chains"], rows, numbers=[2]))
        more = one["n_orders"] - len(rows)
        if more > 0:
            parts.append(
                paragraph(f"{more:,} more orders have {one['rest']:.1%} in all.", kind="note")
            )
        if len(classes) <= MOST_SHADED:
            parts.append(_before(one, classes, named))
    return _joined(*parts)


def _before(one: dict[str, Any], classes: list[str], named: str) -> Html:
    order = one["by_place"]
    rows, styles, names = [], [], labels(classes)
    for a in order:
        line = [one["before"][a][b] for b in order]
        rows.append([names[a], *("" if p is None else f"{p:.2f}" for p in line)])
        styles.append(["" if p is None else _shade("var(--accent)", p) for p in line])
    return details(
        f"Every pair of classes{named}",
        table(
            "Probability that the class of the row sits before that of the column",
            ["", *(names[b] for b in order)],
            rows,
            numbers=range(1, len(classes) + 1),
            styles=styles,
        ),
    )


def _shade(paint: str, p: float, most: float = 32.0) -> str:
    return f"background:color-mix(in srgb, {paint} {most * p:.0f}%, transparent)"


def effect_section(facts: dict[str, Any], classes: list[str]) -> Html:
    """What the leading covariates do."""
    terms = facts["terms"]
    rows = []
    called = labels(term["term"] for term in terms)
    for covariate, term in zip(called, terms, strict=True):
        change = term["change"]
        if len(change) <= ONE_LINE:
            change = change.replace(" ", "\N{NO-BREAK SPACE}")
        for c, name in enumerate(labels(classes)):
            low, high, mid = (term[key][c] for key in ("lower", "upper", "estimate"))
            cells = [f"{mid:+.3f}", f"{low:+.3f} to {high:+.3f}"]
            rows.append([covariate, change, name, *cells])
    left = len(classes) - pictures.MOST_PANELS
    note = f" {left} classes that change least are in the table only." if left > 0 else ""
    lead = (
        f"Each line: how much the probability of a class changes, averaged over "
        f"{facts['rows']:,} rows, when one covariate goes from a standard deviation below its mean "
        f"to one above (or from one level to another) and the others stay as they are. Bars are "
        f"{facts['interval']:.0%} credible intervals; grey and hollow where they include zero. All "
        f"panels have one scale. Shown are the {len(terms)} largest of {facts['n_changes']:,} "
        f"changes.{note}"
    )
    parts = [paragraph(lead), pictures.effects(facts, classes)]
    if facts["curves"]:
        parts += [
            Html("<h3>Along the leading covariates</h3>"),
            pictures.legend(classes),
            pictures.curves(facts, classes),
        ]
    parts.append(
        details(
            "All figures",
            table(
                f"Average changes with {facts['interval']:.0%} intervals",
                ["covariate", "from → to", "class", "change", "interval"],
                rows,
                numbers=[3, 4],
            ),
        )
    )
    return _joined(*parts)


def score_section(facts: dict[str, Any], data: dict[str, Any], classes: list[str]) -> Html:
    """Scores, confusion and calibration."""
    names, short = labels(classes), labels(classes, 30)
    rows = [
        [
            Html(f'<span class="chip" style="background:{colour(k, len(classes))}"></span>{name}'),
            f"{one['rows']:,}",
            percent(one["recall"]),
            percent(one["precision"]),
            number(one["calibration"], ".3f"),
        ]
        for k, (name, one) in enumerate(zip(names, facts["by_class"], strict=True))
    ]
    parts = [
        paragraph(
            f"{data['rows']:,} rows; probabilities are posterior means over {data['draws']:,} "
            f"draws{'; a class that is not available to a row has 0' * data['availability']}."
        ),
        table(
            "By class: found is the share of its rows that are predicted so; right, the share of "
            "predictions of it that are right; gap, how far probabilities are from shares",
            ["class", "rows", "found", "right", "gap"],
            rows,
            numbers=[1, 2, 3, 4],
        ),
    ]
    if facts["confusion"] is not None:
        shown, styles = [], []
        for k, line in enumerate(facts["confusion"]):
            total = max(1, sum(line))
            shown.append([short[k], *(f"{n:,}" if n else "·" for n in line)])
            styles.append(
                [
                    _shade("var(--good)" if j == k else "var(--bad)", n / total, 55) if n else ""
                    for j, n in enumerate(line)
                ]
            )
        parts.append(
            table(
                "Confusion: true class in rows, predicted class in columns",
                ["true class", *short],
                shown,
                numbers=range(1, len(classes) + 1),
                styles=styles,
            )
        )
    if facts["confused"]:
        named = dict(zip(classes, names, strict=True))
        pairs = [
            [named[pair["truth"]], named[pair["prediction"]], f"{pair['rows']:,}"]
            for pair in facts["confused"]
        ]
        confused = table(
            "The most frequent mistakes", ["true class", "predicted", "rows"], pairs, numbers=[2]
        )
        parts.append(confused if facts["confusion"] is None else details("Mistakes", confused))
    left = len(classes) - pictures.MOST_PANELS
    note = f" The {left} classes with the fewest rows are in the table only." if left > 0 else ""
    parts += [
        Html("<h3>Do probabilities mean what they say?</h3>"),
        paragraph(
            "For each class, rows are put into ten bins by the probability they were given. On the "
            "diagonal, of rows that were given 30 %, 30 % are of that class. Bars are 90 % "
            f"intervals; larger points stand for more rows.{note}"
        ),
        pictures.calibration(facts, classes),
    ]
    return _joined(*parts)


def row_section(facts: dict[str, Any], classes: list[str]) -> Html:
    """Doubtful and surprising rows."""
    interval = f"{facts['interval']:.0%}"
    names, ids = labels(classes, 30), labels(facts["ids"], 30)
    listed = [*facts["doubtful"], *facts.get("surprising", ())]
    columns = [labels(values, 30) for values in zip(*(one["ids"] for one in listed), strict=True)]
    keys = {id(one): [column[k] for column in columns] for k, one in enumerate(listed)}

    def cells(one: dict[str, Any]) -> list[Any]:
        return [names[one["class"]], f"{one['p']:.2f}", f"{one['lower']:.2f} to {one['upper']:.2f}"]

    def called(one: dict[str, Any]) -> list[Any]:
        return [f"{one['row']:,}", *keys[id(one)]]

    right = [0, *(k + len(ids) for k in (2, 3, 5))]
    head = ["row", *ids, "predicted", "probability", f"{interval} interval"]
    truth = bool(facts["doubtful"]) and "truth" in facts["doubtful"][0]
    rows = [
        [
            *called(one),
            *cells(one["prediction"]),
            *cells(one["runner_up"])[:2],
            *([names[one["truth"]["class"]]] if truth else []),
        ]
        for one in facts["doubtful"]
    ]
    doubtful = table(
        "Doubtful: two classes are nearly as probable. A wide interval says that more data might "
        "decide; a narrow one, that these covariates cannot",
        [*head, "runner-up", "probability", *(["truth"] if truth else [])],
        rows,
        numbers=right,
    )
    lead = f"In {facts['n_doubtful']:,} rows the second class has at least half the probability "
    numbers = (
        "Rows have their numbers in the table they come from."
        if facts["numbered"]
        else "Rows count from 1 in the table of this report."
    )
    parts = [paragraph(f"{lead}of the first. {numbers}"), doubtful]
    if facts.get("surprising"):
        shown = [
            [*called(one), *cells(one["truth"]), *cells(one["prediction"])[:2]]
            for one in facts["surprising"]
        ]
        parts += [
            paragraph(surprise_in_words(facts["n_surprising"])),
            table(
                "Surprising: the true class had little probability",
                ["row", *ids, "truth", *head[-2:], "predicted", "probability"],
                shown,
                numbers=right,
            ),
        ]
    return _joined(*parts)


def surprise_in_words(n: int) -> str:
    """How many rows are of a class that the model thought improbable, and what to do."""
    if n == 0:
        return (
            "To no row's class did the model give less than 5 %. Below are those whose class had "
            "the least probability."
        )
    rows = "1 row is" if n == 1 else f"{n:,} rows are"
    them = "it" if n == 1 else "them"
    return (
        f"{rows} of a class to which the model gave less than 5 %. Look at {them} first: labels or "
        "measurements may be wrong, or something is missing in the model."
    )


def rival_words(facts: dict[str, Any]) -> str:
    """Who is ahead in log loss, and whether that is clear."""
    gain, se = facts["gain"], facts["gain_se"]
    side = "lower" if gain > 0 else "higher"
    spread = "" if se is None else f" (± {se:.3f}, standard error over rows)"
    clear = se is not None and abs(gain) > 2 * se
    verdict = "" if clear else "; the difference is not clear"
    return (
        f"The log loss of this model is {abs(gain):.3f} {side} than that of a logistic regression "
        f"whose penalty was chosen by cross-validation{spread}{verdict}."
    )


def rival_section(facts: dict[str, Any], data: dict[str, Any]) -> Html:
    """The same rows by a cross-validated logistic regression."""
    if "missing" in facts:
        return _joined(paragraph(f"Left out: {facts['missing']}."))
    if facts["how"] == "train":
        how = f"Both learned from the same rows ({facts['learned_from']:,} for the regression)."
    else:
        how = (
            f"The regression learned from these {facts['learned_from']:,} rows, four fifths at a "
            "time, and predicts the others; this model learned from the rows of its fit. That is "
            "no contest of equals: pass the training rows (train=, --train) for one."
        )
    if data["availability"]:
        how += " Its probabilities are divided by their sum over what is available to a row."
    lead = paragraph(rival_words(facts))
    if data["seen"]:
        lead = paragraph(
            Html("<strong>No comparison: these look like the rows of the fit.</strong> "),
            "Whatever has seen them looks better than it is, the more so the more it bends. Pass "
            "rows that were held out.",
            kind="verdict bad",
        )
    rows = [
        [name, f"{one['error']:.1%}", f"{one['log_loss']:.3f}", f"{one['calibration']:.3f}"]
        for name, one in (("this model", facts["ours"]), ("logistic regression", facts["theirs"]))
    ]
    return _joined(
        lead,
        table(
            f"Scores on {facts['rows']:,} rows; lower is better",
            ["", "error", "log loss", "calibration error"],
            rows,
            numbers=[1, 2, 3],
        ),
        paragraph(how, kind="note"),
    )
