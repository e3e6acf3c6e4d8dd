"""Documents that several runs retrieve, with their scores and ranks, as flat arrays.

A *candidate* is a document that at least one run retrieves for a query. An *entry* is one candidate in the list of one
run, with its score and rank in that list. A fusion method computes a value per entry and adds the values per candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calipers.collection.id_codes import Words, as_words
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import Run
from calipers.collection.whole_runs import WholeRun, in_order, whole_run
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.native.ids import Ids, decode
from calipers.native.scanner import PairNumbers, rank_segments, top_segments

Ranks = NDArray[np.unsignedinteger[Any]]
Number = TypeVar("Number", bound=np.generic)
Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class ScoredCandidates:
    """Entries of several runs, list by list. A list holds the documents that one run retrieves for one query."""

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    documents: Ids  # of each candidate
    offsets: Ints  # query q has the candidates offsets[q] to offsets[q + 1] - 1
    starts: Ints  # list i has the entries starts[i] to starts[i + 1] - 1, best first
    run: Ints  # of each list
    query: Ints  # of each list
    candidate: Ints  # of each entry
    score: Floats  # of each entry
    words: Words  # the id of each candidate as numbers; they sort like the bytes of the id
    grade: Floats | None = None  # of each candidate, if judgments were looked up; NaN for unjudged documents
    row: Ints | None = None  # of each candidate in the pool of these judgments; -1 for unjudged documents

    @classmethod
    def of(
        cls,
        runs: Sequence[Run],
        depth: int | None = None,
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> ScoredCandidates:
        """Read some runs whole. Tied documents of a run rank by id, descending, as in trec_eval."""
        return _gathered(runs, reported(in_order(lambda run: _ranked(run, depth), runs, jobs), progress), depth)

    def __len__(self) -> int:
        """Return the number of candidates of all queries."""
        return len(self.documents)

    @cached_property
    def length(self) -> Ints:
        """Number of entries per list."""
        return np.diff(self.starts)

    def of_list(self, values: NDArray[Number]) -> NDArray[Number]:
        """Repeat the value of each list for each of its entries."""
        return np.repeat(values, self.length)

    @cached_property
    def rank(self) -> Ints:
        """Rank of each entry in its list, starting at 1."""
        step = np.ones(len(self.candidate), np.int32)
        step[self.starts[1:-1]] -= self.length[:-1].astype(np.int32)  # each list starts at rank 1
        return np.cumsum(step, dtype=np.int32, out=step)

    @cached_property
    def entry_run(self) -> Ints:
        """Number of the run of each entry."""
        return self.of_list(self.run)

    @cached_property
    def count(self) -> Ints:
        """Number of runs that retrieve each candidate."""
        return np.bincount(self.candidate, minlength=len(self))

    def sum(self, values: Floats) -> Floats:
        """Return the sum of the values of all entries of each candidate."""
        return np.bincount(self.candidate, values, len(self)).astype(np.float64, copy=False)

    def ordered(self, score: Floats) -> Ints:
        """Return the candidates, query by query, by descending score. Ties are ordered by descending id."""
        return by_score_then_id(score, self.offsets, self.words.__getitem__)

    @cached_property
    def missing(self) -> int:
        """Rank of documents that a run does not retrieve. It is larger than all ranks."""
        return 0xFFFF if int(self.length.max(initial=0)) < 0xFFFF else 0xFFFFFFFF

    def all_ranks(self) -> Ranks:
        """Return the rank of each candidate in each run, as [run, candidate]."""
        rank = self._no_ranks(len(self))
        rank[self.entry_run, self.candidate] = self.rank
        return rank

    @cached_property
    def rank_rows(self) -> Ranks:
        """Rank of each candidate in each run, as [candidate, run]."""
        rank = np.full((len(self), len(self.runs)), self.missing, self._kind)
        rank[self.candidate, self.entry_run] = self.rank
        return rank

    def ranks(self, query: int) -> Ranks:
        """Return the rank of each candidate of one query in each run, as [run, candidate]."""
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

    def only(self, runs: Sequence[int]) -> ScoredCandidates:
        """Return the entries of these runs, and the candidates that at least one of these runs retrieves."""
        number = np.full(len(self.runs), -1)
        number[list(runs)] = np.arange(len(runs))
        part = self._lists_only(number[self.run] >= 0)
        return replace(part, runs=tuple(self.runs[run] for run in runs), run=number[part.run])

    def only_judged(self) -> ScoredCandidates:
        """Return the entries of judged documents (condensed lists)."""
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

    def of_queries(self, queries: Sequence[int]) -> ScoredCandidates:
        """Return the entries of these queries. The queries are given in ascending order."""
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

    def _lists_only(self, chosen: NDArray[np.bool_]) -> ScoredCandidates:
        """Return the chosen lists and their candidates."""
        # Sequences of chosen lists begin at the even edges and end at the odd ones.
        edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
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
    """Yield the first documents of each run, in order of the runs. Runs that cannot be read whole give None."""

    def first(run: Run) -> RankedRun | None:
        try:
            return _ranked(run, depth)
        except CalipersError:
            return None

    return in_order(first, runs)


def reported(parts: Iterable[Part], progress: Callable[[int], None] | None) -> Iterator[Part]:
    """Yield the parts, and report progress after each."""
    for part in parts:
        yield part
        if progress:
            progress(1)


@dataclass(frozen=True, eq=False)
class RankedRun:
    """A run with the order of its lists, or of their first documents."""

    whole: WholeRun
    rows: Ints  # list by list, best first
    starts: Ints  # list i has the rows starts[i] to starts[i + 1] - 1


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


def _gathered(runs: Sequence[Run], ranked: Iterable[RankedRun], depth: int | None) -> ScoredCandidates:
    """Return the entries of the runs. To save memory, only the candidate and score of a row are kept."""
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
    scored = ScoredCandidates(
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
    return scored if depth is None else scored.only(range(len(scored.runs)))  # drops documents below the depth


def _emptied(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """Concatenate the parts. Each part is freed after it is copied, so that the data is not held twice."""
    joined = np.empty(sum(map(len, parts)), parts[0].dtype)
    end = len(joined)
    while parts:
        part = parts.pop()
        joined[end - len(part) : end] = part
        end -= len(part)
    return joined


def _repetition(whole: WholeRun, row: int) -> CalipersError:
    """Return the error about a document that a run has twice for a query."""
    query = decode(whole.queries[int(whole.query[row])])
    return whole.error(f"document '{whole.documents.text(row)}' appears twice for query '{query}'", row)


# -- order -------------------------------------------------------------------------------------------


def by_score_then_id(score: Floats, offsets: Ints, words: Callable[[Ints], Words]) -> Ints:
    """Sort the rows of each segment by descending score. Ties are ordered by descending id.

    words: returns the ids of rows as numbers.
    """
    return ranked_segments(score, offsets, words)[0]


def _first_rows(score: Floats, offsets: Ints, depth: int, words: Callable[[Ints], Words]) -> tuple[Ints, Ints]:
    """Return the first `depth` rows of each segment, and the start of each segment among them."""
    order, starts = top_rows(score, offsets, depth, words)
    length = np.diff(starts)
    kept = np.arange(len(order)) - np.repeat(starts[:-1], length) < depth
    return order[kept], np.concatenate([[0], np.cumsum(np.minimum(length, depth))])


def top_rows(score: Floats, offsets: Ints, depth: int, words: Callable[[Ints], Words]) -> tuple[Ints, Ints]:
    """Return the first `depth` rows of each segment, with all rows tied with the last one, and where segments start."""
    order, first, last, starts, _ = top_segments(np.ascontiguousarray(score), np.asarray(offsets, np.int64), depth)
    _ties_by_id(order, first, last, starts, words)
    return order, starts


def ranked_segments(score: Floats, offsets: Ints, words: Callable[[Ints], Words]) -> tuple[Ints, Ints, Ints]:
    """Sort like `by_score_then_id`. Also return the first and the last rank of each row's tie, in the new order."""
    order, first, last = rank_segments(np.ascontiguousarray(score), np.asarray(offsets, np.int64))
    _ties_by_id(order, first, last, offsets, words)
    return order, first, last


def _ties_by_id(order: Ints, first: Ints, last: Ints, offsets: Ints, words: Callable[[Ints], Words]) -> None:
    """Put the rows of each tie in descending order of their ids."""
    tied = np.flatnonzero(first != last)
    if len(tied):
        members = order[tied]
        fresh = np.ones(len(order) + 1, bool)  # True if a row starts a tie; other rows have the ranks of the row before
        fresh[1:-1] = first[1:] != first[:-1]
        fresh[offsets] = True
        by_id = np.lexsort((*(~words(members).T[::-1]), np.cumsum(fresh[:-1])[tied]))
        order[tied] = members[by_id]
