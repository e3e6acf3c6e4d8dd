"""The first documents of every list with their grades, to show them to readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run
from calipers.evaluation.candidates import RankedRun, read_first
from calipers.native.ids import decode

LONGEST = 2**40  # more documents than a list can have


@dataclass
class ShownRankings:
    """The documents of one query that are shown, and the first documents of each system."""

    documents: list[str]
    grades: list[float | None]  # None if nobody judged a document
    lists: list[list[int]]  # for each system: places in `documents`, best first; ~place if it ties with the one before


def first_documents(judgments: Judgments, runs: Sequence[Run], top: int) -> list[ShownRankings]:
    """Return the first `top` documents of each list, for each query of the judgments. Ties are broken by id."""
    found = [_Collected(len(runs)) for _ in judgments.queries]
    if top > 0:
        place = {query: q for q, query in enumerate(judgments.queries)}
        for number, (run, ranked) in enumerate(zip(runs, read_first(runs, top), strict=True)):
            if ranked is not None:
                _from_ranked(found, place, number, ranked)
            else:  # scores without ids, one per label: all their documents are judged
                _from_judged(found, judgments, number, run, top)
    graded = _grades(judgments) if judgments.names is not None else None
    return [each.done(None if graded is None else graded[q]) for q, each in enumerate(found)]


def same_rankings(queries: Sequence[str], runs: Sequence[Run], top: int | None) -> bool | None:
    """Return True if all runs have the same documents on the same ranks, down to a rank or to the end, and tied alike.

    None if a run has scores without ids of documents.
    """
    found = [_Collected(len(runs)) for _ in queries]
    place = {query: q for q, query in enumerate(queries)}
    for number, ranked in enumerate(read_first(runs, LONGEST if top is None else top)):
        if ranked is None:
            return None
        _from_ranked(found, place, number, ranked)
    return all(ranked == each.lists[0] for each in found for ranked in each.lists[1:])


class _Collected:
    """The documents of one query that were found so far."""

    def __init__(self, systems: int) -> None:
        self.number: dict[str, int] = {}
        self.lists: list[list[int]] = [[] for _ in range(systems)]
        self.grade: dict[str, float] = {}

    def add(self, system: int, documents: Sequence[str], scores: Sequence[float]) -> None:
        before = None
        for document, score in zip(documents, scores, strict=True):
            number = self.number.setdefault(document, len(self.number))
            self.lists[system].append(~number if score == before else number)
            before = score

    def done(self, grades: dict[str, float] | None) -> ShownRankings:
        known: dict[str, float] = self.grade if grades is None else grades
        return ShownRankings(list(self.number), [known.get(document) for document in self.number], self.lists)


def _from_ranked(found: list[_Collected], place: dict[str, int], system: int, ranked: RankedRun) -> None:
    whole = ranked.whole
    documents, score = whole.documents.take(ranked.rows).texts(), whole.score[ranked.rows].tolist()
    queries = whole.query[ranked.rows[ranked.starts[:-1]]].tolist()
    for query, (start, end) in zip(queries, pairwise(ranked.starts.tolist()), strict=True):
        q = place.get(decode(whole.queries[query]))
        if q is not None:
            found[q].add(system, documents[start:end], score[start:end])


def _from_judged(found: list[_Collected], judgments: Judgments, system: int, run: Run, top: int) -> None:
    read = run.retrieved(judgments)
    pool = judgments.pool
    row, score, rank, offsets = (np.asarray(a) for a in (read.document, read.score, read.input_rank, read.offsets))
    for i, q in enumerate(read.query.tolist()):
        rows = np.arange(offsets[i], offsets[i + 1])
        rows = rows[np.argsort(rank[rows], kind="stable")][:top]
        names = [_name(judgments, int(row[r]), int(pool.offsets[q])) for r in rows]
        found[q].add(system, names, score[rows].tolist())
        found[q].grade.update(zip(names, pool.grade[row[rows]].tolist(), strict=True))


def _name(judgments: Judgments, row: int, start: int) -> str:
    return f"line {row - start + 1}" if judgments.names is None else judgments.document_names[row]


def _grades(judgments: Judgments) -> list[dict[str, float]]:
    return list(judgments.to_dict().values())
