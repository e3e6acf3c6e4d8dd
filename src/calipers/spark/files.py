"""Files as DataFrames. Our own scanner reads TREC text, and Spark reads Parquet.

Workers open files themselves, in splits, with any compression that Calipers reads. At URLs such as hdfs:// and s3a://,
Spark reads the lines, and workers parse batches of them. In both cases a line has the same meaning, and gives the same
error messages, as without Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.collection.arrow import arrow, ids
from calipers.collection.files import BLOCK, blocks
from calipers.collection.line_blocks import columns_of_block, line_start, whole_lines
from calipers.collection.run_names import ambiguous_names, distinct_names, run_name, stem_of
from calipers.errors import CalipersError
from calipers.native.columns import Columns
from calipers.native.ids import Ids, decode
from calipers.native.scanner import ScanError
from calipers.spark.columns import ORDER, Frame, named
from calipers.spark.session import map_in_arrow, sql, translated
from calipers.support.extras import check_online
from calipers.support.record import Record

SPLIT = 1 << 25  # bytes of a plain file that are worth a task
_QRELS = "query string, document binary, grade double"
_RUN = "system string, query string, document binary, score double"


def read_judgments(session: Any, source: str, *, format: str | None = None, subtopics: bool = False) -> Frame:
    """Judgments from TREC qrels or Parquet; subtopics: the second field of qrels is the subtopic."""
    _check_addresses([source])
    format = format or format_of(source, "judgments")
    if format == "parquet":
        with translated():
            return session.read.parquet(source)
    schema = _QRELS + (", subtopic binary" if subtopics else "")
    if "://" not in source:
        return _split_files(session, Splits("qrels", (source,), ("",), _splits([source]), subtopics), schema)
    return map_in_arrow(_lines(session, [source]), Parsed("qrels", (source,), ("",), subtopics), schema)


def read_runs(session: Any, source: Sequence[str], *, format: str | None = None, ordered: bool = False) -> Frame:
    """Return runs from TREC runs or Parquet files: system, query, document, score.

    ordered: add the position of each row in its file, which ties="input" needs. A run is named by its file's stem, or
    by its tag if the stem ends with it. A run in a Parquet file without a column of systems is named by its file.
    """
    if not source:
        raise CalipersError("there is no run to evaluate")
    _check_addresses(source)
    formats = {path: format or format_of(path, "runs") for path in source}
    if len(set(formats.values())) > 1:
        raise CalipersError("the Spark engine reads text or Parquet, not both at once: convert one of them")
    if next(iter(formats.values())) == "parquet":
        return _parquet_runs(session, source, ordered)
    return _text_runs(session, source, ordered)


def _check_addresses(paths: Sequence[str]) -> None:
    for path in paths:
        if "://" in path and not path.startswith("file://"):
            check_online("a file at this address", file=path)


# -- text --------------------------------------------------------------------------------------------


def _text_runs(session: Any, paths: Sequence[str], ordered: bool) -> Frame:
    F = sql("functions")

    runs = [_Tagged(run_name(_first_tag(session, path), path), path) for path in paths]
    systems = tuple(name for name, _ in distinct_names(runs))
    schema = _RUN + (", block long, line long" if ordered else "")
    if any("://" in path for path in paths):
        made = map_in_arrow(_lines(session, paths, ordered), Parsed("run", tuple(paths), systems), schema)
    else:
        splits = Splits("run", tuple(paths), systems, _splits(paths), ordered=ordered)
        made = _split_files(session, splits, schema)
    several = {name: [*files] for name, files in ambiguous_names(runs).items()}
    noted: dict[str, Any] = {
        "system": {"systems": [*systems], "ambiguous": several},
        "block": {"role": ORDER},
        "line": {"role": ORDER},
    }
    return made.select(*(F.col(name).alias(name, metadata={"calipers": noted.get(name, {})}) for name in made.columns))


class _Tagged(Record):
    """A run as far as its name goes."""

    name: str
    path: str


def _lines(session: Any, paths: Sequence[str], ordered: bool = False) -> Frame:
    """Return the columns text (a line with its end) and file (its index among the paths).

    ordered: add the columns block and line, which give the order of lines in a file.
    """
    F = sql("functions")

    # Numbers of lines grow within a block of a file; a file's blocks may be read by anyone, in any order.
    block, line = F.col("_metadata.file_block_start").alias("block"), F.monotonically_increasing_id().alias("line")
    where = [block, line] if ordered else []
    text = F.concat(F.col("value").cast("binary"), F.lit(b"\n")).alias("text")
    with translated():
        read = session.read.text(list(paths), lineSep="\n")
        if len(paths) == 1:
            return read.select(text, F.lit(0).alias("file"), *where)
        files = [(uri, i) for i, path in enumerate(paths) for uri in session.read.text(path).inputFiles()]
        numbered = F.broadcast(session.createDataFrame(files, "uri string, file int"))
        lines = read.select(text, F.input_file_name().alias("uri"), *where)
        return lines.join(numbered, "uri").drop("uri")


class Parsed(Record):
    """Lines that Spark has read into columns, a batch at a time."""

    kind: str
    paths: tuple[str, ...]
    systems: tuple[str, ...]
    second: bool = False

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            file = batch.column("file").to_numpy(zero_copy_only=False)
            starts = np.append(0, np.flatnonzero(np.diff(file)) + 1)
            for start, stop in zip(starts, np.append(starts[1:], len(batch)), strict=True):
                if stop > start:
                    yield self._parsed(batch.slice(int(start), int(stop - start)), int(file[start]))

    def _parsed(self, batch: Any, file: int) -> Any:
        pa = arrow()
        try:
            columns, _ = columns_of_block(_content(batch.column("text")), self.kind, first=True, second=self.second)
        except ScanError as error:
            raise CalipersError(error.message, file=self.paths[file]) from None
        rows = pa.array(columns.line - 1)  # comments and empty lines have none
        where = {name: batch.column(name).take(rows) for name in ("block", "line") if name in batch.schema.names}
        return _as_batch(columns, self.kind, self.systems[file], where)


class Splits(Record):
    """Reads and parses parts of files: of plain ones the lines that start between two places, of packed ones all."""

    kind: str
    paths: tuple[str, ...]
    systems: tuple[str, ...]
    splits: tuple[tuple[int, int, int], ...]  # file, start, stop; a stop of 0 means all of a packed file
    second: bool = False
    ordered: bool = False

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._read(*self.splits[number])

    def _read(self, file: int, start: int, stop: int) -> Iterator[Any]:
        pa = arrow()
        path, before = self.paths[file], 0
        for text in whole_lines(_blocks(path, start, stop)):
            first = not (before or start)
            try:
                columns, lines = columns_of_block(text, self.kind, first=first, second=self.second)
            except ScanError as error:
                raise CalipersError(
                    error.message, file=path, line=_lines_before(path, start) + before + error.line
                ) from None
            where = {}
            if self.ordered:
                where = {"block": pa.array(np.full(len(columns.value), start)), "line": pa.array(columns.line + before)}
            yield _as_batch(columns, self.kind, self.systems[file], where)
            before += lines


def _split_files(session: Any, splits: Splits, schema: str) -> Frame:
    count = len(splits.splits)
    return map_in_arrow(session.range(0, count, 1, count), splits, schema)


def _splits(paths: Sequence[str]) -> tuple[tuple[int, int, int], ...]:
    """Parts that are worth a task each."""
    from calipers.collection.files import PACKINGS

    found: list[tuple[int, int, int]] = []
    for number, path in enumerate(paths):
        with open(path, "rb") as file:
            start = file.read(8)
            size = file.seek(0, 2)
        if any(start.startswith(packing.magic) for packing in PACKINGS):
            found.append((number, 0, 0))
            continue
        count = max(1, -(-size // SPLIT))
        found += [(number, size * i // count, size * (i + 1) // count) for i in range(count)]
    return tuple(found)


def _blocks(path: str, start: int, stop: int) -> Iterator[bytes | memoryview]:
    if not stop:
        yield from blocks(path)
        return
    try:
        with open(path, "rb", buffering=0) as file:
            size = file.seek(0, 2)
            place, end = line_start(file, start, size), line_start(file, stop, size)
            file.seek(place)
            while place < end and (block := file.read(min(BLOCK, end - place))):
                place += len(block)
                yield block
    except OSError as error:
        raise CalipersError(
            f"a worker cannot read it: {error.strerror}; files must be where every worker finds them", file=path
        ) from None


def _lines_before(path: str, start: int) -> int:
    """Return the number of lines before a split, for error messages."""
    if not start:
        return 0
    with open(path, "rb") as file:
        left = line_start(file, start, file.seek(0, 2))
        file.seek(0)
        lines = 0
        while left and (block := file.read(min(BLOCK, left))):
            lines += block.count(b"\n")
            left -= len(block)
    return lines


def _as_batch(columns: Columns, kind: str, system: str, where: Mapping[str, Any]) -> Any:
    pa = arrow()
    query = pa.DictionaryArray.from_arrays(columns.query, _array(columns.queries, pa.string()))
    found = {
        "query": query.cast(pa.string()),
        "document": _array(columns.documents, pa.binary()),
        "grade" if kind == "qrels" else "score": pa.array(columns.value),
    }
    if kind == "run":
        name = pa.DictionaryArray.from_arrays(np.zeros(len(columns.value), np.int32), [system])
        found = {"system": name.cast(pa.string()), **found, **where}
    elif columns.second is not None:
        found["subtopic"] = _array(columns.second, pa.binary())
    return pa.RecordBatch.from_arrays([*found.values()], [*found])


def _content(column: Any) -> Any:
    """Return the bytes of all lines, which are contiguous in Arrow's memory."""
    return ids(column, "text").data


def _array(column: Ids, kind: Any) -> Any:
    pa = arrow()

    offsets = pa.py_buffer(np.ascontiguousarray(column.offsets, np.int32))
    made = pa.Array.from_buffers(kind, len(column), [None, offsets, pa.py_buffer(np.ascontiguousarray(column.data))])
    if kind == pa.string():
        try:
            made.validate(full=True)
        except pa.ArrowInvalid:
            raise CalipersError("the id of a query is not UTF-8, which Spark's text has to be") from None
    return made


def _first_tag(session: Any, path: str) -> str:
    """Return the last field of the first line of a run."""
    if "://" not in path:
        from calipers.collection.formats import first_line

        fields = [decode(field) for field in first_line(path).split()]
        return fields[5] if len(fields) > 5 else ""
    with translated():
        lines = [row[0] for row in session.read.text(path).head(20)]
    content = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return content[0][5] if content and len(content[0]) > 5 else ""


# -- Parquet -----------------------------------------------------------------------------------------


def _parquet_runs(session: Any, paths: Sequence[str], ordered: bool) -> Frame:
    """Return all files as one DataFrame. ordered: add the number of each row in its file."""
    from functools import reduce

    F = sql("functions")

    from calipers.collection.column_names import NAMES

    parts = []
    for path in paths:
        with translated():
            frame = session.read.parquet(path)
        names = {name.strip().lower() for name in frame.columns}
        has_system = any(name in names for rank in NAMES["system"] for name in rank)
        kept = [named(name) for name in frame.columns]
        if not has_system:
            kept.append(F.lit(stem_of(path)).alias("system"))
        if ordered:
            kept.append(F.col("_metadata.row_index").alias("row_index", metadata={"calipers": {"role": ORDER}}))
        parts.append(frame.select(*kept))
    return parts[0] if len(parts) == 1 else reduce(lambda one, other: one.unionByName(other), parts)


# -- formats of files ----------------------------------------------------------------------------------


def format_of(path: str, role: str) -> str:
    """Return the format of a file: `qrels` or `run` for text, or `parquet`. Other formats are refused."""
    from pathlib import Path

    expected = "qrels" if role == "judgments" else "run"
    if "://" in path:
        return "parquet" if path.rstrip("/").endswith((".parquet", ".pq")) else expected
    place = Path(path)
    if place.is_dir():
        if any(place.glob("*.parquet")):
            return "parquet"
        raise CalipersError("a directory without Parquet files: expected a file, or Parquet in parts", file=path)
    from calipers.collection.formats import sniff

    found = sniff(path)
    if found not in ("parquet", expected):
        raise CalipersError(
            f"the Spark engine reads {role} as TREC text or Parquet, not as {found}: convert it, or evaluate without "
            "Spark",
            file=path,
        )
    return found
