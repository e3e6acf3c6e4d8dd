"""Error messages with suggestions. Loaded only after something has gone wrong."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from calipers._version import __version__
from calipers.errors import CalipersError, MissingFile
from calipers.support.removed_names import farewell


def explained(error: click.ClickException) -> str:
    """Return the message about a wrong call, with an example or a similar choice."""
    text = error.format_message().rstrip()
    if isinstance(error, click.MissingParameter):
        return f"{text.rstrip('.')}{_example(error.ctx)}"
    if isinstance(error, click.NoSuchOption):
        return farewell("option", error.option_name, _name_of_command(error.ctx)) or text
    if isinstance(error, click.BadParameter) and error.param is not None:
        return text + _near_choice(error.param, text)
    return text


def explained_input(error: CalipersError) -> str:
    """Return the message about wrong input, with the option that helps, or with the name of a similar file."""
    if error.parameter is not None:
        return f"{error} (option --{error.parameter.replace('_', '-')})"
    if not isinstance(error, MissingFile) or not error.file:
        return str(error)
    return f"{error}{_measure_unquoted(error.file) or _near_file(error.file)}"


def _measure_unquoted(file: str) -> str:
    """Return a hint if a missing file is a measure, as in `-m nDCG@10 AP` without quotes."""
    from calipers.measures.grammar import parse_all

    try:
        parse_all(file)
    except CalipersError:
        return ""
    return f"; '{file}' is the name of a measure. Quote several measures: -m \"nDCG@10 {file}\""


def reported(error: Exception, arguments: Sequence[str]) -> str:
    """Return a message of one line about a bug in Calipers. Write the details to a file."""
    what = f"this is a bug in Calipers {__version__} ({type(error).__name__}: {str(error)[:200]})"
    text = "\n".join(
        [
            f"Calipers {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"Command: {shlex.join(['calipers', *arguments])}",
            f"Folder: {os.getcwd()}",
            f"Loaded: {', '.join(name for name in ('numpy', 'scipy', 'pyarrow', 'lightgbm') if name in sys.modules)}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    try:
        handle, path = tempfile.mkstemp(prefix="calipers-bug-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{what}, in {Path(last.filename).name}, line {last.lineno}; please report it"
    return f"{what}; please report it with the file {path}, and with the input if you can"


def examples(command: click.Command) -> list[str]:
    """Return the examples in a command's help, without the explanations at the ends of lines."""
    lines = (line.strip() for line in (command.help or "").splitlines())
    return [re.split(r"\s{2,}", line)[0] for line in lines if line.startswith("calipers ")]


def _name_of_command(context: click.Context | None) -> str:
    return context.command_path.partition(" ")[2] if context else ""


def _example(context: click.Context | None) -> str:
    found = examples(context.command) if context else []
    return f"; for example: {found[0]}" if found else ""


def _near_choice(parameter: click.Parameter, text: str) -> str:
    if not isinstance(parameter.type, click.Choice):
        return ""
    quoted = text.split("'")
    typed = quoted[3] if len(quoted) > 3 else ""  # Invalid value for '--option': 'typed' is not one of ...
    return _meant(typed, map(str, parameter.type.choices))


def _near_file(file: str) -> str:
    path = Path(file)
    if any(character in file for character in "*?["):
        path = path.parent / path.name.translate({ord(c): None for c in "*?["})
    try:
        present = [each.name for each in path.parent.iterdir()]
    except OSError:
        return ""
    found = get_close_matches(path.name, present, n=1, cutoff=0.5)
    return f"; did you mean {path.parent / found[0]}?" if found else ""


def _meant(typed: str, known: Iterable[str]) -> str:
    near = get_close_matches(typed, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""
