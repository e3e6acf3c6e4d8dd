"""Ranges of the difference of two systems over all possible grades of unjudged documents.

    linear        difference = sum over documents of c_d * worth_d, c_d = w_A(d) - w_B(d): each document by itself
    over ideal    difference = (base + sum of c_d * worth_d) / ideal: Dinkelbach's method on c, as for one system
    sums of precisions over what is relevant     [best A - worst B] with the same number of relevant documents: outer
    all others    [low A - high B, high A - low B]: outer

An outer range is valid but may be wider than necessary. A pair's range varies the unjudged documents of both lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calipers.collection.whole_runs import in_order
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.forms import Linear
from calipers.measures.forms.base import Form
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.forms.shares import numerator_and_denominator
from calipers.questions.compare.comparison import compare
from calipers.questions.ranges.extreme_grades import (
    depends_on_own_list_only,
    extreme_grades,
    grade_increments,
    growth_of,
    top_unknown,
)
from calipers.questions.ranges.gradings import (
    GainLevels,
    GradeIncrements,
    Growth,
    NoRange,
    Unknown,
    best_quotient,
    spread,
)
from calipers.questions.ranges.open_lists import OpenScores, range_of
from calipers.results.messages import with_incomplete_runs
from calipers.results.result import Result, Tables
from calipers.results.scores import means
from calipers.results.tables import Table
from calipers.support.choices import ComparisonTest, Correction
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from calipers.results.scores import Scores

IN_CACHE = 1 << 17  # cells of a work matrix, which is gone through many times
TOLERANCE = 1e-12  # a mean difference that is closer to 0 than this counts as 0


@dataclass(frozen=True, eq=False, repr=False)
class PairRanges(Result):
    """The ranges of all differences of two systems: arrays of pair x query."""

    measure: str
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    a: Ints  # of each pair, a row of `systems`
    b: Ints
    difference: Floats
    low: Floats
    high: Floats
    exactness: str  # exact or outer
    rounds: int = 0  # of Dinkelbach's method, where it took most

    @cached_property
    def means(self) -> tuple[Floats, Floats, Floats]:
        """The mean difference of each pair, and the ends of its range."""
        difference, low, high = (means(each) for each in (self.difference, self.low, self.high))
        return difference, low, high

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """True for each pair of which no judgment can change the order."""
        return excludes_0(*self.means[1:])

    @property
    def title(self) -> str:
        """The subject of the result, with numbers of pairs and queries."""
        size = f"{counted(len(self.a), 'pair')}, {counted(len(self.queries), 'query')}"
        return f"Ranges of differences in {self.measure}: {size}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        decided, total = int(self.decided.sum()), len(self.a)
        outer = "; the ranges are outer: valid, not tight" if self.exactness == "outer" else ""
        return f"{self.measure}: {decided} of {total} {'pair is' if total == 1 else 'pairs are'} decided{outer}."

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"pairs": self._pairs, "queries": self.per_query})

    def _pairs(self) -> Table:
        """Return one row per pair: system_a, system_b, difference, low, high, verdict, exactness."""
        difference, low, high = (each.tolist() for each in self.means)
        verdict = verdicts(self.decided)
        rows = tuple(
            (self.systems[a], self.systems[b], difference[i], low[i], high[i], verdict[i], self.exactness)
            for i, (a, b) in enumerate(zip(self.a.tolist(), self.b.tolist(), strict=True))
        )
        columns = ("system_a", "system_b", "difference", "low", "high", "verdict", "exactness")
        return Table(columns, rows)

    def per_query(self) -> Table:
        """Return one row per pair and query, with the columns of the pairs and the query."""
        decided = excludes_0(self.low, self.high)
        rows = tuple(
            (
                self.systems[a],
                self.systems[b],
                query,
                float(self.difference[i, q]),
                float(self.low[i, q]),
                float(self.high[i, q]),
                "decided" if decided[i, q] else "open",
                self.exactness,
            )
            for i, (a, b) in enumerate(zip(self.a.tolist(), self.b.tolist(), strict=True))
            for q, query in enumerate(self.queries)
        )
        columns = ("system_a", "system_b", "query", "difference", "low", "high", "verdict", "exactness")
        return Table(columns, rows)

    def beats(self) -> NDArray[np.bool_]:
        """Return True where the first system is better under all gradings, [system, system]: a partial order."""
        _, low, high = self.means
        found = np.zeros((len(self.systems), len(self.systems)), bool)
        above, below = self.decided & (low > 0), self.decided & (high < 0)
        found[self.a[above], self.b[above]] = True
        found[self.b[below], self.a[below]] = True
        return found


def excludes_0(low: Floats, high: Floats) -> NDArray[np.bool_]:
    return np.asarray((low > TOLERANCE) | (high < -TOLERANCE))


def verdicts(decided: NDArray[np.bool_]) -> list[str]:
    return ["decided" if each else "open" for each in decided.tolist()]


def could_turn(
    pairs: PairRanges, scores: Scores, test: ComparisonTest = "t", correction: Correction = "holm", alpha: float = 0.05
) -> tuple[int, int]:
    """Return the number of pairs that differ significantly with unjudged documents as 0, and the number of open ones
    among them.
    """
    compared = compare(with_incomplete_runs(scores), test=test, correction=correction, alpha=alpha, warn=False)
    significant = np.asarray(compared.significant[0])
    systems = len(pairs.systems)
    place = np.searchsorted(pairs.a * systems + pairs.b, compared.a * systems + compared.b)  # both are in this order
    return int(significant.sum()), int((significant & ~pairs.decided[place]).sum())


def pair_ranges(found: OpenScores, progress: Callable[[int], None] | None = None) -> PairRanges:
    """Return the ranges of the differences of all pairs of systems under one measure."""
    systems = found.lists.systems
    if found.measure.declaration.average == "geometric":
        raise CalipersError(f"{found.name}: a geometric mean of differences says nothing; ask for the measure itself")
    if len(systems) < 2:
        raise CalipersError(f"there is only one system ({systems[0]}): nothing to compare it with")
    a, b = np.array(list(combinations(range(len(systems)), 2)), np.int64).T
    score, form, queries = found.score, found.measure.form, found.lists.judgments.queries
    rounds = 0
    exactness = "exact"
    block = found.lists.unknown(found.grades, 0, top_unknown(form))
    block = replace(block, most=block.most + found.unseen)
    linear = _linear(form, block)
    if linear is not None:
        of, growth = linear
        work = _Linear(found, of, growth, block)
        low, high, rounds = work.ends(a, b, progress)
    else:
        exactness = "outer"
        low, high = _outer(found, block, a, b)
    return PairRanges(found.name, systems, queries, a, b, score[a] - score[b], low, high, exactness, rounds)


def _linear(form: Form, unknown: Unknown) -> tuple[Linear, Growth | None] | None:
    """Return the linear form, and its divisor if judging changes the divisor. Return None for other forms."""
    linear, divisor = weighted_sum(form), numerator_and_denominator(form)[1]
    if linear is None or divisor is None:
        return None if linear is None else (linear, None)
    try:
        growth = growth_of(divisor, linear, unknown)
    except NoRange:
        return None
    if growth is not None and growth.levels.value != linear.value:
        return None
    return linear, growth


# -- unjudged documents that two lists have in total --------------------------------------------------


class _Unions:
    """Numbers of unjudged documents in the union of two lists of a query."""

    def __init__(self, found: OpenScores) -> None:
        self._lists = found.lists
        self._count = found.lists.count
        self._known: dict[tuple[int, bytes], Ints] = {}

    def at_least(self, a: Ints, b: Ints, query: Ints) -> Ints:
        return np.maximum(self._count[a, query], self._count[b, query])

    def of(self, a: Ints, b: Ints, query: Ints) -> Ints:
        shared = np.empty(len(a), np.int64)
        for q in np.unique(query).tolist():
            here = query == q
            systems = np.unique(np.concatenate([a[here], b[here]]))
            shared[here] = self._shared(q, systems)[
                np.searchsorted(systems, a[here]), np.searchsorted(systems, b[here])
            ]
        return self._count[a, query] + self._count[b, query] - shared

    def _shared(self, query: int, systems: Ints) -> Ints:
        """Return the number of unjudged documents of a query that two of these systems share, [system, system]."""
        key = query, systems.tobytes()
        if key not in self._known:
            self._known[key] = self._lists.shared(query, systems)
        return self._known[key]


# -- linear measures, and shares of their ideal --------------------------------------------------------------


class _Divisors(NamedTuple):
    """Divisors of the differences of some pairs."""

    documents: Ints  # per pair, the number of documents whose grade may rise
    under: Floats  # per pair, the part that does not depend on the grading
    grown: Floats  # [step, kind of pair, m]: the part that m documents with a higher grade add
    which: Ints  # the kind of each pair


class _Linear:
    """All pairs under a linear measure, divided by a constant or by something that grows with what is judged."""

    def __init__(self, found: OpenScores, of: Linear, growth: Growth | None, block: Unknown) -> None:
        self.found, self.growth = found, growth
        divisor = numerator_and_denominator(found.measure.form)[1]
        self.shape = found.lists.shape
        lists = block.lists
        self.levels = growth.levels if growth else GainLevels.of(of.value, found.grades, lists.pool)
        extreme_grades(of, block, True)  # refuses what has no range
        weight = block.weights(of.weight)
        if growth is None and divisor is not None:
            by = np.broadcast_to(np.asarray(divisor(of, lists), np.float64), (len(lists),))
            weight = weight / np.where(by > 0, by, 1.0)[block.list]
        base = found.score if growth is None else of.score(lists).reshape(self.shape)
        total = np.bincount(block.list, weight, len(lists)).reshape(self.shape)
        self.base = base + self.levels.worth[0] * total
        weighs = np.flatnonzero(weight != 0)
        self.weight = weight[weighs]
        self.size = np.bincount(block.list[weighs], minlength=len(lists))  # of each list
        self.start = np.concatenate([[0], np.cumsum(self.size)])
        # The block may hold the first documents of each list only.
        self.code, one = found.lists.codes(spread(found.lists.ranks.offsets[:-1], block.count)[weighs])
        query = found.lists.list(one) % self.shape[1]
        self.first_code = np.searchsorted(query, np.arange(self.shape[1] + 1))
        self.unions = _Unions(found)

    def ends(self, a: Ints, b: Ints, progress: Callable[[int], None] | None) -> tuple[Floats, Floats, int]:
        low, high = np.empty((len(a), self.shape[1])), np.empty((len(a), self.shape[1]))

        def of_query(q: int) -> int:
            width = np.maximum(self.size[a * self.shape[1] + q], self.size[b * self.shape[1] + q])
            order = np.argsort(width, kind="stable")  # alike widths together, so that little is padded
            dense = self._dense(q)
            rounds = start = 0
            while start < len(a):
                stop = _fitting(width[order], start, self._extra)
                here = order[start:stop]
                low[here, q], high[here, q], took = self._of_query(q, a[here], b[here], dense)
                rounds, start = max(rounds, took), stop
            return rounds

        rounds = 0
        for took in in_order(of_query, range(self.shape[1]), self.found.lists.jobs):
            rounds = max(rounds, took)
            if progress:
                progress(1)
        return low, high, rounds

    @property
    def _extra(self) -> int:
        """Number of columns of a problem in addition to those of its documents."""
        return 1 if self.growth is None else (self.growth.most or 0) + 2

    def _dense(self, q: int) -> Floats:
        """Return weights, [system, document of the query]. The last column is a document that no system retrieves."""
        systems, queries = self.shape
        dense = np.zeros((systems, int(self.first_code[q + 1] - self.first_code[q]) + 1))
        for s in range(systems):
            rows = slice(self.start[s * queries + q], self.start[s * queries + q + 1])
            dense[s, self.code[rows] - self.first_code[q]] = self.weight[rows]
        return dense

    def _of_query(self, q: int, a: Ints, b: Ints, dense: Floats) -> tuple[Floats, Floats, int]:
        """Return the low ends, the high ends and the number of rounds for some pairs of one query."""
        base = self.base[a, q] - self.base[b, q]
        difference = self._differences(q, a, b, dense)
        if self.growth is None:
            span = self.levels.worth[-1] - self.levels.worth[0]
            gained = (span * np.maximum(difference, 0)).sum(axis=1)
            lost = (span * np.minimum(difference, 0)).sum(axis=1)
            return base + lost, base + gained, 0
        difference = np.sort(difference, axis=1)
        query = np.full(len(a), q)
        nonzero = (difference != 0).sum(axis=1)
        most, falling = self.growth.most, getattr(self.growth.curve, "falling", True)
        union = self.unions.at_least(a, b, query)
        # Documents that both lists rank too low to count change nothing once there are `most` of them.
        few = union + self.found.unseen - nonzero < most if most is not None and falling else np.ones(len(a), bool)
        if few.any():
            union[few] = self.unions.of(a[few], b[few], query[few])
        unknown = union + self.found.unseen
        zeros = unknown - nonzero if most is None else np.minimum(unknown - nonzero, most)
        by = self._divisors(nonzero + zeros, query, unknown)
        high, took = self._highest(base, difference[:, ::-1], zeros, by)
        low, also = self._highest(-base, -difference, zeros, by)
        return 0.0 - low, high, max(took, also)

    def _differences(self, q: int, a: Ints, b: Ints, dense: Floats) -> Floats:
        """Return w_A - w_B, [pair, document of either list], padded with 0. A document of both lists counts once."""
        systems, place = np.unique(np.concatenate([a, b]), return_inverse=True)
        document, weight = self._padded(systems * self.shape[1] + q, int(self.first_code[q]), dense.shape[1] - 1)
        place_a, place_b = place[: len(a)], place[len(a) :]
        ia, wa, ib, wb = document[place_a], weight[place_a], document[place_b], weight[place_b]
        in_a = wa - dense[b[:, None], ia]
        in_b_only = np.where(dense[a[:, None], ib] != 0, 0.0, -wb)
        return np.hstack([in_a, in_b_only])

    def _padded(self, lists: Ints, first: int, nobody: int) -> tuple[Ints, Floats]:
        """Return documents and their weights, [list, place]."""
        size = self.size[lists]
        column = np.arange(int(size.max(initial=0)))
        inside = column < size[:, None]
        row = np.where(inside, self.start[lists][:, None] + column, 0)
        if not len(self.code):
            return row, np.zeros(row.shape)
        return np.where(inside, self.code[row] - first, nobody), np.where(inside, self.weight[row], 0.0)

    def _divisors(self, count: Ints, query: Ints, unknown: Ints) -> _Divisors:
        """Return the divisors for some pairs of one query. count: the number of documents whose grade may rise."""
        growth = self.growth
        assert growth is not None
        under = growth.base(query, unknown)
        # The denominators differ by how many documents there are, and not beyond some number.
        most, falling = growth.most, getattr(growth.curve, "falling", True)
        different, which = np.unique(np.minimum(unknown, most) if most and falling else unknown, return_inverse=True)
        width = int(count.max(initial=0)) + 1
        tables = [growth.table(p, query[: len(different)], different, width) for p in range(1, len(self.levels) + 1)]
        return _Divisors(count, under, np.stack(tables) if tables else np.zeros((0, len(different), width)), which)

    def _highest(self, base: Floats, descending: Floats, zeros: Ints, by: _Divisors) -> tuple[Floats, int]:
        """Return the largest quotient, and the number of rounds.

        descending: what documents add, in descending order. zeros: the number of documents that add nothing.
        """
        count, under, grown, which = by
        if not len(self.levels):
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(under > 0, base / under, 0.0), 0
        above, below = (descending > 0).sum(axis=1), (descending < 0).sum(axis=1)
        at_first = under + grown[:, which, 0].sum(axis=0)
        # If no document adds anything, and more documents only raise the divisor, the extremes are all and none.
        fixed = (above + below == 0) & bool((np.diff(grown, axis=2) >= 0).all())
        at_last = under + grown[:, which, count].sum(axis=0)
        value, rounds = np.fmax(_quotient(base, at_first), _quotient(base, at_last)), 1
        rest = np.flatnonzero(~fixed)
        if len(rest):
            gained = self._gained(descending[rest], above[rest], zeros[rest], below[rest])
            best = best_quotient(base[rest], gained, under[rest], grown[:, which[rest], : gained.shape[2]], count[rest])
            value[rest], rounds = best.value, max(rounds, best.rounds)
        value = np.where(np.isnan(value), 0.0, value)  # undefined for both systems under all grades
        nothing = at_first <= 0  # then a grading leaves both undefined: no difference
        return np.where(nothing, np.maximum(value, 0.0), value), rounds

    def _gained(self, descending: Floats, above: Ints, zeros: Ints, below: Ints) -> Floats:
        """Return what the first m documents add in each step, [step, pair, m]."""
        total = np.zeros((len(descending), descending.shape[1] + 1))
        np.cumsum(descending, axis=1, out=total[:, 1:])
        m = np.arange(int((above + zeros + below).max(initial=0)) + 1)
        plateau = (above + zeros)[:, None]
        place = np.where(
            m <= plateau, np.minimum(m, above[:, None]), descending.shape[1] - below[:, None] + m - plateau
        )
        reached = np.take_along_axis(total, np.clip(place, 0, descending.shape[1]), axis=1)
        return np.asarray(np.diff(self.levels.worth)[:, None, None] * reached)


def _quotient(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom > 0, top / bottom, np.nan)


def _fitting(width: Ints, start: int, extra: int) -> int:
    """Return the end of a block of rows that fits into the cache. Rows have ascending widths."""
    stop = min(start + 1, len(width))
    step = len(width) - start
    while step:
        if stop + step <= len(width) and (stop + step - start) * (2 * int(width[stop + step - 1]) + extra) <= IN_CACHE:
            stop += step
        else:
            step //= 2
    return stop


# -- the others ------------------------------------------------------------------------------------------


def _outer(found: OpenScores, block: Unknown, a: Ints, b: Ints) -> tuple[Floats, Floats]:
    form = found.measure.form
    if depends_on_own_list_only(form):
        low, high = found.range
        return low[a] - high[b], high[a] - low[b]
    of, divisor = numerator_and_denominator(form)
    if divisor is not None:
        try:
            growth = growth_of(divisor, of, block)
            if growth is not None:
                sides = [grade_increments(of, block, growth.levels, largest, None) for largest in (True, False)]
                return _at_equal_numbers(found, growth, sides, a, b)
        except NoRange:
            pass
    return _widened(found, a, b)


def _widened(found: OpenScores, a: Ints, b: Ints) -> tuple[Floats, Floats]:
    """Return outer ranges from each system alone. Documents that only the other list retrieves count as unseen."""
    systems, queries = found.lists.shape
    unions, more = _Unions(found), np.zeros((systems, queries), np.int64)
    for q in range(queries):
        union = unions.of(a, b, np.full(len(a), q))
        np.maximum.at(more[:, q], a, union - found.lists.count[a, q])
        np.maximum.at(more[:, q], b, union - found.lists.count[b, q])
    block = found.lists.unknown(found.grades, (more + found.unseen).ravel())
    ends = range_of(found.measure, block, found.options)
    low, high = (each.reshape(systems, queries) for each in (ends.low, ends.high))
    return low[a] - high[b], high[a] - low[b]


def _at_equal_numbers(
    found: OpenScores, growth: Growth, sides: Sequence[GradeIncrements], a: Ints, b: Ints
) -> tuple[Floats, Floats]:
    """Return outer ranges: the best of A minus the worst of B, with the same number of documents at each grade."""
    queries = found.lists.shape[1]
    (best, count), (worst, _) = (side.tables() for side in sides)
    base = sides[0].base
    unions = _Unions(found)
    low, high = np.empty((len(a), queries)), np.empty((len(a), queries))
    for q in range(queries):
        query = np.full(len(a), q)
        unknown = unions.of(a, b, query) + found.unseen
        order = np.argsort(unknown, kind="stable")
        start = 0
        while start < len(a):
            stop = _fitting(unknown[order] * max(len(growth.levels), 1), start, 2)
            here = order[start:stop]
            la, lb = a[here] * queries + q, b[here] * queries + q

            def largest(one: Ints, other: Ints, in_all: Ints, at: Ints) -> Floats:
                m = np.arange(int(in_all.max(initial=0)) + 1)
                top = np.minimum(m, count[one][:, None])
                bottom = np.maximum(m - (in_all - count[other])[:, None], 0)
                bottom = np.minimum(bottom, count[other][:, None])
                gained = best[:, one[:, None], top] - worst[:, other[:, None], bottom]
                under = growth.base(at, in_all)
                apart = base[one] - base[other]
                if not len(growth.levels):
                    with np.errstate(divide="ignore", invalid="ignore"):
                        return np.where(under > 0, apart / under, 0.0)
                below = np.stack([growth.table(p, at, in_all, len(m)) for p in range(1, len(growth.levels) + 1)])
                value = best_quotient(apart, gained, under, below, in_all).value
                value = np.where(np.isnan(value), 0.0, value)
                nothing = under + below[:, :, 0].sum(axis=0) <= 0
                return np.where(nothing, np.maximum(value, 0.0), value)

            high[here, q] = largest(la, lb, unknown[here], query[here])
            low[here, q] = 0.0 - largest(lb, la, unknown[here], query[here])
            start = stop
    return low, high
