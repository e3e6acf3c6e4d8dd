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
from calipers.fusion.candidates import WholeRun, ranked_segments, whole_run
from calipers.lists import Floats, Ints, Lists
from calipers.measures.forms.gradings import Unknown, spread
from calipers.native.columns import Retrieved, TieSpans
from calipers.native.id_text import decode, encode
from calipers.native.ids import Ids

SIEVE = np.uint64((1 << 20) - 1)  # the last bits of a hash, by which most unjudged documents are told at once


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where unjudged documents stand, list by list."""

    first: Ints  # the ranks that the document's tie spans
    last: Ints
    place: Ints  # its rank where ties go by document id
    input_place: Ints  # its rank where ties keep the order of the input


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
    ranks: tuple[Ranks, ...]  # of these documents, in parts of equally many systems
    ids: tuple[Ids, ...]  # of each system: all the ids of its file
    row: tuple[Ints, ...]  # of each system: where each of its rows is among them
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
            tuple(each.ranks for each in read),
            tuple(each.ids for each in read),
            tuple(each.row for each in read),
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

    @cached_property
    def list(self) -> Ints:
        """The list of each row."""
        return np.repeat(np.arange(len(self.lists)), self.count.ravel())

    @cached_property
    def unjudged_queries(self) -> Ints:
        """Of each system: queries that it answers but nobody judged."""
        return np.array([each.unjudged_queries for each in self.retrieved])

    @cached_property
    def first(self) -> Ints:
        """Of each row: the first rank of its tie."""
        return np.concatenate([part.first for part in self.ranks])

    @cached_property
    def place(self) -> Ints:
        """Of each row: its rank where ties go by document id."""
        return np.concatenate([part.place for part in self.ranks])

    def unknown(
        self, grades: Floats, unseen: Ints | int = 0, ties: str = "average", within: tuple[int, int] | None = None
    ) -> Unknown:
        """The block in which a form finds its extreme scores.

        unseen: documents beside those of the list, one number for all lists or one for each.
        within: only the documents whose tie begins in so many ranks, and of each list so many of the rest.
        """
        lists, ranks, count = self.lists, self.ranks, self.count.ravel()
        if within is not None:
            ranks, count = self._top(*within)
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

    def _top(self, depth: int, rest: int) -> tuple[tuple[Ranks, ...], Ints]:
        """The rows whose tie begins in so many ranks, and of each list so many of the rest; how many each list has."""
        kept, counts = [], []
        lists = len(self.lists) // max(len(self.ranks), 1)
        for p, part in enumerate(self.ranks):
            bounds = self.offsets[p * lists : (p + 1) * lists + 1]
            bounds = bounds - bounds[0]
            inside = np.diff(np.searchsorted(np.flatnonzero(part.first <= depth), bounds))
            counts.append(np.minimum(np.diff(bounds), inside + rest))
            row = spread(bounds[:-1], counts[-1])
            kept.append(Ranks(part.first[row], part.last[row], part.place[row], part.input_place[row]))
        return tuple(kept), np.concatenate(counts)

    @cached_property
    def most(self) -> int:
        """The most unjudged documents that two lists of a query could have together."""
        return 2 * int(self.count.max(initial=0))

    # -- which document is which ---------------------------------------------------------------------

    def codes(self, rows: Ints) -> tuple[Ints, Ints]:
        """A number for each of the rows, the same for the same document of a query, and a row for each number.

        The rows are ascending; numbers go query by query.
        """
        query = self.list[rows] % self.shape[1]
        if not len(rows):
            return rows.astype(np.int64), rows.astype(np.int64)
        words = [as_words(self.ids[s].take(self.row[s][local])) for s, local in self._by_system(rows)]
        code, one = coded(query, side_by_side(words))
        by_query = np.argsort(query[one], kind="stable")
        place = np.empty_like(by_query)
        place[by_query] = np.arange(len(by_query))
        return place[code], rows[one[by_query]]

    def names(self, rows: Ints) -> Sequence[str]:
        """The ids of the documents of some rows, in any order."""
        order = np.argsort(rows, kind="stable")
        found: Any = []
        for s, local in self._by_system(rows[order]):
            found += self.ids[s].take(self.row[s][local]).texts()
        names = [""] * len(rows)
        for place, name in zip(order.tolist(), found, strict=True):
            names[place] = name
        return names

    def _by_system(self, rows: Ints) -> Sequence[tuple[int, Ints]]:
        """Ascending rows, system by system, as the numbers that they have in it."""
        bounds = self.offsets[:: self.shape[1]]
        cuts = np.searchsorted(rows, bounds)
        return [(s, rows[cuts[s] : cuts[s + 1]] - bounds[s]) for s in np.flatnonzero(np.diff(cuts)).tolist()]


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
    ranks: Ranks
    ids: Ids
    row: Ints


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
        return _OfRun(found, none, none, Ranks(*[none] * 4), Ids.of([]), none)
    known_lists = run.retrieved(judged.judgments) if depth is None and hasattr(run, "whole_file") else None
    whole = whole_run(run)
    index = judged.judgments.index
    known = np.array([index.query(query) for query in whole.queries], np.int64)
    at = known[whole.query] if len(known) else np.zeros(0, np.int64)
    rows = np.flatnonzero(at >= 0)
    rows = rows[np.argsort(at[rows], kind="stable")] if (np.diff(at[rows]) < 0).any() else rows
    all_in_order = len(rows) == len(at) and bool((rows[1:] > rows[:-1]).all())
    query, documents, score = (
        (at, whole.documents, whole.score)
        if all_in_order
        else (at[rows], whole.documents.take(rows), whole.score[rows])
    )
    starts = np.append(np.flatnonzero(np.diff(query, prepend=-1)), len(rows))
    answered = query[starts[:-1]]
    length = np.diff(starts)
    if known_lists is None:
        words = as_words(documents)
        pool_row, hashed = judged.rows(query, words, documents)
        _refuse_repetitions(whole, rows, query, words, hashed)
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
        unjudged=Ids.of(query for query, at in zip(whole.queries, known.tolist(), strict=True) if at < 0),
        scattered=False,
    )
    count = np.bincount(member[miss], minlength=len(answered))
    row, standing = order[miss], place[miss]
    ranks = Ranks(first[miss], last[miss], standing, standing if by_input is place else by_input[miss])
    return _OfRun(found, answered, count, ranks, documents, row)


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
