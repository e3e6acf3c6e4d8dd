"""Information that a ranking gives about the judgments, in bits.

    RIC = c lg(2c / (c + d)) + d lg(2d / (c + d))

c is the share of pairs of judged documents with different grades that the ranking has in the right order, and d is the
share in the wrong order. The list contains neither document of the remaining pairs. A retrieved document ranks above a
missing one. The list is condensed (judged documents only; a grade below 0 means unjudged) and cut after the last
relevant document. With cut=none it is not cut.

Pairs may have weights. Then c and d are shares of the total weight:

    weight=uniform   the same weight for all pairs, as in the paper
    weight=gain      the absolute difference of the grades
    weight=top       p^(rank - 1) of the higher document in the condensed list, so that pairs at the top count most; a
                     pair that the list does not contain has weight 0, so that missing documents cost nothing

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form, Traits
from calipers.measures.parameters import PERSISTENCE, REL, Parameter
from calipers.measures.random_rankings import sampled_mean
from calipers.measures.registry import measure
from calipers.support.record import Record

WEIGHTS = ("uniform", "gain", "top")
CUTS = ("relevant", "none")
SIGNED = Parameter("Score a ranking with more pairs in the wrong order than in the right one below 0.", "flag", False)
PAIR_WEIGHT = Parameter(
    "The weight of a pair: 1 (uniform), the difference of the grades (gain), or p^(rank - 1) of the higher document "
    "(top).",
    "word",
    "uniform",
    WEIGHTS,
)
TOP_PERSISTENCE = PERSISTENCE.changed(
    meaning="With weight=top, the probability that a reader goes on to the next document.", least=None, above=0
)
CUT = Parameter(
    "Cut the list after its last relevant document (relevant), or not at all (none).", "word", "relevant", CUTS
)


@measure("RIC", rel=REL, signed=SIGNED, weight=PAIR_WEIGHT, p=TOP_PERSISTENCE, cut=CUT)
def relevance_information_correlation(rel: float, signed: bool, weight: str, p: float, cut: str) -> Form:
    """Relevance information correlation: the bits that the order of two documents gives about which one is better.

    c is the share of pairs of judged documents with different grades that are in the right order, and d is the share in
    the wrong order. A retrieved document ranks above a missing one.

    Known weaknesses: RIC rewards disorder as much as order. A list with all pairs in the wrong order scores 1, like the
    perfect list, and the cut after the last relevant document does not prevent this; RIC(signed=True) gives such lists
    negative scores. A list with half of its pairs in order scores 0. Ranks do not matter, so RIC suits searches for all
    relevant documents rather than the top of a list. A query with few judged pairs gives little information. With
    several grades below rel, the cut hides their order; cut=none does not cut. weight=gain weights pairs by the
    difference of their grades. weight=top (with p) weights pairs by rank, and no longer rewards recall.
    """
    if weight == "uniform":
        return PairInformation(rel, signed, cut)
    return WeightedPairInformation(rel, signed, cut, weight, float(p))


class PairInformation(Form, final=False):
    """The information that the order of a pair carries about the judgments; with a sign, minus for the wrong order.

    Of a pair inside a tie, half is in the right order and half in the wrong one; RIC is taken of these counts. So a
    list in one tie scores 0, while the mean score of its orders, which is what a random ranking is expected to get, is
    above 0: that is sampled.
    """

    rel: float
    signed: bool = False
    cut: str = "relevant"  # lists are cut after the last relevant document, or not at all (none)

    @property
    def kept(self) -> float:
        """The grade of the document after which a list is cut. No judged document has one below 0."""
        return self.rel if self.cut == "relevant" else 0.0

    def exactness(self, population: Population | None = None) -> Exactness:
        return Exactness(ideal="sorted", worst="sorted", expected="sampled")

    @property
    def traits(self) -> Traits:
        return Traits(can_be_negative=self.signed, ignores_unjudged=True)

    def pairs(self, lists: Lists) -> OrderedPairs:
        return lists.once(("ordered pairs", self.rel, self.cut), lambda: ordered_pairs(lists, self.rel, self.kept))

    def score(self, lists: Lists) -> Floats:
        pairs = self.pairs(lists)
        bits = order_information(pairs.concordant, pairs.discordant)
        if self.signed:
            bits = np.copysign(bits, pairs.concordant - pairs.discordant)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(pairs.all > 0, bits / pairs.all + 0.0, np.nan)

    def ideal(self, population: Population) -> Floats:
        """Return the score of the sorted documents: 1 for a whole pool. Unsigned, the reverse order may score more.

        It is exact if all documents below rel have the same grade.
        """
        if self.signed:
            return super().ideal(population)
        return population.once(("ideal", self), lambda: np.maximum(*self._ends(population)))

    def worst(self, population: Population) -> Floats:
        """Return the score of the worst order.

        Signed, it is the reverse order, with -1 for a whole pool. Unsigned, it has half of the pairs in order: 0, or a
        little more if their number is odd. If retrieved documents have no such order, it is the smaller score of the
        sorted and the reverse order.
        """
        if self.signed:
            return super().worst(population)
        return population.once(("worst", self), lambda: self._balanced(population))

    def expected(self, population: Population) -> Floats:
        """Return the mean over sampled rankings."""
        return sampled_mean(self, population)

    def _ends(self, population: Population) -> tuple[Floats, Floats]:
        return super().ideal(population), self.score(population.worst_first(self.gain))

    def _balanced(self, population: Population) -> Floats:
        best, reverse = self._ends(population)
        high, low = (
            ordered_pairs(order(self.gain), self.rel, self.kept)
            for order in (population.best_first, population.worst_first)
        )
        crossed = (high.concordant >= high.discordant) & (low.concordant <= low.discordant)
        # The number of pairs in the wrong order takes all values between those of the two ends.
        whole = population.judged == population.pool.size[population.query]
        half = high.all // 2
        with np.errstate(divide="ignore", invalid="ignore"):
            nearest = np.where(whole, order_information(high.all - half, half) / high.all, 0.0)
        return np.where(np.isnan(best), np.nan, np.where(crossed, nearest, np.minimum(best, reverse)))


class WeightedPairInformation(PairInformation):
    """Information about pairs of documents, with a weight for each pair."""

    weight: str = "gain"
    p: float = 0.8

    def pairs(self, lists: Lists) -> OrderedPairs:
        key = ("weighted pairs", self.rel, self.cut, self.weight, self.p)
        if self.weight == "gain":
            return lists.once(key, lambda: gain_weighted_pairs(lists, self.rel, self.kept))
        return lists.once(key, lambda: top_weighted_pairs(lists, self.rel, self.kept, self.p))

    def _balanced(self, population: Population) -> Floats:
        """Return 0. No order scores less, and the order that comes nearest is not known."""
        best = super().ideal(population)
        return np.where(np.isnan(best), np.nan, 0.0)


class OrderedPairs(Record):
    """The number of pairs of documents of different grades in the right and in the wrong order, per list."""

    concordant: Floats
    discordant: Floats
    all: Floats  # of the query; 0 where no order of its documents could tell anything


def order_information(one: Floats, other: Floats) -> Floats:
    """Return one lg(2 one / (one + other)) + other lg(2 other / (one + other)), which is 0 if both are the same.

    >>> order_information(np.array([5.0, 3.0, 0.0]), np.array([1.0, 3.0, 6.0])) / 6
    array([0.34997758, 0.        , 1.        ])
    """
    total = one + other
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            np.where(one > 0, one * np.log2(2 * one / total), 0.0)
            + np.where(other > 0, other * np.log2(2 * other / total), 0.0)
        )


def ordered_pairs(lists: Lists, rel: float, kept: float) -> OrderedPairs:
    """Count the pairs of each list, a pair inside a tie half each way.

    With kept documents x, lower(x) and higher(x) counting the worse and the better ones of the whole pool, and every
    kept document above every missing one: c = sum of lower(x) - w, d = sum of higher(x) - k + w, where k pairs of kept
    documents have different grades (`unlike`) and w of them stand in the wrong order.
    """
    pool = lists.pool
    known = pool.once("grade levels", lambda: GradeLevels.of(pool))
    shown = until_last(lists, kept)
    level = known.level[shown.document]
    unlike = _unlike_pairs(shown.list, level, len(shown))
    wrong = _in_wrong_order(shown, level)
    if shown.tied:
        groups = shown.groups
        wrong += groups.sum_by_list(_unlike_pairs(groups.row_group, level, len(groups))) / 2
    defined = _defined(pool, rel)[lists.query]
    return OrderedPairs(
        concordant=shown.sum(known.lower[shown.document]) - wrong,
        discordant=shown.sum(known.higher[shown.document]) - unlike + wrong,
        all=np.where(defined, known.pairs[lists.query], 0.0),
    )


def gain_weighted_pairs(lists: Lists, rel: float, kept: float) -> OrderedPairs:
    """Return pairs weighted by the difference of their grades. A pair inside a tie counts half in each order.

    Document x ranks above n worse documents y with the total weight grade(x) n - sum of grade(y). These are all worse
    documents of the pool without those above x or in its tie.
    """
    pool = lists.pool
    known = pool.once("grade levels", lambda: GradeLevels.of(pool))
    lower, higher = pool.once("sums of grades", lambda: known.sums(pool))
    shown = until_last(lists, kept)
    level, grade = known.level[shown.document], shown.grade
    right, wrong, inside_ties = np.zeros(len(shown)), np.zeros(len(shown)), np.zeros(len(shown))
    for better, of_pool, count, total in ((1.0, lower, known.lower, right), (-1.0, higher, known.higher, wrong)):
        own = level if better > 0 else -level
        below = [count[shown.document] - _worse_above(shown, own, None, True)]
        below.append(of_pool[shown.document] - _worse_above(shown, own, grade, True))
        total += shown.sum(better * (grade * below[0] - below[1]))
    if shown.tied:
        for values, sign in ((None, 1.0), (grade, -1.0)):
            apart = _worse_above(shown, level, values, True) - _worse_above(shown, level, values, False)
            inside_ties += shown.sum(sign * (grade * apart if values is None else apart))
    weight = pool.sum(np.where(pool.grade >= 0, pool.grade * known.lower - lower, 0.0))
    return OrderedPairs(
        right + inside_ties / 2, wrong + inside_ties / 2, np.where(_defined(pool, rel), weight, 0.0)[lists.query]
    )


def top_weighted_pairs(lists: Lists, rel: float, kept: float, p: float) -> OrderedPairs:
    """Return pairs weighted by p^(rank - 1) of the higher document, averaged over the ranks of its tie.

    The weight of two documents of one tie of m is the mean over the positions of the higher one. It is the r-th of the
    tie in m - r of the m (m - 1) / 2 pairs of positions.
    """
    pool = lists.pool
    known = pool.once("grade levels", lambda: GradeLevels.of(pool))
    shown = until_last(lists, kept)
    level = known.level[shown.document]
    groups = shown.groups
    size = groups.count(np.ones(len(level), bool))  # judged documents only: the list is condensed
    before = groups.above(size)
    # Means over the ranks of a tie, from sums of p^r and of r p^r.
    with np.errstate(under="ignore"):
        share = (1 - p**size) / (1 - p)
        alone = p**before * share / size
        moment = (1 - (size + 1) * p**size + size * p ** (size + 1)) / (1 - p) ** 2  # of r p^(r - 1)
        pairs = np.maximum(size * (size - 1) / 2, 1.0)
        together = p**before * (size * share - moment) / pairs
    own = alone[groups.row_group]
    right = shown.sum(own * (known.lower[shown.document] - _worse_above(shown, level, None, True)))
    wrong = shown.sum(own * (known.higher[shown.document] - _worse_above(shown, -level, None, True)))
    inside_ties = groups.sum_by_list(together * _unlike_pairs(groups.row_group, level, len(groups)))
    total = right + wrong + inside_ties
    # A list that shows nothing tells nothing: its weight is that of nothing, and its score 0.
    weight = np.where(_defined(pool, rel)[lists.query] & (known.pairs[lists.query] > 0), np.maximum(total, 1e-300), 0.0)
    return OrderedPairs(right + inside_ties / 2, wrong + inside_ties / 2, weight)


def _defined(pool: Pool, rel: float) -> Any:
    """Return True for queries with a relevant document."""
    return pool.count((pool.grade >= rel) & (pool.grade >= 0)) > 0


def until_last(lists: Lists, kept: float) -> Lists:
    """Return the judged documents down to the last one of at least this grade. What is tied with it stays."""
    relevant = (lists.grade >= kept) & (lists.grade >= 0)
    last = np.zeros(len(lists), lists.first.dtype)
    last[lists.list[relevant]] = lists.first[relevant]  # rows go down the list: the last one stays
    return lists.where((lists.grade >= 0) & (lists.first <= last[lists.list]))


class GradeLevels(Record):
    """Per row of a pool: its grade as a level from 0, and the numbers of worse and better documents of its query."""

    level: Ints
    lower: Floats
    higher: Floats
    pairs: Floats  # of each query: pairs of documents of different grades

    @classmethod
    def of(cls, pool: Pool) -> GradeLevels:
        _, level = np.unique(pool.grade, return_inverse=True)
        level = level.reshape(-1)
        rows = np.lexsort((level, pool.query))
        rows = rows[pool.grade[rows] >= 0]
        query, ordered = pool.query[rows], level[rows]
        ends = np.cumsum(np.bincount(query, minlength=pool.queries))
        starts = np.concatenate([[0], ends[:-1]])
        fresh = np.ones(len(rows), bool)
        fresh[1:] = (ordered[1:] != ordered[:-1]) | (query[1:] != query[:-1])
        run = np.cumsum(fresh) - 1
        bounds = np.append(np.flatnonzero(fresh), len(rows))
        lower, higher = np.zeros(len(level)), np.zeros(len(level))
        lower[rows] = bounds[run] - starts[query]
        higher[rows] = ends[query] - bounds[run + 1]
        return cls(level, lower, higher, pool.sum(lower))

    def sums(self, pool: Pool) -> tuple[Floats, Floats]:
        """Return per row of the pool the sums of the grades of the worse and of the better documents of its query."""
        rows = np.lexsort((self.level, pool.query))
        rows = rows[pool.grade[rows] >= 0]
        query = pool.query[rows]
        total = np.concatenate([[0.0], np.cumsum(pool.grade[rows])])
        starts = np.searchsorted(query, np.arange(pool.queries))
        ends = np.searchsorted(query, np.arange(pool.queries), "right")
        lower, higher = np.zeros(len(self.level)), np.zeros(len(self.level))
        at = starts[query] + self.lower[rows].astype(np.int64)
        lower[rows] = total[at] - total[starts[query]]
        at = ends[query] - self.higher[rows].astype(np.int64)
        higher[rows] = total[ends[query]] - total[at]
        return lower, higher


def _unlike_pairs(group: Ints, level: Ints, groups: int) -> Floats:
    """Return for each group of rows the number of pairs of rows with different levels."""
    levels = int(level.max(initial=0)) + 1
    size = np.bincount(group, minlength=groups).astype(np.float64)
    kind, count = np.unique(group.astype(np.int64) * levels + level, return_counts=True)
    alike = np.bincount(kind // levels, count.astype(np.float64) ** 2, groups)
    return np.asarray((size**2 - alike) / 2)


def _worse_above(lists: Lists, level: Ints, values: Floats | None, tied: bool) -> Floats:
    """Return for each row the number of rows of a lower level above it, or the sum of their values.

    With `tied`, rows of the same tie count as well. The method is that of `_in_wrong_order`, row by row.
    """
    member = lists.list.astype(np.int64)
    level = level - level.min(initial=0)
    order = np.lexsort((level if tied else -level, lists.first, member))
    level, worth = level[order], np.ones(len(level)) if values is None else values[order]
    found = np.zeros(len(level))
    for bit in reversed(range(int(level.max(initial=0)).bit_length())):
        together = (member << 32) | (level >> (bit + 1))
        by = np.argsort(together, kind="stable")
        together, ones = together[by], (level[by] >> bit) & 1
        zeros = np.concatenate([[0.0], np.cumsum((1 - ones) * worth[by])])
        fresh = np.ones(len(by), bool)
        fresh[1:] = together[1:] != together[:-1]
        start = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
        found[by] += ones * (zeros[:-1] - zeros[start])
    placed = np.empty_like(found)
    placed[order] = found
    return placed


def _in_wrong_order(lists: Lists, level: Ints) -> Floats:
    """Return for each list the number of pairs with a row of a lower level above one of a higher level.

    The levels are compared bit by bit. In the first bit in which two levels differ, the lower one has a 0. So rows with
    the same higher bits are grouped, and the 0s above each 1 are counted.
    """
    member = lists.list.astype(np.int64)
    if lists.tied:  # inside a tie nothing stands above anything: best first
        level = level[np.lexsort((-level, lists.first, member))]
    wrong = np.zeros(len(lists))
    for bit in reversed(range(int(level.max(initial=0)).bit_length())):
        together = (member << 32) | (level >> (bit + 1))
        order = np.argsort(together, kind="stable")
        together, ones = together[order], (level[order] >> bit) & 1
        zeros = np.concatenate([[0], np.cumsum(1 - ones)])
        fresh = np.ones(len(order), bool)
        fresh[1:] = together[1:] != together[:-1]
        start = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
        wrong += np.bincount(member[order], ones * (zeros[:-1] - zeros[start]), len(lists))
    return wrong
