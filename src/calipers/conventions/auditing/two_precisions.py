"""Run files whose scores are wanted in two precisions, and perhaps whole: unpacked and walked through once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.reader import scan
from calipers.collection.runs import FileRun, Run
from calipers.errors import CalipersError
from calipers.native.columns import Columns, Precision, Retrieved
from calipers.native.ids import decode
from calipers.native.scan_error import ScanError
from calipers.native.scanner import ColumnScanner, JudgedIndex, RunScanner


def read_once(runs: Sequence[Run], whole: bool = False) -> list[Run]:
    """The runs, of which files are read only once for both precisions; whole: and for all their documents."""
    return [TwofoldRun(run, whole) if type(run) is FileRun else run for run in runs]


@dataclass(eq=False)
class TwofoldRun:
    """A run file that remembers what it read in the precision that was not asked for."""

    of: FileRun
    whole: bool = False  # whether the file keeps all its lines, for `whole_run`
    kept: dict[Precision, Callable[[], Retrieved]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def path(self) -> str:
        return self.of.path

    @property
    def whole_file(self) -> FileRun:
        return self.of

    def documents(self) -> dict[str, dict[str, float]]:
        return self.of.documents()

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        if (found := self.kept.pop(precision, None)) is not None:
            return found()
        both = self._of_columns(judgments.index, depth) if self.whole else self._of_lines(judgments.index, depth)
        if both is None:
            return self.of.retrieved(judgments, depth, precision, jobs)
        self.kept = both
        return self.kept.pop(precision)()

    def _of_lines(self, index: JudgedIndex, depth: int) -> dict[Precision, Callable[[], Retrieved]] | None:
        """Both precisions; None where queries come back later."""
        double, single = scan(self.path, lambda: _Scanners(index, depth), max_unpacked=self.of.max_unpacked)
        if double.scattered or single.scattered:
            return None
        self.of.tag = decode(double.tag)
        return {"double": lambda: double, "single": lambda: single}

    def _of_columns(self, index: JudgedIndex, depth: int) -> dict[Precision, Callable[[], Retrieved]] | None:
        """The same from all lines, which are kept; None also where a line is wrong: of several, a scan that knows what
        is judged says which is the first.
        """
        try:
            columns = scan(self.path, lambda: ColumnScanner("run"), max_unpacked=self.of.max_unpacked)
            double = of_columns(columns, index, depth, "double")
        except (CalipersError, ScanError):
            return None
        self.of.kept = columns
        if double.scattered:
            return None
        self.of.tag = decode(double.tag)
        return {"double": lambda: double, "single": lambda: in_single_precision(double, columns, index, depth)}


def of_columns(columns: Columns, index: JudgedIndex, depth: int, precision: Precision) -> Retrieved:
    """What a run retrieved, from all its lines."""
    scanner = RunScanner(index, depth=depth, precision=precision)
    scanner.feed_rows(columns.queries, columns.query, columns.documents, columns.value)
    return replace(scanner.finish(), tag=columns.tag)


def in_single_precision(found: Retrieved, columns: Columns, index: JudgedIndex, depth: int) -> Retrieved:
    """What a run retrieved, with scores compared in single precision; columns: all its lines."""
    if ties_of_rounding(columns):
        return of_columns(columns, index, depth, "single")
    with np.errstate(over="ignore"):
        return replace(found, score=found.score.astype(np.float32) + np.float64(0.0))


def ties_of_rounding(columns: Columns) -> bool:
    """Whether two different scores of a query may be the same in single precision.

    Rounding keeps the order, so of a file in the order of its scores only neighbours need be looked at; of others it
    is not told.
    """
    score, same_query = columns.value, columns.query[1:] == columns.query[:-1]
    with np.errstate(over="ignore"):
        short = score.astype(np.float32)
    if (same_query & (score[1:] > score[:-1])).any():
        return True
    return bool((same_query & (score[1:] != score[:-1]) & (short[1:] == short[:-1])).any())


class _Scanners:
    """A scanner that feeds two."""

    def __init__(self, index: JudgedIndex, depth: int) -> None:
        self.double = RunScanner(index, depth=depth)
        self.single = RunScanner(index, depth=depth, precision="single")

    @property
    def lines(self) -> int:
        return int(self.double.lines)

    @property
    def rows(self) -> int:
        return int(self.double.rows)

    @property
    def idle(self) -> bool:
        return bool(self.double.idle and self.single.idle)

    def feed(self, block: Any, /) -> None:
        for scanner in (self.double, self.single):
            if not scanner.idle:
                scanner.feed(block)

    def finish(self) -> tuple[Retrieved, Retrieved]:
        return self.double.finish(), self.single.finish()
