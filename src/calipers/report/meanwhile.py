"""Work that another thread does ahead, while this one does something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TypeVar

Found = TypeVar("Found")


def computed_meanwhile(compute: Callable[[], Found]) -> Future[Found]:
    """What another thread computes, from now on.

    >>> computed_meanwhile(lambda: 1 + 1).result()
    2
    """
    found: Future[Found] = Future()

    def work() -> None:
        try:
            found.set_result(compute())
        except BaseException as error:  # it is raised by whoever asks for the result
            found.set_exception(error)

    Thread(target=work, daemon=True).start()
    return found


@contextmanager
def meanwhile(tasks: Iterable[Callable[[], object]]) -> Iterator[None]:
    """Do these tasks one after another in another thread; those not begun when the block ends are left to its user.

    >>> with meanwhile([lambda: 1 / 0]):
    ...     pass
    """
    waiting = [*tasks]

    def work() -> None:
        while waiting:
            with suppress(Exception):  # it is met again by whoever needs what the task makes
                waiting.pop(0)()

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        waiting.clear()
        thread.join()
