"""When no difference is a finding: two systems that are equal within a margin, or one that is not worse than another.

Equality within a margin M is shown by two one-sided tests, each at alpha:

    p = max(Pr(T >= (mean + M) / error), Pr(T <= (mean - M) / error)),  T ~ Student's t with n - 1 degrees of freedom

It is below alpha exactly where the 1 - 2 alpha interval of the mean difference lies inside (-M, M). A system is not
inferior where the lower end of the one-sided 1 - alpha interval of new - old is above -M.

Schuirmann, A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 1987.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calipers.checks import check_alpha, check_number
from calipers.errors import CalipersError, place_of
from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike, as_scores
from calipers.stats.differences import Differences, differences_of, joined, ratio

VERDICTS = ("different", "equal", "undecided")


def p_equivalence(scores: ScoresLike, a: Ints, b: Ints, margin: float) -> Floats:
    """Of each pair: the p value of the two one-sided t tests against the margin.

    >>> x = np.array([[0.50, 0.31, 0.60, 0.40], [0.51, 0.30, 0.60, 0.41]])
    >>> round(float(p_equivalence(x, np.array([0]), np.array([1]), 0.05)[0]), 6)
    0.001089
    """
    return joined(_two_one_sided(each, margin) for each in differences_of(scores, a, b))


def _two_one_sided(differences: Differences, margin: float) -> Floats:
    from scipy.special import stdtr

    freedom = np.maximum(differences.n - 1, 1)
    above = stdtr(freedom, -ratio(differences.mean + margin, differences.error))
    below = stdtr(freedom, ratio(differences.mean - margin, differences.error))
    return np.where(differences.n > 1, np.maximum(above, below), np.nan)


def non_inferiority_limits(scores: ScoresLike, a: Ints, b: Ints, alpha: float = 0.05) -> Floats:
    """Of each pair: the lower end of the one-sided 1 - alpha interval of a - b, which a gate compares with -margin."""
    return joined(_lower_limit(each, alpha) for each in differences_of(scores, a, b))


def _lower_limit(differences: Differences, alpha: float) -> Floats:
    from scipy.special import stdtrit

    width = stdtrit(np.maximum(differences.n - 1, 1), 1 - alpha) * differences.error
    return np.where(differences.n > 1, differences.mean - width, np.nan)


def check_margin(margin: float) -> float:
    """Return a margin of equivalence."""
    return check_number("margin of equivalence", margin, above=0)


@dataclass(frozen=True)
class NonInferiority:
    """Whether a system is worse than another by less than a margin."""

    measure: str
    new: str
    old: str
    margin: float
    difference: float  # new - old
    low: float  # the lower end of the one-sided interval of the difference
    p: float  # of the hypothesis that the new system is worse by the margin or more
    alpha: float
    n: int

    @property
    def holds(self) -> bool:
        return self.low > -self.margin


def non_inferiority(
    scores: ScoresLike, new: str, old: str, margin: float, *, alpha: float = 0.05
) -> tuple[NonInferiority, ...]:
    """Under each measure: is the new system worse than the old one by less than the margin?

        low = mean - t_{1-alpha, n-1} error > -margin

    A margin of 0 asks for a significant improvement. Queries that are undefined for either system are left out.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.50, 0.31, 0.60, 0.42], [0.51, 0.30, 0.60, 0.41]], systems=["new", "old"])
    >>> [found] = cal.non_inferiority(scores, "new", "old", margin=0.02)
    >>> round(found.low, 4), found.holds
    (-0.0088, True)
    """
    scores = as_scores(scores)
    from scipy.special import stdtr

    margin, alpha = check_number("margin", margin, least=0), check_alpha(alpha)
    a, b = np.array([place_of("system", new, scores.systems)]), np.array([place_of("system", old, scores.systems)])
    found = []
    for measure, values in zip(scores.measures, scores.values, strict=True):
        d = Differences.of(values, a, b)
        if d.n[0] < 2:
            raise CalipersError(f"{new} and {old} share fewer than two queries under {measure}: nothing can be said")
        mean, error, freedom = float(d.mean[0]), float(d.error[0]), int(d.n[0]) - 1
        p = stdtr(freedom, -float(ratio(np.array([mean + margin]), np.array([error]))[0]))
        low = float(non_inferiority_limits(values, a, b, alpha)[0])
        found.append(NonInferiority(measure, new, old, margin, mean, low, float(p), alpha, freedom + 1))
    return tuple(found)
