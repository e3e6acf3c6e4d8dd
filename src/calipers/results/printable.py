"""Text from files as people and their programs may be shown it: nothing in it is a command to them."""

from __future__ import annotations

import re

# What a terminal obeys: control characters (also as bytes that are no UTF-8), ends of lines, changes of direction.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udc9f]")


def visible(text: str, keep: str = "") -> str:
    r"""The text with what a terminal would obey written out; characters in `keep` stay.

    >>> print(visible("a\x1b[31mb\n\u202ec"))
    a\x1b[31mb\n\u202ec
    """
    if text.isprintable():
        return text
    return _OBEYED.sub(lambda found: found[0] if found[0] in keep else _written(found[0]), text)


def _written(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")
