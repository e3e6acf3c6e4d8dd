"""Files into scanners: plain or packed, block by block, in threads where a run is large.

    blocks(path)              the bytes of a file, unpacked, in blocks
    scan(path, scanner)       a scanner's result, its errors with file and line
    scan_run(path, index)     a run against the judgments, whatever the order of its lines

What a file is packed with, its first bytes say. `-` is standard input. That and pipes are spooled to a temporary file,
once in a process, as a run may have to be read twice. Memory is bounded by a few blocks and what the scanner keeps.
"""

from __future__ import annotations

import atexit
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

from calipers.collection.meter import opened
from calipers.collection.scanner import COMPILED, JudgedIndex, RunScanner, ScanError
from calipers.errors import CalipersError
from calipers.extras import load

if TYPE_CHECKING:
    from calipers.collection.columns import Retrieved

Path = str | os.PathLike[str]
Block = bytes | memoryview
Part = tuple[int, int]  # of a file: where it starts and ends
Result = TypeVar("Result", covariant=True)
Value = TypeVar("Value")

BLOCK = 1 << 18  # bytes; what is read should still be in the cache when it is scanned
START = 1 << 16  # bytes that tell what a file is
SMALLEST_PART = 1 << 22  # bytes of a run that are worth a thread of their own

# A packed file may unpack to this much, and this many times its size more, unless the caller says otherwise. Runs
# shrink by 3 to 20; a file made to keep a reader busy for ever shrinks by a thousand.
ROOM = 1 << 30
RATIO = 100
MOST_SPOOLED = 1 << 36  # bytes of standard input or of a pipe


class Scanner(Protocol[Result]):
    """Takes blocks, cut anywhere, and gives a result at the end."""

    @property
    def lines(self) -> int:
        """Whole lines so far."""

    @property
    def rows(self) -> int:
        """Those with content."""

    @property
    def idle(self) -> bool:
        """Whether nothing that follows matters."""

    def feed(self, block: Any, /) -> None: ...

    def finish(self) -> Result: ...


# ------------------------------------------------------------------------------------------------ packed files


class Stream(Protocol):
    """One packed stream, as the decompressors of `lzma` and `bz2` are."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


@dataclass(frozen=True)
class Packing:
    """A way to pack files; another one is another row of PACKINGS."""

    name: str
    magic: bytes
    open: Callable[[], Stream]
    errors: Callable[[], tuple[type[Exception], ...]]


class _Gunzip:
    """zlib's decompressor with the manners of the other two."""

    def __init__(self) -> None:
        import zlib

        self._zlib = zlib.decompressobj(wbits=31)
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        unpacked = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self.needs_input = len(unpacked) < max_length and not self._zlib.unconsumed_tail
        return unpacked

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data


def _zlib_errors() -> tuple[type[Exception], ...]:
    import zlib

    return (zlib.error,)


def _bunzip() -> Stream:
    import bz2

    return bz2.BZ2Decompressor()


def _unxz() -> Stream:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


def _lzma_errors() -> tuple[type[Exception], ...]:
    import lzma

    return (lzma.LZMAError,)


def _unzst() -> Stream:
    stream: Stream = zstd().ZstdDecompressor()
    return stream


def zstd() -> Any:
    """Zstandard, of the standard library where that has it."""
    if sys.version_info >= (3, 14):
        return load("compression.zstd", extra="packed", what=".zst files")
    return load("backports.zstd", extra="packed", what=".zst files")


def lz4() -> Any:
    return load("lz4.frame", extra="packed", what=".lz4 files")


def _unlz4() -> Stream:
    stream: Stream = lz4().LZ4FrameDecompressor()
    return stream


PACKINGS = [
    Packing("gzip", b"\x1f\x8b", _Gunzip, _zlib_errors),
    Packing("bzip2", b"BZh", _bunzip, lambda: (OSError, ValueError)),
    Packing("xz", b"\xfd7zXZ\x00", _unxz, _lzma_errors),
    Packing("Zstandard", b"\x28\xb5\x2f\xfd", _unzst, lambda: (zstd().ZstdError,)),
    Packing("LZ4", b"\x04\x22\x4d\x18", _unlz4, lambda: (RuntimeError,)),
]


def _packing(start: bytes) -> Packing | None:
    return next((packing for packing in PACKINGS if start.startswith(packing.magic)), None)


def _unpacked(file: BinaryIO, packing: Packing, limit: int, size: int) -> Iterator[bytes]:
    """The streams of a packed file, one after another, as `cat a.gz b.gz` makes them. Zeros behind them are padding."""
    errors, total = packing.errors(), 0
    data = file.read(BLOCK)
    while data:
        if not data.startswith(packing.magic):
            raise CalipersError(f"something else follows the {packing.name} data: the file is damaged")
        stream = packing.open()
        while not stream.eof:
            if stream.needs_input and not data:
                data = file.read(BLOCK)
                if not data:
                    raise CalipersError(f"the {packing.name} data ends too early: the file is truncated")
            try:
                block = stream.decompress(data, size)
            except errors as error:
                raise CalipersError(f"the {packing.name} data is damaged ({error})") from None
            data = b""
            total += len(block)
            if total > limit:
                raise CalipersError(
                    f"the {packing.name} data unpacks to more than {limit:,} bytes: "
                    "if that is right, allow more with max_unpacked (--max-unpacked)"
                )
            if block:
                yield block
        data = (stream.unused_data or b"").lstrip(b"\0")
        while len(data) < len(packing.magic):
            more = file.read(BLOCK)
            if not more:
                break
            data = (data + more).lstrip(b"\0")


# ------------------------------------------------------------------------------------------------------- files


def shown_name(path: Path) -> str:
    """The file as errors name it."""
    return "<stdin>" if os.fspath(path) == "-" else os.fspath(path)


_spooled: dict[object, str] = {}  # what was spooled, and the temporary file
_spooling = threading.Lock()


def _spool(key: object, source: BinaryIO) -> str:
    """Copy a stream to a temporary file, the first time; it lives as long as the process."""
    with _spooling:
        if key not in _spooled:
            import tempfile

            handle, copy = tempfile.mkstemp(prefix="calipers-")
            atexit.register(_remove, copy)
            room = MOST_SPOOLED
            with open(handle, "wb") as file:
                while block := source.read(BLOCK):
                    room -= len(block)
                    if room < 0:
                        _remove(copy)
                        raise CalipersError(f"more than {MOST_SPOOLED:,} bytes: write them to a file first")
                    file.write(block)
            _spooled[key] = copy
        return _spooled[key]


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def _regular(path: Path) -> str:
    """The path of a regular file with this content."""
    name = os.fspath(path)
    if name == "-":
        return _spool(sys.stdin, sys.stdin.buffer)
    status = os.stat(name)
    if stat.S_ISDIR(status.st_mode):
        raise CalipersError("a directory: expected a file")
    if stat.S_ISREG(status.st_mode):
        return name
    if not stat.S_ISFIFO(status.st_mode):
        raise CalipersError("a device: expected a file")
    key = (name, status.st_dev, status.st_ino)
    if key in _spooled:
        return _spooled[key]
    with open(name, "rb") as pipe:
        return _spool(key, pipe)


class _Named:
    """Puts the file's name on errors, and turns the system's errors into ours."""

    def __init__(self, path: Path) -> None:
        self._name = shown_name(path)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CalipersError) and error.file is None:
            error.file = self._name
        elif isinstance(error, FileNotFoundError):
            raise CalipersError("no such file", file=self._name) from None
        elif isinstance(error, OSError):
            raise CalipersError(f"cannot be read: {error.strerror or error}", file=self._name) from None


_buffers: list[bytearray] = []  # for the next file: a fresh one costs more than a small file's scan


def _plain(file: BinaryIO, size: int, start: int = 0, stop: int | None = None) -> Iterator[memoryview]:
    """The bytes from start to stop, in blocks that are good until the next one."""
    buffer = _buffers.pop() if _buffers and size == BLOCK else bytearray(size)
    view = memoryview(buffer)
    file.seek(start)
    left = sys.maxsize if stop is None else stop - start
    try:
        while left and (count := file.readinto(view[: min(size, left)])):  # type: ignore[attr-defined]  # raw files have it
            left -= count
            yield view[:count]
    finally:
        view.release()
        if size == BLOCK:
            _buffers.append(buffer)


def blocks(path: Path, *, max_unpacked: int | None = None, size: int = BLOCK) -> Generator[Block, None, None]:
    """The bytes of a file, unpacked. A block is good until the next one is asked for.

    `max_unpacked` is the most bytes that a packed file may unpack to.
    """
    with _Named(path):
        regular = _regular(path)
        with opened(regular) as file:
            packing = _packing(file.read(8))
            file.seek(0)
            if packing:
                usual = ROOM + RATIO * os.fstat(file.fileno()).st_size
                limit = usual if max_unpacked is None else max_unpacked
                source: Iterator[Block] = _unpacked(file, packing, limit, size)
            else:
                source = _plain(file, size)
            empty = True
            for block in source:
                empty = False
                yield block
            if empty:
                raise CalipersError("the file is empty")


def start_of(path: Path, *, max_unpacked: int | None = None, size: int = START) -> bytes:
    """The first bytes of a file, unpacked."""
    source = blocks(path, max_unpacked=max_unpacked, size=size)
    try:
        return bytes(next(source))
    finally:
        source.close()


def plain_file(path: Path, *, max_unpacked: int | None = None) -> str | BytesIO:
    """A regular file with this content, or the content itself where it was packed: for those who jump about in it."""
    with _Named(path):
        regular = _regular(path)
        with open(regular, "rb") as file:
            start = file.read(8)
        if not start:
            raise CalipersError("the file is empty")
        if not _packing(start):
            return regular
    return BytesIO(whole(path, max_unpacked=max_unpacked))


def whole(path: Path, *, max_unpacked: int | None = None) -> bytes:
    """All bytes of a file, unpacked."""
    return b"".join([bytes(block) for block in blocks(path, max_unpacked=max_unpacked)])


# ------------------------------------------------------------------------------------------------------- scans


def scan(path: Path, make_scanner: Callable[[], Scanner[Result]], *, max_unpacked: int | None = None) -> Result:
    """What a scanner makes of a file; its errors, and those of the file, with file and line."""
    scanner = make_scanner()
    return _finish(path, scanner, blocks(path, max_unpacked=max_unpacked))


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
    single: bool = False,
    jobs: int | None = None,
    max_unpacked: int | None = None,
    memory: int | None = None,
    smallest_part: int = SMALLEST_PART,
) -> Retrieved:
    """A run against the judgments, in up to `jobs` threads (default: one a processor) where it is plain and large.

    A run whose queries come back later is held in memory, or sorted on disk where that takes more than `memory` bytes.
    """
    room = usual_memory() if memory is None else memory

    def scanner(regroup: bool = False) -> RunScanner:
        return RunScanner(index, depth=depth, single=single, regroup=regroup)

    def sorted_on_disk() -> Retrieved:
        from calipers.collection.external import sorted_file

        return sorted_file(path, index, depth=depth, single=single, memory=room, max_unpacked=max_unpacked)

    parts = [] if jobs == 1 else _parts(path, jobs or processors(), smallest_part)
    if len(parts) > 1:
        fits = parts[-1][1] <= room  # what is kept of a line is shorter than the line
        together = _in_parts(path, parts, scanner, regroup=fits)
        if together is not None:
            return together if fits or not together.scattered else sorted_on_disk()
    # One thread; or an error, of which a scan from the top meets the first one of the file.
    found = scan(path, scanner, max_unpacked=max_unpacked)
    if not found.scattered:
        return found
    try:
        return _finish(path, scanner(True), _within(blocks(path, max_unpacked=max_unpacked), room))
    except _TooLarge:
        return sorted_on_disk()


def usual_memory() -> int:
    """A quarter of what the machine has, where it says so."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (AttributeError, OSError, ValueError):
        return 1 << 31


class _TooLarge(Exception):
    """More bytes than may be held."""


def _within(source: Iterator[Block], most: int) -> Iterator[Block]:
    for block in source:
        most -= len(block)
        if most < 0:
            raise _TooLarge
        yield block


def feed_run(
    path: Path, index: JudgedIndex, *, depth: int = 0, jobs: int | None = None, max_unpacked: int | None = None
) -> list[RunScanner] | None:
    """Scanners that took the parts of a run, to be finished; None where there is an error, or queries come back."""
    parts = _parts(path, jobs or processors(), SMALLEST_PART)
    scanners = [RunScanner(index, depth=depth) for _ in parts]
    if len(parts) > 1:
        if not _fed(path, parts, scanners):
            return None
    else:
        for block in blocks(path, max_unpacked=max_unpacked):
            scanners[0].feed(block)
    whole = all(each.rows and not each.scattered for each in scanners)
    return scanners if whole else None


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_parts(
    path: Path, parts: Sequence[Part], scanner: Callable[[bool], RunScanner], regroup: bool
) -> Retrieved | None:
    """A thread a part, and their results put together; None if there is an error, or nothing to put together.

    Queries in no order are regrouped, or else left for others: what is returned then only says that it is scattered.
    """
    scanners = [scanner(False) for _ in parts]
    if not _fed(path, parts, scanners):
        return None
    if not any(each.scattered for each in scanners):
        results = in_threads([each.finish for each in scanners])
        if results is None:
            return None
        together = joined(results)
        if not together.scattered:
            return together if any(each.rows for each in scanners) else None
    if not regroup:
        return replace(scanner(True).finish(), scattered=True)
    return _regrouped(path, parts, [scanner(True) for _ in parts]) if COMPILED else None


def _regrouped(path: Path, parts: Sequence[Part], scanners: Sequence[RunScanner]) -> Retrieved | None:
    """The same for queries in any order: the parts are read, put together, and the queries shared out to be ranked."""
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
            with opened(_regular(path)) as file:
                for block in _plain(file, BLOCK, *part):
                    scanner.feed(block)
                    if scanner.idle:
                        stop.set()
                    if stop.is_set():
                        break
        except BaseException:
            stop.set()
            raise

    tasks = [partial(feed, part, scanner) for part, scanner in zip(parts, scanners, strict=True)]
    return in_threads(tasks) is not None


def in_threads(tasks: Sequence[Callable[[], Value]]) -> list[Value] | None:
    """What the tasks return, each run in a thread of its own; None if one fails: a scan from the top will say why."""
    results: dict[int, Value] = {}

    def work(i: int) -> None:
        with suppress(Exception):
            results[i] = tasks[i]()

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(1, len(tasks))]
    for thread in threads:
        thread.start()
    try:
        work(0)
    finally:
        for thread in threads:
            thread.join()
    return [results[i] for i in range(len(tasks))] if len(results) == len(tasks) else None


def joined(results: Sequence[Retrieved]) -> Retrieved:
    """What the parts of a run retrieved, one after another."""
    import numpy as np

    from calipers.collection.columns import Retrieved
    from calipers.collection.ids import Ids

    query = np.concatenate([result.query for result in results])
    sizes = np.concatenate([np.diff(result.offsets) for result in results])
    columns = ("length", "tied", "document", "score", "first", "last", "docid_rank", "input_rank")
    return Retrieved(
        query=query,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        **{name: np.concatenate([getattr(result, name) for result in results]) for name in columns},
        tag=next((result.tag for result in results if result.tag), b""),
        unjudged=Ids.of(dict.fromkeys(query for result in results for query in result.unjudged)),
        scattered=len(np.unique(query)) < len(query),
    )


# ------------------------------------------------------------------------------------------ parts of a large run


_WINDOW = 1 << 16  # bytes looked at a time, for a line whose query is new
_QUERY = re.compile(rb"[ \t]*([^ \t\r\n#][^ \t\r\n]*)")
_BOM = b"\xef\xbb\xbf"


def _parts(path: Path, jobs: int, smallest: int) -> list[Part]:
    """Where to cut a plain run so that (most) queries stay whole; one part if it is small, or packed."""
    with _Named(path), open(_regular(path), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        count = min(jobs, size // max(1, smallest))
        if count < 2 or _packing(file.read(8)):
            return [(0, size)]
        targets = [size * k // count for k in range(count + 1)]
        starts = [0]
        for target, stop in pairwise(targets[1:]):
            change = _query_change(file, target, stop)
            if change is not None and change > starts[-1]:
                starts.append(change)
        return [*zip(starts, [*starts[1:], size], strict=True)]


def _query_change(file: BinaryIO, start: int, stop: int) -> int | None:
    """Where, between start and stop, a line has another query than the line before it."""
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
