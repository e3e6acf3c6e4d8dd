"""JSON, as pytrec_eval's and ranx's users keep judgments and runs, and JSON lines.

{query: {document: number}}                       one object, or one per line; BEIR's and MTEB's results
{"query": ..., "doc": ..., "score": ...}          rows: a list of them, or one per line
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.collection.column_names import columns_of, number_role
from calipers.collection.files import Path, start_of
from calipers.collection.formats.format import Contents, Format
from calipers.collection.json_values import gather, is_json, is_nested, shown
from calipers.collection.table_rows import Rows, by_rank
from calipers.errors import CalipersError
from calipers.native.ids import Ids


def read_json(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """All documents of a file, with `value` ("score" or "grade") as the number."""
    return gather(
        path, lambda name: Gathering(value, columns, name), by_name=True, max_unpacked=max_unpacked
    ).rows()  # fmt: skip


def contents_of_json(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Contents:
    """The systems that rows name, if there are rows and they do."""
    start = start_of(path, max_unpacked=max_unpacked).decode("utf-8-sig", "replace")
    if is_nested(start):
        return Contents()
    return Contents.of(read_json(path, columns=columns, max_unpacked=max_unpacked))


@dataclass
class Gathering:
    """Rows so far."""

    value: str
    columns: Mapping[str, str] | None
    file: str
    names: dict[str, str] | None = None  # of the columns, once a row has been met
    queries: dict[str, int] = field(default_factory=dict)
    systems: dict[str, int] = field(default_factory=dict)
    query: list[int] = field(default_factory=list)
    system: list[int] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    listed: bool = False  # the rows are those of one list, not lines
    notes: list[str] = field(default_factory=list)

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
        elif any(nested) or (self.documents and self.names is None):
            raise self._shape(item, number)
        else:
            self._add_row(item, number or 1)

    def add_ranked(self, query: str, ranked: Mapping[str, Any], number: int | None) -> None:
        """Take the documents of a query."""
        self.query += [self.queries.setdefault(query, len(self.queries))] * len(ranked)
        self.documents += ranked
        self.values += ranked.values()
        if number is not None:
            self.line += [number] * len(ranked)

    def _add_row(self, row: dict[str, Any], number: int) -> None:
        if self.names is None:
            self.names = columns_of([*row], self.value, self.columns, file=self.file)
        try:
            cells = {role: row[name] for role, name in self.names.items()}
        except KeyError as error:
            raise self.error(f"there is no {error.args[0]!r}", number) from None
        query = self.id_of(cells["query"], "query", number)
        document = self.id_of(cells["document"], "document", number)
        self.add_document(query, document, cells[number_role(self.names, self.value)], number)
        if "system" in cells:
            system = self.id_of(cells["system"], "system", number)
            self.system.append(self.systems.setdefault(system, len(self.systems)))

    def add_document(self, query: str, document: str, value: Any, number: int) -> None:
        """Take one document."""
        self.query.append(self.queries.setdefault(query, len(self.queries)))
        self.documents.append(document)
        self.values.append(value)
        self.line.append(number)

    def id_of(self, found: Any, role: str, number: int | None) -> str:
        if isinstance(found, str):
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        raise self.error(f"the {role} {shown(found)} is neither text nor a whole number", number)

    def _shape(self, found: Any, number: int | None) -> CalipersError:
        return self.error(
            f"expected {{query: {{document: number}}}}, or rows with query, document and number; found {shown(found)}",
            number,
        )

    def error(self, message: str, number: int | None) -> CalipersError:
        if self.listed:
            return CalipersError(f"row {number}: {message}", file=self.file)
        return CalipersError(message, file=self.file, line=number)

    def rows(self) -> Rows:
        if not self.values:
            raise CalipersError("there are no documents", file=self.file)
        try:
            queries, documents = Ids.of(self.queries), Ids.of(self.documents)
            Ids.of(self.systems)
        except UnicodeEncodeError as error:
            raise CalipersError(f"the id {error.object!r} holds half a character", file=self.file) from None
        value, notes = self._numbers(), self.notes
        if self.names is not None and "rank" in self.names:
            value, notes = -value, [*notes, by_rank(self.names["rank"], self.file)]
        return Rows(
            queries=queries,
            query=np.array(self.query, np.int32),
            documents=documents,
            value=value,
            systems=tuple(self.systems),
            system=np.array(self.system, np.int32) if self.systems else None,
            number=np.array(self.line, np.int64) if self.line else None,
            lines=bool(self.line) and not self.listed,
            file=self.file,
            notes=tuple(notes),
        )

    def _numbers(self) -> Any:
        odd = {*map(type, self.values)} - {int, float}
        if not odd:
            try:
                numbers = np.array(self.values, np.float64)
            except OverflowError:
                numbers = np.array([_float(value) for value in self.values])
            if np.isfinite(numbers).all():
                return numbers
            wrong, what = int(np.argmin(np.isfinite(numbers))), "a finite number"
        else:
            wrong, what = next(row for row, value in enumerate(self.values) if type(value) in odd), "a number"
        queries: Sequence[str] = [*self.queries]
        raise self.error(
            f"{self.value} {shown(self.values[wrong])} of document '{self.documents[wrong]}', "
            f"query '{queries[self.query[wrong]]}', is not {what}",
            self.line[wrong] if self.line else None,
        )


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


JSON = Format(
    name="json",
    holds="table",
    line='{query: {document: number}}, or rows as {"query": ..., "doc": ..., "score": ...}',
    noun="a JSON file",
    matches=is_json,
    read=read_json,
    contents=contents_of_json,
)
