"""`calipers evaluate` by the fast path: TREC runs on TREC judgments, under measures that the scanner scores itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from calipers.collection.fast_scores import UNUSUAL, NotFast, RunScores, read_graded, score_runs
from calipers.collection.run_names import distinct_names, named_files
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.native.id_text import decode
from calipers.native.plan import Plan
from calipers.results.averages import mean
from calipers.results.notes import RunSummary, notes_about
from calipers.results.tables import Cell, Table

Row = tuple[Cell, ...]


class Answer(NamedTuple):
    """The scores of runs, and what to know of them."""

    measures: list[str]
    queries: list[str]
    runs: list[RunScores]
    measure: str | None = None  # for which it is known how far judging could raise the mean of each run
    room: tuple[float, ...] = ()

    def seen(self) -> list[RunSummary]:
        return [
            RunSummary(*name, run.unjudged_queries, run.missing_queries, run.tied_lists, run.unjudged_share)
            for name, run in zip(distinct_names(self.runs), self.runs, strict=True)
        ]

    def notes(self, ties: str | None) -> list[str]:
        return list(notes_about(self.seen(), ties or "average", self.measure, self.room))

    def mean(self) -> Table:
        rows: list[Row] = [
            (seen.name, *map(mean, run.scores)) for seen, run in zip(self.seen(), self.runs, strict=True)
        ]
        return Table(("system", *self.measures), tuple(rows))

    def per_query(self) -> Table:
        rows: tuple[Row, ...] = tuple(
            (seen.name, query, *(scores[q] for scores in run.scores))
            for seen, run in zip(self.seen(), self.runs, strict=True)
            for q, query in enumerate(self.queries)
        )
        return Table(("system", "query", *self.measures), rows)


def fast_answer(
    judgments: str,
    systems: Sequence[str],
    measures: Sequence[str],
    *,
    ties: str | None = None,
    depth: int | None = None,
    jobs: int | None = None,
) -> Answer | None:
    """The scores; None where `evaluate` has to work them out."""
    by_id = ties == "docid"
    try:
        if ties not in (None, "average", "docid"):
            raise NotFast(ties)
        plans = {name: _plan(measure, by_id) for name, measure in parse_all(measures)}
        named = [each for system in systems for each in named_files(system)]
        files = [file for _, file in named]
        open_to = next((name for name, plan in plans.items() if has_room(plan)), None)
        weighed = [] if open_to is None else [of_judged(plans[open_to])]
        index = read_graded(judgments, [*plans.values(), *weighed])
        runs = score_runs(files, index, by_id=by_id, depth=depth or 0, jobs=jobs)
        both = zip(named, runs, strict=True)
        runs = [run._replace(name=given or run.name, given_name=given) for (given, _), run in both]
        if all(not any(run.length) for run in runs):
            raise NotFast("no query in common")
    except UNUSUAL:
        return None
    queries = [decode(query) for query in index.queries]
    if open_to is None:
        return Answer(list(plans), queries, runs)
    plan = plans[open_to]
    some = any(index.relevant(plan.rel))
    room = tuple(mean(room_left(plan, run.length, run.scores[-1])) if some else 0.0 for run in runs)
    return Answer(list(plans), queries, [run._replace(scores=run.scores[:-1]) for run in runs], open_to, room)


# -- how far judging could raise a score, as `Form.room` says it ---------------------------------------


def has_room(plan: Plan) -> bool:
    """Whether lengths and judged documents tell how far judging could raise the score: sums over relevant documents."""
    return plan.form == "sum" and plan.worth == "relevant" and plan.over in ("one", "cutoff") and plan.rel > 0


def of_judged(plan: Plan) -> Plan:
    """The plan of the weight that judged documents have."""
    return plan._replace(rel=-math.inf, over="one")


def room_left(plan: Plan, length: Sequence[int], judged: Sequence[float]) -> list[float]:
    """By how much judging could raise each score: the weight of the list, less that of its judged documents.

    >>> room_left(Plan("sum", over="cutoff", cutoff=5), [3, 8], [1.0, 5.0])
    [0.4, 0.0]
    """
    shown = [min(size, plan.cutoff or size) for size in length]
    weights = {"flat": float, "geometric": lambda size: 1.0 - plan.p**size}
    weight = weights.get(plan.weight) or (lambda size: math.fsum(_weight(plan, rank) for rank in range(1, size + 1)))
    over = plan.cutoff if plan.over == "cutoff" else 1
    return [max(weight(size) - known, 0.0) / over for size, known in zip(shown, judged, strict=True)]


def _weight(plan: Plan, rank: int) -> float:
    return 1.0 / (rank if plan.weight == "zipf" else math.log2(rank + 1))


def _plan(measure: Measure, by_id: bool) -> Plan:
    plan = measure.plan(by_id=by_id)
    if plan is None:
        raise NotFast(repr(measure))
    return plan
