"""Large text files in blocks that end at line ends, and a block of qrels or of a run as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

from calipers.errors import CalipersError
from calipers.native.columns import Columns
from calipers.native.scan_error import MOST_LINE
from calipers.native.scanner import ColumnScanner, ScanError

CHUNK = 1 << 21  # bytes
_WINDOW = 1 << 16


def whole_lines(blocks: Iterable[bytes | memoryview], size: int = CHUNK) -> Iterator[bytes]:
    """Yield the text of blocks in pieces of about `size` bytes that end at line ends. Blocks may be cut anywhere.

    >>> [*whole_lines([b"a\\nb", b"c\\nd\\n", b"e"], size=1)]
    [b'a\\n', b'bc\\nd\\n', b'e']
    """
    parts: list[bytes] = []
    waiting = 0
    for block in blocks:
        content = bytes(block)
        waiting += len(content)
        end = content.rfind(b"\n") + 1
        if waiting < size or not end:
            parts.append(content)
            continue
        yield b"".join([*parts, content[:end]])
        parts, waiting = [content[end:]], len(content) - end
    if rest := b"".join(parts):
        yield rest


def short_lines(blocks: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Yield the blocks. Raise an error at a line that is too long for a text file, as a line is kept in memory."""
    waiting = 0
    for block in blocks:
        end = bytes(block).rfind(b"\n")
        waiting = len(block) - end - 1 if end >= 0 else waiting + len(block)
        if waiting > MOST_LINE:
            raise CalipersError(f"a line has more than {MOST_LINE:,} bytes")
        yield block


def columns_of_block(text: bytes, kind: str, *, first: bool, second: bool = False) -> tuple[Columns, int]:
    """Return the columns of a block of qrels or of a run, and its number of lines. first: the block starts a file."""
    scanner = ColumnScanner(kind, keep_second=second)
    # Only the start of a file may have a byte order mark; a comment keeps others from being taken for one.
    extra = 0 if first else 1
    try:
        if extra:
            scanner.feed(b"#\n")
        scanner.feed(text)
        columns = scanner.finish()
    except ScanError as error:
        raise ScanError(error.message, error.line - extra) from None
    return replace(columns, line=columns.line - extra), scanner.lines - extra


def line_start(file: BinaryIO, position: int, size: int) -> int:
    """Return the start of the first line that starts at this position or later."""
    if position <= 0:
        return 0
    position -= 1
    while position < size:
        file.seek(position)
        window = file.read(_WINDOW)
        if not window:
            break
        end = window.find(b"\n")
        if end >= 0:
            return position + end + 1
        position += len(window)
    return size
