"""Grades of unjudged documents under which a score is largest or smallest: one rule per form.

A rule raises `NoRange` where it does not apply. Forms without a rule have no closed form: all gradings of a list are
tried where they are few. Forms and divisors are final, so that no subclass inherits a rule that does not hold for it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.forms import (
    CUTOFF,
    FOUND,
    RELEVANT,
    Cascade,
    Complement,
    Denominator,
    Form,
    Linear,
    Paired,
    Peak,
    Share,
    Smaller,
    WeightedDepth,
    ZeroIfShort,
)
from calipers.measures.forms.denominators import Ideal, TotalWeight
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.gains import AtLeast, as_gain
from calipers.measures.trec_eval import Unjudged
from calipers.questions.ranges.gradings import (
    GainLevels,
    GradeIncrements,
    Growth,
    NoRange,
    TopWeights,
    Unknown,
    as_they_are,
    at_most,
    by_rank,
    regraded,
)

MEASURES_JUDGING = "it measures how much is judged, which no grade changes: it has no range"


# -- extreme grades ----------------------------------------------------------------------------------------


@singledispatch
def extreme_grades(form: Form, unknown: Unknown, largest: bool) -> Floats:
    """Return a grade for each unknown document under which the score of its list is the largest (or the smallest).

    Gradings that leave the form undefined are not looked for.
    """
    raise NoRange(f"no closed form is known for the range of {type(form).__name__}")


@extreme_grades.register(Linear)
def extreme_grades_of_linear(form: Linear, unknown: Unknown, largest: bool) -> Floats:
    """Each document counts by itself: the largest gain where it has a weight, or the smallest."""
    if as_gain(form.value).measures_judging:
        raise CalipersError(MEASURES_JUDGING)
    levels = GainLevels.of(form.value, unknown.grades, unknown.lists.pool)
    weight = unknown.weights(form.weight)
    return np.asarray(np.where((weight >= 0) == largest, levels.grade[-1], levels.grade[0]))


@extreme_grades.register(Cascade)
def extreme_grades_of_cascade(form: Cascade, unknown: Unknown, largest: bool) -> Floats:
    """Give all documents one grade. If weights do not grow with the rank, a better document never lowers the score."""
    deepest = int(unknown.lists.length.max(initial=0))
    if (np.diff(form.weight.of_ranks(deepest)) > 0).any():
        raise NoRange("no closed form is known for the range of a cascade whose weights grow with the rank")
    return _all_alike(GainLevels.of(form.stop, unknown.grades, unknown.lists.pool), unknown, largest)


@extreme_grades.register(Paired)
def extreme_grades_of_paired(form: Paired, unknown: Unknown, largest: bool) -> Floats:
    """One more relevant document never lowers the sum of precisions."""
    return _all_alike(GainLevels.of(AtLeast(form.rel), unknown.grades, unknown.lists.pool), unknown, largest)


@extreme_grades.register(Peak)
def extreme_grades_of_peak(form: Peak, unknown: Unknown, largest: bool) -> Floats:
    """A better document never lowers the largest gain."""
    return _all_alike(GainLevels.of(form.value, unknown.grades, unknown.lists.pool), unknown, largest)


@extreme_grades.register(Share)
def extreme_grades_of_share(form: Share, unknown: Unknown, largest: bool) -> Floats:
    """Grades change the divisor, too: a search over how many documents reach each level of gain."""
    growth = growth_of(form.by, form.of, unknown)
    if growth is None:
        return extreme_grades(form.of, unknown, largest)
    increments = grade_increments(form.of, unknown, growth.levels, largest, growth.most)
    return regraded(increments, growth, unknown, largest)


@extreme_grades.register(ZeroIfShort)
def extreme_grades_of_zero_if_short(form: ZeroIfShort, unknown: Unknown, largest: bool) -> Floats:
    return extreme_grades(form.of, unknown, largest)


@extreme_grades.register(Complement)
def extreme_grades_of_complement(form: Complement, unknown: Unknown, largest: bool) -> Floats:
    return extreme_grades(form.of, unknown, not largest)


@extreme_grades.register(Unjudged)
def extreme_grades_of_unjudged(form: Unjudged, unknown: Unknown, largest: bool) -> Floats:
    raise CalipersError(MEASURES_JUDGING)


def _all_alike(levels: GainLevels, unknown: Unknown, largest: bool) -> Floats:
    """Return the grading that gives all documents the largest gain, or the smallest."""
    return unknown.all(levels.grade[-1 if largest else 0])


# -- divisors ------------------------------------------------------------------------------------------------


@singledispatch
def growth_of(by: Denominator, form: Form, unknown: Unknown) -> Growth | None:
    """Return how a divisor depends on the grades of unknown documents, or None if it does not."""
    raise NoRange("no closed form is known for the range of what is divided by this")


@growth_of.register(CUTOFF)
@growth_of.register(FOUND)
@growth_of.register(TotalWeight)
def growth_of_cutoff(by: Denominator, form: Form, unknown: Unknown) -> None:
    """No grade changes it."""


@growth_of.register(Ideal)
def growth_of_ideal(by: Ideal, form: Form, unknown: Unknown) -> Growth:
    linear = weighted_sum(form)
    if linear is None:
        raise NoRange("no closed form is known for the range of a share of the ideal of a form that is not linear")
    weight = linear.weight
    found = weight.of_ranks(weight.cutoff or int(unknown.lists.pool.size.max(initial=0)) + unknown.deepest)
    if (found < 0).any():
        raise NoRange("no closed form is known for the range of a share of the ideal where a weight is negative")
    return Growth.of_pool(linear.value, unknown, TopWeights(found), weight.cutoff)


@growth_of.register(RELEVANT)
def growth_of_relevant(by: RELEVANT, form: Form, unknown: Unknown) -> Growth:
    return Growth.of_pool(AtLeast(by.rel), unknown, as_they_are, None)


@growth_of.register(WeightedDepth)
def growth_of_weighted_depth(by: WeightedDepth, form: Form, unknown: Unknown) -> Growth:
    return Growth.of_pool(AtLeast(by.rel), unknown, lambda count, size: by.of_relevant(count), None)


@growth_of.register(Smaller)
def growth_of_smaller(by: Smaller, form: Form, unknown: Unknown) -> Growth:
    """The number of relevant documents, at most the cutoff."""
    growth, most = growth_of(by.one, form, unknown), by.other.constant
    if growth is None or growth.curve is not as_they_are or most is None:
        raise NoRange("no closed form is known for the range of what is divided by this")
    return replace(growth, curve=at_most(int(most)), most=int(most))


# -- numerators ----------------------------------------------------------------------------------------------


@singledispatch
def grade_increments(
    form: Form, unknown: Unknown, levels: GainLevels, largest: bool, most: int | None
) -> GradeIncrements:
    """Return the unknown documents in the order in which raising them adds most (or least), and what each adds.

    most: documents that add nothing are left out beyond this number per list.
    """
    raise NoRange(f"no closed form is known for the range of {type(form).__name__}, divided by what judging changes")


@grade_increments.register(Linear)
def grade_increments_of_linear(
    form: Linear, unknown: Unknown, levels: GainLevels, largest: bool, most: int | None
) -> GradeIncrements:
    """Large gains on large weights, or on small ones."""
    if levels.value != form.value:
        raise NoRange("no closed form is known for the range of a sum of one gain divided by another")
    weight = unknown.weights(form.weight)
    base = form.score(unknown.lists)
    if levels.worth[0]:
        base = base + levels.worth[0] * np.bincount(unknown.list, weight, len(base))
    row = _weighty(unknown, weight, most)
    row = row[np.lexsort((-weight[row] if largest else weight[row], unknown.list[row]))]
    return GradeIncrements(row, unknown.list[row], base, np.diff(levels.worth)[:, None] * weight[row])


def _weighty(unknown: Unknown, weight: Floats, most: int | None) -> Ints:
    """Return the documents that have a weight, and at most `most` documents per list that have none."""
    if most is None:
        return np.arange(len(weight))
    nothing = np.concatenate([[0], np.cumsum(weight == 0)])
    place = nothing[1:] - np.repeat(nothing[unknown.offsets[:-1]], unknown.count)
    return np.flatnonzero((weight != 0) | (place <= most))


@grade_increments.register(Paired)
def grade_increments_of_paired(
    form: Paired, unknown: Unknown, levels: GainLevels, largest: bool, most: int | None
) -> GradeIncrements:
    """Moving a relevant document up raises the sum of precisions: the highest ranks first, or the lowest.

    A tie with r relevant documents after B others adds r (B + 1) h + r (r - 1) q: h is the mean of 1 / rank over its
    ranks, q is what a pair of them adds. One more adds (B + 1) h + 2 r q, and h of each relevant document below.
    """
    row = by_rank(unknown, largest)
    gain = np.zeros((len(levels), len(row)))
    relevant = levels.first_relevant(form.rel)
    if relevant == 0:  # every unknown document is relevant under all grades
        return GradeIncrements(row, unknown.list, form.score(unknown.graded(unknown.all(levels.grade[0]))), gain)
    if relevant is not None:
        gain[relevant - 1] = _added_precision(form, unknown, largest)[row]
    return GradeIncrements(row, unknown.list, form.score(unknown.lists), gain)


def _added_precision(form: Paired, unknown: Unknown, largest: bool) -> Floats:
    """Return what each unknown document adds where all unknown ones above it, or all below it, are relevant too."""
    lists = unknown.lists.with_gain(AtLeast(form.rel))
    shown = np.flatnonzero(unknown.seen)
    member, first, last = unknown.list[shown], unknown.first[shown].astype(np.int64), unknown.last[shown]
    far = int(max(first.max(initial=0), lists.first.max(initial=0))) + 1
    own, judged = member * far + first, lists.list * far + lists.first
    inverse, pair = _in_tie(first, last.astype(np.int64), form.cutoff)
    start, above, upto, end = _around(judged, member, own, far)
    total = np.concatenate([[0.0], np.cumsum(_in_tie(lists.first, lists.last, form.cutoff)[0])])
    below = total[end] - total[upto]
    top, tie, after, bottom = _around(own, member, own, far)
    place = np.arange(len(shown))
    if largest:
        before, together = (above - start) + (tie - top), (upto - above) + (place - tie)
    else:
        before, together = above - start, (upto - above) + (after - 1 - place)
        sums = np.concatenate([[0.0], np.cumsum(inverse)])
        below = below + sums[bottom] - sums[after]
    gained = np.zeros(len(unknown))
    gained[shown] = (before + 1.0) * inverse + 2.0 * together * pair + np.where(inverse > 0, below, 0.0)
    return gained


def _in_tie(first: Ints, last: Ints, cutoff: int | None) -> tuple[Floats, Floats]:
    """Return, for a document of each tie, the mean of 1 / rank down to the cutoff, and half of what a pair adds."""
    size = (last - first + 1).astype(np.float64)
    end = last if cutoff is None else np.minimum(last, cutoff)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(end.max(initial=0)) + 1))])
    shown = np.maximum(end - first + 1, 0)
    inverse = np.where(shown > 0, harmonic[end] - harmonic[np.minimum(first - 1, end)], 0.0)
    inverse = np.where((size == 1) & (shown > 0), 1.0 / first, inverse)
    pair = np.where(size > 1, (shown - first * inverse) / (size * np.maximum(size - 1.0, 1.0)), 0.0)
    return inverse / size, pair


def _around(rows: Ints, member: Ints, tie: Ints, far: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return where a list and one of its ties begin and end, in rows whose keys are list * far + rank."""
    return (
        np.searchsorted(rows, member * far),
        np.searchsorted(rows, tie),
        np.searchsorted(rows, tie, side="right"),
        np.searchsorted(rows, (member + 1) * far),
    )


# -- which unknown documents count -----------------------------------------------------------------------------


@singledispatch
def depends_on_own_list_only(form: Form) -> bool:
    """Return True if a document that a list does not retrieve cannot change the score of the list."""
    return False


@depends_on_own_list_only.register(Linear)
@depends_on_own_list_only.register(Cascade)
@depends_on_own_list_only.register(Paired)
@depends_on_own_list_only.register(Peak)
def depends_on_own_list_only_of_linear(form: Form) -> bool:
    return True


@depends_on_own_list_only.register(Share)
def depends_on_own_list_only_of_share(form: Share) -> bool:
    return form.by.of_cutoff and depends_on_own_list_only(form.of)


@singledispatch
def top_unknown(form: Form) -> tuple[int, int] | None:
    """Return which unknown documents are enough to find the extreme scores, or None if all may count.

    The first number is a rank: documents whose tie begins at this rank or above. The second number is how many of the
    other documents are needed per list.
    """
    return None


@top_unknown.register(Linear)
def top_unknown_of_linear(form: Linear) -> tuple[int, int] | None:
    cutoff = form.weight.cutoff
    if cutoff is None or as_gain(form.value).measures_judging or not form.weights_fall:
        return None
    return cutoff, 0


@top_unknown.register(Share)
def top_unknown_of_share(form: Share) -> tuple[int, int] | None:
    within = top_unknown(form.of)
    return None if within is None else _with_divisor(form.by, within)


@singledispatch
def _with_divisor(by: Denominator, within: tuple[int, int]) -> tuple[int, int] | None:
    """Return which unknown documents are enough once the form is divided."""
    return within if by.of_cutoff else None


@_with_divisor.register(Ideal)
def _with_divisor_of_ideal(by: Ideal, within: tuple[int, int]) -> tuple[int, int]:
    """Below its cutoff, a share of the ideal counts no more documents than the ideal has ranks."""
    return within[0], within[0]
