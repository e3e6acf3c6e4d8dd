"""Every ranking of up to n documents over a few grades, as one block of lists.

A *state* is a ranking and a cutoff k: the grades of the top k, and those of all the documents outside it. A ranking
stands at the place that its grades spell as a number, after all shorter ones: so the first state for which something
holds is the smallest one, and a swap of two documents is a sum of place values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.lists import Floats, Lists, Pool

Indices = NDArray[np.int64]
MOST_RANKINGS = 400  # of one space: two grades reach 7 documents, three reach 5
MORE_RANKINGS = 1200  # where that finds nothing and nothing is proved: three grades reach 6 documents


@dataclass(frozen=True)
class Swap:
    """Documents at two ranks changing places: where it applies, and the ranking that comes out."""

    i: int  # ranks, from 1
    j: int
    applies: NDArray[np.bool_]  # the ranking is long enough, and the document at i is worth less than that at j
    result: Indices


@dataclass(frozen=True)
class Space:
    """All rankings of 1 to `depth` documents with these grades, the worst grade first."""

    grades: tuple[float, ...]
    depth: int

    @cached_property
    def level(self) -> Indices:
        """The place among the grades of the document at each rank, one row per ranking; -1 beyond its end."""
        blocks = []
        for length in range(1, self.depth + 1):
            block = np.full((len(self.grades) ** length, self.depth), -1, np.int64)
            block[:, :length] = np.indices((len(self.grades),) * length).reshape(length, -1).T
            blocks.append(block)
        return np.concatenate(blocks)

    @cached_property
    def length(self) -> Indices:
        return np.asarray((self.level >= 0).sum(axis=1))

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """[k - 1, ranking]: whether the ranking has k documents."""
        return np.asarray(np.arange(1, self.depth + 1)[:, None] <= self.length)

    @cached_property
    def counts(self) -> Indices:
        """The number of documents of each grade in each ranking."""
        return np.stack([(self.level == g).sum(axis=1) for g in range(len(self.grades))], axis=1)

    @cached_property
    def _collections(self) -> tuple[Indices, Indices]:
        """The distinct collections, each given by its first ranking, and the collection of each ranking."""
        _, first, inverse = np.unique(self.counts, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return first[order], place[inverse.reshape(-1)]

    @cached_property
    def collection(self) -> Indices:
        """The collection, a set of documents, that each ranking ranks."""
        return self._collections[1]

    @cached_property
    def representative(self) -> Indices:
        """The first ranking of each collection: its worst documents first."""
        return self._collections[0]

    @cached_property
    def lists(self) -> Lists:
        """The rankings, judged throughout, each collection being a query."""
        first = self.representative
        pool = Pool(
            offsets=np.concatenate([[0], np.cumsum(self.length[first])]),
            grade=self.grade[first][self.level[first] >= 0],
        )
        document = np.empty_like(self.level)
        seen = np.zeros((len(self), len(self.grades)), np.int64)
        start = pool.offsets[self.collection]
        below = np.concatenate([np.zeros((len(self), 1), np.int64), np.cumsum(self.counts, axis=1)], axis=1)
        rows = np.arange(len(self))
        for rank in range(self.depth):
            level = self.level[:, rank]
            document[:, rank] = start + below[rows, level] + seen[rows, level]
            seen[rows, level] += 1
        held = self.level >= 0
        rank_of = np.broadcast_to(np.arange(1, self.depth + 1), held.shape)[held]
        return Lists(
            pool=pool,
            query=self.collection,
            length=self.length,
            offsets=np.concatenate([[0], np.cumsum(self.length)]),
            document=document[held],
            first=rank_of,
            last=rank_of,
        )

    @lru_cache(maxsize=64)  # noqa: B019  spaces are few and are kept anyway
    def shown(self, k: int) -> Lists:
        """Return the rankings cut after k documents, for a measure without a cutoff."""
        return replace(self.lists.top(k), length=np.minimum(self.length, k), memo={})

    @cached_property
    def grade(self) -> Floats:
        """The grade at each rank, one row per ranking; meaningless beyond its end."""
        return np.asarray(self.grades)[np.maximum(self.level, 0)]

    def ranking(self, row: int) -> tuple[float, ...]:
        """Return the grades of a ranking."""
        return tuple(self.grades[level] for level in self.level[row, : self.length[row]].tolist())

    @cached_property
    def swaps(self) -> list[Swap]:
        """Return for each pair of ranks i < j the swap that moves a better document from j to i."""
        found = []
        rows = np.arange(len(self))
        for i, j in combinations(range(self.depth), 2):
            applies = (self.level[:, j] >= 0) & (self.level[:, i] < self.level[:, j])
            step = (self.level[:, j] - self.level[:, i]) * (self._place(i) - self._place(j))
            found.append(Swap(i + 1, j + 1, applies, np.where(applies, rows + step, rows)))
        return found

    def without(self, level: int, instead: int) -> Indices:
        """Return the ranking that each ranking becomes if documents of one grade get another grade."""
        changed = (self.level == level) * (instead - level)
        steps = [changed[:, i] * self._place(i) for i in range(self.depth)]
        return np.asarray(np.arange(len(self)) + np.sum(steps, axis=0))

    def prefix(self, k: int) -> Indices:
        """Return a number for the top k of each ranking, or -1 if it has fewer documents."""
        code = np.zeros(len(self), np.int64)
        for i in range(k):
            code = code * len(self.grades) + self.level[:, i]
        return np.where(self.length >= k, code, -1)

    def _place(self, rank: int) -> Indices:
        """Return how much the number of each ranking grows if the grade at this rank (from 0) is one level higher."""
        return np.asarray(len(self.grades) ** np.maximum(self.length - 1 - rank, 0))


@lru_cache(maxsize=32)
def space(grades: tuple[float, ...], most: int = MOST_RANKINGS) -> Space:
    """Return all rankings over these grades, up to a length for which there are at most `most` of them."""
    depth = 1
    while _rankings(len(grades), depth + 1) <= most:
        depth += 1
    return Space(grades, depth)


def _rankings(grades: int, depth: int) -> int:
    return sum(grades**length for length in range(1, depth + 1))


def lists_of(rankings: list[tuple[float | None, ...]]) -> Lists:
    """Rankings, each a query of its own; None is an unjudged document."""
    judged = [[(rank, grade) for rank, grade in enumerate(ranking, 1) if grade is not None] for ranking in rankings]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in judged])]).astype(np.int64)
    rank: Any = np.array([rank for row in judged for rank, _ in row], np.int64)
    grade = np.array([grade for row in judged for _, grade in row], np.float64)
    return Lists(
        pool=Pool(offsets=offsets, grade=grade),
        query=np.arange(len(rankings)),
        length=np.array([len(ranking) for ranking in rankings], np.int64),
        offsets=offsets,
        document=np.arange(len(rank)),
        first=rank,
        last=rank,
    )
