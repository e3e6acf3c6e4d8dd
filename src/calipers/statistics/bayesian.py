"""The Bayesian comparison of two systems over the same queries.

With a flat prior on the mean difference and on the logarithm of its deviation, the posterior of the mean difference is
Student's t with n - 1 degrees of freedom, centred on the observed mean and scaled by its standard error. Its mass has
three parts: system a is better by more than the region of practical equivalence (rope), the systems are equal within
the rope, or system b is better by more than the rope.
This is the correlated t test of Benavoli et al. with no correlation: queries, unlike folds, share no training data.

Benavoli, Corani, Demšar & Zaffalon, Time for a change: a tutorial for comparing multiple classifiers through Bayesian
analysis, Journal of Machine Learning Research 2017.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike
from calipers.statistics.differences import Differences
from calipers.statistics.significance import USUAL, Outcome, Settings, blockwise, outcome_of, students_width

COLUMNS = ("p_a_better", "p_equal", "p_b_better")
DEFAULT_ROPE = 0.01


def bayes(scores: ScoresLike, a: Ints, b: Ints, settings: Settings = USUAL) -> Outcome:
    """Return P(a > b), P(equal within the rope) and P(b > a), from Student's posterior of the mean difference.

    `p` is the probability that the system with the better mean is not better by more than the rope. The interval is
    the central interval of the posterior, which equals Student's confidence interval.

    >>> x = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])
    >>> more = bayes(x, np.array([0]), np.array([1]), Settings(rope=0.01)).more
    >>> [round(float(more[name][0]), 4) for name in COLUMNS]
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
        dict(zip(COLUMNS, (better, equal, worse), strict=True)),
    )


def turned(outcome: Outcome) -> Outcome:
    """Exchange the probabilities of a and b, for a measure under which smaller values are better."""
    better, equal, worse = (outcome.more[name] for name in COLUMNS)
    return replace(outcome, more=dict(zip(COLUMNS, (worse, equal, better), strict=True)))


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
