"""JSON, as pytrec_eval's and ranx's users keep judgments and runs, and JSON lines.

{query: {document: number}}                       one object, or one per line
{"query": ..., "doc": ..., "score": ...}          rows: a list of them, or one per line
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from calipers.collection.column_names import columns_of
from calipers.collection.files import Path, shown_name, start_of, whole
from calipers.collection.formats.format import Format
from calipers.collection.table_rows import Rows
from calipers.errors import CalipersError
from calipers.native.ids import Ids

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[\{\]])')
_NESTED = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*+"\s*:\s*\{', re.DOTALL)

# A packed file may unpack to this much, and this many times its size more, unless the caller says otherwise: what is
# read from a byte of JSON may take some forty bytes of memory.
ROOM = 1 << 26
RATIO = 20


def read_json(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """All documents of a file, with `value` ("score" or "grade") as the number."""
    name = shown_name(path)
    text = _text(whole(path, max_unpacked=max_unpacked, room=ROOM, ratio=RATIO), name)
    start = _blanks(text, 0)
    if start == len(text):
        raise CalipersError("nothing but blanks", file=name)
    for read in (_read_listed, _read_nested, _read_alone, _read_lines):
        gathered = _Gathered(value, columns, name)
        end = read(text, start, gathered)
        if end is not None and _blanks(text, end) == len(text):
            break
    return gathered.rows()


def read_objects(path: Path, *, max_unpacked: int | None = None) -> list[dict[str, Any]]:
    """The objects of a list, as tables are written."""
    name = shown_name(path)
    text = _text(whole(path, max_unpacked=max_unpacked, room=ROOM, ratio=RATIO), name)
    found, end = _decoded(text, _blanks(text, 0), name, None)
    if _blanks(text, end) < len(text) or not isinstance(found, list) or not all(isinstance(o, dict) for o in found):
        raise CalipersError(f"expected a list of objects, found {_shown(found)}", file=name)
    return found


def first_object(path: Path) -> dict[str, Any] | None:
    """The first object of a list, if the file begins with one that is not too long."""
    text = start_of(path).decode("utf-8-sig", "replace")
    start = _blanks(text, 0)
    if text[start : start + 1] != "[":
        return None
    try:
        found, _ = _decoded(text, _blanks(text, start + 1), shown_name(path), None)
    except CalipersError:
        return None
    return found if isinstance(found, dict) else None


def systems_of_json(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> tuple[str, ...]:
    """The systems that rows name, if there are rows and they do."""
    start = start_of(path, max_unpacked=max_unpacked).decode("utf-8-sig", "replace")
    if _NESTED.match(start):
        return ()
    return read_json(path, columns=columns, max_unpacked=max_unpacked).systems


# ------------------------------------------------------------------------------------------------ text to objects
#
# A long value is taken apart while it is read: its objects come and go, and only the rows stay.


def _read_listed(text: str, start: int, gathered: _Gathered) -> int | None:
    """A list of rows."""
    if text[start] != "[":
        return None
    gathered.listed = True
    place, number = _blanks(text, start + 1), 0
    while text[place : place + 1] != "]":
        number += 1
        item, place = _decoded(text, place, gathered.file, None)
        gathered.add(item, number)
        place = _after(text, place, "]", gathered.file)
    if _blanks(text, place + 1) < len(text):
        raise CalipersError("not JSON: something follows the list", file=gathered.file, line=_line(text, place))
    return place + 1


def _read_nested(text: str, start: int, gathered: _Gathered) -> int | None:
    """One object of queries."""
    if not _NESTED.match(text, start):
        return None
    place = _blanks(text, start + 1)
    met: set[str] = set()
    while text[place : place + 1] != "}":
        query, place = _decoded(text, place, gathered.file, None)
        place = _blanks(text, place)
        if not isinstance(query, str) or text[place : place + 1] != ":":
            raise CalipersError("not JSON: expected a name and ':'", file=gathered.file, line=_line(text, place))
        ranked, place = _decoded(text, _blanks(text, place + 1), gathered.file, None)
        if query in met:
            raise CalipersError(f"'{query}' appears twice in one object", file=gathered.file)
        met.add(query)
        gathered.add({query: ranked}, None)
        place = _after(text, place, "}", gathered.file)
    return place + 1


def _read_alone(text: str, start: int, gathered: _Gathered) -> int | None:
    """One value of another kind."""
    if _NESTED.match(text, start):
        return None
    value, end = _decoded(text, start, gathered.file, None)
    if _blanks(text, end) == len(text):
        gathered.add(value, None)
    return end


def _read_lines(text: str, start: int, gathered: _Gathered) -> int:
    """A value on each line."""
    number = 0
    for number, line in enumerate(_lines(text), 1):
        start = _blanks(line, 0)
        if start == len(line):
            continue
        value, end = _decoded(line, start, gathered.file, number)
        if _blanks(line, end) < len(line):
            raise CalipersError("not JSON: something follows the value on its line", file=gathered.file, line=number)
        gathered.add(value, number)
    return len(text)


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _after(text: str, place: int, closing: str, name: str) -> int:
    """Where the next item of a list or an object begins, or where it is closed."""
    place = _blanks(text, place)
    found = text[place : place + 1]
    if found == closing:
        return place
    after = _blanks(text, place + 1)
    if found != "," or text[after : after + 1] == closing:
        message = f"not JSON: expected ',' or '{closing}'" if found != "," else f"not JSON: ',' before '{closing}'"
        raise CalipersError(message, file=name, line=_line(text, place))
    return after


def _text(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CalipersError(
            "not UTF-8, as JSON has to be", file=name, line=raw.count(b"\n", 0, error.start) + 1
        ) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        met: set[str] = set()
        twice = next(key for key, _ in pairs if key in met or met.add(key))  # type: ignore[func-returns-value]  # None
        raise CalipersError(f"'{twice}' appears twice in one object")
    return found


def _not_finite(text: str) -> float:
    raise CalipersError(f"{text} is not a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_not_finite)
_BLANK = re.compile(r"[ \t\r\n]*")


def _blanks(text: str, start: int) -> int:
    """Where blanks that begin here end."""
    found = _BLANK.match(text, start)
    return found.end() if found else start


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _decoded(text: str, start: int, name: str, line: int | None) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise CalipersError(f"not JSON: {error.msg}", file=name, line=line or error.lineno) from None
    except StopIteration:  # nothing is there
        raise CalipersError("not JSON: Expecting value", file=name, line=line or _line(text, start)) from None
    except RecursionError:
        raise CalipersError("nested too deeply", file=name, line=line) from None
    except CalipersError as error:
        raise CalipersError(error.message, file=name, line=line) from None
    except ValueError:
        raise CalipersError("a number has too many digits", file=name, line=line or _line(text, start)) from None


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
        if not isinstance(item, dict) or (self.listed and not item):
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
        raise self._error(f"the {role} {_shown(found)} is neither text nor a whole number", number)

    def _shape(self, found: Any, number: int | None) -> CalipersError:
        return self._error(
            f"expected {{query: {{document: number}}}}, or rows with query, document and number; found {_shown(found)}",
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
            Ids.of(self.systems)
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
            f"{self.value} {_shown(self.values[wrong])} of document '{self.documents[wrong]}', "
            f"query '{queries[self.query[wrong]]}', is not {what}",
            self.line[wrong] if self.line else None,
        )


def _shown(found: Any) -> str:
    """The beginning of a value."""
    if isinstance(found, dict):
        found = {key: "..." if isinstance(value, dict | list) else value for key, value in islice(found.items(), 4)}
    if isinstance(found, list):
        found = ["..." if isinstance(value, dict | list) else value for value in found[:4]]
    return json.dumps(found)[:60]


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
    matches=lambda start: _START.match(start) is not None,
    read=read_json,
    systems=systems_of_json,
)
