"""trec_eval's z-scores: by how many standard deviations a score is above the mean of some reference runs."""

from __future__ import annotations

import numpy as np

from calipers.collection.reader import scan
from calipers.lists import Floats
from calipers.native.id_text import decode
from calipers.native.plain import LineScanner
from calipers.native.scan_error import ScanError, shown
from calipers.tools.trec_eval.c_numbers import as_double, is_plain
from calipers.tools.trec_eval.lenient_files import LONGEST

FIELDS = ("query", "measure", "mean", "standard deviation")
MISSING = -1_000_000.0  # where no mean is known, or all reference runs had one other score

ZScores = dict[tuple[str, str], tuple[float, float]]  # mean and standard deviation of (query, measure)


def read_zscores(path: str) -> tuple[ZScores, list[str]]:
    """Means and standard deviations from lines `query measure mean stddev`, numbers as trec_eval reads them; and which
    of them are read otherwise than they are written.
    """
    found, others = scan(path, ZScoreScanner)
    more = f"; {len(others) - 1} more" if len(others) > 1 else ""
    return found, [f"{path}: {others[0]}, as trec_eval reads it{more}"] if others else []


class ZScoreScanner(LineScanner):
    """Reads lines of two names and two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = LONGEST
        self._found: ZScores = {}
        self._others: list[str] = []

    def _row(self, line: bytes) -> bool:
        fields = line.split()
        if len(fields) != len(FIELDS):
            raise ScanError(f"expected {len(FIELDS)} fields ({', '.join(FIELDS)}), found {len(fields)}")
        query, measure, mean, deviation = map(decode, fields)
        self._found[query, measure] = self._number(mean), self._number(deviation)
        return True

    def _number(self, text: str) -> float:
        value = as_double(text)
        if not is_plain(text, value):
            self._others.append(f"{shown(text.encode('utf-8', 'surrogateescape'))} is read as {value:g}")
        return value

    def finish(self) -> tuple[ZScores, list[str]]:
        """Means and standard deviations, and what is read otherwise than it is written."""
        self._close()
        return self._found, self._others


def converted(zscores: ZScores, measure: str, queries: list[str], values: Floats) -> Floats:
    """The scores of some queries in units of the standard deviation from the mean."""
    known = np.array([(query, measure) in zscores for query in queries], bool)
    found = [zscores.get((query, measure), (0.0, 0.0)) for query in queries]
    mean, deviation = np.array(found, np.float64).reshape(-1, 2).T
    spread = np.where(deviation == 0, 1.0, deviation)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite there too
        score = np.where((deviation == 0) & (values != mean), MISSING, (values - mean) / spread)
    return np.where(known, score, MISSING)
