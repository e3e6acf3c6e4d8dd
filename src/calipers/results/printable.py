"""Text from files as people and their programs may be shown it: nothing in it is a command to them."""

from __future__ import annotations

import re

# What a terminal obeys: control characters (also as bytes that are no UTF-8), ends of lines, changes of direction.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udc9f]")

# What GitHub's runner obeys in the log of a workflow: a line that starts with `::`, and the older `##[` anywhere in it.
_WORKFLOW_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\[)", re.MULTILINE)


def visible(text: str, keep: str = "") -> str:
    r"""Return the text with what a terminal would obey written out; characters in `keep` stay.

    >>> print(visible("a\x1b[31mb\n\u202ec"))
    a\x1b[31mb\n\u202ec
    """
    if text.isprintable():
        return text
    return _OBEYED.sub(lambda found: found[0] if found[0] in keep else _written(found[0]), text)


def without_workflow_commands(text: str) -> str:
    r"""Return the text with the commands of GitHub's runner written out.

    >>> print(without_workflow_commands("::stop-commands::x  0.5"))
    \x3a:stop-commands::x  0.5
    """
    return _WORKFLOW_COMMAND.sub(lambda found: found[0][:-1] + f"\\x{ord(found[0][-1]):02x}", text)


def _written(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")
