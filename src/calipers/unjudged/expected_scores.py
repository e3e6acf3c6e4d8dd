"""Expected scores where unjudged documents have random grades: one rule per form, and draws for the others.

Grades are independent of each other. A rule raises `NoRange` where it does not apply; then the mean over draws stands
for the expected score.

    weighted sums       each document adds its mean gain
    RR, ERR, Success    a product over documents: each passes readers on with its mean probability
    sum of precisions   a sum over pairs of documents
    over R, the ideal   given how many unjudged documents have each gain, they are exchangeable and the divisor is
                        known: a sum over these counts, if all documents of a list have the same probabilities
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from itertools import pairwise

import numpy as np

from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.forms import (
    CUTOFF,
    RELEVANT,
    Cascade,
    Denominator,
    Form,
    Linear,
    Paired,
    Peak,
    Share,
    Smaller,
    WeightedDepth,
)
from calipers.measures.forms.denominators import Ideal, TotalWeight
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.forms.shares import numerator_and_denominator
from calipers.measures.gains import AtLeast, Value
from calipers.measures.weights import FLAT
from calipers.unjudged.extreme_grades import depends_on_own_list_only, top_unknown
from calipers.unjudged.grade_priors import GradeChances
from calipers.unjudged.gradings import CELLS, NoRange, Unknown
from calipers.unjudged.open_scores import OpenScores, blocks_of, scores_of
from calipers.unjudged.pair_ranges import TOLERANCE

MOST_COUNTS = 5_000  # ways in which the unjudged documents of a list can share the gains, that are summed over


OTHER_DOCUMENTS = "no closed form is known: what is summed up and what it is divided by count different documents"


@dataclass(frozen=True, eq=False)
class RandomGrades:
    """Lists, and the probabilities of the grades of their unknown documents."""

    unknown: Unknown
    chance: Floats  # [document, grade]
    same_for_all_ranks: bool
    empty: float  # the score of a list without relevant documents

    def mean(self, value: Value) -> Floats:
        """Return the mean gain of each unknown document."""
        return np.asarray(self.chance @ np.asarray(value(self.unknown.grades), np.float64))

    @cached_property
    def per_list(self) -> Floats:
        """The probabilities of the unknown documents of each list, [list, grade]."""
        if not self.same_for_all_ranks:
            raise NoRange("documents at different ranks have different probabilities")
        found = np.zeros((len(self.unknown.count), self.chance.shape[1]))
        some = self.unknown.count > 0
        found[some] = self.chance[self.unknown.offsets[:-1][some]]
        found[~some, 0] = 1.0
        return found

    def with_values(self, judged: Value, unknown: Floats) -> tuple[Lists, Value]:
        """Return all documents as judged ones, and the gain of each: its own, or what is given for an unknown one."""
        lists = self.unknown.graded(np.full(len(self.unknown), -1.0))
        pool = lists.pool
        added = np.concatenate([[0], np.cumsum(self.unknown.count)])
        own = np.diff(pool.offsets) - self.unknown.count
        gain = np.asarray(judged(pool.grade), np.float64).copy()
        rows = np.arange(len(unknown)) + np.repeat((pool.offsets[:-1] + own) - added[:-1], self.unknown.count)
        gain[rows] = unknown
        numbered = Pool(pool.offsets, np.arange(len(gain), dtype=np.float64))
        return replace(lists, pool=numbered, memo={}), _Lookup(gain)


class _Lookup:
    """The gain of a document whose grade is its place in a table."""

    def __init__(self, gain: Floats) -> None:
        self._gain = gain

    def __call__(self, grade: Floats) -> Floats:
        return self._gain[grade.astype(np.int64)]


@singledispatch
def expected_score(form: Form, graded: RandomGrades) -> Floats:
    """Return the expected score of each list."""
    raise NoRange(f"no closed form is known for the expected score of {type(form).__name__}")


@expected_score.register(Linear)
def _(form: Linear, graded: RandomGrades) -> Floats:
    unknown = graded.unknown
    gained = unknown.weights(form.weight) * graded.mean(form.value)
    return form.score(unknown.lists) + np.bincount(unknown.list, gained, len(unknown.count))


@expected_score.register(Cascade)
def _(form: Cascade, graded: RandomGrades) -> Floats:
    lists, stop = graded.with_values(form.stop, graded.mean(form.stop))
    return Cascade(form.weight, stop).score(lists)


@expected_score.register(Peak)
def _(form: Peak, graded: RandomGrades) -> Floats:
    """The largest gain is at least v if a reader who stops at gains of at least v stops in the top k."""
    known = np.concatenate([form.value(graded.unknown.lists.pool.grade), form.value(graded.unknown.grades)])
    levels = np.unique(np.append(known[known > 0], 0.0))
    found = np.zeros(len(graded.unknown.count))
    for below, level in pairwise(levels.tolist()):
        reaching = _Reaching(form.value, level)
        lists, stop = graded.with_values(reaching, graded.mean(reaching))
        found += (level - below) * Cascade(FLAT.up_to(form.cutoff), stop).score(lists)
    return found


class _Reaching:
    """1 for a gain of at least this."""

    def __init__(self, value: Value, level: float) -> None:
        self._value, self._level = value, level

    def __call__(self, grade: Floats) -> Floats:
        return np.asarray(self._value(grade) >= self._level, np.float64)


@expected_score.register(Paired)
def _(form: Paired, graded: RandomGrades) -> Floats:
    return _precisions(form, graded, graded.mean(AtLeast(form.rel)))


@expected_score.register(Share)
def _(form: Share, graded: RandomGrades) -> Floats:
    return _divided(form.by, form.of, graded)


def _precisions(form: Paired, graded: RandomGrades, chance: Floats) -> Floats:
    """Return the expected sum of precisions where each unknown document is relevant with this probability.

    In a tie of m documents after s ranks, with B relevant documents expected above it, rank s + j adds
    (1 / (s + j)) ((1 + B) S / m + (j - 1) (S^2 - Q) / (m (m - 1))), S and Q being the sums of the probabilities and of
    their squares in the tie.
    """
    lists, relevant = graded.with_values(AtLeast(form.rel), chance)
    groups = lists.groups
    value = np.asarray(relevant(lists.grade))
    total, square = groups.sum(value), groups.sum(value**2)
    above = groups.above(total)
    end = groups.before + groups.size
    if form.cutoff is not None:
        end = np.minimum(end, form.cutoff)
    shown = np.maximum(end - groups.before, 0)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(end.max(initial=0)) + 1))])
    inverse = np.where(shown > 0, harmonic[end] - harmonic[np.minimum(groups.before, end)], 0.0)
    inverse = np.where((groups.size == 1) & (shown > 0), 1.0 / (groups.before + 1.0), inverse)
    pairs = (total**2 - square) / (groups.size * np.maximum(groups.size - 1.0, 1.0))
    alone = (1.0 + above) * total / groups.size * inverse
    within = np.where(groups.size > 1, pairs * (shown - (groups.before + 1.0) * inverse), 0.0)
    return groups.sum_by_list(alone + within)


# -- divisors ------------------------------------------------------------------------------------------------


@singledispatch
def _divided(by: Denominator, of: Form, graded: RandomGrades) -> Floats:
    raise NoRange("no closed form is known for the expected score of what is divided by this")


@_divided.register(CUTOFF)
@_divided.register(TotalWeight)
def _(by: Denominator, of: Form, graded: RandomGrades) -> Floats:
    return np.asarray(expected_score(of, graded) / np.asarray(by(of, graded.unknown.lists)))


@_divided.register(RELEVANT)
def _(by: RELEVANT, of: Form, graded: RandomGrades) -> Floats:
    return _over_relevant(by.rel, of, graded, lambda count: count.astype(np.float64))


@_divided.register(WeightedDepth)
def _(by: WeightedDepth, of: Form, graded: RandomGrades) -> Floats:
    return _over_relevant(by.rel, of, graded, by.of_relevant)


@_divided.register(Smaller)
def _(by: Smaller, of: Form, graded: RandomGrades) -> Floats:
    rel, most = _counted_level(by.one), by.other.constant
    if rel is None or most is None:
        raise NoRange("no closed form is known for the expected score of what is divided by this")
    return _over_relevant(rel, of, graded, lambda count: np.minimum(count, most).astype(np.float64))


@singledispatch
def _counted_level(by: Denominator) -> float | None:
    """Return the grade from which on a divisor counts documents. None if it does not count relevant documents."""
    return None


@_counted_level.register(RELEVANT)
def _(by: RELEVANT) -> float:
    return by.rel


@singledispatch
def _relevant_with_chance(of: Form, rel: float, graded: RandomGrades) -> Callable[[float], Floats]:
    """Return the expected score as a function of p, where each unknown document is relevant with probability p."""
    raise NoRange(OTHER_DOCUMENTS)


@_relevant_with_chance.register(Paired)
def _(of: Paired, rel: float, graded: RandomGrades) -> Callable[[float], Floats]:
    if of.rel != rel:
        raise NoRange(OTHER_DOCUMENTS)
    return lambda p: _precisions(of, graded, np.full(len(graded.unknown), p))


@_relevant_with_chance.register(Linear)
def _(of: Linear, rel: float, graded: RandomGrades) -> Callable[[float], Floats]:
    if of.value != AtLeast(rel):
        raise NoRange(OTHER_DOCUMENTS)
    unknown = graded.unknown
    base = of.score(unknown.lists)
    gained = np.bincount(unknown.list, unknown.weights(of.weight), len(unknown.count))
    return lambda p: base + p * gained


def _over_relevant(rel: float, of: Form, graded: RandomGrades, divisor: Callable[[Ints], Floats]) -> Floats:
    """Sum over the number s of relevant documents among the u unknown ones.

    The numerator is c0 + c1 s / u + c2 s (s - 1) / (u (u - 1)), as it is c0 + c1 p + c2 p^2 if each unknown document is
    relevant with probability p.
    """
    numerator = _relevant_with_chance(of, rel, graded)
    none, half, whole = (numerator(p) for p in (0.0, 0.5, 1.0))
    once = 4.0 * half - 3.0 * none - whole
    twice = whole - none - once
    from scipy.stats import binom

    unknown = graded.unknown
    chance = graded.per_list[:, unknown.grades >= rel].sum(axis=1)
    judged = unknown.lists.pool.relevant(rel)[unknown.lists.query]
    found = np.empty(len(chance))
    for rows in _blocks(unknown.count + 1):
        u = unknown.count[rows][:, None].astype(np.float64)
        s = np.arange(int(u.max(initial=0)) + 1)
        ratio = s / np.maximum(u, 1.0)
        pair = s * (s - 1.0) / np.maximum(u * (u - 1.0), 1.0)
        above = none[rows, None] + once[rows, None] * ratio + twice[rows, None] * pair
        by = divisor(judged[rows, None] + s)
        score = np.where(by > 0, above / np.where(by > 0, by, 1.0), graded.empty)
        found[rows] = (binom.pmf(s, u, np.clip(chance[rows], 0.0, 1.0)[:, None]) * score).sum(axis=1)
    return found


def _blocks(width: Ints) -> Iterator[slice]:
    """Yield stretches of lists whose rows of the widest width fit a work matrix."""
    step = max(1, CELLS // max(1, int(width.max(initial=1))))
    for start in range(0, len(width), step):
        yield slice(start, min(start + step, len(width)))


@_divided.register(Ideal)
def _(by: Ideal, of: Form, graded: RandomGrades) -> Floats:
    """Sum over how many unknown documents have each gain: the ideal depends on these counts alone."""
    linear = weighted_sum(of)
    if linear is None:
        raise NoRange("no closed form is known for the expected share of the ideal of this form")
    return _share_of_ideal(linear, graded)


def _share_of_ideal(of: Linear, graded: RandomGrades) -> Floats:
    unknown, pool = graded.unknown, graded.unknown.lists.pool
    gain = np.asarray(of.value(unknown.grades), np.float64)
    levels = np.unique(np.concatenate([[0.0], gain, np.asarray(of.value(pool.grade), np.float64)]))
    if levels[0] < 0 or not of.weights_fall:
        raise NoRange("no closed form is known for negative gains, or for weights that grow with the rank")
    kinds = np.unique(gain)
    chance = np.stack([graded.per_list[:, gain == kind].sum(axis=1) for kind in kinds], axis=1)
    if _ways(int(unknown.count.max(initial=0)), len(kinds)) > MOST_COUNTS:
        raise NoRange("the unknown documents can share the gains in too many ways")
    own = np.zeros((pool.queries, len(levels)))
    np.add.at(own, (pool.query, np.searchsorted(levels, of.value(pool.grade))), 1.0)
    base = of.score(unknown.lists)
    gained = np.bincount(unknown.list, unknown.weights(of.weight), len(unknown.count))
    depth = int((pool.size[unknown.lists.query] + unknown.count).max(initial=0))
    weight = np.zeros(depth + 1)
    known = of.weight.of_ranks(depth)
    weight[1 : len(known) + 1] = known
    sums = np.cumsum(weight)
    found = np.empty(len(base))
    place = np.searchsorted(levels, kinds)
    for size in np.unique(unknown.count).tolist():
        counts = _shared_out(size, len(kinds))
        ways = _multinomial(counts, chance[unknown.count == size])
        mean = counts @ kinds / max(size, 1)
        for i, row in enumerate(np.flatnonzero(unknown.count == size).tolist()):
            documents = np.tile(own[unknown.lists.query[row]], (len(counts), 1))
            documents[:, place] += counts
            better = np.cumsum(documents[:, ::-1], axis=1).astype(np.int64)  # documents of each gain or a larger one
            ideal = (levels[::-1] * np.diff(sums[better], axis=1, prepend=0.0)).sum(axis=1)
            score = np.where(ideal > 0, (base[row] + mean * gained[row]) / np.where(ideal > 0, ideal, 1), graded.empty)
            found[row] = ways[i] @ score
    return found


def _ways(size: int, kinds: int) -> float:
    """Return in how many ways documents can be of several kinds."""
    from math import comb

    return comb(size + kinds - 1, kinds - 1)


def _shared_out(size: int, kinds: int) -> Ints:
    """Return all counts of several kinds with this sum, one row each.

    >>> _shared_out(2, 2).tolist()
    [[2, 0], [1, 1], [0, 2]]
    """
    if kinds == 1:
        return np.array([[size]])
    parts = [_shared_out(size - first, kinds - 1) for first in range(size, -1, -1)]
    firsts = np.repeat(np.arange(size, -1, -1), [len(part) for part in parts])
    return np.column_stack([firsts, np.concatenate(parts)])


def _multinomial(counts: Ints, chance: Floats) -> Floats:
    """Return the probabilities of counts, [list, counts]."""
    from scipy.special import gammaln, xlogy

    size = counts.sum(axis=1)
    whole = gammaln(size + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    logs = xlogy(counts[None], chance[:, None]).sum(axis=2)
    found = np.exp(whole + logs)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


# -- draws ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExpectedScores:
    """Expected scores of some systems under one measure, and draws of what their means could be."""

    expected: Floats  # [system, query]
    exact: bool
    spread: Floats  # [system, query]: standard deviations, by the draws
    drawn: Floats  # [draw, system]: the mean over queries

    @property
    def error(self) -> float:
        """The largest standard error of an expected score: 0 where these are exact."""
        return 0.0 if self.exact else float(self.spread.max(initial=0.0)) / np.sqrt(len(self.drawn))

    @property
    def sd(self) -> Floats:
        """The standard deviation of the mean of each system."""
        return np.asarray(self.drawn.std(axis=0, ddof=1))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return between which values the mean of each system lies with this probability, by the draws."""
        low, high = np.quantile(self.drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high


def expected_scores(
    found: OpenScores, chances: GradeChances, average: Callable[[Floats], float], draws: int, seed: int
) -> ExpectedScores:
    """Return the expected scores of all lists."""
    unknown = _block(found)
    parts = [*_with_starts(blocks_of(unknown))]
    chance = chances.of(unknown)
    total, squares = (np.zeros(len(unknown.count)) for _ in range(2))
    drawn = np.empty((draws, len(found.lists.systems)))
    random = np.random.default_rng(seed)
    for d in range(draws):
        grade = _drawn_grades(random, chance.cumsum(axis=1), chances.grades)
        score = np.concatenate(
            [scores_of(found.measure, found.options, part.graded(grade[rows])) for rows, part in parts]
        )
        total += score
        with np.errstate(over="ignore"):  # scores beyond 1e154 have no variance
            squares += score**2
        drawn[d] = [average(row) for row in score.reshape(found.lists.shape)]
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares - total**2 / draws, 0.0) / (draws - 1))
    exact = True
    try:
        same, empty = chances.same_for_all_ranks, found.empty
        graded = [RandomGrades(part, chance[rows], same, empty) for rows, part in parts]
        expected = np.concatenate([expected_score(found.measure.form, each) for each in graded])
    except NoRange:
        expected, exact = total / draws, False
    shape = found.lists.shape
    return ExpectedScores(expected.reshape(shape), exact, spread.reshape(shape), drawn)


def beating_chances(
    found: OpenScores, chances: GradeChances, average: Callable[[Floats], float], draws: int, seed: int
) -> Floats:
    """Return how often each system has a better mean than each other one, [system, system]; ties count half.

    In one draw, all documents that a system retrieves are judged: a document has one grade for all systems, and what
    scores are divided by counts all of them. A document that systems give different probabilities has their mean.
    """
    unknown = _block(found)
    parts = [*_with_starts(blocks_of(unknown))]
    document = _shared_documents(found, unknown)
    count = np.bincount(document)
    chance = np.stack([np.bincount(document, column) / count for column in chances.of(unknown).T], axis=1)
    query = np.zeros(len(count), np.int64)
    query[document] = unknown.lists.query[unknown.list]
    wins = np.zeros((len(found.lists.systems),) * 2)
    random = np.random.default_rng(seed)
    for _ in range(draws):
        grade = _drawn_grades(random, chance.cumsum(axis=1), chances.grades)
        world = _all_judged(found, query, grade)
        score = np.concatenate([_joint_scores(found, part, grade[document[rows]], world) for rows, part in parts])
        mean = np.array([average(row) for row in score.reshape(found.lists.shape)])
        better = mean[:, None] - mean[None]
        wins += (better > TOLERANCE) + 0.5 * (np.abs(better) <= TOLERANCE)
    return wins / draws


def _all_judged(found: OpenScores, query: Ints, grade: Floats) -> Lists:
    """Return one empty list per query, whose pool has the judged documents and the drawn grades of all others."""
    pool = found.lists.judgments.pool
    owner = np.concatenate([pool.query, query])
    order = np.argsort(owner, kind="stable")
    offsets = np.searchsorted(owner[order], np.arange(pool.queries + 1))
    none = np.zeros(0, np.int64)
    return Lists(
        pool=Pool(offsets, np.concatenate([pool.grade, grade])[order]),
        query=np.arange(pool.queries),
        length=np.zeros(pool.queries, np.int64),
        offsets=np.zeros(pool.queries + 1, np.int64),
        document=none,
        first=none,
        last=none,
    )


def _joint_scores(found: OpenScores, part: Unknown, grade: Floats, world: Lists) -> Floats:
    form, lists = found.measure.form, part.graded(grade)
    numerator, divisor = numerator_and_denominator(form)
    if divisor is None or divisor.of_list or depends_on_own_list_only(form):
        return scores_of(found.measure, found.options, lists)
    by = np.asarray(divisor(numerator, world), np.float64)[part.lists.query]
    return np.where(by > 0, numerator.score(lists) / np.where(by > 0, by, 1.0), found.empty)


def _block(found: OpenScores) -> Unknown:
    """Return the unknown documents that can change a score: those of the top, or all where the divisor counts them."""
    form = found.measure.form
    within = top_unknown(form) if depends_on_own_list_only(form) else None
    return found.lists.unknown(found.grades, found.unseen, within)


def _with_starts(parts: Iterable[Unknown]) -> Iterator[tuple[slice, Unknown]]:
    """Yield the parts of a block, each with its rows."""
    start = 0
    for part in parts:
        yield slice(start, start + len(part)), part
        start += len(part)


def _shared_documents(found: OpenScores, unknown: Unknown) -> Ints:
    """Return a number for each unknown document that is the same in all lists which retrieve it."""
    lists = found.lists
    number = np.arange(len(unknown)) + len(lists.ranks.first)  # a document that nobody retrieved is of one list alone
    seen = np.flatnonzero(unknown.seen)
    inside = np.arange(len(unknown)) - np.repeat(unknown.offsets[:-1], unknown.count)
    number[seen] = lists.document[lists.ranks.offsets[:-1][unknown.list[seen]] + inside[seen]]
    return np.unique(number, return_inverse=True)[1].reshape(-1)


def _drawn_grades(random: np.random.Generator, cumulative: Floats, grades: Floats) -> Floats:
    """Draw a grade for each document."""
    place = (random.random(len(cumulative))[:, None] >= cumulative).sum(axis=1)
    return np.asarray(grades[np.minimum(place, len(grades) - 1)])
