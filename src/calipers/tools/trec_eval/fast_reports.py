"""trec_eval's output by the fast path, without NumPy: its official measures and the other common ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from calipers.collection.fast_scores import UNUSUAL, NotFast, RunScores, read_graded, score_runs
from calipers.measures.dialects import Root
from calipers.measures.registry import Measure, look_up
from calipers.native.id_text import decode
from calipers.native.plan import Plan
from calipers.tools.trec_eval.lines import FLOOR, line, text_line
from calipers.tools.trec_eval.measure_parameters import read_parameters
from calipers.tools.trec_eval.request import Request
from calipers.tools.trec_eval.run_ids import run_id

_COUNTS = ("num_q", "num_ret", "num_rel")  # which no list has to be scored for


class FastMeasure(NamedTuple):
    """One measure: its name, and which of the plans scores it, if one does."""

    name: str
    root: Root
    place: int = -1

    def of(self, run: RunScores, relevant: Sequence[int]) -> Sequence[float]:
        """The value of each query."""
        if self.place >= 0:
            return run.scores[self.place]
        return {"num_q": [1] * len(relevant), "num_ret": run.length, "num_rel": relevant}[self.root.name]

    def summary(self, values: Sequence[float]) -> float:
        """What stands for all queries, added up one by one as a loop in C would."""
        if self.root.name == "gm_map":
            return math.exp(_total([math.log(max(value, FLOOR)) for value in values]) / len(values))
        return _total(values) if self.root.whole else _total(values) / len(values)


def _total(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def fast_reports(request: Request) -> list[str] | None:
    """What trec_eval would print for each run; None where the reports have to be worked out with NumPy."""
    try:
        plain = request.kind == "grades" and request.zscores is None and request.only_query is None
        if not plain or request.version_9 or request.judged_only or request.level < 1 or request.depth == 0:
            raise NotFast("options")
        columns, plans = _columns(request)
        if request.complete and request.level != 1 and any(column.root.name == "num_rel" for column in columns):
            raise NotFast("num_rel")  # which does not ask for the level then
        judgments, *files = request.files
        index = read_graded(judgments, plans)
        runs = score_runs(files, index, by_id=True, depth=request.depth or 0, jobs=request.jobs)
        if index.exponents or not index.whole or not all(request.complete or all(run.length) for run in runs):
            raise NotFast("queries")
        if index.odd_blanks or any(run.odd_blanks for run in runs):
            raise NotFast("blanks")
    except UNUSUAL:
        return None
    names = index.queries
    order = sorted(range(len(names)), key=names.__getitem__)
    queries, relevant = [decode(names[q]) for q in order], index.relevant(request.level)
    return [
        "".join(_report(run, file, columns, queries, order, relevant, request))
        for run, file in zip(runs, files, strict=True)
    ]


def _columns(request: Request) -> tuple[list[FastMeasure], list[Plan]]:
    """What is printed, and the plans that it needs."""
    columns: list[FastMeasure] = []
    plans: list[Plan] = []
    for root, text in request.roots():
        if root.name in ("runid", *_COUNTS):
            columns.append(FastMeasure(root.name, root))
            continue
        for name, parameters in read_parameters(root, text, version_9=request.version_9):
            if root.rel:
                parameters = {**parameters, "rel": request.level}
            wanted = _plan(root, parameters)
            if wanted not in plans:
                plans.append(wanted)
            columns.append(FastMeasure(name, root, plans.index(wanted)))
    return columns, plans


def _plan(root: Root, parameters: Mapping[str, Any]) -> Plan:
    known = look_up(root.measure)
    plan = None if known is None else Measure.of(known[0], {**known[1], **parameters}).form.plan()
    if plan is None:
        raise NotFast(root.name)
    return plan


def _report(
    run: RunScores,
    file: str,
    columns: Sequence[FastMeasure],
    queries: Sequence[str],
    order: Sequence[int],
    relevant: Sequence[int],
    request: Request,
) -> Iterator[str]:
    values = {column.name: column.of(run, relevant) for column in columns if column.root.name != "runid"}
    if request.by_query:
        shown = [column for column in columns if column.root.by_query]
        for query, q in zip(queries, order, strict=True):
            for column in shown:
                yield line(column.name, query, values[column.name][q], column.root.whole)
    if request.summary:
        for column in columns:
            if column.root.name == "runid":
                yield text_line(column.name, "all", run_id(file, run.tag))
            else:
                summary = column.summary([values[column.name][q] for q in order])
                yield line(column.name, "all", summary, column.root.whole)
