"""Reading of files with scanners. Threads read the parts of a large run.

scan(path, scanner)       a scanner's result, its errors with file and line
scan_run(path, index)     what a run retrieves of the judged documents; its lines may have any order
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import numpy as np

from calipers.collection.bytes_read import opened
from calipers.collection.files import (
    BLOCK,
    Block,
    FileErrors,
    Path,
    blocks,
    encoding_of,
    is_utf_16,
    packing_of,
    plain_blocks,
    regular,
    shown_name,
)
from calipers.errors import CalipersError
from calipers.native.scanner import COMPILED, JudgedIndex, RunScanner, ScanError

if TYPE_CHECKING:
    from calipers.native.columns import Precision, Retrieved

Part = tuple[int, int]  # of a file: where it starts and ends
Result = TypeVar("Result", covariant=True)
Value = TypeVar("Value")

SMALLEST_PART = 1 << 22  # bytes of a run that are worth a thread of their own
NOT_GROUPED = "its rows are not grouped by query, and grouping them takes too much memory: sort it by query first"
FILE_ERRORS = (CalipersError, ScanError, OSError, MemoryError)  # all that a file can cause


class Scanner(Protocol[Result]):
    """Takes blocks, cut anywhere, and gives a result at the end."""

    @property
    def lines(self) -> int:
        """Complete lines so far."""

    @property
    def rows(self) -> int:
        """Lines with content so far."""

    @property
    def idle(self) -> bool:
        """True if the rest of the file is not needed."""

    def feed(self, block: Any, /) -> None: ...

    def finish(self) -> Result: ...


# ------------------------------------------------------------------------------------------------------- scans


def scan(
    path: Path,
    make_scanner: Callable[[], Scanner[Result]],
    *,
    max_unpacked: int | None = None,
    source: Iterator[Block] | None = None,
) -> Result:
    """Return the result of a scanner for a file, or for blocks of it (`source`). Errors name the file and line."""
    scanner = make_scanner()
    return _finish(path, scanner, blocks(path, max_unpacked=max_unpacked) if source is None else source)


def _finish(path: Path, scanner: Scanner[Result], source: Iterator[Block]) -> Result:
    try:
        for block in source:
            scanner.feed(block)
            if scanner.idle:
                break
        result = scanner.finish()
    except ScanError as error:
        raise CalipersError(error.message, file=shown_name(path), line=error.line) from None
    except CalipersError as error:
        if scanner.lines:
            error.line = scanner.lines + 1
        raise
    if not scanner.rows:
        raise CalipersError("nothing but comments and empty lines", file=shown_name(path), line=max(1, scanner.lines))
    return result


def scan_run(
    path: Path,
    index: JudgedIndex,
    *,
    depth: int = 0,
    precision: Precision = "double",
    jobs: int | None = None,
    max_unpacked: int | None = None,
    smallest_part: int = SMALLEST_PART,
) -> Retrieved:
    """Return the judged documents of a run. Up to `jobs` threads (default: all cores) read a large, uncompressed file.

    A run whose lines are not grouped by query is grouped in memory.
    """

    def scanner(regroup: bool = False) -> RunScanner:
        return RunScanner(index, depth=depth, precision=precision, regroup=regroup)

    parts = [] if jobs == 1 else _parts(path, jobs or processors(), smallest_part)
    if len(parts) > 1:
        together = _in_parts(path, parts, scanner)
        if together is not None:
            return together
    # One thread; or an error, of which a scan from the top meets the first one of the file.
    found = scan(path, scanner, max_unpacked=max_unpacked)
    if not found.scattered:
        return found
    try:
        return _finish(path, scanner(True), held(blocks(path, max_unpacked=max_unpacked), len))
    except MemoryError:
        message = f"{NOT_GROUPED}, as in LC_ALL=C sort -s -k1,1 RUN > SORTED"
        raise CalipersError(message, file=shown_name(path)) from None


def held(pieces: Iterable[Value], size: Callable[[Value], int]) -> Iterator[Value]:
    """Yield the pieces of a run that is grouped in memory. Raise MemoryError if they are too large together."""
    left = most_held()  # what is kept of a line is shorter than the line
    for piece in pieces:
        left -= size(piece)
        if left < 0:
            raise MemoryError
        yield piece


def most_held() -> int:
    """Return half of the machine's memory in bytes, or 4 GiB if it is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 1 << 32


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_parts(path: Path, parts: Sequence[Part], scanner: Callable[[bool], RunScanner]) -> Retrieved | None:
    """Read parts in threads and join their results. Return None if there is an error, or nothing to join."""
    scanners = [scanner(False) for _ in parts]
    if not _fed(path, parts, scanners):
        return None
    if not any(each.scattered for each in scanners):
        results = in_threads([each.finish for each in scanners])
        if results is None:
            return None
        together = joined(results)  # the last line, where it lacks its end, was taken only now
        if not together.scattered:
            return together if any(each.rows for each in scanners) else None
    if not COMPILED or parts[-1][1] > most_held():
        return None
    return _regrouped(path, parts, [scanner(True) for _ in parts])


def _regrouped(path: Path, parts: Sequence[Part], scanners: Sequence[RunScanner]) -> Retrieved | None:
    """Read parts of a run whose queries are in no order, join them, and rank shares of the queries in threads."""
    if not _fed(path, parts, scanners):
        return None
    first, *others = scanners
    try:
        for other in others:
            first.absorb(other)
        shares = first.split(len(parts))
    except ScanError:
        return None
    results = in_threads([share.finish for share in shares])
    return None if results is None else replace(joined(results), scattered=True)


def _fed(path: Path, parts: Sequence[Part], scanners: Sequence[RunScanner]) -> bool:
    """Feed each scanner its part, in threads; false if one of them met an error."""
    stop = threading.Event()

    def feed(part: Part, scanner: RunScanner) -> None:
        try:
            with opened(regular(path)) as file:
                for block in plain_blocks(file, BLOCK, *part):
                    scanner.feed(block)
                    if scanner.idle:
                        stop.set()
                    if stop.is_set():
                        break
        except BaseException:  # raised again below
            stop.set()
            raise

    tasks = [partial(feed, part, scanner) for part, scanner in zip(parts, scanners, strict=True)]
    return in_threads(tasks) is not None


def in_threads(tasks: Sequence[Callable[[], Value]]) -> list[Value] | None:
    """Run each task in a thread and return the results. Return None if a task raises one of FILE_ERRORS.

    Then a scan from the top will say why. Any other exception is a programming error, and is raised.
    """
    results: dict[int, Value] = {}
    errors: list[Exception] = []

    def work(i: int) -> None:
        try:
            results[i] = tasks[i]()
        except Exception as error:  # others than FILE_ERRORS are raised below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(1, len(tasks))]
    for thread in threads:
        thread.start()
    try:
        work(0)
    finally:
        for thread in threads:
            thread.join()
    for error in errors:
        if not isinstance(error, FILE_ERRORS):
            raise error
    return None if errors else [results[i] for i in range(len(tasks))]


def joined(results: Sequence[Retrieved]) -> Retrieved:
    """Join what the parts of a run retrieved."""
    from calipers.native.columns import Retrieved, TieSpans
    from calipers.native.ids import Ids

    query = np.concatenate([result.query for result in results])
    sizes = np.concatenate([np.diff(result.offsets) for result in results])
    columns = ("length", "tied", "document", "score", "first", "last", "docid_rank", "input_rank")
    return Retrieved(
        query=query,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        **{name: np.concatenate([getattr(result, name) for result in results]) for name in columns},
        all_ties=TieSpans.joined([result.all_ties for result in results]),
        tag=next((result.tag for result in results if result.tag), b""),
        unjudged=Ids.of(dict.fromkeys(query for result in results for query in result.unjudged)),
        scattered=any(result.scattered for result in results) or len({*query.tolist()}) < len(query),
    )


# ------------------------------------------------------------------------------------------ parts of a large run


_WINDOW = 1 << 16  # bytes looked at a time, for a line whose query is new
_QUERY = re.compile(rb"[ \t]*([^ \t\r\n#][^ \t\r\n]*)")
_BOM = b"\xef\xbb\xbf"


def _parts(path: Path, jobs: int, smallest: int) -> list[Part]:
    """Return parts of a run in which (most) queries are complete. A small or compressed file is one part."""
    with FileErrors(path), open(regular(path), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        count = min(jobs, size // max(1, smallest))
        start = file.read(64)
        if count < 2 or packing_of(start) or is_utf_16(start) or encoding_of(path):
            return [(0, size)]
        targets = [size * k // count for k in range(count + 1)]
        starts = [0]
        for target, stop in pairwise(targets[1:]):
            change = _query_change(file, target, stop)
            if change is not None and change > starts[-1]:
                starts.append(change)
        return [*zip(starts, [*starts[1:], size], strict=True)]


def _query_change(file: BinaryIO, start: int, stop: int) -> int | None:
    """Return a place between start and stop where the query changes, or None."""
    while start < stop:
        file.seek(start)
        window = file.read(_WINDOW)
        whole = window.find(b"\n") + 1, window.rfind(b"\n")  # lines that are not cut
        lines = window[whole[0] : whole[1]].split(b"\n") if 0 < whole[0] < whole[1] else []
        if len(lines) < 2:
            return None
        first, last = _query_of(lines[0]), _query_of(lines[-1])
        if first is None or last is None or first != last:  # else the window lies within one query, most likely
            position, before = start + whole[0], first
            for line in lines:
                query = _query_of(line)
                if query is not None:
                    # A part must not start with what looks like a byte order mark: it would be taken for one.
                    if before is not None and query != before and not line.startswith(_BOM):
                        return position
                    before = query
                position += len(line) + 1
        start += whole[1] - len(lines[-1]) - 1  # the last line is the first of the next window
    return None


def _query_of(line: bytes) -> bytes | None:
    if line.startswith(b"#"):
        return None
    found = _QUERY.match(line)
    return found[1] if found else None
