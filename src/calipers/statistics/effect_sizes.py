"""Effect sizes: the size of a difference on a scale that does not depend on the measure.

    d             = mean(d) / sd(d)                          Cohen's, for paired samples
    cliff         = (#{x_i > y_j} - #{x_i < y_j}) / n^2      over all pairs of queries i, j
    rank-biserial = (W+ - W-) / (W+ + W-)                    of the signed ranks, without queries that do not differ

Cliff, Dominance statistics: ordinal analyses to answer ordinal questions, Psychological Bulletin 1993.
Kerby, The simple difference formula: an approach to teaching nonparametric correlation, Comprehensive Psychology 2014.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike
from calipers.statistics.differences import DIGITS, Differences, differences_of, joined
from calipers.statistics.score_arrays import matrix
from calipers.statistics.significance import signed_ranks
from calipers.support.checks import check_choice


def cohens_d(scores: ScoresLike, a: Ints, b: Ints) -> Floats:
    """Return the mean difference in standard deviations of the differences."""
    return joined(each.standardised for each in differences_of(scores, a, b))


def cliffs_delta(scores: ScoresLike, a: Ints, b: Ints) -> Floats:
    """Return how much more often a score of a is above a score of b than below it, from -1 to 1.

    Each score of a is compared with each score of b, also on other queries.

    >>> float(cliffs_delta(np.array([[0.5, 0.3], [0.4, 0.2]]), np.array([0]), np.array([1]))[0])
    0.5
    """
    values, found = matrix(scores), np.full(len(a), np.nan)
    for pair, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        shared = ~np.isnan(values[one] - values[other])
        x, y = _without_rounding(values[one][shared], values[other][shared])
        if len(x) > 1:
            y = np.sort(y)
            above, below = np.searchsorted(y, x, "left").sum(), (len(y) - np.searchsorted(y, x, "right")).sum()
            found[pair] = (int(above) - int(below)) / len(x) ** 2
    return found


def rank_biserial(scores: ScoresLike, a: Ints, b: Ints) -> Floats:
    """Return the matched-pairs rank-biserial correlation.

    It is the share of the rank sum that favours a, minus the share that favours b.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> float(rank_biserial(x, np.array([0]), np.array([1]))[0])                # (9 - 1) / 10
    0.8
    """
    return joined(_rank_biserial(each) for each in differences_of(scores, a, b))


def _rank_biserial(differences: Differences) -> Floats:
    rank, _, signs = signed_ranks(differences)
    total = np.where(signs != 0, rank, 0.0).sum(axis=1)
    favour = (rank * signs).sum(axis=1)
    return np.where(differences.n > 1, favour / np.where(total > 0, total, 1.0), np.nan)


EFFECTS: dict[str, Callable[[ScoresLike, Ints, Ints], Floats]] = {
    "d": cohens_d,
    "cliff": cliffs_delta,
    "rank-biserial": rank_biserial,
}
_OTHER_NAMES = {"cohen": "d", "cliffs-delta": "cliff", "delta": "cliff", "rank_biserial": "rank-biserial"}


def effect_name(name: str) -> str:
    """Return the name of an effect size as `EFFECTS` has it."""
    return check_choice("effect size", name, EFFECTS, _OTHER_NAMES)


def _without_rounding(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Round scores so that those that differ only by rounding errors become equal."""
    unit = np.ldexp(1.0, np.frexp(max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0)))[1])
    return np.round(x / unit, DIGITS), np.round(y / unit, DIGITS)
