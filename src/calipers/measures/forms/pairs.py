"""Forms that read preferences: how many of the pairs that a judge ordered a list puts in that order.

A preference for a over b is fulfilled where a is retrieved and b below it, or not at all. Of two tied documents each is
above the other in half of the orders, so that sums over pairs are exact under ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form, Traits
from calipers.record import Record

if TYPE_CHECKING:
    from calipers.collection.preferences import PreferencePool

NEVER = 1 << 31  # the rank of what is not retrieved
AT_ONCE = 1 << 21  # pairs that are looked at in one go
ALL, ONE, BOTH = 0, 1, 2  # how many documents of a pair must be retrieved for it to count


class PairForm(Form, final=False):
    """A form of pairs."""

    retrieved: int = ALL

    def exactness(self, population: Population | None = None) -> Exactness:
        return Exactness(ideal="sorted", worst="sorted")

    @property
    def traits(self) -> Traits:
        return Traits(ignores_unjudged=True)


class NumberOfPairs(PairForm):
    """The number of preferences, or of fulfilled preferences."""

    fulfilled: bool = False

    def score(self, lists: Lists) -> Floats:
        counts = pair_counts(lists)
        count = counts.fulfilled if self.fulfilled else counts.possible
        return counts.by_list(count[:, self.retrieved :].sum(axis=1))


class ShareOfPairs(PairForm):
    """The share of the preferences that are fulfilled, whoever has them."""

    def score(self, lists: Lists) -> Floats:
        counts = pair_counts(lists)
        fulfilled = counts.by_list(counts.fulfilled[:, self.retrieved :].sum(axis=1))
        possible = counts.by_list(counts.possible[:, self.retrieved :].sum(axis=1))
        return _ratio(fulfilled, possible)


class ShareByDocuments(PairForm):
    """The mean over pairs of documents of the share of the preferences between them that are fulfilled."""

    def score(self, lists: Lists) -> Floats:
        if (preferences_of(lists.pool).judges <= 1).all():  # each pair of documents is one preference
            return ShareOfPairs(self.retrieved).score(lists)
        total, number = np.zeros((2, len(lists)))
        table = _documents(preferences_of(lists.pool))
        for part in _chunks(lists, table.offsets, table.one, table.other):
            seen = _seen(part.first_one, part.first_other)
            one_first = part.first_one < part.first_other
            value = np.where(one_first, table.share[part.pair], table.other_share[part.pair])
            value[part.first_one == part.first_other] = 0.5  # half the orders each, in sum 1
            upper, lower = np.where(one_first, (part.first_one, part.first_other), (part.first_other, part.first_one))
            # As trec_eval adds them up, to the last bit: down the list, pairs of which both are retrieved first.
            down = np.lexsort((lower, upper, seen < BOTH, part.list))
            down = down[seen[down] >= max(self.retrieved, ONE)]
            total += np.bincount(part.list[down], value[down], len(lists))
            number += np.bincount(part.list[seen >= self.retrieved], minlength=len(lists))
        return _ratio(total, number)


class ShareByJudge(PairForm):
    """The mean over judges of the share of their preferences that are fulfilled; 0 for one who has none that count."""

    def score(self, lists: Lists) -> Floats:
        counts = pair_counts(lists)
        fulfilled = counts.fulfilled[:, self.retrieved :].sum(axis=1)
        possible = counts.possible[:, self.retrieved :].sum(axis=1)
        share = np.where(possible > 0, fulfilled / np.maximum(possible, 1.0), 0.0)
        judges = preferences_of(lists.pool).judges[lists.query]
        return np.where(counts.by_list(possible) > 0, counts.by_list(share) / judges, np.nan)


class AsManyNonRelevant(PairForm):
    """The mean over judges of the share of fulfilled preferences, for as many non-relevant as relevant documents.

    If a judge saw more non-relevant documents than relevant ones, only the first ones of the list count. If a judge saw
    fewer, documents that the list does not retrieve are added.
    as_printed: the values that trec_eval prints. It also counts each pair of two non-relevant documents if there are
        too many of them, and takes the number of relevant documents from all documents if only retrieved ones count.
    """

    as_printed: bool = False

    def score(self, lists: Lists) -> Floats:
        plain, seen = pair_counts(lists), _levels(lists)
        only = self.retrieved == BOTH
        relevant, other = (seen.relevant_found, seen.other_found) if only else (seen.relevant, seen.other)
        lacking = relevant - other
        wanted = seen.relevant if self.as_printed or not only else seen.relevant_found
        fulfilled = plain.fulfilled[:, self.retrieved :].sum(axis=1) + seen.relevant_found * lacking
        possible = plain.possible[:, self.retrieved :].sum(axis=1) + wanted * lacking
        cut = lacking < 0
        if cut.any():
            limit = np.where(seen.complete, relevant, wanted)
            few = pair_counts(lists, _first_ones(lists, seen, np.where(cut, limit, NEVER)))
            fulfilled[cut] = few.fulfilled[cut, self.retrieved :].sum(axis=1)
            possible[cut] = few.possible[cut, self.retrieved :].sum(axis=1)
            if self.as_printed:
                again = cut & seen.complete
                size = seen.last_found if only else seen.last
                taken = np.minimum(limit, size)
                below = np.minimum(taken, seen.last_found)
                ordered = below * (below - 1) / 2 + (taken - below) * seen.last_found
                fulfilled[again] += ordered[again]
                possible[again] += (size * taken)[again]
        share = _ratio(fulfilled, possible)
        return plain.by_list(share) / preferences_of(lists.pool).judges[lists.query]


def _ratio(one: Floats, other: Floats) -> Floats:
    return np.where(other > 0, one / np.where(other > 0, other, 1.0), np.nan)


def preferences_of(pool: Pool) -> PreferencePool:
    """Return the pool as one of preferences, or raise an error. Judges must not contradict themselves."""
    from calipers.collection.preferences import preferences_of as checked

    return checked(pool)


# -- counting ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts per list and judge (a cell), and per number of retrieved documents of a pair: [cell, 0 to 2]."""

    fulfilled: Floats
    possible: Floats
    list: Ints  # of each cell
    lists: int

    def by_list(self, values: Floats) -> Floats:
        """Return the sum over the judges of each list."""
        return np.bincount(self.list, values, self.lists).astype(np.float64, copy=False)


class KeptDocuments(Record):
    """The documents of a judge that count, for each list: their probabilities, and those kept below a tied document."""

    start: Any  # of each list's levels
    chance: Any
    below_tied: Any


def pair_counts(lists: Lists, kept: KeptDocuments | None = None) -> Counts:
    """Count the preferences and the fulfilled preferences."""
    return lists.once("pairs", lambda: _counts(lists, None)) if kept is None else _counts(lists, kept)


def _counts(lists: Lists, kept: KeptDocuments | None) -> Counts:
    pool = preferences_of(lists.pool)
    judges = pool.judges[lists.query]
    start = np.cumsum(judges) - judges - pool.starts[lists.query]  # and the number of a judge: a cell
    shape = (int(judges.sum()), 3)
    fulfilled, possible = np.zeros(shape), np.zeros(shape)
    judge = pool.once("judge of each pair", lambda: pool.judge.astype(np.int32))
    offsets = pool.once("pairs of each query", lambda: pool.pair_offsets[pool.starts])
    for part in _chunks(lists, offsets, pool.above, pool.below):
        seen = _seen(part.first_one, part.first_other)
        cell = 3 * (start[part.list] + judge[part.pair]) + seen
        right = part.first_one < part.first_other
        tied = (part.first_one == part.first_other) & (seen > 0)
        if kept is None:
            fulfilled += np.bincount(cell, right + 0.5 * tied, fulfilled.size).reshape(shape)
            possible += np.bincount(cell, minlength=possible.size).reshape(shape)
            continue
        better, worse = (kept.start[part.list] + rows[part.pair] for rows in _level_rows(pool))
        stays = kept.chance[better]
        weight = np.where(right, kept.chance[worse], np.where(tied, kept.below_tied[worse], 0.0))
        fulfilled += np.bincount(cell, stays * weight, fulfilled.size).reshape(shape)
        possible += np.bincount(cell, stays * kept.chance[worse], possible.size).reshape(shape)
    return Counts(fulfilled, possible, np.repeat(np.arange(len(lists)), judges), len(lists))


@dataclass(frozen=True, eq=False)
class PairChunk:
    """Pairs of some lists, and the first rank that each of the two documents could have."""

    pair: Ints
    list: Ints
    first_one: Ints
    first_other: Ints


def _chunks(lists: Lists, offsets: Ints, one: Ints, other: Ints) -> Iterator[PairChunk]:
    """Yield the pairs of each list's query, many lists at a time. Query q has pairs offsets[q] to offsets[q + 1]."""
    pool = lists.pool
    rank, base = _ranks(lists)
    number = np.diff(offsets)[lists.query]
    shift = base - pool.offsets[lists.query]
    ends = np.cumsum(number)
    at = 0
    while at < len(lists):
        until = max(int(np.searchsorted(ends, (ends[at - 1] if at else 0) + AT_ONCE, side="right")), at + 1)
        some = np.arange(at, until)
        member = np.repeat(some, number[some])
        inside = np.arange(len(member)) - np.repeat(np.cumsum(number[some]) - number[some], number[some])
        pair = offsets[lists.query[member]] + inside
        yield PairChunk(pair, member, rank[shift[member] + one[pair]], rank[shift[member] + other[pair]])
        at = until


def _ranks(lists: Lists) -> tuple[Ints, Ints]:
    """Return for each list the first possible rank of each judged document of its query, and the offsets of lists."""
    return lists.once("ranks of all", lambda: _all_ranks(lists))


def _all_ranks(lists: Lists) -> tuple[Ints, Ints]:
    size = lists.pool.size[lists.query]
    base = np.cumsum(size) - size
    rank = np.full(int(size.sum()), NEVER, np.int64)
    rank[base[lists.list] + lists.document - lists.pool.offsets[lists.query[lists.list]]] = lists.first
    return rank, base


def _seen(one: Ints, other: Ints) -> Ints:
    """Return how many of two documents are retrieved."""
    return (one < NEVER).astype(np.int64) + (other < NEVER)


# -- pairs of documents, whoever prefers which ----------------------------------------------------------


class Documents(Record):
    """Pairs of documents between which there is a preference, query by query."""

    offsets: Any
    one: Any
    other: Any
    share: Any  # of the preferences between them, those for the first
    other_share: Any


def _documents(pool: PreferencePool) -> Documents:
    return pool.once("pairs of documents", lambda: _all_documents(pool))


def _all_documents(pool: PreferencePool) -> Documents:
    n = len(pool.grade)
    least, most = np.minimum(pool.above, pool.below), np.maximum(pool.above, pool.below)
    code, place = np.unique(least.astype(np.int64) * n + most, return_inverse=True)
    number = np.bincount(place, minlength=len(code))
    first = np.bincount(place, pool.above < pool.below, len(code))
    one, other = code // n, code % n
    return Documents(np.searchsorted(one, pool.offsets), one, other, first / number, (number - first) / number)


# -- documents that are not relevant ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Levels:
    """The number of documents per list and judge (a cell) that the judge saw, and of those that are retrieved."""

    relevant: Floats
    relevant_found: Floats
    other: Floats
    other_found: Floats
    last: Floats  # documents of the lowest level
    last_found: Floats
    complete: Any  # whether the judge put all in one order
    row: Ints  # of each cell's documents, the row of the levels
    cell: Ints
    start: Ints  # of each list's documents, less the row of its first
    first: Ints  # the first rank of each
    dropped: Any  # whether each is of those of which only the first count


def _levels(lists: Lists) -> Levels:
    return lists.once("levels", lambda: _all_levels(lists))


def _all_levels(lists: Lists) -> Levels:
    pool = preferences_of(lists.pool)
    offsets = pool.levels.offsets[pool.starts]
    number = np.diff(offsets)[lists.query]
    member = np.repeat(np.arange(len(lists)), number)
    start = np.cumsum(number) - number - offsets[lists.query]
    row = np.arange(len(member)) - start[member]
    judges = pool.judges[lists.query]
    cell_start = np.cumsum(judges) - judges - pool.starts[lists.query]
    judge = pool.levels.query[row]
    cell = cell_start[member] + judge
    rank, base = _ranks(lists)
    first = rank[base[member] + pool.document[row] - pool.offsets[lists.query[member]]]
    level = pool.levels.grade[row]
    lowest = pool.once("lowest level", lambda: _lowest(pool.levels))
    complete = pool.complete > 0
    last = complete[judge] & (level == lowest[judge])
    not_relevant = np.where(complete[judge], level <= 0, level == 0)
    cells = int(judges.sum())

    def count(chosen: Any) -> Floats:
        return np.bincount(cell[chosen], minlength=cells).astype(np.float64)

    found = first < NEVER
    owner = np.repeat(np.arange(len(lists)), judges)
    return Levels(
        relevant=count(level > 0),
        relevant_found=count((level > 0) & found),
        other=count(not_relevant),
        other_found=count(not_relevant & found),
        last=count(last),
        last_found=count(last & found),
        complete=complete[np.arange(cells) - cell_start[owner]],
        row=row,
        cell=cell,
        start=start,
        first=first,
        dropped=np.where(complete[judge], last, level == 0),
    )


def _lowest(levels: Pool) -> Floats:
    return np.asarray(np.minimum.reduceat(levels.grade, levels.offsets[:-1]))


def _first_ones(lists: Lists, levels: Levels, limit: Ints) -> KeptDocuments:
    """Keep only the first `limit` documents that are not relevant of each cell."""
    chance, below_tied = np.ones(len(levels.row)), np.full(len(levels.row), 0.5)
    rows = np.flatnonzero(levels.dropped & (limit[levels.cell] < NEVER))
    rows = rows[np.lexsort((levels.row[rows], levels.first[rows], levels.cell[rows]))]
    cell, first = levels.cell[rows], levels.first[rows]
    place = np.arange(len(rows)) - np.searchsorted(cell, cell)
    fresh = np.ones(len(rows), bool)
    fresh[1:] = (cell[1:] != cell[:-1]) | (first[1:] != first[:-1]) | (first[1:] == NEVER)
    group = np.cumsum(fresh) - 1
    size = np.bincount(group, minlength=1)[group]
    taken = np.clip(limit[cell] - place[fresh][group], 0, size)
    inside = (taken > 0) & (taken < size)
    if (inside & ~levels.complete[cell]).any():
        raise CalipersError(
            "documents are tied, and a judge compared them in several subgroups: prefs_avgjg_Rnonrel has no average "
            "over their orders there; use ties docid, input, best or worst"
        )
    chance[rows] = taken / size
    below_tied[rows] = taken * (taken + 1) / (2.0 * size * (size + 1))
    below_tied[rows[~inside]] = 0.5 * chance[rows[~inside]]
    return KeptDocuments(levels.start, chance, below_tied)


def _level_rows(pool: PreferencePool) -> tuple[Ints, Ints]:
    """Return the row of the level of each document of a pair, for the judge of the pair."""
    return pool.once("levels of pairs", lambda: _all_level_rows(pool))


def _all_level_rows(pool: PreferencePool) -> tuple[Ints, Ints]:
    n = len(pool.grade)
    known = pool.levels.query.astype(np.int64) * n + pool.document
    judge = pool.judge.astype(np.int64) * n
    return np.searchsorted(known, judge + pool.above), np.searchsorted(known, judge + pool.below)
