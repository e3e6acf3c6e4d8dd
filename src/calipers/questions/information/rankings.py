"""Ranks of the judged documents of each query, and the pairs of documents with different grades."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calipers.collection.judgments import Judgments
from calipers.collection.preferences import Preferences
from calipers.collection.reader import processors
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import Run
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import as_judgments, as_runs, in_batches
from calipers.lists import TIE_RULES, Floats, Ints, Lists
from calipers.measures.information import CUTS
from calipers.results.messages import some
from calipers.results.scores import order_of
from calipers.support.checks import check_choice
from calipers.support.choices import TieRule
from calipers.support.plurals import counted, verb

MISSING = np.iinfo(np.int32).max  # rank of documents that are not retrieved or were cut off
PAIRS_AT_ONCE = 1_000_000
Ranks = NDArray[np.signedinteger[Any]]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rank of each judged document in each system. Tied documents have the same rank."""

    judgments: Judgments
    systems: tuple[str, ...]
    rank: NDArray[np.int32]  # [system, row of the pool]
    rel: float = 1.0
    cut: str = "relevant"  # "relevant" cuts lists after the last relevant document, "none" does not
    preferences: Preferences | None = None  # if pairs were judged instead of documents

    @classmethod
    def of(
        cls,
        judgments: JudgmentsLike | Preferences,
        runs: RunsLike,
        rel: float = 1.0,
        ties: TieRule = "average",
        depth: int | None = None,
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
        cut: str = "relevant",
    ) -> Rankings:
        """Read runs.

        rel: the smallest grade that is relevant. Queries without a relevant document are left out.
        cut: lists end after their last relevant document (relevant), or are not cut (none).
        """
        check_choice("cut", cut, CUTS)
        if ties not in TIE_RULES:
            raise CalipersError(f"unknown tie rule '{ties}'; expected one of {', '.join(TIE_RULES)}")
        preferences = judgments if isinstance(judgments, Preferences) else None
        known = preferences.judgments if preferences else as_judgments(judgments)
        systems: list[Run] = as_runs(runs)
        rank = np.full((len(systems), len(known)), MISSING, np.int32)
        start = 0
        for batch in in_batches(systems, known, depth or 0, jobs=jobs):
            lists = Lists.of(known.pool, batch).under(ties)
            rank[start + lists.list // known.pool.queries, lists.document] = lists.first
            start += len(batch)
            if progress:
                progress(len(batch))
        return cls(known, tuple(name for name, _ in distinct_names(systems)), rank, rel, cut, preferences)

    @classmethod
    def of_evaluation(cls, evaluation: Evaluation, rel: float, cut: str) -> Rankings:
        """Read the runs of an experiment, with its tie rule and depth."""
        options = evaluation.options
        found = cls.of(
            evaluation.known, list(evaluation.runs), rel, options.ties, options.depth, evaluation.jobs, cut=cut
        )
        if evaluation.unmatched == "error" and len(found.finds_nothing) == len(found.systems):
            raise CalipersError(f"none of the runs retrieves a document that is judged in {found.judgments.name}")
        return found

    @cached_property
    def by_name(self) -> Ints:
        """Positions of the systems in the order of their names."""
        return np.array(order_of(self.systems), np.int64)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes about runs that retrieve no judged document."""
        return notes_on_silent(self.finds_nothing, len(self.systems))

    @property
    def finds_nothing(self) -> list[str]:
        """Systems that retrieve no judged document."""
        found = (self.rank != MISSING).any(axis=1)
        return [system for system, some in zip(self.systems, found.tolist(), strict=True) if not some]

    def queries(self) -> Iterator[QueryRankings]:
        """Yield the queries that have a relevant document and documents of different grades.

        Documents are in the order of their names. Ranks are shuffled in this order.
        """
        pool = self.judgments.pool
        draws = np.argsort(order_of(self.judgments.queries)).tolist()
        for q, name in enumerate(self.judgments.queries):
            rows = self.judgments.rows_of(q)
            grade = pool.grade[rows]
            rows, grade = rows[grade >= 0], grade[grade >= 0]
            relevant = grade >= self.rel
            if not relevant.any():
                continue
            if self.preferences is not None:
                within = np.argsort(rows)  # pairs number the documents in the order of the pool
                better, worse = (within[each] for each in self.preferences.pairs_of(q))
                pairs: tuple[Pairs, ...] = (Pairs(better, worse, crossed=False),)
            else:
                pairs = pairs_of_grades(grade)
            if pairs:
                ends = relevant if self.cut == "relevant" else np.ones(len(rows), bool)
                yield QueryRankings(name, q, self.rank[:, rows], ends, pairs, draws[q], self.by_name)


def notes_on_silent(systems: Sequence[str], runs: int) -> tuple[str, ...]:
    """Return a note about the systems that retrieve no judged document. No systems give no note."""
    if not systems:
        return ()
    return (
        f"{len(systems)} of {counted(runs, 'run')} {verb(len(systems), 'retrieves', 'retrieve')} no judged document, "
        f"so {verb(len(systems), 'it has', 'they have')} no information: {some(systems)}",
    )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of one query's documents. If `crossed`, each better document is paired with each worse one."""

    better: Ints
    worse: Ints
    crossed: bool = True

    def __len__(self) -> int:
        return len(self.better) * len(self.worse) if self.crossed else len(self.better)


def pairs_of_grades(grade: Floats) -> tuple[Pairs, ...]:
    """Return the pairs of documents of different grades. A block pairs one grade with all lower grades."""
    found = []
    for level in np.unique(grade)[:0:-1]:
        better, worse = np.flatnonzero(grade == level), np.flatnonzero(grade < level)
        step = max(1, PAIRS_AT_ONCE // len(worse))
        found += [Pairs(better[start : start + step], worse) for start in range(0, len(better), step)]
    return tuple(found)


@dataclass(frozen=True, eq=False)
class QueryRankings:
    """Ranks of one query's documents in each system, and the pairs that the judgments order."""

    query: str
    place: int  # position of the query in the judgments
    rank: NDArray[np.int32]  # [system, document]
    relevant: NDArray[np.bool_]  # lists are cut after the last of these documents
    pairs: tuple[Pairs, ...]
    draw: int = 0  # position of the query in the order of names, for random seeds
    by_name: Ints | None = None  # positions of the systems in the order of names; None: as they are

    def shuffled(self, random: np.random.Generator) -> NDArray[np.int32]:
        """Return the ranks of each system, shuffled among the documents. Systems are drawn in order of their names."""
        order = np.arange(len(self.rank)) if self.by_name is None else self.by_name
        found = np.empty_like(self.rank)
        found[order] = random.permuted(self.rank[order], axis=1)
        return found

    @cached_property
    def size(self) -> int:
        """Number of pairs."""
        return sum(len(each) for each in self.pairs)

    def until_last_relevant(self, rank: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Cut the list of each system after its last relevant document, and return the ranks."""
        rank = self.rank if rank is None else rank
        shown = np.where(self.relevant & (rank != MISSING), rank, -1).max(axis=1, keepdims=True, initial=-1)
        return np.where(rank <= shown, rank, np.int32(MISSING))

    @cached_property
    def ties(self) -> tuple[int, ...]:
        """Signs that a tied pair takes in turn, also in cut or shuffled lists."""
        return ways_to_break_ties(self.rank)

    @cached_property
    def _kind(self) -> type[np.signedinteger[Any]]:
        """Smallest integer type that holds twice the largest rank."""
        deepest = int(np.where(self.rank == MISSING, 0, self.rank).max(initial=0))
        return next(kind for kind in (np.int16, np.int32, np.int64) if 2 * deepest + 1 < np.iinfo(kind).max)

    def sides(self, rank: NDArray[np.int32], *ties: int) -> Iterator[tuple[Ranks, Ranks]]:
        """Yield blocks of numbers that compare like the ranks of the better and the worse document of each pair.

        The numbers are arrays [system, ...], to be compared by broadcasting. They are equal if both documents are
        missing. Each block is yielded once for each of `ties`.

        rank: ranks of the query, unchanged, cut or shuffled.
        ties: if ranks are equal, 1 makes the number of the better document smaller, -1 that of the worse document.
        """
        missing = np.iinfo(self._kind).max
        numbers = np.where(rank == MISSING, missing, 2 * rank.astype(self._kind))
        for each in self.pairs:
            better, worse = numbers[:, each.better], numbers[:, each.worse]
            for tied in ties:
                own = np.where(better == missing, better, better - self._kind(tied)) if tied else better
                yield (own[:, :, None], worse[:, None, :]) if each.crossed else (own, worse)


def ways_to_break_ties(rank: NDArray[np.int32]) -> tuple[int, ...]:
    """Return the signs that a tied pair takes in turn: 1 and -1 with equal weight if there are ties, otherwise 0.

    All systems break a tie of the same two documents the same way. So the information difference of a system from
    itself is 0.
    """
    return (1, -1) if has_ties(rank).any() else (0,)


def has_ties(rank: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return True for systems that give the same rank to two documents."""
    ordered = np.sort(rank, axis=1)
    return np.asarray(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != MISSING)).any(axis=1))


def in_parallel(
    work: Callable[[QueryRankings], Result], queries: Iterator[QueryRankings], jobs: int | None = None
) -> Iterator[Result]:
    """Yield the results of the queries in order. Threads work in parallel: compiled code releases the GIL."""
    workers = jobs or processors()
    if workers == 1:
        yield from map(work, queries)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        for query in queries:  # few at a time, because the data of all queries would fill the memory
            waiting.append(pool.submit(work, query))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
