"""trec_eval's evaluation and its output: which measures, in which order, how they are averaged and printed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.collection.model import Judgments, Run
from calipers.conventions import CONVENTIONS, Convention
from calipers.errors import CalipersError
from calipers.evaluation import in_batches
from calipers.lists import Floats, Ints, Lists
from calipers.measures.dialects import Root
from calipers.measures.registry import Measure, look_up
from calipers.native.columns import Retrieved
from calipers.native.ids import decode, encode
from calipers.tools.trec_eval.lines import FLOOR, line, text_line
from calipers.tools.trec_eval.request import Refused, Request


@dataclass(frozen=True)
class ReportedMeasure:
    """One measure: its name there, and what it is here; no measure for text."""

    name: str
    root: Root
    measure: Measure | None
    length: int = 10  # of relstring

    @classmethod
    def all_of(cls, root: Root, text: str, request: Request, convention: Convention) -> list[ReportedMeasure]:
        """The columns of a root with these parameters."""
        columns = []
        for name, parameters in root.columns(text):
            if not root.measure:
                columns.append(cls(name, root, None, max(int(parameters.get("length", 10)), 0)))
                continue
            known = look_up(root.measure)
            assert known is not None
            declaration, fixed = known
            offered = {"rel": request.level, "documents": request.documents, **convention.parameters}
            if not root.rel:
                del offered["rel"]
            taken = {key: value for key, value in offered.items() if key in declaration.defaults}
            columns.append(cls(name, root, Measure.of(declaration, {**taken, **fixed, **parameters})))
        return columns

    def summary(self, values: Floats, queries: int) -> float:
        """What stands for all queries, added up in their order as a loop would."""
        assert self.measure is not None
        average = self.measure.declaration.average
        if average == "geometric":
            return math.exp(_total(np.log(np.maximum(values, FLOOR))) / queries)
        return _total(values) if self.root.whole else _total(values) / queries


def _total(values: Floats) -> float:
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def columns(request: Request) -> list[ReportedMeasure]:
    """The columns that are asked for, in trec_eval's order."""
    convention = CONVENTIONS[request.convention]
    return [
        column for root, text in request.roots() for column in ReportedMeasure.all_of(root, text, request, convention)
    ]


def reports(judgments: Judgments, runs: Sequence[Run], request: Request, jobs: int | None = None) -> Iterator[str]:
    """What trec_eval would print for each run."""
    convention = CONVENTIONS[request.convention]
    known = convention.judgments(judgments)
    wanted = columns(request)
    bound = [None if column.measure is None else column.measure.bind(known.pool) for column in wanted]
    order = np.array(sorted(range(len(known.queries)), key=lambda q: encode(known.queries[q])), np.int64)
    for batch in in_batches(runs, known, request.depth or 0, convention.single, jobs):
        lists = Lists.of(known.pool, batch)
        if request.judged_only:
            lists = lists.where(lists.grade >= 0).condensed()
        ranked = lists.under(convention.ties)
        shape = (len(batch), len(known.queries))
        # Some measures are one but for their averages: gm_map is map query by query.
        forms = {measure.form for measure in bound if measure is not None}
        scores = {form: np.nan_to_num(form.score(ranked), nan=0.0) for form in forms}
        values = [None if measure is None else scores[measure.form].reshape(shape).copy() for measure in bound]
        for i, run in enumerate(batch):
            of_run = [None if value is None else value[i] for value in values]
            yield _report(known, run, ranked, i, wanted, of_run, order, request)


def _report(
    judgments: Judgments,
    run: Retrieved,
    lists: Lists,
    place: int,
    wanted: Sequence[ReportedMeasure],
    values: Sequence[Floats | None],
    order: Ints,
    request: Request,
) -> str:
    """One run's lines: query by query, then for all queries."""
    answered = np.zeros(len(judgments.queries), bool)
    answered[run.query] = True
    _check(judgments, answered, order, decode(run.tag), request)
    for column, value in zip(wanted, values, strict=True):
        if value is not None and column.root.name not in ("num_rel", "num_q"):
            value[~answered] = 0.0
    counted = order if request.complete else order[answered[order]]
    shown = order if request.complete and not request.version_9 else order[answered[order]]
    parts = []
    if request.by_query and len(shown):
        parts.append(_by_query(judgments, lists, place, wanted, values, shown))
    if request.summary:
        for column, value in zip(wanted, values, strict=True):
            if value is not None:
                summary = column.summary(value[counted], len(counted))
                parts.append(line(column.name, "all", summary, column.root.whole))
            elif column.root.name == "runid":
                parts.append(text_line(column.name, "all", decode(run.tag)))
    return "".join(parts)


def _check(judgments: Judgments, answered: Any, order: Ints, tag: str, request: Request) -> None:
    if not answered.any() and (request.version_9 or not request.complete):
        raise Refused(f"no query of run '{tag}' has both results and judgments", 7)
    if not request.version_9 and not request.complete and not answered.all():
        missing = order[~answered[order]]
        raise CalipersError(
            f"run '{tag}' lacks {len(missing)} of {len(order)} judged queries (the first: "
            f"'{judgments.queries[missing[0]]}'); -c counts them as 0, and --v9 leaves them out"
        )


def _by_query(
    judgments: Judgments,
    lists: Lists,
    place: int,
    wanted: Sequence[ReportedMeasure],
    values: Sequence[Floats | None],
    shown: Ints,
) -> str:
    texts: list[list[str]] = []
    names = [judgments.queries[q] for q in shown.tolist()]
    for column, value in zip(wanted, values, strict=True):
        if not column.root.by_query:
            continue
        if value is None:
            strings = _relevance_strings(lists, place, column.length, shown)
            texts.append([text_line(column.name, name, f"'{text}'") for name, text in zip(names, strings, strict=True)])
        else:
            numbers = zip(names, value[shown].tolist(), strict=True)
            texts.append([line(column.name, name, number, column.root.whole) for name, number in numbers])
    return "".join(text for of_query in zip(*texts, strict=True) for text in of_query)


def _relevance_strings(lists: Lists, place: int, length: int, shown: Ints) -> list[str]:
    """One character per document for the first ranks: its grade, '>' above 9, '-' unjudged, '.' for a grade below 0."""
    if length == 0:
        return [""] * len(shown)
    queries = lists.pool.queries
    top = lists.top(length)
    rows = slice(top.offsets[place * queries], top.offsets[(place + 1) * queries])
    grade = top.grade[rows]
    sign = np.where(grade > 9, ord(">"), np.where(grade < 0, ord("."), ord("0") + np.clip(grade, 0, 9)))
    table = np.full((queries, length), ord("-"), np.uint8)
    table[top.list[rows] - place * queries, top.first[rows] - 1] = sign
    ends = np.minimum(lists.length[place * queries :][:queries], length).tolist()
    return [table[q, : ends[q]].tobytes().decode("ascii") for q in shown.tolist()]
