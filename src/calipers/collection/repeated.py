"""Several judgments of one document made into one grade, and several passages of one document into one score.

Passages are made into documents by the best of them (MaxP), by their sum (SumP), or by the first of them (FirstP); the
manual's page on formats cites the paper.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.files import shown_name, whole
from calipers.collection.first_line import cells_of
from calipers.collection.json_values import RATIO, ROOM
from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run, RunView
from calipers.collection.table_rows import Rows, RowsRun
from calipers.errors import CalipersError
from calipers.native.columns import Columns, Precision, Retrieved
from calipers.native.ids import Ids, encode
from calipers.native.scan_error import duplicate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COMBINE = ("max", "min", "mean", "median", "last")
ROLLUP = ("max", "sum", "first")
SEPARATOR = "#"  # between a document and its passage, as Pyserini has it
LONGEST_SEPARATOR = 4


def combined(columns: Columns, how: str, name: str) -> tuple[Columns, tuple[str, ...]]:
    """Return one line per query and document, with its grades combined, and notes about that."""
    if how not in COMBINE:
        raise CalipersError(f"combine '{how}' is not one of {', '.join(COMBINE)}")
    code, first = pair_codes(columns.query, columns.documents)
    several = int((np.bincount(code) > 1).sum())
    if not several:
        return columns, ()
    grade = _reduced(columns.value, code, len(first), how)
    made = Columns(columns.queries, columns.query[first], columns.documents.take(first), grade, columns.line[first])
    are = f"{several} document{'s have' if several > 1 else ' has'}"
    return made, (f"{name}: {are} several judgments, of which the {how} is taken",)


def pair_codes(query: NDArray[Any], documents: Ids) -> tuple[Ints, Ints]:
    """Return a number for each pair of query and document, in order of first appearance, and its first row."""
    numbers: dict[tuple[int, bytes], int] = {}
    pairs = zip(query.tolist(), documents.tolist(), strict=True)
    code = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)
    return code, np.unique(code, return_index=True)[1]


def _reduced(value: Floats, code: Ints, count: int, how: str) -> Floats:
    """Return the combined value of each code."""
    if how in ("sum", "mean"):
        total: Floats = np.bincount(code, value, count).astype(np.float64)
        return total if how == "sum" else total / np.bincount(code, minlength=count)
    by_value = how in ("max", "min", "median")
    order = np.lexsort((value, code)) if by_value else np.argsort(code, kind="stable")
    sorted_code = code[order]
    start = np.searchsorted(sorted_code, np.arange(count))
    end = np.searchsorted(sorted_code, np.arange(count), side="right")
    if how == "median":
        return np.asarray((value[order[(start + end - 1) // 2]] + value[order[(start + end) // 2]]) / 2)
    place = start if how in ("min", "first") else end - 1
    return np.asarray(value[order[place]])


# -- passages ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rollup:
    """A rule that turns passages into documents: `max`, `sum` or `first`. by: a separator or a table of passages.

    A separator stands between the document's id and the passage's (the last one counts): `D7#3` is a passage of `D7`.
    A table has a passage and its document on each line, or is {passage: document}. What neither names is a document.

    >>> Rollup("max").of(["D7#0", "D7#1", "D8"])
    ['D7', 'D7', 'D8']
    """

    how: str
    by: str | os.PathLike[str] | Mapping[str, str] = SEPARATOR

    def __post_init__(self) -> None:
        if self.how not in ROLLUP:
            raise CalipersError(f"rollup '{self.how}' is not one of {', '.join(ROLLUP)}")
        if not self.by:
            raise CalipersError("rollup: the separator is empty")

    @cached_property
    def table(self) -> Mapping[str, str] | None:
        if isinstance(self.by, Mapping):
            return self.by
        if os.path.isfile(self.by):
            return read_passages(self.by)
        if len(os.fspath(self.by)) > LONGEST_SEPARATOR:
            raise CalipersError("no such table of passages, and too long for a separator", file=os.fspath(self.by))
        return None

    def of(self, passages: Sequence[str]) -> list[str]:
        """Return the document of each passage."""
        if self.table is not None:
            return [self.table.get(passage, passage) for passage in passages]
        separator = str(self.by)
        return [passage.rpartition(separator)[0] or passage for passage in passages]

    def places(self, passages: Sequence[str]) -> list[Any]:
        """Return the place of each passage in its document: its number, or its line of the table."""
        if self.table is not None:
            line = {passage: number for number, passage in enumerate(self.table)}
            return [line.get(passage, 0) for passage in passages]
        ends = [passage.rpartition(str(self.by))[2] for passage in passages]
        return [(int(end), "") if end.isdecimal() and len(end) < 19 else (1 << 62, end) for end in ends]

    def rows(self, rows: Rows) -> Rows:
        """Return the rows of documents, in order of first appearance."""
        code, first = pair_codes(rows.query, rows.documents)
        if len(first) < len(code):
            again = int(np.argmax(first[code] != np.arange(len(code))))
            raise rows.error(duplicate(rows.documents[again], rows.queries[int(rows.query[again])]), again)
        passages = rows.documents.texts()
        documents = Ids.of([encode(document) for document in self.of(passages)])
        code, first = pair_codes(rows.query, documents)
        order: Any = slice(None)
        if self.how == "first":
            place = self.places(passages)
            order = np.array(sorted(range(len(place)), key=place.__getitem__), np.int64)
        if self.how == "sum" and (rows.value < 0).all():
            raise CalipersError(
                "rollup sum: all scores are below 0, as where ranks stand for them: a document would lose by every "
                "passage; max and first work",
                file=rows.file,
            )
        value = _reduced(rows.value[order], code[order], len(first), self.how)
        number = first + 1 if rows.number is None else rows.number[first]
        return replace(rows, query=rows.query[first], documents=documents.take(first), value=value, number=number)


@dataclass(eq=False)
class RolledRun(RunView):
    """A run of passages as one of documents."""

    rollup: Rollup

    @cached_property
    def notes(self) -> tuple[str, ...]:
        own = f"{self.path or self.name}: passages are made into documents by {self.rollup.how}"
        return (*getattr(self.run, "notes", ()), own)

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        return self._rolled().retrieved(judgments, depth, precision, jobs)

    def to_dict(self) -> dict[str, dict[str, float]]:
        return self._rolled().to_dict()

    def _rolled(self) -> RowsRun:
        rows = self.rollup.rows(_rows_of(self.run))
        return RowsRun(lambda: rows, self.name, self.path)


def _rows_of(run: Run) -> Rows:
    if isinstance(run, RowsRun):
        return run.load()
    found = run.to_dict()
    codes = {query: number for number, query in enumerate(found)}
    lengths = [len(ranked) for ranked in found.values()]
    return Rows(
        queries=Ids.of(codes),
        query=np.repeat(np.arange(len(codes), dtype=np.int32), lengths),
        documents=Ids.of([document for ranked in found.values() for document in ranked]),
        value=np.array([score for ranked in found.values() for score in ranked.values()], np.float64),
        file=getattr(run, "path", None),
    )


def read_passages(source: str | os.PathLike[str]) -> dict[str, str]:
    """Return {passage: document} from a file with both on each line, separated by blanks or as CSV."""
    name = shown_name(source)
    try:
        text = whole(source, room=ROOM, ratio=RATIO).decode("utf-8-sig", "surrogateescape")
    except MemoryError:
        raise CalipersError("too large", file=name) from None
    found: dict[str, str] = {}
    split: Callable[[str], list[str]] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        if split is None:
            cells, delimiter = cells_of(encode(line))
            split = (lambda each, by=delimiter: cells_of(encode(each), by)[0]) if len(cells) == 2 else str.split
        cells = split(line)
        if len(cells) != 2:
            raise CalipersError(
                f"expected a passage and its document, found {len(cells)} fields", file=name, line=number
            )
        passage, document = cells
        if found.setdefault(passage, document) != document:
            raise CalipersError(
                f"passage '{passage}' is in '{document}' here and in '{found[passage]}' before", file=name, line=number
            )
    if not found:
        raise CalipersError("there are no passages", file=name)
    return found
