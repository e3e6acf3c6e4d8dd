"""trec_eval's evaluation and its output: which measures, in which order, how they are averaged and printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run
from calipers.conventions import CONVENTIONS, Convention
from calipers.errors import CalipersError
from calipers.inputs import in_batches
from calipers.lists import Floats, Ints, Lists
from calipers.measures.dialects import KINDLESS, Root
from calipers.measures.forms import Form
from calipers.measures.interpolated import ROUNDINGS
from calipers.measures.registry import Measure, look_up
from calipers.native.columns import Retrieved
from calipers.native.ids import decode, encode
from calipers.tools.trec_eval.lenient_files import Conflicts
from calipers.tools.trec_eval.levels_below_zero import ComparedLists, compares
from calipers.tools.trec_eval.lines import FLOOR, line, text_line, z_line
from calipers.tools.trec_eval.measure_parameters import read_parameters
from calipers.tools.trec_eval.own_formulas import FARTHEST, own_formula, printed_as_it_is
from calipers.tools.trec_eval.refusals import Refused, not_calculated
from calipers.tools.trec_eval.request import Request
from calipers.tools.trec_eval.run_ids import run_id
from calipers.tools.trec_eval.zscores import ZScores, converted, read_zscores


@dataclass(frozen=True)
class ReportedMeasure:
    """One measure: its name there, and what it is here; no measure for text."""

    name: str
    root: Root
    measure: Measure | None
    length: int = 10  # of relstring
    own: Form | None = None  # which takes the place of the measure's, where that does not take the parameters

    @classmethod
    def all_of(cls, root: Root, text: str, request: Request, convention: Convention) -> list[ReportedMeasure]:
        """The columns of a root with these parameters."""
        columns = []
        for name, parameters in read_parameters(root, text, version_9=request.version_9):
            if not root.measure:
                columns.append(cls(name, root, None, max(parameters.get("length", 10), 0)))
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
            own = own_formula(root.name, parameters, request, rounding=taken.get("rounding", ""), given=bool(text))
            if own is not None:
                recall = {"recall": min(max(parameters["recall"], 0.0), 1.0)} if "recall" in parameters else {}
                parameters = {**root.fixed, **recall}
            elif "gains" in parameters:
                parameters["gains"] = {float(level): gain for level, gain in parameters["gains"]}
            elif "multiple" in parameters:
                parameters["multiple"] = min(max(parameters["multiple"], 0.0), FARTHEST)
            columns.append(cls(name, root, Measure.of(declaration, {**taken, **fixed, **parameters}), own=own))
        return columns

    def form(self, judgments: Judgments) -> Form | None:
        """How it scores lists of these judgments."""
        if self.own is not None or self.measure is None:
            return self.own
        return self.measure.form if self.root.name in KINDLESS else self.measure.bind(judgments.pool).form

    def asks_nothing(self, relevant: Floats) -> bool:
        """Whether it is a precision where no relevant document has to be found, of lists with so many to be found."""
        if self.root.name not in ("iprec_at_recall", "11pt_avg"):
            return False
        assert self.measure is not None
        parameters = self.measure.parameters
        points = parameters["points"] if "points" in parameters else [parameters["recall"]]
        rounded = ROUNDINGS[parameters["rounding"]]
        return any(bool((rounded(point * relevant) <= 0).any()) for point in points)

    @property
    def geometric(self) -> bool:
        assert self.measure is not None
        return self.measure.declaration.average == "geometric"

    def summary(self, values: Floats, queries: int) -> float:
        """What stands for so many queries, added up in their order as a loop would; of logarithms, where geometric.

        Queries without a value count 0.
        """
        if self.geometric:
            return math.exp((_total(values) + (queries - len(values)) * math.log(FLOOR)) / queries)
        return _total(values) if self.root.whole else _total(values) / queries


def _total(values: Floats) -> float:
    with np.errstate(invalid="ignore"):  # of infinite values
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
    conflicts: Conflicts | None = None,
) -> Iterator[str]:
    """What trec_eval would print for each run; `note` gets what it would print otherwise.

    A query for which there is a conflict is refused where a run is scored on it.
    """
    convention = CONVENTIONS[request.convention]
    known = convention.judgments(judgments)
    wanted = columns(request)
    forms = [column.form(known) for column in wanted]
    order = _order(known, request)
    zscores = None
    if request.zscores is not None:
        zscores, notes = read_zscores(request.zscores)
        for each in notes:
            note(each)
    pairs = request.kind == "preferences"
    named = any(column.root.name == "runid" for column in wanted) and request.summary
    said: set[str] = set()
    systems = iter(runs)
    for batch in in_batches(runs, known, 0 if pairs else request.depth or 0, convention.precision, jobs):
        lists = Lists.of(known.pool, batch)
        retrieved = lists.length > 0
        if request.judged_only and request.kind == "grades":
            lists = lists.where(lists.grade >= 0).condensed()
        if request.depth == 0:
            lists = replace(lists.top(0), length=np.zeros_like(lists.length), memo={})
        emptied = lists.query[(lists.length == 0) & retrieved]
        relevant = known.pool.relevant(max(request.level, 0))[emptied].astype(np.float64)
        if undefined := [column.name for column in wanted if column.name not in said and column.asks_nothing(relevant)]:
            note(f"{' and '.join(undefined)}: 0 where nothing is left of a list; trec_eval prints nan")
            said.update(undefined)
        ranked = _ascending(lists, request.depth) if pairs else lists.under(convention.ties)
        shape = (len(batch), len(known.queries))
        of_missing = int(request.complete and not request.version_9 and not request.judged_only and request.depth != 0)
        filled = replace(ranked, length=np.where(retrieved, ranked.length, of_missing), memo={})
        # Some measures are one but for their averages: gm_map is map query by query.
        scores = {form: _scores(form, ranked, filled) for form in forms if form is not None}
        if request.compares_unjudged:
            compared = ComparedLists(ranked, request.level, of_missing)
        values: list[Floats | None] = []
        for column, form in zip(wanted, forms, strict=True):
            if form is None:
                values.append(None)
            elif request.compares_unjudged and compares(column.root.name):
                values.append(compared.score(form, column.root.name).reshape(shape))
            else:
                values.append(scores[form].reshape(shape).copy())
        for i, run in enumerate(batch):
            of_run = [None if value is None else value[i] for value in values]
            path = getattr(next(systems), "path", None)
            name = run_id(path, decode(run.tag)) if named else ""
            of_order = _Run(known, run, name, ranked, filled, i, order, request, zscores, conflicts or {})
            yield _report(of_order, wanted, of_run)


def _scores(form: Form, lists: Lists, filled: Lists) -> Floats:
    if printed_as_it_is(form):
        return form.score(filled)
    return np.nan_to_num(form.score(lists), nan=0.0)


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
    filled: Lists  # with one unjudged document for each query that the run lacks, where trec_eval 10 takes one
    place: int  # among the runs of the lists
    order: Ints  # the queries that are looked at
    request: Request
    zscores: ZScores | None
    conflicts: Conflicts

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
    if not request.counts_queries_only:
        for q in shown.tolist():
            if q in run.conflicts:
                raise not_calculated(run.conflicts[q])
    names = [run.judgments.queries[q] for q in shown.tolist()]
    for column, value in zip(wanted, values, strict=True):
        if value is None:
            continue
        if not _counts_missing(column, request):
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
                parts.append(run.line(column, "all", _summary(run, column, value[counted])))
            elif column.root.name == "runid":
                parts.append(text_line(column.name, "all", run.name))
    return "".join(parts)


def _summary(run: _Run, column: ReportedMeasure, values: Floats) -> float:
    """What stands for all queries. With -c these are all judged ones, also beside -D, and the level is not asked."""
    if not run.request.complete:
        return column.summary(values, len(values))
    if column.root.name == "num_q":
        return len(run.judgments.queries)
    if column.root.name == "num_rel":
        return int((run.judgments.pool.grade > 0).sum())
    return column.summary(values, len(run.judgments.queries))


def _counts_missing(column: ReportedMeasure, request: Request) -> bool:
    """Whether a measure is more than 0 for queries that a run lacks. 10.0 evaluates one unjudged document there."""
    root = column.root.name
    if request.version_9:
        return root in ("num_rel", "num_q")
    if printed_as_it_is(column.own) or (request.compares_unjudged and compares(root)):
        return True
    return root in ("num_rel", "num_q", "ideal_dcg", "prefs_num_prefs_poss", "yaap")


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
            lists = run.lists if column.name == column.root.name else run.filled
            strings = _relevance_strings(lists, run.place, column.length, shown)
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
    length = min(length, int(lists.length.max(initial=0)))
    top = lists.top(length)
    rows = slice(top.offsets[place * queries], top.offsets[(place + 1) * queries])
    grade = top.grade[rows]
    sign = np.where(grade > 9, ord(">"), np.where(grade < 0, ord("."), ord("0") + np.clip(grade, 0, 9)))
    table = np.full((queries, length), ord("-"), np.uint8)
    table[top.list[rows] - place * queries, top.first[rows] - 1] = sign
    ends = np.minimum(lists.length[place * queries :][:queries], length).tolist()
    return [table[q, : ends[q]].tobytes().decode("ascii") for q in shown.tolist()]
