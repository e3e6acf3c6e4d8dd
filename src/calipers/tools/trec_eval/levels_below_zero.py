"""Relevance levels below 0: `-l -1` makes unjudged documents relevant, for the measures that go down the list.

trec_eval codes a retrieved document that nobody judged as -1 and one that was judged below 0 as -2, and compares the
codes with the level as if they were grades. R and the number of relevant documents retrieved count judged documents
only, so a list may hold more relevant documents than there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calipers.lists import Floats, Ints, Lists, Pool
from calipers.measures.forms.base import Form
from calipers.measures.forms.intents import by_part
from calipers.measures.forms.judges import judges_of

JUDGED_BELOW_ZERO = -2  # what trec_eval codes such documents as; unjudged ones are -1

# Which measures compare each document of the list with the level. Others know judged documents only, as at level 0.
FROM_THE_TOP = (
    "map", "gm_map", "map_cut", "Rprec", "recip_rank", "P", "recall", "relative_P", "success", "binG", "yaap",
    "map_avgjg", "P_avgjg",
)  # fmt: skip
FROM_THE_BOTTOM = ("iprec_at_recall", "11pt_avg", "Rprec_mult", "Rprec_mult_avgjg")
COMPARING = FROM_THE_TOP + FROM_THE_BOTTOM
WITHOUT_R = ("recip_rank", "P", "success", "P_avgjg")  # which need no relevant document to be known
OVER_R = ("map", "gm_map", "binG", "map_avgjg")  # which are divided by R even where that is 0


@dataclass(frozen=True, eq=False)
class ComparedLists:
    """Lists whose documents are compared with a level below 0."""

    lists: Lists  # with ties broken
    level: float
    first_missing: int = 0  # documents that a query counts which the run lacks: trec_eval 10 takes one, unjudged

    def score(self, form: Form, root: str) -> Floats:
        """The score of each list; infinite where trec_eval divides by an R of 0, and 0 where the score is undefined."""
        if (of_judge := form.of_each_judge) is not None:
            pool = judges_of(self.lists.pool)
            longer = replace(self.lists, length=self._length, memo={})
            parts = by_part(longer, pool.graded, pool.document, pool.starts)
            of_judges = ComparedLists(parts.lists, self.level).score(of_judge, root)
            judges = np.diff(pool.starts)[self.lists.query]
            return np.bincount(parts.parent, of_judges, len(self.lists)) / judges
        lists = self._lowest if root in FROM_THE_BOTTOM else self._all
        with np.errstate(divide="ignore", invalid="ignore"):
            score = form.score(lists)
        score[np.isnan(score)] = 0.0
        if root not in WITHOUT_R:
            none_known = self._known[self.lists.query] == 0
            score[none_known] = 0.0
            if root in OVER_R:
                score[none_known & (np.diff(lists.offsets) > 0)] = np.inf
        return score

    @cached_property
    def _length(self) -> Ints:
        return np.where(self.lists.length == 0, self.first_missing, self.lists.length)

    @cached_property
    def _known(self) -> Ints:
        """R of each query: its documents that were judged at 0 or above."""
        return self.lists.pool.relevant(0)

    @cached_property
    def _pool(self) -> Pool:
        """The judgments; where no document is judged at 0 or above, the first one stands for what is relevant."""
        grade = self.lists.pool.grade.copy()
        grade[self.lists.pool.offsets[:-1][self._known == 0]] = 0.0
        return Pool(self.lists.pool.offsets, grade)

    @cached_property
    def _all(self) -> Lists:
        """Every document that reaches the level, each as if it were one and the same relevant document."""
        length = self._length
        starts = np.cumsum(length) - length
        reached = np.ones(int(length.sum()), bool)
        if self.level > JUDGED_BELOW_ZERO:
            below = self.lists.grade < 0
            reached[starts[self.lists.list[below]] + self.lists.first[below] - 1] = False
        place = np.flatnonzero(reached)
        of_list = np.repeat(np.arange(len(length)), length)[place]
        pool = self._pool
        relevant = np.flatnonzero(pool.grade >= 0)
        one = relevant[np.searchsorted(relevant, pool.offsets[:-1])]  # of each query
        rank = place - starts[of_list] + 1
        offsets = np.searchsorted(of_list, np.arange(len(length) + 1))
        document = one[self.lists.query[of_list]]
        return Lists(pool, self.lists.query, length, offsets, document, first=rank, last=rank)

    @cached_property
    def _lowest(self) -> Lists:
        """Of these the lowest ones, as many as relevant documents are retrieved: trec_eval counts down from below."""
        every = self._all
        kept = self.lists.count(self.lists.grade >= 0)
        from_bottom = every.offsets[1:][every.list] - np.arange(len(every.first))
        return every.where(from_bottom <= kept[every.list])


def compares(root: str) -> bool:
    """Whether a measure compares each document of the list, judged or not, with the level."""
    return root in COMPARING
