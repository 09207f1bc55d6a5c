"""Python text of values: what one would have to type to make them again."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np

MOST_NUMBERS = 200  # of an array that is written down
RUN_ONLY = ("n_jobs", "progress", "callbacks", "checkpoint")  # they change no draw
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


class PythonText:
    """Writes values as Python, and keeps the modules that this text needs.

    Parameters
    ----------
    known : dict
        Of some objects, by their id: values of parameters that take the place of their own.

    Attributes
    ----------
    modules : set of str
        To be imported.
    unknown : list of str
        Parameters whose values cannot be written down; the text has ``...`` in their places.
    """

    def __init__(self, known: dict[int, dict[str, Any]]) -> None:
        self._known = known
        self.modules: set[str] = set()
        self.unknown: list[str] = []

    def of(self, value: Any, name: str = "model") -> str:
        """Text of the value of a parameter."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, PLAIN):
            odd = isinstance(value, float) and not np.isfinite(value)
            return f"float({str(value)!r})" if odd else repr(value)
        if isinstance(value, np.ndarray) and value.size <= MOST_NUMBERS:
            self.modules.add("numpy")
            return f"numpy.array({self.of(value.tolist(), name)})"
        if type(value) in (list, tuple, set, dict):
            return self._collection(value, name)
        if isinstance(value, type | np.ufunc) or inspect.isroutine(value):
            return self._named(value) or self._given_up(name)
        return self._made(value, name)

    def _given_up(self, name: str) -> str:
        self.unknown.append(name)
        return "..."

    def _collection(self, value: Any, name: str) -> str:
        if isinstance(value, dict):
            pairs = (f"{self.of(k, name)}: {self.of(v, name)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        items = ", ".join(self.of(one, name) for one in value)
        if isinstance(value, list):
            return f"[{items}]"
        if isinstance(value, tuple):
            return f"({items}{',' * (len(value) == 1)})"
        return "{" + items + "}" if value else "set()"

    def _made(self, value: Any, name: str) -> str:
        """An object by the arguments that its class takes."""
        kind = self._named(type(value))
        own = {k: p for k, p in _parameters(type(value)).items() if k not in RUN_ONLY}
        if kind is None or not all(hasattr(value, k) for k in own):
            return self._given_up(name)
        known = self._known.get(id(value), {})
        arguments = []
        for parameter, declared in own.items():
            given = known.get(parameter, getattr(value, parameter))
            if repr(given) != repr(declared.default):
                arguments.append(f"{parameter}={self.of(given, parameter)}")
        text = f"{kind}({', '.join(arguments)})"
        output = getattr(value, "_sklearn_output_config", {}).get("transform")
        return text if output is None else f"{text}.set_output(transform={output!r})"

    def _named(self, thing: Any) -> str | None:
        """Where a class or function is found by name, in the shortest way; None if nowhere."""
        name = getattr(thing, "__qualname__", getattr(thing, "__name__", ""))
        home = "numpy" if isinstance(thing, np.ufunc) else getattr(thing, "__module__", None) or ""
        parts = home.split(".")
        for k in range(1, len(parts) + 1):
            module = ".".join(parts[:k])
            if module != "__main__" and getattr(sys.modules.get(module), name, None) is thing:
                if module == "builtins":
                    return name
                self.modules.add(module)
                return f"{module}.{name}"
        return None


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(kind).parameters)
    except (TypeError, ValueError):  # of compiled classes
        return {"?": inspect.Parameter("unknown", inspect.Parameter.POSITIONAL_ONLY)}
