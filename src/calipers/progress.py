"""Progress bars that work on a terminal and in a notebook, and are silent anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
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
    return TerminalBar if sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Return True in a Jupyter kernel, and False in IPython on a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class TerminalBar:
    """A bar of Rich that disappears at the end."""

    def __init__(self, total: int, what: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self.bar = Progress(console=Console(stderr=True), transient=True)
        self.bar.start()
        self.task = self.bar.add_task(what, total=total)

    def show(self, count: int) -> None:
        self.bar.update(self.task, completed=count)

    def close(self) -> None:
        self.bar.stop()


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
