"""Forms that read judgments by subtopic: one form for each intent of the query, added up.

A document may answer several intents. What the list is worth to one intent, a plain form says, from the grades for that
intent alone; so averages over ties, and expected values, are as exact as that form's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from calipers.errors import CalipersError
from calipers.lazy import numpy as np
from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Denominator, Exactness, Form, Share
from calipers.record import Record

if TYPE_CHECKING:
    from calipers.collection.subtopics import SubtopicPool

DIGITS = 12  # to which gains are compared: sums of the same numbers may round differently


class IntentWeights(Protocol):
    """How much each intent counts."""

    def __call__(self, pool: SubtopicPool) -> Floats: ...


class Probable(Record):
    """P(i), 1 in all over the intents that can be answered."""

    rel: float

    def __call__(self, pool: SubtopicPool) -> Floats:
        return pool.probability(self.rel)


class Each(Record):
    """1 for every intent that can be answered."""

    rel: float

    def __call__(self, pool: SubtopicPool) -> Floats:
        return np.asarray(pool.answerable(self.rel), np.float64)


class Alike(Record):
    """1 over the number of intents that can be answered."""

    rel: float

    def __call__(self, pool: SubtopicPool) -> Floats:
        able = pool.answerable(self.rel)
        query = np.repeat(np.arange(pool.queries), np.diff(pool.starts))
        count = np.bincount(query, able, pool.queries)[query]
        return np.asarray(able / np.maximum(count, 1.0))


class IntentAware(Form):
    """The sum over intents of weight(intent) * a form of the list, read by the grades for that intent."""

    of: Form
    weight: IntentWeights
    over: float = 1.0  # what the sum is divided by

    @property
    def exactness(self) -> Exactness:
        return self.of.exactness

    @property
    def extremes(self) -> Exactness:
        return "greedy" if self.of.numerator.weighted_sum is None else "exact"

    def divided(self, by: Denominator) -> Form:
        return IntentShare(self, by)

    def score(self, lists: Lists) -> Floats:
        seen = by_intent(lists)
        weight = self.weight(subtopics_of(lists.pool))[seen.intent]
        score = self.of.score(seen.lists)
        total = np.bincount(seen.parent, np.where(weight > 0, weight * np.nan_to_num(score), 0.0), len(lists))
        answerable = np.bincount(seen.parent, weight, len(lists)) > 0
        return np.where(answerable, total / self.over, np.nan)

    def worst(self, population: Population) -> Floats:
        return _at_most_expected(self, population)

    def best_order(self, population: Population) -> Lists:
        """At each rank the document that adds most: the best order there is where what a document adds does not depend
        on those above it, and close to it elsewhere, where finding the best is not feasible. Documents that answer no
        intent stand behind all others.
        """
        return self._by_gain(population, least=False)

    def worst_order(self, population: Population) -> Lists:
        """At each rank the document that adds least, behind those that answer no intent: not always the worst order."""
        return self._by_gain(population, least=True)

    def _by_gain(self, population: Population, least: bool) -> Lists:
        return population.once(
            ("by gain", self.weight, self.of.numerator, least), lambda: self._ordered(population, least)
        )

    def _ordered(self, population: Population, least: bool) -> Lists:
        pool, plain = subtopics_of(population.pool), self.of.numerator
        gain = plain.gain_alone(pool.intents)  # of each row of `intents`, where nothing stands above it
        worth = np.asarray(gain * self.weight(pool)[pool.intents.query])
        if plain.fades_until == 0:
            return _sorted(population, worth, least)
        return _greedy(population, worth, gain, plain.fades_until, least)


class IntentShare(Share):
    """A form by intent divided by something that the order of the documents does not change."""

    def worst(self, population: Population) -> Floats:
        return _at_most_expected(self, population)


def _at_most_expected(form: Form, population: Population) -> Floats:
    """The score of the worst order that is known; never above the mean, as the worst one would not be."""
    return population.once(
        ("worst", form), lambda: np.minimum(form.score(form.worst_order(population)), form.expected(population))
    )


class Blend(Form):
    """A weighted sum of forms by intent; undefined where one of them is."""

    parts: tuple[tuple[float, Form], ...]

    @property
    def extremes(self) -> Exactness:
        return "greedy"

    def score(self, lists: Lists) -> Floats:
        return np.asarray(sum(weight * form.score(lists) for weight, form in self.parts))

    def ideal(self, population: Population) -> Floats:
        """The better of the orders that are ideal for one of the parts."""
        return population.once(("ideal", self), lambda: self._over(population, best=True))

    def worst(self, population: Population) -> Floats:
        return population.once(("worst", self), lambda: self._over(population, best=False))

    def _over(self, population: Population, best: bool) -> Floats:
        lists = [form.best_order(population) if best else form.worst_order(population) for _, form in self.parts]
        scores = [self.score(each) for each in lists]
        return np.asarray(np.max(scores, axis=0) if best else np.min([*scores, self.expected(population)], axis=0))


# -- lists, intent by intent -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ByIntent:
    """Each list once for each intent of its query, with the documents that answer it."""

    lists: Lists
    parent: Ints  # of each of them, the list that it was
    intent: Ints
    row: Ints  # of each row, the row of the list that it was


def subtopics_of(pool: Pool) -> SubtopicPool:
    """The pool as one of judgments by subtopic."""
    if pool.kind != "subtopics":
        raise CalipersError("this measure needs judgments by subtopic (query subtopic document grade)")
    return cast("SubtopicPool", pool)


def by_intent(lists: Lists) -> ByIntent:
    return lists.once("by intent", lambda: _by_intent(lists))


def _by_intent(lists: Lists) -> ByIntent:
    pool = subtopics_of(lists.pool)
    return by_part(lists, pool.intents, pool.document, pool.starts)


def by_part(lists: Lists, parts: Pool, document: Ints, starts: Ints) -> ByIntent:
    """Each list once for each part of its query, which are starts[q] to starts[q + 1]; rows have a `document` each."""
    pool = lists.pool
    answers = pool.once("answers", lambda: np.argsort(document, kind="stable"))  # rows of the parts, by document
    count = pool.once("answers of each", lambda: np.bincount(document, minlength=len(pool.grade)))
    start = pool.once("answers from", lambda: np.cumsum(count) - count)
    number = count[lists.document]
    row = np.repeat(np.arange(len(lists.document)), number)
    answer = answers[start[lists.document][row] + _counted(number)]
    intents = np.diff(starts)[lists.query]
    parent = np.repeat(np.arange(len(lists)), intents)
    base = np.cumsum(intents) - intents
    of_list = lists.list[row]
    fresh = base[of_list] + parts.query[answer] - starts[lists.query[of_list]]
    order = np.argsort(fresh, kind="stable")  # rows stay by rank
    row, answer = row[order], answer[order]
    return ByIntent(
        lists=Lists(
            pool=parts,
            query=starts[lists.query][parent] + _counted(intents),
            length=lists.length[parent],
            offsets=np.searchsorted(fresh[order], np.arange(len(parent) + 1)),
            document=answer,
            first=lists.first[row],
            last=lists.last[row],
        ),
        parent=parent,
        intent=starts[lists.query][parent] + _counted(intents),
        row=row,
    )


def _counted(sizes: Ints) -> Ints:
    """0, 1, ... for each size, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


# -- orders ------------------------------------------------------------------------------------------


def _sorted(population: Population, worth: Floats, least: bool) -> Lists:
    """The documents that are worth something, by the sum of that over intents; ties by id."""
    pool = subtopics_of(population.pool)
    total = np.round(np.bincount(pool.document, worth, len(pool.grade)), DIGITS)[population.document]
    member = np.repeat(np.arange(len(population.size)), population.judged)
    kept = np.flatnonzero(total > 0)
    place = pool.place[population.document[kept]]
    rows = kept[np.lexsort((place, total[kept] if least else -total[kept], member[kept]))]
    others = population.size - np.bincount(member[rows], minlength=len(population.size))
    return _in_order(population, rows, member[rows], others if least else np.zeros_like(others))


def _greedy(population: Population, worth: Floats, fading: Floats, cutoff: int | None, least: bool) -> Lists:
    """At each rank the document that adds most, or least, given those above it; ties by id. All sets together.

    What is worth nothing stands behind them, or above them. Ranks beyond the cutoff stay empty.
    """
    pool = subtopics_of(population.pool)
    seen = by_intent(population.shuffled)
    answer, slot, row = seen.lists.document, seen.lists.list, seen.row
    gain, stop = worth[answer], fading[answer]
    passing = np.ones(len(seen.lists))
    member = np.repeat(np.arange(len(population.size)), population.judged)
    # Documents by id, so that the first of the best is the one to take.
    by_id = np.lexsort((pool.place[population.document], member))
    able = np.bincount(row, gain, len(member)) > 0
    count = np.bincount(member[able], minlength=len(population.size))
    above = population.size - count if least else np.zeros_like(count)
    depth = count if cutoff is None else np.clip(cutoff - above, 0, count)
    sign = -1.0 if least else 1.0
    taken: list[Ints] = []
    for _ in range(int(depth.max(initial=0))):
        adds = np.round(np.bincount(row, gain * passing[slot], len(member)), DIGITS)
        chosen = by_id[_first_of_largest(np.where(able, sign * adds, -np.inf)[by_id], member[by_id])]
        chosen = chosen[able[chosen]]
        taken.append(chosen)
        able[chosen] = False
        now = np.zeros(len(member), bool)
        now[chosen] = True
        answered = now[row]
        np.multiply.at(passing, slot[answered], 1.0 - stop[answered])
    rows = np.concatenate([np.zeros(0, np.int64), *taken])
    rows = rows[np.argsort(member[rows], kind="stable")]  # in the order in which they were taken
    return _in_order(population, rows, member[rows], above)


def _first_of_largest(values: Floats, member: Ints) -> Ints:
    """For each member, the first place of its largest value; places are grouped by member."""
    if not len(values):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.diff(member, prepend=-1))
    largest = np.maximum.reduceat(values, starts)
    hits = np.flatnonzero(values == np.repeat(largest, np.diff(np.append(starts, len(values)))))
    return hits[np.flatnonzero(np.diff(member[hits], prepend=-1))]


def _in_order(population: Population, rows: Ints, member: Ints, above: Ints) -> Lists:
    """Rankings of the sets that show these rows in this order, below so many others."""
    count = np.bincount(member, minlength=len(population.size))
    rank = _counted(count) + 1 + np.repeat(above, count)
    return Lists(
        pool=population.pool,
        query=population.query,
        length=population.size,
        offsets=np.concatenate([[0], np.cumsum(count)]),
        document=population.document[rows],
        first=rank,
        last=rank,
    )
