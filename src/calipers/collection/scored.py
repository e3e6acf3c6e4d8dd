"""Runs that are scored where they are read: the short way from files to scores, for what people ask for most.

The scanner scores the lists that it has just ranked, and NumPy is not loaded: that alone would take longer than all
the rest for one run. Whatever is unusual is left to `evaluate`, which knows every measure, format and message:
`ShortOfIt` is raised, or whatever the scanner has to say, and the caller starts again on the long way. The scores
are those of `evaluate` up to the order in which numbers are added.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from calipers.collection.files import blocks, start_of
from calipers.collection.first_line import first_fields
from calipers.collection.reader import feed_run, in_threads, processors
from calipers.errors import CalipersError
from calipers.native.id_text import decode
from calipers.native.scan_error import ScanError
from calipers.native.scanner import COMPILED, ColumnScanner


class ShortOfIt(Exception):
    """Not for the short way."""


# What sends a caller the long way: there, an error gets its proper message.
UNUSUAL = (ShortOfIt, CalipersError, ScanError, OSError, ValueError)

# Of each measure: the terms of its plan, as `_scoring.hpp` has them, and the parameters that it may be given.
_PLANS: dict[str, tuple[dict[str, Any], frozenset[str]]] = {
    name: (plan, frozenset(parameters.split()))
    for name, plan, parameters in (
        ("P", {"form": "sum", "weight": "flat", "over": "cutoff"}, "cutoff rel"),
        ("Recall", {"form": "sum", "weight": "flat", "over": "relevant"}, "cutoff rel"),
        ("RPrec", {"form": "prefix", "over": "relevant"}, "rel"),
        ("Success", {"form": "first", "weight": "flat"}, "cutoff rel"),
        ("RR", {"form": "first", "weight": "zipf"}, "cutoff rel"),
        ("AP", {"form": "precision", "weight": "zipf", "over": "relevant"}, "cutoff rel"),
        ("RBP", {"form": "sum", "weight": "geometric", "p": 0.8}, "cutoff rel p"),
        ("DCG", {"form": "sum", "weight": "log2", "worth": "linear"}, "cutoff gain"),
        ("nDCG", {"form": "sum", "weight": "log2", "worth": "linear", "over": "ideal"}, "cutoff gain"),
    )
}
# These only where ties are broken by id.
_OF_ORDERS: dict[str, tuple[dict[str, Any], frozenset[str]]] = {
    "bpref": ({"form": "preference", "over": "relevant"}, frozenset({"rel"})),
    "IPrec": ({"form": "interpolated"}, frozenset({"rel", "recall"})),
}
_USUAL = {"weight": "flat", "worth": "relevant", "over": "one", "cutoff": 0, "rel": 1.0, "p": 0.0}
_TERMS = {"recall": "p", "gain": "worth"}  # what a parameter is called in a plan, where that differs
_WORTHS = {"linear": "linear", "exp": "exponential"}
_BY_LOWER_CASE = {name.lower(): name for name in (*_PLANS, *_OF_ORDERS)}


def plan(name: str, parameters: Mapping[str, Any], by_id: bool) -> Mapping[str, Any]:
    """The plan of a measure, by its own name and parameters.

    >>> plan("ap", {"rel": 2}, by_id=False)["form"]
    'precision'
    """
    proper = _BY_LOWER_CASE.get(name.lower(), "")
    known = _PLANS | _OF_ORDERS if by_id else _PLANS
    if proper not in known or not parameters.keys() <= known[proper][1]:
        raise ShortOfIt(name)
    terms = {_TERMS.get(key, key): value for key, value in parameters.items()}
    if "gain" in parameters:
        terms["worth"] = _WORTHS.get(parameters["gain"], "unknown")
    found = {**_USUAL, **known[proper][0], **terms}
    fine = (
        found["rel"] >= 1
        and 0 <= found["p"] <= (1 if proper == "IPrec" else 1 - 1e-9)
        and found["worth"] in ("relevant", "linear", "exponential")
        and (found["cutoff"] > 0 or ("cutoff" not in parameters and found["over"] != "cutoff"))
    )
    if not fine:
        raise ShortOfIt(name)
    return found


class Scored(NamedTuple):
    """One run: what it was like, and its scores, a row a plan and a column a judged query."""

    name: str  # its tag
    path: str
    length: list[int]  # of each judged query's list; 0 where the run lacks it
    tied_lists: int
    unjudged_queries: int
    unjudged_share: float  # of the documents in the top 10
    scores: list[list[float]]

    @property
    def missing_queries(self) -> int:
        return self.length.count(0)


def read_graded(path: str, plans: Iterable[Mapping[str, Any]]) -> Any:
    """TREC judgments, if every plan is defined for all of their queries."""
    if not COMPILED:
        raise ShortOfIt(path)
    _check_trec(path, 4)
    scanner = ColumnScanner("qrels")
    for block in blocks(path):
        scanner.feed(block)
    index = scanner.graded()
    if index is None or not all(index.plan(**plan) for plan in plans):
        raise ShortOfIt(path)
    return index


def score_runs(
    files: Sequence[str],
    index: Any,
    *,
    by_id: bool,
    depth: int = 0,
    jobs: int | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> list[Scored]:
    """All runs, side by side where there are several."""
    for file in files:
        _check_trec(file, 6)
    jobs = jobs or processors()
    if len(files) == 1:
        return [_scored(files[0], index, by_id, depth, jobs)]
    found: dict[int, Scored] = {}
    waiting, lock = iter(enumerate(files)), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                place, file = next(waiting, (-1, ""))
            if place < 0:
                return
            try:
                run = _scored(file, index, by_id, depth, 1)
            except UNUSUAL:
                with lock:
                    all(waiting)  # nobody need go on
                raise
            with lock:
                found[place] = run
                advance(1)

    if in_threads([work] * min(jobs, len(files))) is None:
        raise ShortOfIt("one of the runs")
    return [found[place] for place in range(len(files))]


def _check_trec(path: str, fields: int) -> None:
    """Whether a file starts as TREC judgments (4 fields) or runs (6) do, and as nothing else."""
    if not os.path.isfile(path):
        raise ShortOfIt(path)
    found = first_fields(start_of(path))
    if len(found) != fields or found[0][:1] in b'{["' or any(b"qid:" in field for field in found):
        raise ShortOfIt(path)
    float(found[3 if fields == 4 else 4])  # a header has no number there


def _scored(path: str, index: Any, by_id: bool, depth: int, jobs: int) -> Scored:
    scanners = feed_run(path, index, depth=depth, jobs=jobs)
    found = None if scanners is None else in_threads([partial(scanner.score, by_id) for scanner in scanners])
    parts = [part for part in found or () if part is not None]  # none where queries come back
    if scanners is None or len(parts) < len(scanners) or not all(scanner.rows for scanner in scanners):
        raise ShortOfIt(path)
    query = [place for part in parts for place in part[0]]
    if len(set(query)) < len(query):  # one that two parts share
        raise ShortOfIt(path)
    length = [size for part in parts for size in part[1]]
    shown = sum(min(size, 10) for size in length)
    judged = sum(count for part in parts for count in part[3])
    return Scored(
        name=decode(parts[0][5]) or os.path.basename(path),
        path=path,
        length=_spread(query, length, len(index)),
        tied_lists=sum(count > 0 for part in parts for count in part[2]),
        unjudged_queries=len({query for part in parts for query in part[6]}),
        unjudged_share=1.0 - judged / max(shown, 1),
        scores=[
            _spread(query, [score for part in parts for score in part[4][place]], len(index))
            for place in range(len(parts[0][4]))
        ],
    )


def _spread(query: Sequence[int], values: Sequence[Any], queries: int) -> list[Any]:
    """The value of each query of the judgments, 0 where the run lacks it."""
    spread: list[Any] = [0] * queries if values and isinstance(values[0], int) else [0.0] * queries
    for place, value in zip(query, values, strict=True):
        spread[place] = value
    return spread
