"""Printing of tables, notes and warnings. It does not import click: some commands end before click is loaded."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from calipers.errors import CalipersError


def write_text(text: str, output: str | None = None) -> None:
    """Print text, or write it to a file."""
    if output is None or output == "-":
        show(text)
        return
    from calipers.support.atomic_files import write_whole

    write_whole(output, text.encode("utf-8", "surrogateescape"))


def show(text: str, workflow_commands: bool = False) -> None:
    """Print text to standard output, with ids as the bytes that they were read as.

    What a terminal or GitHub's runner would obey is written out; with `workflow_commands` the runner may obey.
    """
    if os.environ.get("GITHUB_ACTIONS") and not workflow_commands:
        from calipers.results.tables import without_workflow_commands

        text = without_workflow_commands(text)
    if sys.stdout.isatty():
        from calipers.results.tables import visible

        text = visible(text, keep="\n\t")
    stream = getattr(sys.stdout, "buffer", None)
    with told_of_output():
        if stream is None:
            sys.stdout.write(text)
        else:
            sys.stdout.flush()
            stream.write(text.encode("utf-8", "surrogateescape"))


@contextmanager
def told_of_output() -> Iterator[None]:
    """Turn an error of the system during writing to standard output into a CalipersError."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader closed the pipe, which is not an error
    except OSError as error:
        why = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise CalipersError(f"standard output cannot be written: {why}") from None


def note(text: str) -> None:
    """Print one line to stderr, never into the result. Errors while doing so are ignored."""
    from calipers.results.tables import visible

    with suppress(OSError):
        print(f"calipers: {visible(text)}", file=sys.stderr)


def warn(texts: Sequence[str], strict: bool) -> None:
    """Print each warning once. With --strict, the first warning is an error."""
    if texts and strict:
        raise CalipersError(f"{texts[0]} (--strict)")
    for text in texts:
        note(f"warning: {text}")
