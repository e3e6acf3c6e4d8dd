"""Comparisons that one query decides: significant with it, not without it.

Each query is left out in turn, and the t test made again, in closed form for all pairs and queries at once:

    mean_{-i} = (n mean - d_i) / (n - 1),   SS_{-i} = SS - n / (n - 1) (d_i - mean)^2

The adjusted p value without a query is the adjusted one, times the ratio of the t test's p values without and with it:
exact for the t test with a fixed correction, and an approximation for other tests, which would have to be made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.tables import Table
from calipers.stats.differences import Differences, blocks, ratio

if TYPE_CHECKING:
    from calipers.results.scores import Scores
    from calipers.stats.comparison import Comparison

COLUMNS = (
    "measure", "system_a", "system_b", "query", "difference", "difference_without", "p_adjusted", "p_without",
)  # fmt: skip
NAMED = 3  # comparisons that a warning names


def p_without(differences: Differences) -> tuple[Floats, Floats]:
    """Of each pair and query: the mean difference and the p value of the t test without that query; NaN if unshared."""
    from scipy.special import stdtr

    n = differences.n[:, None].astype(np.float64)
    unit = differences.unit[:, None]  # so that nothing that is squared overflows or vanishes
    centred = differences.centred / unit
    left = np.where(differences.shared & (n > 2), n - 1, np.nan)
    mean = differences.mean[:, None] / unit - centred / left
    squares = np.square(centred).sum(axis=1, keepdims=True)
    rest = squares - n / left * np.square(centred)
    rest = np.where(rest <= 1e-12 * squares, 0.0, rest)  # nothing is left but rounding
    mean = np.where(np.abs(mean) <= 1e-13 * np.abs(differences.scaled).max(axis=1, keepdims=True), 0.0, mean)
    t = ratio(mean, np.sqrt(rest / (left - 1) / left))
    return mean * unit, np.minimum(2 * stdtr(np.where(np.isnan(left), 1, left - 1), -np.abs(t)), 1.0)


def influence(scores: ScoresLike, comparison: Comparison) -> Table:
    """The significant pairs that one query decides: without it they would not be significant.

    One row per pair, with the query that matters most.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.5, 0.4, 0.5, 0.5, 0.45], [0.4, 0.45, 0.3, 0.4, 0.3]], systems=["new", "old"])
    >>> print(influence(scores, cal.compare(scores, alpha=0.1)))
    measure  system_a  system_b  query  difference  difference_without  p_adjusted  p_without
    -------  --------  --------  -----  ----------  ------------------  ----------  ---------
    score    new       old       5          0.1000              0.0875      0.0751     0.1881
    <BLANKLINE>
    """
    scores = as_scores(scores)
    rows: list[tuple[str | float, ...]] = []
    for m, measure in enumerate(comparison.measures):
        pairs = np.flatnonzero(comparison.significant[m])
        for part in blocks(len(pairs), len(scores.queries)):
            rows += _decided(scores, comparison, m, measure, pairs[part])
    return Table(COLUMNS, tuple(rows), comparison.metadata)


def _decided(
    scores: Scores, comparison: Comparison, m: int, measure: str, pairs: Ints
) -> list[tuple[str | float, ...]]:
    from scipy.special import stdtr

    a, b = comparison.a[pairs], comparison.b[pairs]
    differences = Differences.of(scores.values[m], a, b)
    whole = 2 * stdtr(np.maximum(differences.n - 1, 1), -np.abs(differences.student))
    factor = np.where(whole > 0, ratio(comparison.p_adjusted[m, pairs], whole), 1.0)
    mean, p = p_without(differences)
    p = np.minimum(p * factor[:, None], 1.0)
    worst = np.where(np.isnan(p), -1.0, p).argmax(axis=1)
    at = np.arange(len(pairs))
    decided = np.flatnonzero(p[at, worst] >= comparison.alpha)
    return [
        (
            measure, scores.systems[int(a[i])], scores.systems[int(b[i])], scores.queries[int(worst[i])],
            float(differences.mean[i]), float(mean[i, worst[i]]), float(comparison.p_adjusted[m, pairs[i]]),
            float(p[i, worst[i]]),
        )
        for i in decided.tolist()
    ]  # fmt: skip


def influence_warnings(found: Table, comparison: Comparison, unit: str = "query") -> list[str]:
    """One sentence per measure about the pairs that one query decides."""
    texts = []
    by = "" if comparison.metadata["test"] == "t" else ", as judged by the t test"
    for m, measure in enumerate(comparison.measures):
        rows = [row for row in found.rows if row[0] == measure]
        if not rows:
            continue
        many = int(comparison.significant[m].sum())
        named = ", ".join(f"{a} and {b} ({unit} {q})" for _, a, b, q, *_ in rows[:NAMED])
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        texts.append(
            f"{len(rows)} of {many} significant {'pair' if many == 1 else 'pairs'} under {measure} would not be "
            f"significant without one {unit}{by}: {named}{more}"
        )
    return texts
