"""The differences between two systems, query by query, for many pairs at once.

A query that is undefined for either system of a pair is left out of that pair, and of no other. Differences of less
than 1e-12 of the largest absolute score are rounding errors and become 0, so that all tests, intervals and effect sizes
see the same values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike
from calipers.statistics.score_arrays import matrix

Bools = NDArray[np.bool_]

CELLS_AT_ONCE = 4_000_000  # differences that are kept in memory together
DIGITS = 12  # decimals of a difference, in units of the scores; further decimals are rounding errors
ROUNDING = 10.0**-DIGITS  # a difference below this share of the largest absolute score is a rounding error
NOISE = 1e-13  # a sum below this share of its absolute terms is a rounding error


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of pairs of systems: one row per pair, one column per query, 0 if the pair lacks the query."""

    value: Floats
    shared: Bools
    size: Floats  # largest absolute score of the two systems of each pair

    @classmethod
    def of(cls, scores: Floats, a: Ints, b: Ints) -> Differences:
        """Return score of system a minus score of system b, for each pair of two arrays of systems.

        Differences by rounding alone are 0.

        >>> d = Differences.of(np.array([[0.5, 0.25, np.nan], [0.25, 0.5, 1.0]]), np.array([0]), np.array([1]))
        >>> d.value, d.n
        (array([[ 0.25, -0.25,  0.  ]]), array([2]))
        >>> Differences.of(np.array([[0.1 + 0.2], [0.3]]), np.array([0]), np.array([1])).value
        array([[0.]])
        """
        with np.errstate(over="ignore"):
            value = scores[a] - scores[b]
        if np.isinf(value).any():
            raise CalipersError("the difference of two scores is larger than the largest number; use smaller units")
        shared = ~np.isnan(value)
        value[~shared] = 0.0
        largest = np.abs(scores).max(axis=1, initial=0.0, where=~np.isnan(scores))
        size = np.maximum(largest[a], largest[b])
        value[np.abs(value) < ROUNDING * size[:, None]] = 0.0
        return cls(value, shared, size)

    @cached_property
    def n(self) -> Ints:
        """Number of queries that are defined for both systems of each pair."""
        return np.asarray(self.shared.sum(axis=1))

    @cached_property
    def unit(self) -> Floats:
        """A power of two near the largest difference of each pair."""
        return power_of_two(self.value)

    @cached_property
    def scaled(self) -> Floats:
        """The differences divided by `unit`, so that their sums and squares neither overflow nor vanish."""
        return np.asarray(self.value / self.unit[:, None])

    @cached_property
    def rounded(self) -> Floats:
        """The differences in whole multiples of the rounding error, so that 0.3 - 0.1 and 0.5 - 0.3 are equal.

        >>> d = Differences.of(np.array([[0.3, 0.5], [0.1, 0.3]]), np.array([0]), np.array([1]))
        >>> len(np.unique(d.value)), len(np.unique(d.rounded))
        (2, 1)
        """
        unit = power_of_two(self.size[:, None])[:, None]
        return np.asarray(np.round(self.value / unit, DIGITS) * unit)

    @cached_property
    def mean(self) -> Floats:
        """The mean difference of each pair; NaN if the pair shares no query."""
        total = self.scaled.sum(axis=1)
        total[np.abs(total) <= NOISE * np.abs(self.scaled).sum(axis=1)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / self.n * self.unit)

    @cached_property
    def centred(self) -> Floats:
        """The differences minus their mean; exactly 0 if all of them are equal apart from rounding."""
        centred = np.where(self.shared, self.value - self.mean[:, None], 0.0)
        centred[np.abs(centred).max(axis=1, initial=0.0) < ROUNDING * self.size] = 0.0
        return centred

    @cached_property
    def deviation(self) -> Floats:
        """The sample standard deviation of each pair; NaN if there are fewer than two queries."""
        return root_of_squares(self.centred) / np.sqrt(np.where(self.n > 1, self.n - 1, np.nan))

    @property
    def error(self) -> Floats:
        """The standard error of the mean difference."""
        return np.asarray(self.deviation / np.sqrt(np.maximum(self.n, 1)))

    @property
    def constant(self) -> Bools:
        """True for pairs whose differences are all equal and not 0: Student's t is undefined."""
        return np.asarray((self.deviation == 0) & (self.mean != 0))

    @cached_property
    def student(self) -> Floats:
        """The statistic t of the hypothesis that the true mean difference is 0."""
        return self.student_against(0.0)

    def student_against(self, mean: float) -> Floats:
        """Return the statistic t of the hypothesis that the true mean difference is `mean`.

            t = (mean difference - mean) / standard error

        t is NaN if all differences are equal and not 0. If they all are 0, t is 0 for the hypothesis 0 and infinite for
        others.
        """
        away = self.mean - mean
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(away == 0, 0.0, away / self.error)
        return np.where(self.constant | (self.n < 2), np.nan, t)

    @cached_property
    def standardised(self) -> Floats:
        """The mean difference in standard deviations of the differences (Cohen's d for paired samples)."""
        return ratio(self.mean, self.deviation)


def power_of_two(values: Floats) -> Floats:
    """Return for each row a power of two near its largest absolute value, or 1/2 if all values are 0.

    Division by a power of two is exact.

    >>> power_of_two(np.array([[3.0, -5.0], [1e-170, 0.0]])).tolist() == [4.0, 2.0**-565]
    True
    """
    largest = np.abs(values).max(axis=1, initial=0.0)
    return np.asarray(np.ldexp(1.0, np.frexp(largest)[1] - 1))


def root_of_squares(values: Floats) -> Floats:
    """Return the square root of the sum of squares of each row, without overflow or underflow.

    >>> root_of_squares(np.array([[3e200, 4e200], [3e-200, 4e-200]]))
    array([5.e+200, 5.e-200])
    """
    unit = power_of_two(values)
    return np.asarray(np.sqrt(np.square(values / unit[:, None]).sum(axis=1)) * unit)


def ratio(mean: Floats, spread: Floats) -> Floats:
    """Return mean / spread. 0 / 0 is 0, and a mean other than 0 over a spread of 0 is undefined (NaN)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread == 0, np.where(mean == 0, 0.0, np.nan), mean / spread)


def residual_deviation(scores: Floats) -> tuple[float, int]:
    """Return the residual standard deviation of scores (system x query) and its degrees of freedom.

    Residuals are the scores without the effects of systems and queries. The deviation is NaN without degrees of
    freedom.
    """
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    freedom = (scores.shape[0] - 1) * (scores.shape[1] - 1)
    residual[np.abs(residual) < ROUNDING * np.abs(scores).max(initial=0.0)] = 0.0
    return (float(root_of_squares(residual.reshape(1, -1))[0]) / math.sqrt(freedom) if freedom else math.nan), freedom


def differences_of_means(mean: Floats, a: Ints, b: Ints, size: float) -> Floats:
    """Return the differences of the means of systems. Those by rounding alone are 0.

    size: the largest absolute score.
    """
    difference = mean[a] - mean[b]
    difference[np.abs(difference) < ROUNDING * size] = 0.0
    return np.asarray(difference)


def all_pairs(systems: int) -> tuple[Ints, Ints]:
    """Return each pair of systems once, in the order of the systems."""
    a, b = np.triu_indices(systems, 1)
    return a, b


def against(baseline: int, systems: int) -> tuple[Ints, Ints]:
    """Pair each other system with the baseline, so that a positive difference is an improvement."""
    others = np.flatnonzero(np.arange(systems) != baseline)
    return others, np.full(len(others), baseline)


def differences_of(scores: ScoresLike, a: Ints, b: Ints) -> Iterator[Differences]:
    """Yield the differences of the pairs of systems, block by block.

    scores: an array of system x query, or `Scores` of one measure.
    """
    values = matrix(scores)
    return (Differences.of(values, a[part], b[part]) for part in blocks(len(a), values.shape[1]))


def joined(parts: Iterable[Floats]) -> Floats:
    """Join the results of the blocks into one array with a value for each pair."""
    return np.concatenate([np.zeros(0), *parts])


def blocks(pairs: int, queries: int) -> Iterator[slice]:
    """Yield slices of the pairs that are small enough to be held in memory."""
    step = max(1, CELLS_AT_ONCE // max(queries, 1))
    for start in range(0, pairs, step):
        yield slice(start, min(start + step, pairs))
