"""TREC's judgments and runs: one line per document, fields separated by blanks.

qrels   query iteration document grade
run     query Q0 document rank score tag        (the rank field is not read: scores decide)
"""

from __future__ import annotations

from collections.abc import Callable

from calipers.collection.files import Path
from calipers.collection.first_line import first_fields, is_trec
from calipers.collection.formats.format import Format
from calipers.collection.reader import scan
from calipers.native.columns import Columns
from calipers.native.scanner import ColumnScanner


def read_qrels(path: Path, *, max_unpacked: int | None = None) -> Columns:
    """Return all judgments of a file, line by line."""
    return scan(path, lambda: ColumnScanner("qrels"), max_unpacked=max_unpacked)


def read_subtopics(path: Path, *, max_unpacked: int | None = None) -> Columns:
    """Return all judgments with the second field, which is the subtopic in qrels for diversity."""
    return scan(path, lambda: ColumnScanner("qrels", keep_second=True), max_unpacked=max_unpacked)


def read_run(path: Path, *, max_unpacked: int | None = None) -> Columns:
    """Return all lines of a run."""
    return scan(path, lambda: ColumnScanner("run"), max_unpacked=max_unpacked)


def _misfit(fields: int) -> Callable[[bytes], tuple[float, str]]:
    def misfit(start: bytes) -> tuple[float, str]:
        found = first_fields(start)
        return abs(len(found) - fields), f"{len(found)} field{'s' * (len(found) != 1)}, not {fields}"

    return misfit


QRELS = Format(
    name="qrels",
    holds="judgments",
    line="query iteration document grade",
    noun="qrels",
    matches=lambda start: is_trec(start, 4),
    misfit=_misfit(4),
    read=read_qrels,
)

RUN = Format(
    name="run",
    holds="run",
    line="query Q0 document rank score tag",
    noun="a run",
    matches=lambda start: is_trec(start, 6),
    misfit=_misfit(6),
    read=read_run,
)
