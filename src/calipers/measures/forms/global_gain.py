"""Plain forms for judgments by subtopic. The gain of a document is the sum over intents of probability times gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calipers.lists import Floats, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Wrapper
from calipers.measures.forms.intents import Blend, subtopics_of
from calipers.measures.gains import Value

NOISE = 1e-12


class OfGlobalGain(Wrapper):
    """A plain form that reads the sum over intents of P(i) * gain as the grade of a document."""

    gain_function: Value
    rel: float  # of intents that can be answered

    def score(self, lists: Lists) -> Floats:
        return self.of.score(lists.once(("global gain", self.gain_function, self.rel), lambda: self._lists(lists)))

    def ideal(self, population: Population) -> Floats:
        return self.of.ideal(self._population(population))

    def worst(self, population: Population) -> Floats:
        return self.of.worst(self._population(population))

    def exactness(self, population: Population | None = None) -> Exactness:
        inner = self.of.exactness(None if population is None else self._population(population))
        return inner.changed(has_variance=False)

    def extreme_order(self, population: Population, best: bool) -> Lists:
        return replace(self.of.extreme_order(self._population(population), best), pool=population.pool, memo={})

    @property
    def reach(self) -> int | None:
        return self.of.reach

    def formula(self, letters: dict[str, str]) -> str:
        return self.of.formula(letters)

    def _lists(self, lists: Lists) -> Lists:
        return replace(lists, pool=self._pool(lists.pool), memo={})

    def _population(self, population: Population) -> Population:
        key = ("global gain", self.gain_function, self.rel)
        return population.once(key, lambda: replace(population, pool=self._pool(population.pool), memo={}))

    def _pool(self, pool: Pool) -> Pool:
        return pool.once(("global gain", self.gain_function, self.rel), lambda: self._collapsed(pool))

    def _collapsed(self, pool: Pool) -> Pool:
        """Return the same documents with their gains as grades. Grades below 0 stay negative."""
        subtopics = subtopics_of(pool)
        worth = subtopics.intents.gains(self.gain_function) * subtopics.probability(self.rel)[subtopics.intents.query]
        gained = np.bincount(subtopics.document, worth, len(pool.grade))
        return Pool(pool.offsets, np.where(gained > 0, gained, np.minimum(pool.grade, 0.0)))


class Sharp(Blend):
    """A weighted sum of forms by intent of which the extremes are bounded one by one."""

    def _extreme(self, population: Population, best: bool) -> tuple[Floats, bool]:
        """Return the sum of the extreme scores of the parts, and True if one order is extreme for all parts."""
        orders = [form.extreme_order(population, best) for _, form in self.parts]
        tried = [self.score(order) for order in orders]
        found = np.max(tried, axis=0) if best else np.min(tried, axis=0)
        each = [form.ideal(population) if best else form.worst(population) for _, form in self.parts]
        bound = np.asarray(sum(weight * value for (weight, _), value in zip(self.parts, each, strict=True)))
        same = np.isclose(found, bound, rtol=NOISE, atol=NOISE, equal_nan=True)
        return bound, bool(same.all())
