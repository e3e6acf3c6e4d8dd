"""What several runs say about the same documents: everything that they retrieve, as flat arrays.

A *candidate* is a document that some run retrieves for a query; a *ballot* is one run's opinion of a candidate: its
score, and its rank in that run's list. Every fusion is arithmetic on ballots, summed up by candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calipers.collection.id_codes import Words, as_words
from calipers.collection.read_ahead import in_order
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import Run
from calipers.collection.whole_runs import WholeRun, whole_run
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.native.ids import Ids, decode
from calipers.native.scanner import PairNumbers, rank_segments, top_segments

Ranks = NDArray[np.unsignedinteger[Any]]
Number = TypeVar("Number", bound=np.generic)
Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class Ballots:
    """The ballots of some runs, list by list: a list is what one run retrieves for one query."""

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    documents: Ids  # of each candidate
    offsets: Ints  # query q has the candidates offsets[q] to offsets[q + 1]
    starts: Ints  # list i has the ballots starts[i] to starts[i + 1], best first
    run: Ints  # of each list
    query: Ints  # of each list
    candidate: Ints  # of each ballot
    score: Floats  # of each ballot
    words: Words  # of each candidate: its id as numbers, which order as its bytes do
    grade: Floats | None = None  # of each candidate, where judgments were looked up; NaN for what nobody judged
    row: Ints | None = None  # of each candidate in the pool of those judgments; -1 for what nobody judged

    @classmethod
    def of(
        cls,
        runs: Sequence[Run],
        depth: int | None = None,
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Ballots:
        """Read some runs whole. Tied documents of a run rank by id, descending, as in trec_eval."""
        return _gathered(runs, reported(in_order(lambda run: _ranked(run, depth), runs, jobs), progress), depth)

    def __len__(self) -> int:
        """How many candidates there are, over all queries."""
        return len(self.documents)

    @cached_property
    def length(self) -> Ints:
        """How many ballots each list has."""
        return np.diff(self.starts)

    def of_list(self, values: NDArray[Number]) -> NDArray[Number]:
        """Of each ballot: the value of its list."""
        return np.repeat(values, self.length)

    @cached_property
    def rank(self) -> Ints:
        """Of each ballot, from 1."""
        step = np.ones(len(self.candidate), np.int32)
        step[self.starts[1:-1]] -= self.length[:-1].astype(np.int32)  # a new list starts again
        return np.cumsum(step, dtype=np.int32, out=step)

    @cached_property
    def voter(self) -> Ints:
        """The run of each ballot."""
        return self.of_list(self.run)

    @cached_property
    def count(self) -> Ints:
        """How many runs retrieve each candidate."""
        return np.bincount(self.candidate, minlength=len(self))

    def sum(self, values: Floats) -> Floats:
        """The sum of the ballots' values for each candidate."""
        return np.bincount(self.candidate, values, len(self)).astype(np.float64, copy=False)

    def ordered(self, score: Floats) -> Ints:
        """The candidates query by query, by descending score; where that ties, by id, descending."""
        return by_score_then_id(score, self.offsets, self.words.__getitem__)

    @cached_property
    def missing(self) -> int:
        """The rank of what a run does not retrieve: larger than all others, and small where they are."""
        return 0xFFFF if int(self.length.max(initial=0)) < 0xFFFF else 0xFFFFFFFF

    def all_ranks(self) -> Ranks:
        """[run, candidate]: the rank that each run gives each of them."""
        rank = self._no_ranks(len(self))
        rank[self.voter, self.candidate] = self.rank
        return rank

    @cached_property
    def rank_rows(self) -> Ranks:
        """[candidate, run]: the same, the ranks of a candidate side by side."""
        rank = np.full((len(self), len(self.runs)), self.missing, self._kind)
        rank[self.candidate, self.voter] = self.rank
        return rank

    def ranks(self, query: int) -> Ranks:
        """[run, candidate of the query]: the same for one query."""
        start, end = int(self.offsets[query]), int(self.offsets[query + 1])
        rank = self._no_ranks(end - start)
        for i in self._lists[query]:
            candidates = self.candidate[self.starts[i] : self.starts[i + 1]]
            rank[self.run[i], candidates - start] = np.arange(1, len(candidates) + 1)
        return rank

    def _no_ranks(self, size: int) -> Ranks:
        return np.full((len(self.runs), size), self.missing, self._kind)

    @property
    def _kind(self) -> type[np.unsignedinteger[Any]]:
        return np.uint16 if self.missing == 0xFFFF else np.uint32

    @cached_property
    def _lists(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.queries]
        for i, query in enumerate(self.query.tolist()):
            found[query].append(i)
        return found

    def only(self, runs: Sequence[int]) -> Ballots:
        """The ballots of these runs alone, with the candidates that one of them retrieves."""
        number = np.full(len(self.runs), -1)
        number[list(runs)] = np.arange(len(runs))
        part = self._lists_only(number[self.run] >= 0)
        return replace(part, runs=tuple(self.runs[run] for run in runs), run=number[part.run])

    def only_judged(self) -> Ballots:
        """The ballots on documents that somebody judged: condensed lists."""
        assert self.row is not None
        judged = self.row >= 0
        kept = judged[self.candidate]
        return replace(
            self,
            documents=self.documents.take(np.flatnonzero(judged)),
            offsets=np.concatenate([[0], np.cumsum(judged)])[self.offsets],
            starts=np.concatenate([[0], np.cumsum(kept)])[self.starts],
            candidate=(np.cumsum(judged, dtype=np.int32) - 1)[self.candidate[kept]],
            score=self.score[kept],
            words=self.words[judged],
            grade=None if self.grade is None else self.grade[judged],
            row=self.row[judged],
        )

    def of_queries(self, queries: Sequence[int]) -> Ballots:
        """The ballots on these queries alone, given in ascending order."""
        number = np.full(len(self.queries), -1)
        number[list(queries)] = np.arange(len(queries))
        part = self._lists_only(number[self.query] >= 0)
        kept = [*queries, len(self.queries)]
        return replace(
            part,
            queries=tuple(self.queries[query] for query in queries),
            offsets=part.offsets[kept],
            query=number[part.query],
        )

    def _lists_only(self, chosen: NDArray[np.bool_]) -> Ballots:
        """Only the chosen lists, and the candidates that they have."""
        edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))  # lists go on from even to odd ones
        parts = [slice(*ends) for ends in self.starts[edges].reshape(-1, 2).tolist()]
        candidate = np.concatenate([self.candidate[part] for part in parts] or [self.candidate[:0]])
        found = np.zeros(len(self), bool)
        found[candidate] = True
        return replace(
            self,
            documents=self.documents.take(np.flatnonzero(found)),
            offsets=np.concatenate([[0], np.cumsum(found)])[self.offsets],
            starts=np.concatenate([[0], np.cumsum(self.length[chosen])]),
            run=self.run[chosen],
            query=self.query[chosen],
            candidate=(np.cumsum(found, dtype=np.int32) - 1)[candidate],
            score=np.concatenate([self.score[part] for part in parts] or [self.score[:0]]),
            words=self.words[found],
            grade=None if self.grade is None else self.grade[found],
            row=None if self.row is None else self.row[found],
        )


# -- reading -----------------------------------------------------------------------------------------


def read_first(runs: Sequence[Run], depth: int) -> Iterator[RankedRun | None]:
    """The first documents of the runs in their order; None for what has no documents of its own."""

    def first(run: Run) -> RankedRun | None:
        try:
            return _ranked(run, depth)
        except CalipersError:
            return None

    return in_order(first, runs)


def read_whole(runs: Sequence[Run], jobs: int | None = None) -> Iterator[WholeRun]:
    """The runs in their order, some read at once: unpacking them is most of the work."""
    return in_order(whole_run, runs, jobs)


def reported(parts: Iterable[Part], progress: Callable[[int], None] | None) -> Iterator[Part]:
    """The same parts; each that has been used up is reported."""
    for part in parts:
        yield part
        if progress:
            progress(1)


@dataclass(frozen=True, eq=False)
class RankedRun:
    """A run with the order of its lists, or of their first documents."""

    whole: WholeRun
    rows: Ints  # list by list, best first
    starts: Ints  # list i has the rows starts[i] to starts[i + 1]


def _ranked(run: Run, depth: int | None) -> RankedRun:
    whole = whole_run(run)
    if not len(whole.score):
        return RankedRun(whole, np.zeros(0, np.int64), np.zeros(1, np.int64))
    query, score = whole.query, whole.score
    by_query = None if (query[1:] >= query[:-1]).all() else np.argsort(query, kind="stable")
    if by_query is not None:
        query, score = query[by_query], score[by_query]
    starts = np.concatenate([[0], np.flatnonzero(query[1:] != query[:-1]) + 1, [len(query)]])
    in_file = (lambda rows: rows) if by_query is None else by_query.__getitem__

    def words(rows: Ints) -> Words:
        return as_words(whole.documents.take(in_file(rows)))

    if depth is None:
        rows = by_score_then_id(score, starts, words)
    else:
        rows, starts = _first_rows(score, starts, depth, words)
    return RankedRun(whole, in_file(rows), starts)


def _gathered(runs: Sequence[Run], ranked: Iterable[RankedRun], depth: int | None) -> Ballots:
    """The ballots of runs that are forgotten one by one: what stays of a row is its candidate and its score."""
    number: dict[bytes, int] = {}
    pairs = PairNumbers()
    candidates, scores, lengths, queries = [], [], [], []
    for each in ranked:
        whole = each.whole
        of_run = np.array([number.setdefault(query, len(number)) for query in whole.queries], np.int32)
        candidate, again = pairs.number(of_run[whole.query], whole.documents)
        if again is not None:
            raise _repetition(whole, again)
        candidates.append(candidate[each.rows])
        scores.append(whole.score[each.rows])
        lengths.append(np.diff(each.starts))
        queries.append(of_run[whole.query[each.rows[each.starts[:-1]]]])
    query, documents = pairs.pairs_so_far()
    if not len(documents):
        raise CalipersError("the runs are empty")
    by_query = np.argsort(query, kind="stable")
    place = np.empty(len(by_query), np.int32)
    place[by_query] = np.arange(len(by_query), dtype=np.int32)
    documents = documents.take(by_query)
    ballots = Ballots(
        runs=tuple(name for name, _ in distinct_names(runs)),
        queries=tuple(decode(query) for query in number),
        documents=documents,
        offsets=np.searchsorted(query[by_query], np.arange(len(number) + 1)),
        starts=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
        run=np.repeat(np.arange(len(lengths), dtype=np.int32), [*map(len, lengths)]),
        query=np.concatenate(queries),
        candidate=place[_emptied(candidates)],
        score=_emptied(scores),
        words=as_words(documents),
    )
    return ballots if depth is None else ballots.only(range(len(ballots.runs)))  # without what nobody has any more


def _emptied(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """The parts in a row. Each is let go as soon as it is copied, so that both are never held whole."""
    together = np.empty(sum(map(len, parts)), parts[0].dtype)
    end = len(together)
    while parts:
        part = parts.pop()
        together[end - len(part) : end] = part
        end -= len(part)
    return together


def _repetition(whole: WholeRun, row: int) -> CalipersError:
    """A run may not have a document twice for a query."""
    query = decode(whole.queries[int(whole.query[row])])
    return whole.error(f"document '{whole.documents.text(row)}' appears twice for query '{query}'", row)


# -- order -------------------------------------------------------------------------------------------


def by_score_then_id(score: Floats, offsets: Ints, words: Callable[[Ints], Words]) -> Ints:
    """The rows of each segment by descending score, ties by descending id; `words` gives the ids of rows as numbers."""
    return ranked_segments(score, offsets, words)[0]


def _first_rows(score: Floats, offsets: Ints, depth: int, words: Callable[[Ints], Words]) -> tuple[Ints, Ints]:
    """The first rows of each segment, and where those of each begin."""
    order, starts = top_rows(score, offsets, depth, words)
    length = np.diff(starts)
    kept = np.arange(len(order)) - np.repeat(starts[:-1], length) < depth
    return order[kept], np.concatenate([[0], np.cumsum(np.minimum(length, depth))])


def top_rows(score: Floats, offsets: Ints, depth: int, words: Callable[[Ints], Words]) -> tuple[Ints, Ints]:
    """The rows of each segment whose tie begins in the first ranks, and where those of each begin."""
    order, first, last, starts, _ = top_segments(np.ascontiguousarray(score), np.asarray(offsets, np.int64), depth)
    _ties_by_id(order, first, last, starts, words)
    return order, starts


def ranked_segments(score: Floats, offsets: Ints, words: Callable[[Ints], Words]) -> tuple[Ints, Ints, Ints]:
    """The same, and the ranks from 1 that the tie of each spans, in the new order."""
    order, first, last = rank_segments(np.ascontiguousarray(score), np.asarray(offsets, np.int64))
    _ties_by_id(order, first, last, offsets, words)
    return order, first, last


def _ties_by_id(order: Ints, first: Ints, last: Ints, offsets: Ints, words: Callable[[Ints], Words]) -> None:
    """Put the rows of each tie in descending order of their ids."""
    tied = np.flatnonzero(first != last)
    if len(tied):
        members = order[tied]
        fresh = np.ones(len(order) + 1, bool)  # whether a row starts a tie: others have the ranks of the row before
        fresh[1:-1] = first[1:] != first[:-1]
        fresh[offsets] = True
        by_id = np.lexsort((*(~words(members).T[::-1]), np.cumsum(fresh[:-1])[tied]))
        order[tied] = members[by_id]
