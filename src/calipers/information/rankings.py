"""Where systems rank the judged documents of each query, and the pairs of documents that judgments tell apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calipers.collection.model import Judgments, Run
from calipers.collection.run_names import distinct_names
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError
from calipers.evaluation import as_judgments, as_runs, in_batches
from calipers.lists import TIE_RULES, Floats, Ints, Lists

MISSING = np.iinfo(np.int32).max  # the rank of what is not retrieved, or was cut off
PAIRS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Rankings:
    """The rank of each judged document in each system; what is tied has one rank."""

    judgments: Judgments
    systems: tuple[str, ...]
    rank: NDArray[np.int32]  # [system, row of the pool]
    rel: float = 1.0

    @classmethod
    def of(
        cls,
        judgments: JudgmentsLike,
        runs: RunsLike,
        rel: float = 1.0,
        ties: str = "average",
        depth: int | None = None,
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Rankings:
        """Read some runs."""
        if ties not in TIE_RULES:
            raise CalipersError(f"unknown tie rule '{ties}'; expected one of {', '.join(TIE_RULES)}")
        known = as_judgments(judgments)
        systems: list[Run] = as_runs(runs)
        rank = np.full((len(systems), len(known)), MISSING, np.int32)
        start = 0
        for batch in in_batches(systems, known, depth or 0, jobs=jobs):
            lists = Lists.of(known.pool, batch).under(ties)
            rank[start + lists.list // known.pool.queries, lists.document] = lists.first
            start += len(batch)
            if progress:
                progress(len(batch))
        return cls(known, tuple(name for name, _ in distinct_names(systems)), rank, rel)

    @property
    def finds_nothing(self) -> list[str]:
        """The systems that retrieve no judged document at all."""
        found = (self.rank != MISSING).any(axis=1)
        return [system for system, some in zip(self.systems, found.tolist(), strict=True) if not some]

    def queries(self) -> Iterator[Preferences]:
        """The queries whose judgments tell some documents apart and call some relevant, one by one."""
        pool = self.judgments.pool
        for q, name in enumerate(self.judgments.queries):
            rows = np.arange(pool.offsets[q], pool.offsets[q + 1])
            grade = pool.grade[rows]
            rows, grade = rows[grade >= 0], grade[grade >= 0]
            if len(grade) and grade.min() < grade.max() and grade.max() >= self.rel:
                yield Preferences(name, q, grade, self.rank[:, rows], grade >= self.rel)


@dataclass(frozen=True, eq=False)
class Preferences:
    """One query: the grades of its documents, and the rank that each system gives them."""

    query: str
    place: int  # among the queries of the judgments
    grade: Floats
    rank: NDArray[np.int32]  # [system, document]
    relevant: NDArray[np.bool_]

    def until_last_relevant(self, rank: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """The ranks of each system with its list cut after the last relevant document."""
        rank = self.rank if rank is None else rank
        shown = np.where(self.relevant & (rank != MISSING), rank, -1).max(axis=1, keepdims=True, initial=-1)
        return np.where(rank <= shown, rank, np.int32(MISSING))

    def pairs(self) -> Iterable[tuple[Ints, Ints]]:
        """The pairs of documents of different grades, in blocks: the better ones, and the worse ones."""
        return self._one_block if len(self.grade) ** 2 <= PAIRS_AT_ONCE else self._blocks()

    @cached_property
    def _one_block(self) -> tuple[tuple[Ints, Ints], ...]:
        return tuple(self._blocks())

    def _blocks(self) -> Iterator[tuple[Ints, Ints]]:
        step = max(1, PAIRS_AT_ONCE // len(self.grade))
        for start in range(0, len(self.grade), step):
            better, worse = np.nonzero(self.grade[start : start + step, None] > self.grade)
            if len(better):
                yield better + start, worse


def ways_to_break_ties(rank: NDArray[np.int32]) -> tuple[int, ...]:
    """The signs that a tied pair takes in turn: both, half the time each, where there is a tie; otherwise none.

    All systems break a tie of the same two documents the same way. So systems that agree in everything agree here too,
    and the information difference of a system from itself is 0.
    """
    ordered = np.sort(rank, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != MISSING)
    return (1, -1) if tied.any() else (0,)


def sign_of(above: NDArray[np.int32], below: NDArray[np.int32], tied: int) -> NDArray[np.int8]:
    """1 where the first rank is the higher one, -1 where it is the lower one, 0 where both documents are missing."""
    sign = (above < below).view(np.int8) - (above > below).view(np.int8)
    if tied:
        sign[(above == below) & (above != MISSING)] = tied
    return sign
