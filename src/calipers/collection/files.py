"""The bytes of files: plain or packed, block by block.

What a file is packed with, its first bytes say; so they do of UTF-16, which becomes UTF-8. `-` is standard input. That
and pipes are spooled to a temporary file, once in a process, as a run may have to be read twice. Memory is bounded by a
few blocks.
"""

from __future__ import annotations

import atexit
import io
import os
import stat
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, Protocol

from calipers.collection.bytes_read import opened
from calipers.collection.first_line import blanks_before, shows_content
from calipers.errors import CalipersError, MissingFile
from calipers.support.extras import load

Path = str | os.PathLike[str]
Block = bytes | memoryview

BLOCK = 1 << 18  # bytes; what is read should still be in the cache when it is scanned
START = 1 << 16  # bytes that mostly tell what a file is
LONGEST_START = 1 << 24  # bytes that do so where its first line is long

# A packed file may unpack to this much, and this many times its size more, unless the caller says otherwise. Runs
# shrink by 3 to 20; a file made to keep a reader busy for ever shrinks by a thousand.
ROOM = 1 << 30
RATIO = 100
SMALL_STREAM = 1 << 13  # packed bytes
TINY, MOST_TINY = 64, 10_000  # bytes of streams that cost more than they hold, and how many a packed file may have
MOST_SPOOLED = 1 << 36  # bytes of standard input or of a pipe


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


class Packing(NamedTuple):
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


def packing_of(start: bytes) -> Packing | None:
    return next((packing for packing in PACKINGS if start.startswith(packing.magic)), None)


def _unpacked(file: BinaryIO, packing: Packing, limit: int, size: int) -> Iterator[bytes]:
    """Yield the content of all streams of a compressed file (`cat a.gz b.gz` has two). Zeros at the end are padding."""
    errors, total, tiny = packing.errors(), 0, 0
    data, at = file.read(BLOCK), 0
    while data:
        if not data.startswith(packing.magic, at):
            raise CalipersError(f"something else follows the {packing.name} data: the file is damaged")
        stream, before, step = packing.open(), total, SMALL_STREAM
        while not stream.eof:
            fed = b""
            if stream.needs_input:
                if at == len(data):
                    data, at = file.read(BLOCK), 0
                if not data:
                    raise CalipersError(f"the {packing.name} data ends too early: the file is truncated")
                fed = data[at : at + step]  # little at first: what a short stream leaves is copied
                at, step = at + len(fed), min(2 * step, BLOCK)
            try:
                block = stream.decompress(fed, size)
            except errors as error:
                raise CalipersError(f"the {packing.name} data is damaged ({error})") from None
            total += len(block)
            if total > limit:
                raise CalipersError(
                    f"the {packing.name} data unpacks to more than {limit:,} bytes: "
                    "if that is right, allow more with max_unpacked",
                    parameter="max_unpacked",
                )
            if block:
                yield block
        tiny += total - before < TINY
        if tiny > MOST_TINY:
            raise CalipersError(
                f"more than {MOST_TINY:,} streams of the {packing.name} data hold less than {TINY} bytes: pack it again"
            )
        at -= len(stream.unused_data or b"")
        while len(data) - at < len(packing.magic) or data.startswith(b"\0", at):
            rest = data[at:].lstrip(b"\0")
            if len(rest) < len(packing.magic):
                rest += (more := file.read(BLOCK))
                if not more:
                    data, at = rest, 0
                    break
            data, at = rest, 0


# ------------------------------------------------------------------------------------------------------- files


def shown_name(path: Path) -> str:
    """Return the name of a file for error messages."""
    return "<stdin>" if os.fspath(path) == "-" else os.fspath(path)


_spooled: dict[object, str] = {}  # what was spooled, and the temporary file
_spooling = threading.Lock()


def _spool(key: object, source: BinaryIO) -> str:
    """Copy a stream to a temporary file, the first time; it lives as long as the process."""
    with _spooling:
        if key not in _spooled:
            import shutil
            import tempfile

            handle, copy = tempfile.mkstemp(prefix="calipers-")
            atexit.register(_remove, copy)
            most = room = min(MOST_SPOOLED, shutil.disk_usage(os.path.dirname(copy)).free // 2)
            with open(handle, "wb") as file:
                while block := source.read(BLOCK):
                    room -= len(block)
                    if room < 0:
                        _remove(copy)
                        raise CalipersError(f"more than {most:,} bytes: write them to a file first")
                    file.write(block)
            _spooled[key] = copy
        return _spooled[key]


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def regular(path: Path) -> str:
    """Return the path of a regular file with the content of this file."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise CalipersError("standard input is closed")
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


class FileErrors:
    """Puts the file's name on errors, and turns the system's errors into ours."""

    def __init__(self, path: Path) -> None:
        self._name = shown_name(path)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CalipersError) and error.file is None:
            error.file = self._name
        elif isinstance(error, FileNotFoundError):
            raise MissingFile("no such file", file=self._name) from None
        elif isinstance(error, OSError):
            raise CalipersError(f"cannot be read: {error.strerror or error}", file=self._name) from None


_spare: dict[int, list[bytearray]] = {}  # buffers by size, for the next file: a fresh one costs more than a small scan


def plain_blocks(file: BinaryIO, size: int, start: int = 0, stop: int | None = None) -> Iterator[memoryview]:
    """Yield the bytes from start to stop in blocks. A block is valid until the next one is read."""
    spare = _spare.setdefault(size, [])
    try:
        buffer = spare.pop()
    except IndexError:
        buffer = bytearray(size)
    view = memoryview(buffer)
    file.seek(start)
    left = sys.maxsize if stop is None else stop - start
    try:
        while left and (count := file.readinto(view[: min(size, left)])):  # type: ignore[attr-defined]  # raw files have it
            left -= count
            yield view[:count]
    finally:
        view.release()
        spare.append(buffer)


def blocks(
    path: Path, *, max_unpacked: int | None = None, size: int = BLOCK, room: int | None = None, ratio: int | None = None
) -> Generator[Block, None, None]:
    """Yield the bytes of a file, decompressed, in blocks. A block is valid until the next one is read.

    `max_unpacked` is the most bytes that a packed file may unpack to, by default `room` (or ROOM) and `ratio` (or
    RATIO) times its size.
    """
    with FileErrors(path), opened(regular(path)) as file:
        packing = packing_of(file.read(8))
        file.seek(0)
        if packing:
            room, ratio = ROOM if room is None else room, RATIO if ratio is None else ratio
            usual = room + ratio * os.fstat(file.fileno()).st_size
            limit = usual if max_unpacked is None else max_unpacked
            source: Iterator[Block] = _unpacked(file, packing, limit, size)
        else:
            source = plain_blocks(file, size)
        empty = True
        for block in _as_utf8(source, encoding_of(path)):
            empty = False
            yield block
        if empty:
            raise CalipersError("the file is empty")


class EncodedPath(str):
    """Path of a text file in another encoding than UTF-8. Whoever reads its blocks gets UTF-8."""

    encoding: str

    def __new__(cls, path: str, encoding: str) -> EncodedPath:
        import codecs

        try:
            codecs.lookup(encoding)
        except LookupError:
            raise CalipersError(f"unknown encoding '{encoding}'; others are utf-8, cp1252 and latin-1") from None
        made = super().__new__(cls, path)
        made.encoding = encoding
        return made

    def __str__(self) -> str:
        return self


def in_encoding(path: Path, encoding: str | None) -> str:
    """Return the path of a file whose text is in this encoding. None stands for UTF-8."""
    return os.fspath(path) if encoding is None else EncodedPath(os.fspath(path), encoding)


def encoding_of(path: Path) -> str | None:
    """Return the encoding that was named for a file, or None."""
    return path.encoding if isinstance(path, EncodedPath) else None


_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def is_utf_16(start: bytes) -> bool:
    """Return True for the byte order mark of UTF-16, followed by characters of which one fits into one byte."""
    return start[:2] in _UTF_16 and b"\0" in start


def _as_utf8(source: Iterator[Block], encoding: str | None) -> Iterator[Block]:
    """Yield blocks of UTF-8, from text in the encoding that was named or in UTF-16."""
    first = next(source, None)
    if first is None:
        return
    if encoding is None and not is_utf_16(bytes(first[:64])):
        yield first
        yield from source
        return
    for text in _decoded(chain([bytes(first)], source), encoding or "utf-16"):
        yield text.encode("utf-8", "surrogatepass")


def _decoded(source: Iterable[Block], encoding: str) -> Iterator[str]:
    """Yield the text of blocks. An error names the line."""
    from codecs import getincrementaldecoder

    decoder, line = getincrementaldecoder(encoding)(), 1
    try:
        for block in source:
            if text := decoder.decode(bytes(block)):
                yield text
                line += text.count("\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        line += error.object[: error.start].decode(encoding, "replace").count("\n")
        hint = ": name its encoding, for example cp1252 for files of Windows programs" if encoding == "utf-8" else ""
        raise CalipersError(f"not text in {encoding.upper()} ({error.reason}){hint}", line=line) from None


class _BlockFile(io.RawIOBase):
    """A file that consists of blocks."""

    def __init__(self, source: Iterator[Block]) -> None:
        self._source, self._rest = source, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer, /):  # type: ignore[no-untyped-def]  # any buffer
        self._rest = self._rest or bytes(next(self._source, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def text_lines(path: Path, *, max_unpacked: int | None = None) -> Iterator[str]:
    """Yield the lines of a text file with their ends. Text that is not in UTF-8, or the named encoding, is an error."""
    source = io.BufferedReader(_BlockFile(blocks(path, max_unpacked=max_unpacked)), BLOCK)
    try:
        yield from io.TextIOWrapper(source, encoding="utf-8-sig", newline="")
    except UnicodeDecodeError:
        with FileErrors(path):
            for _ in _decoded(blocks(path, max_unpacked=max_unpacked), "utf-8"):  # which knows the line
                pass
        raise


def start_of(path: Path, *, max_unpacked: int | None = None) -> bytes:
    """Return the first bytes of a file, decompressed: at least the
    first line that is neither empty nor a comment.
    """
    source = blocks(path, max_unpacked=max_unpacked, size=START)
    start, wanted = bytearray(), START
    try:
        for block in source:
            start += block
            if len(start) >= wanted:
                so_far = bytes(start)
                if len(start) - blanks_before(so_far) >= LONGEST_START or shows_content(so_far):
                    break
                wanted *= 2
    finally:
        source.close()
    return bytes(start)


def plain_file(path: Path, *, max_unpacked: int | None = None) -> str | BytesIO:
    """Return a regular file with this content, or the content itself if the file was compressed, for random access."""
    with FileErrors(path):
        file_path = regular(path)
        with open(file_path, "rb") as file:
            start = file.read(64)
        if not start:
            raise CalipersError("the file is empty")
        if not packing_of(start) and not is_utf_16(start):
            return file_path
    return BytesIO(whole(path, max_unpacked=max_unpacked))


def whole(path: Path, *, max_unpacked: int | None = None, room: int | None = None, ratio: int | None = None) -> bytes:
    """Return all bytes of a file, decompressed."""
    source = blocks(path, max_unpacked=max_unpacked, room=room, ratio=ratio)
    return b"".join([bytes(block) for block in source])
