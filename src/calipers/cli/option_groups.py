"""Groups of options: how help shows them, and how several options become one parameter of a command."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar, get_args

import click

from calipers.errors import UnknownName
from calipers.support.removed_names import farewell

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


# Options that many commands share. Help shows them after the options of the command itself, under these headings.
HEADINGS = {
    "Reading files": (
        "--judgments-as",
        "--systems-as",
        "--columns",
        "--judgments-columns",
        "--systems-columns",
        "--combine",
        "--rename-grades",
        "--rollup",
        "--rollup-by",
        "--drop-own-ids",
        "--query-ids",
        "--encoding",
        "--max-unpacked",
        "--jobs",
        "--progress",
    ),
    "Scoring": (
        "--like",
        "--ties",
        "--relevant",
        "--depth",
        "--condensed",
        "--empty",
        "--missing",
        "--degenerate",
        "--unmatched",
        "--strict",
        "--costs",
        "--population",
        "--import",
    ),
    "Statistics": ("--test", "--correction", "--alpha", "--samples", "--seed"),
    "Output": ("--format", "--safe-csv", "--plot", "--output", "--help"),
}
HEADING_OF = {option: heading for heading, options in HEADINGS.items() for option in options}


class GroupedHelp(click.Command):
    """A command whose help shows its own options first, and shared options under headings."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, one section per heading."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], **{heading: [] for heading in HEADINGS}}
        for parameter in self.get_params(context):
            lines = parameter.get_help_record(context)
            if lines is not None and isinstance(parameter, click.Option):
                known = [HEADING_OF[name] for name in parameter.opts if name in HEADING_OF]
                sections[known[0] if known else "Options"].append(lines)
        for heading, options in sections.items():
            if options:
                with formatter.section(heading):
                    formatter.write_dl(options)


class GroupOfCommands(click.Group):
    """A command with commands of its own, such as `calipers text`."""

    command_class = GroupedHelp

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and (reason := farewell("command", f"{self.name} {args[0]}")):
            raise UnknownName(reason)
        return super().resolve_command(context, args)


def grouped_command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command: `@grouped_command("evaluate")`."""
    return click.command(name, cls=GroupedHelp)


def library(reference: str) -> Any:
    """Return a name of a library module, such as `calipers.support.choices:TestName`. Loads the module."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class LibraryChoice(click.Choice):  # type: ignore[type-arg]  # not generic in older versions
    """A choice among the names of a table of the library. The table is loaded when the option is used or shown."""

    def __init__(
        self, table: str, *, before: tuple[str, ...] = (), after: tuple[str, ...] = (), case_sensitive: bool = True
    ) -> None:
        self.table = table
        self.before, self.after = before, after  # names that the option takes in addition to the table
        self.case_sensitive = case_sensitive

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # an attribute there
        found = library(self.table)
        return (*self.before, *(get_args(found) or found), *self.after)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if param is not None and value == param.default:
            return value  # the default needs no check, and no table
        return super().convert(value, param, ctx)


def declared(*options: Decorator) -> Callable[[Command], Command]:
    """Return one decorator for several options, in this order."""

    def declare(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return declare


def option_group(name: str, kind: type | str, *options: Decorator) -> Callable[[Command], Command]:
    """Declare options and pass them to the command as one object.

    name: the parameter of the command. kind: the class of the object; each of its fields is an option of the command.
    A class of the library may be given as for `library`. It is loaded when the command is called.
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
    """Return the names of the fields of a class."""
    made: Any = library(kind) if isinstance(kind, str) else kind
    return getattr(made, "_names", None) or tuple(signature(made).parameters)  # a Record knows them itself


class SeveralValues(GroupedHelp):
    """A command with options that take several values: `--systems a b` is `--systems a --systems b`.

    The values of such an option are all words up to the next option. Arguments therefore stand before it.
    """

    options_with_several_values: tuple[str, ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the name of the option before each of its values."""
        spread: list[str] = []
        option, values = None, 0
        for word in args:
            if word == option or word in self.options_with_several_values:
                option, values = word, 0
            elif word.startswith("-") and word != "-":
                option = None
            elif option is not None:
                spread += [option] if values else []
                values += 1
            spread.append(word)
        return super().parse_args(ctx, spread)


def command_with_several_values(name: str, *options: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command in which each of these options takes several values."""
    kind = type("SeveralValuesOf", (SeveralValues,), {"options_with_several_values": options})
    return click.command(name, cls=kind)
