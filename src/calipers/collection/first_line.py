"""What the start of a file shows of its content."""

from __future__ import annotations

import re

_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb"[^ \t\r]+")
_CONTENT = re.compile(rb"^(?!#)[ \t\r]*[^ \t\r\n].*", re.MULTILINE)


def first_content(start: bytes) -> bytes:
    """The first line that is neither empty nor a comment; empty if there is none."""
    found = _CONTENT.search(start.removeprefix(_BOM))
    return found[0] if found else b""


def first_fields(start: bytes) -> list[bytes]:
    """The fields of that line."""
    return _FIELD.findall(first_content(start))


def shows_content(start: bytes) -> bool:
    """Whether these bytes hold all of that line, or begin something that is not made of lines."""
    bare = start.removeprefix(_BOM)
    if bare.startswith(b"PAR1") or bare.lstrip()[:1] in (b"{", b"["):
        return True
    found = _CONTENT.search(bare)
    return found is not None and found.end() < len(bare)
