"""Forms for judgments by subtopic: the weighted sum of a plain form over the intents of the query.

A document may answer several intents. A plain form scores the list for one intent, with the grades for that intent. So
averages over ties and expected scores are as exact as those of the plain form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import ComputationMethod, Exactness, Form
from calipers.measures.forms.denominators import BestRanking
from calipers.measures.forms.extreme_orders import (
    NOISE,
    Added,
    SearchTerm,
    extreme,
    fades_until,
    gain_alone,
    search_term,
)
from calipers.measures.forms.linear import weighted_sum
from calipers.measures.forms.shares import Denominator, Quotient, as_denominator, numerator_and_denominator
from calipers.support.record import Record

if TYPE_CHECKING:
    from calipers.collection.subtopics import SubtopicPool

DIGITS = 12  # to which gains are compared: sums of the same numbers may round differently


class IntentWeights(Protocol):
    """The weights of intents."""

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


class Searched(Form, final=False):
    """A form whose best and worst orders are searched for."""

    def exactness(self, population: Population | None = None) -> Exactness:
        ideal = worst = self._how_found
        if population is not None and ideal == "bound":
            ideal = "exact" if self._searched(population, best=True)[1] else "bound"
            worst = "exact" if self._searched(population, best=False)[1] else "bound"
        return Exactness(ideal=ideal, worst=worst)

    @property
    def _how_found(self) -> ComputationMethod:
        """The method that finds extreme orders of any documents. A bound may turn out to be reached."""
        raise NotImplementedError

    def ideal(self, population: Population) -> Floats:
        """Return the score of the best order, or a bound that no order exceeds if the search for it was stopped."""
        return self._searched(population, best=True)[0]

    def worst(self, population: Population) -> Floats:
        return self._searched(population, best=False)[0]

    def _searched(self, population: Population, best: bool) -> tuple[Floats, bool]:
        """Return the extreme score of each set, and True if orders reach all of them."""
        return population.once(("extreme", self, best), lambda: self._extreme(population, best))

    def _extreme(self, population: Population, best: bool) -> tuple[Floats, bool]:
        raise NotImplementedError


class IntentAware(Searched):
    """The sum over intents of weight(intent) * a form of the list, read by the grades for that intent."""

    of: Form
    weight: IntentWeights
    over: float = 1.0  # what the sum is divided by

    def exactness(self, population: Population | None = None) -> Exactness:
        inner = self.of.exactness()
        return super().exactness(population).changed(ties=inner.ties, expected=inner.expected)

    @property
    def _how_found(self) -> ComputationMethod:
        plain = self.plain
        part = self._part(plain.reach or 1000, np.ones(1), np.ones((1, 1)), best=True)
        if fades_until(plain) == 0 and weighted_sum(plain) is not None and part is not None and part.exact:
            return "exact"
        return "greedy" if part is None else "bound"

    @property
    def plain(self) -> Form:
        """The form of one intent, without its divisor."""
        return numerator_and_denominator(self.of)[0]

    def __truediv__(self, by: Denominator | Callable[[Form, Lists], Floats | float]) -> Form:
        return IntentShare(self, as_denominator(by))

    def score(self, lists: Lists) -> Floats:
        seen = by_intent(lists)
        weight = self.weight(subtopics_of(lists.pool))[seen.intent]
        score = self.of.score(seen.lists)
        total = np.bincount(seen.parent, np.where(weight > 0, weight * np.nan_to_num(score), 0.0), len(lists))
        answerable = np.bincount(seen.parent, weight, len(lists)) > 0
        return np.where(answerable, total / self.over, np.nan)

    def _extreme(self, population: Population, best: bool) -> tuple[Floats, bool]:
        found = greedy_ideal(self, population) if best else self.score(self.extreme_order(population, best=False))
        if self._how_found == "bound":
            return _extreme_of(population, [(self, np.ones(len(found)))], found, best)
        return (found if best else np.minimum(found, self.expected(population))), True

    def _part(self, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
        """Return the term of the search for documents of a few kinds. value: per intent. gain: [kind, intent]."""
        return search_term(self.plain, ranks, value / self.over, gain, best)

    def _gains(self, pool: SubtopicPool) -> Floats:
        """Return for each row of the pool's `intents` the gain that it adds without documents above it."""
        return pool.once(("gain", self.plain), lambda: gain_alone(self.plain, pool.intents))

    def extreme_order(self, population: Population, best: bool) -> Lists:
        """Return the ranking that takes at each rank the document that adds most (or least).

        It is the best where what a document adds does not depend on those above it, and close to it elsewhere. The
        worst order is not always found. Documents that answer no intent stand behind all others, or above them.
        """
        return self._by_gain(population, least=not best)

    def _by_gain(self, population: Population, least: bool) -> Lists:
        return population.once(("by gain", self.weight, self.plain, least), lambda: self._ordered(population, least))

    def _ordered(self, population: Population, least: bool) -> Lists:
        pool, plain = subtopics_of(population.pool), self.plain
        gain = self._gains(pool)
        worth = np.asarray(gain * self.weight(pool)[pool.intents.query])
        if fades_until(plain) == 0:
            return _sorted(population, worth, least)
        return _greedy(population, worth, gain, fades_until(plain), least)


class IntentShare(Quotient):
    """A form by intent divided by something that the order of the documents does not change."""

    of: IntentAware

    def ideal(self, population: Population) -> Floats:
        return self.shared(population, self.of.ideal(population))

    def worst(self, population: Population) -> Floats:
        return self.shared(population, self.of.worst(population))

    def shared(self, population: Population, value: Floats) -> Floats:
        """Return scores of the form inside as shares of the divisor."""
        by = self.divisors(population)
        return value / np.where(by > 0, by, np.nan)

    def divisors(self, population: Population) -> Floats:
        return np.asarray(self.by(self.of, population.shuffled), np.float64)


class GreedyIdeal(BestRanking):
    """The score of the list that takes at each rank the document that adds most, as in ndeval."""

    formula = "the same for the list that takes at each rank the document that adds most"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        return greedy_ideal(form, lists.pool.everything)[lists.query]


class Blend(Searched, final=False):
    """A weighted sum of forms by intent; undefined where one of them is."""

    parts: tuple[tuple[float, Form], ...]

    @property
    def _how_found(self) -> ComputationMethod:
        return "greedy" if any(form.exactness().ideal == "greedy" for _, form in self.parts) else "bound"

    def score(self, lists: Lists) -> Floats:
        return np.asarray(sum(weight * form.score(lists) for weight, form in self.parts))

    def _extreme(self, population: Population, best: bool) -> tuple[Floats, bool]:
        least = [self.score(form.extreme_order(population, best=False)) for _, form in self.parts]
        found = greedy_ideal(self, population) if best else np.min([*least, self.expected(population)], axis=0)
        if self._how_found == "greedy":
            return found, True
        terms = []
        for weight, form in self.parts:
            numerator, divisor = numerator_and_denominator(form)
            by = 1.0 if divisor is None else np.asarray(divisor(numerator, population.shuffled))
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = np.broadcast_to(np.nan_to_num(weight / by), found.shape)
            terms.append((_by_intent_form(form), scale))
        return _extreme_of(population, terms, found, best)


@singledispatch
def greedy_ideal(form: Form, population: Population) -> Floats:
    """Return the score of the ranking that takes at each rank the document that adds most, as in ndeval.

    Forms that are not by intent have their ideal: sorting finds it.
    """
    return form.ideal(population)


@greedy_ideal.register(IntentAware)
def greedy_ideal_of_intent_aware(form: IntentAware, population: Population) -> Floats:
    order = form.extreme_order
    return population.once(("greedy", form), lambda: form.score(order(population, best=True)))


@greedy_ideal.register(IntentShare)
def greedy_ideal_of_intent_share(form: IntentShare, population: Population) -> Floats:
    return form.shared(population, greedy_ideal(form.of, population))


@greedy_ideal.register(Blend)
def greedy_ideal_of_blend(form: Blend, population: Population) -> Floats:
    """The better of the orders that are greedy for one of the parts."""
    orders = [part.extreme_order(population, best=True) for _, part in form.parts]
    return np.asarray(np.max([form.score(order) for order in orders], axis=0))


def _by_intent_form(form: Form) -> IntentAware:
    return cast("IntentAware", numerator_and_denominator(form)[0])


def _extreme_of(
    population: Population, terms: Sequence[tuple[IntentAware, Floats]], found: Floats, best: bool
) -> tuple[Floats, bool]:
    """Return the extreme weighted sum of some forms for each set, and True if orders reach all of them.

    The weights are arrays, [set]. found: a score of each set, NaN if it has none.
    """
    pool = subtopics_of(population.pool)
    seen = by_intent(population.shuffled)
    answer, slot, row = seen.lists.document, seen.lists.list, seen.row
    sets = np.arange(len(population.size) + 1)
    entries, slots = np.searchsorted(seen.parent[slot], sets), np.searchsorted(seen.parent, sets)
    gains = [form._gains(pool)[answer] for form, _ in terms]
    values = [form.weight(pool)[seen.intent] for form, _ in terms]
    extremes, proved = found.copy(), True
    for i in np.flatnonzero(~np.isnan(found)).tolist():
        here, start = slice(entries[i], entries[i + 1]), int(slots[i])
        intents, shape = slice(start, int(slots[i + 1])), (int(population.judged[i]), int(slots[i + 1]) - start)
        table = np.zeros((shape[0], len(terms) * shape[1]))
        for t, gain in enumerate(gains):
            table[row[here] - population.offsets[i], t * shape[1] + slot[here] - start] = gain[here]
            table[:, t * shape[1] : (t + 1) * shape[1]][:, values[t][intents] <= 0] = 0.0
        table = table[(table > 0).any(axis=1)]
        if not len(table):
            continue
        kinds, copies = np.unique(table, axis=0, return_counts=True)
        size = int(population.size[i])
        first = 0 if best else size - len(table)
        parts, last = [], 0
        for t, (form, scale) in enumerate(terms):
            reach = form.plain.reach
            last = max(last, size if reach is None else min(reach, size))
            value = values[t][intents] * float(scale[i])
            part = form._part(size, value, kinds[:, t * shape[1] : (t + 1) * shape[1]], best)
            assert part is not None
            if len(terms) == 1 and isinstance(part, Added):
                part = part.alone()
            proved &= part.exact
            parts.append(part)
        total, reached = extreme(parts, copies, first, last, best)
        proved &= reached
        if abs(total - found[i]) > NOISE * max(1.0, abs(total)):  # else the same, up to the order of summing
            extremes[i] = total
    return extremes, proved


# -- lists, intent by intent -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ByIntent:
    """Each list once for each intent of its query, with the documents that answer it."""

    lists: Lists
    parent: Ints  # of each of them, the list that it was
    intent: Ints
    row: Ints  # of each row, the row of the list that it was


def subtopics_of(pool: Pool) -> SubtopicPool:
    """Return the pool as one of judgments by subtopic, or raise an error."""
    if pool.kind != "subtopics":
        raise CalipersError("this measure needs judgments by subtopic (query subtopic document grade)")
    return cast("SubtopicPool", pool)


def by_intent(lists: Lists) -> ByIntent:
    return lists.once("by intent", lambda: _by_intent(lists))


def _by_intent(lists: Lists) -> ByIntent:
    """Return each list once for each intent starts[q] to starts[q + 1] of its query."""
    pool = subtopics_of(lists.pool)
    parts, document, starts = pool.intents, pool.document, pool.starts
    answers = pool.once("answers", lambda: np.argsort(document, kind="stable"))  # rows of the intents, by document
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
    """Return 0, 1, ... for each size, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


# -- orders ------------------------------------------------------------------------------------------


def _sorted(population: Population, worth: Floats, least: bool) -> Lists:
    """Return lists of the documents with a gain, sorted by its sum over intents, ties by id."""
    pool = subtopics_of(population.pool)
    total = np.round(np.bincount(pool.document, worth, len(pool.grade)), DIGITS)[population.document]
    member = np.repeat(np.arange(len(population.size)), population.judged)
    kept = np.flatnonzero(total > 0)
    place = pool.place[population.document[kept]]
    rows = kept[np.lexsort((place, total[kept] if least else -total[kept], member[kept]))]
    others = population.size - np.bincount(member[rows], minlength=len(population.size))
    return _in_order(population, rows, member[rows], others if least else np.zeros_like(others))


def _greedy(population: Population, worth: Floats, fading: Floats, cutoff: int | None, least: bool) -> Lists:
    """Return lists that take at each rank the document that adds most (or least) after those above it, ties by id.

    Documents without a gain follow (or come first). Ranks below the cutoff stay empty. All sets are done together.
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
    """Return for each member the first position of its largest value. Positions are grouped by member."""
    if not len(values):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.diff(member, prepend=-1))
    largest = np.maximum.reduceat(values, starts)
    hits = np.flatnonzero(values == np.repeat(largest, np.diff(np.append(starts, len(values)))))
    return hits[np.flatnonzero(np.diff(member[hits], prepend=-1))]


def _in_order(population: Population, rows: Ints, member: Ints, above: Ints) -> Lists:
    """Return rankings of the sets that have these rows in this order, below `above` other documents."""
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
