"""Progress of reading: bytes read, total bytes, and the remaining time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from calipers.support.progress import erase_bar

FIRST = 1.0  # seconds before anything is shown
EVERY = 0.2  # seconds between updates of the bar
LINES_EVERY = 5.0  # seconds between lines if there is no terminal


def progress_option(command: Any) -> Any:
    import click

    return click.option(
        "--progress/--no-progress",
        "show",
        default=None,
        help="Show how much has been read and how long the rest takes [default: on a terminal].",
    )(command)


@contextmanager
def reading(paths: Sequence[str], show: bool | None = None) -> Iterator[None]:
    """Show on standard error how far reading is: a bar on a terminal, otherwise lines if `show` is True."""
    terminal = sys.stderr.isatty()
    if show is False or (show is None and not terminal):
        yield
        return
    from calipers.collection.bytes_read import watched

    teller = _Bar() if terminal else _ProgressLines()
    with watched(files_in(paths), teller.tell):
        try:
            yield
        finally:
            teller.stop()


def files_in(paths: Sequence[str]) -> list[str]:
    """Return the files that arguments stand for. Arguments that match no file are reported elsewhere."""
    from calipers.collection.run_names import named_files
    from calipers.errors import CalipersError

    found: list[str] = []
    for path in paths:
        try:
            found += [file for _, file in named_files(path) if os.path.isfile(file)]
        except CalipersError:
            continue
    return found


class _Bar:
    """A progress bar, shown if reading takes longer than a second."""

    def __init__(self) -> None:
        self._start = self._last = monotonic()
        self._bar: Any = None

    def tell(self, done: int, total: int) -> None:
        import click

        now = monotonic()
        if now - self._start < FIRST or now - self._last < EVERY:
            return
        self._last = now
        if self._bar is None:
            self._bar = click.progressbar(length=total, show_eta=False, show_percent=False, file=sys.stderr)
        self._bar.length = total  # a file that is read again counts again
        self._bar.label = progress_line(done, total, now - self._start)
        self._bar.update(done - self._bar.pos)

    def stop(self) -> None:
        if self._bar is not None:
            erase_bar()


class _ProgressLines:
    """A line of progress every few seconds."""

    def __init__(self, write: Callable[[str], None] = lambda text: print(text, file=sys.stderr)) -> None:
        self._start = monotonic()
        self._next = self._start + FIRST
        self._write = write
        self._told: tuple[int, int] | None = None

    def tell(self, done: int, total: int) -> None:
        self._told = done, total
        now = monotonic()
        if now >= self._next:
            self._next = now + LINES_EVERY
            self._write(progress_line(done, total, now - self._start))

    def stop(self) -> None:
        if self._told is not None:
            self._write(progress_line(*self._told, monotonic() - self._start))


def progress_line(done: int, total: int, seconds: float) -> str:
    """Return a line about how far reading is.

    >>> progress_line(500_000_000, 2_000_000_000, 10)
    'calipers: read 0.50 of 2.00 GB (25%), 30 s left'
    """
    left = seconds * (total - done) / done if done else float("nan")
    share = done / total if total else 1.0
    return f"calipers: read {done / 1e9:.2f} of {total / 1e9:.2f} GB ({share:.0%}), {left:.0f} s left"
