"""Between which values a score lies, whatever the missing judgments say.

A system's range varies the grades of the unjudged documents of its own list, and of `unseen` documents that nobody
retrieved. Queries are independent of each other, so the range of a mean is the mean of the ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.collection.document_facts import Costs, DocumentFacts, GroupsLike
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.conventions import Convention, convention
from calipers.errors import CalipersError, chosen_measure, place_of, warn_user
from calipers.inputs import as_judgments, as_runs, depending_on, kind_read, notes_on_reading
from calipers.limits.exactness import inexact_measures, sampling_errors
from calipers.lists import TIE_RULES, UNJUDGED, Floats, Ints, Lists, Pool
from calipers.measures.forms import Form
from calipers.measures.forms.gradings import NoRange, Unknown, enumerated, number_of_gradings
from calipers.measures.grammar import DEFAULT_MEASURES, parse_all
from calipers.measures.registry import Measure
from calipers.plurals import shape
from calipers.results.notes import notes_about, seen_in
from calipers.results.scores import AVERAGES, Coverage, Scores
from calipers.results.tables import Cell, Table
from calipers.scoring import check_depth, describe, scored
from calipers.unjudged.open_lists import OpenLists, possible_grades

if TYPE_CHECKING:
    from calipers.unjudged.pair_ranges import PairRanges

ENDS = ("low", "high")
TIES = ("average", "docid", "docid-ascending", "input")  # whose order inside ties does not depend on the grades
MOST_GRADINGS = 20_000  # of a list that are tried where there is no closed form
ROWS_AT_ONCE = 2_000_000  # documents whose lists are worked on in one go


@dataclass(frozen=True, eq=False)
class Ranges:
    """The ranges of scores. `low`, `score` and `high` have an array of system x query for each measure.

    >>> import calipers as cal
    >>> found = cal.ranges({"q": {"a": 1, "b": 0}}, {"q": {"x": 3, "a": 2, "b": 1}}, ["RR", "nDCG@2"])
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
    exactness: dict[str, str]  # exact, enumerated (and what is not exact), outer, or point: ignores unjudged documents
    unknown: Ints  # [system, query]: unjudged documents of each list
    grades: Floats  # what an unjudged document may turn out to be
    unseen: int
    notes: tuple[str, ...]  # what to know of the runs, in the words of `evaluate`
    definitions: tuple[Measure, ...] = field(repr=False)
    lists: OpenLists = field(repr=False)
    policy: Policy = field(repr=False)

    # -- over queries ------------------------------------------------------------------------------

    def mean(self) -> Table:
        """The mean of each system: one row per system and measure, with the columns system, measure, low, score, high.

        Counts are added up instead, and the mean of gm_map and gm_bpref is the geometric one, as in `evaluate`.
        """
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (system, name, *(float(average(ends[s])) for ends in self._ends(name)))
            for s, system in enumerate(self.systems)
            for name, average in zip(self.measures, self._averages, strict=True)
        )
        return Table(("system", "measure", "low", "score", "high"), rows, self.metadata)

    def per_query(self) -> Table:
        """One row per system, query and measure, with the columns system, query, measure, low, score, high."""
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
            "ties": self.policy.ties,
            "empty": self.policy.empty,
            "exactness": dict(self.exactness),
        }

    # -- pairs -------------------------------------------------------------------------------------

    def pairs(self, measure: str | None = None) -> Table:
        """Who cannot be overtaken any more: one row per pair of systems, with the columns system_a, system_b,
        difference, low, high, verdict and exactness.

        difference, low and high are of the mean score of system_a minus that of system_b, and their range varies the
        unjudged documents of both lists. `decided`: the range excludes 0; `open`: it does not. An `outer` range is
        valid but not tight.
        """
        return self.pair_ranges(measure).table()

    def pair_ranges(self, measure: str | None = None, progress: Callable[[int], None] | None = None) -> PairRanges:
        """The same as arrays, query by query."""
        from calipers.unjudged.pair_ranges import pair_ranges

        name = self.measures[0 if measure is None else chosen_measure(measure, self.measures)]
        if name not in self._pairs:
            self._pairs[name] = pair_ranges(self, name, progress)
        return self._pairs[name]

    @cached_property
    def _pairs(self) -> dict[str, PairRanges]:
        return {}

    def significant(
        self, measure: str | None = None, test: str = "t", correction: str = "holm", alpha: float = 0.05
    ) -> tuple[int, int]:
        """How many pairs differ significantly with unjudged documents counting 0, and how many of these could still
        turn because they are open.
        """
        from calipers.unjudged.pair_ranges import could_turn

        pairs = self.pair_ranges(measure)
        return could_turn(pairs, self.scores().of_measures([pairs.measure]), test, correction, alpha)

    def scores(self) -> Scores:
        """The scores with unjudged documents counting 0."""
        values = np.stack([self.score[name] for name in self.measures])
        return Scores(
            self.measures, self.systems, self.queries, values, np.zeros(values.shape, np.uint8), self.definitions
        )

    # -- gradings that attain an end -----------------------------------------------------------------

    def certificate(self, measure: str, system: str, end: str = "high") -> dict[str, dict[str, float]]:
        """A grading of a system's unjudged documents under which its score is the low or the high end of its range.

        As {query: {document: grade}}, without what is judged already. Documents that nobody retrieved are called
        unseen-1, unseen-2, ... Scoring with it, beside the judgments, gives that end to the last digit.
        """
        name = self.measures[chosen_measure(measure, self.measures)]
        if end not in ENDS:
            raise CalipersError(f"end '{end}' is neither low nor high")
        s, queries = place_of("system", system, self.systems), len(self.queries)
        whole = self.lists.unknown(self.grades, self.unseen, self.policy.ties)
        part = whole.part(s * queries, (s + 1) * queries)
        definition = self.definitions[self.measures.index(name)]
        _, _, lower, upper, _ = range_of(definition, part, self.policy)
        grade = lower if end == "low" else upper
        if np.isnan(grade).any():
            raise CalipersError(f"the range of {name} is an outer one: no grading is known that attains its ends")
        start = int(self.lists.offsets[s * queries])
        names = iter(self.lists.names(start + np.arange(int(part.seen.sum()))))
        taken = {*self.lists.judgments.document_names} if self.unseen else set()
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

    def __repr__(self) -> str:
        size = shape(measure=len(self.measures), system=len(self.systems), query=len(self.queries))
        return f"<Ranges: {size}>\n{self.mean()}"

    def _repr_html_(self) -> str:
        return self.mean()._repr_html_()


def _unseen_names() -> Iterable[str]:
    number = 0
    while True:
        number += 1
        yield f"unseen-{number}"


@dataclass(frozen=True)
class Policy:
    """How lists are read and what undefined scores count."""

    ties: str
    empty: float
    missing: float

    def scores(self, measure: Measure, lists: Lists) -> Floats:
        return scored(measure, lists, self.empty, self.missing, None)[0]


def ranges(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    unseen: int = 0,
    max_grade: float | None = None,
    like: str | Convention | None = None,
    ties: str | None = None,
    depth: int | None = None,
    empty: float | str | None = None,
    costs: Costs | None = None,
    document_groups: GroupsLike | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    refused: dict[str, str] | None = None,
    warn: bool = True,
) -> Ranges:
    """Between which values scores lie, whatever the missing judgments say.

    judgments, runs, measures, like and depth: as for `evaluate`.
    unseen: relevant documents may also be among so many that nobody retrieved.
    max_grade: the largest grade that an unjudged document may get; without it the largest of the judgments.
    ties: `average`, `docid` or `input`.
    empty: what a grading counts that leaves a measure undefined (no relevant document), 0 by default. It must be a
        number: were such queries skipped, the range of a mean would not be the mean of ranges.
    costs, document_groups: what documents cost to read, and the groups that they belong to, as in `evaluate`.
    refused: gets the measures that have no ranges, with the reason; without it they are errors.
    warn: as for `evaluate`: give the notes as one CalipersWarning.

    Exact for every measure that is linear, a cascade, a share of its ideal or of the number of relevant documents, or
    a function of the retrieved set; for readers (INST, BPM, IFT, EU, ED ...) of lists without ties. Measures that leave
    unjudged documents out by definition (bpref, infAP, judged_only) have a range of one point. For others all gradings
    are tried where a list has at most 20,000. Else the range is `outer`, which no score leaves but which need not be
    attained, for readers of lists with ties and graded measures of NTCIR, and what is left is refused.

    >>> found = ranges({"q": {"a": 1}}, {"q": {"x": 2, "a": 1}}, ["AP"])
    >>> found.low["AP"], found.score["AP"], found.high["AP"]
    (array([[0.5]]), array([[0.5]]), array([[1.]]))
    """
    rules = convention(like)
    named = parse_all(measures, rules.defaults)
    if kind_read(measure for _, measure in named) != "grades":
        raise CalipersError("ranges need one grade per document: measures of diversity and of preferences have none")
    check_depth(depth)
    if isinstance(unseen, bool) or not isinstance(unseen, int | np.integer) or unseen < 0:
        raise CalipersError(f"unseen={unseen} is not a whole number of at least 0")
    policy = _policy(rules, ties, empty)
    known = rules.judgments(as_judgments(judgments))
    grades = possible_grades(known, max_grade)
    systems = [*rules.runs(as_runs(runs))]
    facts = DocumentFacts.read(costs, document_groups)
    if facts is not None:
        depending_on(facts, dict(named))
        known = facts.added_to(known)
    opened = OpenLists.of(known, systems, depth, jobs, progress)
    if facts is not None:
        opened = opened.with_facts(facts)
    coverage = Coverage.blank(*opened.shape)
    describe(coverage, slice(0, len(systems)), opened.retrieved, opened.lists)
    lacking = () if facts is None else opened.notes_on(facts)
    notes = (*notes_on_reading(known, systems), *lacking, *notes_about(seen_in(coverage, systems), policy.ties))
    warn_user(notes, warn)
    return _of_lists(opened, dict(named), grades, unseen, policy, notes, refused)


def _of_lists(
    opened: OpenLists,
    named: Mapping[str, Measure],
    grades: Floats,
    unseen: int,
    policy: Policy,
    notes: tuple[str, ...],
    refused: dict[str, str] | None,
) -> Ranges:
    blocks: dict[tuple[int, int] | None, Unknown] = {}
    found: dict[str, tuple[Floats, Floats, Floats, str]] = {}
    bound: dict[str, Measure] = {}
    for name, measure in named.items():
        try:
            definition = _bound(measure, opened.judgments.pool, float(grades[-1]))
            within = definition.form.top_unknown
            if within not in blocks:
                blocks[within] = opened.unknown(grades, unseen, policy.ties, within)
            found[name] = _ranges_of(definition, blocks[within], policy, opened.shape)
            bound[name] = definition
        except CalipersError as error:
            if refused is None:
                raise CalipersError(f"{name}: {error.message}") from None
            refused[name] = error.message
    if not bound:
        raise CalipersError("no measure has ranges: " + next(iter((refused or {"": "none is named"}).values())))
    return Ranges(
        measures=tuple(bound),
        systems=opened.systems,
        queries=opened.judgments.queries,
        low={name: each[0] for name, each in found.items()},
        score={name: each[1] for name, each in found.items()},
        high={name: each[2] for name, each in found.items()},
        exactness={name: each[3] for name, each in found.items()},
        unknown=opened.count,
        grades=grades,
        unseen=unseen,
        notes=notes,
        definitions=tuple(bound.values()),
        lists=opened,
        policy=policy,
    )


def _policy(rules: Convention, ties: str | None, empty: float | str | None) -> Policy:
    ties = rules.ties if ties is None else ties
    if ties in ("best", "worst"):
        raise CalipersError(
            f"ties={ties} has no ranges: the order inside ties would depend on the grades; use average, docid or input"
        )
    if ties not in TIE_RULES:
        raise CalipersError(f"unknown tie rule '{ties}'; expected one of {', '.join(TIES)}")
    empty = rules.empty if empty is None else empty
    if isinstance(empty, str):
        raise CalipersError(
            f"empty={empty} has no ranges: were undefined queries left out, the range of a mean would not be the mean "
            "of the ranges; give a number"
        )
    missing = rules.missing
    return Policy(ties, float(empty), float(missing) if isinstance(missing, int | float) else 0.0)


def _bound(measure: Measure, pool: Pool, top: float) -> Measure:
    """The measure on a scale that has room for the grades of the judgments, and of what is unjudged."""
    measure.bind(pool)  # refuses judgments of another kind
    return measure.bind(Pool(np.array([0, 1]), np.array([max(pool.largest_grade, top)])))


def _ranges_of(
    measure: Measure, unknown: Unknown, policy: Policy, shape: tuple[int, int]
) -> tuple[Floats, Floats, Floats, str]:
    """low, score and high of each list, some lists at a time, and how they were found."""
    lists = unknown.lists
    size = lists.pool.size[lists.query] + unknown.count
    low, score, high = (np.empty(len(lists)) for _ in range(3))
    found = ["exact"]
    cuts = [0, *(np.flatnonzero(np.diff(np.cumsum(size) // ROWS_AT_ONCE)) + 1).tolist(), len(lists)]
    for start, stop in pairwise(cuts):
        if start < stop:
            here = slice(start, stop)
            part = unknown if stop - start == len(lists) else unknown.part(start, stop)
            score[here] = _as_judged(measure, part, policy)
            low[here], high[here], _, _, how = range_of(measure, part, policy)
            found.append(how)
    return low.reshape(shape), score.reshape(shape), high.reshape(shape), _least_exact(found)


def _as_judged(measure: Measure, unknown: Unknown, policy: Policy) -> Floats:
    """The score of each list with unjudged documents as they are: worthless, but what they cost is spent, and the
    attention that they get is their group's.
    """
    if not _told_apart(measure.form, unknown):
        return policy.scores(measure, unknown.lists)
    return policy.scores(measure, unknown.graded(unknown.all(UNJUDGED)))


def _least_exact(found: Iterable[str]) -> str:
    """What holds of all that was found in these ways."""
    order = ("exact", "point", "enumerated", "outer")
    return max(found, key=lambda how: order.index(how.partition(",")[0]))


def range_of(measure: Measure, unknown: Unknown, policy: Policy) -> tuple[Floats, Floats, Floats, Floats, str]:
    """The ends of each list's range, gradings that attain them, and how they were found: `exact`, `enumerated`, a
    `point`, or `outer`, where no score passes the ends, no grading need attain them, and none is known.
    """
    form = measure.form
    if form.ignores_unjudged or not len(unknown):
        score, grade = _as_judged(measure, unknown, policy), unknown.all(unknown.grades[0])
        return score, score, grade, grade, "point" if form.ignores_unjudged else "exact"
    try:
        gradings = form.extreme(unknown, False), form.extreme(unknown, True)
    except NoRange:
        if len(unknown.lists) == 1:
            return _range_of_one(measure, unknown, policy)
        each = [range_of(measure, unknown.part(i, i + 1), policy) for i in range(len(unknown.lists))]
        low, high, lower, upper = (np.concatenate([one[part] for one in each]) for part in range(4))
        return low, high, lower, upper, _least_exact(one[4] for one in each)
    undefined = np.isnan(form.score(unknown.lists))
    ends = []
    for grade, largest in zip(gradings, (False, True), strict=True):
        value = _rescored(measure, unknown, grade, policy)
        if undefined.any():  # nothing relevant yet: there may stay nothing
            nothing = np.where(undefined[unknown.list], _worthless(measure, unknown), grade)
            other = _rescored(measure, unknown, nothing, policy)
            better = undefined & (other > value if largest else other < value)
            value = np.where(better, other, value)
            grade = np.where(better[unknown.list], nothing, grade)
        ends.append((value, grade))
    (low, lower), (high, upper) = ends
    return low, high, lower, upper, "exact"


def _range_of_one(measure: Measure, unknown: Unknown, policy: Policy) -> tuple[Floats, Floats, Floats, Floats, str]:
    """Of one list whose extreme scores have no closed form: all gradings where they are few, else an outer range."""
    if number_of_gradings(unknown) > MOST_GRADINGS:
        try:
            ends = measure.form.outer(unknown, False), measure.form.outer(unknown, True)
        except NoRange as refused:
            raise CalipersError(
                f"{refused.message}, and there are more than {MOST_GRADINGS:,} gradings of a list to try"
            ) from None
        worth = np.asarray(measure.form.worth(unknown.grades))
        attained = [policy.scores(measure, unknown.graded(unknown.all(unknown.grades[at])))
                    for at in (int(worth.argmin()), int(worth.argmax()))]  # fmt: skip
        low, high = np.fmin(np.minimum(*attained), ends[0]), np.fmax(np.maximum(*attained), ends[1])
        return low, high, unknown.all(np.nan), unknown.all(np.nan), "outer"
    lower, upper = enumerated(unknown, lambda lists: policy.scores(measure, lists))
    drawn = sampling_errors([measure], unknown.lists)
    how = ", ".join(("enumerated", *inexact_measures({"": measure}, drawn).values()))
    low, high = (policy.scores(measure, unknown.graded(grade)) for grade in (lower, upper))
    return low, high, lower, upper, how


def _rescored(measure: Measure, unknown: Unknown, grade: Floats, policy: Policy) -> Floats:
    """The score of each list once its unknown documents have these grades."""
    form = measure.form
    return policy.scores(measure, unknown.graded(grade, None if _told_apart(form, unknown) else form.matters))


def _told_apart(form: Form, unknown: Unknown) -> bool:
    """Whether documents that are worth nothing differ from each other, by what they cost or by their group."""
    pool = unknown.lists.pool
    return (form.reads_costs and pool.cost is not None) or (form.reads_groups and pool.groups is not None)


def _worthless(measure: Measure, unknown: Unknown) -> float:
    """The grade that is worth least."""
    return float(unknown.grades[int(np.argmin(measure.form.worth(unknown.grades)))])
