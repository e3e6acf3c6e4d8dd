"""Judgments and runs that other libraries hold in memory: lists of named tuples, and ranx's Qrels and Run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.collection.column_names import columns_of, number_role
from calipers.collection.table_rows import Rows, by_rank
from calipers.errors import CalipersError
from calipers.native.ids import Ids


def is_ranx(value: object) -> bool:
    """Whether this is a Qrels or Run of ranx; asked before anything is imported."""
    return type(value).__module__.partition(".")[0] == "ranx" and hasattr(value, "to_dict")


def is_record(value: object) -> bool:
    """Whether this is a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def taken(source: Any) -> Any:
    """What a generator gives, as a list; anything else as it is."""
    return [*source] if isinstance(source, Iterator) else source


def plain_nested(nested: Mapping[Any, Any]) -> Mapping[str, Any]:
    """{query: {document: number}} with text as ids, where Pyserini has whole numbers as ids and grades as text."""
    query, inner = next(iter(nested.items()))
    if not isinstance(inner, Mapping):
        return nested
    document, number = next(iter(inner.items()), ("", 0))
    if isinstance(query, str) and isinstance(document, str) and not isinstance(number, str):
        return nested
    try:
        return {
            _id(query, "query"): {_id(document, "document"): float(number) for document, number in inner.items()}
            for query, inner in nested.items()
        }
    except (TypeError, ValueError, AttributeError, OverflowError):
        return nested  # which will be refused


def holds_records(source: Any) -> bool:
    """Whether this is a list of named tuples, or an object of ranx."""
    return is_ranx(source) or (isinstance(source, Sequence) and not is_record(source) and is_record(_first(source)))


def _first(source: Sequence[Any]) -> Any:
    return source[0] if len(source) else None


def rows_of_records(source: Any, value: str, columns: Mapping[str, str] | None = None) -> Rows | None:
    """The rows of named tuples or of ranx's objects, with `value` ("score" or "grade"); None if it is neither."""
    if not holds_records(source):
        return None
    if not is_ranx(source):
        return rows_of_tuples(source, value, columns)
    nested: Mapping[str, Mapping[str, float]] = source.to_dict()
    return _rows([(query, *item) for query, inner in nested.items() for item in inner.items()], False)


def rows_of_tuples(found: Iterable[Any], value: str, columns: Mapping[str, str] | None = None) -> Rows:
    """The rows of named tuples, which are all of one kind."""
    tuples = [*found]
    fields: tuple[str, ...] = tuples[0]._fields
    names = columns_of(fields, value, columns)
    number = number_role(names, value)
    for row, each in enumerate(tuples, 1):
        if getattr(each, "_fields", None) != fields:
            raise CalipersError(f"row {row}: expected {', '.join(fields)}, found {each!r:.60}")
    places = [fields.index(names[role]) for role in ("query", "document", number)]
    rows = [tuple(each[place] for place in places) for each in tuples]
    made = _rows(rows, number == "rank", names.get("rank", ""))
    if "system" not in names:
        return made
    place = fields.index(names["system"])
    codes: dict[str, int] = {}
    system = np.array([codes.setdefault(str(each[place]), len(codes)) for each in tuples], np.int32)
    return replace(made, systems=tuple(codes), system=system)


def _rows(rows: Sequence[tuple[Any, ...]], ranked: bool, column: str = "") -> Rows:
    if not rows:
        raise CalipersError("there are no rows")
    codes: dict[str, int] = {}
    query = [codes.setdefault(_id(row[0], "query", number), len(codes)) for number, row in enumerate(rows, 1)]
    documents = [_id(row[1], "document", number) for number, row in enumerate(rows, 1)]
    value = np.array([_number(row[2], number) for number, row in enumerate(rows, 1)], np.float64)
    notes = (by_rank(column, None),) if ranked else ()
    value = -value if ranked else value
    return Rows(Ids.of(codes), np.array(query, np.int32), Ids.of(documents), value, notes=notes)


def _id(value: Any, role: str, row: int | None = None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(value)
    place = "" if row is None else f"row {row}: "
    raise CalipersError(f"{place}the {role} {value!r:.40} is neither text nor a whole number")


def _number(value: Any, row: int) -> float:
    try:
        found = float(value) if not isinstance(value, str) else None
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or not np.isfinite(found):
        raise CalipersError(f"row {row}: {value!r:.40} is not a finite number")
    return found
