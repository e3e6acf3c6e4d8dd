"""NumPy, loaded when something of it is first used.

Parsing and declaring measures need no arrays: modules that do both import NumPy from here, so that a command which
scores with the scanner alone never pays for it. Type checkers see the real module (`lazy.pyi`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """A module that is imported when an attribute of it is asked for; attributes are then kept here.

    >>> later = Later("math")
    >>> later.floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value


numpy = Later("numpy")
