"""Runs read whole against judgments: which documents of each list are judged, and where the unjudged ones stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from os import cpu_count
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.document_facts import DocumentFacts
from calipers.collection.id_codes import Words, as_words, coded, mixed, side_by_side
from calipers.collection.judgments import Judgments
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import ArrayRun, Run, ScoreFile
from calipers.errors import CalipersError
from calipers.fusion.candidates import WholeRun, ranked_segments, top_rows, whole_run
from calipers.lists import Floats, Ints, Lists
from calipers.measures.forms.gradings import Unknown, spread
from calipers.native.columns import Retrieved, TieSpans
from calipers.native.id_text import decode, encode
from calipers.native.ids import Ids
from calipers.native.scanner import shared_bits

SIEVE = np.uint64((1 << 20) - 1)  # the last bits of a hash, by which most unjudged documents are told at once


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where unjudged documents stand, list by list."""

    first: Ints  # the ranks that the document's tie spans
    last: Ints
    place: Ints  # its rank where ties go by document id
    input_place: Ints  # its rank where ties keep the order of the input

    def rows(self, row: Ints) -> Ranks:
        return Ranks(self.first[row], self.last[row], self.place[row], self.input_place[row])


class Standing:
    """Where the unjudged documents of some lists stand, list by list, and which documents they are."""

    def __init__(self, read: Callable[[], tuple[Ranks, Ids, Ints]]) -> None:
        """read: gives the ranks, the ids of the whole run, and where each document is among them."""
        self._read = read

    @cached_property
    def _known(self) -> tuple[Ranks, Ids, Ints]:
        return self._read()

    @property
    def ranks(self) -> Ranks:
        return self._known[0]

    def top(self, depth: int, rest: int, count: Ints, ties: str) -> tuple[Ranks, Ints]:
        """The documents whose tie begins in so many ranks, and of each list so many of the rest; how many each list
        has. count: the unjudged documents of each list.
        """
        bounds = np.concatenate([[0], np.cumsum(count)])
        inside = np.diff(np.searchsorted(np.flatnonzero(self.ranks.first <= depth), bounds))
        kept = np.minimum(count, inside + rest)
        return self.ranks.rows(spread(bounds[:-1], kept)), kept

    def documents(self, rows: Ints) -> Ids:
        """The ids of some rows."""
        _, ids, row = self._known
        return ids.take(row[rows])


class FoundStanding(Standing):
    """The same of a run whose judged documents are known: their ranks tell those of the others, so that lists are only
    sorted where it is asked who stands there.
    """

    def __init__(self, run: Run, judged: _Judged, found: Retrieved) -> None:
        super().__init__(lambda: _read_all(run, judged, None, found).standing._known)
        self._run, self._judged, self._found = run, judged, found
        order = np.argsort(found.query, kind="stable")
        held = np.diff(found.offsets)[order]  # judged documents of each list
        row = spread(found.offsets[:-1][order], held)
        assert found.docid_rank is not None  # files have ids
        self.query, self.count = found.query[order], found.length[order] - held
        self._held, self._length = held, found.length[order]
        self._taken, self._of = found.docid_rank[row], np.repeat(np.arange(len(held)), held)
        self._ties = found.all_ties.take(order)
        self._first = found.first[row]

    @cached_property
    def _lists(self) -> _WholeLists:
        return _WholeLists.of(self._run, self._judged)

    def top(self, depth: int, rest: int, count: Ints, ties: str) -> tuple[Ranks, Ints]:
        if ties == "input":  # which asks who is who inside ties
            return super().top(depth, rest, count, ties)
        each = np.arange(len(self.count))
        _, end = _tie_of(self._ties, each, np.minimum(self._length, depth))
        judged = np.bincount(self._of[self._first <= depth], minlength=len(each))
        kept = np.minimum(self.count, end - judged + rest)
        place, of = self._places(kept)
        first, last = _tie_of(self._ties, of, place)
        counts = np.zeros_like(count)
        counts[self.query] = kept
        return Ranks(first, last, place, place), counts

    def _places(self, wanted: Ints) -> tuple[Ints, Ints]:
        """The ranks of the first unjudged documents of each list, and the list of each."""
        return _free_ranks(
            self._of, self._taken, wanted, np.where(wanted > 0, np.minimum(wanted + self._held, self._length), 0)
        )

    def whole_list(self, query: int) -> Ids:
        """All documents that are retrieved for a query, in the order of the file."""
        lists = self._lists
        start, end = lists.starts[np.searchsorted(lists.answered, [query, query + 1])].tolist()
        return Ids(lists.documents.data, lists.documents.offsets[start : end + 1])

    def documents(self, rows: Ints) -> Ids:
        lists, start = self._lists, np.cumsum(self.count) - self.count
        of = np.searchsorted(start + self.count, rows, side="right")
        wanted = np.zeros(len(start), np.int64)
        np.maximum.at(wanted, of, rows - start[of] + 1)
        place = self._places(wanted)[0][(np.cumsum(wanted) - wanted)[of] + rows - start[of]]
        some = np.flatnonzero(wanted)
        row = spread(lists.starts[some], self._length[some])
        cuts = np.concatenate([[0], np.cumsum(self._length[some])])

        def words(of_row: Ints) -> Words:
            return as_words(lists.documents.take(row[of_row]))

        order, starts = top_rows(lists.score[row], cuts, int(place.max(initial=1)), words)
        return lists.documents.take(row[order[starts[np.searchsorted(some, of)] + place - 1]])


def _free_ranks(segment: Ints, taken: Ints, wanted: Ints, enough: Ints) -> tuple[Ints, Ints]:
    """The first ranks of each list that are not taken, as many as are wanted, and the list of each.

    segment, taken: the list and the rank of each judged document. enough: in so many ranks there are as many.

    >>> _free_ranks(np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([2, 1]), np.array([4, 3]))
    (array([2, 4, 1]), array([0, 0, 1]))
    """
    offsets = np.concatenate([[0], np.cumsum(enough)])
    free = np.ones(int(offsets[-1]), bool)
    near = taken <= enough[segment]
    free[offsets[segment[near]] + taken[near] - 1] = False
    row = np.flatnonzero(free)
    bounds = np.searchsorted(row, offsets)
    row = row[spread(bounds[:-1], wanted)]
    of = np.repeat(np.arange(len(wanted)), wanted)
    return row - offsets[of] + 1, of


def _tie_of(ties: TieSpans, of: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """The ranks that the tie of each rank spans; itself where it is in none. of: the list of each rank."""
    if not len(ties.first):
        return rank, rank
    most = int(max(rank.max(initial=0), ties.last.max(initial=0))) + 1
    member = np.repeat(np.arange(len(ties.offsets) - 1), np.diff(ties.offsets))
    at = np.searchsorted(member * most + ties.first, of * most + rank, side="right") - 1
    tied = (at >= 0) & (member[at] == of) & (ties.last[at] >= rank)
    return np.where(tied, ties.first[at], rank), np.where(tied, ties.last[at], rank)


@dataclass(frozen=True, eq=False)
class OpenLists:
    """The lists of some systems, all queries of each system in turn, with their unjudged documents.

    An unjudged document that several lists retrieve has a row in each.
    """

    judgments: Judgments
    systems: tuple[str, ...]
    retrieved: tuple[Retrieved, ...]  # the judged documents of each system
    lists: Lists  # the same as one block, ties averaged
    offsets: Ints  # list i has the unjudged documents of rows offsets[i] to offsets[i + 1], by rank
    standings: tuple[Standing, ...]  # of these documents, in parts of equally many systems
    jobs: int | None = field(default=None, kw_only=True)  # threads for all that follows; None: one for each processor
    cost: Floats | None = field(default=None, kw_only=True)  # of these documents, where it is known what they cost
    group: Ints | None = field(default=None, kw_only=True)  # the place of their group among all, where these are known

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        runs: Sequence[Run],
        depth: int | None = None,
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> OpenLists:
        """Read some runs. Only queries with judgments are kept."""
        index = _Judged(judgments)
        read = []
        # More threads than processors: one unpacks while another sorts.
        with ThreadPoolExecutor(jobs or 2 * (cpu_count() or 1)) as pool:
            for each in pool.map(lambda run: _read(run, index, depth), runs):
                read.append(each)
                if progress:
                    progress(1)
        queries = len(judgments.queries)
        count = np.zeros((len(read), queries), np.int64)
        for s, each in enumerate(read):
            count[s, each.query] = each.count
        if not any(len(each.found.query) for each in read):
            unjudged = (each.found.unjudged for each in read)
            raise judgments.not_answered(next((queries[0] for queries in unjudged if len(queries)), None))
        return cls(
            judgments,
            tuple(name for name, _ in distinct_names(runs)),
            tuple(each.found for each in read),
            Lists.of(judgments.pool, [each.found for each in read]),
            np.concatenate([[0], np.cumsum(count)]),
            tuple(each.standing for each in read),
            jobs=jobs,
        )

    def with_facts(self, facts: DocumentFacts) -> OpenLists:
        """With what is known of unjudged documents."""
        names = self.names(np.arange(int(self.offsets[-1])))
        return replace(self, cost=facts.costs_of(names), group=facts.groups_of(names))

    def notes_on(self, facts: DocumentFacts) -> tuple[str, ...]:
        """How many of the documents that are retrieved have no cost, or no group."""
        judged = np.unique(self.lists.document)
        names = self.judgments.document_names
        unjudged = self.names(np.arange(int(self.offsets[-1])))
        return facts.notes(chain(unjudged, (names[d] for d in judged.tolist())))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return len(self.systems), len(self.judgments.queries)

    @cached_property
    def count(self) -> Ints:
        """[system, query]: how many documents of a list are unjudged."""
        return np.diff(self.offsets).reshape(self.shape)

    def list(self, rows: Ints) -> Ints:
        """The list of each of these rows."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    @cached_property
    def unjudged_queries(self) -> Ints:
        """Of each system: queries that it answers but nobody judged."""
        return np.array([each.unjudged_queries for each in self.retrieved])

    @cached_property
    def first(self) -> Ints:
        """Of each row: the first rank of its tie."""
        return np.concatenate([part.ranks.first for part in self.standings])

    @cached_property
    def place(self) -> Ints:
        """Of each row: its rank where ties go by document id."""
        return np.concatenate([part.ranks.place for part in self.standings])

    @cached_property
    def _tops(self) -> dict[tuple[tuple[int, int], str], tuple[Sequence[Ranks], Ints]]:
        return {}

    def _top(self, within: tuple[int, int], ties: str) -> tuple[Sequence[Ranks], Ints]:
        """The first documents of each system's lists, and how many each list has: see `Standing.top`."""
        if (within, ties) not in self._tops:
            counts = self.count.reshape(len(self.standings), -1)
            tops = [each.top(*within, count, ties) for each, count in zip(self.standings, counts, strict=True)]
            self._tops[within, ties] = [top for top, _ in tops], np.concatenate([kept for _, kept in tops])
        return self._tops[within, ties]

    def unknown(
        self, grades: Floats, unseen: Ints | int = 0, ties: str = "average", within: tuple[int, int] | None = None
    ) -> Unknown:
        """The block in which a form finds its extreme scores.

        unseen: documents beside those of the list, one number for all lists or one for each.
        within: only the documents whose tie begins in so many ranks, and of each list so many of the rest.
        """
        lists, count = self.lists, self.count.ravel()
        if within is None:
            ranks: Sequence[Ranks] = [each.ranks for each in self.standings]
        else:
            ranks, count = self._top(within, ties)
        names = ("first", "last", "place")
        if ties != "average":  # every document has a rank of its own
            names = (("input_place" if ties == "input" else "place"),) * 3
            lists = replace(lists.under(ties), docid_rank=None, input_rank=None, memo={})
        columns = {name: np.concatenate([getattr(part, name) for part in ranks]) for name in dict.fromkeys(names)}
        first, last, place = (columns[name] for name in names)
        more = np.broadcast_to(np.asarray(unseen, np.int64), (len(lists),))
        if not more.any():
            return Unknown(
                lists, np.concatenate([[0], np.cumsum(count)]), first, last, place, grades, int(self.most),
                *((None, None) if within is not None else (self.cost, self.group)),
            )  # fmt: skip
        offsets = np.concatenate([[0], np.cumsum(count + more)])
        shown = spread(offsets[:-1], count)

        def wider(column: Any, others: int = 0) -> Any:
            found = np.full(int(offsets[-1]), others, column.dtype)
            found[shown] = column
            return found

        most = int(self.most + more.max(initial=0))
        cost = None if self.cost is None or within is not None else wider(self.cost, 1)
        group = None if self.group is None or within is not None else wider(self.group, -1)
        return Unknown(lists, offsets, wider(first), wider(last), wider(place), grades, most, cost, group)

    @cached_property
    def most(self) -> int:
        """The most unjudged documents that two lists of a query could have together."""
        return 2 * int(self.count.max(initial=0))

    # -- which document is which ---------------------------------------------------------------------

    def codes(self, rows: Ints) -> tuple[Ints, Ints]:
        """A number for each of the rows, the same for the same document of a query, and a row for each number.

        The rows are ascending; numbers go query by query.
        """
        query = self.list(rows) % self.shape[1]
        if not len(rows):
            return rows.astype(np.int64), rows.astype(np.int64)
        words = [as_words(self.standings[s].documents(local)) for s, local in self._by_system(rows)]
        code, one = coded(query, side_by_side(words))
        by_query = np.argsort(query[one], kind="stable")
        place = np.empty_like(by_query)
        place[by_query] = np.arange(len(by_query))
        return place[code], rows[one[by_query]]

    def shared(self, query: int, systems: Ints) -> Ints:
        """[system, system] of these: the unjudged documents of a query that both retrieve."""
        lists = systems * self.shape[1] + query
        files = [each for each in self.standings if isinstance(each, FoundStanding)]
        if len(files) < len(self.standings):
            count = self.count.ravel()[lists]
            return _in_common(self.codes(spread(self.offsets[lists], count))[0], count)
        # All documents less the judged ones: these need not be found in the file.
        words = [as_words(files[s].whole_list(query)) for s in systems.tolist()]
        size = np.array([*map(len, words)])
        code, _ = coded(np.zeros(int(size.sum()), np.int64), side_by_side(words))
        judged = np.diff(self.lists.offsets)[lists]
        documents = self.lists.document[spread(self.lists.offsets[lists], judged)]
        return _in_common(code, size) - _in_common(documents - self.lists.pool.offsets[query], judged)

    def names(self, rows: Ints) -> Sequence[str]:
        """The ids of the documents of some rows, in any order."""
        order = np.argsort(rows, kind="stable")
        found: Any = []
        for s, local in self._by_system(rows[order]):
            found += self.standings[s].documents(local).texts()
        names = [""] * len(rows)
        for place, name in zip(order.tolist(), found, strict=True):
            names[place] = name
        return names

    def _by_system(self, rows: Ints) -> Sequence[tuple[int, Ints]]:
        """Ascending rows, system by system, as the numbers that they have in it."""
        bounds = self.offsets[:: self.shape[1]]
        cuts = np.searchsorted(rows, bounds)
        return [(s, rows[cuts[s] : cuts[s + 1]] - bounds[s]) for s in np.flatnonzero(np.diff(cuts)).tolist()]


def _in_common(code: Ints, size: Ints) -> Ints:
    """[list, list]: how many documents two lists share. code: the number of each document; size: of each list.

    >>> _in_common(np.array([4, 0, 2, 4]), np.array([2, 0, 2])).tolist()
    [[2, 0, 1], [0, 0, 0], [1, 0, 2]]
    """
    shown = np.zeros((len(size), 64 * (int(code.max(initial=0)) // 64 + 1)), bool)
    shown[np.repeat(np.arange(len(size)), size), code] = True
    words = np.packbits(shown, axis=1).view(np.uint64)
    return shared_bits(words, words)


def possible_grades(judgments: Judgments, max_grade: float | None) -> Floats:
    """What an unknown document may turn out to be: the whole grades from 0 on and those that occur, up to the largest.

    >>> possible_grades(Judgments.from_dict({"q": {"a": 2, "b": 0.5, "c": -1}}), None)
    array([0. , 0.5, 1. , 2. ])
    """
    known = judgments.pool.grade
    top = judgments.pool.largest_grade if max_grade is None else max_grade
    if isinstance(top, bool) or not isinstance(top, int | float) or not 0 <= top <= 10_000:
        raise CalipersError(f"max_grade={max_grade} is not a number from 0 to 10,000")
    occurring = known[(known >= 0) & (known <= top)]
    return np.unique(np.concatenate([np.arange(int(top) + 1.0), occurring, [float(top)]]))


# -- one run ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _OfRun:
    """One run: its judged documents, and its unjudged ones query by query."""

    found: Retrieved
    query: Ints  # that it answers, ascending
    count: Ints  # unjudged documents of each
    standing: Standing


class _Judged:
    """Finds judged documents among many ids at once, by a hash that is checked."""

    def __init__(self, judgments: Judgments) -> None:
        self.judgments = judgments
        self._by_width: dict[int, tuple[Words, Ints, Words, bool, NDArray[np.bool_]]] = {}
        self._lock = Lock()
        if judgments.names is not None:
            judgments.index  # noqa: B018  built once, before threads ask for it

    def _hashes(self, width: int) -> tuple[Words, Ints, Words, bool, NDArray[np.bool_]]:
        """Of the judged documents, ascending: hashes, rows, words; whether no two are alike; what last bits occur."""
        with self._lock:
            if width not in self._by_width:
                words = side_by_side([as_words(self.judgments.documents), np.zeros((0, width), np.uint64)])
                hashed = mixed(self.judgments.pool.query, words)
                order = np.argsort(hashed)
                hashed = hashed[order]
                sieve = np.zeros(int(SIEVE) + 1, bool)
                sieve[hashed & SIEVE] = True
                self._by_width[width] = hashed, order, words, bool((hashed[1:] != hashed[:-1]).all()), sieve
            return self._by_width[width]

    def rows(self, query: Ints, words: Words, documents: Ids) -> tuple[Ints, Words]:
        """The row of the pool of each document, -1 for what nobody judged, and the hashes."""
        hashed, order, known, distinct, sieve = self._hashes(words.shape[1])
        if known.shape[1] > words.shape[1]:
            words = side_by_side([words, np.zeros((0, known.shape[1]), np.uint64)])
        own = mixed(query, words)
        if not distinct:
            return self._one_by_one(query, documents), own
        row = np.full(len(own), -1)
        likely = np.flatnonzero(sieve[own & SIEVE])
        place = np.minimum(np.searchsorted(hashed, own[likely]), len(hashed) - 1)
        same_hash = hashed[place] == own[likely]
        hit = likely[same_hash]
        row[hit] = order[place[same_hash]]
        same = (self.judgments.pool.query[row[hit]] == query[hit]) & (known[row[hit]] == words[hit]).all(axis=1)
        if not same.all():
            return self._one_by_one(query, documents), own
        return row, own

    def _one_by_one(self, query: Ints, documents: Ids) -> Ints:
        find = self.judgments.index.find
        return np.fromiter(map(find, query.tolist(), documents.tolist()), np.int64, len(query))


def _read(run: Run, judged: _Judged, depth: int | None) -> _OfRun:
    if isinstance(run, ArrayRun | ScoreFile):  # one score per label: nothing is unjudged
        found = run.retrieved(judged.judgments, depth or 0)
        none = np.zeros(0, np.int64)
        return _OfRun(found, none, none, Standing(lambda: (Ranks(*[none] * 4), Ids.of([]), none)))
    if depth is None and hasattr(run, "whole_file"):
        found = run.retrieved(judged.judgments)
        standing = FoundStanding(run, judged, found)
        return _OfRun(found, standing.query, standing.count, standing)
    return _read_all(run, judged, depth, None)


@dataclass(frozen=True, eq=False)
class _WholeLists:
    """The lists of a run for queries with judgments, one after another, each in the order of the file."""

    whole: WholeRun
    documents: Ids
    score: Floats
    starts: Ints  # list i has the rows starts[i] to starts[i + 1]
    answered: Ints  # the query of each list, ascending
    unjudged: list[bytes]  # queries without judgments
    chosen: Ints | None  # the rows of the file, where these are not all of them in their order

    @classmethod
    def of(cls, run: Run, judged: _Judged) -> _WholeLists:
        whole = whole_run(run)
        index = judged.judgments.index
        known = np.array([index.query(query) for query in whole.queries], np.int64)
        unjudged = [query for query, row in zip(whole.queries, known.tolist(), strict=True) if row < 0]
        if not len(known):
            return cls(whole, whole.documents, whole.score, np.zeros(1, np.int64), known, unjudged, None)
        starts = _starts(whole.query)
        answered = known[whole.query[starts[:-1]]]
        if answered[0] >= 0 and (answered[1:] > answered[:-1]).all():
            return cls(whole, whole.documents, whole.score, starts, answered, unjudged, None)
        at = known[whole.query]
        rows = np.flatnonzero(at >= 0)
        rows = rows[np.argsort(at[rows], kind="stable")]
        starts = _starts(at[rows])
        answered = at[rows][starts[:-1]]
        return cls(whole, whole.documents.take(rows), whole.score[rows], starts, answered, unjudged, rows)

    @cached_property
    def length(self) -> Ints:
        return np.diff(self.starts)

    @property
    def query(self) -> Ints:
        """Of each row."""
        return np.repeat(self.answered, self.length)

    @property
    def rows(self) -> Ints:
        """The rows of the file."""
        return np.arange(len(self.score)) if self.chosen is None else self.chosen


def _starts(group: Ints) -> Ints:
    """Where each group of the same numbers starts, and where the last one ends."""
    return np.append(np.flatnonzero(np.diff(group, prepend=group[:1] - 1)), len(group))


def _read_all(run: Run, judged: _Judged, depth: int | None, known_lists: Retrieved | None) -> _OfRun:
    """Every document of every list; known_lists: what is known of the judged ones."""
    lists = _WholeLists.of(run, judged)
    query, documents, score, starts = lists.query, lists.documents, lists.score, lists.starts
    answered, length = lists.answered, lists.length
    if known_lists is None:
        words = as_words(documents)
        pool_row, hashed = judged.rows(query, words, documents)
        _refuse_repetitions(lists.whole, lists.rows, query, words, hashed)
        order, first, last = ranked_segments(score, starts, words.__getitem__)
        pool_row = pool_row[order]
    else:  # the scanner has found what is judged, and no document twice
        order, first, last = ranked_segments(score, starts, lambda rows: as_words(documents.take(rows)))
        pool_row = _pool_rows(known_lists, answered, starts)
    place = np.arange(1, len(order) + 1) - np.repeat(starts[:-1], length)
    by_input = _input_ranks(order, first, last, place)
    member = np.repeat(np.arange(len(answered)), length)
    if depth is not None:
        kept = place <= depth
        order, first, place, member, by_input = order[kept], first[kept], place[kept], member[kept], by_input[kept]
        pool_row = pool_row[kept]
        last = np.minimum(last[kept], depth)
        length = np.minimum(length, depth)
        fresh = np.empty_like(by_input)
        fresh[np.lexsort((by_input, member))] = place
        by_input = fresh
    tied = np.bincount(member, first != last, len(answered)).astype(np.int32)
    is_judged = pool_row >= 0
    hit, miss = np.flatnonzero(is_judged), np.flatnonzero(~is_judged)
    found = known_lists or Retrieved(
        query=answered.astype(np.int32),
        length=length.astype(np.int32),
        tied=tied,
        offsets=np.searchsorted(member[hit], np.arange(len(answered) + 1)),
        document=pool_row[hit],
        score=score[order[hit]],
        first=first[hit],
        last=last[hit],
        docid_rank=place[hit],
        input_rank=by_input[hit],
        all_ties=TieSpans.of(member, first, last, len(answered)),
        tag=encode(run.name),
        unjudged=Ids.of(lists.unjudged),
        scattered=False,
    )
    count = np.bincount(member[miss], minlength=len(answered))
    row, standing = order[miss], place[miss]
    ranks = Ranks(first[miss], last[miss], standing, standing if by_input is place else by_input[miss])
    return _OfRun(found, answered, count, Standing(lambda: (ranks, documents, row)))


def _pool_rows(found: Retrieved, answered: Ints, starts: Ints) -> Ints:
    """Of each row, by list and rank: its row of the pool, -1 for what nobody judged."""
    assert found.docid_rank is not None  # files have ids
    row = np.full(int(starts[-1]), -1)
    start = starts[np.searchsorted(answered, found.query)]
    row[np.repeat(start, np.diff(found.offsets)) + found.docid_rank - 1] = found.document
    return row


def _input_ranks(order: Ints, first: Ints, last: Ints, place: Ints) -> Ints:
    """The ranks where ties keep the order of the input."""
    if not (first != last).any():
        return place
    tie = np.cumsum(place == first)
    rank = np.empty_like(place)
    rank[np.lexsort((order, tie))] = place
    return rank


def _refuse_repetitions(whole: WholeRun, rows: Ints, query: Ints, words: Words, hashed: Words) -> None:
    """A run may not have a document twice for a query."""
    ascending = np.sort(hashed)
    if (ascending[1:] != ascending[:-1]).all():
        return
    order = np.argsort(hashed, kind="stable")
    again = np.flatnonzero(hashed[order[1:]] == hashed[order[:-1]])
    one, other = order[again], order[again + 1]
    same = (query[one] == query[other]) & (words[one] == words[other]).all(axis=1)
    if same.any():
        row = int(np.maximum(rows[one[same]], rows[other[same]]).min())
        name = decode(whole.queries[int(whole.query[row])])
        raise whole.error(f"document '{whole.documents.text(row)}' appears twice for query '{name}'", row)
