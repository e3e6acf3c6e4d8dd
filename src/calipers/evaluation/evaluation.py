"""Evaluation of runs: judgments, runs, measures and options go in, scores come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calipers.collection.document_facts import Costs, notes_on_costs, read_costs, whole_runs, with_costs, with_retrieved
from calipers.collection.judgments import Judgments, JudgmentsDigest
from calipers.collection.mismatch import (
    MatchedQueries,
    Unmatched,
    check_unmatched,
    doubts_about,
    no_query_in_common,
    uncut,
    unmatched_notes,
)
from calipers.collection.run_names import ambiguous_names, distinct_names
from calipers.collection.runs import FileRun, Run, unwrapped, within_reach
from calipers.collection.sources import ColumnNames, JudgmentsLike, RunsLike
from calipers.conventions import Convention
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.inputs import (
    SwappedFiles,
    as_judgments,
    as_runs,
    depending_on_costs,
    in_batches,
    kind_read,
    notes_on_grades,
    notes_on_reading,
)
from calipers.evaluation.options import Policy, ScoringOptions
from calipers.evaluation.possible_gain import PossibleGains
from calipers.evaluation.scoring import DESCRIBED, describe, refuse, refuse_infinite, score_lists
from calipers.lists import Floats, Lists
from calipers.measures.exactness import drawn_orders, inexact_measures, sampling_errors
from calipers.measures.forms.base import deepest
from calipers.measures.grammar import DEFAULT_MEASURES, MeasuresLike, parse_all
from calipers.measures.registry import Measure
from calipers.native.columns import Precision, Retrieved
from calipers.results.messages import RunSummary, incomplete_runs, notes_about, notes_on_lacking, seen_in, some
from calipers.results.scores import Coverage, Scores
from calipers.support.checks import check_type
from calipers.support.choices import TieRule
from calipers.support.plurals import counted
from calipers.support.record import Record

Measures = MeasuresLike


def evaluate(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: Measures = DEFAULT_MEASURES,
    *,
    like: str | Convention | None = None,
    ties: TieRule | None = None,
    relevant: float | None = None,
    depth: int | None = None,
    condensed: bool = False,
    empty: Policy | None = None,
    missing: Policy | None = None,
    degenerate: Policy | None = None,
    precision: Precision | None = None,
    columns: ColumnNames | None = None,
    costs: Costs | None = None,
    unmatched: Unmatched = "error",
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> Scores:
    """Score runs on judgments under measures.

    judgments: a path, `irds:DATASET_ID`, a frame, {query: {document: grade}}, or what `read_judgments` returns. For
        measures of diversity also {query: {subtopic: {document: grade}}} or what `read_subtopics` returns.
    runs: paths, frames, {query: {document: score}}, {query: [documents]}, {name: run}, arrays with one score per label,
        or what `read_runs` returns.
    like: the tool whose conventions are the defaults of the other options, such as `trec_eval` (10.0), `letor4` or
        `lightgbm` (see `calipers.conventions`), or a Convention. Options that are given here, and
        parameters in the name of a measure, come first.
    ties: `average` takes the mean over all orders of tied documents. The other rules take one order: by document id
        (`docid`, as trec_eval, or `docid-ascending`), by the order of the `input`, or the `best` or `worst` order.
    relevant: the smallest relevant grade of every measure that leaves its parameter `rel` open: `AP` is then scored
        and called `AP(rel=4)`. A tool (`like`) that knows only relevant or not is given 1 for these grades, and 0 for
        all others. The default is 1, or the value of `like`.
    depth: keep only the first `depth` documents of each list.
    condensed: leave out unjudged documents.
    empty: score of a query that leaves a measure undefined for every ranking, such as one without relevant
        documents. The default is 0, or the value of `like`; normalised measures skip such queries.
    missing: score of a list that leaves a measure undefined. `skip` also skips queries that a run lacks. The default is
        0, or the value of `like`. `compare` and `check` refuse runs that lack more than half of the judged queries if
        neither is given.
    degenerate: normalised score of a query for which all rankings score the same. By default, the formula decides.
        `empty`, `missing` and `degenerate` take a number, `skip` or `error`.
    columns: names of the columns of tables, such as {"query": "topic_id"}, for judgments and runs. If they differ, use
        `read_judgments` and `read_runs`.
    precision: precision in which document scores are compared: `double`, or `single` as in trec_eval before 10.0. In
        single precision, scores beyond 3.4e38 are infinite and tie; a note says so.
    costs: costs of reading documents, as {document: cost} or a file of lines `document cost`, for TBG, U-measure, BPM,
        IFT-C2, EC and ETC. A document without a cost costs 1. For these measures, random rankings shuffle all documents
        that are judged or retrieved by some run.
    unmatched: `error` refuses a run without any judged document: mostly, judgments and runs write ids in different
        ways. `warn` scores such a run.
    jobs: number of files that are read at the same time.
    progress: function that is called with the number of runs that were scored.
    warn: give one CalipersWarning about the input: judged queries that a run lacks, ties, unjudged documents, judgments
        and runs that seem to be exchanged. `Scores.notes` has these sentences in any case. `Scores.remarks` has
        sentences about conventions, undefined queries and sampling.

    >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    >>> run = {"q1": {"d2": 1.5, "d1": 1.5}, "q2": {"d3": 0.5}}
    >>> evaluate(qrels, run, ["RR", "nDCG@10"])["RR"]         # d1 is first in half of the orders
    array([[0.75, 1.  ]])
    >>> evaluate(qrels, run, ["RR"], ties="worst")["RR"]
    array([[0.5, 1. ]])
    """
    options = ScoringOptions(
        like=like,
        ties=ties,
        relevant=relevant,
        depth=depth,
        condensed=condensed,
        empty=empty,
        missing=missing,
        degenerate=degenerate,
        precision=precision,
    )
    return Evaluation.of(
        judgments,
        runs,
        measures,
        options,
        columns=columns,
        costs=costs,
        unmatched=unmatched,
        jobs=jobs,
        progress=progress,
        warn=warn,
    ).scores


class ScoredTexts(Protocol):
    """Texts under measures."""

    progress: Callable[[int], None] | None  # called with the number of finished steps

    @property
    def collection(self) -> Any:
        """The texts themselves."""

    @property
    def steps(self) -> int:
        """The number of steps that scoring takes."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes about the texts."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about how the scores were made."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems that wrote the texts."""

    @property
    def scores(self) -> Scores:
        """Scores of all texts."""

    def in_order(self, scores: Scores) -> Scores:
        """Return the scores with the measures in the order in which they were named."""

    @property
    def size(self) -> str:
        """The numbers of systems and of questions or documents, in words."""

    @property
    def measure_names(self) -> tuple[str, ...]:
        """The measures, as they were asked for."""


ONLY_RANKINGS = (
    "this is a question about rankings, and these are texts; "
    "evaluate, compare, diff, check, plan, inspect, metaeval and report take texts"
)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """A request: judgments, runs, measures and scoring options, and how to read them. Questions take it.

    Runs are handles: their lines are read when they are needed. `Experiment` is the one that users make. A request for
    scores of texts has `texts`, and neither judgments, runs, measures nor options.
    """

    judgments: Judgments  # as they were read
    runs: tuple[Run, ...]  # as they were opened
    measures: Mapping[str, Measure]  # by the names that were typed
    options: ScoringOptions
    costs: Mapping[str, float] | None = None  # costs of reading documents
    unmatched: Unmatched = "error"  # what to do about runs without a judged document
    jobs: int | None = None  # files that are read at the same time
    progress: Callable[[int], None] | None = None  # called with the number of runs that were scored
    warn: bool = True  # give the notes as a CalipersWarning
    texts: ScoredTexts | None = None

    @staticmethod
    def of(
        judgments: JudgmentsLike,
        runs: RunsLike | None,
        measures: Measures,
        options: ScoringOptions,
        *,
        columns: ColumnNames | None = None,
        costs: Costs | None = None,
        unmatched: Unmatched = "error",
        jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
        warn: bool = True,
    ) -> Evaluation:
        """Open judgments and runs. runs: None for questions about judgments alone."""
        check_unmatched(unmatched)
        named = options.named(measures)
        given = as_judgments(judgments, kind_read(named.values()), columns)
        opened = () if runs is None else tuple(as_runs(runs, columns=columns))
        known_costs = None if costs is None else read_costs(costs)
        return Evaluation(given, opened, named, options, known_costs, unmatched, jobs, progress, warn)

    def changed(self, **changes: Any) -> Evaluation:
        """Return a request with other values for some fields."""
        return Evaluation(**{each.name: getattr(self, each.name) for each in fields(Evaluation)} | changes)

    def of_measures(self, measures: Measures) -> Evaluation:
        """Return the request for other measures. Costs that none of them reads are left out.

        measures: may hold names that the request gave to its measures.
        """
        names = [name for name in measures if isinstance(name, str)] if isinstance(measures, list) else []
        if names and names == measures and self.measures.keys() >= {*names}:
            named = {name: self.measures[name] for name in names}
        else:
            named = dict(parse_all(measures, self.options.measure_defaults))
        costly = any(measure.form.traits.reads_costs for measure in named.values())
        return self.changed(measures=named, costs=self.costs if costly else None)

    @cached_property
    def known(self) -> Judgments:
        """The judgments as the convention of the options reads them."""
        return self.options.like.judgments(self.judgments)

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems. Before runs are read, this reads the first line of each file."""
        if self.texts is not None:
            return self.texts.systems
        return tuple(name for name, _ in distinct_names(self.runs))

    @cached_property
    def scores(self) -> Scores:
        """Scores of all systems on all queries. The notes on runs and texts are in the scores."""
        scores = _scores(self) if self.texts is None else self.texts.in_order(self.texts.scores)
        warn_user(scores.notes, self.warn)
        return scores

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "progress": None}

    def __getattr__(self, name: str) -> Any:
        """Refuse questions about rankings if there are texts."""
        if name in ("judgments", "runs", "measures", "options") and self.texts is not None:
            raise CalipersError(ONLY_RANKINGS)
        return object.__getattribute__(self, name)  # raises the error of a property again

    def __repr__(self) -> str:
        if self.texts is not None:
            return f"<{type(self).__name__}: {self.texts.size}, {', '.join(self.texts.measure_names)}>"
        runs, queries = counted(len(self.runs), "run"), counted(len(self.judgments.queries), "query")
        return f"<{type(self).__name__}: {runs}, {queries}, {', '.join(self.measures)}>"


def check_evaluation(evaluation: Any) -> None:
    """Refuse what is not an Evaluation, for questions that are functions of an experiment."""
    check_type("evaluation", evaluation, Evaluation, "an Experiment of judgments, runs and measures")


def _scores(given: Evaluation) -> Scores:
    """Score all runs."""
    if not given.runs:
        raise CalipersError("there is no run to evaluate")
    rules = given.options.like
    bound = {name: measure.bind(given.known.pool) for name, measure in given.measures.items()}
    rules.check(given.known, bound.values())
    by_document = {} if given.costs is None else depending_on_costs(bound)
    request = _Request(given.known, tuple(rules.runs(given.runs)), given.options, given.jobs)
    if given.costs is not None:
        request = request.with_whole_runs(given.costs)
    plain = {name: measure for name, measure in bound.items() if name not in by_document}
    described = _Description(request, plain)
    found = _score_runs(request, plain, described, given.progress)
    described.check_queries()
    if given.costs is not None:
        whole = request.with_costs(given.costs)
        rebound = {name: measure.bind(whole.judgments.pool) for name, measure in by_document.items()}
        found |= _score_runs(whole, rebound)
        bound |= rebound
    coverage = described.coverage
    errors = {name: found[name].error for name in bound if found[name].error}
    notes = [
        *notes_on_lacking(described.seen, len(given.known.queries)),
        *notes_on_grades(given.known, rules.rel, bound.values()),
        *described.notes(given.unmatched, drawn_orders(bound, errors)),
    ]
    coverage.sampled.update({place: errors[name] for place, name in enumerate(bound) if name in errors})
    return Scores(
        measures=tuple(bound),
        systems=described.names,
        queries=given.known.queries,
        values=np.stack([found[name].values for name in bound]),
        reasons=np.stack([found[name].reasons for name in bound]),
        definitions=tuple(bound.values()),
        coverage=coverage,
        metadata={
            **given.options.as_metadata(),
            "judgments": JudgmentsDigest(given.judgments),
            "unmatched": described.unmatched,
            "incomplete": incomplete_runs(coverage, described.names) if given.options.missing is None else {},
            "exactness": inexact_measures(bound, coverage.sampled),
            "standard_error": errors,
        },
        notes=tuple(notes),
        ambiguous_names=ambiguous_names(given.runs),
    )


class _Request(Record):
    """Judgments and runs as the convention of the options reads them."""

    judgments: Judgments
    runs: tuple[Run, ...]
    options: ScoringOptions
    jobs: int | None

    def with_whole_runs(self, costs: Mapping[str, float]) -> _Request:
        """Return the request with its runs read whole, and with a note about documents that lack a cost."""
        runs, known = whole_runs(self.runs), self.judgments
        retrieved = (document for run in runs for query in known.queries for document in run.scores.get(query, ()))
        return self.changed(runs=tuple(runs), judgments=known.with_notes(notes_on_costs(costs, retrieved)))

    def with_costs(self, costs: Mapping[str, float]) -> _Request:
        """Return the request with costs in its judgments, which then hold every retrieved document."""
        known = self.judgments
        every = known if self.options.condensed else with_retrieved(known, whole_runs(self.runs))
        return self.changed(judgments=with_costs(every, costs))


class _MeasureScores(Record):
    """Scores of all runs under one measure: arrays of run x query."""

    values: Floats
    reasons: NDArray[np.uint8]
    error: float  # the largest standard error of a score; 0 if nothing was drawn


def _score_runs(
    request: _Request,
    measures: Mapping[str, Measure],
    described: _Description | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, _MeasureScores]:
    """Read all runs and return their scores under some measures. Their lists are described if that is wanted."""
    known, options = request.judgments, request.options
    values = np.empty((len(measures), len(request.runs), len(known.queries)))
    reasons = np.zeros(values.shape, np.uint8)
    errors = [0.0] * len(measures)
    reach = deepest(measure.form for measure in measures.values())
    read: Sequence[Run] = request.runs
    wants_whole_lists = described is not None and described.wants_whole_lists
    if not (reach is None or options.precision == "single" or options.condensed or wants_whole_lists):
        read = [within_reach(run, max(reach, DESCRIBED)) for run in request.runs]
    start = 0
    for batch in in_batches(read, known, options.depth or 0, options.precision, request.jobs):
        part = slice(start, start + len(batch))
        lists = Lists.of(known.pool, batch)
        scored = score_lists(lists, measures.values(), options)
        values[:, part] = scored.values.reshape(values[:, part].shape)
        reasons[:, part] = scored.reasons.reshape(values[:, part].shape)
        for place, error in sampling_errors(measures.values(), scored.ranked).items():
            errors[place] = max(error, errors[place])
        if described is not None:
            described.add(part, batch, lists, scored.ranked)
        start += len(batch)
        if progress:
            progress(len(batch))
    refuse_infinite(values, list(measures), known.queries)
    refuse(reasons, measures, known, options)
    return {name: _MeasureScores(values[place], reasons[place], errors[place]) for place, name in enumerate(measures)}


class _Description:
    """Coverage of the lists of all runs, and notes about them. It is filled while the runs are read."""

    def __init__(self, request: _Request, measures: Mapping[str, Measure]) -> None:
        self._request = request
        self._reach = deepest(measure.form for measure in measures.values())
        self._infinite: list[bool] = []
        self._matched: list[MatchedQueries] = []
        self._swapped = SwappedFiles(request.judgments.pool.grade)
        self._possible = PossibleGains(measures)
        self.coverage = Coverage.blank(len(request.runs), len(request.judgments.queries))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the runs. Before the runs are read, this reads the first line of each file."""
        return tuple(name for name, _ in distinct_names(self._request.runs))

    @property
    def wants_whole_lists(self) -> bool:
        """Whole lists are needed, not only the ranks that measures read."""
        return self._swapped.looking

    def add(self, part: slice, batch: Sequence[Retrieved], lists: Lists, ranked: Lists) -> None:
        """Describe the lists of some runs. ranked: the lists as they were scored."""
        known, single = self._request.judgments, self._request.options.precision == "single"
        describe(self.coverage, part, batch, lists, self._reach)
        self._possible.add(ranked, len(batch))
        self._infinite += [single and bool(np.isinf(run.score).any()) for run in batch]
        self._matched += [MatchedQueries.of(known, run) for run in batch]
        opened = zip(batch, self._request.runs[part], strict=True)
        self._swapped.look([run for run, system in opened if not isinstance(unwrapped(system), FileRun)])

    @cached_property
    def matched(self) -> list[MatchedQueries]:
        """Queries of each run that have judged documents. A run may have judged documents below the depth only."""
        known, runs = self._request.judgments, self._request.runs
        if not self._request.options.depth:
            return self._matched
        return uncut(known, runs, self._matched)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Names of the runs that have hardly any judged document."""
        return tuple(name for name, seen in zip(self.names, self.matched, strict=True) if seen.few)

    @cached_property
    def seen(self) -> list[RunSummary]:
        """Facts about the runs that notes mention."""
        unjudged = [each.unjudged for each in self.matched]
        return seen_in(self.coverage, self._request.runs, self._infinite, self._request.judgments.queries, unjudged)

    def check_queries(self) -> None:
        """Refuse runs that have no query in common with the judgments."""
        if self.coverage.missing.all():
            raise no_query_in_common(self._request.judgments, (each.unjudged for each in self.matched))

    def notes(self, unmatched: Unmatched, drawn: Sequence[str]) -> list[str]:
        """Return the notes about the runs. Runs without judged documents are refused unless `unmatched` is `warn`.

        drawn: measures whose average over ties is one over drawn orders.
        """
        known, runs = self._request.judgments, self._request.runs
        doubts = doubts_about(dict(zip(self.names, runs, strict=True)), known)
        return [
            *(f"{some(names)}: {text}" for text, names in doubts.items()),
            *notes_on_reading(known, runs),
            *unmatched_notes(known, dict(zip(self.names, runs, strict=True)), self.matched, unmatched),
            *self._swapped.notes(known, runs),
            *notes_about(self.seen, self._request.options.ties, self._possible.measure, self._possible.means, drawn),
        ]
