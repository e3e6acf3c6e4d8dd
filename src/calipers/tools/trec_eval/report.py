"""trec_eval's evaluation and its output: which measures, in which order, how they are averaged and printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.collection.model import Judgments, Run
from calipers.conventions import CONVENTIONS, Convention
from calipers.errors import CalipersError
from calipers.evaluation import in_batches
from calipers.lists import Floats, Ints, Lists
from calipers.measures.dialects import KINDLESS, Root
from calipers.measures.registry import Measure, look_up
from calipers.native.columns import Retrieved
from calipers.native.ids import decode, encode
from calipers.tools.trec_eval.gains_below_zero import score_with_losses
from calipers.tools.trec_eval.levels_below_zero import ComparedLists, compares
from calipers.tools.trec_eval.lines import FLOOR, line, text_line, z_line
from calipers.tools.trec_eval.request import Refused, Request, plain_parameters
from calipers.tools.trec_eval.run_ids import run_id
from calipers.tools.trec_eval.zscores import ZScores, converted, read_zscores

UNDEFINED_OF_NOTHING = ("iprec_at_recall_0.00", "11pt_avg")


@dataclass(frozen=True)
class ReportedMeasure:
    """One measure: its name there, and what it is here; no measure for text."""

    name: str
    root: Root
    measure: Measure | None
    length: int = 10  # of relstring
    gains: Mapping[float, float] | None = None  # which `measure` does not take: some are below 0

    @classmethod
    def all_of(cls, root: Root, text: str, request: Request, convention: Convention) -> list[ReportedMeasure]:
        """The columns of a root with these parameters."""
        columns = []
        plain = plain_parameters(root, text)
        for its_name, parameters in root.columns(plain):
            name = f"{root.name}_{text}" if its_name == f"{root.name}_{plain}" else its_name
            if not root.measure:
                columns.append(cls(name, root, None, max(int(parameters.get("length", 10)), 0)))
                continue
            known = look_up(root.measure)
            assert known is not None
            declaration, fixed = known
            offered = {"rel": max(request.level, 0), "documents": request.documents, **convention.parameters}
            if not root.rel:
                del offered["rel"]
            if root.kind == "judges":
                offered["judged_only"] = request.judged_only  # by each judge
            taken = {key: value for key, value in offered.items() if key in declaration.defaults}
            by_hand = None
            if any(gain < 0 for gain in parameters.get("gains", {}).values()) or "gains" not in declaration.defaults:
                by_hand = parameters.pop("gains", None)
            measure = Measure.of(declaration, {**taken, **fixed, **parameters})
            columns.append(cls(name, root, measure, gains=by_hand))
        return columns

    @property
    def geometric(self) -> bool:
        assert self.measure is not None
        return self.measure.declaration.average == "geometric"

    def summary(self, values: Floats, queries: int) -> float:
        """What stands for all queries, added up in their order as a loop would; of logarithms, where geometric."""
        if self.geometric:
            return math.exp(_total(values) / queries)
        return _total(values) if self.root.whole else _total(values) / queries


def _total(values: Floats) -> float:
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def columns(request: Request) -> list[ReportedMeasure]:
    """The columns that are asked for, in trec_eval's order."""
    convention = CONVENTIONS[request.convention]
    return [
        column for root, text in request.roots() for column in ReportedMeasure.all_of(root, text, request, convention)
    ]


def reports(
    judgments: Judgments,
    runs: Sequence[Run],
    request: Request,
    jobs: int | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """What trec_eval would print for each run; `note` gets what it would print otherwise."""
    convention = CONVENTIONS[request.convention]
    known = convention.judgments(judgments)
    wanted = columns(request)
    bound = [_bound(column, known) for column in wanted]
    order = _order(known, request)
    zscores = None if request.zscores is None else read_zscores(request.zscores)
    pairs = request.kind == "preferences"
    named = any(column.root.name == "runid" for column in wanted) and request.summary
    undefined = [column.name for column in wanted if column.name in UNDEFINED_OF_NOTHING]
    systems = iter(runs)
    for batch in in_batches(runs, known, 0 if pairs else request.depth or 0, convention.precision, jobs):
        lists = Lists.of(known.pool, batch)
        retrieved = lists.length > 0
        if request.judged_only and request.kind == "grades":
            lists = lists.where(lists.grade >= 0).condensed()
        if request.depth == 0:
            lists = replace(lists.top(0), length=np.zeros_like(lists.length), memo={})
        if undefined and ((lists.length == 0) & retrieved).any():
            note(f"{' and '.join(undefined)}: 0 where nothing is left of a list; trec_eval prints nan")
            undefined = []
        ranked = _ascending(lists, request.depth) if pairs else lists.under(convention.ties)
        shape = (len(batch), len(known.queries))
        # Some measures are one but for their averages: gm_map is map query by query.
        forms = {measure.form for measure in bound if measure is not None}
        scores = {form: np.nan_to_num(form.score(ranked), nan=0.0) for form in forms}
        if request.compares_unjudged:
            of_missing = 0 if request.depth == 0 or request.version_9 or not request.complete else 1
            compared = ComparedLists(ranked, request.level, of_missing)
        values: list[Floats | None] = []
        for column, measure in zip(wanted, bound, strict=True):
            if measure is None:
                values.append(None)
            elif column.gains is not None:
                p = dict(measure.parameters).get("p", 0.0)
                found = score_with_losses(column.root.name, ranked, column.gains, rel=max(request.level, 0), p=p)
                values.append(found.reshape(shape))
            elif request.compares_unjudged and compares(column.root.name):
                values.append(compared.score(measure.form, column.root.name).reshape(shape))
            else:
                values.append(scores[measure.form].reshape(shape).copy())
        for i, run in enumerate(batch):
            of_run = [None if value is None else value[i] for value in values]
            path = getattr(next(systems), "path", None)
            name = run_id(path, decode(run.tag)) if named else ""
            yield _report(_Run(known, run, name, ranked, i, order, request, zscores), wanted, of_run)


def _bound(column: ReportedMeasure, judgments: Judgments) -> Measure | None:
    if column.measure is None or column.root.name in KINDLESS:
        return column.measure
    return column.measure.bind(judgments.pool)


def _order(judgments: Judgments, request: Request) -> Ints:
    """The queries that are looked at, by the bytes of their names."""
    names = judgments.queries
    looked = [q for q in range(len(names)) if request.only_query in (None, names[q])]
    return np.array(sorted(looked, key=lambda q: encode(names[q])), np.int64)


def _ascending(lists: Lists, depth: int | None) -> Lists:
    """Ties by document id, ascending: for preferences trec_eval has them the other way round. Cut after that."""
    ranked = lists.under("docid-ascending")
    return ranked if depth is None else ranked.top(depth)


@dataclass(frozen=True)
class _Run:
    """What is printed of one run."""

    judgments: Judgments
    retrieved: Retrieved
    name: str
    lists: Lists
    place: int  # among the runs of the lists
    order: Ints  # the queries that are looked at
    request: Request
    zscores: ZScores | None

    def line(self, column: ReportedMeasure, query: str, value: float) -> str:
        if self.zscores is not None:
            return z_line(column.name, query, value)
        return line(column.name, query, value, column.root.whole)


def _report(run: _Run, wanted: Sequence[ReportedMeasure], values: Sequence[Floats | None]) -> str:
    """One run's lines: query by query, then for all queries."""
    request, order, tag = run.request, run.order, decode(run.retrieved.tag)
    answered = np.zeros(len(run.judgments.queries), bool)
    answered[run.retrieved.query] = True
    _check(run.judgments, answered, order, tag, request)
    counted = order if request.complete else order[answered[order]]
    shown = order if request.complete and not request.version_9 else order[answered[order]]
    names = [run.judgments.queries[q] for q in shown.tolist()]
    for column, value in zip(wanted, values, strict=True):
        if value is None:
            continue
        if not _counts_missing(column.root, request):
            value[~answered] = 0.0
        if column.geometric:
            value[:] = np.log(np.maximum(value, FLOOR))
        if run.zscores is not None and column.root.name != "num_q":
            value[shown] = converted(run.zscores, column.name, names, value[shown])
    parts = []
    if request.by_query and len(shown):
        parts.append(_by_query(run, wanted, values, shown, names))
    if request.summary:
        for column, value in zip(wanted, values, strict=True):
            if value is not None:
                parts.append(run.line(column, "all", column.summary(value[counted], len(counted))))
            elif column.root.name == "runid":
                parts.append(text_line(column.name, "all", run.name))
    return "".join(parts)


def _counts_missing(root: Root, request: Request) -> bool:
    """Whether a measure is more than 0 for queries that a run lacks. 10.0 evaluates one unjudged document there."""
    if request.version_9:
        return root.name in ("num_rel", "num_q")
    if request.compares_unjudged and compares(root.name):
        return True
    return root.name in ("num_rel", "num_q", "prefs_num_prefs_poss", "yaap")


def _check(judgments: Judgments, answered: Any, order: Ints, tag: str, request: Request) -> None:
    if not len(order) or (not answered[order].any() and (request.version_9 or not request.complete)):
        raise Refused(f"no query of run '{tag}' has both results and judgments", 7)
    if not request.version_9 and not request.complete and not answered[order].all():
        missing = order[~answered[order]]
        raise CalipersError(
            f"run '{tag}' lacks {len(missing)} of {len(order)} judged queries (the first: "
            f"'{judgments.queries[missing[0]]}'); -c counts them as 0, and --v9 leaves them out"
        )


def _by_query(
    run: _Run, wanted: Sequence[ReportedMeasure], values: Sequence[Floats | None], shown: Ints, names: Sequence[str]
) -> str:
    texts: list[list[str]] = []
    for column, value in zip(wanted, values, strict=True):
        if not column.root.by_query:
            continue
        if value is None:
            strings = _relevance_strings(run.lists, run.place, column.length, shown)
            texts.append([text_line(column.name, name, f"'{text}'") for name, text in zip(names, strings, strict=True)])
        else:
            numbers = zip(names, value[shown].tolist(), strict=True)
            texts.append([run.line(column, name, number) for name, number in numbers])
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
