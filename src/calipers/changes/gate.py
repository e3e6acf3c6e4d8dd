"""A gate: a new version of a system must not be worse than the old one, or must reach a floor.

Let m be the mean of the differences new - old over n queries, e their standard error, and t = t_{1-alpha, n-1}:

    worse      m + t e < -max_drop     the upper one-sided limit is below the allowed drop
    not worse  m - t e > -max_drop     the lower one-sided limit is above it (non-inferiority)
    undecided  otherwise

Each wrong verdict has a chance of at most alpha. If all differences are equal, the interval is a point, which always
decides; a drop of exactly max_drop is allowed. For an undecided measure, `needed` is the smallest number of queries
with which the same difference and deviation lead to a verdict with the given power:

    smallest N with Pr(T'_{N-1} > t_{1-alpha, N-1}) >= power,  T' noncentral by |m + max_drop| sqrt(N) / s

A floor is met if the lower one-sided limit of the mean of the new system, m - t e of its scores, is not below it.
With g groups of queries, the limits of each group are those of alpha / g (Bonferroni's correction).

Schuirmann, A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 1987.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from calipers.changes.difference import beyond_rounding
from calipers.changes.gate_limits import Limit, LimitsLike, limits_of, measure_place
from calipers.checks import check_whole
from calipers.collection.judgments import digest_text
from calipers.collection.query_facts import QueryGroups
from calipers.errors import CalipersError, CheckFailed, place_of, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats
from calipers.planning.closed_form_power import power_one_sided, smallest_n
from calipers.plurals import counted, plural_of, verb
from calipers.results.averages import mean
from calipers.results.messages import some
from calipers.results.result import Result, Tables
from calipers.results.score_files import as_scores
from calipers.results.scores import Coverage, Scores, all_equal
from calipers.results.tables import Table, four_digits, markdown_text, visible
from calipers.stats.differences import DIGITS, Differences
from calipers.stats.equivalence_tests import non_inferiority, non_inferiority_limits

OtherJudgments = Literal["error", "warn"]
OTHER_JUDGMENTS = get_args(OtherJudgments)
FailOn = Literal["undecided", "unmatched", "missing", "ties", "unjudged"]
FAIL_ON = get_args(FailOn)
WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "undecided"
BELOW, NOT_BELOW = "below the floor", "not below the floor"
WORST = 5  # queries with the largest loss that are named
COLUMNS = ("measure", "verdict", "old", "new", "difference", "low", "high", "max_drop", "queries", "needed")
FLOOR_COLUMNS = ("measure", "verdict", "mean", "low", "floor", "tested", "queries")
LOSS_COLUMNS = ("measure", "query", "old", "new", "difference")
OLD, NEW = np.array([0]), np.array([1])
LOWER_LIMIT, MEAN = "lower limit", "mean"


@dataclass(frozen=True)
class Loss:
    """A query on which the new system is worse."""

    query: str
    old: float
    new: float
    difference: float

    def __str__(self) -> str:
        return f"{self.query} {_signed(self.difference)} ({four_digits(self.old)} to {four_digits(self.new)})"


@dataclass(frozen=True)
class Decision:
    """The verdict about the mean difference under one measure."""

    measure: str
    verdict: str  # worse, not worse or undecided
    old: float  # means over the queries on which both systems have a score
    new: float
    difference: float
    low: float  # lower one-sided limit of the difference
    high: float  # upper one-sided limit
    max_drop: float
    alpha: float
    queries: int
    needed: int | None = None  # queries that would decide an undecided measure; None if no number would
    worst: tuple[Loss, ...] = ()  # largest loss first
    group: str = ""  # of queries; empty for all queries
    unit: str = "query"  # document, for summaries

    @property
    def name(self) -> str:
        """The measure, and the group of queries."""
        return _name(self.measure, self.group)

    def __str__(self) -> str:
        change = f"{self.name} {_signed(self.difference)}, from {four_digits(self.old)} to {four_digits(self.new)}"
        known = f"with {1 - self.alpha:.4g} confidence "
        if self.verdict == WORSE:
            known += f"below {_signed(self.high)}"
        elif self.verdict == NOT_WORSE:
            known += f"above {_signed(self.low)}"
        else:
            known = f"{1 - self.alpha:.4g} limits {_signed(self.low)} and {_signed(self.high)}"
        text = f"{self.verdict}: {change}; {known}; a drop of {four_digits(self.max_drop)} is allowed"
        if self.verdict != UNDECIDED:
            return text
        if self.needed is None:
            return f"{text}; no number of {plural_of(self.unit)} would decide a difference so close to the limit"
        return f"{text}; about {counted(self.needed, self.unit)} would decide it, and there are {self.queries:,}"


@dataclass(frozen=True)
class Floor:
    """The verdict about the mean of the new system under one measure: whether it reaches a floor."""

    measure: str
    verdict: str  # below the floor or not below the floor
    mean: float
    low: float  # lower one-sided limit of the mean; NaN if the mean itself is tested
    floor: float
    tested: str  # lower limit or mean
    alpha: float
    queries: int
    group: str = ""
    unit: str = "query"

    @property
    def name(self) -> str:
        """The measure, and the group of queries."""
        return _name(self.measure, self.group)

    def __str__(self) -> str:
        limit = f", {1 - self.alpha:.4g} lower limit {four_digits(self.low)}" if self.tested == LOWER_LIMIT else ""
        mean = f"mean {four_digits(self.mean)}{limit}, over {counted(self.queries, self.unit)}"
        return f"{self.verdict}: {self.name}, {mean}; the floor is {four_digits(self.floor)}"


class _Case(NamedTuple):
    """One thing that was checked, for JUnit and GitHub."""

    name: str
    outcome: str  # failed, undecided or passed
    verdict: str
    text: str
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Check(Result):
    """The verdicts under each measure, and over all of them."""

    new: str
    old: str | None  # None if there is no baseline
    decisions: tuple[Decision, ...] = ()
    floors: tuple[Floor, ...] = ()
    query_drops: tuple[tuple[str, float, Loss], ...] = ()  # measure, limit and query, largest loss first
    problems: tuple[tuple[str, str], ...] = ()  # kind (see `fail_on`) and sentence, for each problem found in the data
    fail_on: tuple[str, ...] = ()
    max_query_drop: tuple[tuple[str, float], ...] = ()  # limits by measure
    alpha: float = 0.05
    power: float = 0.8
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # sentences that are not warnings
    unit: str = "query"  # document, for summaries

    @property
    def verdict(self) -> str:
        """One word for everything: worse, below the floor, undecided, not worse or not below the floor."""
        found = {each.verdict for each in self.decisions} | {each.verdict for each in self.floors}
        found |= {WORSE} if self.query_drops else set()
        order = (WORSE, BELOW, UNDECIDED, NOT_WORSE, NOT_BELOW)
        return next((verdict for verdict in order if verdict in found), NOT_WORSE)

    @property
    def failed(self) -> bool:
        """True if a job should stop."""
        undecided = self.verdict == UNDECIDED and "undecided" in self.fail_on
        return self.verdict in (WORSE, BELOW) or undecided or bool(self._failing_problems)

    @property
    def _failing_problems(self) -> list[tuple[str, str]]:
        return [(kind, text) for kind, text in self.problems if kind in self.fail_on]

    @property
    def title(self) -> str:
        """The systems that were checked."""
        return f"Check of {self.new}" + ("" if self.old is None else f" against {self.old}")

    @property
    def summary(self) -> str:
        """The verdict, and the measures that led to it."""
        parts = [*self._about_drops(), *self._about_queries(), *self._about_floors()]
        parts += [f"{text} (fail_on {kind})" for kind, text in self._failing_problems]
        return ". ".join(parts) + "."

    def _about_drops(self) -> Iterator[str]:
        verdicts = {each.verdict for each in self.decisions}
        verdict = next((each for each in (WORSE, UNDECIDED, NOT_WORSE) if each in verdicts), None)
        if verdict is None:
            return
        named = [each for each in self.decisions if each.verdict == verdict]
        limits = {each.max_drop for each in named}
        largest = max(limits)
        by = "by more than is allowed" if len(limits) > 1 else f"by more than {largest:.4g}" if largest else "at all"
        listed = f"({', '.join(each.name for each in named)})"
        if verdict == UNDECIDED:
            numbers = [each.needed for each in named]
            most = None if None in numbers else max(each for each in numbers if each is not None)
            number = f"no number of {plural_of(self.unit)}" if most is None else f"about {counted(most, self.unit)}"
            there = max(each.queries for each in named)
            question = f"Undecided whether {self.new} is worse than {self.old} {by} {listed}"
            yield f"{question}: {number} would tell, and there are {there:,}"
        else:
            yield f"{self.new} is {verdict} than {self.old} {by} {listed}"

    def _about_queries(self) -> Iterator[str]:
        if not self.max_query_drop:
            return
        if not self.query_drops:
            yield f"no {self.unit} of {self.new} loses more than is allowed per {self.unit}"
            return
        queries = {loss.query for _, _, loss in self.query_drops}
        measure, limit, loss = self.query_drops[0]
        yield (
            f"{counted(len(queries), self.unit)} {verb(len(queries), 'loses', 'lose')} more than is allowed per "
            f"{self.unit}: "
            f"{loss} in {measure}, where {limit:g} is allowed"
            + (f", and {len(queries) - 1} more" if len(queries) > 1 else "")
        )

    def _about_floors(self) -> Iterator[str]:
        for verdict in (BELOW, NOT_BELOW):
            if named := [each for each in self.floors if each.verdict == verdict]:
                yield f"{self.new} is {verdict} ({', '.join(_short_floor(each) for each in named)})"
                return

    # -- tables ------------------------------------------------------------------------------------

    def tables(self) -> Tables:
        """Return the verdicts about drops and floors, queries that lost too much, and the largest losses."""
        makers = {
            "measures": (self._decisions, self.decisions),
            "floors": (self._floors, self.floors),
            "query_drops": (self._query_drops, self.max_query_drop),
            "worst": (self._worst, any(each.worst for each in self.decisions)),
        }
        return Tables({name: partial(self._in_words, make) for name, (make, wanted) in makers.items() if wanted})

    def _in_words(self, make: Callable[[], Table]) -> Table:
        """Return a table in which columns about queries have the names that fit the data (document, documents)."""
        table, names = make(), {"query": self.unit, "queries": plural_of(self.unit)}
        return table.changed(columns=tuple(names.get(column, column) for column in table.columns))

    def _decisions(self) -> Table:
        return _rows(COLUMNS, self.decisions)

    def _floors(self) -> Table:
        return _rows(FLOOR_COLUMNS, self.floors)

    def _query_drops(self) -> Table:
        rows = tuple((name, x.query, x.old, x.new, x.difference, limit) for name, limit, x in self.query_drops)
        return Table((*LOSS_COLUMNS, "max_query_drop"), rows)

    def _worst(self) -> Table:
        """Return the largest losses under each measure, over all queries."""
        found = [(each, loss) for each in self.decisions if not each.group for loss in each.worst]
        rows = tuple((each.measure, x.query, x.old, x.new, x.difference) for each, x in found)
        return Table(LOSS_COLUMNS, rows)

    def sections(self) -> list[tuple[str, str, Table]]:
        """Return name, title and table of everything that readers are shown."""
        titles = {
            "measures": "mean differences",
            "floors": "floors",
            "query_drops": f"{plural_of(self.unit)} that lose more than is allowed per {self.unit}",
            "worst": f"{plural_of(self.unit)} with the largest loss",
        }
        return [(name, titles[name], table) for name, table in self.tables().items() if table.rows]

    def text(self) -> str:
        """Return the verdict in a sentence, and the tables below it."""
        parts = [f"{visible(self.summary)}\n", *(f"{title}\n{table.to_text()}" for _, title, table in self.sections())]
        return "\n".join(parts)

    def for_pull_request(self) -> str:
        """Return Markdown for a comment: the verdict in a sentence, and the tables below it."""
        tables = [f"{title[0].upper()}{title[1:]}:\n\n{table.to_markdown()}" for _, title, table in self.sections()]
        return "\n".join([f"**{markdown_text(self.summary)}**\n", *tables])

    def _json(self) -> dict[str, Any]:
        """Return the verdict and settings as well as the summary."""
        about = {"verdict": self.verdict, "failed": self.failed, "old": self.old, "new": self.new}
        more = {"alpha": self.alpha, "power": self.power, "problems": [text for _, text in self.problems]}
        found = super()._json()
        return {**about, **more, **found, "notes": [*self.notes, *self.remarks]}

    # -- for jobs ----------------------------------------------------------------------------------

    def _cases(self) -> Iterator[_Case]:
        """Yield everything that was checked."""
        for each in self.decisions:
            outcome = {WORSE: "failed", NOT_WORSE: "passed"}.get(each.verdict, "undecided")
            if outcome == "undecided" and "undecided" in self.fail_on:
                outcome = "failed"
            yield _Case(each.name, outcome, each.verdict, str(each), each.worst)
        for floor in self.floors:
            outcome = "failed" if floor.verdict == BELOW else "passed"
            yield _Case(f"{floor.name}, floor of the {floor.tested}", outcome, floor.verdict, str(floor))
        for measure, limit in self.max_query_drop:
            losses = tuple(loss for name, _, loss in self.query_drops if name == measure)
            lost = f"{counted(len(losses), self.unit)} {verb(len(losses), 'loses', 'lose')} more than {limit:g}"
            verdict = WORSE if losses else NOT_WORSE
            yield _Case(
                f"{measure}, drop per {self.unit}", "failed" if losses else "passed", verdict,
                f"{verdict}: {measure}, {lost}", losses[:WORST],
            )  # fmt: skip
        for kind in self.fail_on:
            if kind != "undecided":
                texts = [text for each, text in self.problems if each == kind]
                found = "; ".join(texts) or "nothing found"
                yield _Case(f"fail_on {kind}", "failed" if texts else "passed", kind, f"{kind}: {found}")

    def to_junit(self) -> str:
        """Return JUnit's XML: a test case for everything that was checked, skipped if it is undecided."""
        from xml.sax.saxutils import escape, quoteattr

        cases = [*self._cases()]
        written = []
        for case in cases:
            message = quoteattr(_xml(case.text))
            inside = ""
            if case.outcome == "failed":
                lost = "".join(f"{_xml(str(loss))}\n" for loss in case.losses)
                inside = f"\n      <failure type={quoteattr(case.verdict)} message={message}>{escape(lost)}</failure>"
            elif case.outcome == "undecided":
                inside = f"\n      <skipped message={message}/>"
            output = f"\n      <system-out>{escape(_xml(case.text))}</system-out>\n    "
            name = quoteattr(_xml(case.name))
            written.append(f'    <testcase classname="calipers.check" name={name} time="0">{inside}{output}</testcase>')
        title = quoteattr(_xml(self._against()))
        outcomes = [case.outcome for case in cases]
        counts = (
            f'tests="{len(cases)}" failures="{outcomes.count("failed")}" errors="0" '
            f'skipped="{outcomes.count("undecided")}"'
        )
        suite = f'  <testsuite name={title} {counts} time="0">\n' + "\n".join(written) + "\n  </testsuite>\n"
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n{suite}</testsuites>\n'

    def annotations(self) -> list[str]:
        """Return lines that GitHub shows next to a pull request: an error, a warning or a notice for each case."""
        kinds = {"failed": "error", "undecided": "warning", "passed": "notice"}
        found = []
        for case in self._cases():
            lost = "; ".join(map(str, case.losses)) if case.outcome != "passed" else ""
            text = f"{case.text}. Worst queries: {lost}" if lost else case.text
            title = _workflow(f"{self._against()}: {case.verdict}", ":,")
            found.append(f"::{kinds[case.outcome]} title={title}::{_workflow(text)}")
        return found

    def _against(self) -> str:
        return self.new if self.old is None else f"{self.new} against {self.old}"


def check(
    evaluation: Evaluation | Scores,
    new: str,
    *,
    baseline: str | Scores | None = None,
    max_drop: LimitsLike | None = None,
    max_query_drop: LimitsLike | None = None,
    min: LimitsLike | None = None,
    min_mean: LimitsLike | None = None,
    query_groups: QueryGroups | None = None,
    fail_on: Collection[FailOn] = (),
    alpha: float = 0.05,
    power: float = 0.8,
    worst: int = WORST,
    other_judgments: OtherJudgments = "error",
    warn: bool = True,
) -> Check:
    """Check that a new system is not worse than a baseline, or not below a floor.

    new: the name of a system. baseline: the name of another system, or stored scores of one system, from `read_scores`.
        Queries that only one of them has are left out, and counted in the notes.
    max_drop: the drop of the mean that is allowed: a number, a percentage of the baseline's mean such as "2%", or one
        of these for each measure, as {"nDCG@10": 0.02} or "nDCG@10=0.02 AP=2%".
    max_query_drop: the drop of a single query that is allowed, for all measures or for each.
    min: a floor for the lower confidence limit of the new system's mean, for all measures or for each.
    min_mean: a floor for the mean itself.
    query_groups: {query: group} or a file. Each group is checked as well, with limits at alpha divided by the number
        of groups.
    fail_on: also fail if a measure is `undecided`; if runs answer queries without judgments or have hardly any judged
        document (`unmatched`); if they lack judged queries, or new and baseline have different queries (`missing`); if
        they have `ties`; or if documents in the top 10 are `unjudged`.
    alpha: the chance of each wrong verdict. power: the chance of a decision with the number of queries that is
        reported as needed.
    worst: how many of the largest losses are named for each measure.
    other_judgments: `error` fails if the stored scores were made with different judgments, `warn` compares them. Scores
        from JSON files know their judgments, scores from CSV files do not.
    warn: give the notes as one CalipersWarning.

    A system with hardly any judged document never passes.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.50, 0.31, 0.60, 0.42], [0.51, 0.30, 0.60, 0.41]], systems=["new", "old"])
    >>> found = check(scores, "new", baseline="old", max_drop=0.02)
    >>> found.verdict, round(found.decisions[0].low, 4), found.decisions[0].worst[0].query
    ('not worse', -0.0088, '1')
    >>> check(scores, "new", min=0.4).failed
    True
    """
    scores = evaluation.scores if isinstance(evaluation, Evaluation) else evaluation
    _check_settings(alpha, power, fail_on, other_judgments)
    worst = check_whole("worst", worst, 0)
    if scores.lower:
        name = sorted(scores.lower)[0]
        raise CalipersError(f"smaller values of {name} are better; check takes measures for which larger is better")
    limits = _Limits(
        limits_of("max_drop", max_drop, scores.measures, percent=True),
        {name: limit.value for name, limit in limits_of("max_query_drop", max_query_drop, scores.measures).items()},
        {name: limit.value for name, limit in limits_of("min", min, scores.measures).items()},
        {name: limit.value for name, limit in limits_of("min_mean", min_mean, scores.measures).items()},
        alpha, power, worst,
    )  # fmt: skip
    if limits.nothing:
        raise CalipersError("there is nothing to check: give max_drop, max_query_drop, min or min_mean")
    if limits.needs_baseline and baseline is None:
        raise CalipersError("max_drop and max_query_drop compare the new system with a baseline: name one")
    fresh = scores.of_systems([new])
    old = _baseline(scores, baseline)
    _refuse_unmatched(fresh, *([] if old is None else [old]))
    changed, remarks = _judgments_of_both(fresh, old, other_judgments)
    pair = _Pair.of(fresh, old)
    notes = [*changed, *([] if old is None else _notes(fresh, old, len(pair.queries)))]
    decisions, floors = limits.decide(pair, "")
    drops = limits.query_drops(pair)
    if query_groups is not None:
        groups = fresh.by(query_groups)
        notes += groups.notes
        large = {group: part for group, part in groups.items() if len(part.queries) > 1}
        if len(large) < len(groups):
            notes.append(f"{counted(len(groups) - len(large), 'group')} of fewer than two queries; left out")
        corrected = replace(limits, alpha=alpha / max(len(large), 1))
        for group, part in large.items():
            more = corrected.decide(pair.of_queries(part.queries), group)
            decisions, floors = [*decisions, *more[0]], [*floors, *more[1]]
    names = [new, *([baseline] if isinstance(baseline, str) else [])]
    problems = _problems(scores, names, fail_on)
    problems += [] if old is None else [("missing", note) for note in _different_queries(fresh, old, len(pair.queries))]
    warn_user(notes, warn)
    return Check(
        new=new, old=None if old is None else old.systems[0],
        decisions=tuple(replace(each, unit=scores.unit) for each in decisions),
        floors=tuple(replace(each, unit=scores.unit) for each in floors), unit=scores.unit,
        query_drops=tuple(drops), problems=tuple(problems), fail_on=tuple(dict.fromkeys(fail_on)),
        max_query_drop=tuple(limits.query_drop.items()), alpha=alpha, power=power,
        notes=(*scores.notes, *notes), remarks=remarks,
    )  # fmt: skip


def _check_settings(alpha: float, power: float, fail_on: Collection[str], other_judgments: str) -> None:
    if not 0 < alpha < 0.5:
        raise CalipersError(f"alpha {alpha:g} is not between 0 and 0.5")
    if not alpha < power < 1:
        raise CalipersError(f"power {power:g} is not between alpha and 1")
    if isinstance(fail_on, str):
        raise CalipersError(f"fail_on '{fail_on}' is a text; expected a list, such as ['{fail_on}']")
    for each in fail_on:
        if each not in FAIL_ON:
            raise CalipersError(f"fail_on '{each}' is unknown; expected {', '.join(FAIL_ON)}")
    if other_judgments not in OTHER_JUDGMENTS:
        raise CalipersError(f"other_judgments '{other_judgments}' is unknown; expected {' or '.join(OTHER_JUDGMENTS)}")


def _baseline(scores: Scores, baseline: str | Scores | None) -> Scores | None:
    """Return the scores of the baseline under the same measures, in the same order."""
    if baseline is None or isinstance(baseline, str):
        return None if baseline is None else scores.of_systems([baseline])
    if len(baseline.systems) != 1:
        raise CalipersError(f"the baseline has scores of {len(baseline.systems)} systems: expected one")
    places = [measure_place(name, baseline.measures, "measure of the baseline") for name in scores.measures]
    return replace(
        baseline, measures=scores.measures, values=baseline.values[places], reasons=baseline.reasons[places],
        definitions=(),
    )  # fmt: skip


class _Pair(NamedTuple):
    """Scores of the old and the new system on the queries that both have. Without a baseline, old scores are NaN."""

    measures: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats  # [measure, old or new, query]
    systems: tuple[str, ...]

    @staticmethod
    def of(new: Scores, old: Scores | None) -> _Pair:
        if old is None:
            values = np.stack([np.full_like(new.values[:, 0], np.nan), new.values[:, 0]], axis=1)
            return _Pair(new.measures, new.queries, values, new.systems)
        place = {query: q for q, query in enumerate(old.queries)}
        shared = [q for q, query in enumerate(new.queries) if query in place]
        if not shared:
            raise CalipersError(f"{new.systems[0]} and {old.systems[0]} have no query in common")
        queries = tuple(new.queries[q] for q in shared)
        before = old.values[:, 0][:, [place[query] for query in queries]]
        values = np.stack([before, new.values[:, 0][:, shared]], axis=1)
        return _Pair(new.measures, queries, values, (*new.systems, *old.systems))

    def of_queries(self, queries: Collection[str]) -> _Pair:
        """Return the pair on some of its queries."""
        wanted = frozenset(queries)
        kept = [q for q, query in enumerate(self.queries) if query in wanted]
        return self._replace(queries=tuple(self.queries[q] for q in kept), values=self.values[:, :, kept])


@dataclass(frozen=True)
class _Limits:
    """Limits by measure, and how sure a verdict must be."""

    drop: dict[str, Limit]
    query_drop: dict[str, float]
    floor: dict[str, float]
    floor_of_mean: dict[str, float]
    alpha: float
    power: float
    worst: int

    @property
    def nothing(self) -> bool:
        return not (self.drop or self.query_drop or self.floor or self.floor_of_mean)

    @property
    def needs_baseline(self) -> bool:
        return bool(self.drop or self.query_drop)

    def decide(self, pair: _Pair, group: str) -> tuple[list[Decision], list[Floor]]:
        """Return the verdicts about drops and about floors."""
        decisions, floors = [], []
        for name, values in zip(pair.measures, pair.values, strict=True):
            if name in self.drop:
                decisions.append(self._decision(name, values, pair.queries, group))
            if name in self.floor:
                floors.append(self._floor(name, values[1], self.floor[name], LOWER_LIMIT, group))
            if name in self.floor_of_mean:
                floors.append(self._floor(name, values[1], self.floor_of_mean[name], MEAN, group))
        return decisions, floors

    def query_drops(self, pair: _Pair) -> list[tuple[str, float, Loss]]:
        """Return the queries that lose more than is allowed, largest loss first."""
        found = []
        for name, values in zip(pair.measures, pair.values, strict=True):
            if name in self.query_drop:
                limit = self.query_drop[name]
                losses = _losses(Differences.of(values, NEW, OLD), values, pair.queries, len(pair.queries))
                found += [(name, limit, loss) for loss in losses if round(-loss.difference - limit, DIGITS) > 0]
        return sorted(found, key=lambda each: each[2].difference)

    def _decision(self, measure: str, values: Floats, queries: Sequence[str], group: str) -> Decision:
        differences = Differences.of(values, NEW, OLD)
        both = differences.shared[0]
        if int(both.sum()) < 2:
            raise CalipersError(
                f"fewer than two queries have a score of both systems under {_name(measure, group)}: no limit is known"
            )
        old, new = (mean(row[both].tolist()) for row in values)
        max_drop = self.drop[measure].of(old)
        scores = as_scores(values, ("old", "new"), queries, measure)
        (found,) = non_inferiority(scores, old="old", new="new", margin=max_drop, alpha=self.alpha).tests
        high = -float(non_inferiority_limits(values, OLD, NEW, self.alpha)[0])
        verdict, needed = _verdict(found.difference, found.low, high, max_drop), None
        if verdict == UNDECIDED:
            away = abs(found.difference + max_drop) / float(differences.deviation[0])
            try:
                needed = smallest_n(away, self.power, self.alpha, power_one_sided) if away else None
            except CalipersError:  # more queries than can be counted
                needed = None
        worst = tuple(_losses(differences, values, queries, self.worst))
        return Decision(
            measure, verdict, old, new, found.difference, found.low, high, max_drop, self.alpha, found.n, needed, worst,
            group,
        )  # fmt: skip

    def _floor(self, measure: str, values: Floats, floor: float, tested: str, group: str) -> Floor:
        defined = values[~np.isnan(values)]
        if not len(defined) or (tested == LOWER_LIMIT and len(defined) < 2):
            raise CalipersError(f"too few queries have a score under {_name(measure, group)}: no limit is known")
        average = mean(defined.tolist())
        low = _lower_limit(defined, average, self.alpha) if tested == LOWER_LIMIT else np.nan
        below = round((low if tested == LOWER_LIMIT else average) - floor, DIGITS) < 0
        return Floor(
            measure, BELOW if below else NOT_BELOW, average, low, floor, tested, self.alpha, len(defined), group
        )  # fmt: skip


def _lower_limit(values: Floats, average: float, alpha: float) -> float:
    """Return the lower end of the one-sided 1 - alpha interval of a mean."""
    from scipy.special import stdtrit

    if all_equal(values):
        return average
    return float(average - stdtrit(len(values) - 1, 1 - alpha) * np.std(values, ddof=1) / np.sqrt(len(values)))


def _losses(differences: Differences, values: Floats, queries: Sequence[str], most: int) -> Iterator[Loss]:
    """Yield the largest losses of the new system, largest first."""
    gained = beyond_rounding(differences)  # 0 if one of the systems has no score
    for q in np.argsort(gained, kind="stable")[:most].tolist():
        if gained[q] < 0:
            yield Loss(queries[q], float(values[0, q]), float(values[1, q]), float(gained[q]))


def _verdict(difference: float, low: float, high: float, max_drop: float) -> str:
    if low == high:  # all differences are equal
        return NOT_WORSE if round(difference + max_drop, DIGITS) >= 0 else WORSE
    return WORSE if high < -max_drop else NOT_WORSE if low > -max_drop else UNDECIDED


# -- the data ----------------------------------------------------------------------------------------


def _refuse_unmatched(*each_system: Scores) -> None:
    """Fail if a system has hardly any judged document: its scores mean nothing."""
    for scores in each_system:
        if scores.systems[0] in scores.metadata.get("unmatched", ()):
            raise CheckFailed(
                f"{scores.systems[0]}: hardly any query has a judged document, so that the scores cannot be compared. "
                "Do judgments and runs write document ids in the same way?"
            )


def _judgments_of_both(
    new: Scores, old: Scores | None, other_judgments: OtherJudgments
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return warnings and remarks about the judgments of both scores. Fail if they differ and that is not allowed."""
    if old is None:
        return (), ()
    known = [digest_text(scores.metadata.get("judgments")) for scores in (new, old)]
    if known[0] is not None and known[1] is None:
        return (), (
            "the scores of the baseline do not tell which judgments they were made with: if the judgments have changed "
            "since, the comparison is wrong; scores by query in JSON tell it",
        )
    if None in known or known[0] == known[1]:
        return (), ()
    text = (
        f"{new.systems[0]} and {old.systems[0]} were scored with different judgments "
        f"(digests {known[0]} and {known[1]})"
    )
    if other_judgments == "error":
        raise CheckFailed(
            f"{text}: compute the scores of the baseline again, or set other_judgments to 'warn' to compare them anyway"
        )
    return (text,), ()


def _notes(new: Scores, old: Scores, shared: int) -> list[str]:
    found = _different_queries(new, old, shared)
    likes = [scores.metadata.get("like") for scores in (new, old)]
    if "like" in old.metadata and likes[0] != likes[1]:
        by = [like or "Calipers' own" for like in likes]
        found.append(f"the scores follow different conventions: {by[0]} (new) and {by[1]} (old)")
    return found


def _different_queries(new: Scores, old: Scores, shared: int) -> list[str]:
    """Return a sentence for each system that has queries which the other one lacks."""
    return [
        f"{counted(count, 'query')} of {one.systems[0]} {verb(count, 'is', 'are')} not in "
        f"{other.systems[0]} ({some([query for query in one.queries if query not in set(other.queries)])}); left out"
        for one, other in ((new, old), (old, new))
        if (count := len(one.queries) - shared)
    ]


def _problems(scores: Scores, systems: Sequence[str], fail_on: Collection[str]) -> list[tuple[str, str]]:
    """Return the problems of runs that `fail_on` can name, as kind and sentence."""
    coverage = scores.coverage
    if coverage is None:
        if wanted := [kind for kind in ("unmatched", "missing", "ties", "unjudged") if kind in fail_on]:
            raise CalipersError(f"fail_on '{wanted[0]}' is about runs, and these scores were not made from runs")
        return []
    return [
        problem
        for system in systems
        for problem in _problems_of(system, place_of("system", system, scores.systems), coverage)
    ]


def _problems_of(system: str, place: int, coverage: Coverage) -> Iterator[tuple[str, str]]:
    if without := int(coverage.unjudged_queries[place]):
        yield "unmatched", f"{system} answers {counted(without, 'query')} without judgments"
    if lacking := int(coverage.missing[place].sum()):
        yield "missing", f"{system} lacks {counted(lacking, 'judged query')}"
    if tied := int((coverage.tied[place] > 0).sum()):
        yield "ties", f"{system} has ties in {counted(tied, 'list')}"
    if (share := float(coverage.unjudged_share_at_10()[place])) > 0:
        yield "unjudged", f"{share:.1%} of the documents in the top 10 of {system} are unjudged"


# -- texts -------------------------------------------------------------------------------------------


def _rows(columns: tuple[str, ...], found: Sequence[Any]) -> Table:
    """Return one row per verdict, with its group of queries if there are groups."""
    names = ("group", *columns) if any(each.group for each in found) else columns
    rows = tuple(tuple(getattr(each, name) for name in names) for each in found)
    return Table(names, tuple(tuple("(all)" if cell == "" else cell for cell in row) for row in rows))


def _name(measure: str, group: str) -> str:
    return f"{measure} of {group}" if group else measure


def _short_floor(floor: Floor) -> str:
    found = floor.low if floor.tested == LOWER_LIMIT else floor.mean
    return f"{floor.name}: {floor.tested} {four_digits(found)}, floor {floor.floor:g}"


def _signed(value: float) -> str:
    return four_digits(value, "+.4f")


_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def _xml(text: str) -> str:
    """Return text that XML can hold: control characters, and bytes that are not UTF-8, are escaped."""
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))


def _workflow(text: str, more: str = "") -> str:
    """Return text as GitHub's workflow commands take it: on one line, with the ends of properties escaped."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return visible(text)
