"""Parquet: tables with named columns. Only those that are needed are read, and a run's rows are not held."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np

from calipers.collection.arrow import ArrowColumn, arrow
from calipers.collection.column_names import columns_of
from calipers.collection.files import RATIO, ROOM, Path, plain_file, shown_name
from calipers.collection.formats.format import Contents, Format
from calipers.collection.table_rows import AT_ONCE, SMALLEST_PART, Parts, Rows, rank_notes, rows_of
from calipers.errors import CalipersError
from calipers.support.extras import load

ROW = 32  # bytes that a row takes at least
ROWS_AT_FIRST = 1024
MAGIC = b"PAR1"


def read_parquet(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return all rows, with `value` ("score" or "grade") as the number."""
    with _Opened(path, value, columns, max_unpacked) as file:
        return file.rows()


def contents_of_parquet(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Contents:
    """Return the systems that a file of runs names."""
    with _Opened(path, "score", columns, max_unpacked) as file:
        return Contents(file.systems(), rank_notes(file.names, shown_name(path)))


def parts_of_parquet(
    path: Path, count: int, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Parts:
    """Return the row groups of a file with one run, in about equal parts. A query in two parts goes to the first.

    Each part is to be read in a thread of its own: the rows of a few thousand queries come and go in the cache,
    which is faster than to decode the file and to rank it afterwards.
    """
    with _Opened(path, "score", columns, max_unpacked) as file:
        sizes = file.group_sizes
    count = max(1, min(count, len(sizes), sum(sizes) // SMALLEST_PART))
    ends = [*accumulate(sizes)]
    cuts = [0, *(int(np.searchsorted(ends, sum(sizes) * k // count)) + 1 for k in range(1, count)), len(sizes)]
    opened = partial(_Opened, path, "score", columns, max_unpacked)
    return [partial(_part, opened, start, stop) for start, stop in pairwise(sorted({*cuts}))]


def _part(opened: Any, start: int, stop: int) -> Iterator[Rows]:
    """Yield the rows of row groups: all queries that start in them, with the rest of the last query."""
    with opened() as file:
        skipped = file.last_query(start - 1) if start else None
        last = None
        for group in range(start, len(file.group_sizes)):
            if group >= stop and last is None:
                return
            for rows in file.pieces(group):
                if skipped is not None:
                    own = _differs(rows, skipped)
                    if own is None:
                        continue
                    rows, skipped = rows.between(own, len(rows)), None
                if group >= stop:
                    assert last is not None
                    other = _differs(rows, last)
                    if other is not None:
                        yield rows.between(0, other)
                        return
                yield rows
                last = rows.queries[int(rows.query[-1])]


def _differs(rows: Rows, query: bytes) -> int | None:
    """Return the first row with another query."""
    other = np.array([name != query for name in rows.queries.tolist()])[rows.query]
    first = int(np.argmax(other))
    return first if other[first] else None


def _lengths(texts: Any) -> Any:
    """Return the number of bytes of each text of a column."""
    binary_length = load("pyarrow.compute", extra="frames", what="tables").binary_length
    return np.asarray(binary_length(texts).fill_null(0), np.int64)


def _bytes_of(column: Any) -> int:
    """Return the number of bytes of all rows of a dictionary column."""
    code = column.indices.drop_null()
    return int(_lengths(column.dictionary)[np.asarray(code, np.int64)].sum())


class _Opened:
    """A Parquet file, its errors ours, its columns of few values as codes."""

    def __init__(self, path: Path, value: str, columns: Mapping[str, str] | None, max_unpacked: int | None) -> None:
        self._name = shown_name(path)
        self._parquet = load("pyarrow.parquet", extra="frames", what="Parquet files")
        self._errors = _errors()
        self._source = plain_file(path, max_unpacked=max_unpacked)
        self._most = max_unpacked
        self._value, self._columns = value, columns

    def __enter__(self) -> _Opened:
        types = arrow().types
        plain = self._open()
        try:
            schema, metadata = plain.schema_arrow, plain.metadata
            self.group_sizes = [metadata.row_group(group).num_rows for group in range(plain.num_row_groups)]
            found = list(schema.names)
        except self._errors as error:
            raise self._damaged(error) from None
        self.names = columns_of(found, self._value, self._columns, file=self._name)
        text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
        kinds = {role: schema.field(name).type for role, name in self.names.items()}
        texts = {role: self.names[role] for role, kind in kinds.items() if any(is_text(kind) for is_text in text)}
        if not sum(self.group_sizes):
            raise CalipersError("there are no rows", file=self._name)
        coded_ids = types.is_dictionary(kinds["document"])
        self._refuse_large(metadata, self.names["document"] if coded_ids else texts.get("document"))
        few = [name for role, name in texts.items() if role in ("query", "system")]
        self._file = self._open(read_dictionary=few, metadata=metadata)
        return self

    def _refuse_large(self, metadata: Any, ids: str | None) -> None:
        """Refuse what would take more memory than a packed text may: few bytes can stand for many rows, or long ids."""
        most = _most(self._source) if self._most is None else self._most
        room = most - ROW * sum(self.group_sizes)
        if ids is not None and room >= 0:
            file = self._open(read_dictionary=[ids], metadata=metadata)
            try:
                for group in range(len(self.group_sizes)):
                    room -= self._id_bytes(file, group, ids, room)
                    if room < 0:
                        break
            except self._errors as error:
                raise self._damaged(error) from None
            finally:
                if not isinstance(self._source, BytesIO):
                    file.close()
        if room < 0:
            raise _too_large(self._name, most)

    def _id_bytes(self, file: Any, group: int, ids: str, room: int) -> int:
        """Return an upper bound on the bytes of a row group's ids. It exceeds `room` only if the ids do."""
        columns = file.metadata.row_group(group)
        place = file.metadata.schema.names.index(ids)
        chunk = columns.column(place)
        if "DELTA_BYTE_ARRAY" in chunk.encodings:  # Arrow knows no codes for it
            plain, total = self._open(metadata=file.metadata), 0
            for batch in plain.iter_batches(ROWS_AT_FIRST, [group], [ids], use_threads=False):
                total += int(_lengths(batch.column(0)).sum())
                if total > room:
                    break
            return total
        if not chunk.has_dictionary_page:
            return int(chunk.total_uncompressed_size)
        batches = file.iter_batches(ROWS_AT_FIRST, [group], [ids], use_threads=False)
        first = next(batches, None)
        if first is None:
            return 0
        longest = int(_lengths(first.column(0).dictionary).max(initial=0))
        if chunk.has_dictionary_page and self.group_sizes[group] * longest <= room:
            # Any entry of the dictionary may stand in every row; what is not in it stands there as it is.
            return int(self.group_sizes[group] * longest + chunk.total_uncompressed_size)
        total = 0
        for batch in chain([first], batches):
            total += _bytes_of(batch.column(0))
            if total > room:
                break
        return total

    def __exit__(self, *_: object) -> None:
        if not isinstance(self._source, BytesIO):
            self._file.close()

    def rows(self) -> Rows:
        try:
            table = self._file.read([*dict.fromkeys(self.names.values())])
        except self._errors as error:
            raise self._damaged(error) from None
        columns = {role: ArrowColumn(table.column(name), name, self._name) for role, name in self.names.items()}
        with self._reading():
            return rows_of(columns, self.names, self._value, self._name, self._columns)

    def systems(self) -> tuple[str, ...]:
        name = self.names.get("system")
        if name is None:
            return ()
        try:
            column = self._file.read([name]).column(0)
        except self._errors as error:
            raise self._damaged(error) from None
        with self._reading():
            return tuple(ArrowColumn(column, name, self._name).codes()[0].texts())

    def pieces(self, group: int) -> Iterator[Rows]:
        """Yield the rows of a row group, some at a time."""
        names = {role: name for role, name in self.names.items() if role != "system"}
        before = sum(self.group_sizes[:group])
        try:
            for batch in self._batches(group, [*dict.fromkeys(names.values())]):
                if len(batch):
                    columns = {
                        role: ArrowColumn(batch.column(name), name, self._name, before, ordered=False)
                        for role, name in names.items()
                    }
                    yield rows_of(columns, names, self._value, self._name, self._columns)
                    before += len(batch)
        except self._errors as error:
            raise self._damaged(error) from None

    def _batches(self, group: int, names: list[str]) -> Iterator[Any]:
        threads = len(self.group_sizes) == 1
        if self.group_sizes[group] > 2 * AT_ONCE:
            yield from self._file.iter_batches(AT_ONCE, [group], names, use_threads=threads)
        else:  # the same, quicker
            yield self._file.read_row_group(group, names, use_threads=threads)

    def last_query(self, group: int) -> bytes:
        """Return the query of a row group's last row."""
        name = self.names["query"]
        try:
            column = self._file.read_row_group(group, [name], use_threads=False).column(0)
        except self._errors as error:
            raise self._damaged(error) from None
        with self._reading():
            queries, query = ArrowColumn(column, name, self._name, sum(self.group_sizes[:group])).codes()
        last: bytes = queries[int(query[-1])]
        return last

    def _open(self, **options: Any) -> Any:
        if isinstance(self._source, BytesIO):
            self._source.seek(0)
        try:
            return self._parquet.ParquetFile(self._source, pre_buffer=False, **options)
        except self._errors as error:
            raise self._damaged(error) from None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> CalipersError:
        return _damaged(self._name, error)


def columns_of_parquet(path: Path, *, max_unpacked: int | None = None) -> list[str]:
    """Return the names of the columns of a file."""
    with _plain(path, max_unpacked) as file:
        return list(file.schema_arrow.names)


def dictionaries_of_parquet(path: Path, *, max_unpacked: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield each row as {column: cell}. Refuses what would take more memory than a packed text may."""
    source = plain_file(path, max_unpacked=max_unpacked)
    most = room = _most(source) if max_unpacked is None else max_unpacked
    with _plain(path, max_unpacked) as file:
        for batch in file.iter_batches(ROWS_AT_FIRST):
            room -= batch.nbytes
            if room < 0:
                raise _too_large(shown_name(path), most)
            yield from batch.to_pylist()


@contextmanager
def _plain(path: Path, max_unpacked: int | None) -> Iterator[Any]:
    """Open a file as it is, its errors ours."""
    parquet = load("pyarrow.parquet", extra="frames", what="Parquet files")
    source = plain_file(path, max_unpacked=max_unpacked)
    try:
        with parquet.ParquetFile(source) as file:
            yield file
    except _errors() as error:
        raise _damaged(shown_name(path), error) from None


def _errors() -> tuple[type[Exception], ...]:
    return arrow().ArrowException, OSError, UnicodeDecodeError, OverflowError


def _most(source: str | BytesIO) -> int:
    """Return how many bytes a file may unpack to."""
    size = len(source.getvalue()) if isinstance(source, BytesIO) else os.path.getsize(source)
    return ROOM + RATIO * size


def _too_large(name: str, most: int) -> CalipersError:
    return CalipersError(
        f"the Parquet data unpacks to more than {most:,} bytes: if that is right, allow more with max_unpacked",
        file=name,
        parameter="max_unpacked",
    )


def _damaged(name: str, error: Exception) -> CalipersError:
    reason = str(error).strip().partition("\n")[0]
    return CalipersError(f"the Parquet data is damaged ({reason})", file=name)


PARQUET = Format(
    name="parquet",
    holds="table",
    line="columns for query, document, and score or grade",
    noun="a Parquet file",
    matches=lambda start: start.startswith(MAGIC),
    read=read_parquet,
    contents=contents_of_parquet,
    parts=parts_of_parquet,
)
