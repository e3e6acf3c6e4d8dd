"""Run files whose scores are wanted in two precisions, and perhaps whole: unpacked and walked through once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.collection.model import FileRun, Judgments, Run
from calipers.collection.reader import scan
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
    kept: dict[Precision, Retrieved] = field(default_factory=dict)

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
            return found
        *both, self.of.kept = scan(
            self.path, lambda: _Scanners(judgments.index, depth, self.whole), max_unpacked=self.of.max_unpacked
        )
        if any(found.scattered for found in both):
            return self.of.retrieved(judgments, depth, precision, jobs)
        self.of.tag = decode(both[0].tag)
        self.kept = {"double": both[0], "single": both[1]}
        return self.kept.pop(precision)


class _Scanners:
    """A scanner that feeds two or three."""

    def __init__(self, index: JudgedIndex, depth: int, whole: bool) -> None:
        self.double = RunScanner(index, depth=depth)
        self.single = RunScanner(index, depth=depth, precision="single")
        self.columns = ColumnScanner("run") if whole else None

    @property
    def lines(self) -> int:
        return int(self.double.lines)

    @property
    def rows(self) -> int:
        return int(self.double.rows)

    @property
    def idle(self) -> bool:
        return self.columns is None and bool(self.double.idle and self.single.idle)

    def feed(self, block: Any, /) -> None:
        for scanner in (self.double, self.single):
            if not scanner.idle:
                scanner.feed(block)
        self._whole(lambda columns: columns.feed(block))

    def finish(self) -> tuple[Retrieved, Retrieved, Columns | None]:
        return self.double.finish(), self.single.finish(), self._whole(lambda columns: columns.finish())

    def _whole(self, step: Callable[[ColumnScanner], Any]) -> Any:
        """A line that only matters to those who want everything is their error: they read the file again."""
        if self.columns is None:
            return None
        try:
            return step(self.columns)
        except ScanError:
            self.columns = None
            return None
