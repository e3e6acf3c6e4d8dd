"""NumPy, loaded when something of it is first used, and dataclasses, compiled when the first object is made.

Parsing and declaring measures need no arrays, nor the classes that hold them: modules that do both import these from
here, so that a command which scores with the scanner alone never pays for them. Type checkers see the real ones
(`lazy.pyi`).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Lock
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


class _Field:
    """What `field` was told, until its class is compiled."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


def field(**options: Any) -> Any:
    """As in `dataclasses`."""
    return _Field(options)


_compiling = Lock()


def dataclass(**options: Any) -> Callable[[type], type]:
    """As in `dataclasses`, but for slots: compiled when the first object is made, or when a class is derived from it.

    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     seen: list = field(default_factory=list)
    >>> Point(1), replace(Point(1), x=2) == Point(2)
    (Point(x=1, seen=[]), True)
    """

    def declared(cls: type) -> type:
        waiting = True

        def compile_once() -> None:
            nonlocal waiting
            import dataclasses

            with _compiling:
                if waiting:
                    for name, value in [*vars(cls).items()]:
                        if isinstance(value, _Field):
                            setattr(cls, name, dataclasses.field(**value.options))
                    dataclasses.dataclass(**options)(cls)
                    waiting = False

        def new(kind: type, *_: Any, **__: Any) -> Any:  # for unpickled objects too
            if waiting:
                compile_once()
            return object.__new__(kind)

        def derived(kind: type, **given: Any) -> None:
            compile_once()
            super(cls, kind).__init_subclass__(**given)  # type: ignore[misc]  # kind is derived from cls

        cls.__new__ = new  # type: ignore[assignment]  # takes whatever the class takes
        cls.__init_subclass__ = classmethod(derived)  # type: ignore[assignment]  # the same
        return cls

    return declared


def replace(value: Any, **changes: Any) -> Any:
    """As in `dataclasses`."""
    import dataclasses

    return dataclasses.replace(value, **changes)
