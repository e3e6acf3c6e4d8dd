"""Runs as trec_eval reads them: whatever follows the tag on a line is left alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from calipers.collection.model import FileRun, Judgments
from calipers.collection.reader import scan
from calipers.errors import CalipersError
from calipers.native.columns import Precision, Retrieved
from calipers.native.ids import decode
from calipers.native.scanner import RunScanner

if TYPE_CHECKING:
    from calipers.collection.files import Block

_SIX_FIELDS = re.compile(rb"^([ \t]*(?:[^ \t\r\n]+[ \t]+){5}[^ \t\r\n]+)[ \t][^\n]*", re.MULTILINE)


class LenientRun(FileRun):
    """A TREC run file whose lines may go on after the tag."""

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        try:
            return super().retrieved(judgments, depth, precision, jobs)
        except CalipersError as error:
            if not error.message.startswith("expected 6 fields"):
                raise
        # Rare, and slower: the lines are cut before they are scanned. One that is too short is refused again.
        found = scan(
            self.path,
            lambda: _FirstSix(RunScanner(judgments.index, depth=depth, precision=precision, regroup=True)),
            max_unpacked=self.max_unpacked,
        )
        self.tag = decode(found.tag)
        return found


class _FirstSix:
    """Feeds a scanner the first six fields of each line."""

    def __init__(self, scanner: RunScanner) -> None:
        self.scanner = scanner
        self.rest = b""

    @property
    def idle(self) -> bool:
        return self.scanner.idle

    @property
    def lines(self) -> int:
        return self.scanner.lines

    @property
    def rows(self) -> int:
        return self.scanner.rows

    def feed(self, block: Block) -> None:
        whole, newline, self.rest = (self.rest + bytes(block)).rpartition(b"\n")
        self.scanner.feed(_SIX_FIELDS.sub(rb"\1", whole + newline))

    def finish(self) -> Retrieved:
        self.scanner.feed(_SIX_FIELDS.sub(rb"\1", self.rest))
        return self.scanner.finish()
