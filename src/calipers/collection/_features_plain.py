"""The features of a LETOR (SVMlight) file in plain Python: the oracle of `_features.pyx`, and what there is without it.

It says what a line means, once and readably; the compiled scanner asks it for the words when it refuses a line.

    label qid:ID 1:0.3 2:0.1 ... #docid = GX000-00

Features are counted from 1 and ascend; one that a line leaves out is 0. The label and the query are skipped here:
`LetorScanner` reads them.
"""

from __future__ import annotations

import re

import numpy as np

from calipers.collection._plain import _FIELD, _Lines, number
from calipers.collection.columns import Features
from calipers.collection.scan_error import ScanError, shown

COMPILED = False
LARGEST_INDEX = 2**31 - 2

_INDEX = re.compile(rb"[0-9]+")


def feature_line(line: bytes) -> list[tuple[int, float]] | None:
    """The features of a line, (index from 1, value) each; None for a line that holds a comment only."""
    content, _, _ = line.partition(b"#")
    fields = _FIELD.findall(content)
    if not fields:
        return None
    found: list[tuple[int, float]] = []
    last = 0
    for field in fields[2:]:
        written, colon, value = field.partition(b":")
        if not colon or not _INDEX.fullmatch(written):
            raise ScanError(f"expected a feature as INDEX:VALUE, found {shown(field)}")
        index = int(written) if len(written) < 20 else LARGEST_INDEX + 1
        if index == 0:
            raise ScanError(f"feature {shown(field)}: features are counted from 1")
        if index > LARGEST_INDEX:
            raise ScanError(f"feature {shown(field)}: the largest index is {LARGEST_INDEX}")
        if index == last:
            raise ScanError(f"feature {index} is there twice")
        if index < last:
            raise ScanError(f"feature {index} comes after feature {last}: features must be in ascending order")
        found.append((index, number(value, f"feature {index}")))
        last = index
    return found


class FeatureScanner(_Lines):
    """The features of all lines."""

    def __init__(self) -> None:
        super().__init__()
        self._start = [0]
        self._index: list[int] = []
        self._value: list[float] = []

    def _row(self, line: bytes) -> bool:
        row = feature_line(line)
        if row is None:
            return False
        self._index.extend(index - 1 for index, _ in row)
        self._value.extend(value for _, value in row)
        self._start.append(len(self._value))
        return True

    def finish(self) -> Features:
        self._close()
        start = np.array(self._start, np.int64)
        index = np.array(self._index, np.int32)
        counts = np.diff(start)
        width = int(index.max(initial=-1)) + 1
        full = np.resize(np.arange(width, dtype=np.int32), len(index))  # what a file without gaps has
        regular = bool((counts == width).all()) and bool((index == full).all())
        return Features(start, None if regular else index, np.array(self._value, np.float64), width)
