"""Forms of pairs of a relevant and another judged document: the share of pairs in the right order, and bpref."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form, Traits
from calipers.measures.hypergeometric import hypergeometric

if TYPE_CHECKING:
    from numpy.typing import NDArray


class JudgedPairs(Form):
    """The share of the R * N pairs of a relevant and another judged document in which the relevant one stands above.

    A tie, and two documents that are both not retrieved, count one half; one that is not retrieved stands below all
    that are. Undefined without a pair.
    """

    rel: float

    def score(self, lists: Lists) -> Floats:
        relevant = lists.grade >= self.rel
        others = np.concatenate([[0], np.cumsum(~relevant)])
        groups = lists.groups
        end = np.append(groups.start[1:], len(relevant))
        # Of the other documents above a tie and inside it: the latter stand above in half of the orders.
        above = (others[groups.start] + others[end]) / 2.0
        wrong = lists.sum(np.where(relevant, above[groups.row_group] - others[lists.offsets[:-1]][lists.list], 0.0))
        r, n = (count[lists.query].astype(np.float64) for count in self._counts(lists.pool))
        found, seen = lists.count(relevant), lists.count(~relevant)
        wrong += (r - found) * (seen + n) / 2.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(r * n > 0, 1.0 - wrong / (r * n), np.nan)

    def variance(self, population: Population) -> Floats:
        """Return the variance of the Mann-Whitney U: r n (r + n + 1) / 12 for r and n shuffled documents."""
        lists = population.shuffled
        relevant = lists.grade >= self.rel
        r, n = lists.count(relevant).astype(np.float64), lists.count(~relevant).astype(np.float64)
        all_r, all_n = (count[population.query].astype(np.float64) for count in self._counts(population.pool))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(all_r * all_n > 0, r * n * (r + n + 1.0) / 12.0 / (all_r * all_n) ** 2, np.nan)

    @property
    def traits(self) -> Traits:
        return Traits(ignores_unjudged=True)

    def undefined_for_any_ranking(self, lists: Lists) -> NDArray[np.bool_]:
        r, n = self._counts(lists.pool)
        return np.asarray((r * n == 0)[lists.query])

    def formula(self, letters: dict[str, str]) -> str:
        letters["N"] = "judged documents that are not relevant"
        return "pairs of a relevant document and one of N others in the right order, ties half, / (R * N)"

    def _counts(self, pool: Pool) -> tuple[Ints, Ints]:
        """R and N of each query."""
        relevant = pool.relevant(self.rel)
        return relevant, pool.size - relevant


class BinaryPreference(Form):
    """bpref: the sum over retrieved relevant documents of 1 - min(non-relevant above, R) / min(N, R).

    R and N count the judged relevant and non-relevant documents of the query; a negative grade is neither. In a
    tie the number of its non-relevant documents above a relevant one is uniform on 0 to their count, unless the
    cutoff falls inside the tie.
    """

    rel: float
    cutoff: int | None = None

    def score(self, lists: Lists) -> Floats:
        top = lists.top(self.cutoff)
        if not top.tied:
            return self._of_untied(top)
        groups = top.where(top.grade >= min(self.rel, 0)).groups
        is_relevant = groups.lists.grade >= self.rel
        relevant = groups.count(is_relevant).astype(np.float64)
        other = groups.count(~is_relevant)
        above = groups.above(other)
        r, n = (count[lists.query][groups.list] for count in self._counts(lists.pool))
        mean = _mean_preference(above, other, r, n)
        score = relevant * mean
        if self.cutoff is not None:
            cut = np.flatnonzero((groups.before + groups.size > self.cutoff) & (relevant > 0))
            score[cut] = relevant[cut] * self._cut_preference(
                groups.before[cut], groups.size[cut], above[cut], other[cut], r[cut], n[cut]
            )
        return groups.sum_by_list(score)

    def exactness(self, population: Population | None = None) -> Exactness:
        return Exactness(has_variance=self.cutoff is None)

    @property
    def traits(self) -> Traits:
        return Traits(ignores_unjudged=True)

    def variance(self, population: Population) -> Floats | None:
        """E[X^2] - E[X]^2, for r relevant and n other documents and g(h) = 1 - min(h, R) / min(N, R).

        The number h of others above a relevant document is uniform on 0 to n. Of two relevant documents, a and b have
        the chance 1 / ((n + 1) (n + 2)), or twice that where a = b:

            E[X^2] = r S2 / (n + 1) + r (r - 1) (S1^2 + S2) / ((n + 1) (n + 2)),  S1, S2 the sums of g and g^2 over h
        """
        if self.cutoff is not None:
            return None
        lists = population.shuffled
        relevant = lists.grade >= self.rel
        r, n = (
            lists.count(chosen).astype(np.float64)
            for chosen in (relevant, (lists.grade >= min(self.rel, 0)) & ~relevant)
        )
        all_relevant, others = (count[lists.query].astype(np.float64) for count in self._counts(lists.pool))
        steps = np.maximum(np.minimum(all_relevant, others), 1.0)  # from g = 1 down to 0
        last = np.where(others > 0, np.minimum(n, steps), 0.0)
        one = last + 1 - last * (last + 1) / (2 * steps)
        two = last + 1 - last * (last + 1) / steps + last * (last + 1) * (2 * last + 1) / (6 * steps**2)
        squares = r * two / (n + 1) + r * (r - 1) * (one**2 + two) / ((n + 1) * (n + 2))
        return np.asarray(np.maximum(squares - (r * one / (n + 1)) ** 2, 0.0))

    def formula(self, letters: dict[str, str]) -> str:
        return "sum over relevant documents in the top k of 1 - min(non-relevant above, R) / min(N, R)"

    def _of_untied(self, top: Lists) -> Floats:
        """Return the preferences of lists without ties, where every non-relevant document above counts."""
        relevant = top.grade >= self.rel
        other = np.concatenate([[0], np.cumsum((top.grade >= min(self.rel, 0)) & ~relevant)])
        member = top.list[relevant]
        above = other[:-1][relevant] - other[top.offsets[:-1]][member]
        r, n = (count[top.query][member] for count in self._counts(top.pool))
        return np.asarray(np.bincount(member, weights=_preference(above, r, n), minlength=len(top)), np.float64)

    def _counts(self, pool: Pool) -> tuple[Ints, Ints]:
        """R and N of each query."""
        other = pool.once(
            ("judged not relevant", self.rel), lambda: pool.count((pool.grade >= 0) & (pool.grade < self.rel))
        )
        return pool.relevant(self.rel), other

    def _cut_preference(self, before: Ints, size: Ints, above: Ints, other: Ints, r: Ints, n: Ints) -> Floats:
        """Return the mean over the positions of a relevant document in a tie across the cutoff. Those below count 0."""
        assert self.cutoff is not None
        total = np.zeros(len(before))
        for j in range(int((self.cutoff - before).max(initial=0))):
            shown = np.flatnonzero(before + j < self.cutoff)
            chance, least = hypergeometric(size[shown] - 1, other[shown], np.full(len(shown), j))
            count = least[:, None] + np.arange(chance.shape[1])
            value = _preference(above[shown, None] + count, r[shown, None], n[shown, None])
            total[shown] += (chance * value).sum(axis=1)
        return total / size


def _preference(above: Ints, r: Ints, n: Ints) -> Floats:
    return np.asarray(1.0 - np.minimum(above, r) / np.maximum(np.minimum(n, r), 1))


def _mean_preference(above: Ints, other: Ints, r: Ints, n: Ints) -> Floats:
    """Return the mean of `_preference` over above, above + 1, ..., above + other."""
    low = np.minimum(above, r)
    rising = np.clip(r - above, 0, other)  # steps before the minimum with R stops growing
    total = low * (other + 1) + rising * (rising + 1) / 2.0 + (other - rising) * np.where(above < r, r - above, 0)
    return np.asarray(1.0 - total / (other + 1) / np.maximum(np.minimum(n, r), 1))
