"""trec_eval's z-scores: by how many standard deviations a score is above the mean of some reference runs."""

from __future__ import annotations

import numpy as np

from calipers.collection.reader import scan
from calipers.lists import Floats
from calipers.native.plain import FieldScanner
from calipers.tools.trec_eval.c_numbers import as_double
from calipers.tools.trec_eval.lenient_files import LenientLines

FIELDS = ("query", "measure", "mean", "standard deviation")
MISSING = -1_000_000.0  # where no mean is known, or all reference runs had one other score

ZScores = dict[tuple[str, str], tuple[float, float]]  # mean and standard deviation of (query, measure)


def read_zscores(path: str) -> ZScores:
    """Means and standard deviations from lines `query measure mean stddev`, numbers as trec_eval reads them."""
    lines = LenientLines(path, "z-score", (2, 3), as_double)
    (query, measure), values, _ = scan(path, lambda: FieldScanner(FIELDS, 2), source=lines.blocks())
    pairs = zip(query.texts(), measure.texts(), strict=True)
    return {pair: (mean, deviation) for pair, (mean, deviation) in zip(pairs, values.tolist(), strict=True)}


def converted(zscores: ZScores, measure: str, queries: list[str], values: Floats) -> Floats:
    """The scores of some queries in units of the standard deviation from the mean."""
    known = [zscores.get((query, measure), (np.nan, np.nan)) for query in queries]
    mean, deviation = np.array(known, np.float64).reshape(-1, 2).T
    spread = np.where(deviation == 0, 1.0, deviation)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite there too
        found = np.where((deviation == 0) & (values != mean), MISSING, (values - mean) / spread)
    return np.where(np.isnan(mean), MISSING, found)
