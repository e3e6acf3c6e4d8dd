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


class FirstBlended(BlendedRatioForm):
    """BR at the rank of the first relevant document: 0 if none is found, undefined if the query has none.

    In a tie of m documents, n of them relevant, the first relevant one is at position j with probability
    C(m - j, n - 1) / C(m, n). It is each of the n with the same probability.
    """

    def score(self, lists: Lists) -> Floats:
        found = lists.with_gain(AtLeast(self.rel))
        groups = found.groups
        relevant = np.bincount(groups.row_group, minlength=len(groups))
        first = groups.above(relevant) == 0
        mean = groups.sum(found.gains(self.gain)) / np.maximum(relevant, 1)
        weights = RankWeights.of(found.pool, self.gain)
        query = found.query[groups.list]
        added = np.where(first, mean * weights.at(query, groups.before + 1), 0.0)
        for g in np.flatnonzero(first & (groups.size > 1)).tolist():
            chance = first_place(int(groups.size[g]), int(relevant[g]))
            j = np.arange(1, len(chance) + 1)
            added[g] = mean[g] * float(chance @ weights.at(np.full(len(j), query[g]), groups.before[g] + j))
        return _where_relevant(lists, self.rel, groups.sum_by_list(added))

    def formula(self, letters: dict[str, str]) -> str:
        name_letters(letters, self.gain_function, self.rel, self.beta)
        return "BR(rank of the first relevant document)"


class Preferred(BlendedRatioForm):
    """BR at the preferred rank, or its mean over the relevant documents down to that rank.

    The preferred rank is the rank of the first document of the best grade of the list. The score is 0 if no relevant
    document is found, and undefined if the query has none.
    In a tie of m documents, b of the best grade and n other relevant ones, the first of the best grade is at position j
    with probability C(m - j, b - 1) / C(m, b). Above it in the tie are j - 1 of the m - b others.
    """

    mean: bool

    def score(self, lists: Lists) -> Floats:
        found = lists.with_gain(AtLeast(self.rel))
        groups = found.groups
        numerator = groups.sum(found.gains(self.gain))
        relevant = np.bincount(groups.row_group, minlength=len(groups))
        above, before = groups.above(numerator), groups.above(relevant)
        best = np.full(len(lists), -np.inf)
        np.maximum.at(best, found.list, found.grade)
        is_best = found.grade == best[found.list]
        held = groups.count(is_best)
        chosen = np.flatnonzero((held > 0) & (groups.above(held) == 0))
        weights = RankWeights.of(found.pool, self.gain)
        query = found.query[groups.list]
        score = np.zeros(len(lists))
        score[groups.list[chosen]] = (above + numerator)[chosen] * weights.at(query[chosen], groups.before[chosen] + 1)
        ratios = np.zeros(len(groups))
        if self.mean:
            every = Blended(self.gain_function, self.rel, self.beta).by_tie(groups)
            ratios = groups.above(every)
            score[groups.list[chosen]] += ratios[chosen]
            score[groups.list[chosen]] /= before[chosen] + 1
        preferred = groups.sum(np.where(is_best, found.gains(self.gain), 0.0)) / np.maximum(held, 1)
        for g in chosen[groups.size[chosen] > 1].tolist():
            tie = _Tie(
                size=int(groups.size[g]),
                best=int(held[g]),
                others=int(relevant[g] - held[g]),
                preferred=float(preferred[g]),
                other=float(numerator[g] - held[g] * preferred[g]),
                above=float(above[g]),
                before=int(before[g]),
                ratios=float(ratios[g]),
            )
            rank = groups.before[g] + np.arange(1, tie.size - tie.best + 2)
            score[groups.list[g]] = tie.expected(weights.at(np.full(len(rank), query[g]), rank), self.mean)
        return _where_relevant(lists, self.rel, score)

    def ideal(self, population: Population) -> Floats:
        return population.once(("ideal", self), lambda: self._extreme(population, best=True))

    def worst(self, population: Population) -> Floats:
        return population.once(("worst", self), lambda: self._extreme(population, best=False))

    def _extreme(self, population: Population, best: bool) -> Floats:
        """Return the extreme score over all numbers of lower grades above the first document of the best grade.

        For the best score, the best of these documents are at the top. For the worst, the worst of them are behind all
        documents that are not relevant. No other order has larger (or smaller) ratios.
        """
        pool = population.pool
        u, weights = pool.gains(self.gain)[population.document], RankWeights.of(pool, self.gain)
        result = np.where(pool.relevant(self.rel)[population.query] > 0, 0.0, np.nan)
        bounds = population.offsets.tolist()
        for i, size in enumerate(population.size.tolist()):
            rows = slice(bounds[i], bounds[i + 1])
            grade, worth = population.grade[rows], u[rows]
            relevant = grade >= self.rel
            if not relevant.any():
                continue
            top = grade == grade[relevant].max()
            others = np.sort(worth[relevant & ~top])
            others = others[::-1] if best else others
            # The numerator at each of the others, and then at the first of the best grade behind each number of them.
            sums = np.concatenate([[0.0], np.cumsum(others)])
            behind = 0 if best else size - int(relevant.sum())
            rank = behind + np.arange(1, len(sums) + 1)
            h = weights.at(np.full(len(rank), population.query[i]), rank)
            ratio = (sums + worth[top].max() if best else sums + worth[top].min()) * h
            if self.mean:
                ratio = (ratio + np.concatenate([[0.0], np.cumsum(sums[1:] * h[:-1])])) / np.arange(1, len(sums) + 1)
            result[i] = ratio.max() if best else ratio.min()
        return result

    def formula(self, letters: dict[str, str]) -> str:
        name_letters(letters, self.gain_function, self.rel, self.beta)
        letters["p"] = "the rank of the first document of the best grade that the list has"
        return "the mean of BR(i) over the relevant documents at ranks i <= p" if self.mean else "BR(p)"


class _Tie(Record):
    """The tie that has the first document of the best grade."""

    size: int
    best: int  # documents of the best grade
    others: int  # other relevant ones
    preferred: float  # the numerator of one of the best
    other: float  # the numerators of the other relevant ones together
    above: float  # the numerator of what stands above the tie
    before: int  # relevant documents above it
    ratios: float  # their ratios added up

    def expected(self, h: Floats, mean: bool) -> float:
        """Return the mean over the orders of the tie. h: weights of the possible positions of the first of the best."""
        chance = first_place(self.size, self.best)
        j = np.arange(1, len(chance) + 1)
        rest = max(self.size - self.best, 1)
        at_preferred = h * (self.above + self.preferred + (j - 1) / rest * self.other)
        if not mean:
            return float(chance @ at_preferred)
        each = self.other / max(self.others, 1)
        # Of j - 1 documents above it, c are relevant: with h and (place - 1) h added up over their places.
        sums = np.cumsum(h) - h
        times = np.cumsum((j - 1) * h) - (j - 1) * h
        total = 0.0
        step = max(CELLS // (self.others + 1), 1)
        for start in range(0, len(j), step):
            part = slice(start, start + step)
            here = j[part]
            size, marked = np.full(len(here), self.size - self.best), np.full(len(here), self.others)
            shares, least = hypergeometric(size, marked, here - 1)
            c = least[:, None] + np.arange(shares.shape[1])
            taken, pairs = np.maximum(here - 1, 1)[:, None], np.maximum(here - 2, 1)[:, None]
            ratios = c / taken * ((self.above + each) * sums[part, None] + (c - 1) / pairs * each * times[part, None])
            last = h[part, None] * (self.above + self.preferred + c * each)
            means = (self.ratios + ratios + last) / (self.before + c + 1)
            total += float(chance[part] @ (shares * means).sum(axis=1))
        return total


def first_place(size: int, marked: int) -> Floats:
    """Return the probabilities that the first marked document is at position 1, 2, ... of a shuffle.

    >>> first_place(3, 2).round(3).tolist()
    [0.667, 0.333]
    """
    place = np.arange(1, size - marked + 1, dtype=np.float64)
    passing = np.concatenate([[1.0], np.cumprod((size - marked - place + 1) / (size - place + 1))])
    j = np.arange(1, size - marked + 2)
    return np.asarray(passing * marked / (size - j + 1))


def _where_relevant(lists: Lists, rel: float, score: Floats) -> Floats:
    return np.where(lists.pool.relevant(rel)[lists.query] > 0, score, np.nan)
