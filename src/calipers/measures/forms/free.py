"""Measures with no closed form under ties: the tied orders are enumerated when few, else sampled with a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import perm
from typing import Any, Literal
from warnings import warn
from zlib import crc32

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form, Traits
from calipers.support.progress import progress_bar

CELLS = 1 << 24  # ranks (orders x documents) that are drawn of a list: of a longer one fewer orders
CELLS_AT_ONCE = 1 << 22  # ranks that are scored together
FEWEST_DRAWS = 4
ROUND = 100  # orders that are drawn before the standard error is looked at
PRECISE = 0.0005  # a standard error of a score that needs no further round
UnjudgedGrade = Literal["zero", "nan"]
SMALL = 6  # documents whose orders are all tried to find the ideal and the worst ranking


class OverOrders(Form, final=False):
    """A function of lists without ties, averaged over the orders that ties allow."""

    function: Callable[[Any], Any]
    orders: int = 1000  # as many are enumerated, and at most as many drawn
    seed: int = 42

    def exactness(self, population: Population | None = None) -> Exactness:
        return Exactness(ties="sampled", ideal="sorted", worst="sorted", expected="sampled", samples_ties=True)

    @property
    def traits(self) -> Traits:
        """Facts that the function declares as attributes."""
        return Traits(
            can_be_negative=bool(getattr(self.function, "can_be_negative", False)),
            ignores_unjudged=bool(getattr(self.function, "ignores_unjudged", False)),
        )

    def untied(self, lists: Lists) -> Floats:
        """Return the score of lists without ties."""
        scores: Floats = self.function(lists)
        return scores

    def score(self, lists: Lists) -> Floats:
        return self.moments(lists)[0].copy()

    def error(self, lists: Lists) -> Floats:
        return self.moments(lists)[2]

    def moments(self, lists: Lists) -> tuple[Floats, Floats, Floats]:
        """Return mean, standard deviation and standard error of the mean over the orders of the ties of each list.

        The standard error is 0 if all orders were tried. Ties of equal documents have only one order.
        """
        return lists.once(("moments", self), lambda: self._moments(lists))

    def _moments(self, lists: Lists) -> tuple[Floats, Floats, Floats]:
        spread, error = np.zeros(len(lists)), np.zeros(len(lists))
        lists = _without_equal_ties(lists)
        if not lists.tied:
            return self.untied(lists), spread, error
        tied = np.zeros(len(lists), bool)
        tied[lists.list[lists.first != lists.last]] = True
        mean = np.empty(len(lists))
        mean[~tied] = self.untied(some_lists(lists, np.flatnonzero(~tied)))
        with progress_bar(int(tied.sum()), "lists with ties") as advance:
            for i in np.flatnonzero(tied).tolist():
                one = _alone(lists, i)
                scores, drawn = self._of_orders(one, _random(one, self.seed))
                mean[i], spread[i], error[i] = _moments_of(scores, drawn)
                advance(1)
        return mean, spread, error

    def _of_orders(self, one: Lists, random: np.random.Generator) -> tuple[Floats, bool]:
        """Return the scores of the orders of one list, and True if the orders were drawn at random."""
        rows = len(one.first)
        if _few_ways(one, self.orders):
            ranks, _ = _orders(one, 0, self.orders, random)
            at_once = max(1, CELLS_AT_ONCE // max(rows, 1))
            parts = [ranks[start : start + at_once] for start in range(0, len(ranks), at_once)]
            return np.concatenate([self.untied(_copies(one, 0, part)) for part in parts]), False
        draws = min(self.orders, max(FEWEST_DRAWS, CELLS // rows))
        scores = np.empty(0)
        while len(scores) < draws:
            some = min(ROUND, draws - len(scores))
            if rows * ROUND <= CELLS_AT_ONCE:
                found = self.untied(_copies(one, 0, _orders(one, 0, some, random)[0]))
            else:
                found = np.concatenate([self.untied(_copies(one, 0, _drawn_order(one, random))) for _ in range(some)])
            scores = np.concatenate([scores, found])
            if _moments_of(scores, drawn=True)[2] <= PRECISE:
                break
        return scores, True


def _moments_of(scores: Floats, drawn: bool) -> tuple[float, float, float]:
    """Return mean, standard deviation and standard error of the scores of orders. Undefined scores count as 0."""
    defined = ~np.isnan(scores)
    if not defined.any():
        return np.nan, 0.0, 0.0
    scores = np.where(defined, scores, 0.0)
    spread = float(scores.std())
    return float(scores.mean()), spread, spread / float(np.sqrt(len(scores))) if drawn else 0.0


class Deterministic(OverOrders):
    """A function of blocks of lists without ties."""


class Free(OverOrders):
    """A user's function from the grades of one ranked list to a number.

    Unjudged documents have the grade 0, or NaN with unjudged="nan".
    """

    unjudged: UnjudgedGrade = "zero"

    def ideal(self, population: Population) -> Floats:
        """Sorted by grade; where the documents are few, all orders are tried."""
        return population.once(("ideal", self), lambda: self._searched(population, super(Free, self).ideal, np.nanmax))

    def worst(self, population: Population) -> Floats:
        return population.once(("worst", self), lambda: self._searched(population, super(Free, self).worst, np.nanmin))

    def _searched(
        self, population: Population, sort: Callable[[Population], Floats], extreme: Callable[[Floats], float]
    ) -> Floats:
        result = sort(population).copy()
        lists = population.shuffled
        wrong = 0
        for i in np.flatnonzero(population.size <= SMALL).tolist():
            ranks, _ = _orders(lists, i, perm(SMALL), np.random.default_rng(self.seed))
            scores = self.untied(_copies(lists, i, ranks))
            if not np.isnan(scores).all() and not np.isclose(extreme(scores), result[i], rtol=1e-9, atol=1e-12):
                wrong += 1
                result[i] = extreme(scores)
        if wrong:
            warn(
                f"sorting by grade does not give the extreme ranking of {wrong} small pools; their best and worst "
                "were found by search, those of larger pools are only as good as sorting",
                stacklevel=2,
            )
        return result

    def untied(self, lists: Lists) -> Floats:
        result = np.empty(len(lists))
        for i in range(len(lists)):
            rows = slice(lists.offsets[i], lists.offsets[i + 1])
            ranking = np.full(int(lists.length[i]), np.nan if self.unjudged == "nan" else 0.0)
            ranking[lists.first[rows] - 1] = lists.grade[rows]
            score = self.function(ranking)
            if not np.isscalar(score) and np.ndim(score) != 0:
                raise CalipersError(f"the measure returned {type(score).__name__}; expected a number")
            result[i] = float(score)
        return result


def some_lists(lists: Lists, chosen: Ints) -> Lists:
    """Return only these lists."""
    counts = np.diff(lists.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    row = np.arange(offsets[-1]) + np.repeat(lists.offsets[:-1][chosen] - offsets[:-1], counts)
    return Lists(
        pool=lists.pool,
        query=lists.query[chosen],
        length=lists.length[chosen],
        offsets=offsets,
        document=lists.document[row],
        first=lists.first[row],
        last=lists.last[row],
    )


def _alone(lists: Lists, i: int) -> Lists:
    """List i, tied documents by grade: what they are called must not decide which orders are drawn."""
    one = some_lists(lists, np.array([i]))
    return replace(one, document=one.document[np.lexsort((-one.grade, one.first))], memo={})


def _without_equal_ties(lists: Lists) -> Lists:
    """Return the lists with an order for each tie whose documents are all judged and have the same grade."""
    if not lists.tied or lists.pool.kind != "grades" or lists.pool.cost is not None:
        return lists
    groups = lists.groups
    equal = groups.count(lists.grade == lists.grade[groups.start][groups.row_group]) == groups.size
    rank = lists.first + np.arange(len(lists.first)) - groups.start[groups.row_group]
    settled = equal[groups.row_group]
    first, last = np.where(settled, rank, lists.first), np.where(settled, rank, lists.last)
    return replace(lists, first=first, last=last, memo={})


def _random(one: Lists, seed: int) -> np.random.Generator:
    """Return a generator that depends on the seed and on the list, not on other lists of the block."""
    content = np.concatenate([one.first, one.last, one.grade]).astype(np.float64)
    return np.random.default_rng([seed, crc32(content.tobytes())])


def _ties(one: Lists) -> tuple[Ints, Ints]:
    """Return the first row and the number of rows of each tie of the only list."""
    start = np.flatnonzero(np.diff(one.first, prepend=0))
    members = np.diff(np.append(start, len(one.first)))
    tied = one.first[start] != one.last[start]
    return start[tied], members[tied]


def _few_ways(one: Lists, most: int) -> bool:
    """Return True if the ties of the only list have at most this many orders."""
    ways = 1
    for start, members in zip(*_ties(one), strict=True):
        span = int(one.last[start] - one.first[start] + 1)
        for k in range(int(members)):
            ways *= span - k
            if ways > most:
                return False
    return True


def _orders(lists: Lists, i: int, most: int, random: np.random.Generator) -> tuple[Ints, bool]:
    """Return ranks of the rows of list i, one line per order of its ties, and True if the orders were drawn.

    All orders are returned if there are at most `most` of them, otherwise `most` drawn ones.
    """
    one = some_lists(lists, np.array([i]))
    spans = [
        (start, int(one.first[start]), int(one.last[start]), members)
        for start, members in zip(*(each.tolist() for each in _ties(one)), strict=True)
    ]
    drawn = not _few_ways(one, most)
    ranks = np.tile(one.first.astype(np.int64), (most if drawn else 1, 1))
    for start, first, last, members in spans:
        if drawn:
            here = first + drawn_places(last - first + 1, members, most, random)
        else:
            ways = np.array(list(permutations(range(first, last + 1), members)), np.int64)
            here = np.tile(ways, (len(ranks), 1))
            ranks = np.repeat(ranks, len(ways), axis=0)
        ranks[:, start : start + members] = here
    return ranks, drawn


def _drawn_order(one: Lists, random: np.random.Generator) -> Ints:
    """Draw one order of a long list, all ties at once. Return a line of ranks."""
    start, members = _ties(one)
    span = one.last[start].astype(np.int64) - one.first[start] + 1
    rank = one.first.astype(np.int64)
    dense = span <= 4 * members
    for chosen, places in ((dense, _places_by_key), (~dense, _places_redrawn)):
        if chosen.any():
            sizes = members[chosen]
            row = np.repeat(start[chosen] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
            rank[row] += places(span[chosen], sizes, random)
    return rank[None, :]


def _places_by_key(span: Ints, members: Ints, random: np.random.Generator) -> Ints:
    """Draw distinct positions from 0 to span - 1 for the members of each tie, by sorting random keys."""
    tie = np.repeat(np.arange(len(span)), span)
    order = np.argsort(tie + random.random(len(tie)))
    begin = np.repeat(np.cumsum(span) - span, span)
    taken = np.arange(len(tie)) - begin < np.repeat(members, span)
    return (order - begin)[taken]


def _places_redrawn(span: Ints, members: Ints, random: np.random.Generator) -> Ints:
    """Draw distinct positions from 0 to span - 1 for few members of each tie. Clashing positions are drawn again."""
    tie = np.repeat(np.arange(len(span)), members)
    places = random.integers(span[tie])
    while True:
        order = np.lexsort((places, tie))
        same = (places[order][1:] == places[order][:-1]) & (tie[order][1:] == tie[order][:-1])
        if not same.any():
            return places
        again = order[1:][same]
        places[again] = random.integers(span[tie[again]])


def drawn_places(span: int, members: int, draws: int, random: np.random.Generator) -> Ints:
    """Draw distinct positions from 0 to span - 1 for each member, in each draw."""
    if span <= 4 * members:
        return random.permuted(np.tile(np.arange(span), (draws, 1)), axis=1)[:, :members]
    # Redrawing what clashes treats all places alike, so the places that remain are uniform.
    places = random.integers(span, size=(draws, members))
    while True:
        order = np.argsort(places, axis=1, kind="stable")
        ordered = np.take_along_axis(places, order, axis=1)
        draw, column = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
        if not len(draw):
            return places
        places[draw, order[draw, column + 1]] = random.integers(span, size=len(draw))


def _copies(lists: Lists, i: int, ranks: Ints) -> Lists:
    """List i once for each line of ranks."""
    documents = lists.document[lists.offsets[i] : lists.offsets[i + 1]]
    return lists_by_rank(lists.pool, lists.query[i], lists.length[i], documents, ranks)


def lists_by_rank(pool: Pool, query: int, length: int, documents: Ints, ranks: Ints) -> Lists:
    """Return one list of these documents for each line of their ranks."""
    copies = len(ranks)
    by_rank = np.argsort(ranks, axis=1)
    rank = np.take_along_axis(ranks, by_rank, axis=1).ravel()
    return Lists(
        pool=pool,
        query=np.repeat(query, copies),
        length=np.repeat(length, copies),
        offsets=np.arange(copies + 1) * len(documents),
        document=documents[by_rank].ravel(),
        first=rank,
        last=rank,
    )
