"""The one block that measures read: ranked lists, as flat arrays.

A list is one system's answer to one query. Only its *judged* documents are kept, in rank order; unjudged
documents matter through ranks and lengths alone. A document in a tie has no rank of its own but a span of
ranks, `first` to `last`, any of which it could take: a measure averages over them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args
from weakref import proxy

import numpy as np

from calipers.choices import TieRule
from calipers.errors import CalipersError
from calipers.native.columns import Retrieved, TieSpans
from calipers.native.scanner import rank_segments

__all__ = ["Floats", "Ints", "Lists", "Pool", "Population"]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.integer[Any]]
else:  # names for annotations, which nobody reads at run time
    Floats = Ints = NDArray = Any
Cached = TypeVar("Cached")

# What messages call judgments of each kind.
SAID_OF = {
    "grades": "plain ones, with one grade per document",
    "subtopics": "judgments by subtopic (query subtopic document grade)",
    "preferences": "preferences (query group subgroup document level)",
    "judges": "judgments of several judges (query judge document grade)",
    "samples": "judgments of a sample (query 0 document stratum grade)",
}
UNJUDGED = -1.0  # the grade of documents that are in a pool only because a run retrieves them
TIE_RULES = get_args(TieRule)


@dataclass(frozen=True, eq=False)
class DocumentGroups:
    """The groups that the documents of a pool belong to."""

    names: tuple[str, ...]
    of: Ints  # of each row, the place of its group among the names; -1 where it has none
    judged: NDArray[np.bool_]  # of each row; the others are there because a run retrieves them


@dataclass(frozen=True, eq=False)
class Pool:
    """The grades of everything judged, query by query: rows offsets[q] to offsets[q + 1] belong to query q."""

    kind: ClassVar[str] = "grades"  # what is judged: a document by itself, for each subtopic, by several judges ...

    offsets: Ints
    grade: Floats
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    cost: Floats | None = None  # of each row, where it is known what documents cost to read
    groups: DocumentGroups | None = None  # where it is known which documents belong together

    def of_whole_grades(self) -> Pool:
        """The same documents with grades without their fraction; itself where they have none."""
        grade = np.trunc(self.grade)
        return self if (grade == self.grade).all() else Pool(self.offsets, grade, cost=self.cost, groups=self.groups)

    @property
    def whole(self) -> bool:
        """Whether it names all documents that were pooled, so that it is known what a ranking of them could be."""
        return True

    @property
    def inner(self) -> Pool:
        """What a measure of one grade per document reads where several judges gave one: the grades of each judge."""
        return self

    @property
    def queries(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def size(self) -> Ints:
        """How many documents are judged for each query."""
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> Ints:
        """The query of each row."""
        return np.repeat(np.arange(self.queries), self.size)

    @cached_property
    def place(self) -> Ints:
        """The place of each row among its query's, from 1."""
        starts = np.repeat(self.offsets[:-1].astype(np.int32), self.size)
        return np.arange(1, len(self.grade) + 1, dtype=np.int32) - starts

    @cached_property
    def largest_grade(self) -> float:
        return float(self.grade.max(initial=0.0))

    def count(self, chosen: NDArray[np.bool_]) -> Ints:
        """How many of the chosen rows each query has."""
        return np.bincount(self.query[chosen], minlength=self.queries)

    def sum(self, values: Floats) -> Floats:
        """The sum of the values over the rows of each query."""
        return np.bincount(self.query, values, self.queries).astype(np.float64)

    def gains(self, value: Callable[[Floats], Floats]) -> Floats:
        """What each row's document is worth: all finite, and their sum over a query too."""
        return self.once(("worth", value), lambda: self._worth(value))

    def _worth(self, value: Callable[[Floats], Floats]) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            worth = np.asarray(value(self.grade))
            together = self.sum(np.abs(worth))
        if not np.isfinite(together).all():
            query = int(np.flatnonzero(~np.isfinite(together))[0])
            rows = slice(int(self.offsets[query]), int(self.offsets[query + 1]))
            largest = int(np.argmax(np.nan_to_num(np.abs(worth[rows]), nan=np.inf)))
            grade, gain = self.grade[rows][largest], worth[rows][largest]
            what = "its gain is" if not np.isfinite(gain) else f"its gain is {gain:g}, and the sum of the query's is"
            raise CalipersError(
                f"grade {grade:g} of query '{self._name(query)}': {what} not a finite number; take another gain"
            )
        return worth

    def name_queries(self, names: Sequence[str]) -> None:
        """For messages."""
        self.memo["names"] = names

    def _name(self, query: int) -> str:
        return str(self.memo["names"][query]) if "names" in self.memo else str(query + 1)

    def relevant(self, rel: float) -> Ints:
        """R: how many documents of each query have at least this grade."""
        return self.once(("relevant", rel), lambda: self.count(self.grade >= rel))

    def once(self, key: Hashable, compute: Callable[[], Cached]) -> Cached:
        """What `compute` gives, computed the first time only."""
        return once(self.memo, key, compute)

    @cached_property
    def everything(self) -> Population:
        """All the judged documents of each query."""
        # The pool keeps them, so they must not keep the pool: a reference cycle is freed late.
        return Population(proxy(self), np.arange(self.queries), self.size, self.offsets, np.arange(len(self.grade)))


@dataclass(frozen=True, eq=False)
class Population:
    """The documents that a random ranking shuffles: judged ones, and so many others that are worth nothing.

    A random ranking is a ranking in which everything is tied; the ideal and the worst one are sorted.
    """

    pool: Pool
    query: Ints  # of each set of documents
    size: Ints  # of each set, unjudged documents included
    offsets: Ints  # set i holds the judged documents of rows offsets[i] to offsets[i + 1]
    document: Ints  # of each row, a row of the pool
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Hashable, compute: Callable[[], Cached]) -> Cached:
        """What `compute` gives, computed the first time only."""
        return once(self.memo, key, compute)

    @cached_property
    def grade(self) -> Floats:
        return self.pool.grade[self.document]

    @cached_property
    def judged(self) -> Ints:
        """How many documents of each set are judged."""
        return np.diff(self.offsets)

    @cached_property
    def shuffled(self) -> Lists:
        """Everything in one tie."""
        size = np.repeat(self.size, self.judged)
        whole = self.size > 1
        ties = TieSpans(np.append(0, np.cumsum(whole)), np.ones(int(whole.sum()), np.int64), self.size[whole])
        return replace(self._lists(self.document, np.ones_like(size), size), all_ties=ties)

    def with_gain(self, value: Callable[[Floats], Floats]) -> Population:
        """The same sets, which name only the documents that are worth something: mostly few of them."""
        named = self.pool.gains(value) != 0
        return self.once(("worthy", named.tobytes()), lambda: self._naming(named))

    def _naming(self, named: NDArray[np.bool_]) -> Population:
        row = np.flatnonzero(named[self.document])
        return Population(self.pool, self.query, self.size, np.searchsorted(row, self.offsets), self.document[row])

    def best_first(self, worth: Callable[[Floats], Floats]) -> Lists:
        """Sorted by descending worth, the unjudged documents last."""
        return self.once(("best", self._key(worth)), lambda: self._sorted(worth, best=True))

    def worst_first(self, worth: Callable[[Floats], Floats]) -> Lists:
        """The unjudged documents, then the others by ascending worth."""
        return self.once(("worst", self._key(worth)), lambda: self._sorted(worth, best=False))

    def _key(self, worth: Callable[[Floats], Floats]) -> Hashable:
        """One key for all worths that grow with the grade: sorting by grade sorts by them too."""
        # The pool has every grade that occurs here, and fewer rows than many lists of its documents.
        known = self.pool.grade if len(self.pool.grade) < len(self.document) else self.grade
        grades = self.once("grades", lambda: _distinct(known))
        with np.errstate(over="ignore", invalid="ignore"):
            worths = worth(grades)
        if not np.isfinite(worths).all():
            self.pool.gains(worth)  # which says whose
        return "grade" if (np.diff(worths) >= 0).all() else worth

    def _sorted(self, worth: Callable[[Floats], Floats], best: bool) -> Lists:
        key = self.grade if self._key(worth) == "grade" else worth(self.grade)
        order, _, _ = rank_segments(key if best else -key, self.offsets)
        rank = np.arange(1, len(order) + 1) - np.repeat(self.offsets[:-1], self.judged)
        if not best:
            rank += np.repeat(self.size - self.judged, self.judged)
        return self._lists(self.document[order], rank, rank)

    def _lists(self, document: Ints, first: Ints, last: Ints) -> Lists:
        return Lists(
            pool=self.pool,
            query=self.query,
            length=self.size,
            offsets=self.offsets,
            document=document,
            first=first,
            last=last,
        )


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, ascending. `np.unique` would load all of numpy.ma, a tenth of what a short run takes."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def once(memo: dict[Hashable, Any], key: Hashable, compute: Callable[[], Cached]) -> Cached:
    """What `compute` gives, computed the first time only and then kept in the memo."""
    if key not in memo:
        memo[key] = compute()
    result: Cached = memo[key]
    return result


@dataclass(frozen=True, eq=False)
class Lists:
    """Ranked lists side by side: rows offsets[i] to offsets[i + 1] are the judged documents of list i, by rank."""

    pool: Pool
    query: Ints  # of each list, a row number of the pool's queries
    length: Ints  # of each list, unjudged documents included
    offsets: Ints
    document: Ints  # of each row, a row of the pool
    first: Ints  # the ranks, from 1, that the document's tie spans
    last: Ints
    docid_rank: Ints | None = None  # its rank where ties go by document id, descending (trec_eval)
    input_rank: Ints | None = None  # its rank where ties keep the order of the input
    before_ties: Ints | None = None  # `last_judged` of each list, where ties have been broken since
    all_ties: TieSpans | None = None  # those of unjudged documents too; None where only rows are tied
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, pool: Pool, runs: Sequence[Retrieved]) -> Lists:
        """All queries of each run in turn; a query that a run lacks is an empty list."""
        queries = pool.queries
        length = np.zeros((len(runs), queries), np.int64)
        counts = np.zeros((len(runs), queries), np.int64)
        rows = []
        for s, run in enumerate(runs):
            length[s, run.query] = run.length
            counts[s, run.query] = np.diff(run.offsets)
            rows.append(_rows_by_query(run))
        offsets = np.zeros(length.size + 1, np.int64)
        np.cumsum(counts.ravel(), out=offsets[1:])

        def column(name: str) -> Any:
            parts = [getattr(run, name) for run in runs]
            if any(part is None for part in parts):
                return None
            ordered = [part if row is None else part[row] for part, row in zip(parts, rows, strict=True)]
            return ordered[0] if len(ordered) == 1 else np.concatenate(ordered)

        return cls(
            pool=pool,
            query=np.tile(np.arange(queries), len(runs)),
            length=length.ravel(),
            offsets=offsets,
            document=column("document"),
            first=column("first"),
            last=column("last"),
            docid_rank=column("docid_rank"),
            input_rank=column("input_rank"),
            all_ties=_ties_by_query(runs, queries),
        )

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def grade(self) -> Floats:
        return self.pool.grade[self.document]

    def gains(self, value: Callable[[Floats], Floats]) -> Floats:
        """What each row's document is worth; worked out once for all the documents of the pool."""
        return np.asarray(self.pool.gains(value)[self.document])

    @cached_property
    def list(self) -> Ints:
        """The list that each row belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def tied(self) -> bool:
        return bool((self.first != self.last).any())

    def once(self, key: Hashable, compute: Callable[[], Cached]) -> Cached:
        """What `compute` gives, computed the first time only."""
        return once(self.memo, key, compute)

    def sum(self, values: Floats) -> Floats:
        """The sum of the rows' values for each list."""
        return np.bincount(self.list, values, len(self)).astype(np.float64, copy=False)

    def count(self, chosen: NDArray[np.bool_]) -> Ints:
        """How many of the chosen rows each list has."""
        return np.bincount(self.list[chosen], minlength=len(self))

    def all_shuffled(self) -> Population:
        """What each list retrieved, as the population of a re-ranking."""
        return self.once(
            "shuffled", lambda: Population(self.pool, self.query, self.length, self.offsets, self.document)
        )

    def to_sort(self) -> Population:
        """The same for those who sort it: one for all lists that have the same documents, in whatever order."""
        return self.once("to sort", self.all_shuffled)

    def sorted_with(self, other: Lists) -> Lists:
        """Itself, sharing what is sorted with lists of the same documents."""
        self.memo["to sort"] = other.to_sort()
        return self

    @property
    def last_judged(self) -> Ints:
        """The last rank that a judged document of each list could take, however ties are broken; 0 without one."""
        if self.before_ties is not None:
            return self.before_ties
        rank = np.zeros(len(self), np.int64)
        some = np.diff(self.offsets) > 0
        rank[some] = self.last[self.offsets[1:][some] - 1]
        return rank

    def with_judged(self, named: NDArray[np.bool_] | None = None) -> tuple[Population, Ints]:
        """All that is judged for the query and the unjudged documents that the list ranks above a judged one.

        Those below its last judged one push nothing down. Such a set is the query's pool and so many unjudged
        documents, so that it is the same for many lists: the different sets, and which of them is whose.
        named: of each row of the pool, whether the sets name it. The others are only counted, as unjudged ones are.
        """
        if named is None or named.all():
            return self.once("with judged", lambda: self._with_judged(None))
        return self.once(("with judged", named.tobytes()), lambda: self._with_judged(named))

    def _with_judged(self, named: NDArray[np.bool_] | None) -> tuple[Population, Ints]:
        unjudged = self.last_judged - np.diff(self.offsets)
        if named is None and not unjudged.any():
            return self.pool.everything, self.query
        most = int(unjudged.max(initial=0)) + 1
        code = self.query.astype(np.int64) * most + unjudged
        different = _distinct(code)
        query = different // most
        row = np.arange(len(self.pool.grade)) if named is None else np.flatnonzero(named)
        cuts = self.pool.offsets if named is None else np.searchsorted(row, self.pool.offsets)
        count = np.diff(cuts)[query]
        offsets = np.concatenate([[0], np.cumsum(count)])
        document = row[np.arange(offsets[-1]) + np.repeat(cuts[query] - offsets[:-1], count)]
        size = self.pool.size[query] + different % most
        return Population(self.pool, query, size, offsets, document), np.searchsorted(different, code)

    def where(self, chosen: NDArray[np.bool_]) -> Lists:
        """The same lists with only the chosen rows: the others become as good as unjudged."""
        row = np.flatnonzero(chosen)
        return self._rows(row, np.searchsorted(row, self.offsets))

    def with_gain(self, value: Callable[[Floats], Floats]) -> Lists:
        """The same lists with only the rows whose document is worth something: mostly few of them."""
        return self.once(("worthy", value), lambda: self.where(self.gains(value) != 0))

    def top(self, cutoff: int | None) -> Lists:
        """The rows that could be ranked at the cutoff or above."""
        if cutoff is None:
            return self
        return self.once(("top", cutoff), lambda: self.where(self.first <= cutoff))

    def top_with_gain(self, value: Callable[[Floats], Floats], cutoff: int | None) -> Lists:
        """The rows that are worth something and could be ranked at the cutoff or above."""
        few = cutoff is not None and 4 * cutoff * len(self) < len(self.first)  # what drops most rows goes first
        return self.top(cutoff).with_gain(value) if few else self.with_gain(value).top(cutoff)

    @cached_property
    def groups(self) -> Groups:
        """The ties, a document alone being a tie of one."""
        starts = np.ones(len(self.first), bool)
        starts[1:] = (self.first[1:] != self.first[:-1]) | (self.list[1:] != self.list[:-1])
        start = np.flatnonzero(starts)
        return Groups(
            lists=self,
            start=start,
            row_group=np.cumsum(starts) - 1,
            list=self.list[start],
            before=self.first[start].astype(np.int64) - 1,
            size=(self.last[start] - self.first[start] + 1).astype(np.int64),
        )

    # -- other orders of the same lists ------------------------------------------------------------

    def under(self, ties: str) -> Lists:
        """The lists with ties broken by this rule; `average` leaves them for the measure to average over."""
        if ties == "average":
            return self
        if not self.tied:
            return self if self.all_ties is None else replace(self, all_ties=None, memo={})
        if ties in ("best", "worst"):
            return self._ranked(self._rank_by_grade(best=ties == "best"))
        return self._ranked(rank_in_ties(ties, self.first, self.last, self.docid_rank, self.input_rank))

    def condensed(self) -> Lists:
        """The lists without their unjudged documents."""
        groups = self.groups
        position = np.arange(len(self.first)) - self.offsets[:-1][self.list] + 1
        start = position[groups.start][groups.row_group]
        judged = np.diff(np.append(groups.start, len(self.first)))[groups.row_group]

        def again(rank: Ints | None) -> Ints | None:
            if rank is None:
                return None
            order = np.lexsort((rank, self.list))
            fresh = np.empty_like(position)
            fresh[order] = position
            return fresh

        return replace(
            self,
            length=np.diff(self.offsets),
            first=start,
            last=start + judged - 1,
            docid_rank=again(self.docid_rank),
            input_rank=again(self.input_rank),
            before_ties=None,
            all_ties=None,
            memo={},
        )

    def _rank_by_grade(self, best: bool) -> Ints:
        """Ranks inside ties by grade, unjudged documents counting as grade 0."""
        sign = -1 if best else 1
        order = np.lexsort((sign * self.grade, self.first, self.list))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        group = self.groups.row_group
        from_top = place - self.groups.start[group]
        judged = np.diff(np.append(self.groups.start, len(self.first)))[group]
        from_bottom = judged - 1 - from_top
        above = (self.grade >= 0) if best else (self.grade < 0)  # above the unjudged ones
        return np.where(above, self.first + from_top, self.last - from_bottom)

    def _ranked(self, rank: Ints) -> Lists:
        tied = np.flatnonzero(self.first != self.last)  # all other rows stay where they are
        own = rank[tied].astype(np.int64)
        key = self.list[tied] * (int(own.max(initial=0)) + 1) + own
        row = tied if (key[1:] > key[:-1]).all() else tied[np.argsort(key, kind="stable")]

        def moved(column: Ints) -> Ints:
            if row is tied:
                return column
            fresh = column.copy()
            fresh[tied] = column[row]
            return fresh

        fresh = moved(rank)
        return replace(
            self,
            document=moved(self.document),
            first=fresh,
            last=fresh,
            docid_rank=None if self.docid_rank is None else moved(self.docid_rank),
            input_rank=None if self.input_rank is None else moved(self.input_rank),
            before_ties=self.last_judged,
            all_ties=None,
            memo={},
        ).sorted_with(self)

    def _rows(self, row: Ints, offsets: Ints) -> Lists:
        """Only these rows, in this order, and where each list's start."""
        return replace(
            self,
            offsets=offsets,
            document=self.document[row],
            first=self.first[row],
            last=self.last[row],
            docid_rank=None if self.docid_rank is None else self.docid_rank[row],
            input_rank=None if self.input_rank is None else self.input_rank[row],
            memo={},
        )


@dataclass(frozen=True, eq=False)
class Groups:
    """The ties of some lists: who is in each, how many ranks it spans and how many lie before it."""

    lists: Lists
    start: Ints  # the first row of each group
    row_group: Ints  # the group of each row
    list: Ints  # of each group
    before: Ints  # ranks before the group
    size: Ints  # documents in the group, unjudged ones included

    def __len__(self) -> int:
        return len(self.start)

    def sum(self, values: Floats) -> Floats:
        """The sum of the rows' values in each group."""
        return np.bincount(self.row_group, values, len(self)).astype(np.float64, copy=False)

    def count(self, chosen: NDArray[np.bool_]) -> Ints:
        """How many of the chosen rows each group has."""
        return np.bincount(self.row_group[chosen], minlength=len(self))

    def above(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of the groups' values over the groups above each, in the same list."""
        total = np.concatenate([[0], np.cumsum(values)])
        starts = np.searchsorted(self.list, np.arange(len(self.lists)))
        return np.asarray(total[:-1] - total[starts[self.list]])

    def sum_by_list(self, values: Floats) -> Floats:
        return np.bincount(self.list, values, len(self.lists)).astype(np.float64, copy=False)


def rank_in_ties(ties: str, first: Ints, last: Ints, docid_rank: Ints | None, input_rank: Ints | None) -> Ints:
    """Return the rank of each document under a tie rule that does not read grades.

    first, last: the ranks that the tie of the document spans. Averaged ties are ordered by document id, descending.

    >>> by_id, by_input = np.array([1, 3, 2]), np.array([1, 2, 3])
    >>> rank_in_ties("docid-ascending", np.array([1, 2, 2]), np.array([1, 3, 3]), by_id, by_input)
    array([1, 2, 3])
    """
    if ties in ("average", "docid", "docid-ascending"):
        if docid_rank is None:
            raise CalipersError(
                "ties cannot be broken by document id: the documents have no ids; "
                "use ties average, input, best or worst"
            )
        return first + last - docid_rank if ties == "docid-ascending" else docid_rank
    if ties == "input":
        if input_rank is None:
            raise CalipersError("ties cannot be broken by input order: it is not known")
        return input_rank
    raise CalipersError(f"unknown tie rule '{ties}'; expected one of {', '.join(TIE_RULES)}")


def _ties_by_query(runs: Sequence[Retrieved], queries: int) -> TieSpans | None:
    """The ties of all queries of each run in turn; None where there are none."""
    if not any(len(run.all_ties.first) for run in runs):
        return None
    place = np.full((len(runs), queries), -1)
    start = 0
    for s, run in enumerate(runs):
        place[s, run.query] = np.arange(start, start + len(run.query))
        start += len(run.query)
    joined = TieSpans.joined([*(run.all_ties for run in runs), TieSpans.none(1)])  # the last for what a run lacks
    return joined.take(place.ravel())


def _rows_by_query(run: Retrieved) -> Ints | None:
    """The rows of a run in the order of the judgments' queries; None where they are so already."""
    if (np.diff(run.query) > 0).all():
        return None
    order = np.argsort(run.query, kind="stable")
    counts = np.diff(run.offsets)[order]
    ends = np.cumsum(counts)
    rows: Ints = np.arange(len(run.document)) + np.repeat(run.offsets[:-1][order] - (ends - counts), counts)
    return rows
