"""What several runs say about the same documents: everything that they retrieve, as flat arrays.

A *candidate* is a document that some run retrieves for a query; a *ballot* is one run's opinion of a candidate: its
score, and its rank in that run's list. Every fusion is arithmetic on ballots, summed up by candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.id_codes import Words, as_words, coded, side_by_side
from calipers.collection.model import FileRun, Run
from calipers.collection.reader import scan
from calipers.collection.run_names import distinct_names
from calipers.collection.table_rows import RowsRun
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.native.ids import Ids, decode
from calipers.native.scanner import ColumnScanner, rank_segments

Ranks = NDArray[np.unsignedinteger[Any]]


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

    @classmethod
    def of(
        cls,
        runs: Sequence[Run],
        depth: int | None = None,
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Ballots:
        """Read some runs whole. Tied documents of a run rank by id, descending, as in trec_eval."""
        return _gathered(runs, read_whole(runs, jobs, progress), depth)

    def __len__(self) -> int:
        """How many candidates there are, over all queries."""
        return len(self.documents)

    @cached_property
    def length(self) -> Ints:
        """How many ballots each list has."""
        return np.diff(self.starts)

    @cached_property
    def of_list(self) -> Ints:
        """The list of each ballot."""
        return np.repeat(np.arange(len(self.run)), self.length)

    @cached_property
    def rank(self) -> Ints:
        """Of each ballot, from 1."""
        return np.arange(1, len(self.candidate) + 1) - np.repeat(self.starts[:-1], self.length)

    @cached_property
    def voter(self) -> Ints:
        """The run of each ballot."""
        return self.run[self.of_list]

    @cached_property
    def count(self) -> Ints:
        """How many runs retrieve each candidate."""
        return np.bincount(self.candidate, minlength=len(self))

    def sum(self, values: Floats) -> Floats:
        """The sum of the ballots' values for each candidate."""
        return np.bincount(self.candidate, values, len(self)).astype(np.float64, copy=False)

    def ordered(self, score: Floats) -> Ints:
        """The candidates query by query, by descending score; where that ties, by id, descending."""
        return by_score_then_id(score, self.offsets, self.words)

    @cached_property
    def missing(self) -> int:
        """The rank of what a run does not retrieve: larger than all others, and small where they are."""
        return 0xFFFF if int(self.length.max(initial=0)) < 0xFFFF else 0xFFFFFFFF

    def all_ranks(self) -> Ranks:
        """[run, candidate]: the rank that each run gives each of them."""
        rank = self._no_ranks(len(self))
        rank[self.voter, self.candidate] = self.rank
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
        return np.full((len(self.runs), size), self.missing, np.uint16 if self.missing == 0xFFFF else np.uint32)

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
        kept = chosen[self.of_list]
        found = np.zeros(len(self), bool)
        found[self.candidate[kept]] = True
        return replace(
            self,
            documents=self.documents.take(np.flatnonzero(found)),
            offsets=np.concatenate([[0], np.cumsum(found)])[self.offsets],
            starts=np.concatenate([[0], np.cumsum(self.length[chosen])]),
            run=self.run[chosen],
            query=self.query[chosen],
            candidate=(np.cumsum(found) - 1)[self.candidate[kept]],
            score=self.score[kept],
            words=self.words[found],
            grade=None if self.grade is None else self.grade[found],
        )


# -- reading -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WholeRun:
    """Every line of one run."""

    queries: list[bytes]
    query: Ints
    documents: Ids
    score: Floats
    error: Callable[[str, int], CalipersError]  # what is wrong with a row, counted from 0


def read_whole(
    runs: Sequence[Run], jobs: int | None = None, progress: Callable[[int], None] | None = None
) -> Iterable[WholeRun]:
    """The runs in their order, some read at once: unpacking them is most of the work."""
    with ThreadPoolExecutor(jobs or cpu_count() or 1) as pool:
        for whole in pool.map(whole_run, runs):
            yield whole
            if progress:
                progress(1)


def whole_run(run: Run) -> WholeRun:
    if isinstance(run, FileRun):
        columns = scan(run.path, lambda: ColumnScanner("run"), max_unpacked=run.max_unpacked)
        run.tag = decode(columns.tag)

        def in_file(message: str, row: int) -> CalipersError:
            return CalipersError(message, file=run.path, line=int(columns.line[row]))

        return WholeRun(columns.queries.tolist(), columns.query, columns.documents, columns.value, in_file)
    if isinstance(run, RowsRun):
        rows = run.load()
        return WholeRun(rows.queries.tolist(), rows.query, rows.documents, rows.value, rows.error)
    found = run.documents()
    lengths = [len(ranked) for ranked in found.values()]
    score = np.fromiter((score for ranked in found.values() for score in ranked.values()), np.float64, sum(lengths))
    if not np.isfinite(score).all():
        raise CalipersError("a score is not a finite number", file=run.name)
    return WholeRun(
        Ids.of(found).tolist(),
        np.repeat(np.arange(len(lengths)), lengths),
        Ids.of(document for ranked in found.values() for document in ranked),
        score,
        lambda message, row: CalipersError(message, file=run.name),
    )


def _gathered(runs: Sequence[Run], wholes: Iterable[WholeRun], depth: int | None) -> Ballots:
    number: dict[bytes, int] = {}
    read, queries, words = [], [], []
    for whole in wholes:
        of_run = np.array([number.setdefault(query, len(number)) for query in whole.queries], np.int32)
        read.append(whole)
        queries.append(of_run[whole.query])
        words.append(as_words(whole.documents))
    size = [len(whole.score) for whole in read]
    if not sum(size):
        raise CalipersError("the runs are empty")
    query, word = np.concatenate(queries), side_by_side(words)
    del queries, words  # millions of rows: what is not needed any more makes room
    candidate, one = coded(query, word)
    word = word[one]
    # Candidates by query, lists by run and query, each list best first.
    by_query = np.argsort(query[one], kind="stable")
    place = np.empty_like(by_query)
    place[by_query] = np.arange(len(by_query))
    candidate, one, word = place[candidate], one[by_query], word[by_query]
    key = np.repeat(np.arange(len(read)), size) * len(number) + query
    score = np.concatenate([whole.score for whole in read])
    rows = None if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
    if rows is not None:
        key, candidate, score = key[rows], candidate[rows], score[rows]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(key)) + 1, [len(key)]])
    lists = key[starts[:-1]]
    _refuse_repetitions(key // len(number), candidate, rows, read, size)
    order = by_score_then_id(score, starts, word, candidate)
    if depth is not None:
        rank = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
        order = order[rank < depth]
        starts = np.concatenate([[0], np.cumsum(np.minimum(np.diff(starts), depth))])
    ballots = Ballots(
        runs=tuple(name for name, _ in distinct_names(runs)),
        queries=tuple(decode(query) for query in number),
        documents=_joined([whole.documents for whole in read]).take(one),
        offsets=np.searchsorted(query[one], np.arange(len(number) + 1)),
        starts=starts,
        run=lists // len(number),
        query=lists % len(number),
        candidate=candidate[order],
        score=score[order],
        words=word,
    )
    return ballots if depth is None else ballots.only(range(len(ballots.runs)))  # without what nobody has any more


def _refuse_repetitions(
    voter: Ints, candidate: Ints, rows: Ints | None, read: Sequence[WholeRun], size: Sequence[int]
) -> None:
    """A run may not have a document twice for a query."""
    pair = voter * (int(candidate.max(initial=0)) + 1) + candidate
    if (np.diff(np.sort(pair)) > 0).all():
        return
    order = np.argsort(pair, kind="stable")
    again = order[1:][pair[order[1:]] == pair[order[:-1]]]
    row = int(again.min() if rows is None else rows[again].min())
    run = int(np.searchsorted(np.cumsum(size), row, "right"))
    row -= sum(size[:run])
    query = decode(read[run].queries[int(read[run].query[row])])
    raise read[run].error(f"document '{read[run].documents.text(row)}' appears twice for query '{query}'", row)


# -- order -------------------------------------------------------------------------------------------


def by_score_then_id(score: Floats, offsets: Ints, words: Words, row: Ints | None = None) -> Ints:
    """The rows of each segment by descending score, ties by descending id; `row` says whose words a row has."""
    return ranked_segments(score, offsets, words, row)[0]


def ranked_segments(score: Floats, offsets: Ints, words: Words, row: Ints | None = None) -> tuple[Ints, Ints, Ints]:
    """The same, and the ranks from 1 that the tie of each spans, in the new order."""
    order, first, last = rank_segments(np.ascontiguousarray(score), np.asarray(offsets, np.int64))
    tied = np.flatnonzero(first != last)
    if len(tied):
        members = order[tied]
        word = words[members if row is None else row[members]]
        segment = np.searchsorted(offsets, tied, "right")
        by_id = np.lexsort((*(~word.T[::-1]), first[tied], segment))
        order[tied] = members[by_id]
    return order, first, last


def _joined(ids: Sequence[Ids]) -> Ids:
    starts = np.cumsum([0, *(int(each.offsets[-1] - each.offsets[0]) for each in ids)])
    offsets = [each.offsets[:-1] - each.offsets[0] + start for each, start in zip(ids, starts[:-1], strict=True)]
    data: Any = np.concatenate([each.data[each.offsets[0] : each.offsets[-1]] for each in ids])
    return Ids(data, np.append(np.concatenate(offsets), starts[-1]))
