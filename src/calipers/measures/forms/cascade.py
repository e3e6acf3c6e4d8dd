"""A reader goes down the list and stops at the first success."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Groups, Ints, Lists, Population
from calipers.measures.forms.base import Exactness, Form
from calipers.measures.gains import Value, as_gain
from calipers.measures.weights import Weights
from calipers.native.scanner import symmetric_means
from calipers.support.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray


CELLS = 1 << 22  # of a work matrix: larger blocks are done in parts
IN_CACHE = 1 << 16  # of a matrix that is gone through many times
MANY_TIES = 500  # as deep as the deepest, from which on going rank by rank is faster than tie by tie
RANKS_AT_ONCE = 64  # between two looks at which ties are still read
DEEPEST = 100  # ranks for which the variance of a reader who may go on is known


class SquaredWeights(Record):
    """The squares of weights."""

    of: Callable[[Floats], Floats]

    def __call__(self, rank: Floats) -> Floats:
        return np.asarray(self.of(rank)) ** 2


class Cascade(Form):
    """The sum over ranks i of weight(i) * stop_i * product over j < i of (1 - stop_j).

    In a tie, the chance of coming through its first j documents is the symmetric mean q_j of the (1 - stop)
    of its members, so the tie adds (chance of reaching it) * sum over j of weight(s + j) * (q_(j-1) - q_j).
    Members are added one at a time, q_j <- ((t - j) / t) q_j + (j / t) (1 - stop_t) q_(j-1), which
    keeps every value in [0, 1].
    """

    weight: Weights
    stop: Value

    def score(self, lists: Lists) -> Floats:
        # The others let every reader pass, as unjudged documents do.
        stopping = lists.top_with_gain(self.stop, self.weight.cutoff)
        stop = stopping.gains(self.stop)
        groups = stopping.groups
        gained = np.empty(len(groups))
        alone = groups.size == 1
        gained[alone] = stop[groups.start[alone]] * self.weight.mean(groups.before[alone] + 1, groups.before[alone] + 1)
        passing = np.ones(len(groups))
        np.multiply.at(passing, groups.row_group, 1.0 - stop)
        reached = product_above(groups, passing)
        gained[reached == 0] = 0.0  # below a document at which every reader stops
        self._gain_of_ties(groups, stop, np.flatnonzero(~alone & (reached > 0)), gained)
        return groups.sum_by_list(gained * reached)

    @property
    def gain(self) -> Value:
        return self.stop

    def exactness(self, population: Population | None = None) -> Exactness:
        return Exactness(has_variance=self._has_variance)

    @property
    def _has_variance(self) -> bool:
        return self.stops_at_first_relevant or (self.weight.cutoff is not None and self.weight.cutoff <= DEEPEST)

    def variance(self, population: Population) -> Floats | None:
        """E[X^2] - E[X]^2. Where a reader stops at one document for sure, X^2 is the same with squared weights.

        Else, with Q_i the chance of coming past i documents and d_i = w_i - w_(i+1), w_(K+1) = 0,

            X = w_1 - sum over i of d_i Q_i,   E[X^2] = w_1^2 - 2 w_1 sum of d_i E[Q_i] + sum of d_i d_j E[Q_i Q_j],

        and E[Q_a Q_(a+c)] is the mean, over sets of a documents and c others, of the product of (1 - stop)^2 of the
        former and (1 - stop) of the latter, which grows by one document at a time as the symmetric means do.
        """
        if self.stops_at_first_relevant:
            squared = Cascade(Weights(SquaredWeights(self.weight.at), self.weight.cutoff), self.stop)
            return np.maximum(squared.expected(population) - self.expected(population) ** 2, 0.0)
        if not self._has_variance:
            return None
        found = np.zeros(len(population.size))
        through, bounds = 1.0 - self.stop(population.grade), population.offsets.tolist()
        for i, size in enumerate(population.size.tolist()):
            weight = self.weight.of_ranks(size)
            if len(weight):
                steps = weight - np.append(weight[1:], 0.0)
                product = _pair_means(through[bounds[i] : bounds[i + 1]], size, len(weight))
                once = product[0, 1:]
                rank = np.arange(1, len(weight) + 1)
                above = np.minimum.outer(rank, rank)
                squares = steps @ product[above, np.abs(np.subtract.outer(rank, rank))] @ steps
                found[i] = squares - (steps @ once) ** 2
        return np.maximum(found, 0.0)

    @property
    def reach(self) -> int | None:
        return self.weight.cutoff

    @property
    def stops_at_first_relevant(self) -> bool:
        """True if every reader stops at the first relevant document."""
        return as_gain(self.stop).level is not None

    def formula(self, letters: dict[str, str]) -> str:
        letters.update({"w_i": self.weight.discount.formula, "s_i": as_gain(self.stop).formula})
        return "sum over ranks i <= k of w_i * s_i * product over j < i of (1 - s_j)"

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(self.stop(grade) != 0)

    def _gain_of_ties(self, groups: Groups, stop: Floats, tied: Ints, gained: Floats) -> None:
        """Fill in what each tied group gives to a reader who reaches it."""
        if not len(tied):
            return
        members = np.diff(np.append(groups.start, len(stop)))
        end = groups.before + groups.size
        depth = (end if self.weight.cutoff is None else np.minimum(end, self.weight.cutoff)) - groups.before
        weight = np.concatenate([[0.0], self.weight.of_ranks(int(end.max()))])
        weight = np.append(weight, 0.0)
        tied = tied[np.argsort(depth[tied], kind="stable")]  # alike depths together, so that little is padded
        if (stop == 1).all() and int(depth[tied].sum()) >= MANY_TIES * int(depth[tied[-1]]):
            size, before = groups.size[tied], groups.before[tied]
            gained[tied] = _gain_by_rank(size, size - members[tied], before, depth[tied], weight)
            return
        for part in in_parts(tied, depth[tied], IN_CACHE):
            columns = np.arange(int(depth[part].max()) + 1)
            through = _chances_through(groups.size[part], groups.start[part], members[part], stop, len(columns) - 1)
            stopped = through[:, :-1] - through[:, 1:]
            if groups.before[part].any():
                stopped *= weight[np.minimum(groups.before[part, None] + columns[1:], len(weight) - 1)]
            else:
                stopped *= weight[1 : len(columns)]
            stopped[columns[1:] > depth[part, None]] = 0.0
            # Added up rank by rank: a sum in pairs would round by the width of the block, so by the other lists in it.
            gained[part] = np.cumsum(stopped, axis=1, out=stopped)[:, -1]


def _gain_by_rank(size: Ints, plain: Ints, before: Ints, depth: Ints, weight: Floats) -> Floats:
    """Return the gain of ties in which every reader stops at a member, sorted by depth.

    All ties are computed together, rank by rank, with the same operations in the same order as one by one.
    plain: number of documents of each tie that are not members. before: number of ranks above it. weight: weight of
        rank i at index i.
    """
    gained, through = np.zeros(len(size)), np.ones(len(size))
    heaviest, below_others = np.abs(weight).max(), bool(before.any())
    for start in range(0, int(depth[-1]), RANKS_AT_ONCE):
        # What is less than a quarter of the last digit of a sum leaves the sum as it is, however often it is added.
        more = np.flatnonzero((depth > start) & (through * heaviest > np.abs(gained) * 2.0**-55))
        if not len(more):
            continue
        whole, rest = size[more].astype(np.float64), plain[more].astype(np.float64)
        sums, reached = gained[more], through[more]
        ranks = np.arange(start, min(start + RANKS_AT_ONCE, int(depth[more[-1]])))
        for rank, first in zip(ranks.tolist(), np.searchsorted(depth[more], ranks + 1).tolist(), strict=True):
            passed = reached[first:] * (np.maximum(rest[first:] - rank, 0.0) / np.maximum(whole[first:] - rank, 1.0))
            at = np.minimum(before[more[first:]] + rank + 1, len(weight) - 1) if below_others else rank + 1
            sums[first:] += (reached[first:] - passed) * weight[at]
            reached[first:] = passed
        gained[more], through[more] = sums, reached
    return gained


def _chances_through(size: Ints, start: Ints, members: Ints, stop: Floats, depth: int) -> Floats:
    """q_j for j = 0 to depth of each group: the mean of the product of (1 - stop) over j of its documents.

    A group has `size` documents, of which `members`, from row `start` on, have a stop probability; the others 0.
    """
    column = np.arange(depth + 1, dtype=np.float64)
    plain = (size - members).astype(np.float64)
    if (stop == 1).all():  # q_j = C(plain, j) / C(size, j)
        through = np.empty((len(size), depth + 1))
        through[:, 0] = 1.0
        passing = np.subtract(plain[:, None], column[:-1], out=through[:, 1:])
        np.maximum(passing, 0.0, out=passing)
        below = size[:, None] - column[:-1]
        passing /= np.maximum(below, 1.0, out=below)
        return np.asarray(np.cumprod(through, axis=1, out=through), dtype=np.float64)
    return symmetric_means(size, start, members, stop, depth)


def product_above(groups: Groups, passing: Floats) -> Floats:
    """Return for each group the product over the groups above it in the same list."""
    counts = np.bincount(groups.list, minlength=len(groups.lists))
    starts = np.cumsum(counts) - counts
    if not passing.any():
        result = np.zeros(len(groups))
        result[starts[counts > 0]] = 1.0
        return result
    result = np.ones(len(groups))
    several = np.flatnonzero(counts > 1)
    several = several[np.argsort(counts[several], kind="stable")]
    for part in in_parts(several, counts[several]):
        width = int(counts[part].max())
        cell = starts[part, None] + np.arange(width - 1)
        inside = np.arange(width - 1) < counts[part, None] - 1
        factors = np.where(inside, passing[np.where(inside, cell, 0)], 1.0)
        result[(cell + 1)[inside]] = np.cumprod(factors, axis=1)[inside]
    return result


def in_parts(rows: Ints, widths: Ints, cells: int = CELLS) -> list[NDArray[np.int64]]:
    """Cut rows, sorted by width, into parts that each fit into a small matrix."""
    parts = []
    end = len(rows)
    while end > 0:
        fitting = max(cells // max(int(widths[end - 1]) + 1, 1), 1)
        start = max(end - fitting, 0)
        parts.append(np.asarray(rows[start:end], dtype=np.int64))
        end = start
    return parts


def _pair_means(through: Floats, size: int, depth: int) -> Floats:
    """Return the mean over a documents and c others of the product of x^2 of the former and x of the latter, [a, c].

    through: x of some of the documents; the others have x = 1. a + c is at most the depth.
    """
    a, c = np.arange(depth + 1)[:, None], np.arange(depth + 1)[None, :]
    mean = np.zeros((depth + 1, depth + 1))
    mean[0, 0] = 1.0
    stopping = through[through != 1]
    alike = size - len(stopping)  # of which every product is 1
    mean[a + c <= min(alike, depth)] = 1.0
    for t, x in enumerate(stopping.tolist(), alike + 1):
        grown = mean * np.maximum(t - a - c, 0)
        grown[1:] += a[1:] * x**2 * mean[:-1]
        grown[:, 1:] += c[:, 1:] * x * mean[:, :-1]
        mean = np.where(a + c <= min(t, depth), grown / t, 0.0)
    return mean
