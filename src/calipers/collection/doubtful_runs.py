"""Runs that are not what they look like: with ranks or distances as scores, or with queries among their results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise

import numpy as np

from calipers.collection.chunks import whole_lines
from calipers.collection.doubtful_numbers import LISTS, LONG, OPPOSITE, are_opposite
from calipers.collection.files import START, blocks, start_of
from calipers.collection.judgments import Judgments
from calipers.collection.runs import DictRun, FileRun, RenamedRun, Run, RunView, unwrapped
from calipers.collection.table_rows import RowsRun
from calipers.errors import CalipersError
from calipers.native.ids import encode

LINES = 200  # of a TREC file that are looked at
OWN_IDS = (
    "most queries have their own id among their results, as in ArguAna and Quora, and it is not judged. To leave these "
    "documents out, read runs with drop_own_ids (--drop-own-ids)"
)


def doubts_about(runs: Mapping[str, Run], judgments: Judgments) -> dict[str, list[str]]:
    """Return sentences on runs that were read, and the names of the runs that each of them is about."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        for text in _doubts(run, judgments):
            found.setdefault(text, []).append(name)
    return found


def refuse_ranks(path: str, *, max_unpacked: int | None = None) -> None:
    """Refuse a TREC file whose scores are 1, 2, ..., n down its first lists, and whose ranks do not say otherwise."""
    places: dict[bytes, int] = {}
    rank = math.inf
    for fields in _fields(path, max_unpacked):
        before, place = rank, places.get(fields[0], 0) + 1
        score, rank = _number(fields[4]), _number(fields[3])
        if score != place or (place > 1 and rank < before):
            return
        if place == 1 and len(places) > LISTS:
            break
        places[fields[0]] = place
    if sum(place >= LONG for place in places.values()) >= LISTS:
        raise CalipersError(
            "the scores are 1, 2, ..., n down the lists, as ranks are, and the largest would be best. Negate them, or, "
            "if they are scores, name the format 'run'",
            file=path,
            parameter="systems_as",
        )


def _fields(path: str, max_unpacked: int | None) -> Iterator[list[bytes]]:
    """Yield the fields of each line of a TREC run."""
    with closing(blocks(path, max_unpacked=max_unpacked, size=START)) as source:
        for text in whole_lines(source, START):
            for line in text.split(b"\n"):
                if not line.startswith(b"#") and len(fields := line.split()) >= 6:
                    yield fields


def _number(text: bytes) -> float:
    """Return a number, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _doubts(run: Run, judgments: Judgments) -> list[str]:
    """Return sentences on a run.

    Of a TREC file, only the first 200 lines are looked at. If they have the id of a query as a document, the whole run
    is.
    """
    same = _same_documents(run)
    own = isinstance(same, DictRun) or (isinstance(same, RowsRun) and same.holds_own_id)
    inner = same
    while isinstance(inner, RunView):
        inner = inner.run
    found: list[str] = []
    if isinstance(inner, RowsRun):
        found += inner.doubts
    elif isinstance(inner, FileRun):
        lines = _first_lines(inner)
        found += [OPPOSITE] if _opposite(lines) else []
        own = inner is same and any(fields[0] == fields[2] for fields in lines)
    return [*found, OWN_IDS] if own and _holds_own_ids(same, judgments) else found


def _same_documents(run: Run) -> Run:
    """Return the run that a renamed or remembered one stands for."""
    while isinstance(run := unwrapped(run), RenamedRun):
        run = run.run
    return run


def _first_lines(run: FileRun) -> list[list[bytes]]:
    """Return the fields of the first lines of a TREC file."""
    start = start_of(run.path, max_unpacked=run.max_unpacked)
    lines = (start[: start.rfind(b"\n") + 1] or start).split(b"\n", LINES)[:LINES]
    return [fields for line in lines if not line.startswith(b"#") and len(fields := line.split()) >= 6]


def _opposite(lines: Sequence[Sequence[bytes]]) -> bool:
    codes: dict[bytes, int] = {}
    query = np.array([codes.setdefault(fields[0], len(codes)) for fields in lines], np.int64)
    try:
        rank, score = (np.array([float(fields[place]) for fields in lines]) for place in (3, 4))
    except ValueError:  # ranks are not read, and need not be numbers
        return False
    return are_opposite(query, rank, score)


def _holds_own_ids(run: Run, judgments: Judgments) -> bool:
    """Return True if most judged queries that a run answers have an unjudged document with their id."""
    if judgments.names is None:
        return False
    lists = run.scores if isinstance(run, DictRun) else run.to_dict()
    answered = [place for place, query in enumerate(judgments.queries) if lists.get(query)]
    own = [place for place in answered if judgments.queries[place] in lists[judgments.queries[place]]]
    if 2 * len(own) <= len(answered):
        return False
    documents, spans = judgments.documents, [*pairwise(judgments.pool.offsets.tolist())]
    unjudged = [p for p in own if all(documents[row] != encode(judgments.queries[p]) for row in range(*spans[p]))]
    return 2 * len(unjudged) > len(answered)
