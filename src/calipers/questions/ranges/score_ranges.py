"""Ranges of scores over all possible grades of unjudged documents.

A system's range varies the grades of the unjudged documents of its own list, and of `unseen` documents that nobody
retrieved. Queries are independent of each other, so the range of a mean is the mean of the ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.collection.document_facts import with_costs
from calipers.collection.mismatch import notes_on_matching
from calipers.errors import CalipersError, chosen_measure, place_of, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import depending_on_costs, kind_read, notes_on_reading
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import describe
from calipers.lists import Floats, Ints
from calipers.measures.exactness import drawn_orders, exactness_notes
from calipers.measures.registry import Measure
from calipers.questions.ranges.open_lists import (
    OpenLists,
    OpenScores,
    bound_to,
    possible_grades,
    range_of,
    read_open_lists,
)
from calipers.results.messages import notes_about, notes_on_lacking, seen_in
from calipers.results.result import Result, Tables
from calipers.results.scores import AVERAGES, Coverage, Scores
from calipers.results.tables import Cell, Table, as_number
from calipers.support.checks import check_whole
from calipers.support.choices import ComparisonTest, Correction
from calipers.support.plurals import counted, shape, verb

if TYPE_CHECKING:
    from calipers.questions.ranges.pair_ranges import PairRanges

ENDS = ("low", "high")
TIES = ("average", "docid", "docid-ascending", "input")  # whose order inside ties does not depend on the grades


@dataclass(frozen=True, eq=False, repr=False)
class Ranges(Result):
    """The ranges of scores. `low`, `score` and `high` have an array of system x query for each measure.

    >>> import calipers as cal
    >>> run = {"q": {"x": 3, "a": 2, "b": 1}}
    >>> found = cal.Experiment({"q": {"a": 1, "b": 0}}, run, "RR nDCG@2", warn=False).ranges()
    >>> print(found.mean())
    system  measure     low   score    high
    ------  -------  ------  ------  ------
    run     RR       0.5000  0.5000  1.0000
    run     nDCG@2   0.6309  0.6309  1.0000
    <BLANKLINE>
    >>> found.certificate("nDCG@2", "run", "high")
    {'q': {'x': 1.0}}
    """

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    low: dict[str, Floats]
    score: dict[str, Floats]
    high: dict[str, Floats]
    exactness: dict[str, str]  # exact or enumerated, and what is not exact of the scores (sampled, sorted, ...)
    unknown: Ints  # [system, query]: unjudged documents of each list
    grades: Floats  # what an unjudged document may turn out to be
    unseen: int
    open_scores: dict[str, OpenScores]
    options: ScoringOptions
    reading_notes: tuple[str, ...] = ()  # what to know of the runs, in the words of `evaluate`

    @cached_property
    def definitions(self) -> tuple[Measure, ...]:
        """The measures, bound to the judgments."""
        return tuple(each.measure for each in self.open_scores.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the runs, and about ranges whose ends are not exact (for example, sampled)."""
        return (*self.reading_notes, *self.inexact_ends)

    @property
    def inexact_ends(self) -> tuple[str, ...]:
        """Sentences about the ranges whose ends are not exact."""
        return tuple(exactness_notes({f"range of {name}": how for name, how in self.exactness.items()}))

    # -- over queries ------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The subject of the result, with numbers of measures, systems and queries."""
        size = shape(measure=len(self.measures), system=len(self.systems), query=len(self.queries))
        return f"Ranges of scores: {size}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        first = next(iter(self.mean()))
        low, high = as_number(first["low"]), as_number(first["high"])
        unseen = f", and {self.unseen} unseen per query" if self.unseen else ""
        return (
            f"{first['measure']} of {first['system']} lies between {low:.4f} and {high:.4f} for all possible "
            f"missing judgments. {counted(int(self.unknown.sum()), 'unjudged document')} in "
            f"{counted(self.unknown.size, 'list')}{unseen}; grades 0 to {self.grades[-1]:g} are possible."
        )

    def plot(self, measure: str | None = None) -> Any:
        """Draw the range of each mean. See `calipers.plot.score_ranges`."""
        from calipers.plot import score_ranges

        return score_ranges(self, measure)

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"means": self.mean, "queries": self.per_query})

    def mean(self) -> Table:
        """Return means over queries: one row per system and measure, with system, measure, low, score, high.

        Counts are added up instead, and the mean of gm_map and gm_bpref is the geometric one, as in `evaluate`.
        """
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (system, name, *(float(average(ends[s])) for ends in self._ends(name)))
            for s, system in enumerate(self.systems)
            for name, average in zip(self.measures, self._averages, strict=True)
        )
        return Table(("system", "measure", "low", "score", "high"), rows, self.metadata)

    def per_query(self) -> Table:
        """Return one row per system, query and measure: system, query, measure, low, score, high."""
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (system, query, name, *(float(ends[s, q]) for ends in self._ends(name)))
            for s, system in enumerate(self.systems)
            for q, query in enumerate(self.queries)
            for name in self.measures
        )
        return Table(("system", "query", "measure", "low", "score", "high"), rows, self.metadata)

    def _ends(self, measure: str) -> tuple[Floats, Floats, Floats]:
        return self.low[measure], self.score[measure], self.high[measure]

    @cached_property
    def _averages(self) -> list[Callable[[Floats], Any]]:
        return [AVERAGES[measure.declaration.average] for measure in self.definitions]

    @cached_property
    def metadata(self) -> dict[str, Any]:
        return {
            "unseen": self.unseen,
            "max_grade": float(self.grades[-1]),
            "ties": self.options.ties,
            "empty": self.options.empty,
            "exactness": dict(self.exactness),
        }

    # -- pairs -------------------------------------------------------------------------------------

    def pairs(self, measure: str | None = None) -> Table:
        """Return one row per pair of systems: system_a, system_b, difference, low, high, verdict, exactness.

        difference, low and high are of the mean score of system_a minus that of system_b, and their range varies the
        unjudged documents of both lists. `decided`: the range excludes 0; `open`: it does not. An `outer` range is
        valid but not tight.
        """
        return self.pair_ranges(measure).table()

    def pair_ranges(self, measure: str | None = None, progress: Callable[[int], None] | None = None) -> PairRanges:
        """Return the ranges of the differences of all pairs as arrays, pair x query."""
        from calipers.questions.ranges.pair_ranges import pair_ranges

        name = self.measures[0 if measure is None else chosen_measure(measure, self.measures)]
        if name not in self._pairs:
            self._pairs[name] = pair_ranges(self.open_scores[name], progress)
        return self._pairs[name]

    @cached_property
    def _pairs(self) -> dict[str, PairRanges]:
        return {}

    def significant(
        self,
        measure: str | None = None,
        test: ComparisonTest = "t",
        correction: Correction = "holm",
        alpha: float = 0.05,
    ) -> tuple[int, int]:
        """Return the number of significant pairs with unjudged documents as 0, and the number of open ones among them.

        The order of an open pair could still turn.
        """
        from calipers.questions.ranges.pair_ranges import could_turn

        pairs = self.pair_ranges(measure)
        return could_turn(pairs, self.scores().of_measures([pairs.measure]), test, correction, alpha)

    def scores(self) -> Scores:
        """Return the scores with unjudged documents counting 0."""
        values = np.stack([self.score[name] for name in self.measures])
        return Scores(
            self.measures, self.systems, self.queries, values, np.zeros(values.shape, np.uint8), self.definitions
        )

    # -- gradings that attain an end -----------------------------------------------------------------

    def certificate(self, measure: str, system: str, end: str = "high") -> dict[str, dict[str, float]]:
        """Return a grading of a system's unjudged documents under which its score is an end of its range.

        As {query: {document: grade}}, without what is judged already. Documents that nobody retrieved are called
        unseen-1, unseen-2, ... Scoring with the judgments and this grading gives that end to the last digit.
        """
        name = self.measures[chosen_measure(measure, self.measures)]
        if end not in ENDS:
            raise CalipersError(f"end '{end}' is neither low nor high")
        s, queries = place_of("system", system, self.systems), len(self.queries)
        definition, lists = self.open_scores[name].measure, self.open_scores[name].lists
        part = lists.unknown(self.grades, self.unseen).part(s * queries, (s + 1) * queries)
        found_range = range_of(definition, part, self.options)
        grade = found_range.lower if end == "low" else found_range.upper
        start = int(lists.ranks.offsets[s * queries])
        names = iter(lists.names(start + np.arange(int(part.seen.sum()))))
        taken = {*lists.judgments.document_names} if self.unseen else set()
        found: dict[str, dict[str, float]] = {}
        for q, query in enumerate(self.queries):
            rows = slice(int(part.offsets[q]), int(part.offsets[q + 1]))
            seen, given = part.seen[rows].tolist(), grade[rows].tolist()
            graded = {next(names): given[i] for i, shown in enumerate(seen) if shown}
            fresh = (name for name in _unseen_names() if name not in taken and name not in graded)
            graded |= {next(fresh): given[i] for i, shown in enumerate(seen) if not shown}
            if graded:
                found[query] = graded
        return found


def _unseen_names() -> Iterable[str]:
    number = 0
    while True:
        number += 1
        yield f"unseen-{number}"


def ranges(
    evaluation: Evaluation,
    *,
    unseen: int = 0,
    max_grade: float | None = None,
) -> Ranges:
    """Return the smallest and the largest score of each system, over all possible grades of unjudged documents.

    unseen: the number of documents per query that nobody retrieved, and that may be relevant, too.
    max_grade: the largest grade that an unjudged document may get. The default is the largest grade in the judgments.

    Of the options of the experiment, `ties` must be `average`, `docid`, `docid-ascending` or `input`, and `empty` must
    be a number: if undefined queries were skipped, the range of a mean would not be the mean of the ranges.

    Ranges are exact for weighted sums (P, DCG, RBP, ...), RR, ERR, Success, HIT, nDCG, AP, Recall and F. For other
    measures, all gradings of a list are tried if there are at most 20,000; longer lists are refused, or if the measure
    is a normalised one among others, such as V2(nDCG@10), it is left out and a note says so. A range is over
    gradings of all unjudged documents. The score of a measure that ignores unjudged documents, such as bpref, may
    therefore lie outside its range.

    >>> import calipers as cal
    >>> found = cal.Experiment({"q": {"a": 1}}, {"q": {"x": 2, "a": 1}}, "AP", warn=False).ranges()
    >>> found.low["AP"], found.score["AP"], found.high["AP"]
    (array([[0.5]]), array([[0.5]]), array([[1.]]))
    """
    return _ranges(evaluation, unseen, max_grade, None)


def ranges_where_known(evaluation: Evaluation) -> tuple[Ranges, dict[str, str]]:
    """Return the ranges of the measures that have ranges, and for each other measure the reason why it has none."""
    refused: dict[str, str] = {}
    return _ranges(evaluation, 0, None, refused), refused


def _ranges(
    evaluation: Evaluation,
    unseen: int,
    max_grade: float | None,
    refused: dict[str, str] | None,
) -> Ranges:
    """Return the ranges. refused: gets the measures without ranges; if it is None, they are errors."""
    options = _options(evaluation.options)
    if kind_read(evaluation.measures.values()) != "grades":
        raise CalipersError("ranges need one grade per document: measures of diversity have none")
    check_whole("unseen", unseen, 0)
    known, costs = evaluation.known, evaluation.costs
    grades = possible_grades(known, max_grade)
    if not evaluation.runs:
        raise CalipersError("ranges need at least one run")
    systems = [*options.like.runs(evaluation.runs)]
    if costs is not None:
        depending_on_costs(evaluation.measures)
        known = with_costs(known, costs)
    opened, retrieved = read_open_lists(known, systems, options, evaluation.jobs, evaluation.progress)
    if costs is not None:
        opened = opened.with_costs(costs)
    coverage = Coverage.blank(*opened.shape)
    describe(coverage, slice(0, len(systems)), retrieved, opened.lists)
    lacking = () if costs is None else opened.notes_on(costs)
    seen = seen_in(coverage, systems)
    notes = (
        *notes_on_lacking(seen, len(known.queries)),
        *notes_on_reading(known, systems),
        *notes_on_matching(known, dict(zip(opened.systems, systems, strict=True)), retrieved),
        *lacking,
    )
    found = _of_lists(opened, evaluation.measures, grades, unseen, options, refused)
    sampled = [name for name, how in found.exactness.items() if "sampled" in how]
    drawn = drawn_orders(dict(zip(found.measures, found.definitions, strict=True)), sampled)
    on_runs = notes_about(seen, options.ties, drawn=drawn)
    found = replace(found, reading_notes=(*notes, *on_runs, *found.reading_notes))
    warn_user(found.reading_notes, evaluation.warn)
    return found


def _of_lists(
    opened: OpenLists,
    named: Mapping[str, Measure],
    grades: Floats,
    unseen: int,
    options: ScoringOptions,
    refused: dict[str, str] | None,
) -> Ranges:
    found: dict[str, OpenScores] = {}
    left_out: dict[str, list[str]] = {}  # names by the reason
    for name, measure in named.items():
        try:
            bound = bound_to(measure, opened.judgments.pool, float(grades[-1]))
            each = OpenScores(name, bound, opened, grades, unseen, options)
            each.range  # noqa: B018  refuses what has none
            found[name] = each
        except CalipersError as error:
            if refused is None and not (measure.form.traits.is_normalised and len(named) > 1):
                raise CalipersError(f"{name}: {error.message}", parameter=error.parameter) from None
            if refused is None:
                left_out.setdefault(error.message, []).append(name)
            else:
                refused[name] = error.message
    if not found:
        whys = (*left_out, *(refused or {}).values(), "none is named")
        raise CalipersError(f"no measure has ranges: {whys[0]}")
    lacking = [
        f"{', '.join(of)} {verb(len(of), 'is left out', 'are left out, each for this reason')}: {why}"
        for why, of in left_out.items()
    ]
    return Ranges(
        measures=tuple(found),
        systems=opened.systems,
        queries=opened.judgments.queries,
        low={name: each.range[0] for name, each in found.items()},
        score={name: each.score for name, each in found.items()},
        high={name: each.range[1] for name, each in found.items()},
        exactness={name: each.exactness for name, each in found.items()},
        unknown=opened.count,
        grades=grades,
        unseen=unseen,
        reading_notes=tuple(lacking),
        open_scores=found,
        options=options,
    )


def _options(given: ScoringOptions) -> ScoringOptions:
    """Return the scoring options of an experiment. Refuse options for which no ranges are known."""
    if given.ties in ("best", "worst"):
        raise CalipersError(
            f"ties={given.ties} has no ranges: the order inside ties would depend on the grades; "
            "use average, docid or input"
        )
    if given.condensed:
        raise CalipersError(
            "lists are condensed: once judged, a document would come back into them, for which no ranges are known"
        )
    if isinstance(given.empty_plain, str):
        raise CalipersError(
            f"empty={given.empty_plain} has no ranges: if undefined queries were left out, the range of a mean would "
            "not be the mean of the ranges; give a number"
        )
    by_convention = given.missing_counts == given.like.missing
    if isinstance(given.missing, str) and not by_convention:
        raise CalipersError(
            f"missing={given.missing} has no ranges: if missing queries were left out, the range of a mean would not "
            "be the mean of the ranges; give a number"
        )
    return ScoringOptions(
        like=given.like,
        ties=given.ties,
        relevant=given.relevant,
        depth=given.depth,
        empty=given.empty_plain,
        missing=0.0 if given.missing == "skip" else given.missing,
        degenerate=given.degenerate,
        precision=given.precision,
    )
