"""Functions of the attention that documents get, on average over the orders of their ties.

e   the share of the readers who look at a document: of rank i patience^(i - 1), less those whom a document above it
    satisfied; the mean over the orders of a tie
e*  its target: what it gets where documents of one grade are tied and better grades come first

Both are of the judged documents and of the unjudged ones that the list retrieves, which have grade 0, as those of a
grade below 0 do. So the score of a list depends on nothing that other systems retrieve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from calipers.lists import Floats, Groups, Ints, Lists, Pool, Population
from calipers.measures.forms.base import ComputationMethod, Exactness, Form, Traits
from calipers.measures.forms.cascade import IN_CACHE, in_parts, product_above
from calipers.measures.gains import Value
from calipers.native.columns import TieSpans
from calipers.native.scanner import rank_segments, symmetric_means
from calipers.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = 1e-18  # of the readers: ranks that fewer reach make no difference


class Readers(Record):
    """Readers of lists. They reach a rank with some probability, unless a document above it satisfied them.

    >>> Readers(0.5).between(np.array([0, 1]), np.array([1, 3])).tolist()
    [1.0, 0.75]
    """

    patience: float
    stop: Value | None = None  # the chance that a document satisfies; None: no document does

    def between(self, above: Ints, last: Ints, power: int = 1) -> Floats:
        """Return the sum of the shares of readers who reach the ranks from above + 1 to last.

        power: the exponent of the shares in the sum.
        """
        step = power * math.log(self.patience)
        start = self.patience ** (power * above.astype(np.float64))
        return np.asarray(start * np.expm1(step * (last - above)) / math.expm1(step))

    def mean(self, above: Ints, last: Ints) -> Floats:
        """Return the mean share of readers who reach the ranks from above + 1 to last, 0 for an empty range."""
        return np.where(last > above, self.between(above, last) / np.maximum(last - above, 1), 0.0)

    def stops(self, lists: Lists) -> Floats:
        """Return for each row the probability that its document satisfies a reader."""
        return np.zeros(len(lists.first)) if self.stop is None else lists.gains(self.stop)

    @property
    def sentence(self) -> str:
        stops = "" if self.stop is None else ", unless satisfied, which is likelier by a better grade"
        return f"Goes on from each document to the next with probability {self.patience:g}{stops}."

    @property
    def deepest(self) -> int:
        """The ranks below which hardly anybody comes."""
        return max(1, math.ceil(math.log(NOBODY) / math.log(self.patience)))


class AttentionGot(Record):
    """The attention that the documents of some lists get."""

    row: Floats  # each judged document
    list: Ints  # ties that hold unjudged documents: their list, how many these are, and what each of them gets
    count: Ints
    tied: Floats
    apart: Ints  # of each list: how many unjudged documents are in no tie, and the sums of what they get and its square
    total: Floats
    squares: Floats


def seen(lists: Lists, readers: Readers) -> AttentionGot:
    """Return the attention that each document gets.

    In a tie, a document has each rank with the same probability. With j documents of the tie above it, the share of
    readers who pass them is the mean product of (1 - stop) over j of the others.
    """
    return lists.once(("seen", readers), lambda: _seen(lists, readers))


def _seen(lists: Lists, readers: Readers) -> AttentionGot:
    groups, stop = lists.groups, readers.stops(lists)
    end = groups.before + groups.size
    passing = np.ones(len(groups))
    np.multiply.at(passing, groups.row_group, 1.0 - stop)
    reached = product_above(groups, passing)
    idle = reached * readers.mean(groups.before, end)  # attention if no document of the tie satisfies a reader
    row = idle[groups.row_group]
    mixed = (groups.count(stop > 0) > 0) & (groups.size > 1) & (reached > 0)
    if mixed.any():
        _fill_mixed(groups, stop, mixed, readers, reached, row, idle)
    others = groups.size - np.bincount(groups.row_group, minlength=len(groups))
    past, first, last, hidden = _hidden_ties(lists, groups, reached, passing)
    start = np.concatenate([[0], end[:-1]])  # of the unjudged documents right above each group
    start[np.append(True, groups.list[1:] != groups.list[:-1])[: len(start)]] = 0
    bottom, through = _ends(groups, end, reached * passing)
    outside = (
        lists.length
        - np.bincount(groups.list, groups.size, len(lists))
        - np.bincount(hidden, last - first + 1, len(lists))
    )

    def summed(power: int) -> Floats:
        gaps = groups.sum_by_list(reached**power * readers.between(start, groups.before, power))
        gaps += through**power * readers.between(bottom, lists.length, power)
        gaps -= np.bincount(hidden, past**power * readers.between(first - 1, last, power), len(lists))
        return np.maximum(gaps, 0.0)

    some = others > 0
    return AttentionGot(
        row=row,
        list=np.concatenate([groups.list[some], hidden]),
        count=np.concatenate([others[some], last - first + 1]),
        tied=np.concatenate([idle[some], past * readers.mean(first - 1, last)]),
        apart=outside.astype(np.int64),
        total=summed(1),
        squares=summed(2),
    )


def _ends(groups: Groups, end: Ints, passed: Floats) -> tuple[Ints, Floats]:
    """Return for each list the last rank of its last group, and the share of readers who go on after it."""
    bottom, through = np.zeros(len(groups.lists), np.int64), np.ones(len(groups.lists))
    bottom[groups.list], through[groups.list] = end, passed  # groups go down the list: the last one stays
    return bottom, through


def _hidden_ties(lists: Lists, groups: Groups, reached: Floats, passing: Floats) -> tuple[Floats, Ints, Ints, Ints]:
    """Return the ties of only unjudged documents: the share of readers who reach them, first and last rank, list."""
    ties = lists.all_ties
    if ties is None:
        none = np.zeros(0, np.int64)
        return np.zeros(0), none, none, none
    first, last = ties.first.astype(np.int64), ties.last.astype(np.int64)
    member = np.repeat(np.arange(len(lists)), np.diff(ties.offsets))
    far = int(lists.length.max(initial=0)) + 1
    key, mine = groups.list * far + groups.before, member * far + first - 1
    place = np.searchsorted(key, mine)
    known = np.append(key, -1)[place] == mine
    place, first, last, member = place[~known], first[~known], last[~known], member[~known]
    above = np.maximum(place - 1, 0)
    below_one = (place > 0) & (np.append(groups.list, -1)[above] == member)
    past = np.where(below_one, np.append(reached * passing, 1.0)[above], 1.0)
    return past, first, last, member


def _fill_mixed(
    groups: Groups,
    stop: Floats,
    mixed: NDArray[np.bool_],
    readers: Readers,
    reached: Floats,
    row: Floats,
    idle: Floats,
) -> None:
    """Fill in what the documents of ties get, and the unjudged ones among them, where some satisfy readers.

    Documents of one tie that satisfy alike get alike. For each such kind one of them is left out of the tie, and the
    others are what may stand above it.
    """
    hot = np.flatnonzero(mixed[groups.row_group] & (stop > 0))
    hot = hot[np.lexsort((stop[hot], groups.row_group[hot]))]
    group, chance = groups.row_group[hot], stop[hot]
    count = np.bincount(group, minlength=len(groups))
    start = np.cumsum(count) - count
    fresh = np.append(True, (np.diff(group) != 0) | (np.diff(chance) != 0))
    one = np.flatnonzero(fresh)
    cold = np.flatnonzero(mixed & (count < groups.size))
    of = np.concatenate([group[one], cold])  # the tie of each kind
    left_out = np.concatenate([one, np.full(len(cold), -1)])
    depth = np.minimum(groups.size[of], readers.deepest)
    got = np.empty(len(of))
    order = np.argsort(depth, kind="stable")  # alike depths together, so that little is padded
    for part in in_parts(order, depth[order], IN_CACHE):
        owner = np.repeat(np.arange(len(part)), count[of[part]])
        above = start[of[part]][owner] + _counted(count[of[part]])
        kept = above != left_out[part][owner]
        members = np.bincount(owner[kept], minlength=len(part))
        ranks = np.arange(int(depth[part].max()))
        size = groups.size[of[part]]
        begins = np.cumsum(members) - members
        through = symmetric_means(size - 1, begins, members, chance[above[kept]], len(ranks) - 1)
        through = np.where(ranks < depth[part, None], through * readers.patience**ranks, 0.0)
        # Added up rank by rank: a sum in pairs would round by the width of the block, so by the other lists in it.
        got[part] = np.cumsum(through, axis=1)[:, -1] / size
    got *= (reached * readers.patience ** groups.before.astype(np.float64))[of]
    idle[cold] = got[len(one) :]
    tied = mixed[groups.row_group]
    row[tied] = idle[groups.row_group[tied]]
    row[hot] = got[np.cumsum(fresh) - 1]


def _counted(sizes: Ints) -> Ints:
    """Return 0, 1, ... for each of these sizes."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


class AttentionWanted(Record):
    """The target of the judged documents of each query, before any unjudged one is added."""

    row: Floats  # of each row of the pool with a grade above 0; 0 of the others
    relevant: Ints  # of each query: documents of such grades
    squares: Floats  # of each query: the sum of their squared targets
    past: Floats  # of each query: the share of readers whom none of them satisfies, had they patience without end

    def of_others(self, query: Ints, others: Ints, readers: Readers) -> Floats:
        """Return the target of each of `others` documents of grade 0, which are tied below all relevant documents."""
        above = self.relevant[query]
        return np.asarray(self.past[query] * readers.mean(above, above + others))


def wanted(pool: Pool, readers: Readers) -> AttentionWanted:
    return pool.once(("wanted", readers), lambda: _wanted(pool, readers))


def _wanted(pool: Pool, readers: Readers) -> AttentionWanted:
    chosen = np.flatnonzero(pool.grade > 0)
    offsets = np.searchsorted(chosen, pool.offsets)
    order, first, last = rank_segments(pool.grade[chosen], offsets)
    relevant = np.diff(offsets)
    lists = Lists(pool, np.arange(pool.queries), relevant, offsets, chosen[order], first, last)
    row = np.zeros(len(pool.grade))
    row[lists.document] = seen(lists, readers).row
    past = np.ones(pool.queries)
    np.multiply.at(past, lists.list, 1.0 - readers.stops(lists))
    return AttentionWanted(row, relevant, pool.sum(row**2), past)


def targets(pool: Pool, readers: Readers) -> Floats:
    """Return the target of each row of a pool that contains all documents."""
    target = wanted(pool, readers)
    least = target.of_others(np.arange(pool.queries), pool.size - target.relevant, readers)
    return np.where(pool.grade > 0, target.row, least[pool.query])


# Of a document that gets e and should get e*.
TERMS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "relevance": lambda e, target: e * target,
    "disparity": lambda e, target: e**2,
    "loss": lambda e, target: (e - target) ** 2,
}
Sum = Literal["loss", "disparity", "relevance"]
SUMS: tuple[Sum, ...] = ("loss", "disparity", "relevance")
FORMULAS = {"relevance": "sum of e e*", "disparity": "sum of e^2", "loss": "sum of (e - e*)^2"}


class ExposureSum(Form):
    """A sum over documents of a function of the mean attention that they get and of their target.

    e e* is linear in e, so that its sum is the mean over the orders of ties. The squares are taken of the mean: a tie,
    and a random ranking, which is one tie, gets the score of the attention that its documents get on average.
    """

    sum: Sum
    readers: Readers

    def score(self, lists: Lists) -> Floats:
        got, target = seen(lists, self.readers), wanted(lists.pool, self.readers)
        relevant = lists.grade > 0
        judged = np.diff(lists.offsets)
        others = lists.pool.size[lists.query] - target.relevant[lists.query]  # judged, of grade 0 or below
        least = target.of_others(lists.query, others + lists.length - judged, self.readers)
        term = TERMS[self.sum]
        found = lists.sum(term(got.row, np.where(relevant, target.row[lists.document], least[lists.list])))
        found += np.bincount(got.list, got.count * term(got.tied, least[got.list]), len(lists))
        if self.sum == "relevance":
            return np.asarray(found + got.total * least)
        found += got.squares
        if self.sum == "disparity":
            return np.asarray(found)
        found += got.apart * least**2 - 2 * got.total * least
        here = lists.count(relevant)
        missed = target.squares[lists.query] - lists.sum(np.where(relevant, target.row[lists.document] ** 2, 0.0))
        found += np.where(here < target.relevant[lists.query], np.maximum(missed, 0.0), 0.0)
        return np.maximum(found + (others - judged + here) * least**2, 0.0)

    @property
    def traits(self) -> Traits:
        squared = self.sum != "relevance"
        return Traits(lower_is_better=squared, averages_attention=squared)

    # -- the best and the worst ---------------------------------------------------------------------------

    @property
    def _by_rank(self) -> bool:
        return self.readers.stop is None

    def exactness(self, population: Population | None = None) -> Exactness:
        """Return how bounds are found.

        Without a cascade, all that is ranked gets the same attention in all, so that equal shares have the least
        squares, and any single order the largest. A cascade gives the more attention the later it stops: the squares
        are largest where documents come in that order. No other extreme is known for it but a distance of 0.
        """
        closed = self._by_rank or self.sum == "relevance"
        ideal: ComputationMethod = "exact" if closed else "sorted"
        worst = ideal
        if population is not None and self.sum == "loss":
            whole = bool((population.judged == population.pool.size[population.query]).all())
            ideal = "exact" if whole else "sorted"  # documents outside the set have a target too
        if population is not None and self.sum == "disparity":
            worst = "exact"
        return Exactness(ideal=ideal, worst=worst, has_variance=self._has_variance)

    @property
    def _has_variance(self) -> bool:
        return self.sum == "relevance" and self._by_rank

    def extreme_order(self, population: Population, best: bool) -> Lists:
        if self.sum == "relevance":
            return self._sorted(population, best)
        if not best:
            return population.worst_first(self.gain)
        return population.shuffled if self.sum == "disparity" else target_order(population)

    def ideal(self, population: Population) -> Floats:
        if self.sum == "disparity" and not self._by_rank:  # the better of two that are good
            return np.minimum(self.score(population.shuffled), self.score(target_order(population)))
        return super().ideal(population)

    def _sorted(self, population: Population, best: bool) -> Lists:
        """Return lists sorted by e* / (1 - x), where x is the probability to go on after the document.

        Of two neighbours, the one with the larger value comes first in the best order: then e*_1 + x_1 e*_2 is at least
        e*_2 + x_2 e*_1, independent of the documents above and below.
        """
        aim, least = self._targets(population)
        stop, unjudged = self.readers.stops(population.shuffled), population.size - population.judged
        sign = 1.0 if best else -1.0
        key = sign * aim / (1.0 - self.readers.patience * (1.0 - stop))
        middle = sign * least / (1.0 - self.readers.patience)  # of unjudged documents
        order, _, _ = rank_segments(key, population.offsets)
        rank = np.arange(1, len(order) + 1) - np.repeat(population.offsets[:-1], population.judged)
        rank += np.where(key[order] < np.repeat(middle, population.judged), np.repeat(unjudged, population.judged), 0)
        return _ranked(population, order, rank, rank)

    def _targets(self, population: Population) -> tuple[Floats, Floats]:
        """Return the targets of the judged documents of each set, and the target of its unjudged documents."""
        target, query = wanted(population.pool, self.readers), population.query
        others = population.pool.size[query] - target.relevant[query] + population.size - population.judged
        least = target.of_others(query, others, self.readers)
        aim = np.where(population.grade > 0, target.row[population.document], np.repeat(least, population.judged))
        return aim, least

    def variance(self, population: Population) -> Floats | None:
        """Return the variance of a sum of weights of ranks times targets, as for `Linear`."""
        if not self._has_variance:
            return None
        (aim, least), n = self._targets(population), population.size
        unjudged, member = n - population.judged, np.repeat(np.arange(len(n)), population.judged)
        mean = (np.bincount(member, aim, len(n)) + unjudged * least) / np.maximum(n, 1)
        spread = np.bincount(member, (aim - mean[member]) ** 2, len(n)) + unjudged * (least - mean) ** 2
        top = np.zeros_like(n)
        weights = n * self.readers.between(top, n, 2) - self.readers.between(top, n) ** 2
        return np.asarray(np.where(n > 1, spread * np.maximum(weights, 0.0) / np.maximum(n * (n - 1.0), 1.0), 0.0))

    # -- words -----------------------------------------------------------------------------------------------

    def formula(self, letters: dict[str, str]) -> str:
        letters["e"] = "the attention that a document gets, the mean over the orders of its tie"
        letters["e*"] = "what it gets where documents of one grade are tied and better grades come first"
        return f"{FORMULAS[self.sum]} over documents judged or retrieved"


def target_order(population: Population) -> Lists:
    """Return lists sorted by grade, with ties between documents of one grade. Unjudged documents have grade 0."""
    return population.once("target order", lambda: _target_order(population))


def _target_order(population: Population) -> Lists:
    order, first, last = rank_segments(np.maximum(population.grade, 0.0), population.offsets)
    last = np.where(population.grade[order] > 0, last, np.repeat(population.size, population.judged))
    lists = _ranked(population, order, first, last)
    relevant = lists.count(lists.grade > 0)
    several = population.size - relevant > 1  # which are tied, whether one of them is judged or not
    lowest = TieSpans(np.append(0, np.cumsum(several)), relevant[several] + 1, population.size[several])
    return replace(lists, all_ties=lowest)


def _ranked(population: Population, order: Ints, first: Ints, last: Ints) -> Lists:
    """Return lists of the documents of each set in this order, at these ranks."""
    document = population.document[order]
    return Lists(population.pool, population.query, population.size, population.offsets, document, first, last)
