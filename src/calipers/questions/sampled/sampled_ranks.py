"""Ranks of relevant items among sampled irrelevant ones.

All R relevant items of a query and m of its N - R irrelevant ones are ranked together. The j-th relevant item, with a
irrelevant items above it in the full ranking, gets the rank j + X in the sampled one. X is hypergeometric
(N - R, a, m), or binomial (m, a / (N - R)) where items are drawn with replacement.

The order of the relevant items never changes. So each of these measures is a sum over places j of a coefficient, which
depends on the order of the relevant items alone, times a weight of the rank:

    sum over j of c_j * w(j + X_j)

In a tie of p relevant and n irrelevant items, the order of the relevant items and the places that they take are
independent. So the expected score is the sum of E[c_j] * E[w(j + X_j)]; the number of irrelevant items of the tie above
its i-th relevant item is negative hypergeometric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.forms import Cascade, Form, JudgedPairs, Linear, Paired, Peak, Share
from calipers.measures.gains import AtLeast, Value, as_gain
from calipers.measures.hypergeometric import hypergeometric
from calipers.measures.weights import Weights
from calipers.support.record import Record

CELLS = 1 << 21  # of a work matrix: larger blocks are done in parts


@dataclass(frozen=True, eq=False)
class SampledRanks:
    """The relevant items of each list, and how many irrelevant items stand above them: one row per relevant item.

    Every list has all relevant items of its query, from the top down.
    """

    ranking: Lists  # the relevant items alone, ties averaged: their places count relevant items only
    irrelevant: Ints  # N - R of each row
    above: Ints  # irrelevant items above the tie of each row
    within: Ints  # irrelevant items in the tie
    share: Floats | None = None  # of what is drawn, the part above each row, where items differ in probability
    masses: tuple[Floats, ...] = ()  # of each list, the probability of each irrelevant item by rank, where they differ

    @cached_property
    def place(self) -> Ints:
        """The place of each row among the relevant items of its list, from 1."""
        return np.arange(len(self.above)) - self.ranking.offsets[:-1][self.ranking.list] + 1

    @cached_property
    def tied(self) -> Ints:
        """The number of relevant items in the tie of each row."""
        return np.asarray(self.ranking.last - self.ranking.first + 1)

    @cached_property
    def turn(self) -> Ints:
        """The place of each row among the relevant items of its tie, from 1."""
        return np.asarray(self.place - self.ranking.first + 1)

    @cached_property
    def relevant(self) -> Ints:
        """The number of relevant items of each list."""
        return np.diff(self.ranking.offsets)

    def full(self, items: int) -> Lists:
        """Return the full rankings."""
        before = self.above + self.ranking.first
        return replace(
            self.ranking,
            length=np.full(len(self.ranking), items),
            first=before,
            last=before + self.within + self.tied - 1,
            memo={},
        )

    def among(self, negatives: int) -> Lists:
        """Return the rankings of relevant items, as parts of rankings with this number of sampled items."""
        return replace(self.ranking, length=self.relevant + negatives, memo={})

    def sampled(self, negatives: int, rank: Ints, order: Ints | None = None) -> Lists:
        """Return rankings with `negatives` sampled items, in which the rows have these ranks."""
        document = self.ranking.document if order is None else self.ranking.document[order]
        return replace(
            self.ranking,
            length=self.relevant + negatives,
            document=document,
            first=rank,
            last=rank,
            memo={},
        )

    # -- closed forms -------------------------------------------------------------------------------------

    def expected_weights(self, weight: Weights, negatives: int, replacement: bool) -> tuple[Floats, Floats]:
        """Return the mean of the weight of each row's sampled rank, and the mean of its square."""
        mean, square = np.empty(len(self.above)), np.empty(len(self.above))
        for start, stop in self._parts():
            rows = np.arange(start, stop)
            count = self.within[rows] + 1
            row = np.repeat(rows, count)
            begin = np.cumsum(count) - count
            inside = np.arange(len(row)) - np.repeat(begin, count)
            chance = _chance_in_tie(inside, self.within[row], self.turn[row], self.tied[row])
            chance /= np.repeat(np.add.reduceat(chance, begin), count)
            found = self._moments(weight, negatives, replacement, row, inside)
            mean[start:stop], square[start:stop] = (np.add.reduceat(chance * each, begin) for each in found)
        return mean, square

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Yield stretches of rows whose ties have not too many items in all."""
        total = np.cumsum(self.within + 1)
        start = 0
        while start < len(total):
            done = int(total[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(total, done + CELLS, side="right")))
            yield start, stop
            start = stop

    def _moments(
        self, weight: Weights, negatives: int, replacement: bool, row: Ints, inside: Ints
    ) -> tuple[Floats, Floats]:
        """Return the two means for rows with `inside` items of their tie above them."""
        place, above = self.place[row], self.above[row] + inside
        table = np.zeros(int(place.max(initial=0)) + negatives + 1)
        known = weight.of_ranks(len(table) - 1)
        table[1 : len(known) + 1] = known
        irrelevant = self.irrelevant[row]
        most = int(irrelevant.max(initial=0)) + 1
        if self.share is None and int(place.max(initial=0)) * most**2 < 1 << 62:
            _, one, case = np.unique((place * most + above) * most + irrelevant, return_index=True, return_inverse=True)
        else:
            one = case = np.arange(len(row))
        mean, square = np.empty(len(one)), np.empty(len(one))
        step = max(1, CELLS // (negatives + 1))
        for start in range(0, len(one), step):
            here = one[start : start + step]
            least = place[here]
            if not replacement:
                chance, fewest = hypergeometric(irrelevant[here], above[here], np.full(len(here), negatives))
                least = least + fewest
            elif self.share is None:
                chance = binomial(negatives, above[here] / np.maximum(irrelevant[here], 1))
            else:
                chance = binomial(negatives, self.share[row[here]])
            found = table[np.minimum(least[:, None] + np.arange(chance.shape[1]), len(table) - 1)]
            mean[start : start + step] = (chance * found).sum(axis=1)
            square[start : start + step] = (chance * found**2).sum(axis=1)
        case = case.reshape(-1)
        return mean[case], square[case]

    # -- draws ---------------------------------------------------------------------------------------------

    def draws(self, negatives: int, replacement: bool, draws: int, seed: int) -> Iterator[Lists]:
        """Yield sampled rankings, ties in random order."""
        random = np.random.default_rng(seed)
        for _ in range(draws):
            if self.masses and not replacement:
                yield self.sampled(negatives, self._drawn_by_mass(random, negatives) + self.place)
            else:
                yield self._draw(random, negatives, replacement)

    def _draw(self, random: np.random.Generator, negatives: int, replacement: bool) -> Lists:
        """Draw one ranking of each list: the relevant items one after the other, from the top down.

        The relevant items of a tie are at uniform points of its stretch. Their order gives the order of the items,
        and the stretches between them are where the irrelevant items of the tie fall.
        """
        member, tie = self.ranking.list, self.ranking.first
        point = random.random(len(member))
        order = np.lexsort((point, tie, member))
        point = point[order]
        lists = len(self.ranking)
        above = np.zeros(len(member), np.int64)
        rank = np.zeros(len(member), np.int64)
        drawn, passed, reached = (np.zeros(lists, np.int64) for _ in range(3))
        seen = np.zeros(lists)
        for rows in self._by_place:
            here = member[rows]
            first = self.turn[rows] == 1
            passed[here[first]], seen[here[first]] = 0, 0.0
            stretch = (point[rows] - seen[here]) / (1.0 - seen[here])
            passed[here] += random.binomial(self.within[rows] - passed[here], stretch)
            seen[here] = point[rows]
            above[rows] = self.above[rows] + passed[here]
            left = negatives - drawn[here]
            between, rest = above[rows] - reached[here], self.irrelevant[rows] - above[rows]
            if replacement and self.share is not None:
                before = np.where(self.place[rows] > 1, self.share[rows - 1], 0.0)
                stretch = np.where(before < 1, (self.share[rows] - before) / np.where(before < 1, 1 - before, 1), 0.0)
                more = random.binomial(left, np.clip(stretch, 0.0, 1.0))
            elif replacement:
                more = random.binomial(left, between / np.maximum(between + rest, 1))
            else:
                more = random.hypergeometric(between, rest, left)
            drawn[here] += more
            reached[here] = above[rows]
            rank[rows] = self.place[rows] + drawn[here]
        return self.sampled(negatives, rank, order)

    @cached_property
    def _by_place(self) -> list[Ints]:
        """The rows of the first relevant item of each list, of the second, and so on."""
        order = np.argsort(self.place, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.place)[1:])[:-1]) if len(order) else []

    def _drawn_by_mass(self, random: np.random.Generator, negatives: int) -> Ints:
        """Draw items one after the other in proportion to their probability, and count those above each row."""
        found = np.zeros(len(self.above), np.int64)
        offsets = self.ranking.offsets.tolist()
        for i, mass in enumerate(self.masses):
            rows = slice(offsets[i], offsets[i + 1])
            if rows.start == rows.stop:
                continue
            with np.errstate(divide="ignore"):
                key = random.standard_exponential(len(mass)) / mass
            chosen = np.argpartition(key, negatives - 1)[:negatives] if negatives < len(mass) else np.arange(len(mass))
            found[rows] = np.searchsorted(np.sort(chosen), self.above[rows])
        return found


def _chance_in_tie(inside: Ints, within: Ints, turn: Ints, tied: Ints) -> Floats:
    """Return a multiple of the probability that `inside` irrelevant items of a tie stand above a relevant one.

    Pr(g) is proportional to C(g + i - 1, i - 1) C(n - g + p - i, p - i)   for the i-th of p relevant items
    """
    chance = np.ones(len(inside))
    for step in range(1, int(tied.max(initial=1))):
        chance *= np.where(step < turn, (inside + step) / (within + step), 1.0)
        chance *= np.where(step <= tied - turn, (within - inside + step) / (within + step), 1.0)
    return chance


def binomial(draws: int, share: Floats) -> Floats:
    """Return the chances of 0, 1, ... successes: one row per share.

    >>> binomial(2, np.array([0.5])).round(12).tolist()
    [[0.25, 0.5, 0.25]]
    """
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(draws + 1), draws, np.clip(share, 0.0, 1.0)[:, None]))


def sampled_ranks(lists: Lists, items: int, name: Callable[[int], str], missing: str) -> SampledRanks:
    """Return where the relevant items of each list stand.

    lists: the judged items, under one tie rule. Items with a grade above 0 are relevant.
    items: the size of the catalogue. name: the user and the system of a list, for messages.
    missing: `error`, or `last`: relevant items that a list lacks stand below all others, in random order.
    """
    pool, query = lists.pool, lists.query
    positive = pool.grade > 0
    relevant = pool.count(positive)[query]
    found = lists.where(lists.grade > 0)
    groups = found.groups
    together = np.bincount(groups.row_group, minlength=len(groups))
    before = groups.above(together)
    have = np.diff(found.offsets)
    lacking = relevant - have
    if lacking.any() and missing != "last":
        worst = int(np.argmax(lacking > 0))
        raise CalipersError(
            f"{name(worst)}: {int(lacking[worst])} of {int(relevant[worst])} relevant items are not in the ranking, so "
            "that their ranks are not known; rank all items, or use missing 'last' to place them below all others"
        )
    longer = lists.length + lacking > items
    if longer.any():
        worst = int(np.argmax(longer))
        raise CalipersError(
            f"{name(worst)}: {int(lists.length[worst] + lacking[worst]):,} items are ranked or relevant, more than the "
            f"{items:,} items of the catalogue"
        )
    offsets = np.concatenate([[0], np.cumsum(relevant)])
    shown = np.arange(len(found.document)) + np.repeat(offsets[:-1] - found.offsets[:-1], have)
    absent = np.ones(int(offsets[-1]), bool)
    absent[shown] = False
    member = np.repeat(np.arange(len(lists)), relevant)

    def column(known: Ints, rest: Ints) -> Ints:
        whole = np.empty(len(absent), np.int64)
        whole[shown], whole[absent] = known, rest
        return whole

    number = np.cumsum(positive) - 1
    rows = np.flatnonzero(positive)
    starts = np.searchsorted(rows, pool.offsets)
    every = np.arange(len(absent)) + np.repeat(starts[query] - offsets[:-1], relevant)
    is_found = np.isin(member * len(rows) + every, found.list * len(rows) + number[found.document])
    own = groups.row_group
    below = member[absent]
    ranking = Lists(
        pool=Pool(starts, pool.grade[rows]),
        query=query,
        length=relevant,
        offsets=offsets,
        document=column(number[found.document], every[~is_found]),
        first=column(before[own] + 1, have[below] + 1),
        last=column((before + together)[own], relevant[below]),
    )
    irrelevant = np.repeat(items - relevant, relevant)
    return SampledRanks(
        ranking=ranking,
        irrelevant=irrelevant,
        above=column((groups.before - before)[own], irrelevant[absent]),
        within=column((groups.size - together)[own], np.zeros(len(below), np.int64)),
    )


# -- measures as sums over places ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RankTerms:
    """A measure as a sum over the places of relevant items: coefficient times the weight of the rank.

    exclusive: at most one place has a coefficient other than 0 in each order of the items, and there it is 1.
    """

    coefficient: Floats
    weight: Weights
    exclusive: bool = False


class OnlyAt(Record):
    """The weights of a measure that reads one rank."""

    place: int

    def __call__(self, rank: Floats) -> Floats:
        return np.asarray(rank == self.place, np.float64)


class Inverse(Record):
    """1 / rank."""

    def __call__(self, rank: Floats) -> Floats:
        return 1.0 / rank


class One(Record):
    """1 for each rank."""

    def __call__(self, rank: Floats) -> Floats:
        return np.ones_like(rank)


@singledispatch
def rank_terms(form: Form, ranking: Lists) -> RankTerms:
    """Return the coefficients of the places of a ranking of relevant items, ties averaged, and the weights of ranks."""
    raise CalipersError(
        "no closed form is known for its score with sampled items; it is known for weighted sums of gains (P, Recall, "
        "DCG, RBP), nDCG, AP, RR, ERR, Success and HIT"
    )


@rank_terms.register(Linear)
def rank_terms_of_linear(form: Linear, ranking: Lists) -> RankTerms:
    """Every item adds its gain, wherever the others stand."""
    _check_gain(form.value)
    groups = ranking.groups
    mean = groups.sum(form.value(ranking.grade)) / groups.size
    return RankTerms(mean[groups.row_group], form.weight)


@rank_terms.register(Cascade)
def rank_terms_of_cascade(form: Cascade, ranking: Lists) -> RankTerms:
    """An item adds the chance that the reader stops there, which only the relevant items above it change."""
    _check_gain(form.stop)

    def coefficient(place: int) -> Floats:
        return Cascade(Weights(OnlyAt(place), place), form.stop).score(ranking)

    whole = Cascade(Weights(One()), form.stop).score(ranking)
    found = _by_place(ranking, form.weight.cutoff, coefficient, whole)
    return RankTerms(found, form.weight, as_gain(form.stop).level is not None)


@rank_terms.register(Paired)
def rank_terms_of_paired(form: Paired, ranking: Lists) -> RankTerms:
    """A relevant item at place j with c relevant ones down to it has the precision c / (j + X)."""

    def coefficient(place: int) -> Floats:
        above = Paired(form.rel, place - 1).score(ranking) if place > 1 else 0.0
        return np.asarray((Paired(form.rel, place).score(ranking) - above) * place)

    found = _by_place(ranking, form.cutoff, coefficient) if _differ(form.rel, ranking) else _places(ranking)
    return RankTerms(found, Weights(Inverse(), form.cutoff))


@rank_terms.register(Peak)
def rank_terms_of_peak(form: Peak, ranking: Lists) -> RankTerms:
    """The items in the top k are the first relevant ones: what the best of j adds to the best of j - 1."""
    _check_gain(form.value)

    def coefficient(place: int) -> Floats:
        above = Peak(form.value, place - 1).score(ranking) if place > 1 else 0.0
        return np.asarray(Peak(form.value, place).score(ranking) - above)

    found = _by_place(ranking, form.cutoff, coefficient, Peak(form.value).score(ranking))
    return RankTerms(found, Weights(One(), form.cutoff), as_gain(form.value).level is not None)


@rank_terms.register(Share)
def rank_terms_of_share(form: Share, ranking: Lists) -> RankTerms:
    """Sampling changes no divisor that depends on the query, or on how many items are ranked."""
    terms = rank_terms(form.of, ranking)
    by = np.broadcast_to(np.asarray(form.by(form.of, ranking), np.float64), (len(ranking),))
    coefficient = terms.coefficient / np.where(by > 0, by, np.nan)[ranking.list]
    return RankTerms(coefficient, terms.weight)


@rank_terms.register(JudgedPairs)
def rank_terms_of_judged_pairs(form: JudgedPairs, ranking: Lists) -> RankTerms:
    """Refuse AUC: the share of the drawn items above a relevant one is on average that of all irrelevant items."""
    if _differ(form.rel, ranking):
        raise CalipersError("some relevant items are below its `rel`: its score with sampled items is not known")
    raise CalipersError(
        "sampling does not change its expectation: however many items are drawn uniformly, its expected score is its "
        "score on the whole catalogue; leave it out"
    )


def _check_gain(value: Value) -> None:
    if float(np.asarray(value(np.zeros(1)))[0]) != 0:
        raise CalipersError("irrelevant items have a gain: its score with sampled items is not known")


def _places(ranking: Lists) -> Floats:
    return np.asarray(np.arange(len(ranking.document)) - ranking.offsets[:-1][ranking.list] + 1, np.float64)


def _differ(rel: float, ranking: Lists) -> bool:
    """Return True if the measure calls some of the relevant items irrelevant."""
    return not AtLeast(rel)(ranking.pool.grade).all()


def _by_place(
    ranking: Lists, cutoff: int | None, coefficient: Callable[[int], Floats], whole: Floats | None = None
) -> Floats:
    """Return the coefficient of each row, from those of each list at one place after the other.

    whole: the sum of the coefficients of each list, where it is known. Coefficients below it are 0.
    """
    place = _places(ranking).astype(np.int64)
    found = np.zeros(len(place))
    reached = np.zeros(len(ranking))
    deepest = int(place.max(initial=0))
    for at in range(1, min(deepest, cutoff or deepest) + 1):
        if whole is not None and (reached >= whole).all():
            break
        here = coefficient(at)
        reached += here
        rows = np.flatnonzero(place == at)
        found[rows] = here[ranking.list[rows]]
    return found
