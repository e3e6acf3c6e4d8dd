"""From judgments and runs to scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, TypeGuard

import numpy as np

from calipers.collection.document_facts import (
    Costs,
    notes_on_costs,
    read_costs,
    whole_runs,
    with_costs,
    with_retrieved,
)
from calipers.collection.frames import is_frame
from calipers.collection.model import ArrayRun, DictRun, FileRun, Judgments, Run, within_reach
from calipers.collection.read_ahead import in_order
from calipers.collection.records import holds_records, plain_nested, taken
from calipers.collection.run_names import distinct_names
from calipers.collection.sources import ColumnNames, JudgmentsLike, RunsLike, read_judgments, read_run, read_runs
from calipers.conventions import Convention, convention
from calipers.errors import CalipersError, CheckFailed, warn_user
from calipers.limits.exactness import inexact_measures, sampling_errors
from calipers.lists import TIE_RULES, Floats, Lists, Pool
from calipers.measures.forms.base import deepest
from calipers.measures.grammar import DEFAULT_MEASURES, parse_all
from calipers.measures.registry import Measure
from calipers.native.columns import Precision as Precision
from calipers.native.columns import Retrieved
from calipers.plurals import counted
from calipers.record import Record
from calipers.results.averages import mean
from calipers.results.notes import notes_about, seen_in, some
from calipers.results.scores import Coverage, Reason, Scores

Policy = float | Literal["skip", "error"]
Measures = str | Measure | Iterable[str | Measure]
ROWS_AT_ONCE = 2_000_000  # judged documents whose lists are scored in one go
DESCRIBED = 10  # ranks whose judged documents are counted, whatever the measures read


class Policies(TypedDict, total=False):
    """How lists are read and undefined scores counted: the options of `evaluate` that other functions hand on to it."""

    like: str | Convention | None
    ties: str | None
    depth: int | None
    condensed: bool
    empty: Policy | None
    missing: Policy | None
    degenerate: Policy | None
    precision: Precision | None
    costs: Costs | None
    jobs: int | None


def evaluate(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: Measures = DEFAULT_MEASURES,
    *,
    like: str | Convention | None = None,
    ties: str | None = None,
    depth: int | None = None,
    condensed: bool = False,
    empty: Policy | None = None,
    missing: Policy | None = None,
    degenerate: Policy | None = None,
    precision: Precision | None = None,
    columns: ColumnNames | None = None,
    costs: Costs | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> Scores:
    """Score runs on judgments under measures.

    judgments: from `read_qrels` and the like, a path, `irds:DATASET_ID`, a frame, or {query: {document: grade}};
        for measures of diversity from `read_subtopics`, a path, or {query: {subtopic: {document: grade}}}; for those of
        preferences or of several judges from `read_preferences` or `read_several_judges`, with judges for subtopics.
    runs: from `read_runs`, paths, frames, {query: {document: score}}, {name: that}, or arrays of one score per label.
    like: the tool whose conventions hold where nothing is given, as `trec_eval` (10.0), `letor4`, `lightgbm` (see
        `calipers.conventions`), a TOML file, or a Convention. What is given here, or in the name of a measure, wins.
    ties: what documents of equal score count as: `average` over all their orders, or one order: by document
        id (`docid`, trec_eval's), as in the `input`, `best` or `worst`.
    depth: only the first so many documents of each list. condensed: without unjudged documents.
    empty: what a query counts for which a measure is undefined whatever the ranking (mostly: no relevant
        document); without it 0, or what `like` says, for plain measures, while normalised ones skip the query.
        missing: what the measure counts where only this list makes it undefined, and, as `skip`, also the queries
        that a run lacks; without it 0, or what `like` says. degenerate: what a normalised score counts where all
        rankings score the same; without it, what the formula gives. All three: a number, `skip` or `error`.
    columns: the columns of tables, as {"query": "topic_id"}, in judgments and runs alike; where they differ, read them
        with `read_judgments` and `read_runs`.
    precision: in which scores are compared: `double`, or `single` as in trec_eval before 10.0, where scores beyond
        3.4e38 are infinite, and tie: a note says so.
    costs: what documents cost to read, a file of lines `document cost` or {document: cost}, for the measures that ask
        (TBG, U-measure, BPM, IFT-C2, EC, ETC); 1 where nothing is given. Random rankings shuffle all documents that are
        judged or retrieved by some run for these measures.
    warn: give one CalipersWarning with what `calipers evaluate` warns of, in its words: judged queries that a run
        lacks, ties, unjudged documents, judgments and runs that seem to be exchanged. `Scores.notes` has it in any
        case, `Scores.remarks` what is said beside: conventions, undefined queries, what is sampled.

    >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    >>> run = {"q1": {"d2": 1.5, "d1": 1.5}, "q2": {"d3": 0.5}}
    >>> evaluate(qrels, run, ["RR", "nDCG@10"])["RR"]         # d1 is first in half of the orders
    array([[0.75, 1.  ]])
    >>> evaluate(qrels, run, ["RR"], ties="worst")["RR"]
    array([[0.5, 1. ]])
    """
    rules = convention(like)
    compared = compared_in(rules, precision)
    counting = Counting.under(rules, ties, condensed, empty, missing, degenerate)
    check_depth(depth)
    named = parse_all(measures, rules.defaults)
    known = rules.judgments(as_judgments(judgments, kind_read(measure for _, measure in named), columns))
    systems = [*rules.runs(as_runs(runs, columns=columns))]
    if costs is not None:
        asked: Policies = {
            "like": like, "ties": ties, "depth": depth, "condensed": condensed, "empty": empty, "missing": missing,
            "degenerate": degenerate, "precision": precision, "jobs": jobs,
        }  # fmt: skip
        return _costed(known, systems, dict(named), read_costs(costs), warn, asked)
    bound = {name: measure.bind(known.pool) for name, measure in named}
    rules.check(known, bound.values())
    values = np.empty((len(bound), len(systems), len(known.queries)))
    reasons = np.zeros(values.shape, np.uint8)
    coverage = Coverage.blank(len(systems), len(known.queries))
    infinite: list[bool] = []
    other: bytes | None = None  # a query that a run answers, and nobody judged
    swapped = SwappedFiles(known.pool.grade)
    room = JudgingRoom(bound)
    start = 0
    reach = deepest(measure.form for measure in bound.values())
    if reach is None or compared == "single" or condensed or swapped.looking:  # which ask about whole lists
        read = systems
    else:
        read = [within_reach(system, max(reach, DESCRIBED)) for system in systems]
    for batch in in_batches(read, known, depth or 0, compared, jobs):
        part = slice(start, start + len(batch))
        values[:, part], reasons[:, part] = counting.scores(known.pool, batch, bound.values(), coverage, part, room)
        infinite += [compared == "single" and bool(np.isinf(run.score).any()) for run in batch]
        other = other or next((run.unjudged[0] for run in batch if len(run.unjudged)), None)
        swapped.look([run for run, system in zip(batch, systems[part], strict=True) if not isinstance(system, FileRun)])
        start += len(batch)
        if progress:
            progress(len(batch))
    refuse_infinite(values, list(bound), known.queries)
    refuse(reasons, bound, known, counting)
    if coverage.missing.all():
        raise known.not_answered(other)
    notes = [
        *notes_on_reading(known, systems),
        *swapped.notes(),
        *notes_about(seen_in(coverage, systems, infinite), counting.ties, *room.found()),
    ]
    warn_user(notes, warn)
    return Scores(
        measures=tuple(bound),
        systems=tuple(name for name, _ in distinct_names(systems)),
        queries=known.queries,
        values=values,
        reasons=reasons,
        definitions=tuple(bound.values()),
        coverage=coverage,
        metadata={
            "like": None if like is None else rules.name,
            "like_sentence": rules.sentence,
            "ties": counting.ties,
            "depth": depth,
            "condensed": condensed,
            "empty": empty,
            "empty_plain": rules.empty,
            "missing": counting.missing,
            "degenerate": degenerate,
            "exactness": inexact_measures(bound, coverage.sampled),
            "standard_error": {name: coverage.sampled[m] for m, name in enumerate(bound) if m in coverage.sampled},
        },
        notes=tuple(notes),
    )


def notes_on_reading(judgments: Judgments | None, runs: Iterable[Run]) -> list[str]:
    """What is to be known of how judgments and runs were read."""
    return [*(() if judgments is None else judgments.notes), *how_read(runs)]


def _costed(
    known: Judgments,
    systems: Sequence[Run],
    named: Mapping[str, Measure],
    costs: Mapping[str, float],
    warn: bool,
    policies: Policies,
) -> Scores:
    """The scores where documents have costs, for which unjudged ones are looked at one by one."""
    costly = depending_on_costs(named)
    runs = whole_runs(systems)
    paid = with_costs(known if policies["condensed"] else with_retrieved(known, runs), costs)
    unpaid = notes_on_costs(costs, (d for run in runs for query in known.queries for d in run.scores.get(query, ())))
    plain = [name for name in named if name not in costly] or ["NumRet"]  # for what is to be said of the runs
    rest = evaluate(known.with_notes(unpaid), runs, plain, warn=warn, **policies)
    read = evaluate(paid, runs, list(costly), warn=False, **policies)
    homes = [(read if name in costly else rest, name) for name in named]
    place = [home.measures.index(name) for home, name in homes]
    assert rest.coverage is not None
    assert read.coverage is not None
    errors = {True: read.coverage.sampled, False: dict(rest.coverage.sampled)}
    drawn = [errors[name in costly].get(old) for (_, name), old in zip(homes, place, strict=True)]
    rest.coverage.sampled.clear()
    rest.coverage.sampled.update({new: error for new, error in enumerate(drawn) if error is not None})
    return replace(
        rest,
        measures=tuple(named),
        values=np.stack([home.values[old] for (home, _), old in zip(homes, place, strict=True)]),
        reasons=np.stack([home.reasons[old] for (home, _), old in zip(homes, place, strict=True)]),
        definitions=tuple(home.definitions[old] for (home, _), old in zip(homes, place, strict=True)),
        metadata={
            **rest.metadata,
            **{key: {**rest.metadata[key], **read.metadata[key]} for key in ("exactness", "standard_error")},
        },
    )


def depending_on_costs(named: Mapping[str, Measure]) -> dict[str, Measure]:
    """The measures that read what documents cost; refused where none does."""
    costly = {name: measure for name, measure in named.items() if measure.form.reads_costs}
    if not costly:
        raise CalipersError(
            f"no measure depends on costs: {', '.join(named)}; TBG, U-measure, BPM, EC(...) and others do"
        )
    return costly


def costs_where_read(costs: Costs | None, measures: Iterable[Measure]) -> Costs | None:
    """The costs, where one of these measures reads them."""
    return costs if any(measure.form.reads_costs for measure in measures) else None


def how_read(runs: Iterable[Run]) -> list[str]:
    """What is to be known of how runs were read: each note once, with the files that it is about."""
    files: dict[str, list[str]] = {}
    for run in runs:
        path = str(getattr(run, "path", None) or run.name)
        for note in getattr(run, "notes", ()):
            about = [path] if note.startswith(f"{path}: ") else []
            files.setdefault(note.removeprefix(f"{path}: "), []).extend(about)
    return [f"{some(paths)}: {text}" if paths else text for text, paths in files.items()]


class JudgingRoom:
    """How far judging could raise the mean of each run: of the first measure for which the lists alone tell."""

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        self._measures = measures
        self._name: str | None = None
        self._means: list[float] = []

    def look(self, lists: Lists, runs: int) -> None:
        for name, measure in self._measures.items():
            if self._name in (None, name) and (room := measure.form.room(lists)) is not None:
                self._name = name
                self._means += [mean(row) for row in room.reshape(runs, -1).tolist()]
                return

    def found(self) -> tuple[str | None, list[float]]:
        return self._name, self._means


class SwappedFiles:
    """Whether judgments and runs seem to be exchanged: grades that are no whole numbers, and scores that all are.

    Formats with a field of their own for a grade or a score tell; JSON and dictionaries do not.
    """

    LARGEST = 10  # that grades usually are

    def __init__(self, grade: Floats) -> None:
        fractional = grade[grade != np.rint(grade)]
        self._grade = float(fractional[0]) if len(fractional) and 2 * len(fractional) >= len(grade) else None
        self._low, self._high = np.inf, -np.inf
        self._whole = True

    @property
    def looking(self) -> bool:
        """Whether the scores matter: if not, the grades are as grades are."""
        return self._grade is not None and self._whole

    def look(self, batch: Sequence[Retrieved]) -> None:
        if not self.looking:
            return
        for run in batch:
            self._whole = self._whole and bool((run.score == np.rint(run.score)).all())
            self._low = min(self._low, float(run.score.min(initial=np.inf)))
            self._high = max(self._high, float(run.score.max(initial=-np.inf)))

    def notes(self) -> Iterator[str]:
        if self._grade is not None and self._whole and -self.LARGEST <= self._low < self._high <= self.LARGEST:
            yield (
                f"the judgments look like scores (grade {self._grade:g}) and the scores like grades (whole numbers "
                f"from {self._low:g} to {self._high:g}): judgments come first, then runs"
            )


def as_judgments(judgments: JudgmentsLike, kind: str = "grades", columns: ColumnNames | None = None) -> Judgments:
    """Judgments from whatever a user may have; kind: of what sort they are where a file or a mapping cannot tell."""
    return _as_judgments(judgments, kind, columns)


def _as_judgments(judgments: Any, kind: str, columns: ColumnNames | None) -> Judgments:
    judgments = taken(judgments)
    if isinstance(judgments, Judgments):
        return judgments
    if isinstance(judgments, Mapping):
        if _three_deep(judgments):
            return _of_three(judgments, kind)
        return Judgments.from_dict(plain_nested(judgments) if judgments else judgments)
    if isinstance(judgments, str | os.PathLike):
        return read_judgments(judgments, format=None if kind == "grades" else kind, columns=columns)
    if is_frame(judgments) or holds_records(judgments):
        return read_judgments(judgments, columns=columns)
    raise CalipersError(
        f"judgments cannot be of type {type(judgments).__name__}; expected Judgments, a path, a frame, named tuples, "
        "or {query: {document: grade}}; arrays go through Judgments.from_arrays"
    )


def _of_three(judgments: Mapping[Any, Any], kind: str) -> Judgments:
    """{query: {judge or subtopic: {document: grade}}}, as judgments of a kind."""
    if kind == "preferences":
        from calipers.collection.preferences import Preferences

        return Preferences.from_levels(judgments)
    if kind == "judges":
        from calipers.collection.several_judges import SeveralJudges

        return SeveralJudges.from_judges(judgments)
    if kind == "samples":
        from calipers.collection.samples import SampledJudgments

        return SampledJudgments.from_strata(judgments)
    from calipers.collection.subtopics import SubtopicJudgments

    return SubtopicJudgments.from_subtopics(judgments)


def _three_deep(judgments: Mapping[Any, Any]) -> bool:
    """Whether they are {query: {subtopic: {document: grade}}}, by the first that there is."""
    inner = (value for graded in judgments.values() if isinstance(graded, Mapping) for value in graded.values())
    return isinstance(next(inner, None), Mapping)


def reads_subtopics(measures: Iterable[Measure]) -> bool:
    """Whether some measures read judgments by subtopic: all of them, or none."""
    return kind_read(measures) == "subtopics"


NEEDS = {
    "grades": "one grade per document",
    "subtopics": "judgments by subtopic",
    "preferences": "preferences",
    "judges": "judgments of several judges",
    "samples": "judgments of a sample",
}


def kind_read(measures: Iterable[Measure]) -> str:
    """What kind of judgments some measures read, which is one for all of them."""
    reads = {measure.reads: measure for measure in measures}
    if len(reads) > 1:
        one, other = sorted(reads, key=[*NEEDS].index, reverse=True)[:2]
        raise CalipersError(
            f"{reads[one]!r} needs {NEEDS[one]} and {reads[other]!r} {NEEDS[other]}: "
            "ask for them apart, each with its own judgments"
        )
    return next(iter(reads), "grades")


def as_runs(runs: RunsLike, *, columns: ColumnNames | None = None) -> list[Run]:
    """A list of runs from whatever a user may have."""
    return _as_runs(runs, columns)


def _as_runs(runs: Any, columns: ColumnNames | None) -> list[Run]:
    runs = taken(runs)
    if isinstance(runs, str | os.PathLike) or is_frame(runs) or holds_records(runs):
        return read_runs(runs, columns=columns)
    if isinstance(runs, Mapping):
        if not runs:
            raise CalipersError("the run is empty")
        inner = next(iter(runs.values()))
        if isinstance(inner, Mapping) and not any(isinstance(value, Mapping) for value in inner.values()):
            return [DictRun(plain_nested(runs))]
        return [_named(str(name), run, columns) for name, run in runs.items()]
    if isinstance(runs, np.ndarray):
        return [ArrayRun(runs)]
    if hasattr(runs, "retrieved"):
        return [runs]
    if not isinstance(runs, Iterable):
        raise CalipersError(
            f"runs cannot be of type {type(runs).__name__}; expected what read_runs gives, paths, frames, "
            "{query: {document: score}}, {name: run}, or an array of one score per label"
        )
    found: list[Run] = []
    for run in runs:
        found.extend(_as_runs(run, columns))
    if not found:
        raise CalipersError("there is no run to evaluate")
    return found


def _named(name: str, run: Any, columns: ColumnNames | None) -> Run:
    run = taken(run)
    if isinstance(run, Mapping):
        return DictRun(plain_nested(run) if run else run, name)
    if isinstance(run, str | os.PathLike) or is_frame(run) or holds_records(run):
        return read_run(run, name=name, columns=columns)
    return ArrayRun(run, name)


def in_batches(
    systems: Sequence[Run],
    judgments: Judgments,
    depth: int = 0,
    precision: Precision = "double",
    jobs: int | None = None,
) -> Iterator[list[Retrieved]]:
    """What each system retrieved, as many systems at a time as are scored in one go."""
    return _batches(_retrieved(systems, judgments, depth, precision, jobs))


def _retrieved(
    systems: Sequence[Run], judgments: Judgments, depth: int, precision: Precision, jobs: int | None
) -> Iterator[Retrieved]:
    """What each system retrieved, read side by side: over files, or over the parts of one."""
    workers = jobs or os.cpu_count() or 1
    if len(systems) == 1 or workers == 1:
        for system in systems:
            yield system.retrieved(judgments, depth, precision, workers)
        return
    judgments.index if any(hasattr(system, "path") for system in systems) and judgments.names else None  # built once
    yield from in_order(lambda system: system.retrieved(judgments, depth, precision), systems, workers)


def _batches(retrieved: Iterable[Retrieved]) -> Iterator[list[Retrieved]]:
    """Runs whose lists fit into one block."""
    batch: list[Retrieved] = []
    rows = 0
    for run in retrieved:
        if batch and rows + len(run.document) > ROWS_AT_ONCE:
            yield batch
            batch, rows = [], 0
        batch.append(run)
        rows += len(run.document)
    if batch:
        yield batch


def compared_in(rules: Convention, precision: Precision | None) -> Precision:
    """The precision in which scores are compared: as is given, or as a convention has it."""
    return (rules if precision is None else rules.with_(precision=precision)).precision


def check_depth(depth: int | None) -> None:
    if depth is not None and depth < 1:
        raise CalipersError(f"depth {depth} is not a whole number of at least 1")


class Counting(Record):
    """How lists become scores: the tie rule, and what counts where a measure is undefined."""

    ties: str
    condensed: bool
    empty: Policy | None
    missing: Policy
    degenerate: Policy | None
    empty_plain: Policy

    @classmethod
    def under(
        cls,
        rules: Convention,
        ties: str | None,
        condensed: bool,
        empty: Policy | None,
        missing: Policy | None,
        degenerate: Policy | None,
    ) -> Counting:
        """What is given, and what a convention says of the rest."""
        ties = rules.ties if ties is None else ties
        if ties not in TIE_RULES:
            raise CalipersError(f"unknown tie rule '{ties}'; expected one of {', '.join(TIE_RULES)}")
        missing = as_policy(rules.missing) if missing is None else missing
        return cls(ties, condensed, empty, missing, degenerate, as_policy(rules.empty))

    def scores(
        self,
        pool: Pool,
        batch: Sequence[Retrieved],
        measures: Iterable[Measure],
        coverage: Coverage,
        part: slice,
        room: JudgingRoom | None = None,
    ) -> tuple[Floats, Any]:
        """The scores of some runs, [measure, run, query], and their reasons; `part` of the coverage is filled in."""
        lists = Lists.of(pool, batch)
        shape = (len(batch), pool.queries)
        describe(coverage, part, batch, lists)
        if self.condensed:
            lists = lists.condensed()
        ranked = lists.under(self.ties)
        if room is not None:
            room.look(ranked, len(batch))
        pairs = [
            scored(measure, ranked, self.empty, self.missing, self.degenerate, self.empty_plain) for measure in measures
        ]
        values = np.array([score for score, _ in pairs]).reshape(-1, *shape)
        reasons = np.array([reason for _, reason in pairs]).reshape(-1, *shape)
        for place, error in sampling_errors(measures, ranked).items():
            coverage.sampled[place] = max(error, coverage.sampled.get(place, 0.0))
        if self.missing == "skip":
            lacking = coverage.missing[part]
            values[:, lacking] = np.nan
            reasons[:, lacking] = Reason.MISSING
        return values, reasons


def describe(coverage: Coverage, part: slice, batch: Sequence[Retrieved], lists: Lists) -> None:
    """Fill in what the lists of some runs were like."""
    shape = coverage.length[part].shape
    coverage.length[part] = lists.length.reshape(shape)
    top = lists.top(DESCRIBED)
    shown = np.clip(DESCRIBED + 1 - top.first, 0, top.last - top.first + 1) / (top.last - top.first + 1)
    coverage.judged_at_10[part] = np.rint(top.sum(shown)).reshape(shape)
    for row, run in zip(range(part.start, part.stop), batch, strict=True):
        coverage.tied[row, run.query] = run.tied
        coverage.unjudged_queries[row] = run.unjudged_queries


def scored(
    measure: Measure,
    lists: Lists,
    empty: Policy | None,
    missing: Policy,
    degenerate: Policy | None,
    empty_plain: Policy = 0.0,
) -> tuple[Floats, Any]:
    """The score of each list with the policies applied, and the reason where the measure gave none of its own.

    empty_plain: what `empty` is, where it is not given, for measures that are not normalised.
    """
    form = measure.form
    score = form.score(lists)
    reason = np.zeros(len(lists), np.uint8)
    normalised = form.normalised
    undefined = np.isnan(score)
    if undefined.any():
        always = form.hopeless(lists)
        reason[undefined] = np.where(always, Reason.NO_RELEVANT, Reason.NOTHING_FOUND)[undefined]
        here = reason == Reason.NOTHING_FOUND
        if here.any() and _is_number(missing):
            score[here] = form.counted_as(missing, lists)[here]
        if empty is None and not normalised:
            empty = empty_plain
        if empty is not None and _is_number(empty):
            score[reason == Reason.NO_RELEVANT] = empty
    if normalised:
        flat = form.degenerate(lists)
        reason[flat] = Reason.DEGENERATE
        if degenerate is not None:
            score[flat] = degenerate if _is_number(degenerate) else np.nan
    return score, reason


def as_policy(policy: float | str) -> Policy:
    """A convention's choice."""
    return policy if isinstance(policy, int | float) else "skip"


def _is_number(policy: Policy) -> TypeGuard[float]:
    if isinstance(policy, int | float):
        return True
    if policy in ("skip", "error"):
        return False
    raise CalipersError(f"unknown policy '{policy}'; expected a number, skip or error")


def refuse(reasons: Any, measures: Mapping[str, Measure], judgments: Judgments, counting: Counting) -> None:
    """Stop where a policy says so, and where a normalisation has hardly any query to work on."""
    refuse_undefined(reasons, list(measures), judgments.queries, counting)
    for name, measure, of_measure in zip(measures, measures.values(), reasons, strict=True):
        if measure.form.normalised:
            flat = int((of_measure == Reason.DEGENERATE).any(axis=0).sum())
            refuse_flat(name, measure, flat, len(judgments.queries), int(judgments.pool.size.max(initial=1)))


def refuse_infinite(values: Floats, measures: Sequence[str], queries: Sequence[str]) -> None:
    """Stop at a score that no number holds."""
    if np.isinf(values).any():
        m, _, q = np.argwhere(np.isinf(values))[0]
        raise CalipersError(f"{measures[m]} is not finite for query '{queries[q]}'")


def refuse_undefined(reasons: Any, measures: Sequence[str], queries: Sequence[str], counting: Counting) -> None:
    """Stop at an undefined score where the policy is `error`."""
    for policy, reason in (
        (counting.empty, Reason.NO_RELEVANT),
        (counting.missing, Reason.NOTHING_FOUND),
        (counting.degenerate, Reason.DEGENERATE),
    ):
        if policy == "error" and (reasons == reason).any():
            m, _, q = np.argwhere(reasons == reason)[0]
            raise CalipersError(f"{measures[m]} is undefined for query '{queries[q]}': {reason}")


def refuse_flat(name: str, measure: Measure, flat: int, queries: int, largest_pool: int) -> None:
    """Stop where a normalised measure has nothing between random and ideal for most queries."""
    if 2 * flat > queries:
        population = measure.parameters["population"]
        raise CheckFailed(
            f"{name}: for {flat} of {counted(queries, 'query')} every ranking of the population '{population}' scores "
            "the same, "
            "so that nothing lies between random and ideal; populations that would work: "
            f"{_working_populations(largest_pool, population)}"
        )


def _working_populations(largest_pool: int, population: str) -> str:
    """Populations other than this that may have documents of different worth for most queries."""
    others = {
        "union": "union (the pool and the unjudged documents above judged ones)",
        "retrieved": "retrieved (a re-ranking of each run's own documents)",
        "collection": f"collection(N) with the size N, as collection({2 * largest_pool + 1000})",
    }
    return ", ".join(sentence for name, sentence in others.items() if name != population)
