"""Verdicts about a drop or a mean and its limit: the observed fact, and the conclusion beyond these queries.

Whether the mean of these queries breaks a limit is a fact. Beyond these queries, with an error of at most alpha:

    not worse, not below the floor   the exact lower limit of the mean is not below the threshold
    worse, below the floor           the exact upper limit is below the threshold; or, approximate, Student's upper
                                     limit is below it and the sign-flip test finds a drop (one-sided p <= alpha)
    undecided                        otherwise

The threshold is the floor, or -max_drop for the differences new - old, or 0 for the values new - (1 - share) old, so
that the mean of the baseline need not be known exactly. Exact limits (`calipers.statistics.limits`) need the lowest or
the highest possible score. Where it is unknown, Student's limit takes their place, and the verdict is approximate.

For an undecided measure, `needed` is the number of queries with which the same values would probably lead to a verdict
(power 0.8). Student's limits alone do not keep their promise: where each query loses 1 with probability 0.02, the lower
limit is above -0.01 in 82%, 55% and 36% of the samples of 10, 30 and 50 queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.questions.check.limits import Drop
from calipers.results.averages import mean
from calipers.results.scores import all_equal
from calipers.results.tables import four_digits
from calipers.statistics.bounded_intervals import Ends
from calipers.statistics.differences import DIGITS, Differences
from calipers.statistics.limits import lower_limit, queries_needed, queries_to_show, upper_limit
from calipers.statistics.power import power_one_sided, smallest_n
from calipers.statistics.significance import Settings, randomization
from calipers.support.plurals import counted, plural_of

FailIf = Literal["drop", "worse", "undecided"]
FAIL_IF = get_args(FailIf)
WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "undecided"
BELOW, NOT_BELOW = "below the floor", "not below the floor"
DROPPED, WITHIN = "dropped", "ok"
WORST = 5  # queries with the largest loss that are named
POWER = 0.8  # of the number of queries that would decide
ALL_FLIPS = 14  # queries for which all flips of signs are used
NO_SIGN = "no sign of a drop, but too few to exclude rare losses"
OLD, NEW = np.array([0]), np.array([1])


# -- what values show about a threshold --------------------------------------------------------------


class Evidence(NamedTuple):
    """The side of a threshold on which the mean behind some values lies, and limits of that mean."""

    side: int  # 1: the mean is above the threshold; -1: below it; 0: not known
    low: float  # one-sided limits of the mean
    high: float
    approximate: bool  # the side, or an open question, rests on Student's limits
    hint: bool  # Student's lower limit is above the threshold, but the exact one is not
    needed: int | None  # values that would decide what is not known; None if no number would


def evidence(values: Floats, threshold: float, ends: Ends, changes: Floats, alpha: float) -> Evidence:
    """Return what values show about a threshold.

    ends: the lowest and the highest possible value. changes: values whose signs the sign-flip test flips.
    """
    worst, best = ends
    values = np.clip(values, worst, best) if ends != (None, None) else values  # what rounding added
    students = _students_limits(values, alpha)
    low = students[0] if worst is None else lower_limit(values, worst, alpha)
    high = students[1] if best is None else upper_limit(values, best, alpha)
    if low >= threshold:
        return Evidence(1, low, high, worst is None, False, None)
    if best is not None and high < threshold:
        return Evidence(-1, low, high, False, False, None)
    if students[1] < threshold and p_of_drop(changes) <= alpha:
        return Evidence(-1, low, students[1], True, False, None)
    needed = _needed(values, threshold, ends, alpha)
    return Evidence(0, low, high, worst is None, students[0] > threshold, needed)


def _students_limits(values: Floats, alpha: float) -> tuple[float, float]:
    """Return Student's one-sided limits of a mean. They are NaN for fewer than two values, and for equal values."""
    from scipy.special import stdtrit

    if len(values) < 2 or all_equal(values):
        return math.nan, math.nan
    middle = mean(values.tolist())
    width = float(-stdtrit(len(values) - 1, alpha) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return middle - width, middle + width


def p_of_drop(changes: Floats) -> float:
    """Return the one-sided p value of the sign-flip test of no drop."""
    ordered = np.sort(changes)  # so that the order of the queries does not matter
    settings = Settings(samples="all" if len(ordered) <= ALL_FLIPS else 10_000)
    found = randomization(np.stack([ordered, np.zeros_like(ordered)]), OLD, NEW, settings)
    return float(found.p[0]) / 2 if found.difference[0] < 0 else 1.0


def _needed(values: Floats, threshold: float, ends: Ends, alpha: float) -> int | None:
    """Return the number of values with which a verdict is likely, above or below the threshold."""
    away = mean(values.tolist()) - threshold
    worst, best = ends
    found = [queries_needed(values, threshold, worst, alpha, POWER)] if away > 0 and worst is not None else []
    found += [queries_needed(-values, -threshold, -best, alpha, POWER)] if away < 0 and best is not None else []
    if (away < 0 or not found) and len(values) > 1 and not all_equal(values):
        try:
            effect = abs(away) / float(np.std(values, ddof=1))
            found.append(smallest_n(effect, POWER, alpha, power_one_sided) if effect else None)
        except CalipersError:  # more queries than can be counted
            pass
    return min((number for number in found if number is not None and number > len(values)), default=None)


# -- verdicts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loss:
    """A query on which the new system is worse."""

    query: str
    old: float
    new: float
    difference: float

    def __str__(self) -> str:
        return f"{self.query} {signed(self.difference)} ({four_digits(self.old)} to {four_digits(self.new)})"


@dataclass(frozen=True, kw_only=True)
class MeanVerdict:
    """An observed mean and its limit, and what is shown beyond the queries. `Decision` and `Floor` are verdicts."""

    BROKEN: ClassVar[str]  # what a broken limit is called
    SHOWN: ClassVar[tuple[str, str]]  # what the two sides of the threshold are called: bad, good

    measure: str
    exceeded: bool  # the observed mean breaks the limit
    verdict: str
    approximate: bool  # the verdict, or the lower limit if it is undecided, rests on Student's limits
    low: float  # one-sided limits of the difference, or of the mean
    high: float
    alpha: float
    queries: int
    needed: int | None = None  # queries that would decide an undecided measure; None if no number would
    no_sign: bool = False  # undecided only because of losses that are too rare to be seen on these queries
    group: str = ""  # of queries; empty for all queries
    unit: str = "query"  # document, for summaries

    @property
    def name(self) -> str:
        """The measure, and the group of queries."""
        return name_of(self.measure, self.group)

    @property
    def observed(self) -> str:
        """The observed fact: `dropped`, `below the floor` or `ok`."""
        return self.BROKEN if self.exceeded else WITHIN

    @property
    def limits(self) -> str:
        """The kind of the verdict: exact or approximate."""
        return "approximate" if self.approximate else "exact"

    def fails(self, fail_if: FailIf) -> bool:
        """Return True if a job with this rule fails."""
        bad, good = self.SHOWN
        return {"drop": self.exceeded, "worse": self.verdict == bad, "undecided": self.verdict != good}[fail_if]

    def _shown(self, what: str, open_question: str, rare: str) -> str:
        """Return what is shown beyond the queries. what: the verdict in words. The other texts are reasons of doubt."""
        level = f"{1 - self.alpha:.4g}"
        these = f"these {counted(self.queries, self.unit)}" if self.queries > 1 else f"this {self.unit}"
        if self.verdict != UNDECIDED:
            limit = self._number(self.high if self.verdict == self.SHOWN[0] else self.low)
            how = "yes, approximately" if self.approximate else "yes"
            return f"shown beyond {these}: {how}, {what} ({level} limit {limit})"
        reason = "could be chance" if self.exceeded else rare if self.no_sign else open_question
        limits = f"{level} limits {self._number(self.low)} and {self._number(self.high)}"
        known = [] if math.isnan(self.low) else [limits]
        return f"shown beyond {these}: no ({'; '.join([reason, *known, self.would_tell])})"

    def _number(self, value: float) -> str:
        return four_digits(value)

    @property
    def would_tell(self) -> str:
        """The number of queries that would decide."""
        if self.needed is None:
            return f"unknown how many {plural_of(self.unit)} would tell"
        return f"about {counted(self.needed, self.unit)} would tell"


@dataclass(frozen=True, kw_only=True)
class Decision(MeanVerdict):
    """The mean difference new - old under one measure, and the drop that is allowed."""

    BROKEN, SHOWN = DROPPED, (WORSE, NOT_WORSE)

    old: float  # means over the queries on which both systems have a score
    new: float
    difference: float
    max_drop: float
    better: int  # queries
    losses: int
    worst: tuple[Loss, ...] = ()  # largest loss first
    same_rankings: bool | None = None  # of a measure without any change; None if the rankings are unknown

    def __str__(self) -> str:
        by = f" by more than {self.max_drop:.4g}" if self.max_drop else ""
        shown = self._shown(f"{self.verdict}{by}", "a larger drop is not excluded", NO_SIGN)
        return f"{self._changed() if self.better or self.losses else self._unchanged()}; {shown}"

    def _changed(self) -> str:
        moved = "dropped by" if self.difference < 0 else "rose by"
        allowed = f"more than the {self.max_drop:.4g} allowed" if self.exceeded else f"{self.max_drop:.4g} is allowed"
        counts = f"{self.better:,} better, {self.losses:,} worse of {counted(self.queries, self.unit)}"
        means = f"from {four_digits(self.old)} to {four_digits(self.new)}"
        return f"{self.name} {moved} {four_digits(abs(self.difference))}, {means} ({counts}), {allowed}"

    def _unchanged(self) -> str:
        what = "rankings" if self.same_rankings else "scores"
        but = ", but not all rankings are" if self.same_rankings is False else ""
        could = 100 * (1 - self.alpha ** (1 / self.queries))
        every = f"all {counted(self.queries, self.unit)}" if self.queries > 1 else f"the only {self.unit}"
        return (
            f"{self.name} is unchanged at {four_digits(self.new)}: the {what} are the same on {every}{but}; "
            f"up to {could:.2g}% of other {plural_of(self.unit)} could change "
            f"({1 - self.alpha:.4g} limit)"
        )

    def _number(self, value: float) -> str:
        return signed(value)


@dataclass(frozen=True, kw_only=True)
class Floor(MeanVerdict):
    """The mean of the new system under one measure, and its floor."""

    BROKEN, SHOWN = BELOW, (BELOW, NOT_BELOW)

    mean: float
    floor: float

    def __str__(self) -> str:
        fact = f"below the floor of {self.floor:.4g}" if self.exceeded else f"the floor is {self.floor:.4g}"
        shown = self._shown(self.verdict, "a lower mean is not excluded", "too few to exclude rare low scores")
        return f"mean {self.name} is {four_digits(self.mean)}, {fact}; {shown}"


# -- from scores to verdicts -------------------------------------------------------------------------


class Rules(NamedTuple):
    """Settings of all verdicts: the allowed error, the rule that fails a job, the number of named losses."""

    alpha: float
    fail_if: FailIf
    worst: int
    unit: str


def decision_of(
    measure: str, group: str, allowed: Drop, ends: Ends, values: Floats, queries: Sequence[str], rules: Rules
) -> Decision:
    """Return the verdict about a drop. values: scores of [old or new, query]."""
    differences = Differences.of(values, NEW, OLD)
    both = differences.shared[0]
    if not both.any():
        raise CalipersError(f"no {rules.unit} has a score of both systems under {name_of(measure, group)}")
    n = int(both.sum())
    changes = differences.value[0][both]
    old, new = (mean(row[both].tolist()) for row in values)
    if allowed.relative and old < 0:
        what = "which is negative: give a number instead of a percentage"
        raise CalipersError(f"max_drop of {measure} is a share of the baseline's mean, {what}", parameter="max_drop")
    max_drop = allowed.of(old)
    if rules.fail_if == "undecided":
        refuse_undecidable_drop(name_of(measure, group), allowed, ends, n, rules)
    share = allowed.value if allowed.relative else 0.0
    low, high = ends
    if low is None or high is None:
        worst_case, best_case = None, None
    else:
        worst_case, best_case = low - (1 - share) * high, high - (1 - share) * low
    tested = changes + share * values[0][both]
    threshold = 0.0 if allowed.relative else -max_drop
    found = evidence(tested, threshold, (worst_case, best_case), changes, rules.alpha)
    difference = float(differences.mean[0])
    return Decision(
        measure=measure,
        group=group,
        unit=rules.unit,
        alpha=rules.alpha,
        queries=n,
        exceeded=round(difference + max_drop, DIGITS) < 0,
        verdict={1: NOT_WORSE, -1: WORSE, 0: UNDECIDED}[found.side],
        approximate=found.approximate,
        low=found.low - share * old,
        high=found.high - share * old,
        needed=found.needed,
        no_sign=found.hint,
        old=old,
        new=new,
        difference=difference,
        max_drop=max_drop,
        better=int((changes > 0).sum()),
        losses=int((changes < 0).sum()),
        worst=tuple(islice(losses_of(differences, values, queries), rules.worst)),
    )


def floor_of(measure: str, group: str, floor: float, ends: Ends, values: Floats, rules: Rules) -> Floor:
    """Return the verdict about the mean of the new system. values: its scores."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        raise CalipersError(f"no {rules.unit} has a score under {name_of(measure, group)}")
    if rules.fail_if == "undecided":
        refuse_undecidable_floor(name_of(measure, group), floor, ends, len(defined), rules)
    found = evidence(defined, floor, ends, defined - floor, rules.alpha)
    average = mean(defined.tolist())
    return Floor(
        measure=measure,
        group=group,
        unit=rules.unit,
        alpha=rules.alpha,
        queries=len(defined),
        exceeded=round(average - floor, DIGITS) < 0,
        verdict={1: NOT_BELOW, -1: BELOW, 0: UNDECIDED}[found.side],
        approximate=found.approximate,
        low=found.low,
        high=found.high,
        needed=found.needed,
        no_sign=found.hint,
        mean=average,
        floor=floor,
    )


def losses_of(differences: Differences, values: Floats, queries: Sequence[str]) -> Iterator[Loss]:
    """Yield the losses of the new system, largest first."""
    gained = differences.value[0]  # 0 if one of the systems has no score
    for q in np.argsort(gained, kind="stable").tolist():
        if gained[q] < 0:
            yield Loss(queries[q], float(values[0, q]), float(values[1, q]), float(gained[q]))


# -- limits that no result can meet ------------------------------------------------------------------


def refuse_undecidable_drop(name: str, allowed: Drop, ends: Ends, n: int, rules: Rules) -> None:
    """Fail if even unchanged scores of n queries would leave a drop undecided."""
    low, high = ends
    if low is None or high is None:
        return
    share = allowed.value if allowed.relative else 0.0
    threshold = 0.0 if allowed.relative else -allowed.value
    can = queries_to_show(share * high, threshold, low - (1 - share) * high, rules.alpha)
    what = f"even unchanged scores do not show that {name} does not drop by more than {allowed}"
    _refuse_undecidable(what, n, can, rules.unit)


def refuse_undecidable_floor(name: str, floor: float, ends: Ends, n: int, rules: Rules) -> None:
    """Fail if even the best scores on n queries would leave a floor undecided."""
    low, high = ends
    if low is None or high is None:
        return
    can = queries_to_show(high, floor, low, rules.alpha)
    what = f"even the best scores do not show that the mean of {name} is at least {floor:g}"
    _refuse_undecidable(what, n, can, rules.unit)


def _refuse_undecidable(what: str, n: int, can: int | None, unit: str) -> None:
    if can is not None and can <= n:
        return
    enough = f"no number of {plural_of(unit)} can" if can is None else f"at least {counted(can, unit)} can"
    raise CalipersError(
        f"fail_if 'undecided' cannot be met: on {counted(n, unit)}, {what}; {enough}. Allow more, or choose 'drop' "
        "or 'worse'",
        parameter="fail_if",
    )


# -- words -------------------------------------------------------------------------------------------


def name_of(measure: str, group: str) -> str:
    """Return the name of a measure on a group of queries."""
    return f"{measure} of {group}" if group else measure


def signed(value: float) -> str:
    """Return a difference with its sign and four decimals."""
    return four_digits(value, "+.4f")
