"""Between which values measures of blended ratios lie, whatever the grades of unknown documents.

A relevant document adds u = 1 + beta * gain to the numerators of the ratios from its rank r on, which are divided by
r + beta * cg*(r). The more it is worth, the larger is every ratio from its rank on, as its worth adds no more below the
line than above it and no ratio exceeds 1; and the smaller is every ratio above its rank.

*Sums of ratios* (Q, NCU): with m relevant unknown documents, of one possible worth that is no smaller than that of the
relevant ones of the list, the sum is largest where these m stand highest and smallest where they stand lowest, and m is
tried from 0 to all. Where worths differ, or documents are tied, the range is an outer one: the c-th relevant document
stands no higher and no lower than in these two cases, has at most the c largest and at least the c smallest worths down
to it, and the ideal list gains at most and at least so much.

*One ratio* (O-measure, P-measure): the rank at which it is taken and the grade of the document there are tried; what
stands above is as high, or as low, as can be, and what stands below the opposite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints
from calipers.measures.forms.gradings import NoRange, Unknown
from calipers.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from calipers.measures.forms.blended import OfBlendedRatios

    Bools = NDArray[np.bool_]
MOST_CELLS = 1 << 24  # of a table of numbers of relevant documents and ranks: else there is no range


class OpenList(Record):
    """One list: its relevant documents, and its unknown ones by rank."""

    first: Ints  # of the relevant documents that it has: the ranks of their ties
    last: Ints
    grade: Floats
    worth: Floats  # u
    pool: Floats  # u of all relevant documents of the query
    row: Ints  # of the unknown documents that it has
    unknown_first: Ints
    unknown_last: Ints
    hidden: Ints  # rows of unknown documents that it does not have
    grades: Floats  # that are possible
    possible: Floats  # u of each: 0 where it is not relevant

    @classmethod
    def of(cls, form: OfBlendedRatios, unknown: Unknown, i: int) -> OpenList:
        lists = unknown.lists
        judged = np.arange(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        judged = judged[lists.grade[judged] >= form.rel]
        judged = judged[np.lexsort((lists.last[judged], lists.first[judged]))]
        q = int(lists.query[i])
        worth = lists.pool.worth(form.worth)
        pool = worth[int(lists.pool.offsets[q]) : int(lists.pool.offsets[q + 1])]
        rows = np.arange(int(unknown.offsets[i]), int(unknown.offsets[i + 1]))
        seen, hidden = rows[unknown.seen[rows]], rows[~unknown.seen[rows]]
        seen = seen[np.argsort(unknown.first[seen], kind="stable")]
        if (np.asarray(form.gain(unknown.grades)) < 0).any() or (pool < 0).any():
            raise NoRange("no range of blended ratios is known where a gain is negative")
        return cls(
            lists.first[judged].astype(np.int64),
            lists.last[judged].astype(np.int64),
            lists.grade[judged],
            worth[lists.document[judged]],
            pool[pool > 0],
            seen,
            unknown.first[seen].astype(np.int64),
            unknown.last[seen].astype(np.int64),
            hidden,
            unknown.grades,
            np.asarray(form.worth(unknown.grades)),
        )

    @property
    def settled(self) -> bool:
        """Whether no grade of an unknown document could make a difference."""
        return not self.unknown or not (self.possible > 0).any()

    @property
    def tied(self) -> bool:
        return bool((self.first != self.last).any() or (self.unknown_first != self.unknown_last).any())

    @property
    def unknown(self) -> int:
        return len(self.row) + len(self.hidden)

    @property
    def numbers(self) -> Ints:
        """How many of the unknown documents may be relevant."""
        return np.arange(self.unknown if self.lowest > 0 else 0, self.unknown + 1)

    def grade_of(self, worth: float) -> float:
        return float(self.grades[int(np.flatnonzero(self.possible == worth)[0])])

    @property
    def lowest(self) -> float:
        """The least worth that is possible, 0 where a document may be irrelevant."""
        return float(self.possible.min())

    @property
    def least(self) -> float:
        """The least worth of a relevant document."""
        return float(self.possible[self.possible > 0].min())

    @property
    def most(self) -> float:
        return float(self.possible.max())

    def below(self, rank: Ints, *more: tuple[float, Ints | int]) -> Floats:
        """r + beta * cg*(r): the gains of the best documents of the pool and of so many more of some worths."""
        total = np.asarray(rank, np.float64)
        for height, beyond in self._levels([worth for worth, _ in more]):
            count: Ints | int = int((self.pool - 1.0 >= beyond).sum())
            for worth, times in more:
                if worth > 0 and worth - 1.0 >= beyond:
                    count = count + times
            total = total + height * np.minimum(rank, count)
        return total

    def _levels(self, more: list[float]) -> list[tuple[float, float]]:
        gains = np.unique(np.concatenate([self.pool, np.array(more)]))
        gains = (gains - 1.0)[gains > 1.0]
        return list(zip(np.diff(gains, prepend=0.0).tolist(), gains.tolist(), strict=True))


class RatioSums(Record):
    """A sum of ratios at relevant documents, and what it is divided by."""

    total: Callable[[Ints], Floats] | None  # of how many documents are relevant; None: the stops of all of them
    stop: Callable[[Floats], Floats] | None = None  # how likely a reader stops at a document of a grade; None: 1
    stops: float = 0.0  # of all relevant documents of the query together
    cutoff: int | None = None
    gamma: float = 1.0  # the c-th ratio counts gamma^(c - 1)


def graded_sums(form: OfBlendedRatios, unknown: Unknown, sums: Sequence[RatioSums], largest: bool) -> Floats:
    """A grading of the unknown documents under which the sum of ratios of each list is extreme."""
    grade = unknown.all(unknown.grades[0])
    for i, of_list in enumerate(sums):
        one = OpenList.of(form, unknown, i)
        if one.settled:
            continue
        _, tight, number = sums_of_ratios(one, of_list, largest)
        if not tight:
            raise NoRange("its relevant documents differ in worth, or are tied")
        rows, given = raised_by_number(one, number, largest)
        grade[rows] = given
    return grade


def outer_sums(form: OfBlendedRatios, unknown: Unknown, sums: Sequence[RatioSums], largest: bool) -> Floats:
    """Of each list: what no sum of its ratios passes."""
    lists = enumerate(sums)
    return np.array([sums_of_ratios(OpenList.of(form, unknown, i), of_list, largest)[0] for i, of_list in lists])


def sums_of_ratios(one: OpenList, sums: RatioSums, largest: bool) -> tuple[float, bool, int]:
    """The end of the range of a sum of ratios; whether it is attained; and by how many relevant unknown documents."""
    numbers, shown = one.numbers, len(one.row)
    member, first, last = _columns(one)
    if len(numbers) * max(len(member), 1) > MOST_CELLS:
        raise NoRange("no range is known where lists have so many unjudged documents")
    taken = np.minimum(numbers, shown) if largest else np.maximum(numbers - len(one.hidden), 0)
    place = member if largest else shown - 1 - member
    known = member < 0
    held = known | (place < taken[:, None])  # [number, column]
    count = np.cumsum(held, axis=1, dtype=np.int64)
    rank = packed_ranks(first, last, count, largest)
    weight = np.where(held, sums.gamma ** np.maximum(count - 1, 0), 0.0)
    if sums.cutoff is not None:
        weight = np.where(rank <= sums.cutoff, weight, 0.0)
    relevant = one.possible > 0
    stop = np.ones(len(one.grades)) if sums.stop is None else np.asarray(sums.stop(one.grades))
    own = np.ones(len(one.grade)) if sums.stop is None else np.asarray(sums.stop(one.grade))
    least, most = float(stop[relevant].min()), float(stop[relevant].max())
    single = one.least == one.most and least == most
    tight = not one.tied and single and bool((most * one.worth <= own * one.most * (1.0 + 1e-12)).all())
    if tight:
        at = np.where(known, -1 - member, 0)
        worth = np.where(known, np.append(one.worth, 0.0)[at], one.most)
        weight = weight * np.where(known, np.append(own, 0.0)[at], most)
        ratio = np.cumsum(np.where(held, worth, 0.0), axis=1) / one.below(rank, (one.most, numbers[:, None]))
        under = sums.stops + numbers * most
    else:
        there, elsewhere = (one.most, one.least) if largest else (one.least, one.most)
        ordered = np.sort(one.worth)[::-1] if largest else np.sort(one.worth)
        above = _extreme_sums(ordered, there, np.minimum(numbers, shown), count, largest)
        ratio = np.minimum(above / one.below(rank, (elsewhere, numbers[:, None])), 1.0)
        weight = weight * (max(own.max(initial=0.0), most) if largest else min(own.min(initial=np.inf), least))
        under = sums.stops + numbers * (least if largest else most)
    if sums.total is not None:
        under = sums.total(len(one.pool) + numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(under > 0, np.where(held, weight * ratio, 0.0).sum(axis=1) / under, np.nan)
    if not tight:
        value = np.minimum(value, 1.0)
    if np.isnan(value).all():
        return np.nan, tight, int(numbers[0])
    best = int(np.nanargmax(value) if largest else np.nanargmin(value))
    return float(value[best]), tight, int(numbers[best])


def raised_by_number(one: OpenList, number: int, largest: bool) -> tuple[Ints, Floats]:
    """The rows of unknown documents, and grades, of which so many, the highest or the lowest, are relevant."""
    rows = np.concatenate([one.row, one.hidden]) if largest else np.concatenate([one.hidden, one.row[::-1]])
    grade = np.full(len(rows), one.grade_of(one.lowest))
    grade[:number] = one.grade_of(one.most)
    return rows, grade


def graded_by_list(
    form: OfBlendedRatios, unknown: Unknown, of: Callable[[OpenList], tuple[Ints, Floats]], alike: bool = False
) -> Floats:
    """A grading of the unknown documents of lists without ties, list by list.

    alike: only where all relevant documents of a list have one grade, so that the first of the best is the first.
    """
    grade = unknown.all(unknown.grades[0])
    for i in range(len(unknown.lists)):
        one = OpenList.of(form, unknown, i)
        if one.settled:
            continue
        if one.tied:
            raise NoRange("its lists have ties")
        if alike and len({*one.grade.tolist(), *one.grades[one.possible > 0].tolist()}) > 1:
            raise NoRange("its relevant documents differ in grade")
        rows, given = of(one)
        grade[rows] = given
    return grade


def first_ratio(one: OpenList, largest: bool) -> tuple[Ints, Floats]:
    """Grades under which the ratio at the first relevant document of a list without ties is extreme."""
    rows = np.concatenate([one.row, one.hidden])
    above = one.unknown_first < (one.first[0] if len(one.first) else np.inf)
    grade = np.full(len(rows), one.grade_of(one.lowest))
    if one.lowest > 0:  # every unknown document is relevant: the first is the first
        raise NoRange("every grade is relevant")
    ranks = one.unknown_first[above]
    known = (one.worth[0], one.first[:1]) if len(one.first) else None
    if largest:
        found = []
        if known:
            found.append(known[0] / one.below(known[1])[0])
        if len(ranks) and (not found or one.most / one.below(ranks[:1], (one.most, 1))[0] > found[0]):
            grade[0] = one.grade_of(one.most)
        return rows, grade
    behind = len(rows) - 1 - np.arange(len(ranks))  # documents below each, or not retrieved
    value = one.least / one.below(ranks, (one.least, 1), (one.most, behind))
    last = len(ranks)  # where none above the first known one is relevant
    if known:
        value = np.append(value, known[0] / one.below(known[1], (one.most, len(rows) - last)))
    elif len(one.hidden) or len(one.pool):
        value = np.append(value, 0.0)
    at = int(np.argmin(value))
    grade[at:] = one.grade_of(one.most)
    if at < last:
        grade[at] = one.grade_of(one.least)
    elif not known:
        grade[: len(one.row)] = one.grade_of(one.lowest)
    return rows, grade


def preferred_ratio(one: OpenList, largest: bool) -> tuple[Ints, Floats]:
    """Grades under which the ratio at the first document of the best grade of a list without ties is extreme."""
    rows = np.concatenate([one.row, one.hidden])
    shown = len(one.row)
    best = float(one.grade.max(initial=-np.inf))
    at_best = one.first[one.grade == best][:1]
    sums = np.concatenate([[0.0], np.cumsum(one.worth)])
    worthless = one.grade_of(one.lowest)
    hidden = _extreme_grade(one, np.ones(len(one.grades), bool), not largest)
    assert hidden is not None
    candidates: list[tuple[float, Floats]] = []
    if not len(one.first) and one.lowest == 0 and (len(one.pool) or (len(one.hidden) and one.most > 0)):
        none = np.full(len(rows), worthless)  # no relevant document is found
        none[shown:] = one.grade_of(one.most)
        candidates.append((0.0, none))
    possible = one.grades[(one.possible > 0) & (one.grades >= best)].tolist()
    for grade, is_known in [*((best, True) for _ in at_best), *((each, False) for each in possible)]:
        over = _extreme_grade(one, one.grades < grade, largest)
        under = _extreme_grade(one, one.grades <= grade, not largest)
        if is_known:
            ranks, own, above = at_best, 0.0, np.searchsorted(one.unknown_first, at_best)
        else:
            end = shown if grade > best or not len(at_best) else int(np.searchsorted(one.unknown_first, at_best[0]))
            ranks, own, above = one.unknown_first[:end], float(one.possible[one.grades == grade][0]), np.arange(end)
        behind = shown - above - (0 if is_known else 1)
        fits = ((above == 0) | (over is not None)) & ((behind == 0) | (under is not None))
        ranks, above, behind = ranks[fits], above[fits], behind[fits]
        if not len(ranks):
            continue
        over_worth, over_grade = over or (0.0, worthless)
        under_worth, under_grade = under or (0.0, worthless)
        numerator = sums[np.searchsorted(one.first, ranks, "right")] + above * over_worth + own
        more = ((own, 1), (over_worth, above), (under_worth, behind), (hidden[0], len(one.hidden)))
        value = numerator / one.below(ranks, *more)
        at = int(value.argmax() if largest else value.argmin())
        given = np.full(len(rows), hidden[1])
        given[: above[at]] = over_grade
        given[above[at] : shown] = under_grade
        if not is_known:
            given[above[at]] = grade
        candidates.append((float(value[at]), given))
    if not candidates:
        return rows, np.full(len(rows), worthless)
    return rows, (max if largest else min)(candidates, key=lambda each: each[0])[1]


def _extreme_grade(one: OpenList, allowed: Bools, high: bool) -> tuple[float, float] | None:
    """The largest or smallest worth of these grades, and a grade that has it; None where there is no such grade."""
    if not allowed.any():
        return None
    at = int(one.possible[allowed].argmax() if high else one.possible[allowed].argmin())
    return float(one.possible[allowed][at]), float(one.grades[allowed][at])


def any_ratios(form: OfBlendedRatios, unknown: Unknown, largest: bool, first_only: bool = False) -> Floats:
    """What no ratio of a list, and so no mean of them, passes."""
    lists = range(len(unknown.lists))
    return np.array([any_ratio(OpenList.of(form, unknown, i), largest, first_only) for i in lists])


def any_ratio(one: OpenList, largest: bool, first_only: bool) -> float:
    """What no ratio at a relevant document passes, or 0 where none need be found; NaN where none can be.

    first_only: at one that may be the first.
    """
    found = [] if largest or len(one.first) or one.lowest > 0 else [0.0]
    first = np.concatenate([one.first, one.unknown_first])
    last = np.concatenate([one.last, one.unknown_last])
    own = np.concatenate([one.worth, np.full(len(one.row), one.most if largest else one.least)])
    is_unknown = np.arange(len(first)) >= len(one.first)
    if first_only and len(one.first):
        kept = first <= one.last.min()
        first, last, own, is_unknown = first[kept], last[kept], own[kept], is_unknown[kept]
    if largest:
        for f, end in {*zip(first.tolist(), last.tolist(), strict=True)}:
            above, unknown_above = float(one.worth[one.last < f].sum()), int((one.unknown_last < f).sum())
            tie = np.sort(own[(first == f) & (last == end)])[::-1]
            rank = f + np.arange(len(tie))
            numerator = above + unknown_above * one.most + np.cumsum(tie)
            found.append(float(np.minimum(numerator / one.below(rank, (one.most, unknown_above)), 1.0).max()))
        return max(found, default=np.nan)
    for f, end, worth, unknown in zip(first.tolist(), last.tolist(), own.tolist(), is_unknown.tolist(), strict=True):
        if worth > 0:
            rest = one.unknown - int((one.unknown_last < f).sum()) - int(unknown)
            above = float(one.worth[one.last < f].sum())
            more = ((worth, int(unknown)), (one.most, rest))
            found.append(float((above + worth) / one.below(np.array([end]), *more)[0]))
    return min(found, default=np.nan)


def _columns(one: OpenList) -> tuple[Ints, Ints, Ints]:
    """Relevant and unknown documents of a list by rank: which unknown one each is, or -1 less the place of a relevant
    one, and the ranks of its tie.
    """
    member = np.concatenate([-1 - np.arange(len(one.first)), np.arange(len(one.row))])
    first = np.concatenate([one.first, one.unknown_first])
    last = np.concatenate([one.last, one.unknown_last])
    order = np.lexsort((member, first))
    return member[order], first[order], last[order]


def packed_ranks(first: Ints, last: Ints, count: Ints, largest: bool) -> Ints:
    """[number, column]: the rank of each document that is counted, those of a tie at its top, or at its bottom."""
    start = np.searchsorted(first, first)
    end = np.searchsorted(first, first, "right") - 1
    if not len(first):
        return count
    before = np.where(start > 0, count[:, start - 1], 0)
    return np.maximum(first + count - before - 1 if largest else last - (count[:, end] - count), 1)


def _extreme_sums(known: Floats, worth: float, taken: Ints, count: Ints, largest: bool) -> Floats:
    """[number, column]: the sum of so many of the largest (or smallest) among known worths and some like `worth`."""
    total = np.concatenate([[0.0], np.cumsum(known)])
    ahead = int((known >= worth).sum() if largest else (known <= worth).sum())  # before those of unknown documents
    here = np.minimum(count, ahead)
    mine = np.clip(count - ahead, 0, taken[:, None])
    rest = np.clip(count - ahead - taken[:, None], 0, len(known) - ahead)
    return np.asarray(total[here] + mine * worth + total[ahead + rest] - total[ahead])
