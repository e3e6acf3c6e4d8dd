"""Blended ratios, at which different readers stop: the measures of NTCIR.

With C(r) the relevant documents of the first r ranks, cg(r) their gains added up and cg*(r) the same for the ideal
list, the blended ratio at rank r is

    BR(r) = (C(r) + beta * cg(r)) / (r + beta * cg*(r)) = h(r) * sum over relevant j <= r of (1 + beta * gain_j)

with h(r) = 1 / (r + beta * cg*(r)). What the documents of a list add up to and what a rank weighs are apart, so that
averages over ties are sums over ranks of h, and of h times the place inside the tie. No blended ratio is above 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Groups, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form
from calipers.measures.forms.shares import Denominator
from calipers.measures.gains import AtLeast, Gain, GainFrom, Value, as_gain
from calipers.measures.hypergeometric import hypergeometric
from calipers.support.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS = 1 << 20  # of a table of chances: longer ties are done in parts


class OneAndGain(Gain):
    """1 + beta * gain for a relevant document: what it adds to the numerator of all blended ratios from its rank on."""

    gain: Value
    rel: float
    beta: float

    @property
    def formula(self) -> str:
        return f"1 + {self.beta:g} * the gain for a grade of at least {self.rel:g}, else 0"

    def __call__(self, grade: Floats) -> Floats:
        return np.where(grade >= self.rel, 1.0 + self.beta * self.gain(grade), 0.0)


class RankWeights(Record):
    """The weights h(r) = 1 / (r + beta * cg*(r)) of the queries of a pool, for the ranks of the ideal list.

    Per query: the offset and the number of its ranks, and the sum of its gains. Per rank: the sum of the gains of the
    ideal list down to it, and the sums of h and of r * h over the ranks above it.
    """

    start: Ints
    ranks: Ints
    total: Floats  # beta * all gains
    gained: Floats
    sums: Floats
    products: Floats

    @classmethod
    def of(cls, pool: Pool, worth: OneAndGain) -> RankWeights:
        return pool.once(("rank weights", worth), lambda: cls._of(pool, worth))

    @classmethod
    def _of(cls, pool: Pool, worth: OneAndGain) -> RankWeights:
        gain = worth.beta * pool.gains(GainFrom(worth.gain, worth.rel))
        kept = np.flatnonzero(gain > 0)
        order = kept[np.lexsort((-gain[kept], pool.query[kept]))]
        ranks = np.bincount(pool.query[order], minlength=pool.queries)
        ends = np.cumsum(ranks)
        gained, sums, products = np.empty((3, len(order)))
        for first, last in zip((ends - ranks).tolist(), ends.tolist(), strict=True):  # apart: no query rounds another's
            rank = np.arange(1, last - first + 1)
            gained[first:last] = np.cumsum(gain[order[first:last]])
            h = 1.0 / (rank + gained[first:last])
            sums[first:last] = np.cumsum(h) - h
            products[first:last] = np.cumsum(rank * h) - rank * h
        total = np.zeros(pool.queries)
        total[ranks > 0] = gained[ends[ranks > 0] - 1]
        return cls(ends - ranks, ranks, total, gained, sums, products)

    def at(self, query: Ints, rank: Ints) -> Floats:
        """h of each rank."""
        inside = rank <= self.ranks[query]
        place = np.where(inside, self.start[query] + rank - 1, 0)
        gained = self.gained[place] if len(self.gained) else np.zeros(len(place))
        return 1.0 / (rank + np.where(inside, gained, self.total[query]))

    def between(self, query: Ints, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """Return the sums of h and of (r - first) * h over the ranks r from first to last, 0 for an empty range."""
        start, start_times = self._above(query, first)
        end, end_times = self._above(query, last + 1)
        some = last >= first
        alone = last == first
        h = np.where(alone, self.at(query, np.maximum(first, 1)), end - start)
        times = np.where(alone, 0.0, end_times - start_times - first * (end - start))
        return np.where(some, h, 0.0), np.where(some, times, 0.0)

    def _above(self, query: Ints, rank: Ints) -> tuple[Floats, Floats]:
        """Return the sums of h and of r * h over the ranks above. Below the ideal list, h is 1 / (r + total gain)."""
        from scipy.special import digamma

        ranks = self.ranks[query]
        inside = rank <= ranks
        place = np.where(inside, self.start[query] + rank - 1, self.start[query] + ranks - 1)
        known = inside | (ranks > 0)
        place = np.where(known, place, 0)
        at = np.minimum(rank, ranks)
        if len(self.gained):
            h = np.where(known & ~inside, 1.0 / (np.maximum(at, 1) + self.gained[place]), 0.0)
            sums = np.where(known, self.sums[place], 0.0) + h
            products = np.where(known, self.products[place], 0.0) + at * h
        else:
            sums, products = np.zeros((2, len(rank)))
        total = self.total[query]
        count = np.where(inside, 0, rank - ranks - 1)
        further = np.where(count > 0, digamma(rank + total) - digamma(ranks + 1 + total), 0.0)
        return sums + further, products + count - total * further


class BlendedRatioForm(Form, final=False):
    """A form of blended ratios, with a gain function, a relevance level and beta."""

    gain_function: Value
    rel: float
    beta: float

    @property
    def gain(self) -> OneAndGain:
        return OneAndGain(self.gain_function, self.rel, self.beta)

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(grade >= self.rel)


class Blended(BlendedRatioForm):
    """The sum over ranks i <= k of stop_i * BR(i).

    In a tie of m documents after s ranks, with stops S and numerators U in all, whose products add up to P, and A above
    it, rank s + j gets h(s + j) / m * (P + S A + (j - 1) / (m - 1) * (S U - P)).
    """

    cutoff: int | None = None
    stop: Value | None = None  # how likely a reader stops at a document; None: at all relevant ones alike

    def score(self, lists: Lists) -> Floats:
        found = lists.with_gain(AtLeast(self.rel)).top(self.cutoff)
        groups = found.groups
        return groups.sum_by_list(self.by_tie(groups))

    def by_tie(self, groups: Groups) -> Floats:
        """Return the contribution of each tie."""
        found = groups.lists
        u = found.gains(self.gain)
        s = np.ones(len(u)) if self.stop is None else found.gains(self.stop)
        numerator, stops, products = groups.sum(u), groups.sum(s), groups.sum(s * u)
        last = groups.before + groups.size
        if self.cutoff is not None:
            last = np.minimum(last, self.cutoff)
        weights = RankWeights.of(found.pool, self.gain)
        h, times = weights.between(found.query[groups.list], groups.before + 1, last)
        pairs = (stops * numerator - products) / np.maximum(groups.size - 1, 1)
        return np.asarray((h * (products + stops * groups.above(numerator)) + times * pairs) / groups.size)

    def exactness(self, population: Population | None = None) -> Exactness:
        """Return how bounds are found.

        If all readers stop alike, documents with larger gains come first. Otherwise that order is known to be the best
        only for whole pools, where every ratio is 1.
        """
        if self.stop is None:
            return Exactness()
        whole = population is not None and self._whole(population)
        return Exactness(ideal="exact" if whole else "sorted", worst="sorted")

    def _whole(self, population: Population) -> bool:
        shown = population.shuffled
        found = shown.count(shown.grade >= self.rel)
        return bool((found == population.pool.relevant(self.rel)[population.query]).all())

    @property
    def reach(self) -> int | None:
        return self.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        name_letters(letters, self.gain_function, self.rel, self.beta)
        if self.stop is None:
            return "sum over ranks i <= k of rel_i * BR(i)"
        letters["stop_i"] = as_gain(self.stop).formula
        return "sum over ranks i <= k of stop_i * BR(i)"


class RankBiasedBlended(BlendedRatioForm):
    """The sum over relevant documents, the c-th at rank i, of gamma^(c - 1) * BR(i).

    In a tie of m documents, n of them relevant, after s ranks with C relevant documents and the numerator A, rank s + j
    has a relevant document with c relevant ones above it in the tie with chance n / m times a hypergeometric one;
    the c + 1 have the mean numerator of the tie.
    """

    gamma: float

    def score(self, lists: Lists) -> Floats:
        found = lists.with_gain(AtLeast(self.rel))
        groups = found.groups
        numerator, relevant = groups.sum(found.gains(self.gain)), np.bincount(groups.row_group, minlength=len(groups))
        above, before = groups.above(numerator), groups.above(relevant)
        weights = RankWeights.of(found.pool, self.gain)
        query = found.query[groups.list]
        added = self.gamma**before * (above + numerator) * weights.at(query, groups.before + 1)
        for g in np.flatnonzero(groups.size > 1).tolist():
            m, n = int(groups.size[g]), int(relevant[g])
            mean, total = numerator[g] / n, 0.0
            for start in range(1, m + 1, max(CELLS // n, 1)):
                j = np.arange(start, min(start + max(CELLS // n, 1), m + 1))
                chance, least = hypergeometric(np.full(len(j), m - 1), np.full(len(j), n - 1), j - 1)
                c = least[:, None] + np.arange(chance.shape[1])
                weight = weights.at(np.full(len(j), query[g]), groups.before[g] + j)
                total += float(weight @ (chance * self.gamma**c * (above[g] + (c + 1) * mean)).sum(axis=1))
            added[g] = self.gamma ** before[g] * n / m * total
        return groups.sum_by_list(added)

    def formula(self, letters: dict[str, str]) -> str:
        name_letters(letters, self.gain_function, self.rel, self.beta)
        letters["C(i)"] = "relevant documents down to rank i"
        return f"sum over ranks i of rel_i * {self.gamma:g}^(C(i) - 1) * BR(i)"


class GeometricTotal(Denominator):
    """1 + gamma + ... + gamma^(R - 1): what all relevant documents could give."""

    of_query = True
    rel: float
    gamma: float

    @property
    def formula(self) -> str:
        return f"sum over c < R of {self.gamma:g}^c"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        relevant = lists.pool.relevant(self.rel)[lists.query].astype(np.float64)
        return relevant if self.gamma == 1 else (1.0 - self.gamma**relevant) / (1.0 - self.gamma)


def name_letters(letters: dict[str, str], gain: Value, rel: float, beta: float) -> None:
    letters["BR(i)"] = f"(C(i) + {beta:g} * cg(i)) / (i + {beta:g} * cg*(i))"
    letters["C(i), cg(i)"] = "relevant documents down to rank i, and their gains added up; cg*(i) of the ideal list"
    letters["rel_i"] = AtLeast(rel).formula
    letters["gain"] = as_gain(gain).formula
