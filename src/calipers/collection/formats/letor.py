"""Learning to rank: labelled lines with features, and score files that belong to them, one score per line.

letor    label qid:ID 1:0.3 2:0.1 ... #docid = GX000-00     (SVMlight; features are skipped)
scores   one number per line
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calipers.collection.files import Path
from calipers.collection.first_line import first_fields
from calipers.collection.formats.format import Format
from calipers.collection.reader import scan
from calipers.native.columns import Labels
from calipers.native.scanner import LetorScanner, NumberScanner


def read_letor(path: Path, *, max_unpacked: int | None = None) -> Labels:
    """Labels and queries of all lines, and the documents where comments name them."""
    return scan(path, LetorScanner, max_unpacked=max_unpacked)


def read_scores(path: Path, *, max_unpacked: int | None = None) -> NDArray[np.float64]:
    """One score per line."""
    return scan(path, NumberScanner, max_unpacked=max_unpacked)


def _is_letor(start: bytes) -> bool:
    fields = first_fields(start)
    return len(fields) > 1 and fields[1].startswith(b"qid:")


LETOR = Format(
    name="letor",
    holds="labels",
    line="label qid:ID 1:0.3 2:0.1 ...",
    noun="a LETOR file",
    matches=_is_letor,
    read=read_letor,
)

SCORES = Format(
    name="scores",
    holds="scores",
    line="one score",
    noun="a file of one number per line",
    matches=lambda start: len(first_fields(start)) == 1,
    read=read_scores,
)
