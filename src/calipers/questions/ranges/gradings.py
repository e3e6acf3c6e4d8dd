"""Possible grades of the unjudged documents of lists, and searches for the grades of extreme scores.

An *unknown* document may get any of the possible grades. A *grading* is an array with one grade per unknown document. A
document is *raised* if it moves from the lowest gain, step by step, to a higher one.

Many scores are a quotient of two sums over the steps p of gain. If the best (or the worst) documents are raised first,
both sums depend only on the numbers m_p of unknown documents that reach each step:

    score = (base + sum over p of N_p(m_p)) / (base' + sum over p of D_p(m_p)),     m_1 >= m_2 >= ...

The largest such quotient is found by Dinkelbach's method: for the current value l, maximise numerator - l * denominator
by a dynamic program over p; repeat until l stops growing.

Dinkelbach, On nonlinear fractional programming, Management Science 1967.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Lists, Pool, once
from calipers.measures.weights import Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
else:  # a name for annotations, which nobody reads at run time
    Bools = Any
CELLS = 1 << 22  # of a work matrix: larger blocks are done in parts
Curve = Callable[[Ints, Ints], Floats]  # a function of a number of documents, and of the number of all documents
NOISE = 1e-14  # smallest gain of a step of Dinkelbach's method, as a share of the terms of the sum


class NoRange(CalipersError):
    """Error for forms without a closed form of the extreme scores. Gradings can be enumerated if there are few."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """Lists and their documents of unknown grade: first those that a list retrieves, by rank, then unseen ones.

    The lists are under one tie rule. Their `docid_rank` is known if their documents have ids.
    """

    lists: Lists  # the judged documents
    offsets: Ints  # list i has the unknown documents of rows offsets[i] to offsets[i + 1]
    first: Ints  # per row, the ranks that its tie spans; 0 for a document that is not retrieved
    last: Ints
    place: Ints  # per row, its rank if ties are broken by document id
    grades: Floats  # possible grades of an unknown document, ascending
    most: int = 0  # largest number of unknown documents of a query, those of other lists included
    cost: Floats | None = None  # per row, the cost of reading the document, if known
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def count(self) -> Ints:
        """Number of unknown documents per list."""
        return np.diff(self.offsets)

    @cached_property
    def deepest(self) -> int:
        """Largest number of unknown documents that a query may have."""
        return max(int(self.count.max(initial=0)), self.most)

    @cached_property
    def list(self) -> Ints:
        """The list of each row."""
        return np.repeat(np.arange(len(self.count)), self.count)

    @cached_property
    def seen(self) -> Bools:
        """True for documents that the list retrieves."""
        return np.asarray(self.first > 0)

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, which is called once per key."""
        return once(self.memo, key, make)

    def all(self, grade: float) -> Floats:
        """Return the grading that gives every document this grade."""
        return np.full(len(self), grade)

    def weights(self, weight: Weights) -> Floats:
        """Return the mean weight of each document over the ranks of its tie. It is 0 for unseen documents."""
        return once(self.memo, ("weights", weight), lambda: self._weights(weight))

    def _weights(self, weight: Weights) -> Floats:
        far = np.iinfo(np.int64).max if weight.cutoff is None else weight.cutoff
        row = np.flatnonzero((self.first > 0) & (self.first <= far))
        found = np.zeros(len(self))
        found[row] = weight.mean(self.first[row], self.last[row])
        return found

    def part(self, start: int, stop: int) -> Unknown:
        """Return some of the lists."""
        lists, rows = self.lists, slice(self.offsets[start], self.offsets[stop])
        judged = slice(lists.offsets[start], lists.offsets[stop])
        taken = replace(
            lists,
            query=lists.query[start:stop],
            length=lists.length[start:stop],
            offsets=lists.offsets[start : stop + 1] - lists.offsets[start],
            document=lists.document[judged],
            first=lists.first[judged],
            last=lists.last[judged],
            docid_rank=None if lists.docid_rank is None else lists.docid_rank[judged],
            input_rank=None,
            memo={},
        )
        return Unknown(
            taken,
            self.offsets[start : stop + 1] - self.offsets[start],
            self.first[rows],
            self.last[rows],
            self.place[rows],
            self.grades,
            cost=None if self.cost is None else self.cost[rows],
        )

    def graded(self, grade: Floats, matters: Callable[[Floats], Bools] | None = None) -> Lists:
        """Return the lists with these grades of their unknown documents.

        Each list becomes a query of its own. Its pool holds the judged documents and the list's unknown documents.
        matters: returns True for grades that can change the score. Documents with other grades are left out.
        """
        lists, pool = self.lists, self.lists.pool
        row, judged, size, shown = (
            np.arange(len(self)),
            np.arange(len(pool.grade)),
            pool.size,
            np.arange(len(lists.document)),
        )
        number = judged
        if matters is not None:
            row = np.flatnonzero(matters(grade))
            counts = matters(pool.grade)
            judged, number = np.flatnonzero(counts), np.cumsum(counts) - 1
            size = np.bincount(pool.query[judged], minlength=len(pool.size))
            shown = np.flatnonzero(counts[lists.document])
        of_row, start = self.list[row], np.cumsum(size) - size
        own = size[lists.query]
        more = np.bincount(of_row, minlength=len(lists))
        offsets = np.concatenate([[0], np.cumsum(own + more)])
        old, new = spread(offsets[:-1], own), spread(offsets[:-1] + own, more)
        source = judged[spread(start[lists.query], own)]

        def joined(known: Any, added: Any) -> Any:
            column = np.empty(int(offsets[-1]), known.dtype)
            column[old], column[new] = known[source], added
            return column

        grades = joined(pool.grade, grade[row])
        cost = None
        if pool.cost is not None:
            cost = joined(pool.cost, 1.0 if self.cost is None else self.cost[row])
        of_shown = lists.list[shown]
        document = number[lists.document[shown]] + (offsets[:-1] - start[lists.query])[of_shown]
        seen = self.seen[row]
        member = np.concatenate([of_shown, of_row[seen]])
        place = (lists.first if lists.docid_rank is None else lists.docid_rank)[shown]
        order = np.lexsort((np.concatenate([place, self.place[row][seen]]), member))
        return Lists(
            pool=Pool(offsets, grades, cost=cost),
            query=np.arange(len(lists)),
            length=lists.length,
            offsets=np.searchsorted(member[order], np.arange(len(lists) + 1)),
            document=np.concatenate([document, new[seen]])[order],
            first=np.concatenate([lists.first[shown], self.first[row][seen]])[order],
            last=np.concatenate([lists.last[shown], self.last[row][seen]])[order],
        )


def spread(start: Ints, count: Ints) -> Ints:
    """Return the numbers start, start + 1, ..., `count` of them for each start.

    >>> spread(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(count) - count
    return np.asarray(np.arange(int(count.sum())) + np.repeat(start - before, count))


@dataclass(frozen=True, eq=False)
class GainLevels:
    """Different gains that an unknown document may have, ascending, with one grade for each."""

    worth: Floats
    grade: Floats
    value: Callable[[Floats], Floats]
    grades: Floats  # all possible grades

    @classmethod
    def of(cls, value: Callable[[Floats], Floats], grades: Floats, pool: Pool) -> GainLevels:
        worths = np.asarray(value(grades), np.float64)
        if (worths < 0).any() or (
            len(pool.grade) and (pool.once(("worth", value), lambda: value(pool.grade)) < 0).any()
        ):
            raise CalipersError("a gain is negative: ranges are known for gains of at least 0")
        worth, one = np.unique(worths, return_index=True)
        return cls(worth, grades[one], value, grades)

    def __len__(self) -> int:
        """Return the number of steps by which a document can be raised."""
        return len(self.worth) - 1

    def first_relevant(self, rel: float) -> int | None:
        """Return the step at which an unknown document becomes relevant, or None if it cannot."""
        relevant = self.grades >= rel
        if not relevant.any():
            return None
        return int(np.searchsorted(self.worth, np.asarray(self.value(self.grades[relevant])).min()))


@dataclass(frozen=True, eq=False)
class GradeIncrements:
    """Unknown documents per list, in the order in which they are raised."""

    row: Ints  # of the unknown documents, list by list
    list: Ints  # of each
    base: Floats  # per list, the numerator with every document at the lowest step
    gain: Floats  # [step, row]: what raising the document adds after all documents before it

    def limited(self, most: int | None) -> GradeIncrements:
        """Return the increments with at most `most` documents per list that add nothing.

        More of them would not change any denominator.
        """
        if most is None or not len(self.row):
            return self
        nothing = (self.gain == 0).all(axis=0)
        if not nothing.any():
            return self
        before = np.cumsum(nothing) - nothing
        start = np.searchsorted(self.list, self.list)
        kept = ~nothing | (before - before[start] < most)
        return GradeIncrements(self.row[kept], self.list[kept], self.base, self.gain[:, kept])

    def tables(self) -> tuple[Floats, Ints]:
        """Return what raising m documents adds, [step, list, m], and the number of documents per list."""
        lists = len(self.base)
        count = np.bincount(self.list, minlength=lists)
        place = np.arange(len(self.list)) - (np.cumsum(count) - count)[self.list]
        table = np.zeros((len(self.gain), lists, int(count.max(initial=0)) + 1))
        table[:, self.list, place + 1] = self.gain
        np.cumsum(table, axis=2, out=table)
        return table, count


@dataclass(frozen=True, eq=False)
class Growth:
    """Denominator that depends on the numbers of documents that reach each level of gain.

        denominator = sum over levels j of height_j * curve(n_j + m_j)

    n_j judged and m_j unknown documents are worth at least v_j, and height_j = v_j - v_(j-1).
    """

    levels: GainLevels
    heights: tuple[float, ...]  # per level
    step: tuple[int, ...]  # the step at which unknown documents reach each level; 0: all do, -1: none can
    judged: tuple[Ints, ...]  # per level, the number of judged documents per group that reach it
    curve: Curve
    size: Ints  # number of judged documents per group
    most: int | None  # number of documents from which on more documents change nothing

    @classmethod
    def of(cls, steps: GainLevels, worth: Floats, group: Ints, size: Ints, curve: Curve, most: int | None) -> Growth:
        """Return the denominator. worth, group: one per judged document. size: judged documents per group."""
        levels = np.unique(np.concatenate([worth, steps.worth]))
        levels = levels[levels > 0]
        heights = np.diff(levels, prepend=0.0)
        reached = np.searchsorted(steps.worth, levels)  # the first step with at least this gain
        return cls(
            steps,
            tuple(heights.tolist()),
            tuple(int(r) if r <= len(steps) else -1 for r in reached),
            tuple(np.bincount(group[worth >= level], minlength=len(size)) for level in levels),
            curve,
            size,
            most,
        )

    @classmethod
    def of_pool(cls, value: Callable[[Floats], Floats], unknown: Unknown, curve: Curve, most: int | None) -> Growth:
        """Return the denominator to which all judged documents of a query contribute."""
        pool = unknown.lists.pool
        steps = GainLevels.of(value, unknown.grades, pool)
        worth = np.asarray(pool.once(("worth", value), lambda: value(pool.grade)))
        return cls.of(steps, worth, pool.query, pool.size, curve, most)

    def base(self, group: Ints, unknown: Ints) -> Floats:
        """Return the part that does not depend on the grading: levels that all unknown documents reach, or none."""
        total = np.zeros(len(group))
        for height, step, judged in zip(self.heights, self.step, self.judged, strict=True):
            if step <= 0:
                reach = judged[group] + (unknown if step == 0 else 0)
                total += height * self.curve(reach, self.size[group] + unknown)
        return total

    def table(self, step: int, group: Ints, unknown: Ints, width: int) -> Floats:
        """Return what the levels of a step add if m unknown documents are raised to it, [group, m]."""
        total = np.zeros((len(group), width))
        for height, at, judged in zip(self.heights, self.step, self.judged, strict=True):
            if at == step:
                reach = judged[group][:, None] + np.arange(width)
                total += height * self.curve(reach, (self.size[group] + unknown)[:, None])
        return total


def regraded(increments: GradeIncrements, growth: Growth, unknown: Unknown, largest: bool) -> Floats:
    """Return the grading for which the increments divided by the growth are largest, or smallest."""
    increments = increments.limited(growth.most)
    group = unknown.lists.query
    grade = unknown.all(growth.levels.grade[0])
    if not len(growth.levels) or not len(increments.row):
        return grade
    ends = np.cumsum(np.bincount(increments.list, minlength=len(increments.base)))
    for start, stop in parts_of(np.diff(ends, prepend=0) * len(growth.levels)):
        rows = slice(0 if start == 0 else int(ends[start - 1]), int(ends[stop - 1]))
        part = GradeIncrements(
            increments.row[rows], increments.list[rows] - start, increments.base[start:stop], increments.gain[:, rows]
        )
        table, count = part.tables()
        groups, size = group[start:stop], unknown.count[start:stop]
        below = np.stack([growth.table(p, groups, size, table.shape[2]) for p in range(1, len(growth.levels) + 1)])
        sign = 1.0 if largest else -1.0
        found = best_quotient(sign * part.base, sign * table, growth.base(groups, size), below, count).reached
        place = np.arange(len(part.list)) - (np.cumsum(count) - count)[part.list]
        level = (found[:, part.list] > place).sum(axis=0)
        grade[part.row] = growth.levels.grade[level]
    return grade


def parts_of(width: Ints) -> list[tuple[int, int]]:
    """Return parts of a block, none of them too large. Rows are padded to the widest row of their part."""
    parts, start, widest = [], 0, 1
    for i, here in enumerate(width.tolist()):
        widest = max(widest, here + 1)
        if i > start and (i + 1 - start) * widest > CELLS:
            parts.append((start, i))
            start, widest = i, here + 1
    if start < len(width):
        parts.append((start, len(width)))
    return parts


@dataclass(frozen=True, eq=False)
class Quotients:
    """Largest quotient per problem: its value, and the number of documents that reach each step."""

    value: Floats  # NaN if the denominator is always 0
    reached: Ints  # [step, problem]
    rounds: int  # rounds of the slowest problem


def best_quotient(base: Floats, gained: Floats, under: Floats, below: Floats, count: Ints) -> Quotients:
    """Return the largest (base + sum of gained[p, m_p]) / (under + sum of below[p, m_p]) over m_1 >= m_2 >= ...

    base, under: one per problem. gained, below: [step, problem, m]. count: the largest m. Denominators of 0 are left
    out.
    """
    steps, problems, width = gained.shape
    row = np.arange(problems)
    scale = np.abs(base) + np.abs(gained).max(axis=(0, 2), initial=0.0) + 1e-300
    none, everything = np.zeros((steps, problems), np.int64), np.broadcast_to(count, (steps, problems)).astype(np.int64)

    def quotient(reached: Ints, at: Ints) -> Floats:
        step = np.arange(steps)[:, None]
        top = base[at] + gained[step, at, reached].sum(axis=0)
        bottom = under[at] + below[step, at, reached].sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(bottom > 0, top / bottom, np.nan)

    value, reached = quotient(none, row), none.copy()
    other = quotient(everything, row)
    better = np.isnan(value) | (other > value)
    value = np.where(better, other, value)
    reached[:, better] = everything[:, better]
    active = np.flatnonzero(~np.isnan(value))
    beyond = np.arange(width) > count[:, None]
    rounds = 0
    while len(active):
        rounds += 1
        aim = gained[:, active] - value[active][:, None] * below[:, active]
        aim[:, beyond[active]] = -np.inf
        rest = [aim[-1]]
        for p in range(steps - 2, -1, -1):
            rest.append(aim[p] + np.maximum.accumulate(rest[-1], axis=1))
        rest.reverse()  # rest[p]: the best of steps p and above, by m_p
        chosen = np.empty((steps, len(active)), np.int64)
        chosen[0] = rest[0].argmax(axis=1)
        left = base[active] - value[active] * under[active] + rest[0][np.arange(len(active)), chosen[0]]
        for p in range(1, steps):
            allowed = np.where(np.arange(width) <= chosen[p - 1][:, None], rest[p], -np.inf)
            chosen[p] = allowed.argmax(axis=1)
        found = quotient(chosen, active)
        with np.errstate(invalid="ignore"):
            grows = (left > NOISE * scale[active]) & (found > value[active])
        active, chosen, found = active[grows], chosen[:, grows], found[grows]
        value[active], reached[:, active] = found, chosen
    return Quotients(value, reached, rounds)


@dataclass(frozen=True, eq=False)
class TopWeights:
    """Sums of the largest weights among the first ranks: the largest score of a number of documents of gain 1."""

    weight: Floats  # per rank, down to the cutoff or to the end of the longest list

    @cached_property
    def total(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.weight)])

    @cached_property
    def falling(self) -> bool:
        return bool((np.diff(self.weight) <= 0).all())

    def __call__(self, count: Ints, size: Ints) -> Floats:
        depth = np.minimum(size, len(self.weight))
        if self.falling:
            return np.asarray(self.total[np.minimum(count, depth)])
        depths, which = np.unique(depth, return_inverse=True)
        table = np.zeros((len(depths), len(self.weight) + 1))
        for line, each in zip(table, depths.tolist(), strict=True):
            line[1 : each + 1] = np.cumsum(np.sort(self.weight[:each])[::-1])
            line[each + 1 :] = line[each]
        return np.asarray(table[which.reshape(depth.shape), np.minimum(count, len(self.weight))])


def as_they_are(count: Ints, size: Ints) -> Floats:
    """Return the number of documents."""
    return np.asarray(count, np.float64)


def at_most(most: int) -> Curve:
    """Return a curve: the number of documents, at most `most`."""
    return lambda count, size: np.minimum(count, most).astype(np.float64)


def number_of_gradings(unknown: Unknown) -> float:
    """Return the number of gradings of the list that has most gradings."""
    return float(np.exp(min(int(unknown.count.max(initial=0)) * np.log(len(unknown.grades)), 700.0)) * (1.0 - 1e-9))


def enumerated(unknown: Unknown, score: Callable[[Lists], Floats]) -> tuple[Floats, Floats]:
    """Return the gradings with the smallest and the largest score, by trying all gradings."""
    options = len(unknown.grades)
    low, high = unknown.all(unknown.grades[0]), unknown.all(unknown.grades[0])
    for i in np.flatnonzero(unknown.count).tolist():
        one = unknown.part(i, i + 1)
        size = len(one)
        tried = options**size
        every = unknown.grades[(np.arange(tried)[:, None] // options ** np.arange(size)) % options]
        scores = score(_copies(one, tried).graded(every.ravel()))
        rows = slice(unknown.offsets[i], unknown.offsets[i + 1])
        low[rows], high[rows] = every[int(np.nanargmin(scores))], every[int(np.nanargmax(scores))]
    return low, high


def _copies(one: Unknown, times: int) -> Unknown:
    """Return copies of one list."""
    lists = one.lists

    def again(column: Any) -> Any:
        return None if column is None else np.tile(column, times)

    repeated = replace(
        lists,
        query=again(lists.query),
        length=again(lists.length),
        offsets=np.arange(times + 1) * len(lists.first),
        document=again(lists.document),
        first=again(lists.first),
        last=again(lists.last),
        docid_rank=again(lists.docid_rank),
        input_rank=None,
        memo={},
    )
    first, last, place, cost = map(again, (one.first, one.last, one.place, one.cost))
    return Unknown(repeated, np.arange(times + 1) * len(one), first, last, place, one.grades, cost=cost)


def by_rank(unknown: Unknown, largest: bool) -> Ints:
    """Return the rows of each list from the top down, or from the bottom up with unseen documents first."""
    at = np.where(unknown.seen, unknown.place, np.iinfo(np.int64).max)
    return np.lexsort((at if largest else -at, unknown.list))
