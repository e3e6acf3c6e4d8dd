"""Runs that are scored where they are read: the fast path from files to scores, for what people ask for most.

The scanner scores the lists that it has just ranked, and NumPy is not loaded: that alone would take longer than all
the rest for one run. What it scores, plans say, which the forms of measures hand over (`Form.plan`). Whatever is
unusual is left to `evaluate`, which knows every measure, format and message: `NotFast` is raised, or whatever the
scanner has to say, and the caller starts again. The scores are those of `evaluate` up to the order in which numbers
are added.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from calipers.collection.files import blocks, start_of
from calipers.collection.first_line import first_fields, is_trec
from calipers.collection.reader import FILE_ERRORS, feed_run, in_threads, processors
from calipers.collection.run_names import run_name
from calipers.native.id_text import decode
from calipers.native.plan import Plan
from calipers.native.scanner import COMPILED, ColumnScanner


class NotFast(Exception):
    """Not for the fast path."""


# What makes a caller start again with `evaluate`: there, an error gets its proper message.
UNUSUAL = (NotFast, *FILE_ERRORS)


class RunScores(NamedTuple):
    """One run: what it was like, and its scores, one row per plan and one column per judged query."""

    name: str
    tag: str
    path: str
    length: list[int]  # of each judged query's list; 0 where the run lacks it
    tied_lists: int
    unjudged_queries: int
    unjudged_share: float  # of the documents in the top 10
    scores: list[list[float]]
    given_name: str | None = None
    odd_blanks: bool = False  # whether a field holds what C takes for a blank

    @property
    def missing_queries(self) -> int:
        return self.length.count(0)


def read_graded(path: str, plans: Iterable[Plan]) -> Any:
    """TREC judgments, if every plan is defined for all of their queries."""
    if not COMPILED:
        raise NotFast(path)
    _check_trec(path, 4)
    scanner = ColumnScanner("qrels")
    for block in blocks(path):
        scanner.feed(block)
    index = scanner.graded()
    if index is None or not all(index.plan(**plan._asdict()) for plan in plans):
        raise NotFast(path)
    return index


def score_runs(
    files: Sequence[str],
    index: Any,
    *,
    by_id: bool,
    depth: int = 0,
    jobs: int | None = None,
) -> list[RunScores]:
    """All runs, side by side where there are several."""
    for file in files:
        _check_trec(file, 6)
    jobs = jobs or processors()
    if len(files) == 1:
        return [_scored(files[0], index, by_id, depth, jobs)]
    found: dict[int, RunScores] = {}
    waiting, lock = iter(enumerate(files)), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                place, file = next(waiting, (-1, ""))
            if place < 0:
                return
            try:
                run = _scored(file, index, by_id, depth, 1)
            except Exception:  # whatever it is, it is raised again
                with lock:
                    all(waiting)  # nobody need go on
                raise
            with lock:
                found[place] = run

    if in_threads([work] * min(jobs, len(files)), UNUSUAL) is None:
        raise NotFast("one of the runs")
    return [found[place] for place in range(len(files))]


def _check_trec(path: str, fields: int) -> None:
    """Whether a file starts as TREC judgments (4 fields) or runs (6) do, and as nothing else."""
    if not os.path.isfile(path):
        raise NotFast(path)
    start = start_of(path)
    found = first_fields(start)
    if not is_trec(start, fields) or found[0][:1] in b'{["' or any(b"qid:" in field for field in found):
        raise NotFast(path)
    try:
        float(found[3 if fields == 4 else 4])
    except ValueError:  # a header has no number there
        raise NotFast(path) from None


def _scored(path: str, index: Any, by_id: bool, depth: int, jobs: int) -> RunScores:
    scanners = feed_run(path, index, depth=depth, jobs=jobs)
    found = None if scanners is None else in_threads([partial(scanner.score, by_id) for scanner in scanners])
    parts = [part for part in found or () if part is not None]  # none where queries come back
    if scanners is None or len(parts) < len(scanners) or not all(scanner.rows for scanner in scanners):
        raise NotFast(path)
    query = [place for part in parts for place in part[0]]
    if len(set(query)) < len(query):  # one that two parts share
        raise NotFast(path)
    length = [size for part in parts for size in part[1]]
    shown = sum(min(size, 10) for size in length)
    judged = sum(count for part in parts for count in part[3])
    return RunScores(
        name=run_name(decode(parts[0][5]), path),
        tag=decode(parts[0][5]),
        path=path,
        length=_spread(query, length, len(index)),
        tied_lists=sum(count > 0 for part in parts for count in part[2]),
        unjudged_queries=len({query for part in parts for query in part[6]}),
        unjudged_share=1.0 - judged / max(shown, 1),
        scores=[
            _spread(query, [score for part in parts for score in part[4][place]], len(index))
            for place in range(len(parts[0][4]))
        ],
        odd_blanks=any(scanner.odd_blanks for scanner in scanners),
    )


def _spread(query: Sequence[int], values: Sequence[Any], queries: int) -> list[Any]:
    """The value of each query of the judgments, 0 where the run lacks it."""
    spread: list[Any] = [0] * queries if values and isinstance(values[0], int) else [0.0] * queries
    for place, value in zip(query, values, strict=True):
        spread[place] = value
    return spread
