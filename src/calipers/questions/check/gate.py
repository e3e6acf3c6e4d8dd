"""A gate: a new version of a system must not drop by more than is allowed, or must reach a floor.

A job fails because of what is observed: search is deterministic, so that a drop on these queries is a fact. Whether
the drop goes beyond these queries is another question. `calipers.questions.check.verdicts` has the rules.

With g groups of queries, the limits of each group are those of alpha / g (Bonferroni's correction).

Phan, Thomas & Learned-Miller, Towards practical mean bounds for small samples, ICML 2021. Schuirmann, A comparison of
the two one-sided tests procedure and the power approach for assessing the equivalence of average bioavailability,
Journal of Pharmacokinetics and Biopharmaceutics 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calipers.collection.query_facts import QueryGroups, read_query_groups
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats
from calipers.measures.registry import Measure
from calipers.questions.check.gate_data import (
    FAIL_ON,
    OTHER_JUDGMENTS,
    FailOn,
    OtherJudgments,
    different_queries,
    judgments_of_both,
    notes_on_both,
    problems_of_runs,
    refuse_unmatched,
)
from calipers.questions.check.gate_limits import Drop, LimitsLike, drops_of, floors_of, measure_place
from calipers.questions.check.gate_reports import Case, github_annotations, junit
from calipers.questions.check.verdicts import (
    BELOW,
    DROPPED,
    FAIL_IF,
    NEW,
    NOT_BELOW,
    NOT_WORSE,
    OLD,
    UNDECIDED,
    WITHIN,
    WORSE,
    Decision,
    FailIf,
    Floor,
    Loss,
    MeanVerdict,
    Rules,
    decision_of,
    floor_of,
    losses_of,
    name_of,
    refuse_undecidable_drop,
    refuse_undecidable_floor,
)
from calipers.questions.diff.first_documents import same_rankings
from calipers.results.messages import refuse_incomplete_runs
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Table, four_digits, markdown_text, visible
from calipers.statistics.bounded_intervals import Ends, ends_around, ends_of
from calipers.statistics.differences import DIGITS, Differences
from calipers.support.checks import check_choice, check_whole
from calipers.support.plurals import counted, plural_of, verb

WORST = 5  # queries with the largest loss that are named
COLUMNS = (
    "measure",
    "observed",
    "verdict",
    "limits",
    "old",
    "new",
    "difference",
    "max_drop",
    "low",
    "high",
    "queries",
    "needed",
)
FLOOR_COLUMNS = (
    "measure",
    "observed",
    "verdict",
    "limits",
    "mean",
    "floor",
    "low",
    "high",
    "queries",
    "needed",
)
LOSS_COLUMNS = ("measure", "query", "old", "new", "difference")


@dataclass(frozen=True, eq=False, repr=False)
class Check(Result):
    """The verdicts under each measure, and over all of them."""

    new: str
    old: str | None  # None if there is no baseline
    decisions: tuple[Decision, ...] = ()
    floors: tuple[Floor, ...] = ()
    query_drops: tuple[tuple[str, float, Loss], ...] = ()  # measure, limit and query, largest loss first
    problems: tuple[tuple[str, str], ...] = ()  # kind (see `fail_on`) and sentence, for each problem found in the data
    fail_if: FailIf = "drop"
    fail_on: tuple[str, ...] = ()
    max_query_drop: tuple[tuple[str, float], ...] = ()  # limits by measure
    alpha: float = 0.05
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # sentences that are not warnings
    unit: str = "query"  # document, for summaries

    @property
    def observed(self) -> str:
        """The observed fact: dropped, below the floor, or ok."""
        found = {each.observed for each in self._verdicts} | ({DROPPED} if self.query_drops else set())
        return next((fact for fact in (DROPPED, BELOW) if fact in found), WITHIN)

    @property
    def verdict(self) -> str:
        """The conclusion beyond these queries: worse, below the floor, undecided, not worse or not below the floor."""
        found = {each.verdict for each in self._verdicts}
        order = (WORSE, BELOW, UNDECIDED, NOT_WORSE, NOT_BELOW)
        return next((verdict for verdict in order if verdict in found), UNDECIDED)

    @property
    def failed(self) -> bool:
        """True if a job should stop."""
        broken = any(each.fails(self.fail_if) for each in self._verdicts)
        return broken or bool(self.query_drops) or bool(self._failing_problems)

    @property
    def _verdicts(self) -> tuple[MeanVerdict, ...]:
        return (*self.decisions, *self.floors)

    @property
    def _failing_problems(self) -> list[tuple[str, str]]:
        return [(kind, text) for kind, text in self.problems if kind in self.fail_on]

    @property
    def title(self) -> str:
        """The systems that were checked."""
        return f"Check of {self._against}"

    @property
    def _against(self) -> str:
        return self.new if self.old is None else f"{self.new} against {self.old}"

    @property
    def summary(self) -> str:
        """The result of the check, the observed facts, and the conclusions beyond these queries."""
        rule = "" if self.fail_if == "drop" else f" (fail_if {self.fail_if})"
        parts = [*self._about_drops(), *self._about_queries(), *self._about_floors()]
        parts += [f"{text} (fail_on {kind})" for kind, text in self._failing_problems]
        return f"{'Failed' if self.failed else 'Passed'}{rule}: {'. '.join(parts)}."

    def _about_drops(self) -> Iterator[str]:
        if not self.decisions:
            return
        far = [
            f"{x.name} by {four_digits(-x.difference)} ({x.max_drop:.4g} allowed)" for x in self.decisions if x.exceeded
        ]
        if far:
            yield f"{self.new} drops by more than is allowed against {self.old}: {', '.join(far)}"
        else:
            names = ", ".join(each.name for each in self.decisions)
            yield f"{self.new} does not drop by more than is allowed against {self.old} ({names})"
        yield self._beyond(self.decisions)

    def _about_queries(self) -> Iterator[str]:
        if not self.max_query_drop:
            return
        if not self.query_drops:
            yield f"No {self.unit} of {self.new} loses more than is allowed per {self.unit}"
            return
        queries = {loss.query for _, _, loss in self.query_drops}
        measure, limit, loss = self.query_drops[0]
        more = f", and {len(queries) - 1} more" if len(queries) > 1 else ""
        lost = f"{counted(len(queries), self.unit)} {verb(len(queries), 'loses', 'lose')} more than is allowed"
        yield f"{lost} per {self.unit}: {loss} in {measure}, where {limit:g} is allowed{more}"

    def _about_floors(self) -> Iterator[str]:
        if not self.floors:
            return
        named = [each for each in self.floors if each.exceeded] or self.floors
        means = ", ".join(f"{each.name}: mean {four_digits(each.mean)}, floor {each.floor:.4g}" for each in named)
        yield f"{self.new} is {'below' if named[0].exceeded else 'not below'} the floor ({means})"
        yield self._beyond(self.floors)

    def _beyond(self, verdicts: Sequence[MeanVerdict]) -> str:
        """Return what is shown beyond the queries, with the measures of each verdict."""
        parts: dict[str, list[MeanVerdict]] = {}
        for verdict in (*verdicts[0].SHOWN, UNDECIDED):
            for each in sorted(verdicts, key=lambda each: each.approximate):
                if each.verdict == verdict:
                    how = ", approximately" if each.approximate and verdict != UNDECIDED else ""
                    parts.setdefault(f"{verdict}{how}", []).append(each)
        said = {verdict: ", ".join(each.name for each in part) for verdict, part in parts.items()}
        numbers = [each.needed for each in parts.get(UNDECIDED, ()) if each.needed is not None]
        if numbers and len(numbers) == len(parts[UNDECIDED]):
            said[UNDECIDED] += f"; about {counted(max(numbers), self.unit)} would tell"
        found = ", ".join(f"{verdict} ({names})" for verdict, names in said.items())
        return f"Beyond these {plural_of(self.unit)}: {found}"

    # -- tables ------------------------------------------------------------------------------------

    def tables(self) -> Tables:
        """Return the verdicts about drops and floors, queries that lost too much, and the largest losses."""
        makers: dict[str, tuple[Callable[[], Table], object]] = {
            "measures": (partial(_rows, COLUMNS, self.decisions), self.decisions),
            "floors": (partial(_rows, FLOOR_COLUMNS, self.floors), self.floors),
            "query_drops": (self._query_drops, self.max_query_drop),
            "worst": (self._worst, any(each.worst for each in self.decisions)),
        }
        return Tables({name: partial(self._in_words, make) for name, (make, wanted) in makers.items() if wanted})

    def _in_words(self, make: Callable[[], Table]) -> Table:
        """Return a table in which columns about queries have the names that fit the data (document, documents)."""
        table, names = make(), {"query": self.unit, "queries": plural_of(self.unit)}
        return table.changed(columns=tuple(names.get(column, column) for column in table.columns))

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
        """Return the facts and verdicts in sentences, and the tables below them."""
        sentences = "".join(f"- {visible(str(each))}\n" for each in self._verdicts)
        tables = [f"{title}\n{table.to_text()}" for _, title, table in self.sections()]
        return "\n".join([f"{visible(self.summary)}\n", *([sentences] if sentences else []), *tables])

    def for_pull_request(self) -> str:
        """Return Markdown for a comment: the facts and verdicts in sentences, and the tables below them."""
        sentences = "".join(f"- {markdown_text(str(each))}\n" for each in self._verdicts)
        tables = [f"{title[0].upper()}{title[1:]}:\n\n{table.to_markdown()}" for _, title, table in self.sections()]
        return "\n".join([f"**{markdown_text(self.summary)}**\n", *([sentences] if sentences else []), *tables])

    def _json(self) -> dict[str, Any]:
        """Return the facts, the verdict and settings as well as the summary."""
        about = {"failed": self.failed, "observed": self.observed, "verdict": self.verdict, "fail_if": self.fail_if}
        more = {"old": self.old, "new": self.new, "alpha": self.alpha, "problems": [text for _, text in self.problems]}
        found = super()._json()
        return {**about, **more, **found, "notes": [*self.notes, *self.remarks]}

    # -- for jobs ----------------------------------------------------------------------------------

    def _cases(self) -> Iterator[Case]:
        """Yield everything that was checked."""
        for each in self._verdicts:
            outcome = "failed" if each.fails(self.fail_if) else "undecided" if each.exceeded else "passed"
            losses = each.worst if isinstance(each, Decision) else ()
            name = f"{each.name}, floor" if isinstance(each, Floor) else each.name
            yield Case(name, outcome, f"{each.observed}; shown: {each.verdict}", str(each), losses)
        for measure, limit in self.max_query_drop:
            losses = tuple(loss for name, _, loss in self.query_drops if name == measure)
            lost = f"{counted(len(losses), self.unit)} {verb(len(losses), 'loses', 'lose')} more than {limit:g}"
            outcome, kind = ("failed", DROPPED) if losses else ("passed", WITHIN)
            yield Case(f"{measure}, drop per {self.unit}", outcome, kind, f"{measure}: {lost}", losses[:WORST])
        for kind in self.fail_on:
            texts = [text for each, text in self.problems if each == kind]
            outcome = "failed" if texts else "passed"
            yield Case(f"fail_on {kind}", outcome, kind, f"{kind}: {'; '.join(texts) or 'nothing found'}")

    def to_junit(self) -> str:
        """Return JUnit's XML: a test case for everything that was checked, with the observed fact and what it shows."""
        return junit(self._against, [*self._cases()])

    def annotations(self) -> list[str]:
        """Return lines that GitHub shows next to a pull request: an error, a warning or a notice for each case."""
        return github_annotations(self._against, [*self._cases()])


def check(
    evaluation: Evaluation | Scores,
    new: str,
    *,
    baseline: str | Scores | None = None,
    max_drop: LimitsLike | None = None,
    max_query_drop: LimitsLike | None = None,
    min: LimitsLike | None = None,
    fail_if: FailIf = "drop",
    query_groups: QueryGroups | None = None,
    fail_on: Collection[FailOn] = (),
    alpha: float = 0.05,
    worst: int = WORST,
    other_judgments: OtherJudgments = "error",
    warn: bool = True,
) -> Check:
    """Check that a new system does not drop by more than is allowed against a baseline, or reaches a floor.

    new: the name of a system. baseline: the name of another system, or stored scores of one system, from `read_scores`.
        Queries that only one of them has are left out, and counted in the notes.
    max_drop: the drop of the mean that is allowed: a number, a percentage of the baseline's mean such as "2%", or one
        of these for each measure, as {"nDCG@10": 0.02} or "nDCG@10=0.02 AP=2%".
    max_query_drop: the drop of a single query that is allowed, for all measures or for each.
    min: a floor for the new system's mean, for all measures or for each. "60%" is 0.6 of a measure with scores from 0
        to 1.
    fail_if: `drop` fails if the observed mean breaks its limit. `worse` fails only if that is shown beyond these
        queries, for noisy judgments. `undecided` fails unless the contrary is shown; limits that no result on these
        queries could meet are refused.
    query_groups: {query: group} or a file. Each group is checked as well, with limits at alpha divided by the number
        of groups.
    fail_on: also fail if runs answer queries without judgments or have hardly any judged document (`unmatched`); if
        they lack judged queries, or new and baseline have different queries (`missing`); if they have `ties`; or if
        documents in the top 10 are `unjudged`.
    alpha: the chance that what is shown beyond these queries is wrong.
    worst: how many of the largest losses are named for each measure.
    other_judgments: `error` fails if the stored scores were made with different judgments, `warn` compares them. Scores
        from JSON files know their judgments, scores from CSV files do not.
    warn: give the notes as one CalipersWarning.

    A system with hardly any judged document never passes, nor does one that lacks more than half of the judged queries,
    unless `missing` or `like` of the experiment say how these count. Errors of texts, such as TER, are negated.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.50, 0.31, 0.60, 0.42], [0.51, 0.30, 0.60, 0.41]], ["new", "old"], measure="AP")
    >>> found = check(scores, "new", baseline="old", max_drop=0.02)
    >>> found.failed, found.observed, found.verdict, found.decisions[0].worst[0].query
    (False, 'ok', 'undecided', '1')
    >>> perfect = cal.as_scores([[1.0] * 10], ["new"], measure="Success@1")
    >>> round(check(perfect, "new", min=0.9).floors[0].low, 3)  # 0.05^(1/10), not 1
    0.741
    """
    _check_settings(alpha, fail_on, other_judgments)
    check_choice("fail_if", fail_if, FAIL_IF)
    if isinstance(evaluation, Evaluation) and evaluation.texts is not None:
        evaluation = evaluation.scores.larger_is_better
    if isinstance(baseline, Scores):
        baseline = baseline.larger_is_better
    limits = _Limits.of(_known_ends(evaluation), max_drop, max_query_drop, min)
    if not (limits.drop or limits.query_drop or limits.floor):
        raise CalipersError("there is nothing to check: give max_drop, max_query_drop or min")
    if (limits.drop or limits.query_drop) and baseline is None:
        raise CalipersError("max_drop and max_query_drop compare the new system with a baseline: name one")
    check_whole("worst", worst, 0)
    if isinstance(evaluation, Evaluation) and fail_if == "undecided":
        wanted = {} if query_groups is None else read_query_groups(query_groups)
        limits.refuse_undecidable(evaluation.known.queries, wanted, Rules(alpha, fail_if, worst, "query"))
    scores = evaluation.scores if isinstance(evaluation, Evaluation) else evaluation
    if scores.lower:
        name = sorted(scores.lower)[0]
        raise CalipersError(f"smaller values of {name} are better; check takes measures for which larger is better")
    rules = Rules(alpha, fail_if, worst, scores.unit)
    fresh = scores.of_systems([new])
    old = _baseline(scores, baseline)
    refuse_unmatched(fresh, *([] if old is None else [old]))
    refuse_incomplete_runs(fresh, *([] if old is None else [old]))
    changed, remarks = judgments_of_both(fresh, old, other_judgments)
    pair = _Pair.of(fresh, old)
    notes = [*changed, *([] if old is None else notes_on_both(fresh, old, len(pair.queries)))]
    decisions, floors = limits.decide(pair, rules)
    if isinstance(evaluation, Evaluation) and isinstance(baseline, str):
        decisions = [_with_rankings(each, evaluation, baseline, new, pair) for each in decisions]
    if query_groups is not None:
        groups = fresh.by(query_groups)
        notes += groups.notes
        corrected = rules._replace(alpha=alpha / len(groups))
        for group, part in groups.items():
            more = limits.decide(pair.of_queries(part.queries), corrected, group)
            decisions, floors = [*decisions, *more[0]], [*floors, *more[1]]
    problems = problems_of_runs(scores, [new, *([baseline] if isinstance(baseline, str) else [])], fail_on)
    problems += [] if old is None else [("missing", note) for note in different_queries(fresh, old, len(pair.queries))]
    warn_user(notes, warn)
    return Check(
        new=new,
        old=None if old is None else old.systems[0],
        decisions=tuple(decisions),
        floors=tuple(floors),
        query_drops=tuple(limits.query_drops(pair)),
        problems=tuple(problems),
        fail_if=fail_if,
        fail_on=tuple(dict.fromkeys(fail_on)),
        max_query_drop=tuple(limits.query_drop.items()),
        alpha=alpha,
        notes=(*scores.notes, *notes),
        remarks=remarks,
        unit=scores.unit,
    )


def _check_settings(alpha: float, fail_on: Collection[str], other_judgments: str) -> None:
    if not 0 < alpha < 0.5:
        raise CalipersError(f"alpha {alpha:g} is not between 0 and 0.5")
    if isinstance(fail_on, str):
        raise CalipersError(f"fail_on '{fail_on}' is a text; expected a list, such as ['{fail_on}']")
    for each in fail_on:
        if each == UNDECIDED:
            raise CalipersError("fail_on 'undecided' is now fail_if 'undecided'")
        if each not in FAIL_ON:
            raise CalipersError(f"fail_on '{each}' is unknown; expected {', '.join(FAIL_ON)}")
    if other_judgments not in OTHER_JUDGMENTS:
        raise CalipersError(f"other_judgments '{other_judgments}' is unknown; expected {' or '.join(OTHER_JUDGMENTS)}")


def _known_ends(evaluation: Evaluation | Scores) -> dict[str, Ends]:
    """Return the lowest and the highest possible score of each measure, without scoring."""
    if isinstance(evaluation, Evaluation):
        return {name: ends_of(measure) for name, measure in evaluation.measures.items()}
    known: Mapping[str, Ends] = evaluation.metadata.get("ends", {})
    measures: Sequence[Measure | str] = evaluation.definitions or evaluation.measures
    each = zip(evaluation.measures, measures, evaluation.values, strict=True)
    return {name: ends_around(known.get(name) or ends_of(measure), values) for name, measure, values in each}


def _baseline(scores: Scores, baseline: str | Scores | None) -> Scores | None:
    """Return the scores of the baseline under the same measures, in the same order."""
    if baseline is None or isinstance(baseline, str):
        return None if baseline is None else scores.of_systems([baseline])
    if len(baseline.systems) != 1:
        raise CalipersError(f"the baseline has scores of {len(baseline.systems)} systems: expected one")
    places = [measure_place(name, baseline.measures, "measure of the baseline") for name in scores.measures]
    return replace(
        baseline,
        measures=scores.measures,
        values=baseline.values[places],
        reasons=baseline.reasons[places],
        definitions=(),
    )


def _with_rankings(decision: Decision, evaluation: Evaluation, old: str, new: str, pair: _Pair) -> Decision:
    """Return the decision about a measure without any change, with whether the rankings are the same as well."""
    if decision.better or decision.losses:
        return decision
    scored = ~np.isnan(pair.values[pair.measures.index(decision.measure)]).any(axis=0)
    queries = [query for query, both in zip(pair.queries, scored, strict=True) if both]
    runs = [evaluation.runs[evaluation.systems.index(name)] for name in (old, new)]
    read = [each for each in (evaluation.measures[decision.measure].form.reach, evaluation.options.depth) if each]
    same = same_rankings(queries, runs, min(read, default=None))
    return replace(decision, same_rankings=same)


class _Pair(NamedTuple):
    """Scores of the old and the new system on the queries that both have. Without a baseline, old scores are NaN."""

    measures: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats  # [measure, old or new, query]

    @staticmethod
    def of(new: Scores, old: Scores | None) -> _Pair:
        if old is None:
            values = np.stack([np.full_like(new.values[:, 0], np.nan), new.values[:, 0]], axis=1)
            return _Pair(new.measures, new.queries, values)
        place = {query: q for q, query in enumerate(old.queries)}
        shared = [q for q, query in enumerate(new.queries) if query in place]
        if not shared:
            raise CalipersError(f"{new.systems[0]} and {old.systems[0]} have no query in common")
        queries = tuple(new.queries[q] for q in shared)
        before = old.values[:, 0][:, [place[query] for query in queries]]
        return _Pair(new.measures, queries, np.stack([before, new.values[:, 0][:, shared]], axis=1))

    def of_queries(self, queries: Collection[str]) -> _Pair:
        """Return the pair on some of its queries."""
        wanted = frozenset(queries)
        kept = [q for q, query in enumerate(self.queries) if query in wanted]
        return self._replace(queries=tuple(self.queries[q] for q in kept), values=self.values[:, :, kept])


class _Limits(NamedTuple):
    """Limits by measure."""

    ends: dict[str, Ends]
    drop: dict[str, Drop]
    query_drop: dict[str, float]
    floor: dict[str, float]

    @staticmethod
    def of(
        ends: dict[str, Ends], drop: LimitsLike | None, query_drop: LimitsLike | None, floor: LimitsLike | None
    ) -> _Limits:
        of_queries = drops_of("max_query_drop", query_drop, ends)
        return _Limits(
            ends,
            drops_of("max_drop", drop, ends, percent=True),
            {name: limit.value for name, limit in of_queries.items()},
            floors_of(floor, ends),
        )

    def refuse_undecidable(self, queries: Sequence[str], wanted: Mapping[str, Collection[str]], rules: Rules) -> None:
        """Fail if no result on so few queries, or on those of a group, could show that a limit is kept."""
        groups = {group: count for group, each in wanted.items() if (count := len({*queries} & {*each}))}
        for group, count in {"": len(queries), **groups}.items():
            used = rules._replace(alpha=rules.alpha / len(groups)) if group else rules
            for name, drop in self.drop.items():
                refuse_undecidable_drop(name_of(name, group), drop, self.ends[name], count, used)
            for name, floor in self.floor.items():
                refuse_undecidable_floor(name_of(name, group), floor, self.ends[name], count, used)

    def decide(self, pair: _Pair, rules: Rules, group: str = "") -> tuple[list[Decision], list[Floor]]:
        """Return the verdicts about drops and about floors."""
        decisions, floors = [], []
        for name, values in zip(pair.measures, pair.values, strict=True):
            ends = ends_around(self.ends[name], values)
            if name in self.drop:
                decisions.append(decision_of(name, group, self.drop[name], ends, values, pair.queries, rules))
            if name in self.floor:
                floors.append(floor_of(name, group, self.floor[name], ends, values[1], rules))
        return decisions, floors

    def query_drops(self, pair: _Pair) -> list[tuple[str, float, Loss]]:
        """Return the queries that lose more than is allowed, largest loss first."""
        found = []
        for name, values in zip(pair.measures, pair.values, strict=True):
            if name in self.query_drop:
                limit = self.query_drop[name]
                losses = losses_of(Differences.of(values, NEW, OLD), values, pair.queries)
                found += [(name, limit, loss) for loss in losses if round(-loss.difference - limit, DIGITS) > 0]
        return sorted(found, key=lambda each: each[2].difference)


def _rows(columns: tuple[str, ...], found: Sequence[MeanVerdict]) -> Table:
    """Return one row per verdict, with its group of queries if there are groups."""
    names = ("group", *columns) if any(each.group for each in found) else columns
    rows = tuple(tuple(getattr(each, name) for name in names) for each in found)
    return Table(names, tuple(tuple("(all)" if cell == "" else cell for cell in row) for row in rows))
