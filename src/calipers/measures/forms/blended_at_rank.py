"""Blended ratios at one rank: that of the first relevant document, or of the first one of the best grade.

What a blended ratio is stands in `blended.py`.
"""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats, Lists, Population
from calipers.measures.forms.blended import CELLS, Blended, BlendedRatioForm, RankWeights, name_letters
from calipers.measures.gains import AtLeast
from calipers.measures.hypergeometric import hypergeometric
from calipers.support.record import Record


class FirstBlended(BlendedRatioForm):
    """BR at the rank of the first relevant document: 0 if none is found, undefined if the query has none.

    In a tie of m documents, n of them relevant, the first relevant one is at position j with probability
    C(m - j, n - 1) / C(m, n). It is each of the n with the same probability.
    """

    def score(self, lists: Lists) -> Floats:
        found = lists.with_gain(AtLeast(self.rel))
        groups = found.groups
        relevant = np.bincount(groups.row_group, minlength=len(groups))
        first = groups.above(relevant) == 0
        mean = groups.sum(found.gains(self.gain)) / np.maximum(relevant, 1)
        weights = RankWeights.of(found.pool, self.gain)
        query = found.query[groups.list]
        added = np.where(first, mean * weights.at(query, groups.before + 1), 0.0)
        for g in np.flatnonzero(first & (groups.size > 1)).tolist():
            chance = first_place(int(groups.size[g]), int(relevant[g]))
            j = np.arange(1, len(chance) + 1)
            added[g] = mean[g] * float(chance @ weights.at(np.full(len(j), query[g]), groups.before[g] + j))
        return _where_relevant(lists, self.rel, groups.sum_by_list(added))

    def formula(self, letters: dict[str, str]) -> str:
        name_letters(letters, self.gain_function, self.rel, self.beta)
        return "BR(rank of the first relevant document)"


class Preferred(BlendedRatioForm):
    """BR at the preferred rank, or its mean over the relevant documents down to that rank.

    The preferred rank is the rank of the first document of the best grade of the list. The score is 0 if no relevant
    document is found, and undefined if the query has none.
    In a tie of m documents, b of the best grade and n other relevant ones, the first of the best grade is at position j
    with probability C(m - j, b - 1) / C(m, b). Above it in the tie are j - 1 of the m - b others.
    """

    mean: bool

    def score(self, lists: Lists) -> Floats:
        found = lists.with_gain(AtLeast(self.rel))
        groups = found.groups
        numerator = groups.sum(found.gains(self.gain))
        relevant = np.bincount(groups.row_group, minlength=len(groups))
        above, before = groups.above(numerator), groups.above(relevant)
        best = np.full(len(lists), -np.inf)
        np.maximum.at(best, found.list, found.grade)
        is_best = found.grade == best[found.list]
        held = groups.count(is_best)
        chosen = np.flatnonzero((held > 0) & (groups.above(held) == 0))
        weights = RankWeights.of(found.pool, self.gain)
        query = found.query[groups.list]
        score = np.zeros(len(lists))
        score[groups.list[chosen]] = (above + numerator)[chosen] * weights.at(query[chosen], groups.before[chosen] + 1)
        ratios = np.zeros(len(groups))
        if self.mean:
            every = Blended(self.gain_function, self.rel, self.beta).by_tie(groups)
            ratios = groups.above(every)
            score[groups.list[chosen]] += ratios[chosen]
            score[groups.list[chosen]] /= before[chosen] + 1
        preferred = groups.sum(np.where(is_best, found.gains(self.gain), 0.0)) / np.maximum(held, 1)
        for g in chosen[groups.size[chosen] > 1].tolist():
            tie = _Tie(
                size=int(groups.size[g]),
                best=int(held[g]),
                others=int(relevant[g] - held[g]),
                preferred=float(preferred[g]),
                other=float(numerator[g] - held[g] * preferred[g]),
                above=float(above[g]),
                before=int(before[g]),
                ratios=float(ratios[g]),
            )
            rank = groups.before[g] + np.arange(1, tie.size - tie.best + 2)
            score[groups.list[g]] = tie.expected(weights.at(np.full(len(rank), query[g]), rank), self.mean)
        return _where_relevant(lists, self.rel, score)

    def ideal(self, population: Population) -> Floats:
        return population.once(("ideal", self), lambda: self._extreme(population, best=True))

    def worst(self, population: Population) -> Floats:
        return population.once(("worst", self), lambda: self._extreme(population, best=False))

    def _extreme(self, population: Population, best: bool) -> Floats:
        """Return the extreme score over all numbers of lower grades above the first document of the best grade.

        For the best score, the best of these documents are at the top. For the worst, the worst of them are behind all
        documents that are not relevant. No other order has larger (or smaller) ratios.
        """
        pool = population.pool
        u, weights = pool.gains(self.gain)[population.document], RankWeights.of(pool, self.gain)
        result = np.where(pool.relevant(self.rel)[population.query] > 0, 0.0, np.nan)
        bounds = population.offsets.tolist()
        for i, size in enumerate(population.size.tolist()):
            rows = slice(bounds[i], bounds[i + 1])
            grade, worth = population.grade[rows], u[rows]
            relevant = grade >= self.rel
            if not relevant.any():
                continue
            top = grade == grade[relevant].max()
            others = np.sort(worth[relevant & ~top])
            others = others[::-1] if best else others
            # The numerator at each of the others, and then at the first of the best grade behind each number of them.
            sums = np.concatenate([[0.0], np.cumsum(others)])
            behind = 0 if best else size - int(relevant.sum())
            rank = behind + np.arange(1, len(sums) + 1)
            h = weights.at(np.full(len(rank), population.query[i]), rank)
            ratio = (sums + worth[top].max() if best else sums + worth[top].min()) * h
            if self.mean:
                ratio = (ratio + np.concatenate([[0.0], np.cumsum(sums[1:] * h[:-1])])) / np.arange(1, len(sums) + 1)
            result[i] = ratio.max() if best else ratio.min()
        return result

    def formula(self, letters: dict[str, str]) -> str:
        name_letters(letters, self.gain_function, self.rel, self.beta)
        letters["p"] = "the rank of the first document of the best grade that the list has"
        return "the mean of BR(i) over the relevant documents at ranks i <= p" if self.mean else "BR(p)"


class _Tie(Record):
    """The tie that has the first document of the best grade."""

    size: int
    best: int  # documents of the best grade
    others: int  # other relevant ones
    preferred: float  # the numerator of one of the best
    other: float  # the numerators of the other relevant ones together
    above: float  # the numerator of what stands above the tie
    before: int  # relevant documents above it
    ratios: float  # their ratios added up

    def expected(self, h: Floats, mean: bool) -> float:
        """Return the mean over the orders of the tie. h: weights of the possible positions of the first of the best."""
        chance = first_place(self.size, self.best)
        j = np.arange(1, len(chance) + 1)
        rest = max(self.size - self.best, 1)
        at_preferred = h * (self.above + self.preferred + (j - 1) / rest * self.other)
        if not mean:
            return float(chance @ at_preferred)
        each = self.other / max(self.others, 1)
        # Of j - 1 documents above it, c are relevant: with h and (place - 1) h added up over their places.
        sums = np.cumsum(h) - h
        times = np.cumsum((j - 1) * h) - (j - 1) * h
        total = 0.0
        step = max(CELLS // (self.others + 1), 1)
        for start in range(0, len(j), step):
            part = slice(start, start + step)
            here = j[part]
            size, marked = np.full(len(here), self.size - self.best), np.full(len(here), self.others)
            shares, least = hypergeometric(size, marked, here - 1)
            c = least[:, None] + np.arange(shares.shape[1])
            taken, pairs = np.maximum(here - 1, 1)[:, None], np.maximum(here - 2, 1)[:, None]
            ratios = c / taken * ((self.above + each) * sums[part, None] + (c - 1) / pairs * each * times[part, None])
            last = h[part, None] * (self.above + self.preferred + c * each)
            means = (self.ratios + ratios + last) / (self.before + c + 1)
            total += float(chance[part] @ (shares * means).sum(axis=1))
        return total


def first_place(size: int, marked: int) -> Floats:
    """Return the probabilities that the first marked document is at position 1, 2, ... of a shuffle.

    >>> first_place(3, 2).round(3).tolist()
    [0.667, 0.333]
    """
    place = np.arange(1, size - marked + 1, dtype=np.float64)
    passing = np.concatenate([[1.0], np.cumprod((size - marked - place + 1) / (size - place + 1))])
    j = np.arange(1, size - marked + 2)
    return np.asarray(passing * marked / (size - j + 1))


def _where_relevant(lists: Lists, rel: float, score: Floats) -> Floats:
    return np.where(lists.pool.relevant(rel)[lists.query] > 0, score, np.nan)
