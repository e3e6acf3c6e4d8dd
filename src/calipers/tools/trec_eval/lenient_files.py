"""Files as trec_eval reads them: a number is what its text begins with, a line of a run may go on after the tag, a line
may have any length, every blank of C's isspace ends a field, and a NUL byte at the start of a line ends the file.
Judgments that contradict each other are refused where they are needed.

All of that is rare, and slower to read: lines are rewritten where the usual reader refuses one of them, or would read
it otherwise: C's atol leaves out the fraction of 1.7 and the exponent of 1e3, and a form feed is part of an id for
the usual reader.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from calipers.collection.files import blocks
from calipers.collection.formats import table_format
from calipers.collection.judgments import Judgments
from calipers.collection.preferences import PreferencePool, Preferences, PreferenceScanner
from calipers.collection.reader import Result, Scanner, scan
from calipers.collection.runs import FileRun
from calipers.collection.several_judges import SeveralJudges
from calipers.collection.sources import read_qrels
from calipers.collection.subtopics import refuse_subtopics
from calipers.errors import CalipersError
from calipers.native.columns import Columns, Precision, Retrieved
from calipers.native.id_text import decode
from calipers.native.scan_error import BINARY, MOST_LINE, shown, too_long
from calipers.native.scanner import ColumnScanner, RunScanner
from calipers.tools.infinite_scores import LARGEST
from calipers.tools.trec_eval.c_numbers import as_double, as_long
from calipers.tools.trec_eval.refusals import not_calculated

if TYPE_CHECKING:
    from calipers.collection.files import Block

Conflicts = Mapping[int, CalipersError]  # what is wrong with a query, which cannot be evaluated for that

LONGEST = 2**31 - 1  # bytes of a line: as many as trec_eval counts in a file of judgments
OTHERWISE = "grade or blank that C reads otherwise"
BLANKS = b" \t\r\v\f"
_GAP = re.compile(rb"[ \t\r\v\f]+")


@dataclass
class LenientLines:
    """The lines of a file, in which every number is one that a scanner takes."""

    path: str
    what: str  # the numbers are
    places: tuple[int, ...]  # of the fields that are numbers
    number: Callable[[str], float]
    fields: int | None = None  # of a line; others are left out
    others: list[str] = field(default_factory=list)  # numbers that are read otherwise than they are written
    not_a_number: list[str] = field(default_factory=list)
    end: int = 0  # the line that starts with a NUL byte, where that ends the file

    def blocks(self, max_unpacked: int | None = None) -> Iterator[Block]:
        """The file, rewritten; blocks end where lines do."""
        before = 0
        for lines in _cut_lines(blocks(self.path, max_unpacked=max_unpacked)):
            end = next((place for place, line in enumerate(lines) if line.startswith(b"\0")), None)
            yield b"".join(self._line(line) + b"\n" for line in lines[:end])
            if end is not None:
                self.end = before + end + 1
                return
            before += len(lines)

    def notes(self) -> list[str]:
        """What was read otherwise than it is written."""
        notes = []
        if self.end:
            notes.append(f"{self.path}: what follows the NUL byte of line {self.end} is not read, as in trec_eval")
        if self.others:
            notes.append(f"{self.path}: {self.what} {self.others[0]}, as trec_eval reads it{_more(self.others)}")
        if self.not_a_number:
            notes.append(
                f"{self.path}: a document with the {self.what} {self.not_a_number[0]} comes last; in trec_eval it "
                f"stands anywhere{_more(self.not_a_number)}"
            )
        return notes

    def _line(self, line: bytes) -> bytes:
        line = line.strip(BLANKS)
        if not line or line.startswith(b"#"):
            return b""
        fields = _GAP.split(line, self.fields or 0)
        if len(line) > LONGEST and len(fields) <= (self.fields or len(fields)):
            return line  # which a scanner refuses: its end is not known
        for place in self.places:
            if place < len(fields):
                fields[place] = self._plain(fields[place])
        return b" ".join(fields[: self.fields])

    def _plain(self, text: bytes) -> bytes:
        value = self.number(text.decode("utf-8", "replace"))
        try:
            if math.isfinite(value) and float(text) == value:
                return text
        except ValueError:
            pass
        if math.isnan(value):
            self.not_a_number.append(shown(text))
            value = -math.inf
        else:
            self.others.append(f"{shown(text)} is read as {value:g}")
        return repr(min(max(value, -LARGEST), LARGEST)).encode()


def _cut_lines(source: Iterable[Block]) -> Iterator[list[bytes]]:
    """The lines of each block, without their ends; of a line that is longer than a scanner takes, the first part."""
    parts, length = [b""], 0
    for block in source:
        start, *others = bytes(block).split(b"\n")
        if length <= LONGEST:
            parts.append(start)
            length += len(start)
        if others:
            yield [b"".join(parts)[: LONGEST + 1], *others[:-1]]
            parts, length = [others[-1]], len(others[-1])
    yield [b"".join(parts)[: LONGEST + 1]]


def _more(texts: list[str]) -> str:
    return f"; {len(texts) - 1} more" if len(texts) > 1 else ""


class LenientRun(FileRun):
    """A TREC run file as trec_eval reads it: a document may come twice where only one of them is looked at."""

    lines: LenientLines | None = None
    needed: int | None = None  # documents of each list that are looked at; None where all are
    only: bytes | None = None  # the query that is looked at; None where all are
    ascending = False  # whether of equal scores the smaller id goes first

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        def scanned(source: Iterator[Block]) -> Retrieved:
            scanner = RunScanner(judgments.index, depth=depth, precision=precision, regroup=True)
            found = _scan(self.path, scanner, source)
            self.tag = decode(found.tag)
            return found

        try:
            found = super().retrieved(judgments, depth, precision, jobs)
            if found.odd_blanks:
                raise CalipersError(OTHERWISE, file=self.path)
            return found
        except CalipersError as error:
            refused = error
        if refused.message.startswith(("expected 6 fields", "score ", BINARY, too_long(MOST_LINE), OTHERWISE)):
            self.lines = self._lines()
            try:
                return scanned(self.lines.blocks(self.max_unpacked))
            except CalipersError as error:
                refused = error
        if " appears twice for " not in refused.message:
            raise refused
        twice = not_calculated(refused)
        if self.needed is None and self.only is None:
            raise twice
        self.lines = self._lines()
        try:
            return scanned(self._first_lines(self.lines.blocks(self.max_unpacked), precision))
        except CalipersError:
            raise twice from None  # which knows the line

    def _lines(self) -> LenientLines:
        return LenientLines(self.path, "score", (4,), as_double, fields=6)

    def _first_lines(self, source: Iterator[Block], precision: Precision) -> Iterator[bytes]:
        """The lines that trec_eval has first for each query, and only one for queries that are not looked at."""
        of_query: dict[bytes, list[tuple[float, bytes, bytes]]] = {}
        for block in source:
            for line in bytes(block).splitlines(keepends=True):
                fields = line.split()
                if len(fields) == 6:
                    score = float(np.float32(fields[4]) if precision == "single" else fields[4])
                    of_query.setdefault(fields[0], []).append((score, fields[2], line))
        needed = None if self.needed is None else max(self.needed, 1)
        for query, rows in of_query.items():
            rows.sort(key=lambda row: row[1], reverse=not self.ascending)
            rows.sort(key=lambda row: row[0], reverse=True)
            yield b"".join(line for _, _, line in rows[: needed if self.only in (None, query) else 1])

    def notes(self) -> list[str]:
        """What was read otherwise than it is written."""
        return [] if self.lines is None else self.lines.notes()


class KnownJudgments(NamedTuple):
    """Judgments as they were read."""

    judgments: Judgments
    notes: list[str]  # on what was read otherwise than it is written
    conflicts: Conflicts


class LenientPreferences(Preferences):
    """Preferences in which a document may be at two levels of one subgroup."""

    @classmethod
    def _refuse(cls, error: CalipersError) -> None:
        pass


def read_judgments(path: str, format: str) -> KnownJudgments:
    """Judgments in one of trec_eval's formats."""
    levels = "prefs" in format
    number = as_double if levels else as_long
    lines = LenientLines(path, "level" if levels else "grade", (4,) if format == "prefs" else (3,), number)
    try:
        judgments, conflicts = _scanned(path, format)
    except CalipersError as error:
        expected = (
            "grade ",
            "level ",
            "expected 4 fields",
            "expected 5 fields",
            BINARY,
            too_long(MOST_LINE),
            OTHERWISE,
        )
        if not error.message.startswith(expected):
            raise
        judgments, conflicts = _scanned(path, format, lines.blocks())
    return KnownJudgments(judgments, lines.notes(), conflicts)


def _scanned(path: str, format: str, source: Iterator[Block] | None = None) -> tuple[Judgments, Conflicts]:
    """The judgments of a file, or of the `source` made from it, and what is wrong with their queries."""
    if format == "prefs":
        rows, line = _scan(path, PreferenceScanner(format), source)
        return _agreed(LenientPreferences.from_rows(rows, path, line))
    if format == "qrels" and source is None and table_format(path) is not None:
        return read_qrels(path), {}
    columns = _scan(path, ColumnScanner("qrels", keep_second=format != "qrels"), source)
    if format == "qrels_prefs":
        return _agreed(LenientPreferences.from_second_field(columns, path))
    if source is None and (columns.exponents or (columns.value % 1).any()):
        raise CalipersError(OTHERWISE, file=path)
    if format == "qrels_jg":
        return SeveralJudges.from_second_field(columns, path), {}
    judgments, conflicts = Judgments.as_read(columns, path)
    if source is not None or (len(judgments) == len(columns.value) and not conflicts):
        return judgments, conflicts
    return judgments, {**conflicts, **_subtopics(path, columns, judgments)}


class PatientScanner(Scanner[Result], Protocol[Result]):
    """One that says whether C would end a field earlier, and may be told how long a line it takes."""

    longest: int

    @property
    def odd_blanks(self) -> bool: ...


def _scan(path: str, scanner: PatientScanner[Result], source: Iterator[Block] | None) -> Result:
    """What a scanner makes of a file, if C would end all fields where it does; of a `source`, whatever their length."""
    if source is not None:
        scanner.longest = LONGEST
    found = scan(path, lambda: scanner, source=source)
    if source is None and scanner.odd_blanks:
        raise CalipersError(OTHERWISE, file=path)
    return found


def _subtopics(path: str, columns: Columns, judgments: Judgments) -> Conflicts:
    """What is wrong with queries in which a document is judged for several subtopics, if there are such."""
    try:
        refuse_subtopics(path, columns)
    except CalipersError as error:
        again = np.flatnonzero(np.bincount(columns.query) > judgments.pool.size)
        return dict.fromkeys(again.tolist(), error)
    return {}


def _agreed(preferences: Preferences) -> tuple[Judgments, Conflicts]:
    """Preferences in which each judge agrees with themselves, and the queries in which they do not."""
    pool = preferences.pool
    assert isinstance(pool, PreferencePool)
    return replace(preferences, pool=replace(pool, contradictions={}, memo={})), pool.contradictions
