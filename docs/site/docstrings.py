"""Docstrings as Markdown: `name: what it is` as a list, doctests as code."""

from __future__ import annotations

import re
from typing import Any

import griffe


class PlainDocstrings(griffe.Extension):
    """Rewrites every docstring as it is read, before anything is rendered."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    r"""A docstring of ours as Markdown.

    >>> print(as_markdown("Halves.\n\nx: a number,\n    whole.\n\n>>> 4 / 2\n2.0"))
    Halves.
    <BLANKLINE>
    - **x**: a number, whole.
    <BLANKLINE>
    ```pycon
    >>> 4 / 2
    2.0
    ```
    """
    return "\n\n".join(map(_paragraph, re.split(r"\n[ \t]*\n", text.strip())))


def _paragraph(text: str) -> str:
    if text.lstrip().startswith(">>>"):
        return f"```pycon\n{text.replace('<BLANKLINE>', '')}\n```"
    lines = text.split("\n")
    if all(line.startswith("    ") for line in lines):
        return text  # a formula
    if not re.match(r"[a-z_]+(, [a-z_]+)*: |[a-z_]+ {2,}\S", lines[0]):
        return text
    items: list[str] = []
    for line in lines:
        if found := re.match(r"([a-z_]+(?:, [a-z_]+)*): (.*)|([a-z_]+) {2,}(\S.*)", line):
            name, what = (found[1], found[2]) if found[1] else (found[3], found[4])
            items.append(f"- **{name}**: {what}")
        else:
            items[-1] += " " + line.strip()
    return "\n".join(items)
