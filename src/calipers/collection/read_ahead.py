"""Many sources read by several threads, and handed on in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from os import cpu_count
from typing import TypeVar

Source = TypeVar("Source")
Result = TypeVar("Result")


def in_order(read: Callable[[Source], Result], sources: Iterable[Source], jobs: int | None = None) -> Iterator[Result]:
    """Yield the result of each source in order. Threads read ahead, at most two results per thread.

    >>> [*in_order(len, ["a", "bb", "ccc"], jobs=2)]
    [1, 2, 3]
    """
    workers = jobs or cpu_count() or 1
    if workers == 1:
        yield from map(read, sources)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        waiting = iter(sources)
        ahead = deque(pool.submit(read, source) for source in islice(waiting, 2 * workers))
        try:
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(pool.submit(read, source) for source in islice(waiting, 1))
        finally:
            for task in ahead:
                task.cancel()
