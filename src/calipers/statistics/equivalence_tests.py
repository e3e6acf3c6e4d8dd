"""Tests of practical equality: two one-sided tests, and the Bayesian comparison with a region of practical equivalence.

Equality within a margin M is shown by two one-sided tests, each at alpha:

    p = max(Pr(T >= (mean + M) / error), Pr(T <= (mean - M) / error)),  T ~ Student's t with n - 1 degrees of freedom

p is below alpha exactly if the 1 - 2 alpha interval of the mean difference lies inside (-M, M). A system is not
inferior if the lower end of the one-sided 1 - alpha interval of new - old is above -M. If all differences are equal and
not 0, p and interval are undefined (NaN), and nothing is shown.

Schuirmann, A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 1987.

With a flat prior on the mean difference and on the logarithm of its deviation, the posterior of the mean difference is
Student's t with n - 1 degrees of freedom, centred on the observed mean and scaled by its standard error. Its mass has
three parts: system a is better by more than the region of practical equivalence (rope), the systems are equal within
the rope, or system b is better by more than the rope.
This is the correlated t test of Benavoli et al. with no correlation: queries, unlike folds, share no training data.

Benavoli, Corani, Demšar & Zaffalon, Time for a change: a tutorial for comparing multiple classifiers through Bayesian
analysis, Journal of Machine Learning Research 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calipers.errors import CalipersError, place_of
from calipers.lists import Floats, Ints
from calipers.results.result import Result, Tables
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.tables import PValue, Table
from calipers.statistics.differences import Differences, differences_of, joined
from calipers.statistics.significance import USUAL, Outcome, Settings, blockwise, outcome_of, students_width
from calipers.support.checks import check_alpha, check_number

VERDICTS = ("different", "equal", "undecided")


def p_equivalence(scores: ScoresLike, a: Ints, b: Ints, margin: float) -> Floats:
    """Return the p value of the two one-sided t tests against the margin, for each pair.

    >>> x = np.array([[0.50, 0.31, 0.60, 0.40], [0.51, 0.30, 0.60, 0.41]])
    >>> round(float(p_equivalence(x, np.array([0]), np.array([1]), 0.05)[0]), 6)
    0.001089
    """
    return joined(_two_one_sided(each, margin) for each in differences_of(scores, a, b))


def _two_one_sided(differences: Differences, margin: float) -> Floats:
    from scipy.special import stdtr

    freedom = np.maximum(differences.n - 1, 1)
    above = stdtr(freedom, -differences.student_against(-margin))
    below = stdtr(freedom, differences.student_against(margin))
    return np.asarray(np.maximum(above, below))


def non_inferiority_limits(scores: ScoresLike, a: Ints, b: Ints, alpha: float = 0.05) -> Floats:
    """Return the lower end of the one-sided 1 - alpha interval of a - b, for each pair."""
    return joined(_lower_limit(each, alpha) for each in differences_of(scores, a, b))


def _lower_limit(differences: Differences, alpha: float) -> Floats:
    from scipy.special import stdtrit

    width = stdtrit(np.maximum(differences.n - 1, 1), 1 - alpha) * differences.error
    return np.where(differences.constant | (differences.n < 2), np.nan, differences.mean - width)


def check_margin(margin: float) -> float:
    """Return a margin of equivalence, or raise an error if it is not a number above 0."""
    return check_number("margin of equivalence", margin, above=0)


@dataclass(frozen=True)
class NonInferiorityTest:
    """Non-inferiority test under one measure: is the new system worse than the old one by less than a margin?"""

    measure: str
    difference: float  # new - old
    low: float  # lower end of the one-sided interval of the difference
    p: float  # p value of the hypothesis that the new system is worse by the margin or more
    n: int
    holds: bool  # low is above minus the margin


@dataclass(frozen=True, eq=False, repr=False)
class NonInferiority(Result):
    """Non-inferiority tests under each measure: is the new system worse than the old one by less than a margin?"""

    new: str
    old: str
    margin: float
    alpha: float
    tests: tuple[NonInferiorityTest, ...]

    @property
    def holds(self) -> bool:
        """True if the new system is not inferior under each of the measures."""
        return all(test.holds for test in self.tests)

    @property
    def title(self) -> str:
        """The systems, the margin and alpha."""
        return f"{self.new} against {self.old}: one-sided t test, margin {self.margin:g}, alpha {self.alpha:g}"

    @property
    def summary(self) -> str:
        """The measures under which the new system is not worse than the old one by the margin."""
        by = f"by {self.margin:g} or more" if self.margin else "at all"
        shown = [test.measure for test in self.tests if test.holds]
        open_ = [test.measure for test in self.tests if not test.holds]
        said = [f"{self.new} is not worse than {self.old} {by} under {', '.join(shown)}."] if shown else []
        said += [f"That is not shown under {', '.join(open_)}."] if shown and open_ else []
        return " ".join(said) or f"It is not shown that {self.new} is not worse than {self.old} {by}."

    def tables(self) -> Tables:
        """Return the tests by measure."""
        return Tables({"measures": self._measures})

    def _measures(self) -> Table:
        rows = [(t.measure, t.difference, t.low, PValue(t.p), t.n, t.holds) for t in self.tests]
        return Table(("measure", "difference", "low", "p", "n", "holds"), tuple(rows))


def non_inferiority(scores: ScoresLike, *, old: str, new: str, margin: float, alpha: float = 0.05) -> NonInferiority:
    """Test under each measure whether the new system is worse than the old one by less than the margin.

        low = mean - t_{1-alpha, n-1} error > -margin

    A margin of 0 asks for a significant improvement. Queries that are undefined for either system are left out.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.50, 0.31, 0.60, 0.42], [0.51, 0.30, 0.60, 0.41]], systems=["new", "old"])
    >>> found = non_inferiority(scores, old="old", new="new", margin=0.02)
    >>> round(found.tests[0].low, 4), found.holds
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
            raise CalipersError(f"{new} and {old} share fewer than two queries under {measure}: no test is possible")
        mean, freedom = float(d.mean[0]), int(d.n[0]) - 1
        p = stdtr(freedom, -float(d.student_against(-margin)[0]))
        low = float(non_inferiority_limits(values, a, b, alpha)[0])
        found.append(NonInferiorityTest(measure, mean, low, float(p), freedom + 1, low > -margin))
    return NonInferiority(new, old, margin, alpha, tuple(found))


BAYESIAN_COLUMNS = ("p_a_better", "p_equal", "p_b_better")
DEFAULT_ROPE = 0.01


def bayes(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Return P(a > b), P(equal within the rope) and P(b > a), from Student's posterior of the mean difference.

    `p` is the probability that the system with the better mean is not better by more than the rope. The interval is
    the central interval of the posterior, which equals Student's confidence interval.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> more = bayes(x, np.array([0]), np.array([1]), Settings(rope=0.01)).more
    >>> [round(float(more[name][0]), 4) for name in BAYESIAN_COLUMNS]
    [0.9069, 0.0218, 0.0713]
    """
    return blockwise(_bayes, scores, a, b, settings)


def _bayes(differences: Differences, settings: Settings) -> Outcome:
    better, equal, worse = posterior(differences, settings.rope)
    found = outcome_of(differences, 1 - np.fmax(better, worse), students_width(differences, settings.level))
    return Outcome(
        found.difference,
        found.low,
        found.high,
        found.p,
        found.effect,
        found.n,
        dict(zip(BAYESIAN_COLUMNS, (better, equal, worse), strict=True)),
    )


def turned(outcome: Outcome) -> Outcome:
    """Exchange the probabilities of a and b, for a measure under which smaller values are better."""
    better, equal, worse = (outcome.more[name] for name in BAYESIAN_COLUMNS)
    return replace(outcome, more=dict(zip(BAYESIAN_COLUMNS, (worse, equal, better), strict=True)))


def posterior(differences: Differences, rope: float) -> tuple[Floats, Floats, Floats]:
    """Return the posterior probability that the mean difference is above the rope, inside it, and below it.

    The probabilities are undefined (NaN) if all differences are equal and not 0.
    """
    from scipy.special import stdtr

    mean, error, freedom = differences.mean, differences.error, np.maximum(differences.n - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = stdtr(freedom, (mean - rope) / error)
        below = stdtr(freedom, (-mean - rope) / error)
    same = error == 0  # all differences are 0: all of the mass is there
    above, below = (np.where(same, 0.0 if rope else 0.5, part) for part in (above, below))
    inside = np.maximum(1 - above - below, 0.0) if rope else np.zeros_like(above)
    enough = (differences.n > 1) & ~differences.constant
    above, inside, below = (np.where(enough, part, np.nan) for part in (above, inside, below))
    return above, inside, below
