"""Code that runs in the workers. Arrow batches of sorted rows pass through the scanner and the kernels for files.

A partition holds whole queries. Its rows are sorted by system and query, with the judgments before all systems:

    system  query  document  value
        -1  q3     d7        2.0          judgments: the grade
        -1  q9     d1        0.0
         0  q3     d4        17.25        the first system: the score
         0  q9     d1        11.5
         1  q3     d7        0.75         the second one

So the judgments make one index and one pool, whose bounds are worked out once for all systems, and each system streams
through a scanner that keeps its judged documents. Where batches are cut does not matter to the scanner.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from calipers.collection.arrow import arrow, coded, ids
from calipers.collection.judgments import Judgments
from calipers.errors import CalipersError
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import describe, refuse_infinite, refuse_undefined, score_lists
from calipers.lists import Floats, Ints, Lists
from calipers.measures.registry import Measure
from calipers.native.columns import Columns, Retrieved, TieSpans
from calipers.native.ids import Ids
from calipers.native.scanner import RunScanner, ScanError
from calipers.results.scores import Coverage
from calipers.support.record import Record

Batch = Any  # a pyarrow.RecordBatch

JUDGMENTS = -1  # the number that rows of judgments have instead of a system's
ROWS_AT_ONCE = 1_000_000  # judged documents, or lists, that are scored in one go
SKEWED = 0.5  # a query with more than this share of a partition's rows is named in the log
SKEWED_FROM = 100_000  # rows of it, at least


class Task(Record):
    """Scores the partitions of a plan: a function from batches to batches."""

    systems: tuple[str, ...]
    measures: Mapping[str, Measure]
    options: ScoringOptions
    buckets: int
    largest_list: int
    by_subtopic: bool = False
    intents: Mapping[str, Mapping[str, float]] | None = None

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        longest = RowLimit(self.largest_list, self.systems)
        for bucket, streams in _by_bucket(_streams(batches, longest)):
            yield from self._scored(bucket, streams)

    def _scored(self, bucket: int, streams: Iterable[tuple[int, Iterator[Piece]]]) -> Iterator[Batch]:
        """Yield the scores of the systems of one bucket on the queries of this partition."""
        waiting = _Waiting(self, [s for s in range(len(self.systems)) if s % self.buckets == bucket])
        known = None
        for system, pieces in streams:
            if system == JUDGMENTS:
                known = waiting.known = self.judgments(pieces)
                rows = known.pool.size.astype(np.int64)
            elif known is None:
                for _ in pieces:  # queries without judgments
                    pass
            else:
                found = self._retrieved(known, pieces)
                rows[found.query] += found.length
                yield from waiting.add(system, found)
        if known is not None:
            yield from waiting.flush()
            _tell_skew(known, rows)

    def judgments(self, pieces: Iterable[Piece]) -> Judgments:
        """Return the judgments of the queries of this partition, as the convention reads them."""
        columns = _together(pieces)
        try:
            known = self._grouped(columns)
        except CalipersError as error:
            raise CalipersError(
                error.message, file="judgments"
            ) from None  # the line number counts lines of this partition
        known = self.options.like.judgments(known)
        self.options.like.check(known, self.measures.values())
        return known

    def _grouped(self, columns: Columns) -> Judgments:
        if not self.by_subtopic:
            return Judgments.from_columns(columns, "judgments")
        from calipers.collection.subtopics import SubtopicJudgments

        intents = None
        if self.intents is not None:
            intents = {query: self.intents[query] for query in columns.queries.texts() if query in self.intents}
        return SubtopicJudgments.from_lines(columns, "judgments", intents)

    def _retrieved(self, known: Judgments, pieces: Iterator[Piece]) -> Retrieved:
        scanner = RunScanner(known.index, depth=self.options.depth or 0, precision=self.options.precision)
        try:
            for piece in pieces:
                scanner.feed_rows(piece.queries, piece.query, piece.documents, piece.value)
            found = scanner.finish()
        except ScanError as error:
            raise CalipersError(error.message, file="runs") from None
        if found.scattered:
            raise CalipersError("the rows of a partition are not sorted: this is an error of the engine, not yours")
        return found


class Piece(Record):
    """Some rows of one system, or of the judgments, from one batch."""

    queries: Ids
    query: Ints  # row of `queries`
    documents: Ids
    value: Floats
    subtopics: Ids | None = None


class _Waiting:
    """Systems that were read and wait to be scored together; those that have no row here get empty lists."""

    def __init__(self, task: Task, systems: list[int]) -> None:
        self._task, self._due = task, systems
        self.known: Judgments | None = None
        self._systems: list[int] = []
        self._found: list[Retrieved] = []
        self._rows = 0

    def add(self, system: int, found: Retrieved) -> Iterator[Batch]:
        while self._due and self._due[0] < system:
            yield from self._put(self._due.pop(0), _nothing())
        self._due.pop(0)
        yield from self._put(system, found)

    def flush(self) -> Iterator[Batch]:
        while self._due:
            yield from self._put(self._due.pop(0), _nothing())
        if self._found:
            yield self._scored()

    def _put(self, system: int, found: Retrieved) -> Iterator[Batch]:
        assert self.known is not None
        lists = (len(self._found) + 1) * len(self.known.queries)
        if self._found and max(self._rows + len(found.document), lists) > ROWS_AT_ONCE:
            yield self._scored()
        self._systems.append(system)
        self._found.append(found)
        self._rows += len(found.document)

    def _scored(self) -> Batch:
        assert self.known is not None
        task, known = self._task, self.known
        coverage = Coverage.blank(len(self._found), len(known.queries))
        lists = Lists.of(known.pool, self._found)
        describe(coverage, slice(0, len(self._found)), self._found, lists)
        scored = score_lists(lists, task.measures.values(), task.options)
        shape = (len(task.measures), len(self._found), len(known.queries))
        values, reasons = scored.values.reshape(shape), scored.reasons.reshape(shape)
        refuse_infinite(values, list(task.measures), known.queries)
        refuse_undefined(reasons, list(task.measures), known.queries, task.options)
        names = [task.systems[system] for system in self._systems]
        self._systems, self._found, self._rows = [], [], 0
        return _as_batch(names, known.queries, list(task.measures), values, reasons, coverage)


def _as_batch(
    systems: list[str], queries: tuple[str, ...], measures: list[str], values: Floats, reasons: Any, coverage: Coverage
) -> Batch:
    pa = arrow()

    rows = len(systems) * len(queries)
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * len(measures))
    why = np.ascontiguousarray(np.moveaxis(reasons, 0, -1)).astype(np.int8).ravel()
    about = pa.StructArray.from_arrays(
        [
            *(
                pa.array(getattr(coverage, name).ravel().astype(np.int32))
                for name in ("length", "tied", "judged_at_10")
            ),
            pa.ListArray.from_arrays(offsets, pa.array(why)),
        ],
        ["read", "tied", "judged_at_10", "reasons"],
    )
    columns = {
        "system": pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(systems)), len(queries)), systems),
        "query": pa.DictionaryArray.from_arrays(np.tile(np.arange(len(queries)), len(systems)), list(queries)),
    }
    columns = {name: column.cast(pa.string()) for name, column in columns.items()}
    for name, value in zip(measures, values, strict=True):
        flat = np.ascontiguousarray(value).ravel()
        columns[name] = pa.array(flat, mask=np.isnan(flat))
    return pa.RecordBatch.from_arrays([*columns.values(), about], [*columns, "about"])


def _nothing() -> Retrieved:
    """Return the lists of a system without rows."""
    none = np.zeros(0, np.int32)
    return Retrieved(
        query=none,
        length=none,
        tied=none,
        offsets=np.zeros(1, np.int64),
        document=none,
        score=np.zeros(0),
        first=none,
        last=none,
        docid_rank=none,
        input_rank=none,
        all_ties=TieSpans.none(0),
        tag=b"",
        unjudged=Ids.of([]),
        scattered=False,
    )


# -- batches into rows of one system each ------------------------------------------------------------


def _streams(batches: Iterable[Batch], longest: RowLimit) -> Iterator[tuple[int, int, Piece]]:
    """Yield (bucket, system, rows) in the order of the partition."""
    for batch in batches:
        if not len(batch):
            continue
        system = _numbers(batch, "system")
        bucket = _numbers(batch, "bucket") if "bucket" in batch.schema.names else np.zeros_like(system)
        changes = np.flatnonzero((np.diff(system) != 0) | (np.diff(bucket) != 0)) + 1
        starts = [0, *changes.tolist(), len(batch)]
        for start, stop in pairwise(starts):
            piece = _piece(batch.slice(start, stop - start))
            longest.check(int(bucket[start]), int(system[start]), piece)
            yield int(bucket[start]), int(system[start]), piece


def _piece(batch: Batch) -> Piece:
    queries, query = coded(batch.column("query"), "query", ordered=False)
    return Piece(
        queries=queries,
        query=query,
        documents=ids(batch.column("document"), "document"),
        value=np.asarray(batch.column("value").to_numpy(zero_copy_only=False), np.float64),
        subtopics=ids(batch.column("subtopic"), "subtopic") if "subtopic" in batch.schema.names else None,
    )


def _numbers(batch: Batch, name: str) -> Ints:
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False))


def _by_bucket(
    pieces: Iterator[tuple[int, int, Piece]],
) -> Iterator[tuple[int, Iterator[tuple[int, Iterator[Piece]]]]]:
    """Yield the pieces grouped by bucket, then by system. Groups must be taken one after another."""
    for bucket, of_bucket in groupby(pieces, itemgetter(0)):
        by_system = groupby(of_bucket, itemgetter(1))
        yield bucket, ((system, (piece for _, _, piece in rows)) for system, rows in by_system)


def _together(pieces: Iterable[Piece]) -> Columns:
    """Rows as the lines of a file of judgments."""
    parts = list(pieces)
    names = Ids.of([name for part in parts for name in part.queries.tolist()])
    shift = np.cumsum([0, *(len(part.queries) for part in parts)])
    every = np.concatenate([part.query + start for part, start in zip(parts, shift[:-1], strict=True)])
    # A query that goes on in the next batch is there twice; sorted as rows are, equal names follow one another.
    place: dict[bytes, int] = {}
    number = np.array([place.setdefault(name, len(place)) for name in names.tolist()], np.int32)
    query = number[every]
    return Columns(
        queries=Ids.of(place),
        query=query,
        documents=_joined([part.documents for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        line=np.arange(1, len(query) + 1, dtype=np.int64),
        second=_joined([part.subtopics for part in parts if part.subtopics is not None]),
    )


def _joined(parts: list[Ids]) -> Ids:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Ids.of([])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Ids(np.concatenate([part.data for part in parts]), offsets)


class RowLimit:
    """Refuses a list, or the judgments of a query, with more rows than an executor is to hold."""

    def __init__(self, most: int, systems: tuple[str, ...]) -> None:
        self._most, self._systems = most, systems
        self._list: tuple[int, int, bytes] | None = None  # the last one: bucket, system, query
        self._length = 0

    def check(self, bucket: int, system: int, piece: Piece) -> None:
        starts = np.append(0, np.flatnonzero(np.diff(piece.query)) + 1)
        lengths = np.diff(np.append(starts, len(piece.query)))
        if (bucket, system, piece.queries[int(piece.query[0])]) == self._list:
            lengths[0] += self._length
        self._list = bucket, system, piece.queries[int(piece.query[-1])]
        self._length = int(lengths[-1])
        longest = int(lengths.argmax())
        if lengths[longest] > self._most:
            query = piece.queries.text(int(piece.query[starts[longest]]))
            whose = "the judgments have" if system == JUDGMENTS else f"system '{self._systems[system]}' has"
            raise CalipersError(
                f"query '{query}' is too large for an executor: {whose} more than {self._most:,} rows of it; cut lists "
                "with depth, or raise largest_list and give executors the memory, about 100 bytes per row"
            )


def _tell_skew(known: Judgments, rows: Ints) -> None:
    """Write to the worker's log if one query has most of the rows of its partition."""
    heaviest = int(rows.argmax())
    if len(rows) > 1 and rows[heaviest] >= SKEWED_FROM and rows[heaviest] > SKEWED * rows.sum():
        print(
            f"calipers: skew: query '{known.queries[heaviest]}' has {rows[heaviest]:,} of the {rows.sum():,} rows of "
            f"this partition, of {len(rows):,} queries",
            file=sys.stderr,
            flush=True,
        )


# -- judgments alone ---------------------------------------------------------------------------------


class DegeneratePools(Record):
    """Counts per partition of judgments: queries, the largest pool, and degenerate queries per normalised measure.

    A query is degenerate if all rankings have the same score.
    """

    task: Task

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        pa = arrow()

        pieces = [_piece(batch) for batch in batches if len(batch)]
        if not pieces:
            return
        pool = self.task.judgments(pieces).pool
        lists = pool.everything.shuffled
        forms = [measure.form for measure in self.task.measures.values()]
        flat = [int(form.is_degenerate(lists).sum()) for form in forms]
        yield pa.record_batch(
            {"queries": [pool.queries], "largest": [int(pool.size.max(initial=1))], "flat": [flat]},
            schema=pa.schema({"queries": pa.int64(), "largest": pa.int64(), "flat": pa.list_(pa.int64())}),
        )
