"""`calipers evaluate` by the fast path: TREC runs on TREC judgments, under measures that the scanner scores itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from calipers.collection.fast_scores import UNUSUAL, NotFast, RunScores, read_graded, score_runs
from calipers.collection.run_names import distinct_names, files_of
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.native.id_text import decode
from calipers.native.plan import Plan
from calipers.results.averages import mean
from calipers.results.notes import Seen, notes_about
from calipers.results.tables import Cell, Table

Row = tuple[Cell, ...]


class Answer(NamedTuple):
    """The scores of runs, and what to know of them."""

    measures: list[str]
    queries: list[str]
    runs: list[RunScores]

    def seen(self) -> list[Seen]:
        return [
            Seen(*name, run.unjudged_queries, run.missing_queries, run.tied_lists, run.unjudged_share)
            for name, run in zip(distinct_names(self.runs), self.runs, strict=True)
        ]

    def notes(self, ties: str | None) -> list[str]:
        return [note.text for note in notes_about(self.seen(), ties or "average")]

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
    advance: Callable[[int], None] = lambda done: None,
) -> Answer | None:
    """The scores; None where `evaluate` has to work them out."""
    by_id = ties == "docid"
    try:
        if ties not in (None, "average", "docid"):
            raise NotFast(ties)
        plans = {name: _plan(measure, by_id) for name, measure in parse_all(measures)}
        files = [file for system in systems for file in files_of(system)]
        index = read_graded(judgments, plans.values())
        runs = score_runs(files, index, by_id=by_id, depth=depth or 0, jobs=jobs, advance=advance)
        if all(not any(run.length) for run in runs):
            raise NotFast("no query in common")
    except UNUSUAL:
        return None
    return Answer(list(plans), [decode(query) for query in index.queries], runs)


def _plan(measure: Measure, by_id: bool) -> Plan:
    plan = measure.plan(by_id=by_id)
    if plan is None:
        raise NotFast(repr(measure))
    return plan
