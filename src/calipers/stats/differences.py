"""The differences between two systems, query by query, for many pairs at once.

A query that is undefined for either system of a pair is left out of that pair, and of no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calipers.lists import Floats, Ints
from calipers.results.score_files import ScoresLike
from calipers.stats.score_arrays import matrix

Bools = NDArray[np.bool_]

CELLS_AT_ONCE = 4_000_000  # differences that are kept in memory together
DIGITS = 12  # of a difference, in units of the scores: what follows is rounding
NOISE = 1e-13  # a sum below this share of what it sums, or a spread of the mean, is rounding


@dataclass(frozen=True, eq=False)
class Differences:
    """One row per pair, one column per query; 0 where the pair does not share the query."""

    value: Floats
    shared: Bools
    size: Floats | None = None  # of each pair: the largest absolute score that its differences were taken of

    @classmethod
    def of(cls, scores: Floats, a: Ints, b: Ints) -> Differences:
        """The score of system a less that of system b, for arrays of systems.

        >>> d = Differences.of(np.array([[0.5, 0.25, np.nan], [0.25, 0.5, 1.0]]), np.array([0]), np.array([1]))
        >>> d.value, d.n
        (array([[ 0.25, -0.25,  0.  ]]), array([2]))
        """
        value = scores[a] - scores[b]
        shared = ~np.isnan(value)
        value[~shared] = 0.0
        largest = np.abs(scores).max(axis=1, initial=0.0, where=~np.isnan(scores))
        return cls(value, shared, np.maximum(largest[a], largest[b]))

    @cached_property
    def n(self) -> Ints:
        """How many queries each pair shares."""
        return np.asarray(self.shared.sum(axis=1))

    @cached_property
    def unit(self) -> Floats:
        """A power of two near the largest difference of each pair."""
        return power_of_two(self.value)

    @cached_property
    def scaled(self) -> Floats:
        """The differences in units of `unit`: their sums and squares neither overflow nor vanish."""
        return np.asarray(self.value / self.unit[:, None])

    @cached_property
    def rounded(self) -> Floats:
        """The differences without the rounding of the scores, so that equal ones are equal: 0.3 - 0.1 and 0.5 - 0.3.

        >>> d = Differences.of(np.array([[0.3, 0.5], [0.1, 0.3]]), np.array([0]), np.array([1]))
        >>> len(np.unique(d.value)), len(np.unique(d.rounded))
        (2, 1)
        """
        size = np.abs(self.value).max(axis=1, initial=0.0) if self.size is None else self.size
        unit = power_of_two(size[:, None])[:, None]
        return np.asarray(np.round(self.value / unit, DIGITS) * unit)

    @cached_property
    def mean(self) -> Floats:
        total = self.scaled.sum(axis=1)
        total[np.abs(total) <= NOISE * np.abs(self.scaled).sum(axis=1)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / self.n * self.unit)  # NaN where a pair shares nothing

    @cached_property
    def centred(self) -> Floats:
        """The differences less their mean; exactly 0 where they are all the same but for rounding."""
        centred = np.where(self.shared, self.value - self.mean[:, None], 0.0)
        centred[np.abs(centred).max(axis=1, initial=0.0) <= NOISE * np.abs(self.mean)] = 0.0
        return centred

    @cached_property
    def deviation(self) -> Floats:
        """The standard deviation of a sample; NaN under two queries."""
        return root_of_squares(self.centred) / np.sqrt(np.where(self.n > 1, self.n - 1, np.nan))

    @property
    def error(self) -> Floats:
        """The standard error of the mean difference."""
        return np.asarray(self.deviation / np.sqrt(np.maximum(self.n, 1)))

    @cached_property
    def student(self) -> Floats:
        """t: the mean in standard errors; 0 for systems that never differ, infinite for a constant difference."""
        return ratio(self.mean, self.error)

    @cached_property
    def standardised(self) -> Floats:
        """The mean difference in standard deviations of the differences (Cohen's d for paired samples)."""
        return ratio(self.mean, self.deviation)


def power_of_two(values: Floats) -> Floats:
    """Of each row, a power of two near its largest absolute value; 1/2 where all are 0. Dividing by it is exact.

    >>> power_of_two(np.array([[3.0, -5.0], [1e-170, 0.0]])).tolist() == [4.0, 2.0**-565]
    True
    """
    largest = np.abs(values).max(axis=1, initial=0.0)
    return np.asarray(np.ldexp(1.0, np.frexp(largest)[1] - 1))


def root_of_squares(values: Floats) -> Floats:
    """Of each row, the square root of the sum of squares, of which none overflows or vanishes.

    >>> root_of_squares(np.array([[3e200, 4e200], [3e-200, 4e-200]]))
    array([5.e+200, 5.e-200])
    """
    unit = power_of_two(values)
    return np.asarray(np.sqrt(np.square(values / unit[:, None]).sum(axis=1)) * unit)


def ratio(mean: Floats, spread: Floats) -> Floats:
    """mean / spread, with 0 / 0 = 0 and the sign of the mean where only the spread is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((mean == 0) & (spread == 0), 0.0, mean / spread)


def all_pairs(systems: int) -> tuple[Ints, Ints]:
    """Each pair of systems once, in the order of the systems."""
    a, b = np.triu_indices(systems, 1)
    return a, b


def against(baseline: int, systems: int) -> tuple[Ints, Ints]:
    """Each other system, and the baseline: a positive difference is an improvement."""
    others = np.flatnonzero(np.arange(systems) != baseline)
    return others, np.full(len(others), baseline)


def differences_of(scores: ScoresLike, a: Ints, b: Ints) -> Iterator[Differences]:
    """The differences of the pairs of systems, block by block; scores: an array of system x query, or `Scores` of one
    measure.
    """
    values = matrix(scores)
    return (Differences.of(values, a[part], b[part]) for part in blocks(len(a), values.shape[1]))


def joined(parts: Iterable[Floats]) -> Floats:
    """What was computed block by block, of all pairs."""
    return np.concatenate([np.zeros(0), *parts])


def blocks(pairs: int, queries: int) -> Iterator[slice]:
    """Parts of the pairs that are small enough to be treated at once."""
    step = max(1, CELLS_AT_ONCE // max(queries, 1))
    for start in range(0, pairs, step):
        yield slice(start, min(start + step, pairs))
