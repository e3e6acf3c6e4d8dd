"""Errors about lines that cannot be read. Both scanners raise this class and use these messages."""

from __future__ import annotations

LONGEST_SHOWN = 60
BINARY = "binary data (a NUL byte): expected a text file"
MOST_LINE = 1 << 24  # bytes: a longer line would be kept in memory whole, and is not from a text file


class ScanError(Exception):
    """An error about a line that cannot be read. `line` counts from 1, over all lines given to the scanner."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def shown(raw: bytes) -> str:
    """Return a field for an error message: quoted, with unprintable bytes escaped, and shortened if it is long.

    >>> print(shown(b"caf\\xc3\\xa9 \\xff\\x1b"))
    'café \\xff\\x1b'
    """
    text = raw[: 4 * LONGEST_SHOWN + 4].decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return f"'{text[:LONGEST_SHOWN]}...'" if len(text) > LONGEST_SHOWN else f"'{text}'"


def too_long(limit: int) -> str:
    return f"a line of more than {limit >> 20:,} MiB: expected a text file"


def duplicate(document: bytes, query: bytes) -> str:
    return f"document {shown(document)} appears twice for query {shown(query)}"
