"""The check of a new version of a system: it must not drop by more than is allowed, or must reach a floor.

A job fails because of what is observed: search is deterministic, so that a drop on these queries is a fact. Whether
the drop goes beyond these queries is another question. `calipers.questions.check.verdicts` has the rules.

With g groups of queries, the limits of each group are those of alpha / g (Bonferroni's correction).

Phan, Thomas & Learned-Miller, Towards practical mean bounds for small samples, ICML 2021. Schuirmann, A comparison of
the two one-sided tests procedure and the power approach for assessing the equivalence of average bioavailability,
Journal of Pharmacokinetics and Biopharmaceutics 1987.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from calipers.collection.judgments import digest_text
from calipers.collection.query_facts import QueryGroups, read_query_groups
from calipers.errors import CalipersError, CheckFailed, place_of, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats
from calipers.measures.registry import Measure
from calipers.questions.check.check_result import Check
from calipers.questions.check.limits import Drop, LimitsLike, drops_of, floors_of, measure_place
from calipers.questions.check.verdicts import (
    FAIL_IF,
    NEW,
    OLD,
    UNDECIDED,
    WORST,
    Decision,
    FailIf,
    Floor,
    Loss,
    Rules,
    decision_of,
    floor_of,
    losses_of,
    name_of,
    refuse_undecidable_drop,
    refuse_undecidable_floor,
)
from calipers.questions.diff.first_documents import same_rankings
from calipers.results.messages import refuse_incomplete_runs, some
from calipers.results.scores import Coverage, Scores
from calipers.statistics.bounded_intervals import Ends, ends_around, ends_of
from calipers.statistics.differences import DIGITS, Differences
from calipers.support.checks import check_choice, check_whole
from calipers.support.plurals import counted, verb

OtherJudgments = Literal["error", "warn"]
OTHER_JUDGMENTS = get_args(OtherJudgments)
FailOn = Literal["unmatched", "missing", "ties", "unjudged"]
FAIL_ON = get_args(FailOn)


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


# -- facts about the data ----------------------------------------------------------------------------


def refuse_unmatched(*each_system: Scores) -> None:
    """Fail if a system has hardly any judged document: its scores mean nothing."""
    for scores in each_system:
        if scores.systems[0] in scores.metadata.get("unmatched", ()):
            raise CheckFailed(
                f"{scores.systems[0]}: hardly any query has a judged document, so that the scores cannot be compared. "
                "Do judgments and runs write document ids in the same way?"
            )


def judgments_of_both(
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


def notes_on_both(new: Scores, old: Scores, shared: int) -> list[str]:
    """Return warnings about queries and conventions that differ."""
    found = different_queries(new, old, shared)
    likes = [scores.metadata.get("like") for scores in (new, old)]
    if "like" in old.metadata and likes[0] != likes[1]:
        by = [like or "Calipers' own" for like in likes]
        found.append(f"the scores follow different conventions: {by[0]} (new) and {by[1]} (old)")
    return found


def different_queries(new: Scores, old: Scores, shared: int) -> list[str]:
    """Return a sentence for each system that has queries which the other one lacks."""
    found = []
    for one, other in ((new, old), (old, new)):
        if count := len(one.queries) - shared:
            known = set(other.queries)
            named = some([query for query in one.queries if query not in known])
            where = f"{verb(count, 'is', 'are')} not in {other.systems[0]} ({named}); left out"
            found.append(f"{counted(count, 'query')} of {one.systems[0]} {where}")
    return found


def problems_of_runs(scores: Scores, systems: Sequence[str], fail_on: Collection[str]) -> list[tuple[str, str]]:
    """Return the problems of runs that `fail_on` can name, as kind and sentence."""
    coverage = scores.coverage
    if coverage is None:
        if wanted := [kind for kind in FAIL_ON if kind in fail_on]:
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
