"""What a user may have meant: loaded only where something has gone wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import click

from calipers.errors import CalipersError


def explained(error: click.ClickException) -> str:
    """What the command line says of a wrong call, with what would be right."""
    text = error.format_message().rstrip()
    if isinstance(error, click.MissingParameter):
        return f"{text.rstrip('.')}{_example(error.ctx)}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return text + _near_choice(error.param, text)
    return text


def explained_input(error: CalipersError) -> str:
    """The same of wrong input: a file that is not there may be there under a similar name."""
    missing = error.message.startswith(("no such file", "no file matches"))
    return f"{error}{_near_file(error.file)}" if missing and error.file else str(error)


def examples(command: click.Command) -> list[str]:
    """The examples in a command's help, without what is said about them after a wider gap."""
    lines = (line.strip() for line in (command.help or "").splitlines())
    return [re.split(r"\s{2,}", line)[0] for line in lines if line.startswith("calipers ")]


def _example(context: click.Context | None) -> str:
    found = examples(context.command) if context else []
    return f"; for example: {found[0]}" if found else ""


def _near_choice(parameter: click.Parameter, text: str) -> str:
    if not isinstance(parameter.type, click.Choice):
        return ""
    quoted = text.split("'")
    typed = quoted[3] if len(quoted) > 3 else ""  # Invalid value for '--option': 'typed' is not one of ...
    return _meant(typed, map(str, parameter.type.choices), " ")


def _near_file(file: str) -> str:
    path = Path(file)
    if any(character in file for character in "*?["):
        path = path.parent / path.name.translate({ord(c): None for c in "*?["})
    try:
        beside = [each.name for each in path.parent.iterdir()]
    except OSError:
        return ""
    found = get_close_matches(path.name, beside, n=1, cutoff=0.5)
    return f"; did you mean {path.parent / found[0]}?" if found else ""


def _meant(typed: str, known: Iterable[str], before: str) -> str:
    near = get_close_matches(typed, list(known), n=1)
    return f"{before}Did you mean {near[0]}?" if near else ""
