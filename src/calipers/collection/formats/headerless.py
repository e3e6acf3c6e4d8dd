"""Tables without a header: CSV, TSV, and lines of three fields between blanks, as MS MARCO's runs are.

query document number               judgments: the number is the grade; runs: a rank or a score, as the rule below says
query,iteration,document,grade      judgments as TREC's, with another delimiter
query,Q0,document,rank,score,tag    a run, the same

Columns are named by their numbers, from 1, where a user has to say which is which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from calipers.collection.column_names import columns_of
from calipers.collection.files import Path, shown_name, start_of
from calipers.collection.first_line import BLANKS, cells_of, fields_of, first_content, headerless
from calipers.collection.formats.csv import Header, TextTable
from calipers.collection.formats.format import Contents, Format
from calipers.collection.reader import scan
from calipers.collection.table_rows import Rows
from calipers.errors import CalipersError
from calipers.native.scanner import ColumnScanner

LOOKS_RANKED = 10  # grades of a query that run 1, 2, ... to this number give a warning

_ROLES = {
    ("grade", 3): {"query": "1", "document": "2", "grade": "3"},
    ("score", 3): {"query": "1", "document": "2", "score": "3"},
    ("grade", 4): {"query": "1", "document": "3", "grade": "4"},
    ("score", 6): {"query": "1", "document": "3", "score": "5", "system": "6"},
}


def read_headerless(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return all rows, with `value` ("score" or "grade") as the number."""
    header = _header(path, max_unpacked)
    names = _names(header, value, columns, shown_name(path))
    if len(header.columns) != 3 or names["query"] != "1" or names["document"] != "2":
        return TextTable(path, header, names, value, max_unpacked, columns).rows()
    rows = _triples(path, header, max_unpacked)
    if columns is None:
        return _as_ranks_or_scores(rows, value)
    return replace(rows, value=-rows.value) if "rank" in names else rows


def contents_of_headerless(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Contents:
    """Return the systems that a file of runs names, and a note if its numbers are ranks. Reads the whole file."""
    header = _header(path, max_unpacked)
    names = _names(header, "score", columns, shown_name(path))
    if "system" in names:
        return Contents(TextTable(path, header, names, "score", max_unpacked, columns).systems())
    if columns:
        return Contents()
    return Contents.of(read_headerless(path, max_unpacked=max_unpacked))


def _header(path: Path, max_unpacked: int | None) -> Header:
    start = start_of(path, max_unpacked=max_unpacked)
    line = first_content(start)
    count, delimiter = headerless(start) or (len(cells_of(line)[0]), cells_of(line)[1])
    before = start[: start.index(line)].count(b"\n")
    if delimiter == BLANKS and line.count(b"\t") == 2:
        delimiter = "\t"
    return Header([str(i) for i in range(1, count + 1)], delimiter, before)


def _names(header: Header, value: str, columns: Mapping[str, str] | None, file: str) -> dict[str, str]:
    found = header.columns
    usual = _ROLES.get((value, len(found)))
    if columns is None and usual is None:
        raise CalipersError(
            f"{len(found)} columns without a header: say which is which with columns, as query=1,document=2,{value}=3",
            file=file,
            parameter="columns",
        )
    return columns_of(found, value, columns or usual, file=file, ranks=True)


def _triples(path: Path, header: Header, max_unpacked: int | None) -> Rows:
    """Read query, document and number: between blanks by the scanner, else as CSV, whose cells may hold blanks."""
    table = TextTable(path, header, _ROLES["score", 3], "score", max_unpacked, _ROLES["score", 3])
    if header.delimiter not in (BLANKS, "\t"):
        return table.rows()
    try:
        found = scan(path, lambda: ColumnScanner("triples"), max_unpacked=max_unpacked)
    except CalipersError as error:
        if header.delimiter == BLANKS:
            raise
        try:
            return table.rows()
        except CalipersError:
            raise error from None
    return Rows(
        found.queries, found.query, found.documents, found.value, number=found.line, lines=True, file=shown_name(path)
    )


def _as_ranks_or_scores(rows: Rows, value: str) -> Rows:
    """Return the rows with ranks or scores: a third column that runs 1, 2, ..., n in every query holds ranks."""
    order = np.argsort(rows.query, kind="stable")
    query = rows.query[order]
    place = np.arange(len(order)) - np.searchsorted(query, query) + 1
    ranked = bool((rows.value[order] == place).all())
    start = f"{rows.file}: three columns without a header: the third "
    if value == "score":
        if ranked:
            note = "runs 1, 2, ... in every query and is taken as the rank (score = -rank)"
            return replace(rows, value=-rows.value, notes=(start + note,))
        return replace(rows, notes=(f"{start}does not run 1, 2, ... in every query and is taken as the score",))
    if ranked and place.max(initial=0) >= LOOKS_RANKED:
        return replace(rows, notes=(f"{start}runs 1, 2, ... in every query, as ranks of a run do, not grades",))
    return rows


def _misfit(start: bytes) -> tuple[float, str]:
    line = first_content(start)
    cells: Sequence[str] = cells_of(line)[0]
    if len(cells) < 2:
        cells = [field.decode("utf-8", "backslashreplace") for field in fields_of(line)]
    if len(cells) == 3:
        return 0.5, f"'{cells[2][:40]}' in the third column is not a number"
    return 1.5 + abs(len(cells) - 3), f"{len(cells)} column{'s' * (len(cells) != 1)}, not 3"


HEADERLESS = Format(
    name="headerless",
    holds="table",
    line="query document number",
    noun="a table without a header",
    matches=lambda start: headerless(start) is not None,
    misfit=_misfit,
    read=read_headerless,
    contents=contents_of_headerless,
)
