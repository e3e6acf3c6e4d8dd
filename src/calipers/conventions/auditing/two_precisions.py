"""Run files whose scores are wanted in two precisions: unpacked and walked through once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.collection.model import FileRun, Judgments, Run
from calipers.collection.reader import scan
from calipers.native.columns import Precision, Retrieved
from calipers.native.ids import decode
from calipers.native.scanner import JudgedIndex, RunScanner


def read_once(runs: Sequence[Run]) -> list[Run]:
    """The runs, of which files are read only once for both precisions."""
    return [TwofoldRun(run) if type(run) is FileRun else run for run in runs]


@dataclass(eq=False)
class TwofoldRun:
    """A run file that remembers what it read in the precision that was not asked for."""

    of: FileRun
    kept: dict[Precision, Retrieved] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def path(self) -> str:
        return self.of.path

    def documents(self) -> dict[str, dict[str, float]]:
        return self.of.documents()

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        if precision in self.kept:
            return self.kept.pop(precision)
        both = scan(self.path, lambda: _TwoScanners(judgments.index, depth), max_unpacked=self.of.max_unpacked)
        if any(found.scattered for found in both):
            return self.of.retrieved(judgments, depth, precision, jobs)
        self.of.tag = decode(both[0].tag)
        self.kept = {"double": both[0], "single": both[1]}
        return self.kept.pop(precision)


class _TwoScanners:
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
        self.double.feed(block)
        self.single.feed(block)

    def finish(self) -> tuple[Retrieved, Retrieved]:
        return self.double.finish(), self.single.finish()
