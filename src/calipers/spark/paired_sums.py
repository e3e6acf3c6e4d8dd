"""Sums that a paired test of two systems needs. They can be added up over parts of the queries.

For the differences d of a pair we keep their number, their sum, the sum of |d|, the root of the sum M of squares about
the mean, the smallest and the largest d. Parts are joined by

    M = M_a + M_b + (mean_b - mean_a)^2 n_a n_b / (n_a + n_b)

which loses no digits, unlike the difference of two large sums of squares. Roots do not overflow where M would.

Chan, Golub & LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calipers.lists import Floats, Ints
from calipers.stats.differences import NOISE, Differences, differences_of, root_of_squares


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of differences, with one entry per pair of systems."""

    n: Floats
    total: Floats
    absolute: Floats
    root: Floats  # root of the sum of squares about the mean
    smallest: Floats
    largest: Floats

    @classmethod
    def none(cls, pairs: int) -> Sums:
        """Return the sums of no differences."""
        zero = np.zeros(pairs)
        return cls(zero, zero, zero, zero, np.full(pairs, np.inf), np.full(pairs, -np.inf))

    @classmethod
    def of(cls, scores: Floats, a: Ints, b: Ints) -> Sums:
        """Return the sums of an array of system x query. Undefined scores are NaN.

        >>> sums = Sums.of(np.array([[0.5, 0.25, np.nan], [0.25, 0.5, 1.0]]), np.array([0]), np.array([1]))
        >>> sums.n, sums.total, sums.root ** 2
        (array([2.]), array([0.]), array([0.125]))
        """
        parts = [_sums(each) for each in differences_of(scores, a, b)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over the queries of both."""
        n = self.n + other.n
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = other.total / other.n - self.total / self.n
            between = np.where((self.n > 0) & (other.n > 0), apart * np.sqrt(self.n * other.n / n), 0.0)
        return Sums(
            n=n,
            total=self.total + other.total,
            absolute=self.absolute + other.absolute,
            root=np.hypot(np.hypot(self.root, other.root), between),
            smallest=np.minimum(self.smallest, other.smallest),
            largest=np.maximum(self.largest, other.largest),
        )

    def to_bytes(self) -> bytes:
        return np.concatenate([getattr(self, name) for name in self.__dataclass_fields__]).tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Sums:
        return cls(*np.frombuffer(data, np.float64).reshape(len(cls.__dataclass_fields__), -1))


def _sums(differences: Differences) -> Sums:
    value, shared = differences.value, differences.shared
    total = value.sum(axis=1)
    n = differences.n.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
    return Sums(
        n=n,
        total=total,
        absolute=np.abs(value).sum(axis=1),
        root=root_of_squares(np.where(shared, value - mean[:, None], 0.0)),
        smallest=np.where(shared, value, np.inf).min(axis=1, initial=np.inf),
        largest=np.where(shared, value, -np.inf).max(axis=1, initial=-np.inf),
    )


class SummedDifferences(Differences):
    """Differences of which only the sums are left: enough for Student's test, for intervals and effects."""

    def __init__(self, sums: Sums) -> None:
        nothing = np.zeros((len(sums.n), 0))
        super().__init__(nothing, nothing.astype(bool), np.zeros(len(sums.n)))
        object.__setattr__(self, "sums", sums)

    sums: Sums

    @cached_property
    def n(self) -> Ints:
        return self.sums.n.astype(np.int64)

    @cached_property
    def mean(self) -> Floats:
        total = np.where(np.abs(self.sums.total) <= NOISE * self.sums.absolute, 0.0, self.sums.total)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / self.sums.n)

    @cached_property
    def deviation(self) -> Floats:
        with np.errstate(invalid="ignore"):
            apart = np.maximum(self.sums.largest - self.mean, self.mean - self.sums.smallest)
            same = apart <= NOISE * np.abs(self.mean)
        root = np.where(same, 0.0, self.sums.root)
        return np.asarray(root / np.sqrt(np.where(self.sums.n > 1, self.sums.n - 1, np.nan)))
