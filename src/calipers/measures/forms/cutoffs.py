"""Forms for lists that end before the cutoff, and means over all cutoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints, Lists, Population
from calipers.measures.forms.base import Form, Wrapper
from calipers.measures.forms.denominators import IDEAL, BestRanking
from calipers.measures.forms.linear import Linear, weighted_sum
from calipers.measures.gains import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ZeroIfShort(Wrapper):
    """A form that counts nothing for a list of fewer documents than the cutoff."""

    cutoff: int

    def error(self, lists: Lists) -> Floats:
        return np.where(lists.length < self.cutoff, 0.0, self.of.error(lists))

    def score(self, lists: Lists) -> Floats:
        score = self.of.score(lists)
        return np.where((lists.length < self.cutoff) & ~np.isnan(score), 0.0, score)

    @property
    def gain(self) -> Value:
        return self.of.gain

    def variance(self, population: Population) -> Floats | None:
        variance = self.of.variance(population)
        return None if variance is None else np.where(population.size < self.cutoff, 0.0, variance)

    def undefined_for_any_ranking(self, lists: Lists) -> NDArray[np.bool_]:
        return self.of.undefined_for_any_ranking(lists)

    @property
    def reach(self) -> int | None:
        inner = self.of.reach
        return None if inner is None else max(inner, self.cutoff)

    def formula(self, letters: dict[str, str]) -> str:
        return f"{self.of.formula(letters)}, 0 for a list of fewer than k documents"


class IdealToTheEnd(BestRanking):
    """The score of the best ranking of the judged documents down to the cutoff, or to the end of the list."""

    formula = "a divisor"

    def __call__(self, form: Form, lists: Lists) -> Floats:
        ideal = IDEAL(form, lists)
        linear = weighted_sum(form)
        if linear is None or linear.weight.cutoff is None:
            return ideal
        ideal = ideal.copy()
        short = lists.length < linear.weight.cutoff
        for length in np.unique(lists.length[short]).tolist():
            here = np.flatnonzero(lists.length == length)
            ends = Linear(linear.weight.up_to(length), linear.value).ideal(lists.pool.everything)
            ideal[here] = ends[lists.query[here]]
        return ideal


IDEAL_TO_THE_END = IdealToTheEnd()


class MeanOverCutoffs(Form):
    """The mean over k = 1 to n of a linear form at cutoff k as a share of its ideal at k.

    n is the number of documents that the ideal sorts, or the cutoff where that is smaller. A document at rank i is in
    all the sums with k >= i, so the mean is linear again, with the weights

        weight(i) / n * sum over k = i to n of 1 / ideal(k).
    """

    of: Linear
    own: bool = False  # the ideal sorts what the list retrieved, not everything judged

    def score(self, lists: Lists) -> Floats:
        shares, group = self._shares_of(lists)
        return np.where(shares.undefined[group], np.nan, lists.sum(lists.gains(self.of.value) * self.weights(lists)))

    def weights(self, lists: Lists) -> Floats:
        """Return the weight of each document: the mean over the ranks that its tie spans."""
        shares, group = self._shares_of(lists)
        base, most = shares.start[group][lists.list], shares.size[group][lists.list]
        first, last = lists.first.astype(np.int64), lists.last.astype(np.int64)
        inside = shares.up_to[base + np.minimum(last, most)] - shares.up_to[base + np.minimum(first - 1, most)]
        return np.asarray(inside / (last - first + 1))

    def _shares_of(self, lists: Lists) -> tuple[_Shares, Ints]:
        """Return the weights of all ranks, and the index of the weights of each list."""
        population = lists.all_shuffled() if self.own else lists.pool.everything
        shares = population.once(("shares", self), lambda: self._shares(population))
        return shares, np.arange(len(lists)) if self.own else lists.query

    @property
    def gain(self) -> Value:
        return self.of.gain

    def undefined_for_any_ranking(self, lists: Lists) -> NDArray[np.bool_]:
        always = super().undefined_for_any_ranking(lists)
        return always | (np.isnan(self.score(lists)) & (lists.length > 0)) if self.own else always

    def formula(self, letters: dict[str, str]) -> str:
        return f"mean over k = 1 to n of {self.of.formula(letters)} / the same for the best ranking"

    def _shares(self, population: Population) -> _Shares:
        cutoff = self.of.weight.cutoff
        size = np.asarray(population.size, np.int64)
        size = size if cutoff is None else np.minimum(size, cutoff)
        start = np.concatenate([[0], np.cumsum(size + 1)])[:-1]  # one more place each: the sum over no rank
        best = population.best_first(self.of.gain)
        shown = best.first <= size[best.list]
        weight = np.append(self.of.weight.of_ranks(int(size.max(initial=0))), 0.0)
        total = int((size + 1).sum())
        gained = np.zeros(total)
        rank = best.first[shown].astype(np.int64)
        gained[start[best.list[shown]] + rank] = best.gains(self.of.value)[shown] * weight[rank - 1]
        ideal = _summed_in_parts(gained, start, size)
        with np.errstate(divide="ignore"):
            inverse = np.where(ideal > 0, 1.0 / ideal, 0.0)
        after = _summed_in_parts(inverse, start, size)
        part = np.repeat(np.arange(len(size)), size + 1)
        place = np.arange(total) - start[part]
        beyond = after[start + size][part] - after + inverse  # of a place and all the later ones
        share = np.where(place > 0, weight[place - 1] * beyond / np.maximum(size[part], 1), 0.0)
        return _Shares(start, size, _summed_in_parts(share, start, size), ideal[start + size] <= 0)


class _Shares:
    """The weight of the first ranks together, as far as the cutoffs of each set of documents go."""

    def __init__(self, start: Ints, size: Ints, up_to: Floats, undefined: NDArray[np.bool_]) -> None:
        self.start, self.size, self.up_to, self.undefined = start, size, up_to, undefined


def _summed_in_parts(values: Floats, start: Ints, size: Ints) -> Floats:
    """Running sums that begin anew at each start, where the value is 0."""
    total = np.cumsum(values)
    return np.asarray(total - np.repeat(total[start], size + 1))
