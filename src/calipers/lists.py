"""Ranked lists as flat arrays, which all measures read.

A list is the answer of one system to one query. Only its *judged* documents are kept, in rank order. Unjudged documents
matter only through ranks and lengths. A document in a tie could have any of the ranks from `first` to `last`: a measure
averages over the orders of a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args
from weakref import proxy

import numpy as np

from calipers.errors import CalipersError
from calipers.native.columns import Retrieved
from calipers.native.scanner import rank_segments
from calipers.support.choices import TieRule

__all__ = ["Floats", "Ints", "Lists", "Pool", "Population"]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.integer[Any]]
else:  # names for annotations, which are not evaluated at run time
    Floats = Ints = NDArray = Any
Cached = TypeVar("Cached")

# Descriptions of kinds of judgments, for messages.
SAID_OF = {
    "grades": "plain ones, with one grade per document",
    "subtopics": "judgments by subtopic (query subtopic document grade)",
    "preferences": "preferences (query document document)",
    "samples": "judgments of a sample (query 0 document stratum grade)",
}
UNJUDGED = -1.0  # the grade of documents that are in a pool only because a run retrieves them
TIE_RULES = get_args(TieRule)


@dataclass(frozen=True, eq=False)
class Pool:
    """The grades of all judged documents. The rows offsets[q] to offsets[q + 1] belong to query q."""

    kind: ClassVar[str] = "grades"  # kind of judgments, a key of SAID_OF

    offsets: Ints
    grade: Floats
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    cost: Floats | None = None  # cost of reading the document of each row, if known

    def of_whole_grades(self) -> Pool:
        """Return the pool with grades rounded towards 0, as tools that read whole numbers see them."""
        grade = np.trunc(self.grade)
        return self if (grade == self.grade).all() else Pool(self.offsets, grade, cost=self.cost)

    @property
    def whole(self) -> bool:
        """True if the pool contains all pooled documents, so that ideal and random rankings of them are known."""
        return True

    @property
    def queries(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def size(self) -> Ints:
        """The number of judged documents of each query."""
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> Ints:
        """The query of each row."""
        return np.repeat(np.arange(self.queries), self.size)

    @cached_property
    def place(self) -> Ints:
        """The position of each row among the rows of its query, from 1."""
        starts = np.repeat(self.offsets[:-1].astype(np.int32), self.size)
        return np.arange(1, len(self.grade) + 1, dtype=np.int32) - starts

    @cached_property
    def largest_grade(self) -> float:
        return float(self.grade.max(initial=0.0))

    def count(self, chosen: NDArray[np.bool_]) -> Ints:
        """Return the number of chosen rows of each query."""
        return np.bincount(self.query[chosen], minlength=self.queries)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of the values over the rows of each query."""
        return np.bincount(self.query, values, self.queries).astype(np.float64)

    def gains(self, value: Callable[[Floats], Floats]) -> Floats:
        """Return the gain of each document. Raise an error unless the gains and their sum per query are finite."""
        return self.once(("gains", value), lambda: self._gains(value))

    def _gains(self, value: Callable[[Floats], Floats]) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            gains = np.asarray(value(self.grade))
            total = self.sum(np.abs(gains))
        if not np.isfinite(total).all():
            query = int(np.flatnonzero(~np.isfinite(total))[0])
            rows = slice(int(self.offsets[query]), int(self.offsets[query + 1]))
            largest = int(np.argmax(np.nan_to_num(np.abs(gains[rows]), nan=np.inf)))
            grade, gain = self.grade[rows][largest], gains[rows][largest]
            what = "its gain is" if not np.isfinite(gain) else f"its gain is {gain:g}, and the sum of the query's is"
            raise CalipersError(
                f"grade {grade:g} of query '{self._name(query)}': {what} not a finite number; take another gain"
            )
        return gains

    def name_queries(self, names: Sequence[str]) -> None:
        """Set the names of the queries that error messages show."""
        self.memo["names"] = names

    def _name(self, query: int) -> str:
        return str(self.memo["names"][query]) if "names" in self.memo else str(query + 1)

    def relevant(self, rel: float) -> Ints:
        """Return R, the number of documents of each query with at least this grade."""
        return self.once(("relevant", rel), lambda: self.count(self.grade >= rel))

    def once(self, key: Hashable, compute: Callable[[], Cached]) -> Cached:
        """Return the result of `compute`, which is called only the first time for a key."""
        return once(self.memo, key, compute)

    @cached_property
    def everything(self) -> Population:
        """All the judged documents of each query."""
        # The pool keeps this population, so the population must not keep the pool: reference cycles are freed late.
        return Population(proxy(self), np.arange(self.queries), self.size, self.offsets, np.arange(len(self.grade)))


@dataclass(frozen=True, eq=False)
class Population:
    """Sets of documents that random rankings shuffle: judged documents, and a number of unjudged ones without gain.

    A random ranking is a ranking in which everything is tied. The ideal and the worst ranking are sorted.
    """

    pool: Pool
    query: Ints  # query of each set of documents
    size: Ints  # number of documents of each set, unjudged ones included
    offsets: Ints  # set i holds the judged documents of rows offsets[i] to offsets[i + 1]
    document: Ints  # the row of the pool for each row
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Hashable, compute: Callable[[], Cached]) -> Cached:
        """Return the result of `compute`, which is called only the first time for a key."""
        return once(self.memo, key, compute)

    @cached_property
    def grade(self) -> Floats:
        return self.pool.grade[self.document]

    @cached_property
    def judged(self) -> Ints:
        """The number of judged documents of each set."""
        return np.diff(self.offsets)

    @cached_property
    def shuffled(self) -> Lists:
        """Everything in one tie."""
        size = np.repeat(self.size, self.judged)
        return self._lists(self.document, np.ones_like(size), size)

    def with_gain(self, value: Callable[[Floats], Floats]) -> Population:
        """Return the same sets with only the documents that have a gain listed. The others are only counted."""
        named = self.pool.gains(value) != 0
        return self.once(("with gain", named.tobytes()), lambda: self._naming(named))

    def _naming(self, named: NDArray[np.bool_]) -> Population:
        row = np.flatnonzero(named[self.document])
        return Population(self.pool, self.query, self.size, np.searchsorted(row, self.offsets), self.document[row])

    def best_first(self, gain: Callable[[Floats], Floats]) -> Lists:
        """Return lists sorted by descending gain, with the unjudged documents last."""
        return self.once(("best", self._key(gain)), lambda: self._sorted(gain, best=True))

    def worst_first(self, gain: Callable[[Floats], Floats]) -> Lists:
        """Return lists with the unjudged documents first and the judged ones by ascending gain."""
        return self.once(("worst", self._key(gain)), lambda: self._sorted(gain, best=False))

    def _key(self, gain: Callable[[Floats], Floats]) -> Hashable:
        """Return the memo key of a sorted order. Gains that grow with the grade share a key, as they sort alike."""
        # The pool has every grade that occurs here, and fewer rows than many lists of its documents.
        known = self.pool.grade if len(self.pool.grade) < len(self.document) else self.grade
        grades = self.once("grades", lambda: _distinct(known))
        with np.errstate(over="ignore", invalid="ignore"):
            gains = gain(grades)
        if not np.isfinite(gains).all():
            self.pool.gains(gain)  # raises an error that names the query
        return "grade" if (np.diff(gains) >= 0).all() else gain

    def _sorted(self, gain: Callable[[Floats], Floats], best: bool) -> Lists:
        key = self.grade if self._key(gain) == "grade" else gain(self.grade)
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
    """Return the distinct values in ascending order. `np.unique` would load numpy.ma: a tenth of a short command."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def once(memo: dict[Hashable, Any], key: Hashable, compute: Callable[[], Cached]) -> Cached:
    """Return the result of `compute`, which is called only the first time and then kept in the memo."""
    if key not in memo:
        memo[key] = compute()
    result: Cached = memo[key]
    return result


@dataclass(frozen=True, eq=False)
class Lists:
    """Ranked lists, one after another. The rows offsets[i] to offsets[i + 1] are the judged documents of list i."""

    pool: Pool
    query: Ints  # index of the query of each list
    length: Ints  # number of documents of each list, unjudged ones included
    offsets: Ints
    document: Ints  # the row of the pool for each row
    first: Ints  # the ranks, from 1, that the document's tie spans
    last: Ints
    docid_rank: Ints | None = None  # the rank if ties are broken by document id, descending (trec_eval)
    input_rank: Ints | None = None  # the rank if ties keep the order of the input
    before_ties: Ints | None = None  # `last_judged` of each list before ties were broken
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, pool: Pool, runs: Sequence[Retrieved]) -> Lists:
        """Return the lists of all queries for each run. A query that a run does not answer gets an empty list."""
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
        )

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def grade(self) -> Floats:
        return self.pool.grade[self.document]

    def gains(self, value: Callable[[Floats], Floats]) -> Floats:
        """Return the gain of the document of each row. It is computed once for all documents of the pool."""
        return np.asarray(self.pool.gains(value)[self.document])

    @cached_property
    def list(self) -> Ints:
        """The list that each row belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def tied(self) -> bool:
        return bool((self.first != self.last).any())

    def once(self, key: Hashable, compute: Callable[[], Cached]) -> Cached:
        """Return the result of `compute`, which is called only the first time for a key."""
        return once(self.memo, key, compute)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of the values over the rows of each list."""
        return np.bincount(self.list, values, len(self)).astype(np.float64, copy=False)

    def count(self, chosen: NDArray[np.bool_]) -> Ints:
        """Return the number of chosen rows of each list."""
        return np.bincount(self.list[chosen], minlength=len(self))

    def all_shuffled(self) -> Population:
        """Return the retrieved documents of each list as a population that can be ranked again."""
        return self.once(
            "shuffled", lambda: Population(self.pool, self.query, self.length, self.offsets, self.document)
        )

    def to_sort(self) -> Population:
        """Return the retrieved documents for sorting. Lists of the same documents in other orders share the result."""
        return self.once("to sort", self.all_shuffled)

    def sorted_with(self, other: Lists) -> Lists:
        """Share sorted orders with lists of the same documents, and return these lists."""
        self.memo["to sort"] = other.to_sort()
        return self

    @property
    def last_judged(self) -> Ints:
        """The last rank that a judged document of each list can have under any order of ties, or 0 without one."""
        if self.before_ties is not None:
            return self.before_ties
        rank = np.zeros(len(self), np.int64)
        some = np.diff(self.offsets) > 0
        rank[some] = self.last[self.offsets[1:][some] - 1]
        return rank

    def with_judged(self, named: NDArray[np.bool_] | None = None) -> tuple[Population, Ints]:
        """Return the judged documents of the query and the unjudged ones that the list ranks above a judged document.

        Unjudged documents below the last judged one change no rank. A set is the pool of the query and a number of
        unjudged documents. Many lists have the same set, so the result has the distinct sets, and for each list the
        index of its set.
        named: True for rows of the pool that the sets list. Other rows are only counted, like unjudged documents.
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
        """Return the same lists with only the chosen rows. The other documents then count as unjudged."""
        row = np.flatnonzero(chosen)
        return self._rows(row, np.searchsorted(row, self.offsets))

    def with_gain(self, value: Callable[[Floats], Floats]) -> Lists:
        """Return the same lists with only the documents that have a gain."""
        return self.once(("with gain", value), lambda: self.where(self.gains(value) != 0))

    def top(self, cutoff: int | None) -> Lists:
        """Return the same lists with only the documents that can rank at the cutoff or above it."""
        if cutoff is None:
            return self
        return self.once(("top", cutoff), lambda: self.where(self.first <= cutoff))

    def top_with_gain(self, value: Callable[[Floats], Floats], cutoff: int | None) -> Lists:
        """Return the same lists with only the documents that have a gain and can rank at the cutoff or above it."""
        few = cutoff is not None and 4 * cutoff * len(self) < len(self.first)  # the step that drops most rows is first
        return self.top(cutoff).with_gain(value) if few else self.with_gain(value).top(cutoff)

    @cached_property
    def groups(self) -> Groups:
        """The ties. A document that is tied with no other is a tie of one."""
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
        """Return the lists with ties broken by a rule. `average` keeps ties: measures average over their orders."""
        if ties == "average" or not self.tied:
            return self
        if ties in ("best", "worst"):
            return self._ranked(self._rank_by_grade(best=ties == "best"))
        return self._ranked(rank_in_ties(ties, self.first, self.last, self.docid_rank, self.input_rank))

    def condensed(self) -> Lists:
        """Return the lists without their unjudged documents."""
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
            memo={},
        )

    def _rank_by_grade(self, best: bool) -> Ints:
        """Rank the documents of each tie by grade. Unjudged documents count as grade 0."""
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
            memo={},
        ).sorted_with(self)

    def _rows(self, row: Ints, offsets: Ints) -> Lists:
        """Return lists with only these rows, in this order. The rows of a list start at its offset."""
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
    """The ties of some lists, with their documents and ranks."""

    lists: Lists
    start: Ints  # the first row of each group
    row_group: Ints  # the group of each row
    list: Ints  # the list of each group
    before: Ints  # number of ranks before the group
    size: Ints  # documents in the group, unjudged ones included

    def __len__(self) -> int:
        return len(self.start)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of the values over the rows of each group."""
        return np.bincount(self.row_group, values, len(self)).astype(np.float64, copy=False)

    def count(self, chosen: NDArray[np.bool_]) -> Ints:
        """Return the number of chosen rows of each group."""
        return np.bincount(self.row_group[chosen], minlength=len(self))

    def above(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each group the sum of the values of the groups above it in the same list."""
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
            raise CalipersError("ties cannot be broken by input order: the order of the input is not known")
        return input_rank
    raise CalipersError(f"unknown tie rule '{ties}'; expected one of {', '.join(TIE_RULES)}")


def _rows_by_query(run: Retrieved) -> Ints | None:
    """Return the rows of a run in the order of the queries of the judgments, or None if they have this order."""
    if (np.diff(run.query) > 0).all():
        return None
    order = np.argsort(run.query, kind="stable")
    counts = np.diff(run.offsets)[order]
    ends = np.cumsum(counts)
    rows: Ints = np.arange(len(run.document)) + np.repeat(run.offsets[:-1][order] - (ends - counts), counts)
    return rows
