"""The page: facts of a model in sections of words, tables and pictures."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from pasb.plots.style import COLOURS, mixed, palette
from pasb.report import evidence_sections as sections
from pasb.report.markup import Html, paragraph, section, text

TITLES = {
    "short": "In short",
    "model": "What was fitted, and on what",
    "draws": "Can the draws be trusted?",
    "order": "The order of the classes",
    "effects": "What the covariates do",
    "scores": "Predictions beside the truth",
    "rows": "Rows worth a look",
    "rival": "Beside a logistic regression",
    "cite": "Cite and reproduce",
}


FRAME = "about:srcdoc"  # the address of a page in a frame


def page(facts: dict[str, Any], base: str | None = None) -> str:
    """One HTML file with everything in it: no script, nothing from elsewhere.

    Parameters
    ----------
    facts : dict
    base : str, optional
        The address of the page where it has none of its own, such as `FRAME`. In a frame, links to
        sections are else taken for links into the page around it.
    """
    classes = facts["model"]["classes"]
    body = {
        "short": in_short(facts),
        "model": sections.model_section(facts["model"]),
        "draws": sections.draw_section(facts["draws"]),
        "order": sections.order_section(facts["order"], classes),
    }
    if facts.get("effects") and facts["effects"]["terms"]:
        body["effects"] = sections.effect_section(facts["effects"], classes)
    if facts.get("scores"):
        body["scores"] = sections.score_section(facts["scores"], facts["data"], classes)
    if facts.get("rows"):
        body["rows"] = sections.row_section(facts["rows"], classes)
    if facts.get("rival"):
        body["rival"] = sections.rival_section(facts["rival"], facts["data"])
    body["cite"] = cited(facts)
    links = "".join(f'<li><a href="#{name}">{text(TITLES[name])}</a></li>' for name in body)
    parts = "".join(section(name, TITLES[name], part) for name, part in body.items())
    title = text(facts["title"])
    lead = _lead(facts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        + ("" if base is None else f'<base href="{text(base)}">\n')
        + '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">\n"
        f'<link rel="icon" href="data:,">\n<title>{title}</title>\n<style>\n{_style()}</style>\n'
        '</head>\n<body>\n<a class="skip" href="#main">Skip to the report</a>\n'
        f'<header><h1>{title}</h1><p class="lead">{lead}</p></header>\n'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f'<main id="main">{parts}</main>\n'
        f"<footer><p>Written by pasb {text(facts['version'])} on {text(facts['date'])}. This page "
        "runs no script and loads nothing.</p></footer>\n</body>\n</html>\n"
    )


def _style() -> str:
    """The style sheet, and the colours of classes and chains, light and dark."""
    light = palette(32)
    dark = [mixed(c, "#FFFFFF", 0.22) if k != 6 else "#C9CDD3" for k, c in enumerate(light)]
    chains = [COLOURS[k] for k in (0, 1, 2, 4, 3, 5, 6, 7)]

    def names(kind: str, values: list[str]) -> str:
        return "".join(f"--{kind}-{k}:{value};" for k, value in enumerate(values))

    look = files("pasb.report").joinpath("look.css").read_text("utf-8")
    shades = [mixed(c, "#FFFFFF", 0.22) if c != "#333333" else "#C9CDD3" for c in chains]
    return (
        f"{look}:root{{{names('class', light)}{names('chain', chains)}}}\n"
        f"@media (prefers-color-scheme: dark){{:root{{{names('class', dark)}"
        f"{names('chain', shades)}}}}}\n"
    )


def _lead(facts: dict[str, Any]) -> Html:
    model, data = facts["model"], facts["data"]
    n = len(model["classes"])
    words = f"{text(model['name'])}: {n} classes, {model['n_covariates']:,} covariates"
    if model["training_rows"] is not None:
        words += f", fitted to {sum(model['training_rows']):,} rows"
    if data:
        words += f"; looked at with {data['rows']:,} rows"
        if data["rows"] < data["given"]:
            words += f", evenly spaced among {data['given']:,}"
    return Html(words + ".")


def in_short(facts: dict[str, Any]) -> Html:
    """Four figures and a few sentences."""
    tiles, said = [], []
    scores, data, rival = facts.get("scores"), facts["data"], facts.get("rival") or {}
    if scores:
        tiles += [
            (f"{scores['error']:.1%}", "of the rows are predicted wrongly"),
            (f"{scores['log_loss']:.3f}", "log loss: mean surprise at the true class"),
            (f"{scores['calibration']:.3f}", "calibration error: gap of probability and share"),
        ]
        if data["seen"]:
            said.append(
                paragraph(
                    Html("<strong>These look like the rows of the fit.</strong> "),
                    "Scores on them are better than on new rows; use rows that were held out.",
                    kind="verdict bad",
                )
            )
    draws = facts["draws"]
    rhat = draws["rhat"]
    tiles.append(
        (
            "–" if rhat is None else f"{rhat:.3f}",
            f"worst R-hat; {draws['rhat_limit']:g} or less is good",
        )
    )
    good = draws["good"]
    said.append(
        paragraph(
            "The draws can be trusted."
            if good
            else "The draws are not good enough yet; the section on draws says what to change.",
            kind="verdict" if good else "verdict bad",
        )
    )
    if scores:
        said.append(
            paragraph(
                f"Always naming the most frequent class would be wrong in "
                f"{scores['majority_error']:.1%} of the rows."
            )
        )
    if rival.get("how") == "train" and not data["seen"]:
        said.append(paragraph(sections.rival_words(rival)))
    items = "".join(
        f'<li><span class="figure">{text(figure)}</span>{text(words)}</li>'
        for figure, words in tiles
    )
    return Html(f'<ul class="tiles">{items}</ul>{"".join(said)}')


def cited(facts: dict[str, Any]) -> Html:
    """How to cite the method, and how this report is made again."""
    reproduce = facts["reproduce"]
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    bib = (
        "@article{zhang2018permuted,\n"
        "  title   = {Permuted and Augmented Stick-Breaking Bayesian Multinomial Regression},\n"
        "  author  = {Zhang, Quan and Zhou, Mingyuan},\n"
        "  journal = {Journal of Machine Learning Research},\n"
        "  volume  = {18},\n  number  = {204},\n  pages   = {1--33},\n  year    = {2018}\n}"
    )
    return Html(
        "".join(
            [
                paragraph(
                    f"The method: Q. Zhang and M. Zhou (2018). The software: pasb "
                    f"{facts['version']}."
                ),
                f'<pre tabindex="0" aria-label="BibTeX">{text(bib)}</pre>',
                paragraph("Made with ", versions, "."),
                *(paragraph(note, kind="note") for note in facts["reproduce_notes"]),
                f'<pre tabindex="0" aria-label="How to reproduce">{text(reproduce)}</pre>',
            ]
        )
    )
