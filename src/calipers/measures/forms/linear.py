"""Sums of weight(rank) * value(grade)."""

from __future__ import annotations

from calipers.lazy import numpy as np
from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.base import OF_NOTHING, OF_THE_TOP, Denominator, Form, Proofs
from calipers.measures.values import AtLeast, Facts, Flat, Value, Weights, described
from calipers.native.plan import Plan


class Linear(Form):
    """The sum of weight(rank) * value(grade). Under ties a document weighs the mean weight of its tie's ranks."""

    weight: Weights
    value: Value

    def score(self, lists: Lists) -> Floats:
        top = lists.worthy_top(self.value, self.weight.cutoff)
        return top.sum(top.worth(self.value) * self.weight.mean(top.first, top.last))

    @property
    def worth(self) -> Value:
        return self.value

    def ideal(self, population: Population) -> Floats:
        return population.once(("ideal", self), lambda: self._extreme(population, best=True))

    def worst(self, population: Population) -> Floats:
        return population.once(("worst", self), lambda: self._extreme(population, best=False))

    def variance(self, population: Population) -> Floats:
        """s^2 / (n - 1) * (n * sum of w_i^2 - (sum of w_i)^2), s^2 being the variance of the n values."""
        n = population.size.astype(np.float64)
        value = population.shuffled.worth(self.value)
        members = np.repeat(np.arange(len(n)), population.judged)
        total = np.bincount(members, value, len(n))
        squares = np.bincount(members, value**2, len(n))
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = squares / n - (total / n) ** 2
            weight = self.weight.of_ranks(int(n.max(initial=0)))
            shown = np.minimum(population.size, len(weight)).astype(np.int64)
            sums = np.concatenate([[0.0], np.cumsum(weight)])[shown]
            square_sums = np.concatenate([[0.0], np.cumsum(weight**2)])[shown]
            variance = spread / (n - 1) * (n * square_sums - sums**2)
        return np.where(n > 1, np.maximum(variance, 0.0), 0.0)

    def plan(self) -> Plan | None:
        return described(self.value).plan(self.weight.plan("sum"))

    @property
    def reach(self) -> int | None:
        return self.weight.cutoff

    @property
    def facts(self) -> Facts | None:
        return self.weight.discount.facts

    @property
    def level(self) -> float | None:
        return described(self.value).level

    @property
    def small_terms(self) -> bool:
        return self.facts is not None and self.facts.largest <= 1 and described(self.value).unit

    @property
    def sorted_is_best(self) -> bool:
        return self.facts is not None and self.facts.falling and described(self.value).unit

    @property
    def has_residual(self) -> bool:
        return self.facts is not None and self.facts.positive and self.facts.total is not None

    def proved(self) -> Proofs:
        proved = {"localized": OF_THE_TOP, "complete": OF_NOTHING}
        facts, value = self.facts, described(self.value)
        if facts is None or not value.unit:
            return proved
        proved["monotone"] = "no rank has a negative weight"
        if facts.total is not None and facts.total <= 1:
            proved["bounded"] = "the weights of all ranks sum to 1, and no document is worth more than 1"
        if value.rising and facts.positive:
            proved["convergent"] = "every rank in the top k has a positive weight, those outside have none"
        if value.rising and facts.decreasing:
            proved["top-weighted"] = "every rank weighs more than the next"
        return proved

    def formula(self, letters: dict[str, str]) -> str:
        letters.update({"w_i": self.weight.discount.formula, "v_i": described(self.value).formula})
        return "sum over ranks i <= k of w_i * v_i"

    @property
    def reader(self) -> str:
        return self.weight.discount.reader

    def reader_of_share(self, by: Denominator) -> str:
        if self.weight.at != Flat():
            return self.reader
        if by.counts_relevant:
            return "Looks at k documents, and knows how many relevant ones there are to be found."
        return "Looks at exactly k documents, all alike."

    def _extreme(self, population: Population, best: bool) -> Floats:
        """Large values on large weights, or on small ones: the rearrangement inequality."""
        weight = self.weight.of_ranks(int(population.size.max(initial=0)))
        if (np.diff(weight) <= 0).all():  # larger weights first, so sorting does it
            order = population.best_first if best else population.worst_first
            return self.score(order(self.worth))
        ranked = population.best_first(self.worth)
        rank = np.empty(len(ranked.first), np.int64)
        for size in np.unique(population.size).tolist():
            here = np.zeros(size)
            here[: min(size, len(weight))] = weight[:size]
            places = np.argsort(-here if best else here, kind="stable") + 1  # of the best document, the next ...
            rows = np.flatnonzero(ranked.length[ranked.list] == size)
            rank[rows] = places[ranked.first[rows] - 1]
        return ranked.sum(ranked.worth(self.value) * self.weight.mean(rank, rank))


class RelevantPrefix(Form):
    """How many relevant documents stand in the first R ranks (or the cutoff), R being how many there are."""

    rel: float
    cutoff: int | None = None

    def score(self, lists: Lists) -> Floats:
        relevant = lists.worthy(AtLeast(self.rel))
        depth = self.depth(relevant)[relevant.list]
        inside = np.clip(depth - relevant.first + 1, 0, relevant.last - relevant.first + 1)
        return relevant.sum(inside / (relevant.last - relevant.first + 1))

    def variance(self, population: Population) -> Floats:
        """The hypergeometric variance of the relevant documents among the first ranks."""
        lists = population.shuffled
        n = population.size.astype(np.float64)
        relevant = lists.count(lists.grade >= self.rel).astype(np.float64)
        shown = np.minimum(self.depth(lists), n)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = relevant / n
            return np.where(n > 1, shown * share * (1 - share) * (n - shown) / (n - 1), 0.0)

    def plan(self) -> Plan | None:
        return AtLeast(self.rel).plan(Plan("prefix")) if self.cutoff is None else None

    def formula(self, letters: dict[str, str]) -> str:
        return "relevant documents in the first min(R, k) ranks"

    @property
    def reader(self) -> str:
        return "Looks at as many documents as there are relevant ones, at most k."

    def depth(self, lists: Lists) -> Floats:
        depth = lists.pool.relevant(self.rel)[lists.query].astype(np.float64)
        return depth if self.cutoff is None else np.minimum(depth, self.cutoff)
