"""Sums of weight(rank) * value(grade)."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.base import Form, Traits
from calipers.measures.forms.shares import Share, numerator_and_denominator
from calipers.measures.gains import AtLeast, Value, as_gain
from calipers.measures.weights import Weights
from calipers.support.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Linear(Form):
    """The sum of weight(rank) * value(grade). Under ties a document weighs the mean weight of its tie's ranks."""

    weight: Weights
    value: Value

    def score(self, lists: Lists) -> Floats:
        top = lists.top_with_gain(self.value, self.weight.cutoff)
        return top.sum(top.gains(self.value) * self.weight.mean(top.first, top.last))

    @property
    def gain(self) -> Value:
        return self.value

    def ideal(self, population: Population) -> Floats:
        return population.once(("ideal", self), lambda: self._extreme(population, best=True))

    def worst(self, population: Population) -> Floats:
        return population.once(("worst", self), lambda: self._extreme(population, best=False))

    def variance(self, population: Population) -> Floats:
        """s^2 / (n - 1) * (n * sum of w_i^2 - (sum of w_i)^2), s^2 being the variance of the n values."""
        n = population.size.astype(np.float64)
        value = population.shuffled.gains(self.value)
        members = np.repeat(np.arange(len(n)), population.judged)
        total = np.bincount(members, value, len(n))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # gains beyond 1e154 have no variance
            squares = np.bincount(members, value**2, len(n))
            spread = squares / n - (total / n) ** 2
            weight = self.weight.of_ranks(int(n.max(initial=0)))
            shown = np.minimum(population.size, len(weight)).astype(np.int64)
            sums = np.concatenate([[0.0], np.cumsum(weight)])[shown]
            square_sums = np.concatenate([[0.0], np.cumsum(weight**2)])[shown]
            variance = spread / (n - 1) * (n * square_sums - sums**2)
        return np.where(n > 1, np.maximum(variance, 0.0), 0.0)

    @property
    def reach(self) -> int | None:
        return self.weight.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        letters.update({"w_i": self.weight.discount.formula, "v_i": as_gain(self.value).formula})
        return "sum over ranks i <= k of w_i * v_i"

    @property
    def weights_fall(self) -> bool:
        """True if no rank weighs more than one above it. Otherwise the ideal depends on the number of documents."""
        weight = self.weight.of_ranks(self.weight.cutoff or 1000)
        return bool((np.diff(weight) <= 0).all())

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(self.value(grade) != 0) if self.weights_fall else super().grade_affects_score(grade)

    def _extreme(self, population: Population, best: bool) -> Floats:
        """Large values on large weights, or on small ones: the rearrangement inequality."""
        weight = self.weight.of_ranks(int(population.size.max(initial=0)))
        if (np.diff(weight) <= 0).all():  # larger weights first, so sorting does it
            if not best:
                return self.score(population.worst_first(self.gain))
            if (population.pool.gains(self.value) >= 0).all():  # documents without a gain come last
                population = population.with_gain(self.value)
            return self.score(population.best_first(self.gain))
        ranked = population.best_first(self.gain)
        rank = np.empty(len(ranked.first), np.int64)
        for size in np.unique(population.size).tolist():
            here = np.zeros(size)
            here[: min(size, len(weight))] = weight[:size]
            places = np.argsort(-here if best else here, kind="stable") + 1  # of the best document, the next ...
            rows = np.flatnonzero(ranked.length[ranked.list] == size)
            rank[rows] = places[ranked.first[rows] - 1]
        return ranked.sum(ranked.gains(self.value) * self.weight.mean(rank, rank))


class RelevantPrefix(Form):
    """The number of relevant documents in the first R ranks, or up to the cutoff, for R relevant documents."""

    rel: float
    cutoff: int | None = None
    multiple: float | None = None  # of R, instead of R and the cutoff

    def score(self, lists: Lists) -> Floats:
        relevant = lists.with_gain(AtLeast(self.rel))
        depth = self.depth(relevant)[relevant.list]
        inside = np.clip(depth - relevant.first + 1, 0, relevant.last - relevant.first + 1)
        return relevant.sum(inside / (relevant.last - relevant.first + 1))

    def variance(self, population: Population) -> Floats:
        """Return the hypergeometric variance of the number of relevant documents in the first ranks."""
        lists = population.shuffled
        n = population.size.astype(np.float64)
        relevant = lists.count(lists.grade >= self.rel).astype(np.float64)
        shown = np.minimum(self.depth(lists), n)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = relevant / n
            return np.where(n > 1, shown * share * (1 - share) * (n - shown) / (n - 1), 0.0)

    def formula(self, letters: dict[str, str]) -> str:
        return f"relevant documents in the first {self.ranks} ranks"

    @property
    def ranks(self) -> str:
        """The number of ranks that count, as text."""
        return "min(R, k)" if self.multiple is None else f"floor({self.multiple:g} R + 0.9)"

    def depth(self, lists: Lists) -> Floats:
        return self.depth_of(lists.pool.relevant(self.rel)[lists.query].astype(np.float64))

    def depth_of(self, relevant: Floats) -> Floats:
        """Return the number of ranks that are read for these numbers of relevant documents."""
        if self.multiple is not None:
            return np.asarray(np.floor(self.multiple * relevant + 0.9))
        return relevant if self.cutoff is None else np.minimum(relevant, self.cutoff)

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(grade >= self.rel)


@singledispatch
def weighted_sum(form: Form) -> Linear | None:
    """Return the sum of weight(rank) * value(grade) that a form is, divided or not. None for other forms."""
    return None


@weighted_sum.register(Linear)
def weighted_sum_of_linear(form: Linear) -> Linear:
    return form


@weighted_sum.register(Share)
def weighted_sum_of_share(form: Share) -> Linear | None:
    return weighted_sum(form.of) if numerator_and_denominator(form.of)[1] is None else None


class Squared(Record):
    """The square of a value."""

    of: Value

    def __call__(self, grade: Floats) -> Floats:
        return np.asarray(self.of(grade)) ** 2


class Peak(Form):
    """The largest value in the top k.

    Only a tie that straddles k leaves it open. If h of its m documents are shown, the t-th best of them is the
    best one shown with chance C(m - t, h - 1) / C(m, h).
    """

    value: Value
    cutoff: int | None = None

    def score(self, lists: Lists) -> Floats:
        worthy = lists.top_with_gain(self.value, self.cutoff)
        value = worthy.gains(self.value)
        whole = np.ones(len(value), bool) if self.cutoff is None else worthy.last <= self.cutoff
        best = np.zeros(len(lists))
        np.maximum.at(best, worthy.list[whole], value[whole])
        if self.cutoff is not None and not whole.all():
            self._straddling(worthy.where(~whole), value[~whole], best)
        return best

    @property
    def gain(self) -> Value:
        return self.value

    def variance(self, population: Population) -> Floats:
        """E[X^2] - E[X]^2: the square of the largest value is the largest of the squares, no value being below 0."""
        squares = Peak(Squared(self.value), self.cutoff).expected(population)
        return np.maximum(squares - self.expected(population) ** 2, 0.0)

    @property
    def reach(self) -> int | None:
        return self.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        letters["v_i"] = as_gain(self.value).formula
        return "max over ranks i <= k of v_i"

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(self.gain(grade) != 0)

    def _straddling(self, tie: Lists, value: Floats, best: Floats) -> None:
        """Raise `best` to its mean over what the straddling tie, at most one per list, may show."""
        assert self.cutoff is not None
        order = np.lexsort((-value, tie.list))
        value, member = value[order], tie.list
        place = np.arange(len(value)) - tie.offsets[:-1][member]  # t - 1
        size = (tie.last - tie.first + 1).astype(np.float64)
        shown = (self.cutoff - tie.first + 1).astype(np.float64)
        chance = shown / size  # of the best one
        previous = place - 1.0
        step = np.where(
            place == 0,
            chance,
            np.maximum(size - shown - previous, 0.0) / np.maximum(size - previous - 1.0, 1.0),
        )
        by_place = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place))
        for start, end in pairwise(ends.tolist()):  # the next place of every list that has one
            row = by_place[start:end]
            chance[row] = chance[row - 1] * step[row]
        changed = np.flatnonzero(np.diff(tie.offsets))
        gain = tie.sum(chance * np.maximum(value - best[member], 0.0))
        best[changed] += gain[changed]


class Counted(Form):
    """A function of how many documents are retrieved, how many of them relevant, and how many relevant there are."""

    function: Callable[[Floats, Floats, Floats], Floats]
    rel: float = 1

    @property
    def traits(self) -> Traits:
        return Traits(can_be_negative=bool(getattr(self.function, "can_be_negative", False)))

    def score(self, lists: Lists) -> Floats:
        retrieved = lists.length.astype(np.float64)
        found = lists.count(lists.grade >= self.rel).astype(np.float64)
        relevant = lists.pool.relevant(self.rel)[lists.query].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.function(retrieved, found, relevant), dtype=np.float64)

    def grade_affects_score(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(grade >= self.rel)
