"""What compiled functions with many arguments take is written down.

Each argument has its name in backquotes, or as an entry of a section "Parameters", in the docstring
of the function or of its module, or of a module that one of them names in "arguments as in".
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "pasb"
MANY = 5
# how the package has functions compiled: its own decorators, and those of Numba
COMPILED = re.compile(
    r"(cuda\.jit|numba\.|njit|_?kernel|kernel_with|inlined|inlined_sampler|sampler|elementwise|"
    r"summing)\b"
)
AS_IN = re.compile(r"[Aa]rguments\s+as\s+in\s+(`[\w.]+`(?:(?:,|\s+and)\s+`[\w.]+`)*)")


def is_compiled(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        COMPILED.match(ast.unparse(decorator)) for decorator in node.decorator_list
    )


def kernels():
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if is_compiled(node) and len(node.args.args) >= MANY:
                yield path, ast.get_docstring(tree) or "", node


KERNELS = list(kernels())


def head_of(module: str) -> str:
    path = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def with_those_named(text: str) -> str:
    """A docstring, and those of the modules whose arguments it shares."""
    out, seen, left = text, set(), [text]
    while left:
        for named in AS_IN.findall(left.pop()):
            for module in re.findall(r"[\w.]+", named):
                if "." in module and module not in seen:
                    seen.add(module)
                    left.append(head_of(module))
                    out += "\n" + left[-1]
    return out


def is_described(name: str, text: str) -> bool:
    quoted = re.findall(r"``([^`]+)``|`([^`]+)`", text)
    words = {word for pair in quoted for span in pair for word in re.findall(r"\w+", span)}
    entry = rf"^(?:\w+, )*{name}(?:, \w+)*(?: :|$)"
    return name in words or re.search(entry, text, flags=re.MULTILINE) is not None


def test_compiled_functions_are_found():
    assert len(KERNELS) > 150
    assert {"cuda_paths", "whitened", "softplus_kernels"} <= {path.stem for path, *_ in KERNELS}


@pytest.mark.parametrize(
    ("path", "head", "node"), KERNELS, ids=[f"{p.stem}.{node.name}" for p, _, node in KERNELS]
)
def test_every_argument_is_described(path, head, node):
    text = with_those_named(f"{ast.get_docstring(node) or ''}\n{head}")
    missing = [own.arg for own in node.args.args if not is_described(own.arg, text)]
    assert not missing, f"{path.name}: {node.name}"
