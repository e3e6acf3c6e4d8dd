"""Runs whose queries come in any order and do not fit into memory: sorted by query on disk, then ranked part by part.

The rows of judged queries are dealt out to files, a query's rows all to one; each file then fits into memory and is
ranked by the scanner as a run of its own. That is an external bucket sort by query: every row is written once and
read once, and memory is bounded by what was asked for, or by the largest query.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path as Folder
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from calipers.collection.chunks import CHUNK, first_lines, parsed, whole_lines
from calipers.collection.files import BLOCK, Path, blocks, shown_name
from calipers.collection.reader import joined
from calipers.errors import CalipersError
from calipers.native.columns import Columns, Precision, Retrieved
from calipers.native.ids import Ids
from calipers.native.scanner import JudgedIndex, RunScanner, ScanError
from calipers.record import Record

Ints = NDArray[np.integer[Any]]

MOST_FILES = 256  # that are open at a time
UNPACKED = 8  # times the size of a packed file, where nobody knows


class Chunk(Record):
    """Some rows of a run, and the number that errors call each by: a line of the file, or a row of the table."""

    queries: Ids  # distinct
    query: Ints
    documents: Ids
    score: NDArray[np.float64]
    number: Ints


def sorted_run(
    chunks: Callable[[], Iterable[Chunk]],
    index: JudgedIndex,
    *,
    depth: int,
    precision: Precision,
    memory: int,
    size: int,
    tag: Callable[[], bytes] = lambda: b"",
) -> Retrieved:
    """Return what a run retrieves, sorted on disk with about `memory` bytes. size: about the size of its rows."""
    try:
        with tempfile.TemporaryDirectory(prefix="calipers-") as folder:
            files = Files(Folder(folder), index, count=max(2, min(MOST_FILES, -(-3 * size // memory))))
            broken: ScanError | None = None
            with files:
                try:
                    for chunk in chunks():
                        files.add(chunk)
                except ScanError as error:  # a document that is there twice may come before what is wrong here
                    broken = error
            ranked = [*_ranked(files, depth, precision, memory, broken)]
    except OSError as error:
        raise CalipersError(
            f"its queries are in no order, and sorting them needs room on disk: {error.strerror or error} "
            f"(TMPDIR is {tempfile.gettempdir()})"
        ) from None
    return replace(_by_appearance(joined(ranked), files), tag=tag(), unjudged=Ids.of(files.unjudged), scattered=True)


def sorted_file(
    path: Path, index: JudgedIndex, *, depth: int, precision: Precision, memory: int, max_unpacked: int | None = None
) -> Retrieved:
    """Call `sorted_run` for a TREC file. Errors name the file and line."""
    lines = _RunChunks(path, max_unpacked)
    size = os.path.getsize(path) if os.path.isfile(path) else memory
    try:
        found = sorted_run(
            lines.chunks, index, depth=depth, precision=precision, memory=memory, tag=lambda: lines.tag,
            size=size if lines.is_plain() else UNPACKED * size,
        )  # fmt: skip
        return replace(found, odd_blanks=lines.odd_blanks)
    except ScanError as error:
        raise CalipersError(error.message, file=shown_name(path), line=error.line) from None
    except CalipersError as error:
        error.file = error.file or shown_name(path)
        raise


# -- rows, dealt out ---------------------------------------------------------------------------------


class Files:
    """Files of rows, all rows of a query in one of them."""

    def __init__(self, folder: Folder, index: JudgedIndex, count: int) -> None:
        self._index, self._count = index, count
        self.paths = [folder / str(i) for i in range(count)]
        self._files: list[BinaryIO] = []
        self._numbers: dict[bytes, int] = {}  # of judged queries, by first appearance
        self.rows: list[int] = []  # of the judgments: for each of these numbers
        self.unjudged: dict[bytes, None] = {}

    def __enter__(self) -> Files:
        self._files = [path.open("wb") for path in self.paths]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    @property
    def names(self) -> Ids:
        return Ids.of(self._numbers)

    def add(self, chunk: Chunk) -> None:
        number = np.array([self._number(name) for name in chunk.queries.tolist()], np.int32)
        query = number[chunk.query] if len(number) else np.zeros(0, np.int32)
        kept = np.flatnonzero(query >= 0)
        file = (query[kept] % self._count).astype(np.uint16)
        kept = kept[np.argsort(file, kind="stable")]  # a query's rows stay in their order
        counts = np.bincount(file, minlength=self._count)
        documents = chunk.documents.take(kept)
        ends = np.cumsum(counts)
        for i in np.flatnonzero(counts).tolist():
            rows = slice(int(ends[i] - counts[i]), int(ends[i]))
            _write(
                self._files[i], query[kept[rows]], chunk.number[kept[rows]], chunk.score[kept[rows]], documents, rows
            )

    def _number(self, name: bytes) -> int:
        known = self._numbers.get(name)
        if known is not None:
            return known
        row = self._index.query(name)
        if row < 0:
            self.unjudged[name] = None
            return -1
        self.rows.append(row)
        return self._numbers.setdefault(name, len(self._numbers))

    def ranked(
        self, path: Folder, depth: int, precision: Precision, share: tuple[int, int], broken: int | None
    ) -> Retrieved:
        """Yield what the queries of a file retrieve. A file that is too large is read in shares of its queries."""
        scanner = RunScanner(self._index, depth=depth, precision=precision, regroup=True)
        names = self.names
        numbers: list[Ints] = [np.zeros(0, np.int64)]
        try:
            for query, number, score, documents in _read(path):
                if broken is not None:
                    query, number, score, documents = _chosen(number < broken, query, number, score, documents)
                if share[1] > 1:
                    chosen = query // self._count % share[1] == share[0]
                    query, number, score, documents = _chosen(chosen, query, number, score, documents)
                numbers.append(number)
                scanner.feed_rows(names, query, documents, score)
            return scanner.finish()
        except ScanError as error:
            raise ScanError(error.message, int(np.concatenate(numbers)[error.line - 1])) from None


def _ranked(
    files: Files, depth: int, precision: Precision, memory: int, broken: ScanError | None
) -> Iterator[Retrieved]:
    """File by file. Of several errors the one that comes first in the run is raised."""
    first = broken
    for path in files.paths:
        queries = -(-len(files.rows) // len(files.paths))  # in a file, at most: one a share is the least
        shares = max(1, min(queries, -(-path.stat().st_size // memory)))
        for i in range(shares):
            try:
                yield files.ranked(path, depth, precision, (i, shares), None if broken is None else broken.line)
            except ScanError as error:
                first = error if first is None or error.line < first.line else first
        with suppress(OSError):
            path.unlink()  # to have the room back early
    if first is not None:
        raise first


def _by_appearance(found: Retrieved, files: Files) -> Retrieved:
    """Return the segments in the order of the run's queries."""
    place = {row: number for number, row in enumerate(files.rows)}
    order = np.argsort([place[query] for query in found.query.tolist()], kind="stable").astype(np.int64)
    counts = np.diff(found.offsets)[order]
    ends = np.cumsum(counts)
    rows = np.arange(len(found.document)) + np.repeat(found.offsets[:-1][order] - (ends - counts), counts)
    of_lists = {name: getattr(found, name)[order] for name in ("query", "length", "tied")}
    columns = ("document", "score", "first", "last", "docid_rank", "input_rank")
    return replace(
        found,
        offsets=np.concatenate([np.zeros(1, np.int64), ends]),
        all_ties=found.all_ties.take(order),
        **of_lists,
        **{name: getattr(found, name)[rows] for name in columns},
    )


# -- rows on disk: arrays, one after another ---------------------------------------------------------


def _write(file: BinaryIO, query: Ints, number: Ints, score: Any, documents: Ids, rows: slice) -> None:
    cuts = documents.offsets[rows.start : rows.stop + 1]
    np.array([len(query), cuts[-1] - cuts[0]], np.int64).tofile(file)
    for column in (query.astype(np.int32), number.astype(np.int64), score, np.diff(cuts).astype(np.int32)):
        column.tofile(file)
    documents.data[cuts[0] : cuts[-1]].tofile(file)


def _read(path: Folder) -> Iterator[tuple[Ints, Ints, NDArray[np.float64], Ids]]:
    with path.open("rb") as file:
        while len(head := np.fromfile(file, np.int64, 2)):
            count, size = head.tolist()
            query = np.fromfile(file, np.int32, count)
            number = np.fromfile(file, np.int64, count)
            score = np.fromfile(file, np.float64, count)
            offsets = np.zeros(count + 1, np.int64)
            np.cumsum(np.fromfile(file, np.int32, count), out=offsets[1:])
            yield query, number, score, Ids(np.fromfile(file, np.uint8, size), offsets)


def _chosen(
    chosen: Any, query: Ints, number: Ints, score: NDArray[np.float64], documents: Ids
) -> tuple[Ints, Ints, NDArray[np.float64], Ids]:
    rows = np.flatnonzero(chosen)
    return query[rows], number[rows], score[rows], documents.take(rows)


# -- the lines of a file -----------------------------------------------------------------------------


class _RunChunks:
    """A TREC run in chunks of whole lines."""

    def __init__(self, path: Path, max_unpacked: int | None) -> None:
        self._path, self._most = path, max_unpacked
        self.tag, self.odd_blanks = b"", False

    def is_plain(self) -> bool:
        from calipers.collection.files import PACKINGS

        if not os.path.isfile(self._path):
            return False
        with open(self._path, "rb") as file:
            start = file.read(8)
        return not any(start.startswith(packing.magic) for packing in PACKINGS)

    def chunks(self) -> Iterator[Chunk]:
        before = 0
        for text in whole_lines(blocks(self._path, max_unpacked=self._most, size=BLOCK), CHUNK):
            first = not before
            try:
                columns, lines = parsed(text, "run", first=first)
            except ScanError as error:
                if error.line > 1:  # the lines before it: a document may appear twice, which is the first error
                    yield _chunk(parsed(first_lines(text, error.line - 1), "run", first=first)[0], before)
                raise ScanError(error.message, error.line + before) from None
            if first:
                self.tag = columns.tag
            self.odd_blanks |= columns.odd_blanks
            yield _chunk(columns, before)
            before += lines


def _chunk(columns: Columns, before: int) -> Chunk:
    return Chunk(columns.queries, columns.query, columns.documents, columns.value, columns.line + before)
