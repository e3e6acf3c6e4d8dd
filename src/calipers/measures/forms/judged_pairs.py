"""The share of pairs of judged documents that are in the right order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.forms.base import Form, Traits

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
