"""Formulas as a file holds them: the text, levels, knots of splines, and a row as an example.

Formulas may hold Python, which `formulaic` evaluates. A file may come from anywhere, so a formula
is saved and read only where it is made of columns, arithmetic and a list of known functions.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

TRANSFORMS = {
    *("log", "log10", "log2", "exp", "exp10", "exp2", "bs", "cc", "cr", "cs", "center", "poly"),
    *("scale", "standardize", "C", "I", "Q", "Treatment", "Sum", "Helmert", "Diff", "Poly"),
}
NUMPY = {
    *("abs", "sqrt", "cbrt", "log", "log10", "log2", "log1p", "exp", "expm1", "sin", "cos", "tan"),
    *("tanh", "arctan", "sign", "floor", "ceil", "round", "minimum", "maximum", "clip", "square"),
    *("power", "where"),
}
CONTRASTS = {"treatment", "SAS", "sum", "helmert", "diff", "poly"}
SYNTAX = (
    *(ast.Expression, ast.Load, ast.Constant, ast.Name, ast.keyword, ast.Call, ast.Attribute),
    *(ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Compare, ast.cmpop, ast.List),
    *(ast.Tuple, ast.BoolOp, ast.boolop),
)
LONGEST = 10_000  # letters of a formula
GREATEST_NUMBER = 1000  # in a formula: degrees of freedom of splines, powers


def check_plain(terms: Any) -> None:
    """Raise a ValueError for a formula with anything but columns and known functions."""
    for factor in {str(f): f for term in terms for f in term.factors}.values():
        text = str(factor.expr)
        if len(text) > LONGEST:
            raise ValueError("the formula is too long")
        if factor.eval_method.value != "python":
            continue
        try:
            tree = ast.parse(re.sub(r"`[^`]*`", "x", text), mode="eval")
        except SyntaxError:
            raise ValueError(f"{text!r} cannot be read") from None
        for node in ast.walk(tree):
            what = _refused(node)
            if what:
                raise ValueError(f"{text!r} holds {what}")


def _refused(node: ast.AST) -> str | None:
    if not isinstance(node, SYNTAX):
        return f"Python of the kind {type(node).__name__}"
    if isinstance(node, ast.Name) and node.id.startswith("_"):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return None if abs(node.value) <= GREATEST_NUMBER else f"the number {node.value}"
    if isinstance(node, ast.BinOp) and not _has_column(node):
        return "arithmetic without a column"  # 10**10**10 takes all memory
    if isinstance(node, ast.Attribute):
        owner = node.value.id if isinstance(node.value, ast.Name) else None
        allowed = {"np": NUMPY, "contr": CONTRASTS}.get(owner or "", set())
        return None if node.attr in allowed else f"the attribute {node.attr}"
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id not in TRANSFORMS:
            return f"the function {node.func.id}"
        if not isinstance(node.func, ast.Name | ast.Attribute):
            return "a call of what is no function"
    return None


def _has_column(node: ast.AST) -> bool:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return bool(names - TRANSFORMS - {"np", "contr"})


def formula_to_json(model: Any) -> dict[str, Any]:
    """What a fitted `FormulaClassifier` knows beside its model."""
    spec = model._spec
    try:
        check_plain(spec.formula)
    except ValueError as error:
        raise TypeError(
            f"this formula cannot be saved, because files hold nothing that could be executed: "
            f"{error}. Work that column out in the table, and use it in the formula"
        ) from None
    return {
        "text": model.formula,
        "library": model._library,
        "kinds": dict(model.kinds_),
        "ranges": {name: [float(end) for end in ends] for name, ends in model._ranges.items()},
        "example": {name: to_plain(value) for name, value in model._example.items()},
        "transforms": to_plain(dict(spec.transform_state)),
        "levels": {
            name: to_plain(list(state["categories"]))
            for name, (_, state) in spec.encoder_state.items()
            if "categories" in state
        },
    }


def spec_from_json(stored: dict[str, Any], formulaic: Any, terms: Any) -> tuple[Any, Any]:
    """What a file of unknown origin remembers of the terms, and a row that they are made for."""
    import pandas as pd
    from formulaic.parser.types import Factor

    check_plain(terms)
    levels = {str(name): from_plain(own) for name, own in stored["levels"].items()}
    spec = formulaic.ModelSpec(
        formula=terms,
        transform_state=from_plain(stored["transforms"]),
        encoder_state={
            name: (Factor.Kind.CATEGORICAL, {"categories": own}) for name, own in levels.items()
        },
    )
    example: dict[str, Any] = {
        str(name): [from_plain(value)] for name, value in stored["example"].items()
    }
    for name in levels.keys() & example.keys():
        example[name] = pd.Categorical(example[name], categories=levels[name])
    return spec, pd.DataFrame(example)


def to_plain(value: Any) -> Any:
    """Numbers, text, lists and dictionaries as JSON that keeps their types."""
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"number": str(value)}
    if isinstance(value, dict):
        return {"pairs": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray):
        return {"array": to_plain(value.tolist())}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    raise TypeError(f"a formula with {type(value).__name__} in what it remembers cannot be saved")


def from_plain(value: Any) -> Any:
    """What `to_plain` was given."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if isinstance(value, dict):
        if "number" in value:
            return float(value["number"])
        if "array" in value:
            return np.array(from_plain(value["array"]), dtype=np.float64)
        return {from_plain(key): from_plain(item) for key, item in value["pairs"]}
    return value
