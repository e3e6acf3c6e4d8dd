"""Runs with all their documents, judged or not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from os import cpu_count
from typing import TypeVar

import numpy as np

from calipers.collection.reader import scan
from calipers.collection.runs import FileRun, Run, unwrapped
from calipers.collection.table_rows import RowsRun
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.native.ids import Ids, decode
from calipers.native.scanner import ColumnScanner


@dataclass(frozen=True, eq=False)
class WholeRun:
    """Every line of one run."""

    queries: list[bytes]
    query: Ints
    documents: Ids
    score: Floats
    error: Callable[[str, int], CalipersError]  # what is wrong with a row, counted from 0


def whole_run(run: Run) -> WholeRun:
    """Read every line of a run."""
    run = unwrapped(run)
    if isinstance(run, FileRun):
        columns = scan(run.path, lambda: ColumnScanner("run"), max_unpacked=run.max_unpacked)
        run.tag = decode(columns.tag)

        def in_file(message: str, row: int) -> CalipersError:
            return CalipersError(message, file=run.path, line=int(columns.line[row]))

        return WholeRun(columns.queries.tolist(), columns.query, columns.documents, columns.value, in_file)
    if isinstance(run, RowsRun):
        rows = run.load()
        return WholeRun(rows.queries.tolist(), rows.query, rows.documents, rows.value, rows.error)
    found = run.to_dict()
    lengths = [len(ranked) for ranked in found.values()]
    score = np.fromiter((score for ranked in found.values() for score in ranked.values()), np.float64, sum(lengths))
    if not np.isfinite(score).all():
        raise CalipersError("a score is not a finite number", file=run.name)
    return WholeRun(
        Ids.of(found).tolist(),
        np.repeat(np.arange(len(lengths)), lengths),
        Ids.of(document for ranked in found.values() for document in ranked),
        score,
        lambda message, row: CalipersError(message, file=run.name),
    )


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
