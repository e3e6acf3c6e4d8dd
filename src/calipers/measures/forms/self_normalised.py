"""Forms divided by the score of the best order of the *retrieved* documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers.lists import Floats, Ints, Lists, Population
from calipers.measures.forms.base import Exactness, Form
from calipers.measures.forms.linear import Linear
from calipers.measures.forms.paired import Paired, tie_precision
from calipers.measures.gains import Value
from calipers.measures.hypergeometric import hypergeometric
from calipers.measures.weights import Weights

MOST_COMPOSITIONS = 200_000
DRAWS = 10_000
SEED = 42


class SelfNormalisedGain(Form):
    """DCG@k over the DCG of the same top k sorted best first, undefined if the top k has no gain.

    A tie across k decides which documents are in the top k. The number of shown documents of each gain (a composition)
    determines both DCGs, so the average is over compositions, weighted by the multivariate hypergeometric distribution.
    Orders without a gain count 0 if other orders have a gain. More than MOST_COMPOSITIONS compositions are sampled.
    """

    weight: Weights
    value: Value

    def score(self, lists: Lists) -> Floats:
        return self._moments(lists)[0].copy()

    def error(self, lists: Lists) -> Floats:
        return self._moments(lists)[1]

    def exactness(self, population: Population | None = None) -> Exactness:
        return Exactness(ties="enumerated", expected="enumerated", samples_ties=True)

    def _moments(self, lists: Lists) -> tuple[Floats, Floats]:
        return lists.once(("moments", self), lambda: self._averaged(lists))

    def _averaged(self, lists: Lists) -> tuple[Floats, Floats]:
        """Return the mean over the possible top k, and its standard error. It is 0 unless compositions were drawn."""
        top = lists.top(self.weight.cutoff)
        value = top.gains(self.value)
        gaining = top.where(value > 0)
        value = value[value > 0]
        cutoff = self.weight.cutoff
        straddles = np.zeros(len(value), bool) if cutoff is None else gaining.last > cutoff
        whole = gaining.where(~straddles)
        ideal = whole.sum(value[~straddles] * self._weight_by_value(whole, value[~straddles]))
        actual = Linear(self.weight, self.value).score(whole)
        with np.errstate(invalid="ignore"):
            result = np.where(ideal > 0, actual / ideal, np.nan)
        error = np.zeros(len(result))
        if straddles.any():
            tie = gaining.where(straddles)
            for i in np.flatnonzero(np.diff(tie.offsets)).tolist():
                fixed = value[~straddles][whole.offsets[i] : whole.offsets[i + 1]]
                rows = slice(tie.offsets[i], tie.offsets[i + 1])
                start, end = int(tie.first[tie.offsets[i]]), int(tie.last[tie.offsets[i]])
                result[i], error[i] = self._mean(fixed, float(actual[i]), value[straddles][rows], start, end)
        return result, error

    @property
    def gain(self) -> Value:
        return self.value

    @property
    def reach(self) -> int | None:
        return self.weight.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        return f"{Linear(self.weight, self.value).formula(letters)} / the same for the top k sorted best first"

    def worst(self, population: Population) -> Floats:
        """Return the smallest score: 0 if a ranking can have no gain in its top k, as in averages over ties.

        Otherwise it is that of some top k sorted worst first.
        """
        return population.once(("worst", self), lambda: self._worst(population))

    def _worst(self, population: Population) -> Floats:
        value = population.shuffled.gains(self.value)
        result = np.full(len(population.size), np.nan)
        known: dict[tuple[tuple[float, ...], int], float] = {}
        for i, size in enumerate(population.size.tolist()):
            gains = value[population.offsets[i] : population.offsets[i + 1]]
            gains = np.sort(gains[gains > 0])[::-1]
            if len(gains):
                key = (tuple(gains.tolist()), size)
                if key not in known:
                    known[key] = self._smallest(gains, size)
                result[i] = known[key]
        return result

    def _smallest(self, gains: Floats, size: int) -> float:
        shown = size if self.weight.cutoff is None else min(size, self.weight.cutoff)
        weight = np.concatenate([[0.0], np.cumsum(self.weight.of_ranks(shown))])
        if shown <= size - len(gains):
            return 0.0
        if shown == size - len(gains) + 1:  # one gain, at the bottom
            return float((weight[shown] - weight[shown - 1]) / weight[1])
        values, available = np.unique(gains, return_counts=True)
        values, available = values[::-1], available[::-1]
        _, composition, _ = _compositions(available.tolist(), size - len(gains), shown)
        upto = np.cumsum(composition, axis=1)
        best = (values * (weight[upto] - weight[upto - composition])).sum(axis=1)
        worst = (values * (weight[shown - upto + composition] - weight[shown - upto])).sum(axis=1)
        return float((worst[best > 0] / best[best > 0]).min())

    def _weight_by_value(self, lists: Lists, value: Floats) -> Floats:
        """Return the weight that each row has if its list is sorted by value."""
        order = np.lexsort((-value, lists.list))
        rank = np.empty(len(value), np.int64)
        rank[order] = np.arange(len(value)) - lists.offsets[:-1][lists.list] + 1
        return self.weight.mean(rank, rank)

    def _mean(self, fixed: Floats, actual: float, members: Floats, start: int, end: int) -> tuple[float, float]:
        """Return the mean for one list, and its standard error.

        fixed: values that are always shown. members: values in a tie of the ranks start to end.
        """
        assert self.weight.cutoff is not None
        shown, size = self.weight.cutoff - start + 1, end - start + 1
        values = np.unique(np.concatenate([fixed, members]))[::-1]
        available = [int((members == value).sum()) for value in values]
        always = np.array([(fixed == value).sum() for value in values])
        chance, composition, drawn = _compositions(available, size - len(members), shown)
        weight = np.concatenate([[0.0], np.cumsum(self.weight.of_ranks(self.weight.cutoff))])
        tail = (weight[-1] - weight[start - 1]) / shown
        upto = np.cumsum(composition + always, axis=1)
        ideal = (values * (weight[upto] - weight[upto - composition - always])).sum(axis=1)
        got = actual + composition @ values * tail
        scores = np.divide(got, ideal, out=np.zeros_like(got), where=ideal > 0)
        error = float(scores.std(ddof=1)) / np.sqrt(DRAWS) if drawn else 0.0
        return float((chance * scores).sum()), error


def _compositions(available: Sequence[int], worthless: int, drawn: int) -> tuple[Floats, Ints, bool]:
    """Return all ways to draw from kinds of documents: their probabilities, and the number of each kind.

    If there are too many ways, some are drawn at random, and the last result is True.
    """
    log_ways = np.zeros(1)
    composition = np.zeros((1, 0), np.int64)
    for kind in available:
        most = min(kind, drawn)
        if len(composition) * (most + 1) > MOST_COMPOSITIONS:
            return (*_drawn_compositions(available, worthless, drawn), True)
        count = np.tile(np.arange(most + 1), len(composition))
        before = np.repeat(np.arange(len(composition)), most + 1)
        keep = count <= drawn - composition.sum(axis=1)[before]
        count, before = count[keep], before[keep]
        log_ways = log_ways[before] + _log_choices(kind, most)[count]
        composition = np.column_stack([composition[before], count])
    left = drawn - composition.sum(axis=1)
    possible = left <= worthless
    composition, left = composition[possible], left[possible]
    log_ways = log_ways[possible] + _log_choices(worthless, min(worthless, drawn))[left]
    chance = np.exp(log_ways - log_ways.max())
    return chance / chance.sum(), composition, False


def _log_choices(size: int, most: int) -> Floats:
    """log C(size, c) for c = 0 to most."""
    c = np.arange(1, most + 1)
    return np.concatenate([[0.0], np.cumsum(np.log(size - c + 1) - np.log(c))])


def _drawn_compositions(available: Sequence[int], worthless: int, drawn: int) -> tuple[Floats, Ints]:
    kinds = [*available, worthless]
    composition = np.random.default_rng(SEED).multivariate_hypergeometric(kinds, drawn, size=DRAWS)
    return np.full(DRAWS, 1.0 / DRAWS), composition[:, :-1]


class SelfNormalisedPrecision(Form):
    """SP@k over the number of relevant documents in the top k, undefined without relevant documents there.

    A tie across k shows a hypergeometric number of relevant documents. Given this number, the sum of precisions is that
    of a smaller tie. Orders that show no relevant document count 0 if other orders show some.
    """

    rel: float
    cutoff: int | None = None

    def score(self, lists: Lists) -> Floats:
        relevant = lists.where(lists.grade >= self.rel).top(self.cutoff)
        groups = relevant.groups
        inside = groups.count(np.ones(len(relevant.first), bool)).astype(np.float64)
        end = groups.before + groups.size
        straddles = np.zeros(len(groups), bool) if self.cutoff is None else end > self.cutoff
        above = groups.above(inside)
        precision = tie_precision(groups.before, groups.size, inside, above, None)
        whole = np.where(straddles, 0.0, precision)
        found = groups.sum_by_list(np.where(straddles, 0.0, inside))
        actual = groups.sum_by_list(whole)
        with np.errstate(invalid="ignore"):
            result = np.where(found > 0, actual / found, np.nan)
        if straddles.any():
            assert self.cutoff is not None
            tie = np.flatnonzero(straddles)
            before, member = groups.before[tie], groups.list[tie]
            shown = self.cutoff - before
            chance, least = hypergeometric(groups.size[tie], inside[tie].astype(np.int64), shown)
            mean = np.zeros(len(tie))
            for column in range(chance.shape[1]):
                some = (least + column).astype(np.float64)
                part = tie_precision(before, shown, some, above[tie], None)
                total = above[tie] + some
                mean += chance[:, column] * np.where(total > 0, (actual[member] + part) / np.maximum(total, 1), 0.0)
            result[member] = mean
        return result

    @property
    def reach(self) -> int | None:
        return self.cutoff

    def formula(self, letters: dict[str, str]) -> str:
        return f"{Paired(self.rel).formula(letters)} / relevant documents in the top k"

    def worst(self, population: Population) -> Floats:
        """Return the smallest score: that of as few relevant documents as the top k must have, at its bottom.

        It is 0 if the top k can be without a relevant document, as in averages over ties.
        """
        return population.once(("worst", self), lambda: self._worst(population))

    def _worst(self, population: Population) -> Floats:
        relevant = population.shuffled.count(population.grade >= self.rel)
        shown = population.size if self.cutoff is None else np.minimum(population.size, self.cutoff)
        fewest = shown - (population.size - relevant)
        some = np.maximum(fewest, 1)
        empty = np.zeros(len(shown))
        smallest = tie_precision(shown - some, some, some.astype(np.float64), empty, None) / some
        return np.where(relevant > 0, np.where(fewest > 0, smallest, 0.0), np.nan)
