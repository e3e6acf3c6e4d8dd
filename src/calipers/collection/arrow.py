"""Columns of Arrow tables: whole arrays, most of them without a copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.table_rows import by_appearance
from calipers.errors import CalipersError
from calipers.native.ids import Ids
from calipers.support.extras import load


def arrow() -> Any:
    return load("pyarrow", extra="frames", what="tables")


@dataclass(frozen=True, eq=False)
class ArrowColumn:
    """One column of an Arrow table, with the name that errors call it."""

    column: Any
    name: str
    file: str | None = None
    before: int = 0  # rows of the table that come before
    ordered: bool = True  # distinct values are needed in order of first appearance, each once

    def __len__(self) -> int:
        return len(self.column)

    def empty(self) -> NDArray[np.bool_]:
        """Return True for rows without a value."""
        return np.asarray(self.column.is_null(), bool) if self.column.null_count else np.zeros(len(self), bool)

    def where(self, kept: NDArray[np.bool_]) -> ArrowColumn:
        """Return the column of these rows."""
        return replace(self, column=self.column.filter(arrow().array(kept)))

    def ids(self) -> Ids:
        """Return the cells as ids."""
        check_nulls(self.column, self.name, self.file, self.before)
        return ids(self.column, self.name, self.file)

    def codes(self) -> tuple[Ids, NDArray[np.int32]]:
        """Return the distinct cells as ids, and which of them each row has."""
        check_nulls(self.column, self.name, self.file, self.before)
        return coded(self.column, self.name, self.file, self.ordered)

    def numbers(self, what: str) -> NDArray[np.float64]:
        """Return the cells as finite numbers. what: the role of the column, for errors."""
        check_nulls(self.column, self.name, self.file, self.before)
        return numbers(self.column, self.name, what, self.file, self.before)


def ids(column: Any, name: str, file: str | None = None) -> Ids:
    """Return a column of text, bytes or whole numbers as ids."""
    pa = arrow()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_integer(kind):
        column = column.cast(pa.large_string())
    elif not _is_text(kind):
        raise CalipersError(f"column '{name}' holds {kind}: ids are text or whole numbers", file=file)
    elif not _has_offsets(kind):
        column = column.cast(pa.large_binary())
    whole = _whole(column)
    if not len(whole):
        return Ids.of([])
    _, places, data = whole.buffers()
    width = np.int64 if pa.types.is_large_string(whole.type) or pa.types.is_large_binary(whole.type) else np.int32
    offsets = np.frombuffer(places, width)[whole.offset : whole.offset + len(whole) + 1].astype(np.int64, copy=False)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Ids(content[offsets[0] : offsets[-1]], offsets - offsets[0] if offsets[0] else offsets)


def coded(column: Any, name: str, file: str | None = None, ordered: bool = True) -> tuple[Ids, NDArray[np.int32]]:
    """Return the distinct values of a column in order of first appearance, and the place of each row's value in them.

    What is not `ordered` may also hold values that no row has, and hold one twice.
    """
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        if not _is_text(column.type) and not pa.types.is_integer(column.type):
            raise CalipersError(f"column '{name}' holds {column.type}: ids are text or whole numbers", file=file)
        if not hasattr(pa.types, "is_string_view") or not pa.types.is_string_view(column.type):
            column = column.dictionary_encode()
        else:
            column = column.cast(pa.large_string()).dictionary_encode()
    column = _whole(column)
    code = _array(column.indices)
    if len(code) and not 0 <= code.min() <= code.max() < len(column.dictionary):
        raise CalipersError(f"column '{name}' is damaged: a row names a value that its dictionary lacks", file=file)
    if not ordered:
        return ids(column.dictionary, name, file), code.astype(np.int32, copy=False)
    # A dictionary may hold a value twice, hold values that no row has, and null; what is null was refused before.
    values = column.dictionary.dictionary_encode()
    if len(values.dictionary) < len(values):
        code = _array(values.indices.fill_null(0))[code]
    distinct = ids(values.dictionary, name, file)
    used, number = by_appearance(code, len(distinct))
    return (distinct if number is code else distinct.take(used)), number


def numbers(column: Any, name: str, what: str, file: str | None = None, before: int = 0) -> NDArray[np.float64]:
    """Return a column of finite numbers."""
    pa = arrow()
    kind = column.type
    if what == "grade" and pa.types.is_boolean(kind):
        return np.asarray(column.to_pylist(), np.float64)
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise CalipersError(f"column '{name}' holds {kind}: a {what} is a number", file=file)
    found = _array(_whole(column if kind == pa.float64() else column.cast(pa.float64(), safe=False)))
    if not (finite := np.isfinite(found)).all():
        row = int(np.argmin(finite))
        raise CalipersError(f"column '{name}', row {before + row + 1}: {found[row]} is not a finite number", file=file)
    return found


def _array(column: Any) -> NDArray[Any]:
    """Return the numbers of a column without missing values, as a view. Arrow's `to_numpy` would load pandas."""
    if not len(column):
        return np.zeros(0, column.type.to_pandas_dtype())
    content = np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype())
    return content[column.offset : column.offset + len(column)]


def _whole(column: Any) -> Any:
    """Return a column in one chunk."""
    if not isinstance(column, arrow().ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)  # putting them together would copy even one
    return column.unify_dictionaries().combine_chunks()


def check_nulls(column: Any, name: str, file: str | None, before: int = 0) -> None:
    """Refuse a column with a row that has no value."""
    pa = arrow()
    if not len(column):
        return
    empty = bool(column.null_count)
    if pa.types.is_dictionary(column.type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        empty = empty or any(chunk.dictionary.null_count for chunk in chunks)
        column = column.cast(column.type.value_type) if empty else column
        empty = bool(column.null_count)
    if empty:
        pc = load("pyarrow.compute", extra="frames", what="tables")
        row = pc.index(pc.is_null(column), True).as_py()
        raise CalipersError(f"column '{name}', row {before + row + 1}: there is no value", file=file)


def _has_offsets(kind: Any) -> bool:
    types = arrow().types
    known = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_it(kind) for is_it in known)


def _is_text(kind: Any) -> bool:
    types = arrow().types
    known = (
        "is_string",
        "is_large_string",
        "is_string_view",
        "is_binary",
        "is_large_binary",
        "is_binary_view",
        "is_fixed_size_binary",
    )
    return any(getattr(types, name)(kind) for name in known if hasattr(types, name))
