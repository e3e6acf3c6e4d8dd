"""Comparisons that one query decides: significant with this query, not significant without it.

Each query is left out in turn, and the t test is repeated, in closed form for all pairs and queries at once:

    mean_{-i} = (n mean - d_i) / (n - 1),   SS_{-i} = SS - n / (n - 1) (d_i - mean)^2

The adjusted p value without a query is the t test's p value without it, times the factor by which the correction raises
the pair's p value. This is exact for the t test with a fixed correction. Other tests are not repeated. For them it is
an approximation that takes the larger of two p values, that of the test and that of the t test: a test that draws
10,000 samples has no p value below 0.0001, even if that of the t test is smaller. Tukey's and Dunnett's tests correct
their own p values, by a factor of at most the number of pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.tables import Table
from calipers.statistics.differences import Differences, blocks, ratio
from calipers.support.checks import check_type

if TYPE_CHECKING:
    from calipers.questions.compare.comparison import Comparison
    from calipers.results.scores import Scores

COLUMNS = (
    "measure",
    "system_a",
    "system_b",
    "query",
    "difference",
    "difference_without",
    "p_adjusted",
    "p_without",
)
NEAR = 1 - 1e-9  # p values above this share of alpha could be above alpha without rounding errors
NAMED = 3  # comparisons named in a warning


def two_sided(t: Floats, freedom: Floats) -> Floats:
    """Return the two-sided p values of t."""
    from scipy.special import stdtr

    return np.asarray(np.minimum(2 * stdtr(freedom, -np.abs(t)), 1.0))


def t_without(differences: Differences) -> tuple[Floats, Floats, Floats]:
    """Return the mean difference, t and the degrees of freedom of t without each query: [pair, query].

    NaN if the query is undefined for a system of the pair. t is also NaN if all other differences are equal and not 0.
    """
    n = differences.n[:, None].astype(np.float64)
    unit = differences.unit[:, None]  # prevents overflow and underflow of squares
    centred = differences.centred / unit
    left = np.where(differences.shared & (n > 2), n - 1, np.nan)
    mean = differences.mean[:, None] / unit - centred / left
    squares = np.square(centred).sum(axis=1, keepdims=True)
    rest = squares - n / left * np.square(centred)
    rest = np.where(rest <= 1e-12 * squares, 0.0, rest)  # only rounding errors
    mean = np.where(np.abs(mean) <= 1e-13 * np.abs(differences.scaled).max(axis=1, keepdims=True), 0.0, mean)
    t = ratio(mean, np.sqrt(rest / (left - 1) / left))
    return mean * unit, t, np.where(np.isnan(left), 1.0, left - 1)


def influence(scores: ScoresLike, comparison: Comparison) -> Table:
    """Return the significant pairs that would not be significant without one query.

    The table has one row per pair, with the query that matters most.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.5, 0.4, 0.5, 0.5, 0.45], [0.4, 0.45, 0.3, 0.4, 0.3]], systems=["new", "old"])
    >>> print(influence(scores, cal.compare(scores, alpha=0.1)))
    measure  system_a  system_b  query  difference  difference_without  p_adjusted  p_without
    -------  --------  --------  -----  ----------  ------------------  ----------  ---------
    score    new       old       5          0.1000              0.0875      0.0751     0.1881
    <BLANKLINE>
    """
    from calipers.questions.compare.comparison import Comparison

    scores = as_scores(scores)
    check_type("comparison", comparison, Comparison, "a Comparison, as `compare` returns it")
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

    from calipers.questions.compare.comparison import UNCORRECTED

    a, b = comparison.a[pairs], comparison.b[pairs]
    differences = Differences.of(scores.values[m], a, b)
    whole = 2 * stdtr(np.maximum(differences.n - 1, 1), -np.abs(differences.student))
    if comparison.metadata["test"] not in UNCORRECTED:
        whole = np.maximum(whole, comparison.outcomes[m].p[pairs])
    factor = np.where(whole > 0, np.minimum(ratio(comparison.p_adjusted[m, pairs], whole), len(comparison.a)), 1.0)
    mean, t, freedom = t_without(differences)
    # The smallest t of a pair has its largest p. All p values are computed only for the few pairs that come near alpha.
    nearest = np.where(np.isnan(t), np.inf, np.abs(t)).argmin(axis=1)
    at = np.arange(len(pairs))
    largest = two_sided(np.nan_to_num(t[at, nearest], nan=np.inf), freedom[at, nearest]) * factor
    rows = np.flatnonzero(largest >= NEAR * comparison.alpha)
    p = np.minimum(two_sided(t[rows], freedom[rows]) * factor[rows, None], 1.0)
    worst = np.where(np.isnan(p), -1.0, p).argmax(axis=1)
    return [
        (
            measure,
            scores.systems[int(a[i])],
            scores.systems[int(b[i])],
            scores.queries[query],
            float(differences.mean[i]),
            float(mean[i, query]),
            float(comparison.p_adjusted[m, pairs[i]]),
            of_row[query],
        )
        for i, query, of_row in zip(rows.tolist(), worst.tolist(), p.tolist(), strict=True)
        if of_row[query] >= comparison.alpha
    ]


def influence_warnings(found: Table, comparison: Comparison, unit: str = "query") -> list[str]:
    """Return one sentence per measure about the pairs that one query decides."""
    texts = []
    by = "" if comparison.metadata["test"] == "t" else ", as judged by the t test"
    for m, measure in enumerate(comparison.measures):
        rows = [row for row in found.rows if row[0] == measure]
        if not rows:
            continue
        many = int(comparison.significant[m].sum())
        named = ", ".join(f"{a} and {b} ({unit} {q})" for _, a, b, q, *_ in rows[:NAMED])
        more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
        texts.append(
            f"{len(rows):,} of {many:,} significant {'pair' if many == 1 else 'pairs'} under {measure} would not be "
            f"significant without one {unit}{by}: {named}{more}"
        )
    return texts
