"""Files in trec_eval's formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from calipers.collection.files import blocks
from calipers.collection.judgments import Judgments
from calipers.collection.reader import scan
from calipers.collection.runs import FileRun
from calipers.errors import CalipersError
from calipers.native.columns import Precision, Retrieved
from calipers.native.ids import decode
from calipers.native.scan_error import MOST_LINE
from calipers.native.scanner import RunScanner

if TYPE_CHECKING:
    from calipers.collection.files import Block

_AFTER_THE_TAG = re.compile(rb"^([ \t]*[^ \t\n]+(?:[ \t]+[^ \t\n]+){5})[ \t][^\n]*", re.MULTILINE)


class TrecRun(FileRun):
    """A TREC run file whose lines may go on after the tag, which trec_eval keeps free for later use."""

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        """Return what was retrieved. A file that is refused is read again without what follows the tags."""
        try:
            return super().retrieved(judgments, depth, precision, jobs)
        except CalipersError:
            pass
        found = scan(
            self.path,
            lambda: RunScanner(judgments.index, depth=depth, precision=precision, regroup=True),
            source=_up_to_the_tag(blocks(self.path, max_unpacked=self.max_unpacked)),
        )
        self.tag = decode(found.tag)
        return found


def _up_to_the_tag(source: Iterable[Block]) -> Iterator[bytes]:
    """Yield the lines of a file, each cut after six fields."""
    rest = b""
    for block in source:
        lines, end, rest = (rest + bytes(block)).rpartition(b"\n")
        yield _AFTER_THE_TAG.sub(rb"\1", lines + end)
        if len(rest) > MOST_LINE:  # which the scanner refuses
            yield rest
    yield _AFTER_THE_TAG.sub(rb"\1", rest)
