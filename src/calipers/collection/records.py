"""Judgments and runs that other libraries hold in memory: lists of named tuples, and ranx's Qrels and Run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from calipers.collection.cells import Cells
from calipers.collection.column_names import columns_of
from calipers.collection.table_rows import Rows, rows_of
from calipers.errors import CalipersError


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
            _id(query): {_id(document): float(number) for document, number in inner.items()}
            for query, inner in nested.items()
        }
    except (TypeError, ValueError, AttributeError, OverflowError):
        return nested  # which will be refused


def _id(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(value)
    raise TypeError(value)


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
    return _rows_of_nested(source.to_dict(), value)


def rows_of_tuples(found: Iterable[Any], value: str, columns: Mapping[str, str] | None = None) -> Rows:
    """Return the rows of named tuples, which are all of one kind."""
    tuples = [*found]
    fields: tuple[str, ...] = tuples[0]._fields
    names = columns_of(fields, value, columns)
    for row, each in enumerate(tuples, 1):
        if getattr(each, "_fields", None) != fields:
            raise CalipersError(f"row {row}: expected {', '.join(fields)}, found {each!r:.60}")
    cells = {
        role: Cells([each[place] for each in tuples], partial(_error, name))
        for role, name in names.items()
        for place in (fields.index(name),)
    }
    return rows_of(cells, names, value, None)


def _rows_of_nested(nested: Mapping[str, Mapping[str, float]], value: str) -> Rows:
    triples = [(query, *item) for query, inner in nested.items() for item in inner.items()]
    names = {role: role for role in ("query", "document", value)}
    cells = {role: Cells([row[place] for row in triples], partial(_error, role)) for place, role in enumerate(names)}
    return rows_of(cells, names, value, None)


def _error(column: str, message: str, row: int) -> CalipersError:
    return CalipersError(f"column '{column}', row {row + 1}: {message}")
