"""Scores of lists with unjudged documents under one measure, and the smallest and largest score of each list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from calipers.errors import CalipersError
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.lists import UNJUDGED, Floats, Lists, Pool
from calipers.measures.exactness import inexact_measures, may_sample, sampling_errors
from calipers.measures.forms import Form
from calipers.measures.registry import Measure
from calipers.questions.ranges.extreme_grades import extreme_grades, top_unknown
from calipers.questions.ranges.gradings import NoRange, Unknown, enumerated, number_of_gradings
from calipers.questions.ranges.open_lists import OpenLists

MOST_GRADINGS = 20_000  # of a list that are tried where there is no closed form
TOO_MANY_GRADINGS = (
    f"its range has no closed form, and a list has more than {MOST_GRADINGS:,} possible gradings, too many to try. "
    "Ranges of any size are known for nDCG, AP, RR, ERR, RBP, P, Recall, Success and other weighted sums of gains"
)
ROWS_AT_ONCE = 2_000_000  # documents whose lists are worked on in one go


@dataclass(frozen=True, eq=False)
class ScoreRange:
    """The ends of the range of each list, and gradings of the unknown documents that attain them."""

    low: Floats
    high: Floats
    lower: Floats  # a grade for each unknown document
    upper: Floats
    exactness: str  # exact or enumerated, and what is not exact of the scores, as `evaluate` says it


@dataclass(frozen=True, eq=False)
class OpenScores:
    """Scores of some systems under one measure, while some of their documents are unjudged."""

    name: str
    measure: Measure  # bound to the judgments
    lists: OpenLists
    grades: Floats  # that an unjudged document may get
    unseen: int  # documents per query that nobody retrieved
    options: ScoringOptions

    @cached_property
    def _block(self) -> Unknown:
        return self.lists.unknown(self.grades, self.unseen, top_unknown(self.measure.form))

    @cached_property
    def score(self) -> Floats:
        """[system, query]: the score of `evaluate`, in which unjudged documents stay unjudged."""
        parts = [_as_judged(self.measure, part, self.options) for part in blocks_of(self._block)]
        return np.concatenate(parts).reshape(self.lists.shape)

    @cached_property
    def range(self) -> tuple[Floats, Floats]:
        """[system, query]: the smallest and the largest score."""
        low, high = (np.concatenate([getattr(part, end) for part in self._ranges]) for end in ("low", "high"))
        return low.reshape(self.lists.shape), high.reshape(self.lists.shape)

    @property
    def exactness(self) -> str:
        """The way in which the ranges were found: exact or enumerated."""
        return _least_exact(part.exactness for part in self._ranges)

    @cached_property
    def _ranges(self) -> list[ScoreRange]:
        return [range_of(self.measure, part, self.options) for part in blocks_of(self._block)]


def bound_to(measure: Measure, pool: Pool, top: float) -> Measure:
    """Return the measure as `evaluate` scores it. Refuse one that a larger grade than any judged one would change."""
    bound = measure.bind(pool)
    wider = measure.bind(Pool(np.array([0, 1]), np.array([max(pool.largest_grade, top)])))
    if repr(bound) != repr(wider) and bound.form != wider.form:
        raise CalipersError(
            f"its scores depend on the largest grade of the judgments, {pool.largest_grade:g}, and unjudged documents "
            f"may get {top:g}. Name the largest grade of the scale in the measure, for example ERR(max_grade={top:g})"
        )
    return bound


def blocks_of(unknown: Unknown) -> Iterable[Unknown]:
    """Yield the lists in blocks that are not too large."""
    lists = unknown.lists
    size = lists.pool.size[lists.query] + unknown.count
    cuts = [0, *(np.flatnonzero(np.diff(np.cumsum(size) // ROWS_AT_ONCE)) + 1).tolist(), len(lists)]
    for start, stop in pairwise(cuts):
        if start < stop:
            yield unknown if stop - start == len(lists) else unknown.part(start, stop)


def scores_of(measure: Measure, options: ScoringOptions, lists: Lists) -> Floats:
    """Return the score of each list."""
    values: Floats = score_lists(lists, [measure], options).values[0]
    return values


def _as_judged(measure: Measure, unknown: Unknown, options: ScoringOptions) -> Floats:
    """Return the scores with unjudged documents as they are: without gain, but with their costs and groups."""
    if not _told_apart(measure.form, unknown):
        return scores_of(measure, options, unknown.lists)
    return scores_of(measure, options, unknown.graded(unknown.all(UNJUDGED)))


def _least_exact(found: Iterable[str]) -> str:
    """Return what holds for all parts that were found in these ways."""
    words = dict.fromkeys(word for each in found for word in each.split(", "))
    return ", ".join(word for word in words if word != "exact" or "enumerated" not in words)


def range_of(measure: Measure, unknown: Unknown, options: ScoringOptions) -> ScoreRange:
    """Return the range of each list: by a closed form where there is one, otherwise by trying all gradings."""
    try:
        gradings = [extreme_grades(measure.form, unknown, largest) for largest in (False, True)]
    except NoRange:
        return _range_by_trying(measure, unknown, options)
    form = measure.form
    matters = None if _told_apart(form, unknown) else form.grade_affects_score
    undefined = np.isnan(form.score(unknown.lists))
    ends = []
    for grade, largest in zip(gradings, (False, True), strict=True):
        value = scores_of(measure, options, unknown.graded(grade, matters))
        if undefined.any():  # nothing is relevant yet, and it may stay so
            nothing = np.where(undefined[unknown.list], _grade_of_least_gain(measure, unknown), grade)
            other = scores_of(measure, options, unknown.graded(nothing, matters))
            better = undefined & (other > value if largest else other < value)
            value = np.where(better, other, value)
            grade = np.where(better[unknown.list], nothing, grade)
        ends.append((value, grade))
    (low, lower), (high, upper) = ends
    return ScoreRange(low, high, lower, upper, _exactness("exact", measure, unknown, lower, upper))


def _range_by_trying(measure: Measure, unknown: Unknown, options: ScoringOptions) -> ScoreRange:
    if number_of_gradings(unknown) > MOST_GRADINGS:
        raise CalipersError(TOO_MANY_GRADINGS)
    lower, upper = enumerated(unknown, lambda lists: scores_of(measure, options, lists))
    low, high = (scores_of(measure, options, unknown.graded(grade)) for grade in (lower, upper))
    how = "enumerated" if len(unknown) else "exact"
    return ScoreRange(low, high, lower, upper, _exactness(how, measure, unknown, lower, upper))


def _exactness(how: str, measure: Measure, unknown: Unknown, *gradings: Floats) -> str:
    """Return how the ends were found, and what `evaluate` says is not exact of scores under these gradings."""
    drawn: set[int] = set()
    if list(may_sample([measure], ties=True)):
        for grade in gradings:
            drawn |= sampling_errors([measure], unknown.graded(grade)).keys()
    return ", ".join((how, *inexact_measures({"": measure}, drawn).values()))


def _told_apart(form: Form, unknown: Unknown) -> bool:
    """Return True if documents without gain differ from each other by their costs."""
    return form.traits.reads_costs and unknown.lists.pool.cost is not None


def _grade_of_least_gain(measure: Measure, unknown: Unknown) -> float:
    return float(unknown.grades[int(np.argmin(measure.form.gain(unknown.grades)))])
