"""docs/calibration.md and its pictures, from the results of the parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calibration import pictures

FAMILIES = {
    "logistic": "logistic",
    "robit": "robit",
    "softplus": "softplus",
    "softplus_default": "default moves of softplus sticks",
    "availability": "random availability",
    "choice": "covariates of alternatives",
    "panel": "intercepts of persons",
    "own": "users' models",
}
PICTURED = ["logistic", "softplus", "linear SVM", "softmax regression", "random forest, isotonic",
            "RBF SVC, sigmoid"]  # fmt: skip

HEAD = """# Calibration

Written by `python calibration/run.py` (part of `make calibrate`), which fails if a check does.
Seeds follow from names; the same call gives the same figures on the same machine.
"""

SBC = """## Simulation-based calibration

Order and parameters are drawn from the prior and labels from the model (30 rows, 3 classes, one
covariate and a constant, fixed); a chain under `scheme="exact"` samples the posterior; the truth
is ranked among {n_draws} of its draws. The ranks are uniform if the posterior is right. Ranked are
class probabilities at two places, the log-likelihood, coefficients, precisions, weights and
hyperparameters of both sticks with their log-density, and the place of every class in the order.
(The reference has no parameters under the exact scheme: what is stored for it is drawn from a
pseudo-prior. So parameters are those of a stick.) Chains start as the classifiers start them, with
100 sweeps of warm-up, and keep every `thin`-th sweep; the column beside it is the largest
autocorrelation of successive draws, mean over replicates.

The test of a quantity is that of the largest deviation of the ranks' distribution function, with
its exact p-value. The grey bands of the pictures hold the whole line of a correct sampler with
probability 95 % (Sailynoja, Burkner and Vehtari 2022), so one line in twenty may leave them.
{n_tests} p-values; the smallest is {least_p:.2g}, and one below {limit:.0e} fails: by Bonferroni, a
correct sampler does so with probability {chance:.1g} at most.

The support vector machine is not here and cannot be: its Gibbs update uses a pseudo-likelihood that
is not a probability of labels, so there is no model to simulate from.
"""

COLUMNS = """
| model | replicates | sweeps | thin | autocorrelation | least p of quantities | joint test: z |
| --- | --- | --- | --- | --- | --- | --- |
"""

GEWEKE = """
The last column is another test of the same scenarios, `pasb.testing`'s joint-distribution test
(Geweke 2004; Gandy and Scott 2020): functions of parameters and data before and after {n_sweeps}
sweeps, from {low} to {high} times; z is the largest deviation of all, in standard errors. (It is
not made with random availability.) The least p-value, corrected for their number, is {least_p:.2g};
one below {limit:.0e} fails.
"""

MISTAKES = """## Mistakes that must be found

The same tests on wrong updates. Replicates are added until one fails; "no" means not with that
many. `calibration/mistakes.py` has them all. The first lines are the same updates without a
mistake, which must pass.

| update | joint test | simulation-based calibration | |
| --- | --- | --- | --- |
"""

COVERAGE = """## Coverage of credible intervals

Order and parameters from the prior, 60 rows with two covariates, a fit by the classifier as users
call it (2 chains), and central intervals of class probabilities at three places and of marginal
effects by `pasb.effects` (mean change of a class probability when a covariate grows by a standard
deviation, or from 0 to 1; average slope). Shares of intervals that hold the truth, with standard
errors in brackets. {n_tests} binomial tests, one for each quantity and level: the least p-value is
{least_p:.2g}, and one below {limit:.0e} fails.

| model | data sets | of | {levels} |
| --- | --- | --- |{rule}
"""

RELIABILITY = """## Predictions on real data

Every model on the bundled sets, beside scikit-learn's classifiers as they are and calibrated by
`CalibratedClassifierCV` (5 folds; glass 3). Test rows of the paper's partitions, pooled
({sets}).
*Expected calibration error* (ECE) of the predicted class, {n_bins} bins; even a calibrated
classifier has one, and a star marks those beyond its 95 % point. Two chains of 500 sweeps of
warm-up and 500 draws (300 and 300 for dna and satimage); softplus one chain a direction, on dna
with 3 experts of 1 layer.
"""


def write(found: dict[str, dict], folder: Path) -> None:
    """Write the report of the parts that were found, and their pictures."""
    (folder / "calibration").mkdir(parents=True, exist_ok=True)
    text = [HEAD]
    sections = {
        "sbc": lambda r: _sbc(r, found.get("geweke"), folder / "calibration"),
        "mutations": lambda r: _mutations(r, folder / "calibration"),
        "coverage": lambda r: _coverage(r, folder / "calibration"),
        "reliability": lambda r: _reliability(r, folder / "calibration"),
    }
    for part, section in sections.items():
        if part in found:
            text.append(section(found[part]))
    (folder / "calibration.md").write_text("\n".join(text))


def _family(name: str) -> str:
    if name.startswith("a user"):
        return "own"
    if name.startswith("softplus by default moves"):
        return "softplus_default"
    if "availability" in name and not name.startswith(("choice", "panel")):
        return "availability"
    return "robit" if name.startswith("probit") else name.partition(",")[0].partition(" ")[0]


def _sbc(results: dict, geweke: dict | None, folder: Path) -> str:
    n_draws = results["n_draws"]
    chance = results["n_tests"] * results["limit"]
    out = SBC.format(**results, chance=chance) + COLUMNS
    z = {one["name"]: one for one in geweke["scenarios"]} if geweke else {}
    for one in results["scenarios"]:
        joint = f"{z[one['name']]['z']:.1f}" if one["name"] in z else ""
        out += (
            f"| {one['name']} | {one['n_replicates']} | {one['n_sweeps']} | {one['thin']} | "
            f"{max(one['autocorrelation']):.2f} | {min(one['p']):.2g} of {len(one['p'])} | "
            f"{joint} |\n"
        )
    if geweke:
        sizes = [one["n"] for one in geweke["scenarios"]]
        out += GEWEKE.format(**geweke, low=min(sizes), high=max(sizes))
    for family, title in FAMILIES.items():
        chosen = [one for one in results["scenarios"] if _family(one["name"]) == family]
        if chosen:
            pictures.ecdf_differences(chosen, n_draws, folder / f"sbc_{family}.png")
            out += f"\n![ECDF differences, {title}](calibration/sbc_{family}.png)\n"
    return (
        out + "\nLines: parameters blue, class probabilities green, the order red; "
        "replicates in brackets.\n"
    )


def _mutations(results: dict, folder: Path) -> str:
    out = MISTAKES
    for one in results["mistakes"]:
        cells = []
        for test in ("geweke", "sbc"):
            r = one[test]
            if r["n"] == 0:
                cells.append("not for this scheme")
            elif r["fails"]:
                p = "< 1e-11" if r["p"] < 1e-11 else f"{r['p']:.1g}"
                cells.append(f"p {p} at {r['n']}: {r['where']}")
            else:
                cells.append(f"{'passes' if one['right'] else 'no'}, p {r['p']:.2g} at {r['n']}")
        verdict = "passes" if one["right"] else "caught"
        if not one["as_it_should"]:
            verdict = "**wrong**"
        joint, ranks = (cell.replace("|", "\\|") for cell in cells)
        out += f"| {one['what']} | {joint} | {ranks} | {verdict} |\n"
    pictures.mistakes(results["mistakes"], results["n_draws"], folder / "mistakes.png")
    return out + (
        "\n![ECDF differences of the mistakes](calibration/mistakes.png)\n\n"
        "The quantity with the least p-value of each; red where simulation-based calibration "
        "fails, replicates in brackets.\n"
    )


def _coverage(results: dict, folder: Path) -> str:
    levels = " | ".join(f"{v:.0%}" for v in results["levels"])
    out = COVERAGE.format(**{**results, "levels": levels}, rule=" --- |" * len(results["levels"]))
    for one in results["cases"]:
        for group in ("probabilities", "effects"):
            cells = " | ".join(
                f"{v:.1%} ({e:.1%})" for v, e in zip(one[group], one[f"{group}_error"], strict=True)
            )
            out += f"| {one['name']} | {one['n_replicates']} | {group} | {cells} |\n"
    pictures.coverage(results, folder / "coverage.png")
    return out + (
        "\n![Coverage minus level](calibration/coverage.png)\n\n"
        "Coverage minus level, with two standard errors.\n"
    )


def _reliability(results: dict, folder: Path) -> str:
    rows = results["results"]
    sets = list(dict.fromkeys(one["data"] for one in rows))
    models = list(dict.fromkeys(one["model"] for one in rows))
    table = {(one["data"], one["model"]): one for one in rows}
    listed = ", ".join(f"{name} {n}" for name, n in results["partitions"].items())
    out = RELIABILITY.format(sets=listed, n_bins=results["n_bins"])
    rule = " --- |" * (len(sets) + 1)
    for key, title in (
        ("ece", "Expected calibration error"),
        ("log_loss", "Log loss"),
        ("error", "Error"),
    ):
        out += f"\n{title}:\n\n| model | {' | '.join(sets)} | mean |\n| --- |{rule}\n"
        for model in models:
            cells = []
            for data in sets:
                one = table.get((data, model))
                if one is None:  # not run
                    cells.append("-")
                    continue
                star = "*" if key == "ece" and one["ece"] > one["ece_by_chance"][1] else ""
                cells.append(f"{one[key]:.3f}{star}")
            known = [table[data, model][key] for data in sets if (data, model) in table]
            mean = f"{np.mean(known):.3f}" if len(known) == len(sets) else "-"
            out += f"| {model} | {' | '.join(cells)} | {mean} |\n"
    chance = " | ".join(f"{table[data, models[0]]['ece_by_chance'][0]:.3f}" for data in sets)
    out += (
        f"\nMedian ECE of a calibrated classifier with the probabilities of {models[0]}: "
        f"{chance.replace(' | ', ', ')}.\n"
    )
    pictures.reliability(rows, PICTURED, folder / "reliability.png")
    return out + "\n![Reliability diagrams](calibration/reliability.png)\n"
