"""trec_eval's z-scores: by how many standard deviations a score is above the mean of some reference runs."""

from __future__ import annotations

import numpy as np

from calipers.collection.reader import scan
from calipers.lists import Floats
from calipers.native.ids import decode
from calipers.native.plain import RowScanner, number
from calipers.native.scan_error import ScanError

FIELDS = ("query", "measure", "mean", "standard deviation")
MISSING = -1_000_000.0  # where no mean is known, or all reference runs had one other score

ZScores = dict[tuple[str, str], tuple[float, float]]  # mean and standard deviation of (query, measure)


def read_zscores(path: str) -> ZScores:
    """Read means and standard deviations from lines `query measure mean stddev`."""
    rows = scan(path, lambda: RowScanner(_zscore_line))
    return {(query, measure): (mean, deviation) for query, measure, mean, deviation, _ in rows}


def _zscore_line(line: bytes) -> tuple[str, str, float, float]:
    fields = line.split()
    if len(fields) != len(FIELDS):
        raise ScanError(f"expected {len(FIELDS)} fields ({', '.join(FIELDS)}), found {len(fields)}")
    query, measure, mean, deviation = fields
    return decode(query), decode(measure), number(mean, FIELDS[2]), number(deviation, FIELDS[3])


def converted(zscores: ZScores, measure: str, queries: list[str], values: Floats) -> Floats:
    """Return the scores of some queries in units of the standard deviation from the mean."""
    known = np.array([(query, measure) in zscores for query in queries], bool)
    found = [zscores.get((query, measure), (0.0, 0.0)) for query in queries]
    mean, deviation = np.array(found, np.float64).reshape(-1, 2).T
    spread = np.where(deviation == 0, 1.0, deviation)
    with np.errstate(over="ignore", invalid="ignore"):  # of a deviation that is almost 0
        score = np.where((deviation == 0) & (values != mean), MISSING, (values - mean) / spread)
    return np.where(known, score, MISSING)
