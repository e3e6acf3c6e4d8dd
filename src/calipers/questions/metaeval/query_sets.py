"""Sets of queries and of documents on which measures are evaluated.

    all             every query
    uninformative   the N queries on which systems are least above a random ranking
    ideal           the N queries on which systems are most above a random ranking
    hard, easy      the uninformative queries on which systems and random rankings score low, or high
    broad           queries that have grade 2 or more for at least half of their documents
    focused         the same number of other queries
    left, right     every query, with a random half of its documents

Karmaker & Feng 2022, sections 3.3 and 4.4; Feng, chapters 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run, RunView
from calipers.errors import CalipersError
from calipers.lists import Ints, Pool
from calipers.native.columns import Precision, Retrieved
from calipers.questions.queries import QueryTypes
from calipers.results.scores import order_of
from calipers.statistics.significance import SEED

BY_DIFFERENCE = ("uninformative", "ideal", "hard", "easy")
BY_GRADES = ("broad", "focused")
HALVES = ("left", "right")
SETS = ("all", *BY_DIFFERENCE, *BY_GRADES, *HALVES)


def set_size(size: float, queries: int) -> int:
    """Return a number of queries from a number or a share of them, at least 1.

    >>> set_size(0.25, 50), set_size(500, 1000), set_size(0.25, 2)
    (12, 500, 1)
    """
    count = max(round(size * queries), 1) if 0 < size < 1 else int(size)
    if count < 1 or (size >= 1 and count != size):
        raise CalipersError(f"the size {size:g} of a set of queries is neither a whole number nor a share below 1")
    return min(count, queries)


def by_difference(types: QueryTypes, name: str, size: float, absolute: bool = False) -> Ints:
    """Return the indices of the queries of a set that depends on the distance of systems from a random ranking."""
    defined = int((~np.isnan(types.difference)).sum())
    place = {query: i for i, query in enumerate(types.queries)}
    if name in ("hard", "easy"):
        return np.flatnonzero(np.array(types.types) == name)
    count = set_size(size, defined)
    chosen = types.smallest(count, absolute) if name == "uninformative" else types.largest(count, absolute)
    return np.sort(np.array([place[query] for query in chosen], dtype=np.int64))


def broad_and_focused(judgments: Judgments, *, seed: int = SEED) -> dict[str, Ints]:
    """Return the indices of equally many broad and focused queries. The larger set is sampled.

    A query is broad if at least half of its judged documents have a grade of 2 or more.

    >>> sets = broad_and_focused(Judgments.from_dict({"q1": {"a": 2, "b": 0}, "q2": {"a": 1}, "q3": {"a": 0}}))
    >>> {name: len(places) for name, places in sets.items()}
    {'broad': 1, 'focused': 1}
    """
    pool = judgments.pool
    broad = (pool.count(pool.grade >= 2) >= 0.5 * pool.size) & (pool.size > 0)
    in_order = np.array(order_of(judgments.queries), np.int64)  # queries are drawn in alphabetical order
    found = {"broad": in_order[broad[in_order]], "focused": in_order[(~broad & (pool.size > 0))[in_order]]}
    size = min(map(len, found.values()))
    random = np.random.default_rng(seed)
    return {name: np.sort(random.permutation(places)[:size]) for name, places in found.items()}


def document_halves(judgments: Judgments, seed: int = SEED) -> dict[str, HalfOfDocuments]:
    """Return two random halves of the judged documents of each query."""
    pool = judgments.pool
    chance = np.empty(len(pool.grade))
    chance[judgments.rows_by_name] = np.random.default_rng(seed).random(len(chance))
    order = np.lexsort((chance, pool.query))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(pool.offsets[:-1], pool.size)
    # If the number of documents is odd, the left half has one more in every second query.
    second = np.argsort(order_of(judgments.queries)) % 2
    left = place < (pool.size + second)[pool.query] // 2
    return {name: HalfOfDocuments(judgments, chosen) for name, chosen in (("left", left), ("right", ~left))}


@dataclass(frozen=True, eq=False)
class HalfOfDocuments:
    """Judgments of some of the documents, and runs that retrieve nothing else.

    The unjudged documents belong to neither half, so lists have to be condensed.
    """

    whole: Judgments
    chosen: Any  # True for each row of the pool that is kept

    @property
    def judgments(self) -> Judgments:
        pool, rows = self.whole.pool, np.flatnonzero(self.chosen)
        offsets = np.concatenate([[0], np.cumsum(pool.count(self.chosen))])
        names = None if self.whole.names is None else lambda: self.whole.documents.take(rows)
        return Judgments(self.whole.name, self.whole.queries, Pool(offsets, pool.grade[rows]), names)

    def run(self, run: Run) -> Run:
        return HalfRun(run, self)


@dataclass(eq=False)
class HalfRun(RunView):
    """A run with only some of its judged documents."""

    half: HalfOfDocuments

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        found = only_documents(self.run.retrieved(self.half.whole, depth, precision, jobs), self.half.chosen)
        fresh = np.cumsum(self.half.chosen) - 1
        return replace(found, document=fresh[found.document].astype(np.int32))

    def to_dict(self) -> dict[str, dict[str, float]]:
        raise CalipersError("half of a run has no documents of its own", file=self.name)


def only_documents(found: Retrieved, chosen: Any) -> Retrieved:
    """Keep only the chosen rows of the pool in what a run retrieved. All other documents become unjudged."""
    kept = np.flatnonzero(chosen[found.document])
    lists = np.repeat(np.arange(len(found.query)), np.diff(found.offsets))
    counts = np.bincount(lists[kept], minlength=len(found.query))
    columns: Mapping[str, Any] = {
        name: None if getattr(found, name) is None else getattr(found, name)[kept]
        for name in ("document", "score", "first", "last", "docid_rank", "input_rank")
    }
    return replace(found, offsets=np.concatenate([[0], np.cumsum(counts)]), **columns)
