"""JSON, as pytrec_eval's and ranx's users keep judgments and runs, and JSON lines.

{query: {document: number}}                       one object, or one a line
{"query": ..., "doc": ..., "score": ...}          rows: a list of them, or one a line
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.collection.files import Path, shown_name, start_of, whole
from calipers.collection.formats.format import Format
from calipers.collection.ids import Ids
from calipers.collection.roles import columns_of
from calipers.collection.rows import Rows
from calipers.errors import CalipersError

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[\{\]])')
_NESTED = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')


def read_json(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """All documents of a file, with `value` ("score" or "grade") as the number."""
    name = shown_name(path)
    gathered = _Gathered(value, columns, name)
    for line, content in _values(whole(path, max_unpacked=max_unpacked), name):
        if isinstance(content, list) and line is None:
            gathered.listed = True
            for number, item in enumerate(content, 1):
                gathered.add(item, number)
        else:
            gathered.add(content, line)
    return gathered.rows()


def systems_of_json(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> tuple[str, ...]:
    """The systems that rows name, if there are rows and they do."""
    if _NESTED.match(start_of(path, max_unpacked=max_unpacked)):
        return ()
    return read_json(path, columns=columns, max_unpacked=max_unpacked).systems


# ------------------------------------------------------------------------------------------------ text to objects


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise CalipersError(f"'{twice}' appears twice in one object")
    return found


def _not_finite(text: str) -> float:
    raise CalipersError(f"{text} is not a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_not_finite)
_BLANK = re.compile(r"[ \t\r\n]*")


def _values(raw: bytes, name: str) -> Iterator[tuple[int | None, Any]]:
    """The value of the file, or where there are several the value of each line, with its number."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CalipersError(
            "not UTF-8, as JSON has to be", file=name, line=raw.count(b"\n", 0, error.start) + 1
        ) from None
    start = _end(_BLANK, text, 0)
    if start == len(text):
        raise CalipersError("nothing but blanks", file=name)
    value, end = _decoded(text, start, name, None)
    if _end(_BLANK, text, end) == len(text):
        yield None, value
        return
    for number, line in enumerate(text.split("\n"), 1):
        start = _end(_BLANK, line, 0)
        if start == len(line):
            continue
        value, end = _decoded(line, start, name, number)
        if _end(_BLANK, line, end) < len(line):
            raise CalipersError("not JSON: something follows the value on its line", file=name, line=number)
        yield number, value


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _decoded(text: str, start: int, name: str, line: int | None) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise CalipersError(f"not JSON: {error.msg}", file=name, line=line or error.lineno) from None
    except RecursionError:
        raise CalipersError("nested too deeply", file=name, line=line) from None
    except CalipersError as error:
        raise CalipersError(error.message, file=name, line=line) from None


# ------------------------------------------------------------------------------------------------ objects to rows


@dataclass
class _Gathered:
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

    def add(self, item: Any, number: int | None) -> None:
        """Take an object: a row, or {query: {document: number}}. All objects of a file have to be of one kind."""
        if not isinstance(item, dict):
            raise self._shape(item, number)
        nested = [isinstance(value, dict) for value in item.values()]
        if all(nested):
            if self.names is not None:
                raise self._shape(item, number)
            for query, ranked in item.items():
                self.query += [self.queries.setdefault(query, len(self.queries))] * len(ranked)
                self.documents += ranked
                self.values += ranked.values()
                if number is not None:
                    self.line += [number] * len(ranked)
        elif any(nested) or (self.documents and self.names is None):
            raise self._shape(item, number)
        else:
            self._add_row(item, number or 1)

    def _add_row(self, row: dict[str, Any], number: int) -> None:
        if self.names is None:
            self.names = columns_of([*row], self.value, self.columns, file=self.file)
        try:
            cells = {role: row[name] for role, name in self.names.items()}
        except KeyError as error:
            raise self._error(f"there is no {error.args[0]!r}", number) from None
        query = self._id(cells["query"], "query", number)
        self.query.append(self.queries.setdefault(query, len(self.queries)))
        self.documents.append(self._id(cells["document"], "document", number))
        self.values.append(cells[self.value])
        self.line.append(number)
        if "system" in cells:
            system = self._id(cells["system"], "system", number)
            self.system.append(self.systems.setdefault(system, len(self.systems)))

    def _id(self, found: Any, role: str, number: int) -> str:
        if isinstance(found, str):
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        raise self._error(f"the {role} {json.dumps(found)[:60]} is neither text nor a whole number", number)

    def _shape(self, found: Any, number: int | None) -> CalipersError:
        return self._error(
            "expected {query: {document: number}}, or rows with query, document and number; "
            f"found {json.dumps(found)[:60]}",
            number,
        )

    def _error(self, message: str, number: int | None) -> CalipersError:
        if self.listed:
            return CalipersError(f"row {number}: {message}", file=self.file)
        return CalipersError(message, file=self.file, line=number)

    def rows(self) -> Rows:
        if not self.values:
            raise CalipersError("there are no documents", file=self.file)
        try:
            queries, documents = Ids.of(self.queries), Ids.of(self.documents)
        except UnicodeEncodeError as error:
            raise CalipersError(f"the id {error.object!r} holds half a character", file=self.file) from None
        return Rows(
            queries=queries,
            query=np.array(self.query, np.int32),
            documents=documents,
            value=self._numbers(),
            systems=tuple(self.systems),
            system=np.array(self.system, np.int32) if self.systems else None,
            number=np.array(self.line, np.int64) if self.line else None,
            lines=bool(self.line) and not self.listed,
            file=self.file,
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
        raise self._error(
            f"{self.value} {json.dumps(self.values[wrong])[:60]} of document '{self.documents[wrong]}', "
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
    matches=lambda start: _START.match(start) is not None,
    read=read_json,
    systems=systems_of_json,
)
