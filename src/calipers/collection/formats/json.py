"""JSON, as pytrec_eval's and ranx's users keep judgments and runs, and JSON lines.

{query: {document: number}}                       one object, or one per line; BEIR's and MTEB's results
{"query": ..., "doc": ..., "score": ...}          rows: a list of them, or one per line
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from calipers.collection.cells import Cells
from calipers.collection.column_names import columns_of
from calipers.collection.doubtful_numbers import OPPOSITE, are_opposite
from calipers.collection.files import Path, start_of
from calipers.collection.formats.format import Contents, Format
from calipers.collection.json_values import collect, is_json, is_nested, shown
from calipers.collection.table_rows import Rows, rows_of
from calipers.errors import CalipersError
from calipers.native.ids import Ids
from calipers.support.plurals import counted


def read_json(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return all documents of a file, with `value` ("score" or "grade") as the number."""
    return collect(
        path, lambda name: RowCollector(value, columns, name), by_name=True, max_unpacked=max_unpacked
    ).rows()


def contents_of_json(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Contents:
    """Return the systems that rows name."""
    start = start_of(path, max_unpacked=max_unpacked).decode("utf-8-sig", "replace")
    if is_nested(start):
        return Contents()
    return Contents.of(read_json(path, columns=columns, max_unpacked=max_unpacked))


@dataclass
class RowCollector:
    """Cells so far, by role."""

    value: str
    columns: Mapping[str, str] | None
    file: str
    names: dict[str, str] | None = None  # of the columns, once a row has been met
    cells: dict[str, list[Any]] = field(default_factory=dict)
    queries: dict[str, None] = field(default_factory=dict)  # of nested objects: also those without documents
    line: list[int] = field(default_factory=list)
    listed: bool = False  # the rows are those of one list, not lines
    notes: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)  # of documents in ranked lists
    without_score: int = 0  # documents of ranked lists that have no score
    repeated_documents: int = 0  # that were left out, as the list of their query had them before

    def add(self, item: Any, number: int | None) -> None:
        """Take an object: a row, or {query: {document: number}}. All objects of a file have to be of one kind."""
        if not isinstance(item, dict) or (self.listed and not item):
            raise self._shape(item, number)
        nested = [isinstance(value, dict) for value in item.values()]
        if all(nested):
            if self.names is not None:
                raise self._shape(item, number)
            for query, ranked in item.items():
                self.add_ranked(query, ranked, number)
        elif any(nested) or (self.cells and self.names is None):
            raise self._shape(item, number)
        else:
            self._add_row(item, number or 1)

    def add_ranked(self, query: str, ranked: Mapping[str, Any], number: int | None) -> None:
        """Take the documents of a query, of which there may be none."""
        self.queries[query] = None
        self._cells("query").extend([query] * len(ranked))
        self._cells("document").extend(ranked)
        self._cells(self.value).extend(ranked.values())
        if number is not None:
            self.line += [number] * len(ranked)

    def add_document(self, query: Any, document: Any, value: Any) -> None:
        """Add one document."""
        for role, cell in (("query", query), ("document", document), (self.value, value)):
            self._cells(role).append(cell)

    def add_ranked_document(self, query: Any, document: Any, score: Any, rank: int) -> None:
        """Add one document of a ranked list. Its score may be None if no document of the file has one."""
        self.ranks.append(rank)
        self.without_score += score is None
        self.add_document(query, document, score)

    def _cells(self, role: str) -> list[Any]:
        return self.cells.setdefault(role, [])

    def _add_row(self, row: dict[str, Any], number: int) -> None:
        if self.names is None:
            self.names = columns_of([*row], self.value, self.columns, file=self.file)
        for role, name in self.names.items():
            if name not in row:
                raise self.error(f"there is no {name!r}", number)
            self._cells(role).append(row[name])
        self.line.append(number)

    def _shape(self, found: Any, number: int | None) -> CalipersError:
        return self.error(
            f"expected {{query: {{document: number}}}}, or rows with query, document and number; found {shown(found)}",
            number,
        )

    def error(self, message: str, number: int | None, *, parameter: str | None = None) -> CalipersError:
        """Return an error about a line, or about a row of a list."""
        if self.listed:
            return CalipersError(f"row {number}: {message}", file=self.file, parameter=parameter)
        return CalipersError(message, file=self.file, line=number, parameter=parameter)

    def rows(self) -> Rows:
        """Return all rows."""
        if not self.cells.get("document"):
            raise CalipersError("there are no documents", file=self.file)
        if self.without_score:
            if self.without_score < len(self.ranks):
                raise CalipersError("some documents have a score, and some have none", file=self.file)
            self.cells[self.value] = [-rank for rank in self.ranks]
            self.notes.append(f"{self.file}: the documents have no score: their order counts (score = -rank)")
        if self.repeated_documents:
            self.notes.append(f"{self.file}: {listed_again(self.repeated_documents)}")
        names = self.names or {role: role for role in self.cells}
        columns = {role: Cells(values, partial(self._about_cell, role)) for role, values in self.cells.items()}
        number = np.array(self.line, np.int64) if self.line else None
        given = self.columns if self.names else names
        made = rows_of(columns, names, self.value, self.file, given, number, bool(self.line) and not self.listed)
        found = self._with_all_queries(made)
        opposite = bool(self.ranks) and are_opposite(found.query, np.array(self.ranks, np.float64), found.value)
        return replace(found, notes=(*self.notes, *made.notes), doubts=(OPPOSITE,) if opposite else ())

    def _with_all_queries(self, rows: Rows) -> Rows:
        """Return the rows with queries that have no documents among the queries."""
        if len(self.queries) <= len(rows.queries):
            return rows
        place = {query: number for number, query in enumerate(self.queries)}
        code = np.array([place[query] for query in rows.queries.texts()], np.int32)
        return replace(rows, queries=Ids.of(self.queries), query=code[rows.query])

    def _about_cell(self, role: str, message: str, row: int) -> CalipersError:
        """Return an error about a cell: with its column where there is one, else with its query and document."""
        number = self.line[row] if self.line else None
        if self.names is not None:
            return self.error(f"column '{self.names[role]}': {message}", number)
        query, document = self.cells["query"][row], self.cells["document"][row]
        return self.error(f"{role} of query {shown(query)}, document {shown(document)}: {message}", number)


def listed_again(count: int) -> str:
    """Return the note on documents that a query lists more than once."""
    return f"{counted(count, 'document')} listed more than once for a query; the first place counts"


JSON = Format(
    name="json",
    holds="table",
    line='{query: {document: number}}, or rows as {"query": ..., "doc": ..., "score": ...}',
    noun="a JSON file",
    matches=is_json,
    read=read_json,
    contents=contents_of_json,
)
