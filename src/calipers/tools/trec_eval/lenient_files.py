"""Files as trec_eval reads them: a number is what its text begins with, and a line of a run may go on after the tag.

Both are rare, and slower to read: lines are rewritten where the usual reader refuses one of them, or would read a
grade otherwise: C's atol leaves out the fraction of 1.7 and the exponent of 1e3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from calipers.collection.files import blocks
from calipers.collection.formats import table_format
from calipers.collection.judgments import Judgments
from calipers.collection.preferences import Preferences, PreferenceScanner, read_preferences
from calipers.collection.reader import scan
from calipers.collection.runs import FileRun
from calipers.collection.several_judges import SeveralJudges
from calipers.collection.sources import judgments_of_lines, read_qrels
from calipers.errors import CalipersError
from calipers.native.columns import Precision, Retrieved
from calipers.native.id_text import decode
from calipers.native.scan_error import shown
from calipers.native.scanner import ColumnScanner, RunScanner
from calipers.tools.trec_eval.c_numbers import as_double, as_long

if TYPE_CHECKING:
    from calipers.collection.files import Block

BLANKS = b" \t\r\v\f"
_GAP = re.compile(rb"[ \t\r\v\f]+")
_LARGEST = 1.7976931348623157e308  # stands for what is infinite


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

    def blocks(self, max_unpacked: int | None = None) -> Iterator[Block]:
        """The file, rewritten; blocks end where lines do."""
        rest = b""
        for block in blocks(self.path, max_unpacked=max_unpacked):
            *lines, rest = (rest + bytes(block)).split(b"\n")
            yield b"".join(self._line(line) + b"\n" for line in lines)
        yield self._line(rest)

    def notes(self) -> list[str]:
        """What was read otherwise than it is written."""
        notes = []
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
        fields = _GAP.split(line)
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
        return repr(min(max(value, -_LARGEST), _LARGEST)).encode()


def _more(texts: list[str]) -> str:
    return f"; {len(texts) - 1} more" if len(texts) > 1 else ""


class LenientRun(FileRun):
    """A TREC run file as trec_eval reads it: a document may come twice where only one of them is looked at."""

    lines: LenientLines | None = None
    needed: int | None = None  # documents of each list that are looked at; None where all are
    ascending = False  # whether of equal scores the smaller id goes first

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        def scanned(source: Iterator[Block]) -> Retrieved:
            found = scan(
                self.path,
                lambda: RunScanner(judgments.index, depth=depth, precision=precision, regroup=True),
                source=source,
            )
            self.tag = decode(found.tag)
            return found

        try:
            return super().retrieved(judgments, depth, precision, jobs)
        except CalipersError as error:
            refused = error
        if refused.message.startswith(("expected 6 fields", "score ")):
            self.lines = self._lines()
            try:
                return scanned(self.lines.blocks(self.max_unpacked))
            except CalipersError as error:
                refused = error
        if self.needed is None or " appears twice for " not in refused.message:
            raise refused
        self.lines = self._lines()
        top = first_lines(self.lines.blocks(self.max_unpacked), max(self.needed, 1), precision, self.ascending)
        try:
            return scanned(top)
        except CalipersError:
            raise refused from None  # which knows the line

    def _lines(self) -> LenientLines:
        return LenientLines(self.path, "score", (4,), as_double, fields=6)

    def notes(self) -> list[str]:
        """What was read otherwise than it is written."""
        return [] if self.lines is None else self.lines.notes()


def first_lines(source: Iterator[Block], count: int, precision: Precision, ascending: bool) -> Iterator[bytes]:
    """The lines of a run that trec_eval has first for each query."""
    of_query: dict[bytes, list[tuple[float, bytes, bytes]]] = {}
    for block in source:
        for line in bytes(block).splitlines(keepends=True):
            fields = line.split()
            if len(fields) == 6:
                score = float(np.float32(fields[4]) if precision == "single" else fields[4])
                of_query.setdefault(fields[0], []).append((score, fields[2], line))
    for rows in of_query.values():
        rows.sort(key=lambda row: row[1], reverse=not ascending)
        rows.sort(key=lambda row: row[0], reverse=True)
        yield b"".join(line for _, _, line in rows[:count])


def read_judgments(path: str, format: str) -> tuple[Judgments, list[str]]:
    """Judgments in one of trec_eval's formats, and what was read otherwise than it is written."""
    levels = "prefs" in format
    try:
        found = read_preferences(path, format=format) if levels else _graded(path, format)
        if found is not None:
            return found, []
    except CalipersError as error:
        if not error.message.startswith(("grade ", "level ", "expected 4 fields", "expected 5 fields")):
            raise
    places = (4,) if format == "prefs" else (3,)
    lines = LenientLines(path, "level" if levels else "grade", places, as_double if levels else as_long)
    return _rewritten(path, format, lines.blocks()), lines.notes()


def _graded(path: str, format: str) -> Judgments | None:
    """Judgments with grades; None where C's atol reads one of them otherwise."""
    if format == "qrels" and table_format(path) is not None:
        return read_qrels(path)
    columns = scan(path, lambda: ColumnScanner("qrels", keep_second=format != "qrels"))
    if columns.exponents or (columns.value % 1).any():
        return None
    return judgments_of_lines(columns, path) if format == "qrels" else SeveralJudges.from_second_field(columns, path)


def _rewritten(path: str, format: str, source: Iterator[Block]) -> Judgments:
    if format == "prefs":
        rows, line = scan(path, lambda: PreferenceScanner(format), source=source)
        return Preferences.from_rows(rows, path, line)
    columns = scan(path, lambda: ColumnScanner("qrels", keep_second=format != "qrels"), source=source)
    if format == "qrels":
        return Judgments.from_columns(columns, path)
    return (SeveralJudges if format == "qrels_jg" else Preferences).from_second_field(columns, path)
