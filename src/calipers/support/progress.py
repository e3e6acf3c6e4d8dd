"""Progress bars that work on a terminal and in a notebook, and are silent anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from time import monotonic, time
from typing import Any

_shown: list[Any] = []  # the bar on the screen; there is at most one
WAIT = 1.0  # seconds before a bar appears


@contextmanager
def progress_bar(total: int, what: str = "runs") -> Iterator[Callable[[int], None]]:
    """Yield a function to give to `evaluate` and others as `progress`. It is called with the number of finished runs.

    After a second, a bar is shown on the terminal (standard error) or in the notebook.

    >>> with progress_bar(2) as advance:
    ...     advance(1)
    ...     advance(1)
    """
    bar: Any = None
    start, count = monotonic(), 0
    make = _make()

    def advance(done: int) -> None:
        nonlocal count, bar
        count += done
        if make is None or total < 2:
            return
        if bar is None and not _shown and monotonic() - start > WAIT:
            bar = make(total, what)
            _shown.append(bar)
        if bar is not None:
            bar.show(count)

    try:
        yield advance
    finally:
        if bar is not None:
            _shown.remove(bar)
            bar.close()


def _make() -> Callable[[int, str], Any] | None:
    if in_notebook():
        return NotebookBar
    return partial(TerminalBar, time()) if sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Return True in a Jupyter kernel, and False in IPython on a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class TerminalBar:
    """A bar of Click that disappears at the end. began: when the work began, for the remaining time."""

    def __init__(self, began: float, total: int, what: str) -> None:
        import click

        self.bar = click.progressbar(length=total, label=what, file=sys.stderr)
        self.bar.start = began

    def show(self, count: int) -> None:
        self.bar.update(count - self.bar.pos)

    def close(self) -> None:
        erase_bar()


def erase_bar() -> None:
    """Erase the line of a bar on the terminal, and show the cursor again, which Click hides."""
    import click

    click.echo("\r\033[K\033[?25h", nl=False, err=True)


class NotebookBar:
    """A bar in plain HTML, which works in notebooks without widgets."""

    def __init__(self, total: int, what: str) -> None:
        shown: Any = import_module("IPython.display")
        self.total, self.what, self.html = total, what, shown.HTML
        self.place = shown.display(shown.HTML(self._bar(0)), display_id=True)

    def _bar(self, count: int) -> str:
        return f'<progress value="{count}" max="{self.total}"></progress> {count} of {self.total} {self.what}'

    def show(self, count: int) -> None:
        self.place.update(self.html(self._bar(count)))

    def close(self) -> None:
        self.place.update(self.html(""))
