"""Helpers that the commands of research/ share: output of tables, notes and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from calipers import Table
from calipers.results import FORMATS
from calipers.support.atomic_files import check_folder, check_output, write_whole

Command = TypeVar("Command", bound=Callable[..., Any])

FORMAT_OF_ENDING = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex", ".html": "html"}


def options(*given: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds several options, in the order in which help shows them."""

    def add(command: Command) -> Command:
        for option in reversed(given):
            command = option(command)
        return command

    return add


def checked_file(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a file that cannot be written, as the callback of an option."""
    if value is not None:
        check_output(value)
    return value


def _checked_folder(context: click.Context, parameter: click.Parameter, value: str) -> str:
    check_folder(value)
    return value


table_output = options(
    click.option("--format", type=click.Choice(FORMATS), help="Format of the table [default: by the ending of -o]."),
    click.option("-o", "--output", "file", metavar="FILE", callback=checked_file, help="Write the table here."),
)
study_folder = click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    metavar="FOLDER",
    callback=_checked_folder,
    help="Folder for the page, its tables and its charts.",
)
seed_option = click.option("--seed", type=int, default=42, show_default=True, help="Random seed.")


def write_table(table: Table, format: str | None = None, file: str | None = None) -> None:
    """Print a table, or write it to a file."""
    ending = Path(file).suffix if file else ""
    text = table.to(format or FORMAT_OF_ENDING.get(ending, "table"))
    if file is None:
        click.echo(text, nl=False)
    else:
        write_whole(file, text.encode("utf-8", "surrogateescape"))


def note(text: str) -> None:
    """Print one line to standard error."""
    print(f"research: {text}", file=sys.stderr)
