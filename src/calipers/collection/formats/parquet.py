"""Parquet: tables with named columns. Only those that are needed are read, and a run's rows are not held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from io import BytesIO
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from calipers.collection.arrow import arrow, check_nulls, coded, rows_of
from calipers.collection.files import Path, plain_file, shown_name
from calipers.collection.formats.format import Format
from calipers.collection.roles import columns_of
from calipers.collection.rows import AT_ONCE, SMALLEST_PART, Parts, Rows
from calipers.errors import CalipersError
from calipers.extras import load


def read_parquet(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """All rows, with `value` ("score" or "grade") as the number."""
    with _Opened(path, value, columns, max_unpacked) as file:
        return file.rows()


def systems_of_parquet(
    path: Path, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> tuple[str, ...]:
    """The systems that a file of runs names, if it does."""
    with _Opened(path, "score", columns, max_unpacked) as file:
        return file.systems()


def parts_of_parquet(
    path: Path, count: int, *, columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Parts:
    """The row groups of a file with one run, in about equal parts; a query that is cut in two goes to the first.

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
    """The rows of these groups but those that go on with a query of the group before, and with all of the last one."""
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
    """The first row with another query."""
    other = np.array([name != query for name in rows.queries.tolist()])[rows.query]
    first = int(np.argmax(other))
    return first if other[first] else None


class _Opened:
    """A Parquet file, its errors ours, its columns of few values as codes."""

    def __init__(self, path: Path, value: str, columns: Mapping[str, str] | None, max_unpacked: int | None) -> None:
        self._name = shown_name(path)
        self._parquet = load("pyarrow.parquet", extra="frames", what="Parquet files")
        self._errors = (arrow().ArrowException, OSError)
        self._source = plain_file(path, max_unpacked=max_unpacked)
        self._value, self._columns = value, columns

    def __enter__(self) -> _Opened:
        types = arrow().types
        plain = self._open()
        schema = plain.schema_arrow
        self.names = columns_of(schema.names, self._value, self._columns, file=self._name)
        text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
        few = [
            name
            for role, name in self.names.items()
            if role in ("query", "system") and any(is_text(schema.field(name).type) for is_text in text)
        ]
        self.group_sizes = [plain.metadata.row_group(group).num_rows for group in range(plain.num_row_groups)]
        if not sum(self.group_sizes):
            raise CalipersError("there are no rows", file=self._name)
        self._file = self._open(read_dictionary=few, metadata=plain.metadata)
        return self

    def __exit__(self, *_: object) -> None:
        if not isinstance(self._source, BytesIO):
            self._file.close()

    def rows(self) -> Rows:
        try:
            table = self._file.read([*dict.fromkeys(self.names.values())])
        except self._errors as error:
            raise self._damaged(error) from None
        column = {role: table.column(name) for role, name in self.names.items()}
        return rows_of(column, self.names, self._value, self._name)

    def systems(self) -> tuple[str, ...]:
        name = self.names.get("system")
        if name is None:
            return ()
        try:
            column = self._file.read([name]).column(0)
        except self._errors as error:
            raise self._damaged(error) from None
        check_nulls(column, name, self._name)
        return tuple(coded(column, name, self._name)[0].texts())

    def pieces(self, group: int) -> Iterator[Rows]:
        """The rows of a row group, some at a time."""
        names = {role: name for role, name in self.names.items() if role != "system"}
        before = sum(self.group_sizes[:group])
        try:
            for batch in self._batches(group, [*dict.fromkeys(names.values())]):
                if len(batch):
                    column = {role: batch.column(name) for role, name in names.items()}
                    yield rows_of(column, names, self._value, self._name, before)
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
        """The query of a row group's last row."""
        name = self.names["query"]
        try:
            column = self._file.read_row_group(group, [name], use_threads=False).column(0)
        except self._errors as error:
            raise self._damaged(error) from None
        check_nulls(column, name, self._name, sum(self.group_sizes[:group]))
        queries, query = coded(column, name, self._name)
        last: bytes = queries[int(query[-1])]
        return last

    def _open(self, **options: Any) -> Any:
        if isinstance(self._source, BytesIO):
            self._source.seek(0)
        try:
            return self._parquet.ParquetFile(self._source, pre_buffer=False, **options)
        except self._errors as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> CalipersError:
        reason = str(error).strip().partition("\n")[0]
        return CalipersError(f"the Parquet data is damaged ({reason})", file=self._name)


PARQUET = Format(
    name="parquet",
    holds="table",
    line="columns for query, document, and score or grade",
    matches=lambda start: start.startswith(b"PAR1"),
    read=read_parquet,
    systems=systems_of_parquet,
    parts=parts_of_parquet,
)
