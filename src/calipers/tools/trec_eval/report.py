"""Evaluation, input files and output of trec_eval: measures, their order, their averages and their lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.collection.files import blocks
from calipers.collection.judgments import Judgments
from calipers.collection.reader import scan
from calipers.collection.runs import FileRun, Run
from calipers.conventions import CONVENTIONS, Convention
from calipers.errors import CalipersError
from calipers.evaluation.inputs import in_batches
from calipers.lists import Floats, Ints, Lists
from calipers.measures.dialects import Root
from calipers.measures.forms import Form
from calipers.measures.interpolated import ROUNDINGS
from calipers.measures.registry import Measure, look_up
from calipers.native.columns import Precision, Retrieved
from calipers.native.ids import decode, encode
from calipers.native.plain import RowScanner, number
from calipers.native.scan_error import MOST_LINE, ScanError
from calipers.native.scanner import RunScanner
from calipers.tools.trec_eval.request import Refused, Request

if TYPE_CHECKING:
    from calipers.collection.files import Block


@dataclass(frozen=True)
class ReportedMeasure:
    """One measure: its name there, and what it is here; no measure for text."""

    name: str
    root: Root
    measure: Measure | None
    length: int = 10  # of relstring

    @classmethod
    def all_of(cls, root: Root, text: str, request: Request, convention: Convention) -> list[ReportedMeasure]:
        """Return the measures of a root with these parameters."""
        columns = []
        for name, parameters in root.columns(text):
            if not root.measure:
                length = int(parameters.get("length", 10))
                if length < 1:
                    raise CalipersError(f"'{name}': the length of '{root.name}' is not at least 1")
                columns.append(cls(name, root, None, length))
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

    def form(self, judgments: Judgments) -> Form | None:
        """Return how it scores lists of these judgments, or None for text."""
        return None if self.measure is None else self.measure.bind(judgments.pool).form

    def asks_nothing(self, relevant: Floats) -> bool:
        """Return True for a precision at a recall of 0 documents, given the number of relevant documents per list."""
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
        """Return the mean over a number of queries, or the sum of counts, added up in the order of the queries.

        Queries without a value count 0. Geometric means take logarithms of values.
        """
        if self.geometric:
            return math.exp((_total(values) + (queries - len(values)) * math.log(FLOOR)) / queries)
        return _total(values) if self.root.whole else _total(values) / queries


def _total(values: Floats) -> float:
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def columns(request: Request) -> list[ReportedMeasure]:
    """Return the measures that are asked for, in trec_eval's order."""
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
    """Yield what trec_eval would print for each run. `note` is called where trec_eval would print something else."""
    convention = CONVENTIONS[request.convention]
    known = convention.judgments(judgments)
    wanted = columns(request)
    forms = [column.form(known) for column in wanted]
    order = _order(known, request)
    zscores = None if request.zscores is None else read_zscores(request.zscores)
    said: set[str] = set()
    for batch in in_batches(runs, known, request.depth or 0, convention.precision, jobs):
        lists = Lists.of(known.pool, batch)
        retrieved = lists.length > 0
        if request.judged_only:
            lists = lists.where(lists.grade >= 0).condensed()
        emptied = lists.query[(lists.length == 0) & retrieved]
        relevant = known.pool.relevant(request.level)[emptied].astype(np.float64)
        if undefined := [column.name for column in wanted if column.name not in said and column.asks_nothing(relevant)]:
            note(f"{' and '.join(undefined)}: 0 where nothing is left of a list; trec_eval prints nan")
            said.update(undefined)
        ranked = lists.under(convention.ties)
        shape = (len(batch), len(known.queries))
        # Some measures are one but for their averages: gm_map is map query by query.
        scores = {form: np.nan_to_num(form.score(ranked), nan=0.0) for form in forms if form is not None}
        values = [None if form is None else scores[form].reshape(shape).copy() for form in forms]
        for i, run in enumerate(batch):
            of_run = [None if value is None else value[i] for value in values]
            yield _report(_Run(known, run, ranked, i, order, request, zscores), wanted, of_run)


def _order(judgments: Judgments, request: Request) -> Ints:
    """Return the queries that are evaluated, by the bytes of their names."""
    names = judgments.queries
    looked = [q for q in range(len(names)) if request.only_query in (None, names[q])]
    return np.array(sorted(looked, key=lambda q: encode(names[q])), np.int64)


@dataclass(frozen=True)
class _Run:
    """Everything that is needed to print the lines of one run."""

    judgments: Judgments
    retrieved: Retrieved
    lists: Lists
    place: int  # among the runs of the lists
    order: Ints  # the queries that are evaluated
    request: Request
    zscores: ZScores | None

    @property
    def tag(self) -> str:
        """The run's name in its file."""
        return decode(self.retrieved.tag)

    def line(self, column: ReportedMeasure, query: str, value: float) -> str:
        if self.zscores is not None:
            return z_line(column.name, query, value)
        return line(column.name, query, value, column.root.whole)


def _report(run: _Run, wanted: Sequence[ReportedMeasure], values: Sequence[Floats | None]) -> str:
    """Return one run's lines: query by query, then for all queries."""
    request, order = run.request, run.order
    answered = np.zeros(len(run.judgments.queries), bool)
    answered[run.retrieved.query] = True
    _check(run.judgments, answered, order, run.tag, request)
    counted = order if request.complete else order[answered[order]]
    shown = order if request.complete and not request.version_9 else order[answered[order]]
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
                parts.append(text_line(column.name, "all", run.tag))
    return "".join(parts)


def _summary(run: _Run, column: ReportedMeasure, values: Floats) -> float:
    """Return the value for all queries. With -c these are all judged queries, also with -D, and -l has no effect."""
    if not run.request.complete:
        return column.summary(values, len(values))
    if column.root.name == "num_q":
        return len(run.judgments.queries)
    if column.root.name == "num_rel":
        return int((run.judgments.pool.grade > 0).sum())
    return column.summary(values, len(run.judgments.queries))


def _counts_missing(column: ReportedMeasure, request: Request) -> bool:
    """Return True for measures that are not 0 for queries that a run lacks."""
    root = column.root.name
    if request.version_9:
        return root in ("num_rel", "num_q")
    return root in ("num_rel", "num_q", "ideal_dcg", "yaap")


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
    """Return one character per document: its grade, '>' above 9, '-' if unjudged, '.' for a grade below 0."""
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


FLOOR = 1e-5  # what a score below it counts in a geometric mean


def z_line(name: str, query: str, value: float) -> str:
    """Return the line of a z-score."""
    return "Z" + line(name, query, value, whole=False)


def line(name: str, query: str, value: float, whole: bool) -> str:
    """Return the line of a measure, a query (or `all`) and a number."""
    return text_line(name, query, f"{int(value)}" if whole else f"{value:6.4f}")


def text_line(name: str, query: str, text: str) -> str:
    """Return the line of a measure, a query (or `all`) and a text."""
    return f"{name:<22}\t{query}\t{text}\n"


FIELDS = ("query", "measure", "mean", "standard deviation")
MISSING = -1_000_000.0  # where no mean is known, or all reference runs had one other score

ZScores = dict[tuple[str, str], tuple[float, float]]  # mean and standard deviation of (query, measure)


def read_zscores(path: str) -> ZScores:
    """Read means and standard deviations from lines `query measure mean stddev`."""
    rows = scan(path, lambda: RowScanner(_zscore_line))
    return {(query, measure): (mean, deviation) for query, measure, mean, deviation, _ in rows}


def _zscore_line(line: bytes) -> tuple[str, str, float, float]:
    fields = line.split()
    if len(fields) != len(FIELDS):
        raise ScanError(f"expected {len(FIELDS)} fields ({', '.join(FIELDS)}), found {len(fields)}")
    query, measure, mean, deviation = fields
    return decode(query), decode(measure), number(mean, FIELDS[2]), number(deviation, FIELDS[3])


def converted(zscores: ZScores, measure: str, queries: list[str], values: Floats) -> Floats:
    """Return the scores of some queries in units of the standard deviation from the mean."""
    known = np.array([(query, measure) in zscores for query in queries], bool)
    found = [zscores.get((query, measure), (0.0, 0.0)) for query in queries]
    mean, deviation = np.array(found, np.float64).reshape(-1, 2).T
    spread = np.where(deviation == 0, 1.0, deviation)
    with np.errstate(over="ignore", invalid="ignore"):  # of a deviation that is almost 0
        score = np.where((deviation == 0) & (values != mean), MISSING, (values - mean) / spread)
    return np.where(known, score, MISSING)


_AFTER_THE_TAG = re.compile(rb"^([ \t]*[^ \t\n]+(?:[ \t]+[^ \t\n]+){5})[ \t][^\n]*", re.MULTILINE)


class TrecRun(FileRun):
    """A TREC run file whose lines may go on after the tag, which trec_eval keeps free for later use."""

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        """Return what was retrieved. A file that is refused is read again without what follows the tags."""
        try:
            return super().retrieved(judgments, depth, precision, jobs)
        except CalipersError:
            pass
        found = scan(
            self.path,
            lambda: RunScanner(judgments.index, depth=depth, precision=precision, regroup=True),
            source=_up_to_the_tag(blocks(self.path, max_unpacked=self.max_unpacked)),
        )
        self.tag = decode(found.tag)
        return found


def _up_to_the_tag(source: Iterable[Block]) -> Iterator[bytes]:
    """Yield the lines of a file, each cut after six fields."""
    rest = b""
    for block in source:
        lines, end, rest = (rest + bytes(block)).rpartition(b"\n")
        yield _AFTER_THE_TAG.sub(rb"\1", lines + end)
        if len(rest) > MOST_LINE:  # which the scanner refuses
            yield rest
    yield _AFTER_THE_TAG.sub(rb"\1", rest)
