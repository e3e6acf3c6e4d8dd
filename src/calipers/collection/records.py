"""Judgments and runs that other libraries hold in memory: lists of named tuples or dictionaries, and ranx's objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from calipers.collection.cells import Cells
from calipers.collection.column_names import columns_of
from calipers.collection.files import shown_name
from calipers.collection.formats.named_rows import NamedRow, rows_of_file, rows_of_mappings
from calipers.collection.formats.openinference import has_spans, rows_of_spans
from calipers.collection.formats.ragas import has_samples, rows_of_samples
from calipers.collection.frames import is_frame, rows_of_frame
from calipers.collection.table_rows import Rows, rows_of
from calipers.errors import CalipersError
from calipers.support.checks import described


def rows_by_name(source: Any, *, max_unpacked: int | None = None) -> Iterator[NamedRow]:
    """Return the rows of a file, a frame or a list of dictionaries, each as {column: cell}."""
    if isinstance(source, str | os.PathLike):
        return rows_of_file(source, max_unpacked=max_unpacked)
    if is_frame(source):
        return rows_of_frame(source)
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return rows_of_mappings(source, of_table=False)
    raise CalipersError(
        f"cannot read rows from a {type(source).__name__}: expected a path, a frame or a list of dictionaries"
    )


def name_of(source: Any) -> str:
    """Return what messages call a file, a frame or a list of dictionaries."""
    if isinstance(source, str | os.PathLike):
        return shown_name(source)
    return "the frame" if is_frame(source) else "the rows"


def is_ranx(value: object) -> bool:
    """Return True for a Qrels or Run of ranx. Imports nothing."""
    return type(value).__module__.partition(".")[0] == "ranx" and hasattr(value, "to_dict")


def is_record(value: object) -> bool:
    """Return True for a named tuple, and for a dictionary that is one row of a table."""
    if isinstance(value, Mapping):
        return bool(value) and not any(isinstance(cell, Mapping | list | tuple) for cell in value.values())
    return isinstance(value, tuple) and hasattr(value, "_fields")


def without_iterators(source: Any) -> Any:
    """Return the items of a generator as a list, and anything else unchanged."""
    return [*source] if isinstance(source, Iterator) else source


def holds_records(source: Any) -> bool:
    """Return True for a list of named tuples, of rows or of samples of RAGAS, and for an object of ranx."""
    if is_ranx(source):
        return True
    if not isinstance(source, list | tuple) or is_record(source):
        return False
    first = _first(source)
    return is_record(first) or (isinstance(first, Mapping) and (has_samples(first) or has_spans(first)))


def _first(source: Sequence[Any]) -> Any:
    return source[0] if len(source) else None


def rows_of_records(source: Any, value: str, columns: Mapping[str, str] | None = None) -> Rows | None:
    """Return the rows of named tuples, dictionaries or ranx's objects; None if `source` is something else.

    value: what the rows hold, "score" or "grade".
    """
    if not holds_records(source):
        return None
    if is_ranx(source):
        return _rows_of_nested(source.to_dict(), value)
    if isinstance(source[0], Mapping) and has_samples(source[0]):
        return rows_of_samples(rows_by_name(source), value, columns)
    if isinstance(source[0], Mapping) and has_spans(source[0]):
        return rows_of_spans(rows_by_name(source), value, columns)
    fields = _fields(source[0])
    names = columns_of(fields, value, columns)
    row = next((row for row, record in enumerate(source, 1) if not {*names.values()} <= {*_fields(record)}), None)
    if row is not None:
        raise CalipersError(f"row {row}: expected {', '.join(fields)}, found {described(source[row - 1])}")
    place = {name: name if isinstance(source[0], Mapping) else fields.index(name) for name in names.values()}
    cells = {
        role: Cells([record[place[name]] for record in source], partial(_error, name)) for role, name in names.items()
    }
    return rows_of(cells, names, value, None, columns)


def _fields(record: Any) -> tuple[str, ...]:
    return tuple(map(str, record)) if isinstance(record, Mapping) else getattr(record, "_fields", ())


def _rows_of_nested(nested: Mapping[str, Mapping[str, float]], value: str) -> Rows:
    triples = [(query, *item) for query, inner in nested.items() for item in inner.items()]
    names = {role: role for role in ("query", "document", value)}
    cells = {role: Cells([row[place] for row in triples], partial(_error, role)) for place, role in enumerate(names)}
    return rows_of(cells, names, value, None, names)


def _error(column: str, message: str, row: int) -> CalipersError:
    return CalipersError(f"column '{column}', row {row + 1}: {message}")
