"""What a ranking tells about the judgments, in bits.

    RIC = c lg(2c / (c + d)) + d lg(2d / (c + d))

Of the pairs of judged documents with different grades, c is the share that the ranking has in the right order, d the
share in the wrong one; of the others it shows neither document. A shown document stands above a missing one. The list
is condensed (judged documents only, a grade below 0 being none) and cut after the last relevant one.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from __future__ import annotations

from calipers.errors import CalipersError
from calipers.lazy import numpy as np
from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form
from calipers.measures.random_rankings import sampled_error, sampled_mean
from calipers.measures.registry import measure
from calipers.record import Record


@measure("RIC", rel=1, signed=False)
def relevance_information_correlation(rel: float, signed: bool) -> Form:
    """Relevance information correlation: how many bits the order of two documents tells about which is the better one.

    Drawn are pairs of judged documents with different grades; c is the share that stands in the right order, d the
    share in the wrong one, a document that is shown standing above one that is not.

    Known weaknesses: it rewards disorder as much as order. A list with every pair the wrong way round scores 1, like
    the perfect one, and the cut after the last relevant document does not prevent it; RIC(signed=True) counts such
    lists below 0. A list with half of its pairs in order scores 0, whichever half that is. Ranks do not matter, so that
    it suits the search for everything rather than the top of a list, and a query with few judged pairs says little.
    With several grades below rel the cut hides how well those are ordered.
    """
    if not isinstance(signed, bool):
        raise CalipersError(f"signed={signed} of 'RIC' is neither True nor False")
    return PairInformation(rel, signed)


class PairInformation(Form):
    """The information that the order of a pair carries about the judgments; with a sign, minus for the wrong order.

    Of a pair inside a tie, half is in the right order and half in the wrong one; RIC is taken of these counts. So a
    list in one tie scores 0, while the mean score of its orders, which is what a random ranking is expected to get, is
    above 0: that is sampled.
    """

    rel: float
    signed: bool = False
    reads_judged_only = True

    @property
    def exactness(self) -> Exactness:
        return "sampled"

    @property
    def extremes(self) -> Exactness:
        return "sorted"

    @property
    def can_be_negative(self) -> bool:
        return self.signed

    @property
    def ties(self) -> str:
        return "a tied pair is half in the right and half in the wrong order; what random rankings score is sampled"

    @property
    def reader(self) -> str:
        return "None: a pair of judged documents is drawn, and the list is asked which one is the better."

    def score(self, lists: Lists) -> Floats:
        pairs = lists.once(("ordered pairs", self.rel), lambda: ordered_pairs(lists, self.rel))
        bits = order_information(pairs.concordant, pairs.discordant)
        if self.signed:
            bits = np.copysign(bits, pairs.concordant - pairs.discordant)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(pairs.all > 0, bits / pairs.all + 0.0, np.nan)

    def ideal(self, population: Population) -> Floats:
        """All documents in order: 1 for a whole pool. Without a sign, the reverse where that tells more.

        Exact where all documents below rel are of one grade.
        """
        if self.signed:
            return super().ideal(population)
        return population.once(("ideal", self), lambda: np.maximum(*self._ends(population)))

    def worst(self, population: Population) -> Floats:
        """With a sign, the reverse: -1 for a whole pool. Without one, half of the pairs in order: 0, or a little more
        where their number is odd. Where a set of retrieved documents has no such order, the end that tells less.
        """
        if self.signed:
            return super().worst(population)
        return population.once(("worst", self), lambda: self._balanced(population))

    def expected(self, population: Population) -> Floats:
        """The mean over drawn rankings."""
        return sampled_mean(self, population)

    def expected_error(self, population: Population) -> Floats:
        return sampled_error(self, population)

    def _ends(self, population: Population) -> tuple[Floats, Floats]:
        return super().ideal(population), self.score(population.worst_first(self.worth))

    def _balanced(self, population: Population) -> Floats:
        best, reverse = self._ends(population)
        high, low = (
            ordered_pairs(order(self.worth), self.rel) for order in (population.best_first, population.worst_first)
        )
        crossed = (high.concordant >= high.discordant) & (low.concordant <= low.discordant)
        # The number of pairs in the wrong order takes all values between those of the two ends.
        whole = population.judged == population.pool.size[population.query]
        half = high.all // 2
        with np.errstate(divide="ignore", invalid="ignore"):
            nearest = np.where(whole, order_information(high.all - half, half) / high.all, 0.0)
        return np.where(np.isnan(best), np.nan, np.where(crossed, nearest, np.minimum(best, reverse)))


class OrderedPairs(Record):
    """Of each list: how many pairs of documents of different grades it has in the right and in the wrong order."""

    concordant: Floats
    discordant: Floats
    all: Floats  # of the query; 0 where no order of its documents could tell anything


def order_information(one: Floats, other: Floats) -> Floats:
    """one lg(2 one / (one + other)) + other lg(2 other / (one + other)): 0 where both are the same.

    >>> order_information(np.array([5.0, 3.0, 0.0]), np.array([1.0, 3.0, 6.0])) / 6
    array([0.34997758, 0.        , 1.        ])
    """
    total = one + other
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            np.where(one > 0, one * np.log2(2 * one / total), 0.0)
            + np.where(other > 0, other * np.log2(2 * other / total), 0.0)
        )


def ordered_pairs(lists: Lists, rel: float) -> OrderedPairs:
    """Count the pairs of each list, a pair inside a tie half each way.

    With kept documents x, lower(x) and higher(x) counting the worse and the better ones of the whole pool, and every
    kept document above every missing one: c = sum of lower(x) - w, d = sum of higher(x) - k + w, where k pairs of kept
    documents have different grades and w of them stand in the wrong order.
    """
    pool = lists.pool
    known = pool.once("grade levels", lambda: GradeLevels.of(pool))
    shown = until_last_relevant(lists, rel)
    level = known.level[shown.document]
    kept = _unlike_pairs(shown.list, level, len(shown))
    wrong = _in_wrong_order(shown, level)
    if shown.tied:
        groups = shown.groups
        wrong += groups.sum_by_list(_unlike_pairs(groups.row_group, level, len(groups))) / 2
    defined = (pool.count((pool.grade >= rel) & (pool.grade >= 0)) > 0)[lists.query]
    return OrderedPairs(
        concordant=shown.sum(known.lower[shown.document]) - wrong,
        discordant=shown.sum(known.higher[shown.document]) - kept + wrong,
        all=np.where(defined, known.pairs[lists.query], 0.0),
    )


def until_last_relevant(lists: Lists, rel: float) -> Lists:
    """Judged documents down to the last relevant one; what is tied with it stays."""
    relevant = (lists.grade >= rel) & (lists.grade >= 0)
    last = np.zeros(len(lists), lists.first.dtype)
    last[lists.list[relevant]] = lists.first[relevant]  # rows go down the list: the last one stays
    return lists.where((lists.grade >= 0) & (lists.first <= last[lists.list]))


class GradeLevels(Record):
    """Of each row of a pool: its grade as a level from 0, and how many documents of its query are worse and better."""

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


def _unlike_pairs(group: Ints, level: Ints, groups: int) -> Floats:
    """Of each group of rows: the pairs of rows with different levels."""
    levels = int(level.max(initial=0)) + 1
    size = np.bincount(group, minlength=groups).astype(np.float64)
    kind, count = np.unique(group.astype(np.int64) * levels + level, return_counts=True)
    alike = np.bincount(kind // levels, count.astype(np.float64) ** 2, groups)
    return np.asarray((size**2 - alike) / 2)


def _in_wrong_order(lists: Lists, level: Ints) -> Floats:
    """Of each list: the pairs in which a row of a lower level stands above one of a higher level.

    Bit by bit of the level: two levels differ first in one bit, where the lower one has a 0; so rows whose higher bits
    agree are brought together, and above each 1 the 0s are counted.
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
