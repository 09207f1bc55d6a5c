"""Pages of the reference: every public name, in groups, with what it says of itself."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from commands import TITLE, write_commands

# The order of the reference. A test compares it with what the package exports.
GROUPS: dict[str, tuple[str, list[str]]] = {
    "Classifiers": (
        "pasb",
        [
            "StickLogisticClassifier",
            "StickRobitClassifier",
            "StickSVMClassifier",
            "SoftplusClassifier",
            "StackedSoftplusClassifier",
            "StickBreakingClassifier",
            "StickEnsembleClassifier",
            "SoftplusFeatures",
        ],
    ),
    "Tables, formulas, files": (
        "pasb",
        ["TableEncoder", "fit", "fit_together", "save", "load"],
    ),
    "Reports, comparison, checks": (
        "pasb",
        [
            "ModelReport",
            "compare",
            "check_fit",
            "AvailabilityScorer",
            "order_evidence",
            "StackedPosterior",
            "ConvergenceWarning",
        ],
    ),
    "Priors": ("pasb", ["Normal", "StudentT", "Horseshoe"]),
    "Rows in parts": ("pasb", ["RowBlocks"]),
    "Binary models": ("pasb", ["Logistic", "Robit", "Softplus", "SupportVector", "CustomBinary"]),
}
# Classes of which users receive objects but that they do not import: where they come from.
RETURNED_TITLE = "What you get back"
RETURNED_ABOUT = "What methods and functions return, or pass to yours; nobody makes it by hand."
RETURNED: dict[str, str] = {
    "pasb.sampling.draws.Draws": "``model.draws_``",
    "pasb.posterior.diagnostics.Diagnostics": "``model.diagnostics_``",
    "pasb.posterior.chain_error.ChainError": "``model.diagnostics_.error``",
    "pasb.sampling.chain.SweepInfo": "the argument of ``callback=``",
    "pasb.posterior.fitted.Fitted": "``model.fitted_``",
    "pasb.posterior.loo.Loo": "``model.loo(X, y)``",
    "pasb.posterior.fit_check.FitCheck": ":doc:`check_fit <pasb.check_fit>`",
    "pasb.classifiers.order_evidence.OrderEvidence": ":doc:`order_evidence <pasb.order_evidence>`",
    "pasb.classifiers.formula.FormulaClassifier": ":doc:`fit <pasb.fit>`",
    "pasb.covariates.column_plans.Assumed": "``TableEncoder.encode(X)``",
}
_AT_THE_TOP = {name for _, names in GROUPS.values() for name in names}
MODULES = (
    "effects",
    "choice",
    "plots",
    "datasets",
    "binary",
    "orders",
    "sticks",
    "testing",
    "variates",
    "errors",
)


def public_names() -> dict[str, list[str]]:
    """Every public name, by module."""
    import pasb

    found = {"pasb": [name for name in pasb.__all__ if name not in MODULES]}
    for module in MODULES:
        found[f"pasb.{module}"] = names_of(importlib.import_module(f"pasb.{module}"))
    return found


def names_of(module: ModuleType) -> list[str]:
    """What a module exports; without a list, its functions and classes."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isroutine(value))
        and getattr(value, "__module__", None) == module.__name__
    ]


def write_reference(folder: Path) -> None:
    """Write an index and a page for each name."""
    folder.mkdir(parents=True)
    lines = [
        "Reference",
        "=========",
        "",
        "Every public name. ``import pasb`` loads none of them",
        "",
    ]
    lines[3] += " before it is used."
    for title, (module, names) in GROUPS.items():
        lines += _group(folder, title, module, names)
    lines += _returned(folder)
    for module in MODULES:
        path = f"pasb.{module}"
        loaded = importlib.import_module(path)
        lines += _group(folder, path, path, names_of(loaded), _first_line(loaded))
    write_commands(folder / "command_line.rst")
    about = "``pasb fit``, ``predict``, ``report`` and the others: :doc:`command_line`."
    lines += [TITLE, "-" * len(TITLE), "", about, ""]
    lines += [".. toctree::", "   :hidden:", "", "   command_line", ""]
    (folder / "index.rst").write_text("\n".join(lines), "utf-8")


def _group(folder: Path, title: str, module: str, names: list[str], about: str = "") -> list[str]:
    lines = _head(title, about)
    pages = []
    for name in names:
        value = getattr(importlib.import_module(module), name)
        if module != "pasb" and name in _AT_THE_TOP:
            lines += [f"   * - :doc:`{name} <pasb.{name}>`", f"     - {_first_line(value)}"]
            continue
        page = f"{module}.{name}"
        pages.append(page)
        (folder / f"{page}.rst").write_text(_page(module, name, value), "utf-8")
        lines += [f"   * - :doc:`{name} <{page}>`", f"     - {_first_line(value)}"]
    return [*lines, "", *_hidden(pages)]


def _returned(folder: Path) -> list[str]:
    lines = _head(RETURNED_TITLE, RETURNED_ABOUT)
    for page, source in RETURNED.items():
        module, _, name = page.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        (folder / f"{page}.rst").write_text(_page(module, name, value), "utf-8")
        lines += [f"   * - :doc:`{name} <{page}>`", f"     - {_first_line(value)} From {source}."]
    return [*lines, "", *_hidden(list(RETURNED))]


def _head(title: str, about: str) -> list[str]:
    return [title, "-" * len(title), "", about, "", ".. list-table::", "   :widths: 36 64", ""]


def _hidden(pages: list[str]) -> list[str]:
    return [".. toctree::", "   :hidden:", "", *(f"   {page}" for page in pages), ""]


def _page(module: str, name: str, value: Any) -> str:
    full = f"{module}.{name}"
    title = [full, "=" * len(full), ""]
    if inspect.isclass(value):
        members = own_members(value)
        body = [f".. autoclass:: {full}"]
        if members:
            body.append(f"   :members: {', '.join(members)}")
        return "\n".join([*title, *body, ""])
    kind = "autofunction" if callable(value) else "autodata"
    return "\n".join([*title, f".. {kind}:: {full}", ""])


def own_members(cls: type) -> list[str]:
    """Public methods and properties that the package wrote and described."""
    found = []
    for name, value in inspect.getmembers(cls):
        inner = value.fget if isinstance(value, property) else value
        inner = inspect.unwrap(inner) if callable(inner) else inner
        if name.startswith("_") or not (inspect.isroutine(inner) or isinstance(value, property)):
            continue
        if str(getattr(inner, "__module__", "")).startswith("pasb") and inspect.getdoc(value):
            found.append(name)
    return found


def _first_line(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return text.strip().split("\n\n")[0].replace("\n", " ")
