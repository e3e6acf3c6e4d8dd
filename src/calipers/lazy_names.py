"""Public names of a package that are loaded when they are first used, so that importing the package costs little."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from calipers.removed_names import farewell


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names live in some of its modules, given as {module: names}.

    >>> lazy_names("calipers.stats", {"correlation": ("kendall_b",)})("kendall_b").__module__
    'calipers.stats.correlation'
    """
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(farewell("name", name) or f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
