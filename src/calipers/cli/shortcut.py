"""`calipers evaluate` by the short way: TREC runs on TREC judgments under well-known measures, without NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from calipers.collection.run_names import distinct_names, files_of
from calipers.collection.scored import UNUSUAL, Scored, ShortOfIt, plan, read_graded, score_runs
from calipers.measures.names import typed_names
from calipers.native.id_text import decode
from calipers.results.averages import mean
from calipers.results.notes import Seen, notes_about
from calipers.results.tables import Cell, Table

Row = tuple[Cell, ...]
# Spellings that mean here what they mean to `measures.grammar`; whatever else that takes or refuses is left to it.
_NAME = re.compile(r"([A-Za-z]+)(?:\(([^()]*)\))?(?:@([1-9][0-9]{0,8}))?")
_READ: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "rel": (re.compile(r"[1-9][0-9]{0,8}"), int),
    "p": (re.compile(r"0?\.[0-9]{1,15}"), float),
    "gain": (re.compile(r"linear|exp"), str),
}


class Answer(NamedTuple):
    """The scores of runs, and what to know of them."""

    measures: list[str]
    queries: list[str]
    runs: list[Scored]

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


def short_answer(
    judgments: str,
    systems: Sequence[str],
    measures: Sequence[str],
    *,
    ties: str | None = None,
    depth: int | None = None,
    jobs: int | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> Answer | None:
    """The scores; None where the long way has to be gone."""
    by_id = ties == "docid"
    try:
        if ties not in (None, "average", "docid"):
            raise ShortOfIt(ties)
        plans = {name: _plan(name, by_id) for text in measures for name in typed_names(text)}
        if not plans:
            raise ShortOfIt("no measure")
        files = [file for system in systems for file in files_of(system)]
        index = read_graded(judgments, plans.values())
        runs = score_runs(files, index, by_id=by_id, depth=depth or 0, jobs=jobs, advance=advance)
        if all(not any(run.length) for run in runs):
            raise ShortOfIt("no query in common")
    except UNUSUAL:
        return None
    return Answer(list(plans), [decode(query) for query in index.queries], runs)


def _plan(name: str, by_id: bool) -> Mapping[str, Any]:
    match = _NAME.fullmatch(name)
    if not match:
        raise ShortOfIt(name)
    parameters: dict[str, Any] = {"cutoff": int(match[3])} if match[3] else {}
    for argument in filter(None, (match[2] or "").split(",")):
        parameter, _, text = (part.strip() for part in argument.partition("="))
        pattern, read = _READ.get(parameter, (None, str))
        if pattern is None or not pattern.fullmatch(text):
            raise ShortOfIt(name)
        parameters[parameter] = read(text)
    return plan(match[1], parameters, by_id)
