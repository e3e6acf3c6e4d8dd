"""Tables of judgments and of runs: one row per document, read column by column.

Every table (CSV, Parquet, rows of JSON, a frame) becomes `Rows`. Ids stay one block of bytes; no row is
ever a Python object. A run goes through the same scanner as a run of lines, some rows at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calipers.collection.column_names import number_role
from calipers.collection.doubtful_numbers import are_ranks
from calipers.collection.judgments import Judgments
from calipers.collection.reader import NOT_GROUPED, held, in_threads, joined
from calipers.collection.run_names import stem_of
from calipers.collection.runs import Run
from calipers.errors import CalipersError
from calipers.native.columns import Columns, Precision, Retrieved
from calipers.native.ids import Ids, encode
from calipers.native.scan_error import duplicate
from calipers.native.scanner import RunScanner, ScanError
from calipers.support.plurals import counted

FIRST = 1000  # rows that are searched for ids of queries
AT_ONCE = 1 << 17  # rows that go through the scanner in one call: few enough to stay in the cache
SMALLEST_PART = 1 << 18  # rows that are worth a thread of their own

Parts = Sequence[Callable[[], Iterable["Rows"]]]  # of a run, to be read side by side; a query is in one of them only


class TableColumn(Protocol):
    """One column of a table: cells that can be read as ids or as numbers."""

    def __len__(self) -> int: ...

    def empty(self) -> NDArray[np.bool_]:
        """Return True for rows without a value."""

    def where(self, kept: NDArray[np.bool_]) -> TableColumn:
        """Return the column of these rows."""

    def ids(self) -> Ids:
        """Return the cells as ids."""

    def codes(self) -> tuple[Ids, NDArray[np.int32]]:
        """Return the distinct cells as ids, and which of them each row has."""

    def numbers(self, what: str) -> NDArray[np.float64]:
        """Return the cells as finite numbers. what: the role of the column, for errors."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A table's rows, in their order."""

    queries: Ids  # distinct, in order of first appearance
    query: NDArray[np.int32]  # row of `queries`
    documents: Ids
    value: NDArray[np.float64]  # the grade, or the score; finite
    systems: tuple[str, ...] = ()  # of a run, where a column names them
    system: NDArray[np.int32] | None = None  # row of `systems`
    number: NDArray[np.int64] | None = None  # of each row, where that is not its place; from 1
    lines: bool = False  # these numbers are lines of the file
    file: str | None = None
    notes: tuple[str, ...] = ()  # on how they were read
    doubts: tuple[str, ...] = ()  # about their numbers

    def __len__(self) -> int:
        return len(self.value)

    def judgments(self, name: str, combine: str | None = None) -> Judgments:
        """Return the judgments. combine: how several grades of a document become one."""
        number = np.arange(1, len(self) + 1) if self.number is None else self.number
        columns = Columns(self.queries, self.query, self.documents, self.value, number)
        try:
            return Judgments.from_columns(columns, name, combine).with_notes((*self.notes, *self._doubts_with_file))
        except CalipersError as error:
            if self.lines or error.line is None:
                raise
            error.message, error.file, error.line = f"row {error.line}: {error.message}", self.file, None
            raise

    @property
    def _doubts_with_file(self) -> list[str]:
        return [f"{self.file}: {text}" if self.file else text for text in self.doubts]

    @property
    def hold_own_id(self) -> bool:
        """True if one of the first documents has the id of its query."""
        start = self.between(0, min(len(self), FIRST))
        names = {code: self.queries[code] for code in {*start.query.tolist()}}
        return any(names[code] == name for code, name in zip(start.query.tolist(), start.documents, strict=True))

    def refuse_ranks(self, column: str) -> None:
        """Refuse scores that are ranks. column: the name of their column."""
        group = self.query if self.system is None else self.system * np.int64(len(self.queries)) + self.query
        if are_ranks(group, self.value):
            raise CalipersError(
                f"the scores in '{column}' are 1, 2, ..., n down every list, as ranks are. Say with columns whether "
                f"they are ranks (rank={column}) or scores, of which the largest is best (score={column})",
                file=self.file,
                parameter="columns",
            )

    def error(self, message: str, row: int) -> CalipersError:
        """Return the error about a row, counted from 0."""
        number = row + 1 if self.number is None else int(self.number[row])
        if self.lines:
            return CalipersError(message, file=self.file, line=number)
        return CalipersError(f"row {number}: {message}", file=self.file)

    def of_system(self, system: str) -> Rows:
        """Return the rows of one system."""
        assert self.system is not None
        row = np.flatnonzero(self.system == self.systems.index(system))
        used, query = by_appearance(self.query[row], len(self.queries))
        return Rows(
            queries=self.queries.take(used),
            query=query,
            documents=self.documents.take(row),
            value=self.value[row],
            number=row + 1 if self.number is None else self.number[row],
            lines=self.lines,
            file=self.file,
            doubts=self.doubts,
        )

    def between(self, start: int, stop: int) -> Rows:
        """Return some of the rows as views."""
        cuts = self.documents.offsets[start : stop + 1]
        return replace(
            self,
            query=self.query[start:stop],
            documents=Ids(self.documents.data[cuts[0] : cuts[-1]], cuts - cuts[0]),
            value=self.value[start:stop],
            system=None if self.system is None else self.system[start:stop],
            number=None if self.number is None else self.number[start:stop],
        )

    def parts(self, count: int) -> Parts:
        """Return about equal parts that start where the query changes."""
        cuts = [0]
        for target in (len(self) * k // count for k in range(1, count)):
            other = self.query[target:] != self.query[target - 1]
            change = int(np.argmax(other))
            if target > cuts[-1] and other[change]:
                cuts.append(target + change)
        return [partial(self._pieces, start, stop) for start, stop in pairwise([*cuts, len(self)])]

    def _pieces(self, start: int, stop: int) -> Iterator[Rows]:
        for place in range(start, stop, AT_ONCE):
            yield self.between(place, min(place + AT_ONCE, stop))


def rows_of(
    columns: Mapping[str, TableColumn],
    names: Mapping[str, str],
    value: str,
    file: str | None,
    given: Mapping[str, str] | None,
    number: NDArray[np.int64] | None = None,
    lines: bool = False,
) -> Rows:
    """Return the rows of a table whose column for each role is given. All tables become rows here.

    Without scores, ranks are used. Rows of judgments without a grade are left out, and counted in a note.
    Scores that are 1, 2, ..., n down the lists are refused unless their column was named.
    names: the name of each role's column. given: those that the user named. number, lines: as of `Rows`.
    """
    role = number_role(names, value)
    notes = rank_notes(names, file)
    if not len(columns[role]):
        raise CalipersError("there are no rows", file=file)
    if value == "grade" and 0 < (count := int((empty := columns[role].empty()).sum())) < len(empty):
        columns = {role: column.where(~empty) for role, column in columns.items()}
        number = np.flatnonzero(~empty) + 1 if number is None else number[~empty]
        place = f"{file}: " if file else ""
        notes = (f"{place}{counted(count, 'row')} without a grade in '{names[role]}'; left out", *notes)
    queries, query = columns["query"].codes()
    systems, system = columns["system"].codes() if "system" in columns else (Ids.of([]), None)
    found = columns[role].numbers(role)
    rows = Rows(
        queries=queries,
        query=query,
        documents=columns["document"].ids(),
        value=-found if role == "rank" else found,
        systems=tuple(systems.texts()),
        system=system,
        number=number,
        lines=lines,
        file=file,
        notes=notes,
    )
    if role == "score" and "score" not in (given or {}):
        rows.refuse_ranks(names[role])
    return rows


def rank_notes(names: Mapping[str, str], file: str | None) -> tuple[str, ...]:
    """Return a note if ranks stand for scores."""
    if "rank" not in names:
        return ()
    place = f"{file}: " if file else ""
    return (f"{place}there is no score: documents are ordered by '{names['rank']}' (score = -rank)",)


def joined_rows(pieces: Sequence[Rows]) -> Rows:
    """Return the rows of several pieces of a table, one after another."""
    queries: dict[bytes, int] = {}
    systems: dict[str, int] = {}
    query, system = [], []
    for piece in pieces:
        place = np.array([queries.setdefault(name, len(queries)) for name in piece.queries], np.int32)
        query.append(place[piece.query])
        if piece.system is not None:
            place = np.array([systems.setdefault(name, len(systems)) for name in piece.systems], np.int32)
            system.append(place[piece.system])
    first = pieces[0]
    return replace(
        first,
        queries=Ids.of(queries),
        query=np.concatenate(query),
        documents=Ids.joined([piece.documents for piece in pieces]),
        value=np.concatenate([piece.value for piece in pieces]),
        systems=tuple(systems),
        system=np.concatenate(system) if system else None,
        number=None if first.number is None else np.concatenate([piece.number for piece in pieces]),
    )


def by_appearance(code: NDArray[np.integer], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Codes below `count` as numbers in order of first appearance: the code of each number, and the numbers."""
    changes = np.flatnonzero(code[1:] != code[:-1]) + 1
    met = code[np.concatenate([np.zeros(min(len(code), 1), np.int64), changes])]
    used = met[np.sort(np.unique(met, return_index=True)[1])].astype(np.int64)
    if len(used) == count and (used == np.arange(count)).all():
        return used, code.astype(np.int32, copy=False)
    place = np.zeros(max(count, 1), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return used, place[code]


@dataclass(eq=False)
class RowsRun(Run):
    """One system's rows: `load` gives them all, `parts` gives them piece by piece where they need not be held."""

    load: Callable[[], Rows] = field(repr=False)
    name: str
    path: str | None = None
    parts: Callable[[int], Parts] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()  # on how they are read
    given_name: str | None = None
    doubts: tuple[str, ...] = field(default=(), init=False)  # about its numbers, once it was read
    holds_own_id: bool = field(default=False, init=False)  # one of the first documents of a part has the query's id

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the rows themselves if there is no file to read them from."""
        return {**self.__dict__, "load": partial(_held, self.load())} if self.path is None else self.__dict__

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        def scanner(regroup: bool = False) -> RunScanner:
            return RunScanner(judgments.index, depth=depth, precision=precision, regroup=regroup)

        rows = None if self.parts else self.load()
        parts = self._watched(rows)
        try:
            found = None
            if jobs > 1 and len(several := parts(jobs)) > 1:
                found = _side_by_side(several, scanner)
            # One thread; or an error, of which reading from the top meets the first one.
            if found is None:
                found = _scanned(parts(1), scanner())
            if found.scattered:
                whole = chain.from_iterable(part() for part in parts(1))
                found = _scanned([lambda: held(whole, _size)], scanner(True))
        except ScanError as error:
            if rows is not None:
                raise rows.error(error.message, error.line - 1) from None
            raise CalipersError(f"row {error.line}: {error.message}", file=self.path) from None
        except MemoryError:
            raise CalipersError(NOT_GROUPED, file=self.path) from None
        return replace(found, tag=self.name.encode("utf-8", "surrogateescape"))

    def _watched(self, rows: Rows | None) -> Callable[[int], Parts]:
        """Return the parts of the rows, or of the file, which are looked at while they are read."""
        parts = _parts_of(rows) if rows is not None else self.parts
        assert parts is not None
        return lambda count: [partial(self._watch, part) for part in parts(count)]

    def _watch(self, part: Callable[[], Iterable[Rows]]) -> Iterator[Rows]:
        return map(self._seen, part())

    def _seen(self, rows: Rows) -> Rows:
        """Remember what is doubtful about rows."""
        self.doubts = tuple(dict.fromkeys((*self.doubts, *rows.doubts)))
        self.holds_own_id = self.holds_own_id or rows.hold_own_id
        return rows

    def to_dict(self) -> dict[str, dict[str, float]]:
        rows = self._seen(self.load())
        found: dict[str, dict[str, float]] = {query: {} for query in rows.queries.texts()}
        lists = [*found.values()]
        for row, (code, document, score) in enumerate(
            zip(rows.query.tolist(), rows.documents.texts(), rows.value.tolist(), strict=True)
        ):
            ranked = lists[code]
            if document in ranked:
                raise rows.error(duplicate(encode(document), rows.queries[code]), row)
            ranked[document] = score
        return found


def _size(rows: Rows) -> int:
    """Return about how many bytes a scanner keeps of rows."""
    return len(rows.documents.data) + 20 * len(rows)


def _parts_of(rows: Rows) -> Callable[[int], Parts]:
    return lambda count: rows.parts(max(1, min(count, len(rows) // SMALLEST_PART)))


def _scanned(parts: Parts, scanner: RunScanner) -> Retrieved:
    """Read all parts with one scanner."""
    for rows in chain.from_iterable(part() for part in parts):
        scanner.feed_rows(rows.queries, rows.query, rows.documents, rows.value)
        if scanner.idle:
            break
    return scanner.finish()


def _side_by_side(parts: Parts, scanner: Callable[[], RunScanner]) -> Retrieved | None:
    """Read each part in a thread. Return None if a part has an error."""
    results = in_threads([partial(_scanned, [part], scanner()) for part in parts])
    return None if results is None else joined(results)


def runs_of(
    systems: Sequence[str],
    load: Callable[[], Rows],
    *,
    path: str | None = None,
    name: str | None = None,
    parts: Callable[[int], Parts] | None = None,
    notes: tuple[str, ...] = (),
) -> list[RowsRun]:
    """Return one run for each system that a table names, or one run for the whole table."""
    if len(systems) < 2:
        file = None if path is None else stem_of(path)
        return [RowsRun(load, name or (systems[0] if systems else file) or "run", path, parts, notes, name)]
    if name is not None:
        raise CalipersError(f"one name ('{name}') for {counted(len(systems), 'run')}: {_some(systems)}", file=path)
    table = _Once(load)
    return [
        RowsRun(partial(_of, table, system), system, f"{path}:{system}" if path else None, notes=notes)
        for system in systems
    ]


def _of(table: Callable[[], Rows], system: str) -> Rows:
    return table().of_system(system)


def _held(rows: Rows) -> Rows:
    return rows


class _Once:
    """A table that several runs share: loaded by the first that needs it."""

    def __init__(self, load: Callable[[], Rows]) -> None:
        self._load, self._lock = load, threading.Lock()
        self._rows: Rows | None = None

    def __reduce__(self) -> Any:
        return _Once, (self._load,)

    def __call__(self) -> Rows:
        with self._lock:
            if self._rows is None:
                self._rows = self._load()
            return self._rows


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
