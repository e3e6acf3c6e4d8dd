"""Formats of files.

A new format for reading is one module of this package and one row in `_ALL`. What a user may force by name
(`--judgments-as`, `--systems-as`) and what messages call a file follow from its `Format`. Formats that can be written
are the rows of `calipers.collection.writing`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from calipers.collection.files import Path, shown_name, start_of
from calipers.collection.first_line import first_content, has_control
from calipers.collection.formats.csv import CSV
from calipers.collection.formats.format import Contents, Format
from calipers.collection.formats.headerless import HEADERLESS
from calipers.collection.formats.json import JSON
from calipers.collection.formats.judgment_lists import JUDGMENT_LIST
from calipers.collection.formats.letor import LETOR, SCORES, SVMLIGHT
from calipers.collection.formats.mteb import MTEB
from calipers.collection.formats.openinference import OPENINFERENCE
from calipers.collection.formats.parquet import PARQUET, columns_of_parquet
from calipers.collection.formats.ragas import RAGAS
from calipers.collection.formats.rank_eval import RANK_EVAL_REQUEST, RANK_EVAL_RESPONSE
from calipers.collection.formats.responses import RESPONSES
from calipers.collection.formats.trec import QRELS, RUN
from calipers.errors import CalipersError

__all__ = [
    "FORMATS",
    "RUN_TABLES",
    "TABLES",
    "Contents",
    "Format",
    "first_line",
    "names_of",
    "sniff",
    "table_format",
]

SHOWN = 60  # characters of a first line
_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # first bytes of .xlsx, .ods and .zip, and of .xls

# Tried in this order: a line of LETOR may have any number of fields, and so may a header; the special kinds of JSON
# come before JSON.
_ALL = (
    LETOR,
    SVMLIGHT,
    PARQUET,
    JUDGMENT_LIST,
    RANK_EVAL_REQUEST,
    RANK_EVAL_RESPONSE,
    OPENINFERENCE,
    RAGAS,
    RESPONSES,
    MTEB,
    JSON,
    CSV,
    QRELS,
    RUN,
    HEADERLESS,
    SCORES,
)
FORMATS: dict[str, Format[Any]] = {format.name: format for format in _ALL}


def names_of(*holds: str, value: str | None = None) -> tuple[str, ...]:
    """Return the names of formats that hold one of these: judgments, labels, run, scores, table.

    value: only tables that may hold it, "grade" or "score".

    >>> names_of("run", "scores")
    ('run', 'scores')
    """
    return tuple(
        name
        for name, format in FORMATS.items()
        if format.holds in holds and (format.holds != "table" or value is None or value in format.values)
    )


TABLES = names_of("table")
RUN_TABLES = names_of("table", value="score")


def sniff(path: Path, *, max_unpacked: int | None = None) -> str:
    """Return the name of the format that a file's content has. The name of the file does not matter."""
    start = _text_start(path, max_unpacked)
    name = _matching(FORMATS, start, path, max_unpacked)
    if name is None:
        raise CalipersError(f"no known format; {_nearest(start)}", file=shown_name(path), line=1)
    return name


def _matching(names: Iterable[str], start: bytes, path: Path, max_unpacked: int | None) -> str | None:
    """Return the first format that matches. The columns of a Parquet file may be those of another format."""
    found = next((name for name in names if FORMATS[name].matches(start)), None)
    if found != "parquet":
        return found
    columns = columns_of_parquet(path, max_unpacked=max_unpacked)
    return next((name for name in TABLES if FORMATS[name].columns(columns)), found)


def _text_start(path: Path, max_unpacked: int | None) -> bytes:
    """Return the start of a file. Spreadsheets and other archives are refused."""
    start = start_of(path, max_unpacked=max_unpacked)
    kind = None
    if start.startswith(_OLD_EXCEL) or (start.startswith(_ZIP) and b"xl/" in start):
        kind = "an Excel file; save it as CSV UTF-8"
    elif start.startswith(_ZIP):
        spreadsheet = b"opendocument.spreadsheet" in start
        kind = "an OpenDocument spreadsheet; save it as CSV UTF-8" if spreadsheet else "a ZIP archive; unpack it first"
    if kind is not None:
        raise CalipersError(f"this is {kind}", file=shown_name(path))
    return start


def _nearest(start: bytes) -> str:
    """Return the first line, and why it does not fit the two formats that it is most like."""
    line = first_content(start)
    if not line:
        return "there is nothing but comments and empty lines"
    shown = line.decode("utf-8", "backslashreplace").strip()
    known = () if has_control(line) else _ALL
    misfits = sorted(((*format.misfit(start), format) for format in known), key=lambda each: each[0])
    near = [f"{format.name} ({format.line}): {why}" for far, why, format in misfits[:2] if far < math.inf]
    nearest = f"; nearest are {'; and '.join(near)}" if near else "; the file is not text"
    return f"the first line is '{shown[:SHOWN]}{'...' * (len(shown) > SHOWN)}'{nearest}"


def table_format(path: Path, *, max_unpacked: int | None = None) -> str | None:
    """Return the name of the format if the file is a table, else None."""
    return _matching(TABLES, _text_start(path, max_unpacked), path, max_unpacked)


def first_line(path: Path) -> bytes:
    """Return the first line of a file that is neither empty nor a comment, or an empty text."""
    return first_content(start_of(path))
