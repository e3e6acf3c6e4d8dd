"""The formats that files may have.

A new format that can be read is one module beside this one and one row in FORMATS. What a user may force by name
(`--judgments-as`, `--systems-as`) and what messages call a file follow from its `Format`. Formats that can be written
are the rows of `calipers.collection.writing`.
"""

from __future__ import annotations

from typing import Any

from calipers.collection.files import Path, shown_name, start_of
from calipers.collection.first_line import first_content
from calipers.collection.formats.csv import CSV
from calipers.collection.formats.format import Format
from calipers.collection.formats.json import JSON
from calipers.collection.formats.letor import LETOR, SCORES
from calipers.collection.formats.parquet import PARQUET
from calipers.collection.formats.trec import QRELS, RUN
from calipers.errors import CalipersError

__all__ = ["FORMATS", "TABLES", "Format", "first_line", "names_of", "sniff", "table_format"]

# Tried in this order: a line of LETOR may have any number of fields, and so may a header.
FORMATS: dict[str, Format[Any]] = {format.name: format for format in (LETOR, PARQUET, JSON, CSV, QRELS, RUN, SCORES)}


def names_of(*holds: str) -> tuple[str, ...]:
    """The names of the formats whose files hold one of these: judgments, labels, run, scores, table.

    >>> names_of("run", "scores")
    ('run', 'scores')
    """
    return tuple(name for name, format in FORMATS.items() if format.holds in holds)


TABLES = names_of("table")


def sniff(path: Path, *, max_unpacked: int | None = None) -> str:
    """The name of the format that a file's content has, whatever the file is called."""
    start = start_of(path, max_unpacked=max_unpacked)
    for name, format in FORMATS.items():
        if format.matches(start):
            return name
    known = "; ".join(f"{format.name}: {format.line}" for format in FORMATS.values())
    raise CalipersError(f"no known format (known are {known})", file=shown_name(path), line=1)


def table_format(path: Path, *, max_unpacked: int | None = None) -> str | None:
    """The name of the format, if the file is a table."""
    start = start_of(path, max_unpacked=max_unpacked)
    return next((name for name in TABLES if FORMATS[name].matches(start)), None)


def first_line(path: Path, *, max_unpacked: int | None = None) -> bytes:
    """The first line of a file that is neither empty nor a comment; empty if there is none near its start."""
    return first_content(start_of(path, max_unpacked=max_unpacked))
