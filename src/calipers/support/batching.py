"""Items in batches whose sizes add up to little enough to be worked on together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def batches(items: Iterable[Item], size: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Items in their order, in batches of at most this size together; a larger item is alone.

    >>> [*batches(["a", "bb", "cccc", "d"], len, 3)]
    [['a', 'bb'], ['cccc'], ['d']]
    """
    batch: list[Item] = []
    total = 0
    for item in items:
        if batch and total + size(item) > most:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch
