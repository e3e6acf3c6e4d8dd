"""What commands print: tables, and notes beside them. Without click: some are done before it would be loaded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.tables import Table


def write(table: Table, form: str, output: str | None = None) -> None:
    """Print a table, or write it whole to a file: through a temporary file, so that nothing is left half written."""
    text = table.to(form)
    if output is None or output == "-":
        show(text)
        return
    from calipers.output import replacing

    with replacing(output) as temporary, open(temporary, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def show(text: str) -> None:
    """Ids are printed as the bytes that they were read as."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        stream.write(text.encode("utf-8", "surrogateescape"))


def note(text: str) -> None:
    """One line beside the result, never in it."""
    print(f"calipers: {text}", file=sys.stderr)


def warn(texts: Sequence[str], strict: bool) -> None:
    """Warnings, each once; with --strict the first is an error."""
    if texts and strict:
        raise CalipersError(f"{texts[0]} (--strict)")
    for text in texts:
        note(f"warning: {text}")
