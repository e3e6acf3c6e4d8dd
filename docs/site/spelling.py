"""A check that the commands, options and library names on pages of the manual exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"(?<![\w./-])(?:cal|calipers)\.((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)")
COMMAND = re.compile(r"^calipers ([a-z][\w-]*)(?: ([a-z][\w-]*))?")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
OTHERS = {"git", "make", "mike", "pip", "pytest", "python", "spark-submit", "uv"}  # programs with options of their own


def misspelt(text: str) -> Iterator[str]:
    """Yield one message per name in inline code that does not exist. Tests run the code blocks."""
    for span in SPAN.findall(BLOCK.sub("", text)):
        yield from (f"`{name}` is no name of calipers" for name in NAME.findall(span) if not exists(name))
        called = COMMAND.match(span)
        commands, options = known()
        if called and called[1] not in commands:
            yield f"there is no command `calipers {called[1]}`"
        elif called and called[2] and f"{called[1]} " in commands and f"{called[1]} {called[2]}" not in commands:
            yield f"there is no command `calipers {called[1]} {called[2]}`"
        if span.split()[0] not in OTHERS:
            yield from (f"no command has the option `{name}`" for name in OPTION.findall(span) if name not in options)


def exists(name: str) -> bool:
    """Return True if `calipers.NAME` is a module, or a name inside a module or class."""
    found: Any = import_module("calipers")
    module = "calipers"
    for part in name.split("."):
        if hasattr(found, part):
            found = getattr(found, part)
        elif module and find_spec(f"{module}.{part}"):
            found = import_module(f"{module}.{part}")
        else:
            return False
        module = f"{module}.{part}" if module and type(found).__name__ == "module" else ""
    return True


@cache
def known() -> tuple[set[str], set[str]]:
    """Return all commands and all options. Groups of commands are also listed with a trailing space."""
    from calipers.cli.commands import root

    commands: set[str] = set()
    options = {"--help", "--version", "--v9"}  # the last one is read by `calipers trec_eval` itself

    def walk(command: click.Command, name: str) -> None:
        commands.add(name)
        options.update(each for parameter in command.params for each in (*parameter.opts, *parameter.secondary_opts))
        if isinstance(command, click.Group):
            commands.add(f"{name} ")
            context = click.Context(command)
            for each in command.list_commands(context):
                inner = command.get_command(context, each)
                assert inner is not None
                walk(inner, f"{name} {each}".strip())

    walk(root, "")
    return commands, options
