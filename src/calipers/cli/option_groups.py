"""Options that travel together arrive together, as one object; and choices that are the library's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


def library(reference: str) -> Any:
    """What a module of the library has under a name, as `calipers.stats.significance:TESTS`; loaded only now."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class LibraryChoice(click.Choice):  # type: ignore[type-arg]  # not generic in older versions
    """One name of a table of the library, which is read when the option is: declaring it loads nothing."""

    def __init__(
        self, table: str, *, before: tuple[str, ...] = (), after: tuple[str, ...] = (), case_sensitive: bool = True
    ) -> None:
        self.table = table
        self.before, self.after = before, after  # what the option takes beside the names of the table
        self.case_sensitive = case_sensitive

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # an attribute there
        return (*self.before, *library(self.table), *self.after)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if param is not None and value == param.default:
            return value  # so that the table is not loaded where nothing is chosen
        return super().convert(value, param, ctx)


def declared(*options: Decorator) -> Callable[[Command], Command]:
    """Several options as one decorator, in this order."""

    def declare(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return declare


def together(name: str, kind: type | str, *options: Decorator) -> Callable[[Command], Command]:
    """Declare options, and give the command one parameter of this kind, made of the values that it has names for.

    A kind of the library may be named as for `library`; it is loaded when the command is called.
    """

    def gather(command: Command) -> Command:
        @wraps(command)
        def gathered(**values: Any) -> Any:
            own = {each: values.pop(each) for each in names_of(kind) if each in values}
            made = library(kind) if isinstance(kind, str) else kind
            return command(**values, **{name: made(**own)})

        return declared(*options)(gathered)  # type: ignore[return-value]  # called as the command is, by click

    return gather


def names_of(kind: type | str) -> tuple[str, ...]:
    """What an object of this kind is made of."""
    made: Any = library(kind) if isinstance(kind, str) else kind
    return getattr(made, "_names", None) or tuple(signature(made).parameters)  # a Record knows them itself
