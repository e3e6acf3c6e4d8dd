"""Public names of a package that are loaded when they are first used, so that importing the package costs little.

A package writes its public names once, as imports for type checkers and editors:

    if TYPE_CHECKING:
        from calipers.statistics.correlation import kendall_b as kendall_b
    else:
        __getattr__, __dir__, __all__ = lazy_names(__name__)
"""

from __future__ import annotations

import sys
from _ast import PyCF_ONLY_AST
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from calipers.support.removed_names import farewell


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its names under `if TYPE_CHECKING`."""
    module = sys.modules[package]
    homes = homes_of(module)

    def load(name: str) -> Any:
        if name not in homes:
            missing = farewell("name", name, package)
            raise AttributeError(missing or f"module '{package}' has no attribute '{name}'")
        home = homes[name]
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(module, name, value)
        return value

    names = [*homes, *(["__version__"] if hasattr(module, "__version__") else [])]
    return load, lambda: sorted(names), names


def homes_of(module: ModuleType) -> dict[str, str]:
    """Return the module of each name that a package imports under `if TYPE_CHECKING`, read from its source."""
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as file:
        tree: Any = compile(file.read(), module.__file__, "exec", PyCF_ONLY_AST)
    blocks = [node.body for node in tree.body if getattr(getattr(node, "test", None), "id", "") == "TYPE_CHECKING"]
    return {name.asname or name.name: node.module for body in blocks for node in body for name in node.names}
