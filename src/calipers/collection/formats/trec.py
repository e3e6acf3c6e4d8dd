"""TREC's judgments and runs: one line per document, fields separated by blanks.

qrels   query iteration document grade
run     query Q0 document rank score tag        (the rank field is not read: scores decide)
"""

from __future__ import annotations

from calipers.collection.files import Path
from calipers.collection.first_line import first_fields
from calipers.collection.formats.format import Format
from calipers.collection.reader import scan, scan_run
from calipers.native.columns import Columns
from calipers.native.scanner import ColumnScanner


def read_qrels(path: Path, *, max_unpacked: int | None = None) -> Columns:
    """All judgments of a file, line by line."""
    return scan(path, lambda: ColumnScanner("qrels"), max_unpacked=max_unpacked)


def read_subtopics(path: Path, *, max_unpacked: int | None = None) -> Columns:
    """The same, with the second field, which is the subtopic in qrels for diversity."""
    return scan(path, lambda: ColumnScanner("qrels", keep_second=True), max_unpacked=max_unpacked)


def read_run(path: Path, *, max_unpacked: int | None = None) -> Columns:
    """All lines of a run, judged or not."""
    return scan(path, lambda: ColumnScanner("run"), max_unpacked=max_unpacked)


QRELS = Format(
    name="qrels",
    holds="judgments",
    line="query iteration document grade",
    noun="qrels",
    matches=lambda start: len(first_fields(start)) == 4,
    read=read_qrels,
)

RUN = Format(
    name="run",
    holds="run",
    line="query Q0 document rank score tag",
    noun="a run",
    matches=lambda start: len(first_fields(start)) == 6,
    read=read_run,
    retrieve=scan_run,
)
