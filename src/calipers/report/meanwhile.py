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
def meanwhile(*lanes: Iterable[Callable[[], object]]) -> Iterator[None]:
    """Do the tasks of each lane in turn, in a thread of its own; those not begun when the block ends are left.

    >>> with meanwhile([lambda: 1 / 0]):
    ...     pass
    """
    waiting = [[*tasks] for tasks in lanes]

    def work(tasks: list[Callable[[], object]]) -> None:
        while tasks:
            with suppress(Exception):  # it is met again by whoever needs what the task makes
                tasks.pop(0)()

    threads = [Thread(target=work, args=(tasks,), daemon=True) for tasks in waiting]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for tasks in waiting:
            tasks.clear()
        for thread in threads:
            thread.join()
